"""What a run's pods may have beside the container that trains: the same in all four forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.oracle.dist import object_errors
from tests.synthesis import Manifest
from tests.training.given import FORMS, environment, manifests, pod_templates, trained, training
from trainshed.api.core.container import VolumeMount
from trainshed.api.core.security import SecurityContext
from trainshed.faults import Fault
from trainshed.gitops.values import faults_collected
from trainshed.training import (
    ConfigMapEnv,
    ConfigMapMount,
    Container,
    FieldEnv,
    Mount,
    Scratch,
    SecretMount,
    TopologyRequest,
)

each_form = pytest.mark.parametrize("form", FORMS)
FETCH = Container(name="fetch", image="registry.example.com/fetch:1", args=["/scratch"])
LOGS = Container(name="logs", image="registry.example.com/logs:1")
EVERYTHING: dict[str, Any] = {
    "launcher": "trainshed",
    "doctor": True,
    "env": {"NODE_NAME": FieldEnv(field="spec.nodeName"), "MODE": ConfigMapEnv(config_map="settings", key="mode")},
    "volumes": [
        Mount(claim="data", path="/data", read_only=True),
        ConfigMapMount(config_map="settings", path="/etc/settings"),
        SecretMount(secret="hub", path="/etc/hub"),
        Scratch(path="/scratch", size="1024Gi"),
    ],
    "checkpoint": Mount(claim="checkpoints", path="/checkpoints"),
    "pod_labels": {"cost-center": "42"},
    "pod_annotations": {"sidecar.istio.io/inject": "false"},
    "init_containers": [FETCH],
    "sidecars": [LOGS],
}


def containers(template: Manifest) -> dict[str, Manifest]:
    """Every container of a pod by name, in the order they start."""
    spec = template["spec"]
    return {one["name"]: one for one in [*spec.get("initContainers", []), *spec["containers"]]}


def told(make: Callable[[], Any]) -> list[str]:
    """What is said about a value, without its place."""
    faults: list[Fault] = []
    with faults_collected(faults):
        make()
    return [str(fault).removeprefix(f"{fault.place}: ") for fault in faults]


@each_form
def test_snapshot(form: str, snapshot: SnapshotAssertion) -> None:
    made = manifests(form, **EVERYTHING)
    assert pod_templates(form, made) == snapshot


@each_form
def test_it_is_what_the_api_server_takes(form: str) -> None:
    assert [error for made in manifests(form, **EVERYTHING) for error in object_errors(made)] == []


@each_form
def test_sidecars_start_first_and_no_job_waits_for_them(form: str) -> None:
    for template in pod_templates(form, manifests(form, **EVERYTHING)):
        found = containers(template)
        assert list(found) == ["logs", "doctor", "fetch", "node"]
        assert {name: one.get("restartPolicy") for name, one in found.items()} == {
            "logs": "Always",
            "doctor": None,
            "fetch": None,
            "node": None,
        }
        assert [one["name"] for one in template["spec"]["containers"]] == ["node"]


@each_form
def test_what_they_leave_out_is_as_in_the_container_that_trains(form: str) -> None:
    for template in pod_templates(form, manifests(form, **EVERYTHING)):
        found = containers(template)
        for field in ("securityContext", "volumeMounts"):
            assert found["logs"][field] == found["fetch"][field] == found["node"][field]


@each_form
def test_what_they_say_themselves_stands(form: str) -> None:
    mounted = [VolumeMount(name="scratch-3", mount_path="/work", read_only=True)]
    own = FETCH.model_copy(update={"volume_mounts": mounted, "security_context": SecurityContext(run_as_user=7)})
    bare = LOGS.model_copy(update={"volume_mounts": []})
    for template in pod_templates(
        form, manifests(form, **{**EVERYTHING, "init_containers": [own], "sidecars": [bare]})
    ):
        found = containers(template)
        assert found["fetch"]["volumeMounts"] == [{"mountPath": "/work", "name": "scratch-3", "readOnly": True}]
        assert found["fetch"]["securityContext"] == {"runAsUser": 7}
        assert found["logs"]["volumeMounts"] == []


@each_form
def test_volumes_have_their_source_and_their_limit(form: str) -> None:
    for template in pod_templates(form, manifests(form, **EVERYTHING)):
        sources = {volume.pop("name"): volume for volume in template["spec"]["volumes"]}
        assert {name: source for name, source in sources.items() if name not in ("shm", "tmp")} == {
            "claim-0": {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
            "config-map-1": {"configMap": {"name": "settings"}},
            "secret-2": {"secret": {"secretName": "hub"}},
            "scratch-3": {"emptyDir": {"sizeLimit": "1Ti"}},
            "claim-4": {"persistentVolumeClaim": {"claimName": "checkpoints"}},
        }
        assert {mount["name"] for mount in containers(template)["node"]["volumeMounts"]} == set(sources)


@each_form
def test_values_come_from_fields_and_config_maps(form: str) -> None:
    for holder in trained(form, manifests(form, **EVERYTHING)):
        env = environment(holder)
        assert env["NODE_NAME"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
        assert env["MODE"] == {"configMapKeyRef": {"key": "mode", "name": "settings"}}


@each_form
def test_labels_and_annotations_stand_on_pods_beside_the_topology(form: str) -> None:
    topology = {} if form == "VolcanoJob" else {"topology": TopologyRequest(level="rack")}
    made = manifests(form, **EVERYTHING, **topology)
    for template in pod_templates(form, made):
        assert template["metadata"]["labels"] == {"cost-center": "42"}
        placed = {"kueue.x-k8s.io/podset-required-topology": "topology.trainshed.dev/rack"} if topology else {}
        assert template["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false", **placed}
    assert "cost-center" not in made[-1]["metadata"].get("labels", {})


def test_containers_that_would_not_run_as_meant_are_told() -> None:
    wrong = {
        "launcher": "trainshed",
        "doctor": True,
        "init_containers": [
            Container(name="node", image="a:1"),
            Container(name="doctor", image="a:1"),
            Container(name="fetch"),
            Container(name="forever", image="a:1", restart_policy="Always"),
        ],
        "sidecars": [
            Container(name="fetch", image="a:1", restart_policy="OnFailure"),
            {"name": "logs", "image": "a:1", "volumeMounts": [{"name": "claim-0", "mountPath": "/data"}]},
        ],
    }
    assert told(lambda: training(**wrong)) == [
        'Training, init_containers[0].name: "node" is the container that trains already; use another name',
        'Training, init_containers[1].name: "doctor" is the doctor already; use another name',
        "Training, init_containers[2].image: is missing; add an image",
        'Training, init_containers[3].restart_policy: is "Always", which makes it a sidecar; move it to the sidecars',
        'Training, sidecars[0].name: "fetch" is another of these containers already; use another name',
        'Training, sidecars[0].restart_policy: is "OnFailure", and a sidecar is restarted always; leave it out',
        'Training, sidecars[1].volume_mounts[0].name: the pod has no volume "claim-0"; it has shm, tmp',
    ]


KEYS: dict[str, Any] = {
    "pod_labels": {"job-name": "a", "kueue.x-k8s.io/queue-name": "a"},
    "pod_annotations": {"argocd.argoproj.io/hook": "Sync"},
}
PATHS = [ConfigMapMount(config_map="c", path="/a"), Scratch(path="/a", size="1Gi"), Mount(claim="x", path="/tmp")]


@pytest.mark.parametrize(
    ("make", "faults"),
    [
        (
            lambda: training(**KEYS),
            [
                'Training, pod_labels[job-name]: the key is wrong: "job-name" is the Job controller\'s; leave it out',
                "Training, pod_labels[kueue.x-k8s.io/queue-name]: the key is wrong: "
                '"kueue.x-k8s.io/queue-name" is Kueue\'s; pass the queue',
                "Training, pod_annotations[argocd.argoproj.io/hook]: the key is wrong: "
                '"argocd.argoproj.io/hook" is Argo CD\'s; leave it out',
            ],
        ),
        (
            lambda: training(volumes=PATHS),
            [
                'Training, volumes: "/a" is mounted already for ConfigMap "c"; use another path',
                'Training, volumes: "/tmp" is mounted already for the temporary directory; use another path',
            ],
        ),
        (
            lambda: FieldEnv(field="spec.nodename"),
            ['FieldEnv, field: "spec.nodename" is not a field that pods offer here; did you mean "spec.nodeName"?'],
        ),
        (
            lambda: Scratch(path="/a", size=200),
            ['Scratch, size: 200 is bytes; write it with its unit, such as "200Gi"'],
        ),
        (lambda: Scratch(path="/a", size=0), ["Scratch, size: 0 is not above 0; write a size such as 200Gi"]),
        (
            lambda: SecretMount(secret="s", path="etc"),
            ['SecretMount, path: "etc" is not an absolute path without ":"; write for example "/data"'],
        ),
        (lambda: training(volumes=["data"]), ['Training, volumes[0]: is the string "data", must be a mapping']),
        (
            lambda: training(env={"A": 7}),
            ['Training, env[A]: is the number 7, must be a string or a mapping; write it in quotes: "7"'],
        ),
        (lambda: training(sidecars=["logs"]), ['Training, sidecars[0]: is the string "logs", must be a mapping']),
        (
            lambda: training(sidecars=[{"name": "logs", "imag": "a:1"}]),
            ["Training, sidecars[0].imag: is not a known field; remove it"],
        ),
    ],
    ids=range(10),
)
def test_parts_that_no_pod_can_have_are_told(make: Callable[[], Any], faults: list[str]) -> None:
    assert told(make) == faults
