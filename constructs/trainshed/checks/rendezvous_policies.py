"""NetworkPolicies between the pods of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.rendezvous_common import talking
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, items, mapping, mappings, text, whole
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.pod_labels import pod_labels
from trainshed.fleet.runs import Member, Run
from trainshed.fleet.selectors import could_match
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendezvous"


def _allows(fleet: Fleet, policy: Document, rule_: Node, side: str, run: Run, pod_set: PodSet) -> str | None:
    """How a policy's rule lets a run's own pods talk: `all` ports, `some` ports, or None."""
    peers = items(rule_, side)
    if peers and not any(_takes(fleet, policy, peer, run, pod_set) for peer in peers):
        return None
    ports = [item for item in items(rule_, "ports") if isinstance(item, dict)]
    wide = any("port" not in item or whole(item, "endPort") == 65535 for item in ports)
    return "some" if ports and not wide else "all"


def _takes(fleet: Fleet, policy: Document, peer: Any, run: Run, pod_set: PodSet) -> bool:
    """Whether a peer takes the run's pods; where that is not known it is taken to."""
    if not isinstance(peer, dict):
        return False
    if "ipBlock" in peer:
        return True
    if (
        "namespaceSelector" in peer
        and fleet.namespaces.selected(peer["namespaceSelector"], _place(fleet, policy)) is False
    ):
        return False
    if "podSelector" not in peer:
        return "namespaceSelector" in peer
    labels = pod_labels(run.workload, pod_set)
    return could_match(peer["podSelector"], labels.labels, complete=not labels.varying) is not False


def _place(fleet: Fleet, document: Document) -> str | None:
    return fleet.namespaces.of(document)


@rule("rendezvous-network-policy", severity="error", family=FAMILY)
def network_policy(fleet: Fleet) -> Iterator[Issue]:
    """NetworkPolicies keep the pods of a run from talking to each other, or from resolving names.

    Why: A pod that a policy selects gets only the traffic that some policy allows. A run needs DNS (port 53) and all
    ports between its own pods: the rendezvous port and the ports that NCCL and Gloo choose. Policies that are not in
    the input may allow more.
    Fix: Allow all traffic between the pods of the namespace (or of the run), and egress to port 53.
    """
    policies: dict[str | None, list[Document]] = {}
    for policy in fleet.of(("networking.k8s.io", "NetworkPolicy")):
        policies.setdefault(_place(fleet, policy), []).append(policy)
    for run, member, _ in talking(fleet) if policies else ():
        if member.pod_set.spec.get("hostNetwork") is True:
            continue
        labels = pod_labels(run.workload, member.pod_set)
        here = [
            policy
            for policy in policies.get(run.workload.namespace, [])
            if could_match(mapping(policy.manifest, "spec", "podSelector"), labels.labels, complete=True)
        ]
        for direction, field, side in (("Ingress", "ingress", "from"), ("Egress", "egress", "to")):
            selecting = [policy for policy in here if _applies(policy, direction)]
            if selecting:
                yield from _blocked(fleet, run, member, selecting, direction, field, side)


def _applies(policy: Document, direction: str) -> bool:
    spec = mapping(policy.manifest, "spec")
    types = items(spec, "policyTypes")
    return direction in types if types else direction == "Ingress" or "egress" in spec


def _blocked(
    fleet: Fleet, run: Run, member: Member, selecting: list[Document], direction: str, field: str, side: str
) -> Iterator[Issue]:
    rules = [(policy, rule_) for policy in selecting for _, rule_ in mappings(policy.manifest, "spec", field)]
    ways = {_allows(fleet, policy, rule_, side, run, member.pod_set) for policy, rule_ in rules}
    policy = selecting[0]
    path: Path = ("spec", field) if policy.has(("spec", field)) else ("spec", "policyTypes")
    path = path if policy.has(path) else ("spec",)
    whose = f'{run.workload.kind} "{run.workload.document.name}"'
    related = (("a run that it selects", run.workload.document, ("metadata", "name")),)
    if "all" not in ways:
        what = "only some ports" if "some" in ways else "no traffic"
        message = f"{direction.lower()} rules allow {what} between the pods of {whose}, which meet on any port"
        fix = f"add a rule with {side}: [{{podSelector: {{}}}}] and no ports"
        yield Issue(policy, path, message, fix, None, related)
    if direction == "Egress" and not any(_names(rule_) for _, rule_ in rules):
        message = f"egress rules do not allow DNS (port 53), by which the pods of {whose} find each other"
        yield Issue(policy, path, message, "add an egress rule for UDP and TCP port 53", None, related)


def _names(rule_: Node) -> bool:
    """Whether an egress rule lets DNS through to other namespaces."""
    peers = items(rule_, "to")
    if peers and all(isinstance(peer, dict) and set(peer) == {"podSelector"} for peer in peers):
        return False
    ports = items(rule_, "ports")
    return not ports or any(_covers(port, 53) for port in ports)


def _covers(port: Any, wanted: int) -> bool:
    first = whole(port, "port")
    if first is None:
        return text(port, "port") in ("dns", "dns-tcp") or (isinstance(port, dict) and "port" not in port)
    return first <= wanted <= (whole(port, "endPort") or first)
