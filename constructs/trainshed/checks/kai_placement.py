"""KAI: parts of GPUs, and topology."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import KAI, listed, proposal
from trainshed.checks.kai_common import placed
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FRACTION: Final = "gpu-fraction"
_MEMORY: Final = "gpu-memory"
_DEVICES: Final = "gpu-fraction-num-devices"
_CONTAINER: Final = "gpu-fraction-container-name"
_TOPOLOGY: Final = "kai.scheduler/topology"
_LEVELS: Final = ("kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement")


@rule("kai-gpu-sharing", severity="error", family="kai placement", targets=("kai",))
def gpu_sharing(fleet: Fleet) -> Iterator[Issue]:
    """Annotations for a part of a GPU contradict each other or the pod's limits.

    Why: KAI's pod webhook refuses a fraction beside a whole GPU, a fraction beside an amount of memory, values that are
    not between 0 and 1 (fraction) or whole numbers of MiB (memory), and an unknown container.
    Fix: Write either gpu-fraction or gpu-memory, and no GPU limit.
    """
    config = next(iter(fleet.of(("kai.scheduler", "Config"))), None)
    off = config is not None and dig(config.manifest, "spec", "admission", "gpuSharing") is not True
    for workload in placed(fleet):
        for pod_set in workload.pod_sets:
            if pod_set.scheduler != KAI:
                continue
            shared = next((key for key in (_FRACTION, _MEMORY) if key in pod_set.annotations), "")
            if shared and off and config is not None:
                document, path = pod_set.at(("metadata", "annotations", shared))
                message = f"{shared} asks for a part of a GPU, and Config {config.name} leaves gpuSharing off: refused"
                fix = "write spec.admission.gpuSharing: true in the Config"
                related = (("the Config", config, ("spec", "admission")),)
                yield Issue(document, path, message, fix, None, related)
            for key, message, fix in _sharing(pod_set):
                document, path = pod_set.at(("metadata", "annotations", key))
                yield Issue(document, path, message, fix)
            for key in (_FRACTION, _MEMORY):
                if key in pod_set.labels:
                    document, path = pod_set.at(("metadata", "labels", key))
                    yield Issue(document, path, f"{key} is written as a label, and KAI reads an annotation", "move it")


def _sharing(pod_set: PodSet) -> Iterator[tuple[str, str, str]]:
    given = pod_set.annotations
    fraction, memory = given.get(_FRACTION), given.get(_MEMORY)
    if fraction is not None and not _is_fraction(fraction):
        yield _FRACTION, f'gpu-fraction is "{fraction[:20]}", not a number above 0 and below 1', 'write such as "0.5"'
    if memory is not None and not _is_count(memory):
        message = f'gpu-memory is "{memory[:20]}", not a whole number of MiB'
        yield _MEMORY, message, 'write such as "2000", without a unit'
    if fraction is not None and memory is not None:
        yield _MEMORY, "gpu-memory and gpu-fraction are both set", "keep one of them"
    key = _FRACTION if fraction is not None else _MEMORY
    if fraction is not None or memory is not None:
        for _, container in pod_set.containers:
            if any(str(name).endswith("/gpu") for name in mapping(container, "resources", "limits")):
                message = f"{key} asks for a part of a GPU, and a container has a limit of whole GPUs: refused"
                yield key, message, "drop the GPU limit, or the annotation"
                break
    elif _DEVICES in given:
        yield _DEVICES, f"{_DEVICES} has no meaning without gpu-fraction or gpu-memory", "add gpu-fraction"
    if _DEVICES in given and not _is_count(given[_DEVICES]):
        yield _DEVICES, f'{_DEVICES} is "{given[_DEVICES][:20]}", not a whole number from 1', 'write such as "2"'
    names = [text(item, "name") for _, item in (*pod_set.containers, *pod_set.init_containers)]
    wanted = given.get(_CONTAINER)
    if wanted is not None and wanted not in names:
        yield (
            _CONTAINER,
            f'the pod has no container "{wanted}"',
            proposal(wanted, names, f"name one of {listed(names)}"),
        )


def _is_fraction(written: str) -> bool:
    try:
        return 0 < float(written) < 1
    except ValueError:
        return False


def _is_count(written: str) -> bool:
    return written.isascii() and written.isdigit() and int(written[:18]) > 0


@rule("kai-topology", severity="error", family="kai placement", targets=("kai",))
def topology(fleet: Fleet) -> Iterator[Issue]:
    """A topology request of KAI names a Topology or a level that does not exist.

    Why: The PodGroup can't be scheduled. Without `kai.scheduler/topology` the placement annotations are ignored.
    Fix: Name a Topology, and one of its levels by node label or alias.
    """
    for group in fleet.of(("scheduling.run.ai", "PodGroup")):
        yield from _constraint(fleet, group, ("spec", "topologyConstraint"), mapping(group.manifest, "spec"))
        for index, item in mappings(group.manifest, "spec", "subGroups"):
            yield from _constraint(fleet, group, ("spec", "subGroups", index, "topologyConstraint"), item)
    for workload in placed(fleet):
        given, base = workload.annotations, workload.annotations_path
        asked = [key for key in _LEVELS if key in given]
        if asked and _TOPOLOGY not in given:
            message = f"{asked[0]} is ignored without {_TOPOLOGY}"
            yield Issue(workload.document, (*base, asked[0]), message, f"add {_TOPOLOGY} with the name of a Topology")
        elif _TOPOLOGY in given:
            levels = [((*base, key), given[key]) for key in asked]
            yield from _levels(fleet, workload.document, (*base, _TOPOLOGY), given[_TOPOLOGY], levels)


def _constraint(fleet: Fleet, group: Document, path: Path, node: Node) -> Iterator[Issue]:
    constraint = mapping(node, "topologyConstraint")
    fields = ("requiredTopologyLevel", "preferredTopologyLevel")
    levels = [((*path, field), level) for field in fields if (level := text(constraint, field))]
    if name := text(constraint, "topology"):
        yield from _levels(fleet, group, (*path, "topology"), name, levels)


def _levels(fleet: Fleet, document: Document, path: Path, name: str, levels: list[tuple[Path, str]]) -> Iterator[Issue]:
    known = fleet.names("kai.scheduler", "Topology")
    found = fleet.find("kai.scheduler", "Topology", None, name)
    if found is None:
        if known:
            message = f'there is no Topology "{name}": the pods can\'t be scheduled'
            yield Issue(document, path, message, proposal(name, known, f"name one of {listed(known)}"))
        return
    names = [
        level
        for _, item in mappings(found.manifest, "spec", "levels")
        for level in (text(item, "nodeLabel"), text(item, "alias"))
        if level
    ]
    for place, level in levels:
        if level not in names:
            message = f'Topology "{name}" has no level "{level}"'
            fix = proposal(level, names, f"name one of {listed(names)}")
            yield Issue(document, place, message, fix, None, ((f"Topology {name}", found, ("spec", "levels")),))
