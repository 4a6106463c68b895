"""PodGroups that are made by hand for Volcano and for the Coscheduling plugin, and the pods that join them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.gang_common import KAI, VOLCANO, VOLCANO_GROUP, VOLCANO_QUEUE, YUNIKORN, listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "gang scheduling"
COSCHEDULING: Final = "scheduling.x-k8s.io"
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
_TASK: Final = "volcano.sh/task-spec"


class Kind(NamedTuple):
    """How pods name a PodGroup of an API group: `field` of their metadata, `key` in it."""

    group: str
    field: str
    key: str


KINDS: Final = (
    Kind("scheduling.volcano.sh", "annotations", VOLCANO_GROUP),
    Kind(COSCHEDULING, "labels", GROUP_LABEL),
)


def members(fleet: Fleet) -> Iterator[tuple[Kind, Workload, PodSet, str, tuple[Document, Path]]]:
    """(kind, workload, pod set, name, where it is written) of pods that join a PodGroup by hand. What Trainer marks
    pods with is left out: it makes the PodGroup too."""
    for workload, pod_set in fleet.gang_marks.grouped:
        for kind in KINDS:
            given = pod_set.labels if kind.field == "labels" else pod_set.annotations
            if name := given.get(kind.key, ""):
                place = pod_set.at(("metadata", kind.field, kind.key))
                if "podGroupPolicy" not in place[1]:
                    yield kind, workload, pod_set, name, place


@rule("gang-pod-group-missing", severity="error", family=FAMILY, targets=("volcano",))
def pod_group_missing(fleet: Fleet) -> Iterator[Issue]:
    """Pods join a PodGroup that their namespace does not have.

    Why: The group is looked up in the pods' own namespace. Coscheduling lets such a pod fail ("PodGroup not found"),
    Volcano leaves it Pending.
    Fix: Name a PodGroup of the namespace, or add it there.
    """
    seen: set[tuple[int, Path]] = set()
    for kind, workload, _, name, (document, path) in members(fleet):
        if (id(document), path) in seen or fleet.namespaces.find(kind.group, "PodGroup", workload.namespace, name):
            continue
        seen.add((id(document), path))
        known = fleet.names(kind.group, "PodGroup")
        severity: Severity = "error" if known else "info"
        elsewhere = [group.namespace or "" for group in fleet.of((kind.group, "PodGroup")) if group.name == name]
        where = f" in namespace {workload.namespace}" if workload.namespace else ""
        also = f" (there is one in {listed(elsewhere)})" if elsewhere else ""
        depends = "" if known else ", unless it exists elsewhere"
        message = f'there is no PodGroup "{name}"{where}{also}: the pods stay Pending{depends}'
        yield Issue(document, path, message, proposal(name, known, f'add PodGroup "{name}"{where}'), severity)


@rule("gang-larger-than-pods", severity="error", family=FAMILY, targets=("volcano",))
def larger_than_pods(fleet: Fleet) -> Iterator[Issue]:
    """A PodGroup waits for more pods than join it.

    Why: A gang starts when `minMember` pods are there. With fewer, all of them wait for ever ("cannot find enough
    sibling pods").
    Fix: Write the number of pods as minMember, and mark every pod.
    """
    joined = _joined(fleet)
    for kind in KINDS:
        for group in fleet.of((kind.group, "PodGroup")):
            pod_sets = joined.get(id(group), [])
            if not pod_sets:
                continue
            pods, least = sum(pod_set.count for _, pod_set in pod_sets), whole(group.manifest, "spec", "minMember") or 0
            if least > pods:
                message = f"minMember is {least}, and {pods} pods of the input join the group: they wait for ever"
                yield Issue(group, ("spec", "minMember"), message, f"write {pods}, or mark more pods with {kind.key}")
            yield from _tasks(group, [pod_set for _, pod_set in pod_sets])


def _joined(fleet: Fleet) -> dict[int, list[tuple[Workload, PodSet]]]:
    found: dict[int, list[tuple[Workload, PodSet]]] = {}
    for kind, workload, pod_set, name, _ in members(fleet):
        group = fleet.namespaces.find(kind.group, "PodGroup", workload.namespace, name)
        if group is not None:
            found.setdefault(id(group), []).append((workload, pod_set))
    return found


def _tasks(group: Document, pod_sets: list[PodSet]) -> Iterator[Issue]:
    for task in mapping(group.manifest, "spec", "minTaskMember"):
        least = whole(group.manifest, "spec", "minTaskMember", task) or 0
        counted = sum(item.count for item in pod_sets if task in (item.annotations.get(_TASK), item.labels.get(_TASK)))
        if least > counted:
            message = f'minTaskMember "{task}" is {least}, and {counted} pods have {_TASK}: {task}'
            yield Issue(group, ("spec", "minTaskMember", task), message, f"annotate the pods with {_TASK}: {task}")


@rule("gang-starts-after-itself", severity="error", family=FAMILY, targets=("volcano",))
def starts_after_itself(fleet: Fleet) -> Iterator[Issue]:
    """A PodGroup over a JobSet counts pods that are made only after others.

    Why: `dependsOn` and startupPolicy InOrder make the later pods only when the earlier ones run or have ended, and
    none runs before the gang is complete.
    Fix: Count only the pods that exist from the start in minMember.
    """
    joined = _joined(fleet)
    for kind in KINDS:
        for group in fleet.of((kind.group, "PodGroup")):
            pod_sets, least = joined.get(id(group), []), whole(group.manifest, "spec", "minMember") or 0
            total = sum(pod_set.count for _, pod_set in pod_sets)
            late = [(workload, pod_set) for workload, pod_set in pod_sets if _waits_for(workload, pod_set, pod_sets)]
            first = total - sum(pod_set.count for _, pod_set in late)
            if late and first < least <= total:
                names = [pod_set.name for _, pod_set in late]
                message = f"minMember is {least}, but only {first} pods exist at the start, {listed(names)} come later"
                yield Issue(group, ("spec", "minMember"), message, f"write {first}, or start all parts at once")


def _waits_for(workload: Workload, pod_set: PodSet, pod_sets: list[tuple[Workload, PodSet]]) -> bool:
    """Whether a pod set is made after another one that is in the same gang."""
    if workload.form != "JobSet":
        return False
    names = {item.name for other, item in pod_sets if other is workload}
    needed = {text(item, "name").lower() for _, item in mappings(pod_set.item, "dependsOn")}
    if needed & names:
        return True
    order = text(workload.manifest, "spec", "startupPolicy", "startupPolicyOrder")
    ordered = [item.name for item in workload.pod_sets if item.name in names]
    return order == "InOrder" and bool(ordered) and pod_set.name != ordered[0]


@rule("gang-other-scheduler", severity="error", family=FAMILY, targets=("volcano",))
def other_scheduler(fleet: Fleet) -> Iterator[Issue]:
    """Pods are marked for one gang scheduler and given to another.

    Why: A PodGroup or queue of Volcano counts for pods with `schedulerName: volcano` only; one of Coscheduling not for
    pods that Volcano, KAI or YuniKorn place. The pods start one by one, outside of the gang and its queue.
    Fix: Write the scheduler's name in the pod template.
    """
    seen: set[tuple[int, Path]] = set()
    for workload, pod_set in fleet.gang_marks.grouped:
        if workload.document.group in ("batch.volcano.sh", "flow.volcano.sh"):
            continue
        document, path = pod_set.at(("spec", "schedulerName"))
        found = _mismatch(pod_set)
        if found and pod_set.spec and (id(document), path) not in seen:
            seen.add((id(document), path))
            key, wanted = found
            has = f'schedulerName is "{pod_set.scheduler}"' if pod_set.scheduler else "schedulerName is not written"
            message = f"{key} is {_owner(key)}, but {has}: the pods are not scheduled as a gang"
            yield Issue(document, path, message, f"write schedulerName: {wanted}")


def _owner(key: str) -> str:
    return "read by Coscheduling" if key == GROUP_LABEL else "read by Volcano"


def _mismatch(pod_set: PodSet) -> tuple[str, str] | None:
    for key in (VOLCANO_QUEUE, VOLCANO_GROUP):
        if key in pod_set.annotations and pod_set.scheduler != VOLCANO and _by_hand(pod_set, "annotations", key):
            return key, VOLCANO
    others = (VOLCANO, KAI, YUNIKORN)
    if GROUP_LABEL in pod_set.labels and pod_set.scheduler in others and _by_hand(pod_set, "labels", GROUP_LABEL):
        return GROUP_LABEL, "the profile with Coscheduling"
    return None


def _by_hand(pod_set: PodSet, field: str, key: str) -> bool:
    """Whether a mark stands in the template; Trainer adds its own for a podGroupPolicy."""
    return "podGroupPolicy" not in pod_set.at(("metadata", field, key))[1]
