"""A fault of a run is found in every kind that can hold it, and nothing is found where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.runs.worlds import FIRST, Manifest, codes, container, findings, run, torchrun

KINDS = tuple(FIRST)
every_kind = pytest.mark.parametrize("kind", KINDS)
#: Kinds whose controllers do not set torchrun's variables; their pods meet where the command says.
BY_HAND = tuple(kind for kind in KINDS if kind not in ("TrainJob", "PyTorchJob"))
by_hand = pytest.mark.parametrize("kind", BY_HAND)

SPELLINGS: dict[str, Any] = {
    "equals": lambda words: words,
    "spaces": lambda words: [part for word in words for part in word.split("=", 1)],
    "underscores": lambda words: [
        word.split("=")[0].replace("-", "_").replace("__", "--") + word[len(word.split("=")[0]) :]
        if word.startswith("--")
        else word
        for word in words
    ],
    "module": lambda words: ["python3", "-u", "-m", "torch.distributed.run", *words[1:]],
    "path": lambda words: ["/opt/conda/bin/torchrun", *words[1:]],
    "shell": lambda words: ["bash", "-lc", "exec " + " ".join(words)],
    "steps": lambda words: ["sh", "-c", "set -e\ncd /app && export A=1\nexec " + " \\\n  ".join(words)],
    "variables": lambda words: ["sh", "-c", f'ARGS="{" ".join(words[1:-1])}"\nexec torchrun $ARGS train.py'],
    "array": lambda words: ["bash", "-c", f'ARGS=({" ".join(words[1:-1])})\nexec torchrun "${{ARGS[@]}}" train.py'],
    "wrapper": lambda words: ["numactl", "--cpunodebind=0", *words],
}
every_spelling = pytest.mark.parametrize("spelling", SPELLINGS)


def made(kind: str, spelling: str = "equals", *, pods: int = 2, **options: str) -> list[Manifest]:
    return run(kind, container(SPELLINGS[spelling](torchrun(kind, **options))), pods)


@every_kind
@every_spelling
def test_a_good_run_is_left_alone(kind: str, spelling: str) -> None:
    assert findings(*made(kind, spelling)) == []


@every_kind
@every_spelling
def test_more_nodes_than_pods(kind: str, spelling: str) -> None:
    found = findings(*made(kind, spelling, nodes="4"))
    assert [finding.code for finding in found] == ["torchrun-nodes"]
    assert "is 4" in found[0].message


@every_kind
def test_a_range_of_nodes_holds_the_pods(kind: str) -> None:
    assert codes(*made(kind, nodes="1:4")) == []
    assert codes(*made(kind, nodes="3:4")) == ["torchrun-nodes"]


@every_kind
@every_spelling
def test_meeting_at_localhost(kind: str, spelling: str) -> None:
    assert codes(*made(kind, spelling, endpoint="localhost:29500")) == ["rendezvous-address-local"]


@every_kind
def test_one_pod_may_meet_itself(kind: str) -> None:
    assert codes(*made(kind, pods=1, nodes="1", endpoint="localhost:29500")) == []


@every_kind
def test_an_id_of_each_pods_own(kind: str) -> None:
    words = torchrun(kind)
    words[4] = "--rdzv-id=$RANDOM"
    assert codes(*run(kind, container(["bash", "-c", "exec " + " ".join(words)]))) == ["rendezvous-id-differs"]
    words[4] = "--rdzv-id=$(date +%s)"
    assert codes(*run(kind, container(["bash", "-c", "exec " + " ".join(words)]))) == ["rendezvous-id-differs"]
    words[4] = "--rdzv-id=$(POD)"
    env = [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    assert codes(*run(kind, container(words, env))) == ["rendezvous-id-differs"]


@every_kind
@every_spelling
def test_more_processes_than_gpus(kind: str, spelling: str) -> None:
    found = findings(*made(kind, spelling, processes="16"))
    assert [(finding.code, finding.severity) for finding in found] == [("torchrun-processes", "error")]


@every_kind
def test_fewer_processes_than_gpus(kind: str) -> None:
    found = findings(*made(kind, processes="2"))
    assert [(finding.code, finding.severity) for finding in found] == [("torchrun-processes", "warning")]


@every_kind
@pytest.mark.parametrize("word", ["gpu", "auto"])
def test_a_word_for_all_gpus_is_no_number(kind: str, word: str) -> None:
    assert codes(*made(kind, processes=word)) == []


@by_hand
def test_no_address_at_all(kind: str) -> None:
    words = [word for word in torchrun(kind) if "endpoint" not in word]
    assert codes(*run(kind, container(words))) == ["rendezvous-address-missing"]


@by_hand
def test_the_static_rendezvous_needs_ranks(kind: str) -> None:
    words = ["torchrun", "--nnodes=2", "--nproc-per-node=8", f"--master-addr={FIRST[kind]}", "train.py"]
    assert codes(*run(kind, container(words))) == ["rendezvous-rank-missing"]
    assert codes(*run(kind, container([*words[:-1], "--node-rank=0", "train.py"]))) == ["rendezvous-rank-repeated"]


@by_hand
def test_no_number_of_nodes(kind: str) -> None:
    words = ["torchrun", "--nproc-per-node=8", f"--master-addr={FIRST[kind]}", "train.py"]
    assert codes(*run(kind, container(words))) == ["torchrun-nodes-missing"]


@by_hand
@pytest.mark.parametrize("host", ["{0}", "{0}.other"])
def test_a_name_that_no_pod_has(kind: str, host: str) -> None:
    wrong = host.format(FIRST[kind].split(".")[0])
    found = findings(*made(kind, endpoint=f"{wrong}:29500"))
    assert "rendezvous-address-unresolved" in [finding.code for finding in found]


@by_hand
def test_full_names_resolve(kind: str) -> None:
    for suffix in (".team-a", ".team-a.svc", ".team-a.svc.cluster.local"):
        assert codes(*made(kind, endpoint=f"{FIRST[kind]}{suffix}:29500")) == []


@every_kind
def test_variables_in_place_of_options(kind: str) -> None:
    env = [{"name": "PET_NPROC_PER_NODES", "value": "8"}]
    assert "rendezvous-variable-misspelt" in codes(*run(kind, container(torchrun(kind), env)))


@by_hand
def test_torchrun_reads_its_variables(kind: str) -> None:
    env = [
        {"name": "PET_NNODES", "value": "4"},
        {"name": "PET_NPROC_PER_NODE", "value": "16"},
        {"name": "PET_RDZV_BACKEND", "value": "c10d"},
        {"name": "PET_RDZV_ENDPOINT", "value": "localhost:29500"},
    ]
    found = codes(*run(kind, container(["torchrun", "train.py"], env)))
    assert found == ["rendezvous-address-local", "torchrun-nodes", "torchrun-processes"]


@every_kind
def test_flags_win_over_variables(kind: str) -> None:
    env = [{"name": "PET_RDZV_ENDPOINT", "value": "localhost:29500"}]
    assert codes(*run(kind, container(torchrun(kind), env))) == []


@every_kind
def test_host_network_without_its_dns(kind: str) -> None:
    assert codes(*run(kind, container(torchrun(kind)), hostNetwork=True)) == ["rendezvous-host-network-dns"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "TrainJob"])  # Trainer declares the port
def test_small_pods_fight_for_a_port(kind: str) -> None:
    box = container(torchrun(kind, processes="2"))
    box["resources"] = {"limits": {"nvidia.com/gpu": "2", "memory": "64Gi"}}
    network: dict[str, Any] = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    assert codes(*run(kind, box, **network)) == ["rendezvous-host-network-port"]


@every_kind
def test_no_shared_memory(kind: str) -> None:
    assert codes(*run(kind, container(torchrun(kind), volumeMounts=[]))) == ["resources-shm-missing"]


@every_kind
def test_shared_memory_on_disk(kind: str) -> None:
    volumes = [{"name": "shm", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    assert codes(*run(kind, container(torchrun(kind)), volumes=volumes)) == ["resources-shm-not-memory"]


@every_kind
@pytest.mark.parametrize("amount", ["512m", "256", "1k"])
def test_memory_below_a_mebibyte(kind: str, amount: str) -> None:
    box = container(torchrun(kind))
    box["resources"]["requests"]["memory"] = amount
    found = findings(*run(kind, box))
    assert [finding.code for finding in found] == ["resources-bytes-unit"]
    assert amount in found[0].message


@every_kind
@pytest.mark.parametrize("amount", ["96Gi", "64000", "96k"])
def test_more_cores_than_any_machine(kind: str, amount: str) -> None:
    box = container(torchrun(kind))
    box["resources"]["requests"]["cpu"] = box["resources"]["limits"]["cpu"] = amount
    assert codes(*run(kind, box)) == ["resources-cpu-unit"]


@every_kind
def test_no_folder_for_temporary_files(kind: str) -> None:
    box = container(torchrun(kind), securityContext={"readOnlyRootFilesystem": True})
    assert codes(*run(kind, box)) == []
    box["volumeMounts"] = box["volumeMounts"][:1]
    assert codes(*run(kind, box)) == ["resources-no-temporary-folder"]


@every_kind
def test_a_claim_that_only_one_node_mounts(kind: str) -> None:
    claim: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "ckpt", "namespace": "team-a"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}},
    }
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}},
        {"name": "tmp", "persistentVolumeClaim": {"claimName": "ckpt"}},
    ]
    objects = run(kind, container(torchrun(kind)), volumes=volumes)
    assert codes(claim, *objects) == ["resources-claim-on-several-nodes"]
    claim["spec"]["accessModes"] = ["ReadWriteMany"]
    assert codes(claim, *objects) == []


@every_kind
def test_a_policy_that_lets_no_pod_talk_to_another(kind: str) -> None:
    policy: Manifest = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "deny", "namespace": "team-a"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
    }
    objects = made(kind)
    assert codes(policy, *objects) == ["rendezvous-network-policy"]
    policy["spec"]["ingress"] = [{"from": [{"podSelector": {}}], "ports": [{"port": 29500}]}]
    assert codes(policy, *objects) == ["rendezvous-network-policy"]
    policy["spec"]["ingress"] = [{"from": [{"podSelector": {}}]}]
    assert codes(policy, *objects) == []


@every_kind
def test_a_mesh_between_the_pods(kind: str) -> None:
    metadata = {"name": "team-a", "labels": {"istio-injection": "enabled"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    assert codes(namespace, *made(kind)) == ["rendezvous-mesh-sidecar"]


@every_kind
def test_a_grace_period_that_torchrun_overruns(kind: str) -> None:
    objects = run(kind, container(torchrun(kind)), terminationGracePeriodSeconds=30)
    assert codes(*objects) == ["torchrun-grace-too-short"]


@every_kind
def test_a_shell_that_keeps_signals_to_itself(kind: str) -> None:
    script = "cd /app\n" + " ".join(torchrun(kind)) + "\necho done"
    assert codes(*run(kind, container(["sh", "-c", script]))) == ["torchrun-behind-shell"]
