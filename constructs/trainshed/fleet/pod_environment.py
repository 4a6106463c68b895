"""The environment of a container: what is written, what the input's ConfigMaps hold, what controllers add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from trainshed.fleet.access import Node, items, mapping, mappings, strings, text
from trainshed.fleet.paths import Path
from trainshed.fleet.words import Ref, Word, expand
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

COMPLETION_INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
INDEX_PATHS: Final = frozenset({COMPLETION_INDEX, "metadata.labels['batch.kubernetes.io/job-completion-index']"})


@dataclass(frozen=True, slots=True)
class Unknown:
    """A `$(name)` in the value of variable `variable`, at `path` in the template. `later`: the name is defined after
    it only, so that the text stays as it is."""

    variable: str
    name: str
    path: Path
    later: bool


@dataclass
class Environment:
    """`values` by name and the `paths` in the template where they are written (none: a controller adds it). `complete`
    is False when variables come from what is not in the input; `unknown` lists references that are not put in."""

    values: dict[str, Word] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    complete: bool = True
    unknown: list[Unknown] = field(default_factory=list)


def environment(fleet: Fleet, workload: Workload, pod_set: PodSet, path: Path, container: Node) -> Environment:
    """The variables of a container. Values may name variables that stand before them: those from envFrom, those of
    the list, and what LeaderWorkerSet puts in front; other controllers append theirs, so that they win."""
    first, last = controller_variables(workload, pod_set)
    made = Environment(dict(first))
    for _, source in mappings(container, "envFrom"):
        _take(fleet, workload, source, made)
    listed = mappings(container, "env")
    names = {text(item, "name") for _, item in listed} | last.keys()
    for index, item in listed:
        name = text(item, "name")
        at = (*path, "env", index)
        missing: list[str] = []
        value = item.get("value")
        if isinstance(value, str):
            made.values[name] = expand(value, made.values, missing.append)
            made.paths[name] = (*at, "value")
        elif item.get("valueFrom") is not None:
            made.values[name] = _referred(fleet, workload, name, mapping(item, "valueFrom"))
            made.paths[name] = (*at, "valueFrom")
        else:
            made.values[name] = ()
            made.paths[name] = at
        made.unknown += [Unknown(name, other, (*at, "value"), other in names) for other in missing]
    for name, word in last.items():
        made.values[name] = word
        made.paths.pop(name, None)
    return made


def _take(fleet: Fleet, workload: Workload, source: Node, made: Environment) -> None:
    """The keys of a ConfigMap, where it is in the input."""
    name = text(source, "configMapRef", "name")
    found = fleet.namespaces.find("", "ConfigMap", workload.namespace, name) if name else None
    if found is None or not found.judged:
        made.complete = False
        return
    prefix = text(source, "prefix")
    for key, value in strings(found.manifest, "data").items():
        made.values[prefix + key] = (value,)


def _referred(fleet: Fleet, workload: Workload, name: str, source: Node) -> Word:
    field_path = text(source, "fieldRef", "fieldPath")
    if field_path:
        return (Ref(name, f"$({name})", field_path.replace('"', "'")),)
    reference = mapping(source, "configMapKeyRef")
    found = fleet.namespaces.find("", "ConfigMap", workload.namespace, text(reference, "name")) if reference else None
    if found is not None and found.judged:
        value = mapping(found.manifest, "data").get(text(reference, "key"))
        if isinstance(value, str):
            return (value,)
    return (Ref(name, f"$({name})", "secret" if "secretKeyRef" in source else "input"),)


def controller_variables(workload: Workload, pod_set: PodSet) -> tuple[dict[str, Word], dict[str, Word]]:
    """What controllers put before and after a container's own variables. Trainer's are in the template already."""
    name = text(workload.manifest, "metadata", "name") or workload.document.name
    if workload.form == "LeaderWorkerSet":
        size = pod_set.item.get("size", 1)
        return {
            "LWS_LEADER_ADDRESS": _added("LWS_LEADER_ADDRESS"),
            "LWS_GROUP_SIZE": (str(size),) if isinstance(size, int) else _added("LWS_GROUP_SIZE"),
            "LWS_WORKER_INDEX": _added("LWS_WORKER_INDEX"),
        }, {}
    if pod_set.job:
        mode = pod_set.job.get("completionMode", "Indexed" if workload.form == "JobSet" else "NonIndexed")
        indexed = mode == "Indexed"
        index: Word = (Ref("JOB_COMPLETION_INDEX", "$(JOB_COMPLETION_INDEX)", COMPLETION_INDEX),)
        return {}, ({"JOB_COMPLETION_INDEX": index} if indexed else {})
    if workload.form == "Job":
        return {}, _volcano(workload, name)
    if workload.form == "pytorch":
        names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PYTHONUNBUFFERED")
        pets = ("NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "RDZV_BACKEND", "RDZV_ENDPOINT")
        added = [*names, *(f"PET_{pet}" for pet in pets), "PET_RDZV_ID", "PET_MAX_RESTARTS"]
        return {}, {variable: _added(variable) for variable in added}
    return {}, {}


def _volcano(workload: Workload, name: str) -> dict[str, Word]:
    """Volcano v1.15: the plugins env, svc and pytorch (`pkg/controllers/job/plugins`)."""
    plugins = mapping(workload.manifest, "spec", "plugins")
    added: dict[str, Word] = {}
    if "env" in plugins:
        added = {key: _added(key) for key in ("VK_TASK_INDEX", "VC_TASK_INDEX")}
    if any(plugin in plugins for plugin in ("svc", "pytorch", "mpi", "tensorflow", "ray")):
        for pod_set in workload.pod_sets:
            key = pod_set.name.upper().replace("-", "_")
            added |= {f"VC_{key}_HOSTS": _added(f"VC_{key}_HOSTS"), f"VC_{key}_NUM": (str(pod_set.count),)}
    if "pytorch" in plugins:
        written = [item for item in items(plugins, "pytorch") if isinstance(item, str) and "=" in item]
        arguments = dict(item.lstrip("-").split("=", 1) for item in written)
        master, worker = arguments.get("master", "master"), arguments.get("worker", "worker")
        counts = {pod_set.name: pod_set for pod_set in workload.pod_sets}
        if master in counts:
            total = sum(counts[task].count for task in {master, worker} & counts.keys())
            spec = counts[master].spec
            host = f"{text(spec, 'hostname') or f'{name}-{master}-0'}.{text(spec, 'subdomain') or name}"
            added |= {
                "MASTER_ADDR": (host,),
                "MASTER_PORT": (arguments.get("port", "23456"),),
                "WORLD_SIZE": (str(total),),
                "RANK": _added("RANK"),
            }
    return added


def _added(name: str) -> Word:
    return (Ref(name, f"$({name})", "controller"),)
