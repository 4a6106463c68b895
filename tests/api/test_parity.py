"""Our models say what upstream's schemas say: every property, in both directions.

`status` is left out: controllers own it, and the models keep it untyped on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from tests.api.parity import Parity
from tests.oracle.crd import crds
from trainshed.api.base import Model
from trainshed.api.registry import model_for
from trainshed.api.types import Int32, Str, keyed_by

KINDS = {
    "kueue.x-k8s.io/v1beta2": [
        *("ResourceFlavor", "ClusterQueue", "LocalQueue", "Cohort", "Topology", "WorkloadPriorityClass"),
        *("AdmissionCheck", "ProvisioningRequestConfig", "MultiKueueConfig", "MultiKueueCluster"),
    ],
    "jobset.x-k8s.io/v1alpha2": ["JobSet"],
    "trainer.kubeflow.org/v1alpha1": ["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"],
    "scheduling.volcano.sh/v1beta1": ["Queue", "PodGroup"],
    "batch.volcano.sh/v1alpha1": ["CronJob", "Job"],
    "leaderworkerset.x-k8s.io/v1": ["LeaderWorkerSet"],
    "scheduling.run.ai/v2": ["Queue"],
    "scheduling.run.ai/v2alpha2": ["PodGroup"],
    "kai.scheduler/v1alpha1": ["Topology"],
    "argoproj.io/v1alpha1": ["Application", "ApplicationSet", "AppProject"],
}
ROOT = frozenset({"apiVersion", "kind", "metadata", "status"})

# Differences that are meant: a regular expression for lines of the report, and why.
ALLOWED = {
    r"^[A-Za-z]+\.spec: is optional in the schema": "such an object asks for nothing, and its controller refuses it",
    r"^(Cron)?Job\.spec\.(jobTemplate\.spec\.)?tasks(\[\]\.template)?: is optional in the schema": "Volcano's webhook refuses a Job without pods",  # noqa: E501
    r"^JobSet\.spec\.failurePolicy\.rules\[\]\.name: is required": (
        "JobSet's webhook writes it before the schema is looked at; in runtimes a rule of ours asks for it"
    ),
    r"the model accepts what the schema refuses: 1\.5 \(1 values\)$": (
        "a quantity may be typed as a YAML number, as the API server allows in pods; we write it as a string"
    ),
    r"\.(evictionResponders|protocol|mode|bindMountOptions|user|defaultUser): \w+ has this field": (
        "a pod's field of Kubernetes 1.37, newer than the pods in these CRDs; the oracle refuses it in dist/"
    ),
    r"^(Cron)?Job\..*\.schedulingGroup: PodSpec has this field": "a pod's field of Kubernetes 1.36, newer than Volcano's pods",  # noqa: E501
    r"(levels\[\]\.nodeLabel|nodeSelector\[\]\.key): the model refuses what the schema accepts: 'a+… of length 64": (
        "a label key: at most 63 characters after the prefix, which the pattern cannot say"
    ),
    r"\.(expirationSeconds|maxExpirationSeconds): the model refuses what the schema accepts: 1, 2, 3, 80": (
        "Kubernetes' own validation asks for at least ten minutes, or an hour"
    ),
    r"\.workloadRef: PodSpec lacks this field$": "an alpha field of Kubernetes 1.35 that 1.36 replaced",
}


def test_models_agree_with_the_schemas(shared: Path, record_property: Callable[[str, object], None]) -> None:
    """No difference but the allowed ones, and no allowance that nothing needs."""
    parity = Parity()
    for api_version, kinds in KINDS.items():
        for kind in kinds:
            crd = crds()[api_version, kind]
            model = model_for(api_version, kind)
            assert model is not None, f"no model for {api_version} {kind}"
            assert model.namespaced == crd.namespaced, kind
            parity.compare(crd.schema, model, kind, skip=ROOT)
    record_property("compared_fields", parity.fields)
    print(f"{parity.fields} fields, {parity.probes} probes")
    unexpected = [line for line in parity.differences if not any(re.search(known, line) for known in ALLOWED)]
    assert not unexpected, f"{len(unexpected)} differences:\n" + "\n".join(unexpected)
    assert not [known for known in ALLOWED if not any(re.search(known, line) for line in parity.differences)]
    assert parity.fields > 1000


class Item(Model):
    """An item as the schema below has it."""

    name: Str


class Sound(Model):
    """Agrees with SCHEMA."""

    mode: Literal["A", "B"]
    count: Annotated[Int32, Field(ge=1)] | None = None
    name: Annotated[Str, Field(max_length=5)] | None = None
    items: Annotated[list[Item], keyed_by("name"), Field(max_length=2)] | None = None
    labels: dict[str, Str] | None = None


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["mode"],
    "properties": {
        "mode": {"type": "string", "enum": ["A", "B"]},
        "count": {"type": "integer", "format": "int32", "minimum": 1},
        "name": {"type": "string", "maxLength": 5},
        "items": {
            "type": "array",
            "maxItems": 2,
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def test_the_comparison_is_silent_on_equal_sides() -> None:
    parity = Parity()
    parity.compare(SCHEMA, Sound, "x")
    assert parity.differences == []


WRONG: dict[str, tuple[Any, Any, str]] = {
    "enum lacks a word": (Literal["A"], ..., "x.mode: the model refuses what the schema accepts: 'B'"),
    "enum has a word too many": (Literal["A", "B", "C"], ..., "x.mode: the model accepts what the schema refuses: 'C'"),
    "optional": (Literal["A", "B"] | None, None, "x.mode: is required in the schema, not in"),
    "no minimum": (Int32 | None, None, "x.count: the model accepts what the schema refuses"),
    "other minimum": (
        Annotated[Int32, Field(ge=2)] | None,
        None,
        "x.count: the model refuses what the schema accepts: 1",
    ),
    "number for a string": (Int32 | None, None, "x.name: the model refuses every tried value"),
    "no maxLength": (Str | None, None, "x.name: the model accepts what the schema refuses"),
    "short maxLength": (Annotated[Str, Field(max_length=4)] | None, None, "x.name: the model refuses what the schema"),
    "no keys": (
        Annotated[list[Item], Field(max_length=2)] | None,
        None,
        "x.items: the model accepts the same item twice",
    ),
    "no maxItems": (
        Annotated[list[Item], keyed_by("name")] | None,
        None,
        "x.items: the model accepts a value just outside maxItems 2",
    ),
    "list of strings": (list[Str] | None, None, "x.items[]: the model"),
    "untyped": (dict[str, Any] | None, None, "x.labels{}: is untyped in the model"),
    "map of numbers": (dict[str, Int32] | None, None, "x.labels{}: the model refuses every tried value"),
    "extra": (Str | None, None, "x.extra: Wrong has this field, the schema does not"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_comparison_sees(case: str) -> None:
    """Each way to be wrong is reported."""
    annotation, default, wanted = WRONG[case]
    name = wanted.removeprefix("x.").partition(":")[0].rstrip("[]{}")
    wrong = type("Wrong", (Sound,), {"__annotations__": {name: annotation}, name: default, "__module__": __name__})
    parity = Parity()
    parity.compare(SCHEMA, wrong, "x")
    assert any(line.startswith(wanted) for line in parity.differences), parity.differences


def test_the_comparison_sees_a_missing_field() -> None:
    parity = Parity()
    parity.compare(SCHEMA, Item, "x")
    assert "x.mode: Item lacks this field" in parity.differences
