"""The tasks of a Volcano Job: groups of equal pods (v1.15.1).

Rules: `pkg/webhooks/admission/jobs/validate/admit_job.go`.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.container import Container
from trainshed.api.core.pod import PodTemplateSpec
from trainshed.api.types import DnsLabel, Int32, Str
from trainshed.api.volcano.policy import LifecyclePolicy, policy_rules
from trainshed.api.volcano.template import template_rules
from trainshed.api.volcano.topology import NetworkTopologySpec
from trainshed.faults import nearest
from trainshed.quantity import Quantity

Count = Annotated[Int32, Field(ge=0)]


class DependsOn(Model):
    """Tasks that must be running before this one starts: `any` of them, or `all` (the default)."""

    name: list[Str] | None = None
    iteration: Literal["any", "all"] | None = None


class PartitionPolicySpec(Model):
    """A task cut into partitions of equal size, each placed by `network_topology`."""

    total_partitions: Annotated[Int32, Field(ge=1)]
    partition_size: Annotated[Int32, Field(ge=1)]
    network_topology: NetworkTopologySpec | None = None
    min_partitions: Count | None = None


class TaskSpec(Model):
    """`replicas` pods from one template; the gang needs `min_available` of them (absent: all).

    `template` is required: the CRD leaves it open, the webhook refuses a task without containers. Of the template's
    metadata Volcano keeps name, namespace, labels, annotations and finalizers.

    Name and place in the list are a task's identity. Only `replicas` and `min_available` can change after creation.
    """

    name: DnsLabel | None = None
    replicas: Count | None = None
    min_available: Count | None = None
    template: PodTemplateSpec
    policies: list[LifecyclePolicy] | None = None
    topology_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = None
    max_retry: Count | None = None
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicySpec | None = None

    def rules(self) -> Iterator[Broken]:
        """What one task must keep for itself."""
        yield from policy_rules(self.policies or [])
        replicas = self.replicas or 0
        if self.min_available is not None and self.min_available > replicas:
            yield Broken(
                "minAvailable",
                f"is {self.min_available}, more than the {replicas} replicas",
                f"write {replicas} or less",
            )
        yield from self._partition_rules(replicas)
        yield from self._whole_cpu_rules()
        yield from template_rules(self.template, "template")

    def _partition_rules(self, replicas: int) -> Iterator[Broken]:
        """Replicas fill the partitions, and the gang's minimum is whole partitions (the webhook defaults it so)."""
        policy = self.partition_policy
        if policy is None:
            return
        size, total, least = policy.partition_size, policy.total_partitions, policy.min_partitions or 0
        if replicas != size * total:
            yield Broken(
                "replicas",
                f"is {replicas}, but {total} partitions of {size} make {size * total}",
                f"write {size * total}",
            )
        if least > total:
            yield Broken("partitionPolicy.minPartitions", f"is {least}, more than the {total} in totalPartitions")
        elif least and self.min_available is not None and self.min_available != least * size:
            yield Broken(
                "minAvailable",
                f"is {self.min_available}, but {least} partitions of {size} make {least * size}",
                f"write {least * size} or leave it out",
            )

    def _whole_cpu_rules(self) -> Iterator[Broken]:
        """A NUMA policy needs whole CPUs for every container (validateTaskTopoPolicy)."""
        policy, spec = self.topology_policy, self.template.spec
        if policy in (None, "none") or spec is None:
            return
        for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers or [])):
            for index, container in enumerate(containers):
                amount = _cpu(container)
                if amount is None or not amount or not amount.is_whole():
                    yield Broken(
                        f"template.spec.{field}[{index}].resources",
                        f'requests {"no" if amount is None else amount} CPU, but topologyPolicy is "{policy}"',
                        "request a whole number of CPUs",
                    )


def _cpu(container: Container) -> Quantity | None:
    """The CPU request; the limits stand in only when there are no requests at all."""
    if container.resources is None:
        return None
    return (container.resources.requests or container.resources.limits or {}).get("cpu")


def task_names(tasks: Sequence[TaskSpec]) -> list[str]:
    """The names, with those that the mutating webhook gives to tasks without one."""
    return [task.name or f"default{index}" for index, task in enumerate(tasks)]


def task_list_rules(tasks: Sequence[TaskSpec]) -> Iterator[Broken]:
    """Names are unique, and dependencies form an acyclic graph (validateJobCreate, topoSort)."""
    names = task_names(tasks)
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Broken(
                f"tasks[{index}].name", f'"{name}" is the name of tasks[{names.index(name)}] already', "rename one"
            )
    waiting: dict[str, set[str]] = {}
    for index, (name, task) in enumerate(zip(names, tasks, strict=True)):
        needed = (task.depends_on.name if task.depends_on else None) or []
        waiting[name] = set(needed)
        for place, other in enumerate(needed):
            field = f"tasks[{index}].dependsOn.name[{place}]"
            if other not in names:
                yield Broken(field, f'there is no task "{other}"', nearest(other, names))
                waiting[name].discard(other)
            elif other in needed[:place]:
                yield Broken(field, f'"{other}" is listed already', "list each task once")
    while free := {name for name, needed in waiting.items() if not needed}:
        waiting = {name: needed - free for name, needed in waiting.items() if name not in free}
    if waiting:
        yield Broken("tasks", f"wait for each other: {', '.join(waiting)}", "break the circle in dependsOn")
