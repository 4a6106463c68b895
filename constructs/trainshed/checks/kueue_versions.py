"""Faults that depend on the release of Kueue and Trainer that a fleet is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.kueue_common import managed_workloads, place_in, queue_path, queued
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mappings, strings, text

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_TAG: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})")


def release(version: str) -> tuple[int, ...]:
    """`0.19.2` as (0, 19, 2)."""
    return tuple(int(part) for part in version.split(".") if part.isascii() and part.isdigit())


def shown(version: tuple[int, ...]) -> str:
    """(0, 19, 2) as `0.19.2`."""
    return ".".join(map(str, version))


def kueue_release(fleet: Fleet) -> tuple[int, ...]:
    """Kueue's release: of the manager in the input, else the target's."""
    return _deployed(fleet, "kueue") or release(fleet.target.kueue)


def trainer_release(fleet: Fleet) -> tuple[int, ...]:
    """Trainer's release: of the manager in the input, else the target's."""
    return _deployed(fleet, "trainer-controller-manager") or release(fleet.target.trainer)


def _deployed(fleet: Fleet, image_name: str) -> tuple[int, ...]:
    """The version tag of the one image of this name that Deployments run; empty for none, or for several."""
    found: set[tuple[int, ...]] = set()
    for document in fleet.of(("apps", "Deployment")):
        if "controller-manager" not in document.name:
            continue
        for _, container in mappings(document.manifest, "spec", "template", "spec", "containers"):
            repository, colon, tag = text(container, "image").partition("@")[0].rpartition(":")
            if colon and repository.rpartition("/")[2] == image_name and (version := _TAG.fullmatch(tag)):
                found.add(tuple(int(part) for part in version.groups()))
    return found.pop() if len(found) == 1 else ()


def fixed_in(version: tuple[int, ...], fixes: tuple[tuple[int, ...], ...], since: tuple[int, ...]) -> bool:
    """Whether a fix is in: in a patch release of its line, or in every release from `since`."""
    return version >= since or any(version[:2] == fix[:2] and version >= fix for fix in fixes)


def knows_keys_of_each_flavor(fleet: Fleet) -> bool:
    """Whether Kueue compares a pod's node selection with a flavor's own labels only (kueue#12449)."""
    return fixed_in(kueue_release(fleet), ((0, 17, 6), (0, 18, 2)), (0, 19))


@rule("kueue-selector-key-of-other-flavor", severity="warning", family="kueue flavors", targets=("kueue",))
def selector_key_of_other_flavor(fleet: Fleet) -> Iterator[Issue]:
    """Pods select on a label that only some flavors of a group declare (Kueue before 0.17.6, 0.18.2 and 0.19).

    Why: Those releases compare with the labels of all flavors of the group together, so a flavor without the label is
    refused. Later ones use each flavor's own labels only. Reported for targets with the old behaviour.

    Fix: Run a newer Kueue, or declare the label on every flavor.
    """
    if knows_keys_of_each_flavor(fleet):
        return
    version = kueue_release(fleet)
    flavors = fleet.kueue.flavors
    for workload, _, queue in queued(fleet):
        for pod_set in workload.pod_sets:
            for key in strings(pod_set.spec, "nodeSelector"):
                for group in queue.groups:
                    known = [flavors[name] for name in group.flavors if name in flavors]
                    without = [flavor.name for flavor in known if key not in flavor.labels]
                    if without and len(without) < len(known):
                        document, path = place_in(workload, pod_set, ("spec", "nodeSelector", key))
                        message = (
                            f"nodeSelector {key} is declared by some flavors only: Kueue {shown(version)} refuses "
                            f"flavor {', '.join(without[:3])} for it"
                        )
                        yield Issue(document, path, message, "declare the label on every flavor, or upgrade Kueue")


@rule("kueue-trainer-version-pair", severity="error", family="kueue versions", targets=("kueue", "trainer"))
def trainer_version_pair(fleet: Fleet) -> Iterator[Issue]:
    """Queued TrainJobs with releases of Kueue and Trainer that do not go together.

    Why: Kueue hands node labels and tolerations to a TrainJob through a field of Trainer's API: `runtimePatches` from
    Kueue 0.17, which Trainer has since 2.2; `podTemplateOverrides` before, which Trainer 2.2 has dropped. With the
    wrong pair admitted TrainJobs do not start (kubernetes-sigs/kueue#11931, #14722).

    Fix: Run Kueue 0.17 or newer with Trainer 2.2 or newer, or Kueue 0.14 to 0.16 with Trainer 2.1.
    """
    kueue, trainer = kueue_release(fleet), trainer_release(fleet)
    if (kueue >= (0, 17)) == (trainer >= (2, 2)):
        return
    for workload in managed_workloads(fleet):
        if workload.kind == "TrainJob" and workload.queue_name:
            message = f"Kueue {shown(kueue)} does not go with Trainer {shown(trainer)}: the TrainJob is "
            message += "admitted and does not start"
            fix = "run Kueue 0.17 or newer with Trainer 2.2 or newer"
            yield Issue(workload.document, queue_path(workload), message, fix)
            return
