"""The controllers that admission checks name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import text
from trainshed.fleet.kueue_tree import KUEUE, MULTIKUEUE, PROVISIONING
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "kueue admission checks"
_CONTROLLERS: Final = (PROVISIONING, MULTIKUEUE)
#: Which of Kueue's own controllers takes parameters of a kind.
_TAKES: Final = {"ProvisioningRequestConfig": PROVISIONING, "MultiKueueConfig": MULTIKUEUE}


@rule("kueue-check-controller-unknown", severity="error", family=_FAMILY, targets=("kueue",))
def check_controller_unknown(fleet: Fleet) -> Iterator[Issue]:
    """An AdmissionCheck names a controller that Kueue does not have.

    Why: Names under `kueue.x-k8s.io/` are Kueue's own: provisioning-request and multikueue. Nothing watches a check of
    another name, so it is never Active, and every ClusterQueue that uses it stays inactive. `controllerName` is
    immutable: the check has to be made anew.

    Fix: Write the controller's name; a controller of your own has a name in a domain of your own.
    """
    for document in fleet.of((KUEUE, "AdmissionCheck")):
        name = text(document.manifest, "spec", "controllerName")
        near = near_miss(name, _CONTROLLERS) if name not in _CONTROLLERS else ""
        if not name or name in _CONTROLLERS or not (name.startswith(f"{KUEUE}/") or near):
            continue
        group = text(document.manifest, "spec", "parameters", "apiGroup")
        wanted = _TAKES.get(text(document.manifest, "spec", "parameters", "kind"), "") if group == KUEUE else ""
        message = f'Kueue has no controller "{name}", only {" and ".join(_CONTROLLERS)}: '
        message += "the check is never Active, and with it every ClusterQueue that uses it"
        fix = f"write {wanted or near}" if wanted or near else f"write {' or '.join(_CONTROLLERS)}"
        yield Issue(document, ("spec", "controllerName"), message, fix)
