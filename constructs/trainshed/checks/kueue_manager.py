"""What the manager's configuration makes of workloads, and configurations with which it does not start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trainshed.checks.kueue_common import managed_workloads, queue_path
from trainshed.checks.kueue_settings import setting_faults
from trainshed.checks.kueue_versions import kueue_release
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig, items, text
from trainshed.fleet.kueue_config import FRAMEWORKS, KueueConfig
from trainshed.fleet.kueue_tree import KUEUE
from trainshed.fleet.selectors import matches
from trainshed.fleet.workload import Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_FAMILY = "kueue manager"
_POD_BASED = ("Pod", "Deployment", "StatefulSet", "LeaderWorkerSet")


def _managed_namespace(fleet: Fleet, config: KueueConfig, namespace: str | None) -> bool | None:
    """Whether Kueue manages the namespace; None where that is not known."""
    if namespace is None:
        return None
    if config.namespace_selector is None:
        return namespace not in ("kube-system", config.namespace)
    return fleet.namespaces.selected(config.namespace_selector, namespace)


def _enabled(workload: Workload, config: KueueConfig) -> bool:
    name = FRAMEWORKS[(workload.document.group, workload.kind)]
    if name in config.frameworks:
        return True
    external = [entry for entry in items(config.data, "integrations", "externalFrameworks") if isinstance(entry, str)]
    return any(entry.lower().startswith(f"{workload.kind.lower()}.") for entry in external)


@rule("kueue-managed-without-queue", severity="error", family=_FAMILY, targets=("kueue",))
def managed_without_queue(fleet: Fleet) -> Iterator[Issue]:
    """A workload names no queue, in a namespace where Kueue takes over every workload.

    Why: With `manageJobsWithoutQueueName` Kueue suspends or gates all workloads of the selected namespaces. Without the
    label, and without a LocalQueue called `default`, there is no queue to put them in: they wait for ever, silently.

    Fix: Write the label `kueue.x-k8s.io/queue-name`, or add a LocalQueue `default` to the namespace.
    """
    config = fleet.kueue.config
    if config.document is None or not config.manage_without_queue:
        return
    for workload in managed_workloads(fleet):
        namespace = workload.namespace
        if workload.queue_name or not _enabled(workload, config):
            continue
        if _managed_namespace(fleet, config, namespace) is not True:
            continue
        queues = fleet.kueue.local_queues
        if (namespace or "", "default") in queues or ("", "default") in queues:
            continue
        here = sorted(name for queue_namespace, name in queues if queue_namespace == namespace)
        some = f" (it has {', '.join(here[:4])})" if here else ""
        yield Issue(
            workload.document,
            queue_path(workload),
            f"has no queue-name label, while manageJobsWithoutQueueName is on for namespace {namespace}, which has no "
            f"LocalQueue default{some}: it stays suspended or gated for ever",
            f"add label {KUEUE}/queue-name, or a LocalQueue default",
            None if fleet.has_kind(KUEUE, "LocalQueue") else "warning",
            (("the manager's configuration", config.document, config.path),),
        )


@rule("kueue-integration-disabled", severity="error", family=_FAMILY, targets=("kueue",))
def integration_disabled(fleet: Fleet) -> Iterator[Issue]:
    """A workload names a queue, but Kueue is configured not to look at its kind or its namespace.

    Why: A kind that `integrations.frameworks` does not list is not suspended at all: it starts at once, outside of any
    quota. Without a list only batch/job is on. Namespaces outside of `managedJobsNamespaceSelector` are exempt, too.

    Fix: List the integration, or select the namespace.
    """
    config = fleet.kueue.config
    if config.document is None:
        return
    related = (("the manager's configuration", config.document, config.path),)
    for workload in managed_workloads(fleet):
        if not workload.queue_name:
            continue
        if not _enabled(workload, config):
            name = FRAMEWORKS[(workload.document.group, workload.kind)]
            message = f"names a queue, but integration {name} is not enabled: it runs outside of quota"
            fix = f'add "{name}" to integrations.frameworks'
            yield Issue(workload.document, queue_path(workload), message, fix, related=related)
        elif _managed_namespace(fleet, config, workload.namespace) is False:
            message = (
                f"names a queue, but managedJobsNamespaceSelector does not select namespace {workload.namespace}: "
                "Kueue ignores the workload"
            )
            yield Issue(workload.document, queue_path(workload), message, "label the Namespace", related=related)


@rule("kueue-manager-config", severity="error", family=_FAMILY, targets=("kueue",))
def manager_config(fleet: Fleet) -> Iterator[Issue]:
    """Kueue's manager does not start with its configuration.

    Why: The file is checked when the manager starts; with a fault in it the manager crashes again and again, and its
    webhooks refuse every Job meanwhile (`pkg/config/validation.go`).

    Fix: Change the setting named.
    """
    config = fleet.kueue.config
    if config.document is None:
        return
    for message, fix in _config_faults(config, kueue_release(fleet)):
        yield Issue(config.document, config.path, message, fix)


def _config_faults(config: KueueConfig, release: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    data: Any = config.data
    if config.ignore_undeclared and config.excluded_prefixes:
        message = "resources.excludeResourcePrefixes cannot go with quotaCheckStrategy IgnoreUndeclared"
        yield message, "keep one of the two"
    if dig(data, "resources", "quotaCheckStrategy") is not None and release < (0, 19):
        message = "resources.quotaCheckStrategy IgnoreUndeclared is on by default only since Kueue 0.19"
        yield message, "switch feature gate QuotaCheckStrategy on, or cover the resources (ephemeral-storage, ...)"
    selector = config.namespace_selector
    for namespace in ("kube-system", config.namespace) if selector is not None else ():
        if matches(selector, {"kubernetes.io/metadata.name": namespace}):
            message = f"managedJobsNamespaceSelector matches namespace {namespace}, which the manager refuses"
            yield message, f"add a requirement that leaves {namespace} out"
    if text(data, "apiVersion").endswith("/v1beta2"):
        yield from setting_faults(data)
        sharing = dig(data, "fairSharing")
        if isinstance(sharing, dict) and not sharing.get("preemptionStrategies"):
            yield "fairSharing needs preemptionStrategies", "write [LessThanOrEqualToFinalShare, LessThanInitialShare]"
        for block in ("fairSharing", "waitForPodsReady"):
            if dig(data, block, "enable") is not None:
                message = f"{block}.enable is no field of v1beta2: the block itself switches it on"
                yield message, "leave enable out"
    known = {*FRAMEWORKS.values()}
    for name in items(data, "integrations", "frameworks"):
        if isinstance(name, str) and name not in known:
            yield f'integrations.frameworks lists "{name}", which is no integration of Kueue', "leave it out"
