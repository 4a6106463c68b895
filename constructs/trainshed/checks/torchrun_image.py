"""The image of a run: one and the same in all of its pods, and after each restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "torchrun"
_LAUNCHERS: Final = ("torchrun", "accelerate", "deepspeed", "mpi")
#: Runs that are named after what they render: another image is to be another run.
_NAMED_BY_CONTENT: Final = "trainshed.dev/run"


@rule("torchrun-image-moves", severity="warning", family=FAMILY)
def image_moves(fleet: Fleet) -> Iterator[Issue]:
    """The pods of one run pull an image by a tag that moves.

    Why: Each node pulls `latest` when a pod starts there. After a push, or on a node that has an older copy, the ranks
    of one run execute different code, and a restarted run is not the one that was begun. A run that Trainshed renders
    is named after all it runs, so that another image makes another run; there a single pod is judged too.
    Fix: Write a version, or better the digest.
    """
    for run in fleet.runs:
        told: set[str] = set()
        ours = _NAMED_BY_CONTENT in run.workload.labels
        for member in run.members if run.named and (run.spread or ours) else ():
            image = text(member.container, "image")
            if member.launch.kind not in _LAUNCHERS or image in told or not _moves(image, bare=ours):
                continue
            told.add(image)
            pods, what = f" in {run.pods} pods" if run.spread else "", "the ranks" if run.spread else "a restart"
            message = f"{named(member.container)} runs {image}{pods}: the tag moves, and {what} may run different code"
            yield issue(member.pod_set, (*member.path, "image"), message, "write a version or a digest")


def _moves(image: str, *, bare: bool) -> bool:
    """Whether an image is named by the tag latest, or by none at a registry that is named (`bare`: or not)."""
    name = image.rpartition("/")[2]
    host = image.partition("/")[0] if "/" in image else ""
    untagged = ":" not in name and "@" not in image and ("." in host or (bare and image != ""))
    return image.endswith(":latest") or (untagged and "$" not in image and "{{" not in image)
