"""What YuniKorn accepts and ignores: other partitions, unknown properties, quotas of namespaces it can't read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.checks.yunikorn_config import FAMILY
from trainshed.checks.yunikorn_pods import APPLICATIONS, TASK_GROUP, TASK_GROUPS, Groups, for_yunikorn, place, values
from trainshed.fleet.access import mapping, mappings, strings, text
from trainshed.fleet.yunikorn_config import KEY, NAMES
from trainshed.spelling import near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_PROPERTIES: Final = (
    "application.sort.policy", "application.sort.priority", "priority.policy", "priority.offset", "preemption.policy",
    "preemption.delay", "quota.preemption.delay", "application.unschedasks.backoff", "application.unschedasks.delay",
)  # fmt: skip
_QUOTAS: Final = ("yunikorn.apache.org/namespace.quota", "yunikorn.apache.org/namespace.guaranteed")


@rule("yunikorn-config-ignored", severity="warning", family=FAMILY, targets=("yunikorn",))
def config_ignored(fleet: Fleet) -> Iterator[Issue]:
    """queues.yaml has another name, a partition that Kubernetes never uses, or a property that is misspelt.

    Why: On Kubernetes only the partition `default` is used, and its properties are not checked: an unknown one has no
    effect.
    Fix: Move the queues into partition `default`; write the property's name as it is.
    """
    for document in fleet.of(("", "ConfigMap")):
        keys = mapping(document.manifest, "data")
        if document.name in NAMES and KEY not in keys and "service.policyGroup" not in keys:
            for key in keys:
                if isinstance(key, str) and key.endswith((".yml", ".yaml")):
                    message = f'YuniKorn reads the key "{KEY}" of this ConfigMap, and not "{key}"'
                    yield Issue(document, ("data", key), message, f"write {KEY}")
    for config in fleet.yunikorn:
        names = [text(item, "name") for _, item in mappings(config.data, "partitions")]
        for name in names if "default" in [item.lower() for item in names] else ():
            if name and name.lower() != "default":
                message = f'queues.yaml has the partition "{name}", and Kubernetes uses only "default": it is ignored'
                yield Issue(config.document, config.path, message, 'move its queues into partition "default"')
        for queue in config.queues.values():
            for key in mapping(queue.node, "properties"):
                meant = near_miss(str(key), _PROPERTIES) if key not in _PROPERTIES else ""
                if meant:
                    message = f'queue {queue.path} has the unknown property "{key}", which has no effect'
                    yield Issue(config.document, config.path, message, f'did you mean "{meant}"?')


@rule("yunikorn-namespace-quota", severity="error", family=FAMILY, targets=("yunikorn",))
def namespace_quota(fleet: Fleet) -> Iterator[Issue]:
    """The quota that a Namespace is annotated with is no JSON map of amounts.

    Why: YuniKorn reads `namespace.quota` and `namespace.guaranteed` as JSON, such as `{"cpu": "64"}`; what it can't
    read it leaves out with a line in the log, and the namespace has no limit.
    Fix: Write a JSON map from resource to amount.
    """
    for namespace in fleet.of(("", "Namespace")):
        annotations = strings(namespace.manifest, "metadata", "annotations")
        for key in _QUOTAS:
            if key in annotations and not _is_map(annotations[key]):
                message = f'{key} is "{annotations[key][:60]}", no JSON map of amounts: it is ignored'
                path = ("metadata", "annotations", key)
                yield Issue(namespace, path, message, """write such as '{"cpu": "64", "memory": "512G"}'""")


def _is_map(written: str) -> bool:
    try:
        value: Any = json.loads(written)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and all(isinstance(item, str | int) for item in value.values())


@rule("yunikorn-task-groups-differ", severity="error", family=FAMILY, targets=("yunikorn",))
def task_groups_differ(fleet: Fleet) -> Iterator[Issue]:
    """Templates of one gang list different task groups.

    Why: The placeholders are made from the list of the first pod that comes. A group that only another template lists
    gets none, and its pods are not part of the gang.
    Fix: Write the same complete list of groups in every template.
    """
    for workload in fleet.gang_marks.yunikorn_workloads:
        members = [(item, Groups(item)) for item in workload.pod_sets if TASK_GROUPS in item.annotations]
        known = [(item, groups) for item, groups in members if groups.listed]
        for pod_set, groups in known[1:]:
            first = known[0][1]
            if groups.listed != first.listed:
                message = (
                    f'"{pod_set.name}" lists the task groups {listed(groups.names)}, and '
                    f'"{known[0][0].name}" {listed(first.names)}: placeholders are made from one of the lists only'
                )
                yield Issue(*place(pod_set, TASK_GROUPS), message, "write the same complete list in every template")


@rule("yunikorn-applications-of-one-run", severity="warning", family=FAMILY, targets=("yunikorn",))
def applications_of_one_run(fleet: Fleet) -> Iterator[Issue]:
    """Pods of one workload name different applications.

    Why: Limits, order and preemption go by application: the parts of the run are counted, queued and evicted apart.
    Fix: Write the same application id in every template.
    """
    for workload in fleet.gang_marks.yunikorn_workloads:
        named = [
            (item, values(item, APPLICATIONS)[0])
            for item in workload.pod_sets
            if for_yunikorn(item) and TASK_GROUP not in item.annotations and values(item, APPLICATIONS)
        ]
        for pod_set, (field, key, value) in named[1:]:
            first = named[0][1][2]
            if value != first:
                document, path = pod_set.at(("metadata", field, key))
                message = f'"{pod_set.name}" names application "{value}", "{named[0][0].name}" names "{first}"'
                yield Issue(document, path, message, f'write "{first}" in every template')
