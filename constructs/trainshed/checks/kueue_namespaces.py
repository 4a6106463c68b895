"""Which namespaces a ClusterQueue serves, and queues that are on hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trainshed.checks.kueue_common import managed_workloads
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items, mapping, mappings, text
from trainshed.fleet.kueue_feasibility import admits_nothing
from trainshed.fleet.kueue_requests import local_queue_of
from trainshed.fleet.kueue_tree import ClusterQueueNode, LocalQueueNode

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@rule("kueue-namespace-not-selected", severity="error", family="kueue references", targets=("kueue",))
def namespace_not_selected(fleet: Fleet) -> Iterator[Issue]:
    """A ClusterQueue's namespaceSelector does not take the namespace of a LocalQueue.

    Why: LocalQueue and ClusterQueue both look healthy, but every workload waits with "workload namespace doesn't match
    ClusterQueue selector". A missing selector (null) matches no namespace at all; `{}` matches every one.

    Fix: Select the namespace's labels, or label the Namespace.
    """
    tree = fleet.kueue
    for queue in tree.cluster_queues.values():
        users = tree.users.get(queue.name, [])
        selector = queue.spec.get("namespaceSelector")
        if selector is None:
            if users:
                yield _matches_nothing(queue, users)
            continue
        for local in users:
            if fleet.namespaces.selected(selector, local.namespace or None) is False:
                yield _not_selected(fleet, queue, local, selector)


def _matches_nothing(queue: ClusterQueueNode, users: list[LocalQueueNode]) -> Issue:
    names = ", ".join(f"{local.namespace}/{local.document.name}" for local in users[:3])
    return Issue(
        queue.doc,
        ("spec", "namespaceSelector"),
        f"namespaceSelector is {'null' if 'namespaceSelector' in queue.spec else 'not written'}, which matches no "
        f"namespace: nothing from LocalQueue {names} is admitted",
        "write namespaceSelector: {} for every namespace, or select labels",
        related=(("a LocalQueue that uses it", users[0].document, ("spec", "clusterQueue")),),
    )


def _not_selected(fleet: Fleet, queue: ClusterQueueNode, local: LocalQueueNode, selector: Any) -> Issue:
    namespace = fleet.namespaces.document(local.namespace)
    labels = fleet.namespaces.labels(local.namespace)
    keys = [*mapping(selector, "matchLabels"), *(text(e, "key") for _, e in mappings(selector, "matchExpressions"))]
    has = ", ".join(f"{key}={labels[key]}" if key in labels else f"no {key}" for key in dict.fromkeys(keys))
    related = [("the selector", queue.doc, ("spec", "namespaceSelector"))]
    if namespace is not None:
        related.append((f"Namespace {namespace.name}", namespace, ("metadata", "labels")))
    return Issue(
        local.document,
        ("spec", "clusterQueue"),
        f"ClusterQueue {queue.name} does not select namespace {local.namespace}: its namespaceSelector wants "
        f"{_selector_text(selector)}, the namespace has {has}; every workload here waits",
        "label the Namespace as the selector wants, or widen the namespaceSelector",
        related=tuple(related),
    )


def _selector_text(selector: Any) -> str:
    parts = [f"{key}={value}" for key, value in mapping(selector, "matchLabels").items()]
    for _, expression in mappings(selector, "matchExpressions"):
        values = ", ".join(str(value) for value in items(expression, "values")[:5])
        parts.append(f"{text(expression, 'key')} {text(expression, 'operator')}" + (f" ({values})" if values else ""))
    return " and ".join(parts)


@rule("kueue-queue-on-hold", severity="warning", family="kueue references", targets=("kueue",))
def queue_on_hold(fleet: Fleet) -> Iterator[Issue]:
    """A queue with users has `stopPolicy` Hold or HoldAndDrain.

    Why: A queue on hold admits nothing; HoldAndDrain evicts what runs as well. In Git a hold that was meant for an
    hour stays until somebody reverts it.

    Fix: Take `stopPolicy` out, or write None.
    """
    tree = fleet.kueue
    for queue in tree.cluster_queues.values():
        policy = admits_nothing(queue)
        if policy and (users := tree.users.get(queue.name)):
            names = ", ".join(f"{local.namespace}/{local.document.name}" for local in users[:3])
            used = f"LocalQueue {names} uses it" if len(users) == 1 else f"{len(users)} LocalQueues use it ({names})"
            related = (("a LocalQueue that uses it", users[0].document, ("spec", "clusterQueue")),)
            yield Issue(queue.doc, ("spec", "stopPolicy"), _held(policy, used), _UNHOLD, related=related)
    waiting: dict[int, list[str]] = {}
    held = [local for local in tree.local_queues.values() if _stop_policy(local)]
    if held:
        for workload in managed_workloads(fleet):
            local = local_queue_of(tree, workload)
            if local is not None:
                waiting.setdefault(id(local), []).append(f"{workload.kind} {workload.document.name}")
    for local in held:
        names = ", ".join(waiting.get(id(local), [])[:3])
        message = _held(_stop_policy(local), f"{names} uses it" if names else "it is in Git")
        yield Issue(local.document, ("spec", "stopPolicy"), message, _UNHOLD)


_UNHOLD = 'take stopPolicy out, or write "None", when the hold is over'


def _stop_policy(local: LocalQueueNode) -> str:
    policy = dig(local.document.manifest, "spec", "stopPolicy")
    return policy if policy in ("Hold", "HoldAndDrain") else ""


def _held(policy: str, used: str) -> str:
    drained = " and evicts what runs" if policy == "HoldAndDrain" else ""
    return f"stopPolicy is {policy}: the queue admits nothing{drained}, while {used}"
