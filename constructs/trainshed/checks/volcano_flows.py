"""Volcano's JobFlow and CronJob: what starts Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.gang_common import listed, proposal
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mappings, text

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY: Final = "volcano jobs"
_CRON_NAME: Final = 52


@rule("volcano-flow-targets", severity="error", family=_FAMILY, targets=("volcano",))
def flow_targets(fleet: Fleet) -> Iterator[Issue]:
    """A JobFlow waits for a flow that it does not have, or flows wait for each other.

    Why: Helm leaves the webhook for JobFlows off, so nothing refuses it; the flow just never starts.
    Fix: Name a flow of the same object, and break the circle.
    """
    for flow in fleet.of(("flow.volcano.sh", "JobFlow")):
        listed_flows = mappings(flow.manifest, "spec", "flows")
        names = [text(item, "name") for _, item in listed_flows]
        waiting: dict[str, set[str]] = {}
        for index, item in listed_flows:
            targets = [target for target in items(item, "dependsOn", "targets") if isinstance(target, str)]
            waiting[text(item, "name")] = set(targets) & set(names)
            for place, target in enumerate(items(item, "dependsOn", "targets")):
                if isinstance(target, str) and target not in names:
                    path = ("spec", "flows", index, "dependsOn", "targets", place)
                    message = f'there is no flow "{target}" in this JobFlow: "{text(item, "name")}" never starts'
                    yield Issue(flow, path, message, proposal(target, names, f"name one of {listed(names)}"))
        while free := {name for name, needed in waiting.items() if not needed}:
            waiting = {name: needed - free for name, needed in waiting.items() if name not in free}
        if waiting:
            message = f"the flows wait for each other: {listed(waiting)}"
            yield Issue(flow, ("spec", "flows"), message, "break the circle in dependsOn")


@rule("volcano-job-template-missing", severity="error", family=_FAMILY, targets=("volcano",))
def job_template_missing(fleet: Fleet) -> Iterator[Issue]:
    """A JobFlow names a JobTemplate that its namespace does not have.

    Why: The flow's Job can't be made, and the JobFlow stops there.
    Fix: Name a JobTemplate of the namespace, or add it.
    """
    known = fleet.names("flow.volcano.sh", "JobTemplate")
    if not known:
        return
    for flow in fleet.of(("flow.volcano.sh", "JobFlow")):
        namespace = fleet.namespaces.of(flow)
        for index, item in mappings(flow.manifest, "spec", "flows"):
            name = text(item, "name")
            if name and fleet.namespaces.find("flow.volcano.sh", "JobTemplate", namespace, name) is None:
                where = f" in namespace {namespace}" if namespace else ""
                fix = proposal(name, known, f'add JobTemplate "{name}"{where}')
                yield Issue(flow, ("spec", "flows", index, "name"), f'there is no JobTemplate "{name}"{where}', fix)


@rule("volcano-cron-name", severity="error", family=_FAMILY, targets=("volcano",))
def cron_name(fleet: Fleet) -> Iterator[Issue]:
    """The name of a Volcano CronJob is longer than 52 characters.

    Why: The controller appends 11 characters for each Job, and names of Jobs may have 63. The webhook refuses it.
    Fix: Shorten the name.
    """
    for document in fleet.of(("batch.volcano.sh", "CronJob")):
        if len(document.name) > _CRON_NAME and not document.generated:
            message = f"the name has {len(document.name)} characters, and a CronJob's may have {_CRON_NAME}"
            yield Issue(document, ("metadata", "name"), message, "shorten it")
