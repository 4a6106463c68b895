"""Names of resources that nothing provides, and quota entries that nothing counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.api.core.resources import DEVICES, misnamed_gpu
from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "resources"
_KNOWN: Final = frozenset(DEVICES.values())


@rule("resources-unknown-gpu", severity="error", family=FAMILY)
def unknown_gpu(fleet: Fleet) -> Iterator[Issue]:
    """A container asks for a GPU by a name that no device plugin offers.

    Why: A resource that no node has keeps the pod Pending for ever ("Insufficient nvidia/gpu"). The plugins of NVIDIA
    and AMD offer `nvidia.com/gpu` and `amd.com/gpu`, in lower case and without a plural.
    Fix: Write the plugin's name.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            told: set[str] = set()
            for field in ("limits", "requests"):
                for name in mapping(container, "resources", field):
                    meant = misnamed_gpu(name) if isinstance(name, str) else ""
                    if meant and name not in told:
                        told.add(name)
                        message = f'{named(container)} asks for "{name}", which no device plugin offers'
                        yield issue(pod_set, (*path, "resources", field, name), message, f"write {meant}")


@rule("resources-quota-not-counted", severity="warning", family=FAMILY)
def quota_not_counted(fleet: Fleet) -> Iterator[Issue]:
    """A ResourceQuota limits a device in a way that Kubernetes does not count.

    Why: Extended resources are counted by `requests.<name>` alone, since they cannot be overcommitted. Under their bare
    name, or `limits.`, the entry is accepted and limits nothing.
    Fix: Write `requests.nvidia.com/gpu`.
    """
    for quota in fleet.of(("", "ResourceQuota")):
        for name in mapping(quota.manifest, "spec", "hard"):
            if not isinstance(name, str) or name.removeprefix("limits.") not in _KNOWN:
                continue
            device = name.removeprefix("limits.")
            message = f'"{name}" limits nothing: a ResourceQuota counts requests.{device} only'
            yield Issue(quota, ("spec", "hard", name), message, f"write requests.{device}")
