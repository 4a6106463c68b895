"""Whether pods may go to a flavor: taints, node labels, topology. As Kueue v0.19.2 decides in its flavor assigner
(`pkg/scheduler/flavorassigner/flavorassigner.go`, `tas_flavorassigner.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainshed.fleet.access import Node, items, mapping, mappings, strings, text
from trainshed.fleet.kueue_tree import Flavor
from trainshed.fleet.workload import PodSet

REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE: Final = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
SLICES: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
PODSET_GROUP: Final = "kueue.x-k8s.io/podset-group-name"
LEVEL_KEYS: Final = (REQUIRED, PREFERRED, SLICE)


def untolerated(taints: list[Node], tolerations: list[Node]) -> Node | None:
    """The first NoSchedule or NoExecute taint that nothing tolerates."""
    for taint in taints:
        if text(taint, "effect") == "PreferNoSchedule":
            continue
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def tolerates(toleration: Node, taint: Node) -> bool:
    """Whether a toleration covers a taint (k8s.io/api v0.36, `core/v1/toleration.go`)."""
    effect, key = text(toleration, "effect"), text(toleration, "key")
    if effect and effect != text(taint, "effect"):
        return False
    if key and key != text(taint, "key"):
        return False
    operator = text(toleration, "operator") or "Equal"
    if operator == "Exists":
        return True
    return bool(key) and operator == "Equal" and text(toleration, "value") == text(taint, "value")


def taint_text(taint: Node) -> str:
    """A taint as kubectl writes it: `dedicated=training:NoSchedule`."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' + value if value else ''}:{text(taint, 'effect')}"


def tolerations_of(pod_set: PodSet) -> list[Node]:
    """The tolerations of a pod template."""
    return [item for _, item in mappings(pod_set.spec, "tolerations")]


def selector_conflict(spec: Node, labels: Mapping[str, str]) -> str:
    """Why a pod's node selector or required affinity rules a flavor's node labels out, empty when it does not.

    Only keys among `labels` count: the flavor says nothing about others.
    """
    for key, value in strings(spec, "nodeSelector").items():
        if key in labels and labels[key] != value:
            return f'nodeSelector wants {key}="{value}", the flavor has "{labels[key]}"'
    required = mapping(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    reason = ""
    for _, term in mappings(required, "nodeSelectorTerms"):
        reason = _term_conflict(term, labels)
        if not reason:
            return ""
    return reason


def _term_conflict(term: Node, labels: Mapping[str, str]) -> str:
    for _, expression in mappings(term, "matchExpressions"):
        key = text(expression, "key")
        if key in labels and not expression_matches(expression, labels):
            values = ", ".join(str(value) for value in items(expression, "values"))
            operator = text(expression, "operator")
            return f'node affinity wants {key} {operator} ({values}), the flavor has "{labels[key]}"'
    return ""


def expression_matches(expression: Node, labels: Mapping[str, str]) -> bool:
    """Whether labels meet one requirement of a node or label selector; an unknown operator is taken as met."""
    key, operator = text(expression, "key"), text(expression, "operator")
    values = [value for value in items(expression, "values") if isinstance(value, str)]
    present, value = key in labels, labels.get(key, "")
    if operator == "In":
        return present and value in values
    if operator == "NotIn":
        return not present or value not in values
    if operator == "Exists":
        return present
    if operator == "DoesNotExist":
        return not present
    if operator in ("Gt", "Lt") and len(values) == 1:
        try:
            return present and (int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0]))
        except ValueError:
            return False
    return True


def selector_matches(selector: Node, labels: Mapping[str, str]) -> bool:
    """Whether a meta/v1 label selector matches labels; an empty one matches everything."""
    for key, value in mapping(selector, "matchLabels").items():
        if labels.get(key) != value:
            return False
    return all(expression_matches(expression, labels) for _, expression in mappings(selector, "matchExpressions"))


def wants_topology(pod_set: PodSet) -> bool:
    """Whether the pods ask for topology-aware placement."""
    annotations = pod_set.annotations
    return any(key in annotations for key in (REQUIRED, PREFERRED, SLICE, SLICES)) or (
        annotations.get(UNCONSTRAINED) == "true"
    )


def topology_conflict(pod_set: PodSet, flavor: Flavor, levels: list[str] | None, all_topology: bool) -> str:
    """Why topology rules a flavor out, empty when it does not. `levels` is None where they are not known."""
    if not wants_topology(pod_set):
        return "supports only topology-aware scheduling" if flavor.topology and not all_topology else ""
    if not flavor.topology:
        return "has no topologyName"
    for key in LEVEL_KEYS:
        level = pod_set.annotations.get(key)
        if level is not None and levels is not None and level not in levels:
            return f'its topology {flavor.topology} has no level "{level}" (levels: {", ".join(levels)})'
    return ""
