"""LeaderWorkerSets that serve one model over several pods: whether the devices of a group are as many as are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.finding import Severity
from trainshed.fleet.runs import Member, Run, gpus
from trainshed.fleet.words import literal

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "leaderworkerset"
_SIZES: Final = {
    "--tensor-parallel-size": "tensor",
    "-tp": "tensor",
    "--pipeline-parallel-size": "pipeline",
    "-pp": "pipeline",
}
#: With these the devices of a group are counted otherwise.
_COUNTED_OTHERWISE: Final = ("--data-parallel", "-dp", "--prefill-context", "-pcp", "--nnodes", "--config")
_LONGEST: Final = 6


@rule("lws-parallel-size", severity="error", family=FAMILY)
def parallel_size(fleet: Fleet) -> Iterator[Issue]:
    """vLLM wants other than the GPUs that a group has.

    Why: vLLM takes `--tensor-parallel-size` times `--pipeline-parallel-size` GPUs of the group's pods, the leader
    counted. Where there are fewer it waits for its placement group for ever; where there are more, the rest idles.
    Fix: Let the product be the group's size times the GPUs of a pod: as a rule the GPUs of a pod as tensor parallel
    size, and the size of the group as pipeline parallel size.
    """
    for run in fleet.runs:
        if run.workload.form != "LeaderWorkerSet":
            continue
        has = _devices(run)
        for member in run.members if has else ():
            sizes = _sizes(member)
            if has is None or sizes is None or sizes[0] * sizes[1] == has[0]:
                continue
            tensor, pipeline = sizes
            total, counted = has
            message = f"vLLM wants {tensor} x {pipeline} = {tensor * pipeline} GPUs (tensor parallel times pipeline "
            message += f"parallel size), and a group has {counted} = {total}"
            more = tensor * pipeline > total
            message += ": it waits for the rest for ever" if more else ": the rest idles"
            severity: Severity | None = None if more else "warning"
            fix = f"make the product {total}, or change the size of the group or the GPUs of its pods"
            yield issue(member.pod_set, member.launch.path, message, fix, severity)


def _devices(run: Run) -> tuple[int, str] | None:
    """The accelerators of one group, and how they are counted; None where that is not clear, or it has none."""
    total, parts = 0, []
    for pod_set in run.workload.pod_sets:
        pods = pod_set.count // max(run.workload.units, 1)
        counts = [gpus(container) for _, container in pod_set.containers]
        if None in counts:
            return None
        each = sum(count or 0 for count in counts)
        total += pods * each
        if pods and each:
            parts.append(f"{pods} x {each}")
    return (total, " + ".join(parts)) if total else None


def _sizes(member: Member) -> tuple[int, int] | None:
    """(tensor, pipeline) parallel size as a certain vLLM is given them; None where they are not known, or neither is
    given."""
    launch = member.launch
    if launch.opaque:
        return None
    words = [literal(word) for word in launch.rest]
    if not (launch.name == "vllm" or any((word or "").startswith("vllm.") for word in words)):
        return None
    found: dict[str, str | None] = {}
    for index, word in enumerate(words):
        if word is None or not word.startswith("-"):
            continue
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if name.startswith(_COUNTED_OTHERWISE):
            return None
        if name in _SIZES:
            found[_SIZES[name]] = value if equals else (words[index + 1] if index + 1 < len(words) else None)
    numbers = [_number(found.get(which, "1")) for which in ("tensor", "pipeline")]
    tensor, pipeline = numbers
    return (tensor, pipeline) if found and tensor and pipeline else None


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) <= _LONGEST else None
