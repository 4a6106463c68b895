"""What a runtime's mlPolicy and podGroupPolicy add to the pods of a TrainJob: variables, a port, the gang's name."""

from __future__ import annotations

from typing import Any, Final

from trainshed.fleet.access import Node, items, mapping, strings, whole
from trainshed.fleet.amounts import amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workloads.at import At
from trainshed.fleet.workloads.merge import index_of
from trainshed.fleet.workloads.trainjob_fields import Draft

_INDEX: Final = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
_PORT: Final = 29500
_JAX_PORT: Final = 6666

Variable = tuple[str, Any, str]


def apply_policy(at: At, policy: Node, drafts: list[Draft]) -> None:
    """Injects the policy's environment into the container `node` of the training job. Trainer does so only for a
    TrainJob that has `spec.trainer` (JAX: for every one); a variable's place is the field that decides its value."""
    draft = next((draft for draft in drafts if draft.ancestor == "trainer"), None)
    index = draft.container("node") if draft else None
    if draft is None or index is None:
        return
    trainer = mapping(at.manifest, "spec", "trainer")
    written = isinstance(mapping(at.manifest, "spec").get("trainer"), dict)
    resources = mapping(draft.template, "spec", "containers", index, "resources")
    if written and isinstance(policy.get("torch"), dict):
        if trainer.get("command") != ["tune", "run"]:
            _inject(at, draft, index, _torch(at, draft, trainer, resources))
            _open(at, draft, index, _PORT)
    elif isinstance(policy.get("jax"), dict):
        _inject(at, draft, index, _jax(at, draft))
        _open(at, draft, index, _JAX_PORT)
    elif written and isinstance(policy.get("xgboost"), dict):
        _inject(at, draft, index, _xgboost(at, draft, resources))
        _open(at, draft, index, _PORT)
    elif isinstance(policy.get("mpi"), dict):
        _inject(at, draft, index, _mpi(mapping(policy, "mpi"), trainer, resources))


def _torch(at: At, draft: Draft, trainer: Node, resources: Node) -> list[Variable]:
    written = mapping(trainer, "resourcesPerNode")
    return [
        ("PET_NNODES", str(draft.count), "numNodes"),
        ("PET_NPROC_PER_NODE", processes(trainer, written or resources), "numProcPerNode"),
        ("PET_NODE_RANK", _INDEX, ""),
        ("PET_MASTER_ADDR", _first(at), ""),
        ("PET_MASTER_PORT", str(_PORT), ""),
    ]


def processes(trainer: Node, resources: Node) -> str:
    """PET_NPROC_PER_NODE: numProcPerNode; else `auto` with GPUs; else the CPU request, or the CPU limit, rounded up.

    `resources` are the TrainJob's where it has any, otherwise those of the runtime's container (workloads.md 8).
    """
    written = whole(trainer, "numProcPerNode")
    if written is not None:
        return str(written)
    requests, limits = amounts(resources.get("requests")), amounts(resources.get("limits"))
    for listed in (requests, limits):
        gpus = [amount for name, amount in listed.items() if "gpu" in name.lower()]
        if gpus:
            if gpus[0]:
                return "auto"
            break
    cpu = requests.get("cpu", limits.get("cpu"))
    return "1" if cpu is None else str(max(1, -(-cpu.value.numerator // cpu.value.denominator)))


def _jax(at: At, draft: Draft) -> list[Variable]:
    return [
        ("JAX_NUM_PROCESSES", str(draft.count), "numNodes"),
        ("JAX_PROCESS_ID", _INDEX, ""),
        ("JAX_COORDINATOR_ADDRESS", f"{_first(at)}:{_JAX_PORT}", ""),
    ]


def _xgboost(at: At, draft: Draft, resources: Node) -> list[Variable]:
    workers = draft.count * max(_gpus(resources), 1)
    return [
        ("DMLC_TRACKER_URI", _first(at), ""),
        ("DMLC_TRACKER_PORT", str(_PORT), ""),
        ("DMLC_TASK_ID", _INDEX, ""),
        ("DMLC_NUM_WORKER", str(workers), "numNodes"),
    ]


def _mpi(policy: Node, trainer: Node, resources: Node) -> list[Variable]:
    slots = whole(trainer, "numProcPerNode")
    if slots is None:
        slots = whole(policy, "numProcPerNode")
        slots = max(_gpus(resources), 1) if slots in (None, 1) else slots
    return [
        ("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile", ""),
        ("OMPI_MCA_orte_keep_fqdn_hostnames", "true", ""),
        ("OMPI_MCA_orte_set_default_slots", str(slots), "numProcPerNode"),
        ("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10", ""),
    ]


def _gpus(resources: Node) -> int:
    for field in ("requests", "limits"):
        for name, amount in amounts(resources.get(field)).items():
            if "gpu" in name.lower():
                return int(amount.value)
    return 0


def _first(at: At) -> str:
    """The address of rank 0, which Trainer fixes whatever the jobs and the subdomain are called."""
    return f"{at.name}-node-0-0.{at.name}"


def _inject(at: At, draft: Draft, index: int, variables: list[Variable]) -> None:
    root: Path = (*at.path, "spec", "trainer")
    listed: list[tuple[Node, tuple[Document, Path]]] = []
    for name, value, field in variables:
        variable: Node = {"name": name, "value" if isinstance(value, str) else "valueFrom": value}
        place = draft.count_at if field == "numNodes" else (at.document, (*root, field) if field else root)
        listed.append((variable, place))
    draft.upsert_env(index, listed)


def _open(at: At, draft: Draft, index: int, port: int) -> None:
    place: Path = ("spec", "containers", index, "ports")
    ports = items(draft.template, *place)
    if index_of(ports, "containerPort", port) is None:
        draft.origins.put((*place, len(ports)), (at.document, (*at.path, "spec", "trainer")))
        draft.change(index, {"ports": [*ports, {"containerPort": port}]})


def mark_gang(at: At, runtime: Document, drafts: list[Draft]) -> None:
    """The label or annotation by which a podGroupPolicy's scheduler knows the gang: on every pod."""
    policy = mapping(runtime.manifest, "spec", "podGroupPolicy")
    for source, field, key in (
        ("coscheduling", "labels", "scheduling.x-k8s.io/pod-group"),
        ("volcano", "annotations", "scheduling.k8s.io/group-name"),
    ):
        if not isinstance(policy.get(source), dict):
            continue
        for draft in drafts:
            metadata = mapping(draft.template, "metadata")
            entries = {**strings(metadata, field), key: at.name}
            draft.template = {**draft.template, "metadata": {**metadata, field: entries}}
            draft.origins.put(("metadata", field, key), (runtime, ("spec", "podGroupPolicy", source)))
