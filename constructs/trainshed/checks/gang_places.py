"""Labels and annotations of gang schedulers: as the right sort, on the right object, spelt right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.gang_common import KAI_QUEUE, VOLCANO_GROUP, VOLCANO_QUEUE
from trainshed.checks.kueue_places import Metadata, Role, metadata_blocks
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload
from trainshed.spelling import misspelt

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "gang scheduling"
_YUNIKORN: Final = "yunikorn.apache.org/"
_KAI: Final = "kai.scheduler/"
_POD: Final[tuple[Role, ...]] = ("template",)
_OWNER: Final[tuple[Role, ...]] = ("object", "inner")
_ANY: Final[tuple[Role, ...]] = ("object", "template", "inner")


class _Key(NamedTuple):
    """Where a scheduler reads a key: `fields` is labels, annotations or both, `roles` the metadata it looks at."""

    system: str
    fields: tuple[str, ...]
    roles: tuple[Role, ...]
    otherwise: str


_LABELS: Final = ("labels",)
_ANNOTATIONS: Final = ("annotations",)
_NO_GANG: Final = "the pods start one by one"
#: Sources: Volcano v1.15.1 `pkg/controllers/podgroup`, KAI v0.17.0 `pkg/podgrouper` and `pkg/common/constants`,
#: k8shim v1.9.0 `pkg/common/{constants,utils}`, scheduler-plugins v0.34.7 `apis/scheduling/v1alpha1`.
_KEYS: Final[dict[str, _Key]] = {
    VOLCANO_QUEUE: _Key("Volcano", _ANNOTATIONS, _POD, "the pods go to queue default"),
    VOLCANO_GROUP: _Key("Volcano", _ANNOTATIONS, _POD, "the pods do not join the PodGroup"),
    "scheduling.volcano.sh/group-min-member": _Key("Volcano", _ANNOTATIONS, _OWNER, _NO_GANG),
    "volcano.sh/network-topology-mode": _Key("Volcano", _ANNOTATIONS, _ANY, "the topology is not asked for"),
    "volcano.sh/network-topology-highest-tier": _Key("Volcano", _ANNOTATIONS, _ANY, "the topology is not asked for"),
    f"{_KAI}batch-min-member": _Key("KAI", ("annotations", "labels"), _OWNER, _NO_GANG),
    f"{_KAI}preemptibility": _Key("KAI", _LABELS, _ANY, "the priority decides whether the pods may be evicted"),
    f"{_KAI}node-pool": _Key("KAI", _LABELS, _ANY, "the pods go to the default node pool"),
    f"{_KAI}topology": _Key("KAI", _ANNOTATIONS, _ANY, "the topology is not asked for"),
    f"{_KAI}topology-required-placement": _Key("KAI", _ANNOTATIONS, _ANY, "the topology is not asked for"),
    f"{_KAI}topology-preferred-placement": _Key("KAI", _ANNOTATIONS, _ANY, "the topology is not asked for"),
    "gpu-fraction": _Key("KAI", ("annotations", "labels"), _POD, "the pods get no share of a GPU"),
    "gpu-memory": _Key("KAI", ("annotations", "labels"), _POD, "the pods get no share of a GPU"),
    f"{_YUNIKORN}queue": _Key("YuniKorn", ("labels", "annotations"), _POD, "the pods are placed without it"),
    f"{_YUNIKORN}app-id": _Key(
        "YuniKorn", ("labels", "annotations"), _POD, "all such pods of the namespace become one application"
    ),
    f"{_YUNIKORN}task-group-name": _Key("YuniKorn", _ANNOTATIONS, _POD, _NO_GANG),
    f"{_YUNIKORN}task-groups": _Key("YuniKorn", _ANNOTATIONS, _POD, _NO_GANG),
    f"{_YUNIKORN}schedulingPolicyParameters": _Key("YuniKorn", _ANNOTATIONS, _POD, "the defaults hold"),
    f"{_YUNIKORN}allow-preemption": _Key("YuniKorn", _ANNOTATIONS, _POD, "the pods may be evicted"),
    "scheduling.x-k8s.io/pod-group": _Key("Coscheduling", _LABELS, _POD, _NO_GANG),
}
_DOMAINS: Final = ("scheduling.volcano.sh/", _KAI, _YUNIKORN, "scheduling.x-k8s.io/")
#: Right keys that are not in the table, so that they are not taken for a slip.
_OTHERS: Final = frozenset(
    {
        "scheduling.volcano.sh/group-name", "scheduling.volcano.sh/queue-allocation-gate", KAI_QUEUE,
        f"{_KAI}skip-podgrouper", f"{_KAI}subgroup-name", f"{_KAI}segment-size", f"{_KAI}preemption-delay",
        f"{_KAI}segment-topology-required-placement", f"{_KAI}segment-topology-preferred-placement",
        f"{_KAI}staleness-grace-period", f"{_YUNIKORN}user.info", f"{_YUNIKORN}username", f"{_YUNIKORN}placeholder",
        f"{_YUNIKORN}parentqueue", f"{_YUNIKORN}app-placeholder",
    }
)  # fmt: skip
#: Kinds whose pods and owners are known here. Operators copy what stands on other kinds down themselves (KubeRay, the
#: MPI and training operators, Trainer, Spark), so of those only the sort of the key is judged.
_OWN_TEMPLATES: Final = frozenset(
    {"Job", "CronJob", "JobSet", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"}
)
_GPU_SHARE: Final = ("gpu-fraction", "gpu-memory")


@once
def _marked(fleet: Fleet) -> list[tuple[Workload, list[Metadata]]]:
    """The metadata of every workload with any key of a gang scheduler."""
    found = []
    for workload, members in metadata_blocks(fleet):
        blocks = [block for member in members for block in member]
        if any(key.startswith(_DOMAINS) or key in _KEYS for block in blocks for key in block.keys):
            found.append((workload, blocks))
    return found


@rule("gang-key-misplaced", severity="error", family=_FAMILY)
def key_misplaced(fleet: Fleet) -> Iterator[Issue]:
    """What a gang scheduler reads in a label or annotation is the other sort, or stands on another object.

    Why: The keys are not interchangeable, and nothing reports one that is not read. Volcano takes the queue and the
    PodGroup of a pod from the annotations of the pod template, and the size of its gang from those of the Job; KAI
    takes `gpu-fraction` from the pod's annotations and `preemptibility` from labels; YuniKorn takes everything from
    the pod template; Coscheduling takes the PodGroup from a label of the pod template.
    Fix: Move it to where the scheduler reads it.
    """
    for workload, blocks in _marked(fleet):
        for key, known in _KEYS.items():
            if key in _GPU_SHARE and not any(item.scheduler == "kai-scheduler" for item in workload.pod_sets):
                continue
            found = _misplaced(workload, blocks, key, known)
            if found is not None:
                yield found


def _misplaced(workload: Workload, blocks: list[Metadata], key: str, known: _Key) -> Issue | None:
    wrong: tuple[Metadata, str] | None = None
    for block in blocks:
        for field, values in (("labels", block.labels), ("annotations", block.annotations)):
            if key not in values:
                continue
            placed = block.role in known.roles or workload.kind not in _OWN_TEMPLATES or workload.kind == "Pod"
            if field in known.fields and placed:
                return None
            wrong = wrong or (block, field)
    if wrong is None:
        return None
    block, field = wrong
    path: Path = (*block.path, field, key)
    singular = {"labels": "label", "annotations": "annotation"}
    if workload.form == "Job" and workload.document.group == "batch.volcano.sh":
        return None if key != VOLCANO_QUEUE else _volcano_queue(workload, block, path)
    where = "the pod template" if known.roles == _POD else "the object that makes the pods"
    where = "this" if workload.kind == "Pod" or known.roles == _ANY else where
    if field not in known.fields:
        message = f"{key} is {'an' if field == 'annotations' else 'a'} {singular[field]}, and {known.system} reads "
        message += f"only the {singular[known.fields[0]]}: {known.otherwise}"
        fix = (
            f"write it in the {known.fields[0]} of {where}" if where != "this" else f"move it to the {known.fields[0]}"
        )
    else:
        here = "the pod template" if block.role == "template" else f"the {workload.kind}"
        message = f"{key} is on {here}, and {known.system} reads it on {where}: {known.otherwise}"
        fix = f"write it in the {known.fields[0]} of {where}"
    return Issue(block.document, path, message, fix)


def _volcano_queue(workload: Workload, block: Metadata, path: Path) -> Issue | None:
    spec = workload.document.manifest.get("spec")
    if isinstance(spec, dict) and spec.get("queue"):
        return None
    message = f"{VOLCANO_QUEUE} has no effect on a Volcano Job: without spec.queue it goes to queue default"
    return Issue(block.document, path, message, "write the queue in spec.queue")


@rule("gang-key-misspelt", severity="warning", family=_FAMILY)
def key_misspelt(fleet: Fleet) -> Iterator[Issue]:
    """A label or annotation is nearly a key of a gang scheduler.

    Why: A key that no scheduler knows is ignored without a word.
    Fix: Write the key that was meant.
    """
    for _, blocks in _marked(fleet):
        for block in blocks:
            for field, values in (("labels", block.labels), ("annotations", block.annotations)):
                for key in values:
                    meant = _meant(key)
                    if meant:
                        message = f"{key} is no key of a scheduler, and nearly {meant}"
                        yield Issue(block.document, (*block.path, field, key), message, f"write {meant}")


def _meant(key: str) -> str:
    domain, slash, name = key.rpartition("/")
    if not key.startswith(_DOMAINS) or key in _KEYS or key in _OTHERS or not slash:
        return ""
    known = sorted(item for item in {*_KEYS, *_OTHERS} - {KAI_QUEUE} if item.startswith(f"{domain}/"))
    return next((item for item in known if misspelt(name, item.rpartition("/")[2])), "")
