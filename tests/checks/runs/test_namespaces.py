"""What a namespace refuses or counts: Pod Security levels, LimitRanges, quotas, and amounts that nothing provides."""

from __future__ import annotations

import io
from typing import Any

import pytest
import yaml

from tests.checks.runs.worlds import NAMESPACE, Manifest, container, run, torchrun
from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read


def found(code: str, *objects: Manifest) -> list[str]:
    all_rules.load()
    fleet = Fleet(read(["-"], io.BytesIO(yaml.safe_dump_all(objects, sort_keys=False).encode())).documents)
    return [issue.message for issue in RULES[code].function(fleet)]


def namespace(level: str) -> Manifest:
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def core(kind: str, **spec: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "caps", "namespace": NAMESPACE}, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "box", "refused"),
    [
        ({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, {}, True),
        ({"securityContext": {"sysctls": [{"name": "net.ipv4.ping_group_range", "value": "0 1"}]}}, {}, False),
        ({"securityContext": {"seLinuxOptions": {"type": "spc_t"}}}, {}, True),
        ({"securityContext": {"seLinuxOptions": {"level": "s0:c1"}}}, {}, False),
        ({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, {}, True),
        ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, {}, True),
        ({}, {"securityContext": {"procMount": "Unmasked"}}, True),
        ({}, {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "procMount": "Default"}}, False),
    ],
)
def test_baseline_refuses_what_switches_a_protection_off(pod: Manifest, box: Manifest, refused: bool) -> None:
    objects = run("Job", container(["python", "train.py"], **box), **pod)
    assert bool(found("security-pod-security", namespace("baseline"), *objects)) == refused


@pytest.mark.parametrize(
    ("field", "key", "wrong"),
    [
        ("labels", "enforce", False),
        ("labels", "warn-version", False),
        ("labels", "enforced", True),
        ("annotations", "enforce", True),
        ("annotations", "note", False),
    ],
)
def test_levels_are_labels_of_certain_names(field: str, key: str, wrong: bool) -> None:
    written = {f"pod-security.kubernetes.io/{key}": "baseline"}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, field: written}}
    assert bool(found("security-level-key", made)) == wrong


def test_capabilities_have_no_prefix() -> None:
    def of(name: str) -> list[str]:
        context = {"capabilities": {"drop": ["ALL"], "add": [name]}}
        return found("security-capabilities", *run("Job", container(["python", "a.py"], securityContext=context)))

    assert of("IPC_LOCK") == []
    assert "CAP_CAP_IPC_LOCK" in of("CAP_IPC_LOCK")[0]


@pytest.mark.parametrize(
    ("resources", "item", "word"),
    [
        ({"requests": {"memory": "4Gi"}}, {"default": {"memory": "1Gi"}}, "writes the limit"),
        ({"requests": {"memory": "4Gi"}, "limits": {"memory": "4Gi"}}, {"default": {"memory": "1Gi"}}, ""),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "8"}}, {"maxLimitRequestRatio": {"cpu": "2"}}, "the ratio"),
        ({"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}, {"maxLimitRequestRatio": {"cpu": "2"}}, ""),
    ],
)
def test_limit_ranges_refuse_by_their_defaults_and_ratios(resources: Manifest, item: Manifest, word: str) -> None:
    objects = run("Job", container(["python", "a.py"], resources=resources))
    messages = found(
        "resources-outside-limit-range", *objects, core("LimitRange", limits=[{"type": "Container", **item}])
    )
    assert [word in message for message in messages] == ([True] if word else [])


@pytest.mark.parametrize("hard", [{"requests.nvidia.com/gpu": "8"}, {"pods": "1"}])
@pytest.mark.parametrize("kind", ["Job", "JobSet", "TrainJob", "StatefulSet"])
def test_a_run_must_fit_into_the_quota_as_a_whole(kind: str, hard: Manifest) -> None:
    objects = run(kind, container(torchrun(kind) if kind != "TrainJob" else ["torchrun", "train.py"]))
    assert found("resources-over-namespace-quota", *objects, core("ResourceQuota", hard=hard))
    larger = dict.fromkeys(hard, "16")
    assert found("resources-over-namespace-quota", *objects, core("ResourceQuota", hard=larger)) == []


def test_an_elastic_run_or_separate_pods_may_wait_for_the_quota() -> None:
    quota = core("ResourceQuota", hard={"requests.nvidia.com/gpu": "8"})
    elastic = run("Job", container(torchrun("Job", nodes="1:2")))
    assert found("resources-over-namespace-quota", *elastic, quota) == []
    separate = run("Job", container(["python", "label.py"]))
    assert found("resources-over-namespace-quota", *separate, quota) == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("nvidia.com/gpu", False),
        ("amd.com/gpu", False),
        ("nvidia.com/mig-1g.10gb", False),
        ("example.com/gpu", False),
        ("nvidia.com/gpus", True),
        ("nvidia.com/GPU", True),
        ("nvidia/gpu", True),
        ("amd/gpu", True),
    ],
)
def test_gpus_go_by_the_names_of_their_plugins(name: str, wrong: bool) -> None:
    objects = run("Job", container(["python", "a.py"], resources={"limits": {name: "1"}}))
    assert bool(found("resources-unknown-gpu", *objects)) == wrong


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("requests.nvidia.com/gpu", False), ("limits.cpu", False), ("nvidia.com/gpu", True), ("limits.amd.com/gpu", True)],
)
def test_quotas_count_the_requests_of_devices(name: str, wrong: bool) -> None:
    assert bool(found("resources-quota-not-counted", core("ResourceQuota", hard={name: "8"}))) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("aHVudGVyMg==", False),
        ("aHVud\nGVyMg==\n", False),
        ("<path:kv/a#b>", False),
        ("$TOKEN", False),
        ("hunter2!", True),
    ],
)
def test_data_of_a_secret_is_base64(value: str, wrong: bool) -> None:
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "namespace": NAMESPACE},
        "data": {"a": value},
    }
    assert bool(found("rendering-secret-not-base64", made)) == wrong


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("WANDB_KEY", "0123456789abcdef0123456789abcdef01234567", True),
        ("ALERTS", "https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXX", True),
        ("SORT_KEY", "length", False),
        ("GIT_SHA", "0123456789abcdef0123456789abcdef01234567", False),
    ],
)
def test_keys_and_webhooks_are_secrets(name: str, value: str, secret: bool) -> None:
    objects = run("Job", container(["python", "a.py"], [{"name": name, "value": value}]))
    assert bool(found("security-secret-in-env", *objects)) == secret


def test_gpu_devices_come_with_the_plugin() -> None:
    volume = {"name": "gpu", "hostPath": {"path": "/dev/nvidia0"}}
    objects = run("Job", container(["python", "a.py"]))
    assert found("security-host-path", *objects) == []
    objects[-1]["spec"]["template"]["spec"]["volumes"].append(volume)
    assert "already brings" in found("security-host-path", *objects)[0]


def test_a_claim_of_another_name_is_told_of_where_the_namespace_has_claims() -> None:
    claim = core("PersistentVolumeClaim", accessModes=["ReadWriteMany"], resources={"requests": {"storage": "1Ti"}})
    objects = run("Job", container(["python", "a.py"]))
    volumes = objects[-1]["spec"]["template"]["spec"]["volumes"]
    volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": "caps"}})
    assert found("reference-volume-source", claim, *objects) == []
    volumes[-1]["persistentVolumeClaim"]["claimName"] = "corpora"
    assert "which has caps in its namespace" in found("reference-volume-source", claim, *objects)[0]
    assert found("reference-volume-source", *objects) == []


def test_a_service_account_of_another_namespace_is_out_of_reach() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner", "namespace": "team-b"}}
    objects = run("Job", container(["python", "a.py"]), serviceAccountName="runner")
    assert 'is in namespace "team-b"' in found("reference-service-account", account, *objects)[0]
    account["metadata"] = {"name": "runner", "namespace": NAMESPACE}
    assert found("reference-service-account", account, *objects) == []


def test_what_a_trainjob_field_sets_is_found_at_that_field() -> None:
    objects = run("TrainJob", container(["torchrun", "train.py"]))
    objects[1]["spec"]["trainer"]["numProcPerNode"] = 4
    fleet = Fleet(read(["-"], io.BytesIO(yaml.safe_dump_all(objects).encode())).documents)
    (issue,) = RULES["torchrun-processes"].function(fleet)
    assert issue.path == ("spec", "trainer", "numProcPerNode")
