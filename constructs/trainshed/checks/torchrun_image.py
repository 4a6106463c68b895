"""The image of a run with several pods: one and the same in all of them."""

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


@rule("torchrun-image-moves", severity="warning", family=FAMILY)
def image_moves(fleet: Fleet) -> Iterator[Issue]:
    """The pods of one run pull an image by a tag that moves.

    Why: Each node pulls `latest` when a pod starts there. After a push, or on a node that has an older copy, the ranks
    of one run execute different code, and a restarted run is not the one that was begun.
    Fix: Write a version, or better the digest.
    """
    for run in fleet.runs:
        told: set[str] = set()
        for member in run.members if run.named and run.spread else ():
            image = text(member.container, "image")
            if member.launch.kind not in _LAUNCHERS or image in told or not _moves(image):
                continue
            told.add(image)
            message = (
                f"{named(member.container)} runs {image} in {run.pods} pods: the tag moves, and the ranks may run "
            )
            message += "different code"
            yield issue(member.pod_set, (*member.path, "image"), message, "write a version or a digest")


def _moves(image: str) -> bool:
    """Whether an image is named by the tag latest, or by none at a registry that is named."""
    name = image.rpartition("/")[2]
    host = image.partition("/")[0] if "/" in image else ""
    untagged = ":" not in name and "@" not in image and "." in host
    return image.endswith(":latest") or (untagged and "$" not in image and "{{" not in image)
