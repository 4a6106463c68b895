"""Rules on pods hold in every kind that makes pods, in init containers, in Lists and in JSON."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.checks.gitops.worlds import KINDS, PATCHED, Manifest, as_list, codes, findings, job, made, pod

SECRET = "0123456789abcdef0123456789abcdef01234567"
every_kind = pytest.mark.parametrize("kind", KINDS)


def box(**fields: Any) -> Manifest:
    return pod(box=fields)


def volume(source: Manifest, **mount: Any) -> Manifest:
    mounts = [{"name": "it", "mountPath": "/it"} | mount]
    return pod(box={"volumeMounts": mounts}, volumes=[{"name": "it"} | source])


#: Pod spec → the code that every kind gets for it.
FAULTS: dict[str, tuple[Manifest, str]] = {
    "privileged": (box(securityContext={"privileged": True}), "security-privileged"),
    "a capability": (box(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}), "security-capabilities"),
    "root": (pod(securityContext={"runAsUser": 0}), "security-run-as-root"),
    "hostIPC": (pod(hostIPC=True), "security-host-namespaces"),
    "hostPID": (pod(hostPID=True), "security-host-namespaces"),
    "a host port": (box(ports=[{"containerPort": 29500, "hostPort": 29500}]), "security-host-port"),
    "the node's root": (volume({"hostPath": {"path": "/"}}), "security-host-path"),
    "a data folder": (volume({"hostPath": {"path": "/data/sets"}}), "security-host-path"),
    "a secret": (box(env=[{"name": "WANDB_API_KEY", "value": SECRET}]), "security-secret-in-env"),
    "a secret in args": (box(args=[f"--wandb-api-key={SECRET}"]), "security-secret-in-command"),
    "a decimal mode": (volume({"secret": {"secretName": "key", "defaultMode": 400}}), "rendering-mode-decimal"),
    "no source": (volume({}), "rendering-volume-without-source"),
    "blanks": (box(image=" registry.example.com/trainer:1"), "rendering-image-missing"),
}
#: Pod specs that look like those and are as they should be.
HARMLESS: dict[str, Manifest] = {
    "not privileged": box(securityContext={"privileged": False}),
    "RDMA": box(securityContext={"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}),
    "a user": pod(securityContext={"runAsUser": 10001}),
    "an init container as root": pod(
        initContainers=[{"name": "chown", "image": "busybox:1", "securityContext": {"runAsUser": 0}}]
    ),
    "a container port": box(ports=[{"containerPort": 29500}]),
    "a read-only folder": volume({"hostPath": {"path": "/data/sets"}}, readOnly=True),
    "a driver": volume({"hostPath": {"path": "/usr/local/nvidia"}}),
    "a local cache": volume({"hostPath": {"path": "/mnt/nvme/cache"}}),
    "references": box(
        env=[
            {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "key"}}},
            {"name": "HF_TOKEN", "value": "$(TOKEN)"},
            {"name": "MAX_NEW_TOKENS", "value": "1048576000"},
            {"name": "HF_TOKEN_PATH", "value": "/var/run/secrets/hf"},
            {"name": "PAD_TOKEN", "value": "<|endoftext|>"},
            {"name": "TOKENIZERS_PARALLELISM", "value": "false"},
            {"name": "MLFLOW_TRACKING_URI", "value": "https://mlflow.example.com:443/api"},
            {"name": "API_KEY", "value": "changeme-please"},
        ],
        args=["--api-key=$(WANDB_API_KEY)", "--max-tokens", "131072", "--tokenizer=meta-llama/Llama-3.1-8B"],
    ),
    "an octal mode": volume({"secret": {"secretName": "key", "defaultMode": 0o400}}),
    "a mode of 0644": volume({"configMap": {"name": "key", "defaultMode": 420}}),
    "memory": volume({"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}),
}


@every_kind
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_in_every_kind(kind: str, fault: str) -> None:
    spec, code = FAULTS[fault]
    assert code in codes(*KINDS[kind](copy.deepcopy(spec)))


@every_kind
@pytest.mark.parametrize("fault", ["hostIPC", "a data folder", "no source"])
def test_nothing_else_is_said_about_it(kind: str, fault: str) -> None:
    spec, code = FAULTS[fault]
    assert codes(*KINDS[kind](copy.deepcopy(spec))) == {code}


@every_kind
@pytest.mark.parametrize("what", HARMLESS)
def test_its_harmless_neighbour_is_not(kind: str, what: str) -> None:
    assert codes(*KINDS[kind](copy.deepcopy(HARMLESS[what]))) == set()


@every_kind
def test_privileged_is_a_note_where_it_opens_tpu_chips(kind: str) -> None:
    """JobSet's own sample is such: site/static/examples/tpu-multislice."""
    spec = box(securityContext={"privileged": True}, resources={"limits": {"google.com/tpu": 4}})
    found = [one.severity for one in findings(*KINDS[kind](copy.deepcopy(spec))) if one.code == "security-privileged"]
    assert found == ["info"]


def test_privileged_is_an_error_in_a_container_without_chips_of_a_tpu_pod() -> None:
    spec = box(resources={"limits": {"google.com/tpu": 4}})
    spec["containers"].append({"name": "side", "image": "x:1", "securityContext": {"privileged": True}})
    found = [one.severity for one in findings(*KINDS["Job"](spec)) if one.code == "security-privileged"]
    assert found == ["error"]


@pytest.mark.parametrize("fault", ["root", "hostIPC", "a host port", "the node's root"])
def test_agents_of_the_nodes_may(fault: str) -> None:
    spec = {key: value for key, value in FAULTS[fault][0].items() if key != "restartPolicy"}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": spec}
    agent = made("apps/v1", "DaemonSet", {"selector": {"matchLabels": {"app": "agent"}}, "template": template})
    assert codes(agent) == set()


@pytest.mark.parametrize("fault", ["privileged", "a capability", "a secret", "a secret in args", "blanks"])
def test_init_containers_count_as_well(fault: str) -> None:
    spec, code = FAULTS[fault]
    (broken,) = spec["containers"]
    inits = [broken | {"name": "prepare"}, {"name": "side", "image": "x:1", "restartPolicy": "Always"}]
    assert code in codes(job(pod(initContainers=inits)))


def test_a_finding_is_where_the_field_is_written() -> None:
    """A TrainJob's pod is written in its runtime, or in its patch."""
    runtime_finding = next(
        item for item in findings(*KINDS["TrainJob"](pod(hostIPC=True))) if item.code == "security-host-namespaces"
    )
    assert runtime_finding.object is not None
    assert runtime_finding.object.kind == "TrainingRuntime"
    assert runtime_finding.path.endswith("template.spec.hostIPC")
    patched = volume({"hostPath": {"path": "/etc"}})
    patch_finding = next(item for item in findings(*PATCHED(patched)) if item.code == "security-host-path")
    assert patch_finding.object is not None
    assert patch_finding.object.kind == "TrainJob"
    assert patch_finding.path.startswith("spec.runtimePatches[0]")


def test_lists_and_json_are_read_like_documents() -> None:
    text = as_list(job(pod(hostPID=True)), job(name="other"))
    (finding,) = [item for item in findings(text=text) if item.severity != "info"]
    assert finding.code == "security-host-namespaces"
    assert finding.object is not None
    assert finding.object.name == "sft"


@pytest.mark.parametrize(
    "value",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a1B2" * 10,
        "hf_" + "aB3d" * 9,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmno",
        "postgresql://train:s3cr3tpw@db.example.com/runs",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
    ],
)
def test_known_credentials_are_told_under_any_name(value: str) -> None:
    assert codes(job(box(env=[{"name": "SETTING", "value": value}]))) == {"security-secret-in-env"}
    assert "security-secret-in-configmap" in codes(
        made("v1", "ConfigMap", data={"config.ini": f"a = 1\nx = {value}\n"})
    )
    assert "security-secret-in-command" in codes(job(box(command=["bash", "-c", f"run --with {value}"])))


@pytest.mark.parametrize(
    "script",
    [
        "export WANDB_API_KEY=0123456789abcdef0123 && python train.py",
        "wandb login --api-key 0123456789abcdef0123",
        "curl -H 'x' --password='s3cr3t-s3cr3t-1'",
    ],
)
def test_secrets_in_shell_scripts(script: str) -> None:
    assert codes(job(box(command=["bash", "-c", script]))) >= {"security-secret-in-command"}


@pytest.mark.parametrize(
    "script",
    [
        "export WANDB_API_KEY=$(cat /run/secrets/wandb) && python train.py",
        "python train.py --max-tokens 131072000000 --token-type=bpe32000000",
        "echo the token decides about 100000000000 things",
        "python train.py --hf-token-path /run/secrets/hf-token-1",
        "torchrun --rdzv-id=0123456789abcdef0123 --standalone train.py",
    ],
)
def test_scripts_without_secrets(script: str) -> None:
    assert "security-secret-in-command" not in codes(job(box(command=["bash", "-c", script])))
