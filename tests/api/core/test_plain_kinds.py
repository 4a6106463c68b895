"""ConfigMap, Namespace, ServiceAccount, PersistentVolumeClaim: each rule, and a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.told import changed, told
from tests.oracle.core import core_errors
from trainshed.api.base import KubernetesObject
from trainshed.api.core.configmap import SIZE_MAX, ConfigMap
from trainshed.api.core.namespace import Namespace
from trainshed.api.core.service_account import ServiceAccount
from trainshed.api.core.volume_claim import PersistentVolumeClaim

Manifest = dict[str, Any]

CONFIG: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a.yaml": "b"}}
SPACE: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
ACCOUNT: Manifest = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
CLAIM: Manifest = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "a"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}},
}
SECURITY = "pod-security.kubernetes.io"


def labelled(**labels: str) -> Manifest:
    return changed(SPACE, metadata__labels={f"{SECURITY}/{key.replace('_', '-')}": v for key, v in labels.items()})


NEIGHBOURS: list[tuple[type[KubernetesObject], Manifest]] = [
    (ConfigMap, CONFIG),
    (ConfigMap, changed(CONFIG, binaryData={"..": ""}, data=None) | {"binaryData": {".a": "aGVs\nbG8="}}),
    (ConfigMap, changed(CONFIG, data={"a": "b" * SIZE_MAX}, immutable=True)),
    (ConfigMap, changed(CONFIG, data={"a": "b" * (SIZE_MAX - 5)}, binaryData={"b": "aGVsbG8="})),
    (Namespace, SPACE),
    (Namespace, changed(SPACE, metadata__labels={"kubernetes.io/metadata.name": "team-a"})),
    (Namespace, changed(SPACE, spec={"finalizers": ["kubernetes", "example.com/wait"]})),
    (Namespace, labelled(enforce="restricted", enforce_version="latest", warn="baseline", warn_version="v1.36")),
    (ServiceAccount, changed(ACCOUNT, automountServiceAccountToken=False, imagePullSecrets=[{"name": "a"}])),
    (ServiceAccount, changed(ACCOUNT, secrets=[{"name": "a"}, {"name": "b"}])),
    (PersistentVolumeClaim, CLAIM),
    (PersistentVolumeClaim, changed(CLAIM, spec__storageClassName="", spec__volumeName="disk")),
]

BROKEN: list[tuple[type[KubernetesObject], Manifest, str]] = [
    (
        ConfigMap,
        changed(CONFIG, data={"a/b": "c"}),
        'data.a/b.[key]: "a/b" is not a key of a ConfigMap or Secret: letters, digits, "-", "_" and "."',
    ),
    (
        ConfigMap,
        changed(CONFIG, data={"a": "b"}, binaryData={"a": ""}),
        ": data[a]: the key is in binaryData too; keep one of them",
    ),
    (ConfigMap, changed(CONFIG, binaryData={"a": "a"}), ": binaryData[a]: is not base64"),
    (ConfigMap, changed(CONFIG, data={"a": 3}), "data.a: Input should be a valid string"),
    (
        ConfigMap,
        changed(CONFIG, data={"a": "ä" * (SIZE_MAX // 2), "b": "c"}),
        ": the values have 1048577 bytes, 1 more than the 1048576 allowed",
    ),
    (
        Namespace,
        changed(SPACE, metadata__name="team.a"),
        ': metadata.name: "team.a" is not a DNS-1123 label: lower-case letters, digits and "-", '
        "alphanumeric at both ends",
    ),
    (
        Namespace,
        changed(SPACE, metadata__namespace="a"),
        ": metadata.namespace: Namespace is cluster-scoped; leave the namespace out",
    ),
    (
        Namespace,
        changed(SPACE, metadata__labels={"kubernetes.io/metadata.name": "b"}),
        ': metadata.labels[kubernetes.io/metadata.name]: is "b", and the server will set it to "team-a"; leave it out',
    ),
    (
        Namespace,
        changed(SPACE, spec={"finalizers": ["wait"]}),
        'spec: finalizers[0]: "wait" is neither a known finalizer nor has it a prefix',
    ),
    (
        Namespace,
        labelled(enforce="restrict"),
        f': metadata.labels[{SECURITY}/enforce]: "restrict" is not a level of Pod Security; did you mean "restricted"?',
    ),
    (
        Namespace,
        labelled(audit_version="1.36"),
        f': metadata.labels[{SECURITY}/audit-version]: "1.36" is not a version of Pod Security; '
        'write "latest", or a version such as "v1.36"',
    ),
    (
        ServiceAccount,
        changed(ACCOUNT, secrets=[{"name": "a"}, {"name": "a"}]),
        'secrets: two items have name "a"',
    ),
]


@pytest.mark.parametrize(("model", "manifest"), NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_a_good_object_passes_and_reads_back(model: type[KubernetesObject], manifest: Manifest) -> None:
    assert told(model, manifest) == []
    parsed = model.parse(manifest)
    assert model.parse(parsed.manifest()) == parsed
    assert core_errors(parsed.manifest()) == []


@pytest.mark.parametrize(("model", "manifest", "message"), BROKEN, ids=[message[:60] for *_, message in BROKEN])
def test_a_broken_object_is_refused_with_its_one_mistake(
    model: type[KubernetesObject], manifest: Manifest, message: str
) -> None:
    assert told(model, manifest) == [message]


def test_a_claim_is_judged_by_its_spec() -> None:
    """The rules of the spec are tested where the spec is; here, that they apply."""
    (message,) = told(PersistentVolumeClaim, changed(CLAIM, spec__resources={}))
    assert "storage" in message
    assert "spec.storageClassName" in PersistentVolumeClaim.IMMUTABLE
