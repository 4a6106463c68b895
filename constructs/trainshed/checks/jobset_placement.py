"""JobSet's exclusive placement, where JobSet does not read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mapping
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "jobset"
_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"


@rule("jobset-exclusive-placement", severity="error", family=FAMILY, targets=("jobset",))
def exclusive_placement(fleet: Fleet) -> Iterator[Issue]:
    """The annotation for exclusive placement stands where JobSet does not read it.

    Why: JobSet reads `alpha.jobset.sigs.k8s.io/exclusive-topology` as an annotation of the JobSet or of a replicated
    job's template. As a label, without `alpha.`, or on the pod template it has no effect: several jobs share a domain.
    Fix: Write the annotation on the JobSet or on `replicatedJobs[].template.metadata`.
    """
    wrong = _EXCLUSIVE.removeprefix("alpha.")
    for document in fleet.of(("jobset.x-k8s.io", "JobSet")):
        roots: list[tuple[Path, tuple[str, ...]]] = [(("metadata",), ("labels",))]
        for index, _ in enumerate(items(document.manifest, "spec", "replicatedJobs")):
            at: Path = ("spec", "replicatedJobs", index, "template")
            roots.append(((*at, "metadata"), ("labels",)))
            roots.append(((*at, "spec", "template", "metadata"), ("labels", "annotations")))
        for root, fields in roots:
            for field in ("labels", "annotations"):
                for key in mapping(document.manifest, *root, field):
                    if key == wrong or (key == _EXCLUSIVE and field in fields):
                        what = "is not a key that JobSet reads" if key == wrong else "has no effect here"
                        fix = f"write the annotation {_EXCLUSIVE} on the JobSet or the job template"
                        yield Issue(document, (*root, field, key), f"{key} {what}", fix)
