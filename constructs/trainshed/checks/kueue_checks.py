"""Admission checks: their names, parameters and combinations; topologies that flavors name; MultiKueue clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.kueue_common import depends, proposal, sure
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mapping, text
from trainshed.fleet.finding import Severity
from trainshed.fleet.kueue_tree import KUEUE, MULTIKUEUE, PROVISIONING

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue admission checks"
_PARAMETERS = {MULTIKUEUE: "MultiKueueConfig", PROVISIONING: "ProvisioningRequestConfig"}


@rule("kueue-admission-check-missing", severity="error", family=_FAMILY, targets=("kueue",))
def admission_check_missing(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue names an AdmissionCheck that does not exist.

    Why: The ClusterQueue is inactive (AdmissionCheckNotFound) until the check is there; nothing is refused on apply.

    Fix: Correct the name, add the AdmissionCheck, or take it off the list.
    """
    known = fleet.names(KUEUE, "AdmissionCheck")
    severity = sure(fleet, "AdmissionCheck")
    for queue in fleet.kueue.cluster_queues.values():
        for check in queue.checks:
            if not check.name or fleet.find(KUEUE, "AdmissionCheck", None, check.name) is not None:
                continue
            path = check.path if check.path[1] == "admissionChecks" else (*check.path, "name")
            yield Issue(
                queue.doc,
                path,
                f'there is no AdmissionCheck "{check.name}": ClusterQueue {queue.name} is inactive'
                + depends(severity, "it exists"),
                proposal(check.name, known, f'add AdmissionCheck "{check.name}" or take it off the list'),
                severity,
            )


@rule("kueue-check-parameters-missing", severity="error", family=_FAMILY, targets=("kueue",))
def check_parameters_missing(fleet: Fleet) -> Iterator[Issue]:
    """An AdmissionCheck's parameters name no object, or one of the wrong kind.

    Why: The check's controller looks them up. Without them the check is inactive (BadParametersRef, BadConfig), and so
    is every ClusterQueue that uses it.

    Fix: Name an existing ProvisioningRequestConfig or MultiKueueConfig of group kueue.x-k8s.io.
    """
    for document in fleet.of((KUEUE, "AdmissionCheck")):
        parameters = mapping(document.manifest, "spec", "parameters")
        controller = text(document.manifest, "spec", "controllerName")
        wanted = _PARAMETERS.get(controller)
        kind, name, group = text(parameters, "kind"), text(parameters, "name"), text(parameters, "apiGroup")
        if wanted and not parameters:
            message = f"controller {controller} needs parameters of kind {wanted}: the check is inactive without them"
            yield Issue(document, ("spec", "parameters"), message, f"add parameters with kind: {wanted}")
        elif wanted and (kind, group) != (wanted, KUEUE):
            message = f"controller {controller} takes parameters of kind {wanted} in {KUEUE}, not {kind} in {group}"
            field = "kind" if kind != wanted else "apiGroup"
            yield Issue(
                document, ("spec", "parameters", field), message, f"write {wanted if field == 'kind' else KUEUE}"
            )
        elif group == KUEUE and kind in _PARAMETERS.values() and name and not fleet.find(KUEUE, kind, None, name):
            known = fleet.names(KUEUE, kind)
            severity: Severity = "error" if known else sure(fleet, kind)
            yield Issue(
                document,
                ("spec", "parameters", "name"),
                f'there is no {kind} "{name}": the check is inactive, and with it every ClusterQueue that uses it'
                + depends(severity, "it exists"),
                proposal(name, known, f'add {kind} "{name}"'),
                severity,
            )


@rule("kueue-multikueue-cluster-missing", severity="error", family=_FAMILY, targets=("kueue",))
def multikueue_cluster_missing(fleet: Fleet) -> Iterator[Issue]:
    """A MultiKueueConfig lists a cluster that no MultiKueueCluster has.

    Why: No workload is ever sent to that cluster; with no usable cluster left the check is inactive
    (NoUsableClusters).

    Fix: Correct the name, or add the MultiKueueCluster.
    """
    known = fleet.names(KUEUE, "MultiKueueCluster")
    severity = sure(fleet, "MultiKueueCluster")
    for document in fleet.of((KUEUE, "MultiKueueConfig")):
        for index, name in enumerate(items(document.manifest, "spec", "clusters")):
            if isinstance(name, str) and name and fleet.find(KUEUE, "MultiKueueCluster", None, name) is None:
                yield Issue(
                    document,
                    ("spec", "clusters", index),
                    f'there is no MultiKueueCluster "{name}": nothing is ever sent there'
                    + depends(severity, "it exists"),
                    proposal(name, known, f'add MultiKueueCluster "{name}"'),
                    severity,
                )


@rule("kueue-topology-missing", severity="error", family="kueue topology", targets=("kueue",))
def topology_missing(fleet: Fleet) -> Iterator[Issue]:
    """A ResourceFlavor names a Topology that does not exist.

    Why: Every ClusterQueue with that flavor is inactive (TopologyNotFound). `topologyName` can't be changed later.

    Fix: Correct the name, or add the Topology.
    """
    known = fleet.names(KUEUE, "Topology")
    severity = sure(fleet, "Topology")
    for flavor in fleet.kueue.flavors.values():
        name = flavor.topology
        if name and fleet.find(KUEUE, "Topology", None, name) is None:
            yield Issue(
                flavor.document,
                ("spec", "topologyName"),
                f'there is no Topology "{name}": every ClusterQueue with flavor {flavor.name} is inactive'
                + depends(severity, "it exists"),
                proposal(name, known, f'add Topology "{name}"'),
                severity,
            )


@rule("kueue-checks-conflict", severity="error", family=_FAMILY, targets=("kueue",))
def checks_conflict(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue combines a MultiKueue check with what it cannot go with.

    Why: MultiKueue sends workloads away, so provisioning nodes in this cluster is wasted and refused
    (MultiKueueWithProvisioningRequest); there can be only one MultiKueue check (MultipleMultiKueueAdmissionChecks), and
    it goes for all flavors (MultiKueueAdmissionCheckAppliedPerFlavor). The ClusterQueue is inactive.

    Fix: Keep one MultiKueue check without onFlavors; provision nodes in the worker clusters.
    """
    controllers = {
        document.name: text(document.manifest, "spec", "controllerName")
        for document in fleet.of((KUEUE, "AdmissionCheck"))
    }
    for queue in fleet.kueue.cluster_queues.values():
        remote = [check for check in queue.checks if controllers.get(check.name) == MULTIKUEUE]
        if not remote:
            continue
        inactive = f"ClusterQueue {queue.name} is inactive"
        for check in queue.checks:
            if controllers.get(check.name) == PROVISIONING:
                yield Issue(
                    queue.doc,
                    check.path,
                    f'check "{check.name}" (provisioning-request) cannot go with "{remote[0].name}" (multikueue), '
                    f"which sends workloads to other clusters: {inactive}",
                    f'take "{check.name}" off the list; provision in the worker clusters',
                )
        if len(remote) > 1:
            names = " and ".join(f'"{check.name}"' for check in remote)
            yield Issue(
                queue.doc, remote[1].path, f"{names} are both multikueue checks: {inactive}", "keep one of them"
            )
        for check in remote:
            if check.flavors:
                message = (
                    f'multikueue check "{check.name}" is limited to flavors ({", ".join(check.flavors)}): {inactive}'
                )
                yield Issue(queue.doc, (*check.path, "onFlavors"), message, "leave onFlavors out")
