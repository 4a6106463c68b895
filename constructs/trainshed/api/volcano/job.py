"""Job (batch.volcano.sh/v1alpha1), as in Volcano v1.15.1.

Rules beyond the CRD: `pkg/webhooks/admission/jobs/validate/admit_job.go`. Whether the queue exists, is open and is a
leaf needs the other objects and is not here.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.claim import PersistentVolumeClaimSpec
from trainshed.api.types import DnsSubdomain, Int32, Str, shaped
from trainshed.api.volcano.plugins import KNOWN_PLUGINS, mpi_master, service_plugin
from trainshed.api.volcano.policy import LifecyclePolicy, policy_rules
from trainshed.api.volcano.task import Count, TaskSpec, task_list_rules, task_names
from trainshed.api.volcano.topology import NetworkTopologySpec
from trainshed.faults import nearest


def _mount_path_error(path: str) -> str:
    if not path:
        return "it is empty"
    return f'"{path}" has a ":", which a mount path may not' if ":" in path else ""


class VolumeSpec(Model):
    """A claim mounted into the containers (not the init containers) of every pod: an existing one or a new one.

    Once the job exists, the controller writes the new claim's name into `volume_claim_name`.
    """

    mount_path: Annotated[Str, shaped(_mount_path_error)]
    volume_claim_name: Annotated[Str, Field(max_length=253)] | None = None
    volume_claim: PersistentVolumeClaimSpec | None = None

    def rules(self) -> Iterator[Broken]:
        """Some claim, by a valid name (validateIO)."""
        if not self.volume_claim_name and self.volume_claim is None:
            yield Broken("", "has neither volumeClaimName nor volumeClaim", "add one of them")
        if self.volume_claim_name and (error := naming.dns1123_subdomain_error(self.volume_claim_name)):
            yield Broken("volumeClaimName", error)


class JobSpec(Model):
    """A gang of tasks. `tasks` is required: the CRD leaves it open, the webhook refuses a job without.

    Defaults: `scheduler_name` volcano, `queue` default, `max_retry` 3, `min_available` the sum over the tasks.
    """

    scheduler_name: Annotated[Str, Field(max_length=63)] | None = None
    min_available: Count | None = None
    volumes: list[VolumeSpec] | None = None
    tasks: Annotated[list[TaskSpec], Field(min_length=1)]
    policies: list[LifecyclePolicy] | None = None
    plugins: dict[Str, list[Str]] | None = None
    running_estimate: Str | None = None
    queue: DnsSubdomain | None = None
    max_retry: Count | None = None
    ttl_seconds_after_finished: Count | None = None
    priority_class_name: DnsSubdomain | None = None
    min_success: Annotated[Int32, Field(ge=1)] | None = None
    network_topology: NetworkTopologySpec | None = None

    def rules(self) -> Iterator[Broken]:
        """What the tasks, policies, plugins and volumes must keep together."""
        yield from task_list_rules(self.tasks)
        yield from policy_rules(self.policies or [])
        replicas = sum(task.replicas or 0 for task in self.tasks)
        if self.min_available is not None and self.min_available > replicas:
            yield Broken(
                "minAvailable",
                f"is {self.min_available}, more than the {replicas} replicas of all tasks",
                f"write {replicas} or less",
            )
        yield from self._plugin_rules()
        paths = [volume.mount_path for volume in self.volumes or []]
        for index, path in enumerate(paths):
            if path in paths[:index]:
                yield Broken(f"volumes[{index}].mountPath", f'"{path}" is mounted already', "write another path")

    def _plugin_rules(self) -> Iterator[Broken]:
        plugins = self.plugins or {}
        for name in plugins:
            if name not in KNOWN_PLUGINS:
                yield Broken(
                    f"plugins[{name}]",
                    "there is no such plugin",
                    nearest(name, KNOWN_PLUGINS) or f"use one of {', '.join(KNOWN_PLUGINS)}",
                )
        if "mpi" in plugins:
            names, master = task_names(self.tasks), mpi_master(plugins["mpi"])
            if master not in names:
                yield Broken(
                    "plugins[mpi]", f'there is no task "{master}" to be the master', "name it with --master=<task>"
                )


class Job(KubernetesObject):
    """A gang of pods that Volcano runs and restarts together.

    After creation only `minAvailable`, `priorityClassName` and the tasks' `replicas` and `minAvailable` can change.
    """

    namespaced: ClassVar[bool] = True
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec",)
    #: What may change below `spec` all the same.
    MUTABLE: ClassVar[tuple[str, ...]] = (
        "spec.minAvailable",
        "spec.priorityClassName",
        "spec.tasks[].replicas",
        "spec.tasks[].minAvailable",
    )

    api_version: Literal["batch.volcano.sh/v1alpha1"] = "batch.volcano.sh/v1alpha1"
    kind: Literal["Job"] = "Job"
    spec: JobSpec

    def rules(self) -> Iterator[Broken]:
        """Rules on names, and on claims of a job that does not exist yet."""
        if self.metadata.name is not None:
            yield from self._name_rules(self.metadata.name)
        for index, volume in enumerate(self.spec.volumes or []):
            # On a live job both are set, since the controller writes the name of the claim it made.
            if volume.volume_claim is not None and volume.volume_claim_name and self.metadata.uid is None:
                yield Broken(f"spec.volumes[{index}]", "has both volumeClaimName and volumeClaim", "keep one of them")

    def _name_rules(self, name: str) -> Iterator[Broken]:
        """The names that Volcano makes from the job's: Services, and pods with their host names.

        The webhook looks at the length of the job's name and of `<job>-<task>-<place of the task>`. A Service needs a
        DNS-1035 label, and a Service plugin makes the pod's name its host name, at most 63 characters: there the
        webhook lets through what then can't be created.
        """
        plugins = self.spec.plugins or {}
        plugin = service_plugin(plugins)
        if plugin:
            suffix = "-head-svc" if "ray" in plugins else ""
            if error := naming.dns1035_label_error(name + suffix):
                fix = "choose another name" if len(name + suffix) <= naming.LABEL_MAX else "shorten it"
                yield Broken("metadata.name", f'names the Service of plugin "{plugin}": {error}', fix)
        elif len(name) > naming.LABEL_MAX:
            over = len(name) - naming.LABEL_MAX
            yield Broken("metadata.name", f"has {len(name)} characters, {over} more than the 63 allowed", "shorten it")
        for index, task_name in enumerate(task_names(self.spec.tasks)):
            yield from self._pod_name_rules(name, index, task_name, bool(plugin))

    def _pod_name_rules(self, job: str, index: int, task_name: str, hosted: bool) -> Iterator[Broken]:
        task = self.spec.tasks[index]
        number = index
        if hosted and not (task.template.spec and task.template.spec.hostname):
            number = max(index, (task.replicas or 1) - 1)
        pod = f"{job}-{task_name}-{number}"
        if len(pod) > naming.LABEL_MAX:
            over = len(pod) - naming.LABEL_MAX
            yield Broken(
                f"spec.tasks[{index}].name",
                f'makes the pod name "{pod}" of {len(pod)} characters, {over} more than the 63 allowed',
                "shorten the name of the job or of the task",
            )
