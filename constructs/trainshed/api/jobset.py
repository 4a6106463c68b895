"""JobSet v0.12.0, `jobset.x-k8s.io/v1alpha2`: Jobs that live and restart together.

Rules: the CRD's CEL and `pkg/webhooks/jobset_webhook.go`, create. J1 to J14 are numbered as in the tests.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.batch import JobSpec
from trainshed.api.core.pod import PodSpec
from trainshed.api.jobset_parts import (
    Coordinator,
    DependsOn,
    FailurePolicy,
    FailurePolicyRule,
    Network,
    ReplicatedJob,
    RetentionPolicy,
    StartupPolicy,
    SuccessPolicy,
    VolumeClaimPolicy,
    VolumeClaimTemplate,
)
from trainshed.api.shapes import domain_prefixed_path_error
from trainshed.api.types import Bool, Int32, Str, keyed_by
from trainshed.faults import nearest
from trainshed.naming_budgets import coordinator_label_errors, jobset_name_errors, worst

__all__ = [
    "Coordinator",
    "DependsOn",
    "FailurePolicy",
    "FailurePolicyRule",
    "JobSet",
    "JobSetSpec",
    "Network",
    "ReplicatedJob",
    "RetentionPolicy",
    "StartupPolicy",
    "SuccessPolicy",
    "VolumeClaimPolicy",
    "VolumeClaimTemplate",
]

_NEVER_GIVE_UP: Final = 2**31 - 1
_MOST_RESTARTABLE: Final = 1024


class JobSetSpec(Model):
    """The desired state.

    Checked here is what holds wherever the spec appears. What holds only when a JobSet is made from exactly this spec
    is in `created_rules` and `name_rules`, since a TrainJob changes the spec of its runtime first.
    """

    replicated_jobs: Annotated[list[ReplicatedJob], keyed_by("name")] | None = None
    network: Network | None = None
    success_policy: SuccessPolicy | None = None
    failure_policy: FailurePolicy | None = None
    startup_policy: StartupPolicy | None = None
    suspend: Bool | None = None
    coordinator: Coordinator | None = None
    managed_by: Str | None = None
    ttl_seconds_after_finished: Annotated[Int32, Field(ge=0)] | None = None
    volume_claim_policies: Annotated[list[VolumeClaimPolicy], Field(max_length=50)] | None = None

    @property
    def jobs(self) -> list[ReplicatedJob]:
        """The replicated jobs, none when the list is not written."""
        return self.replicated_jobs or []

    @property
    def claims(self) -> list[tuple[str, VolumeClaimTemplate]]:
        """Every volume claim template with its path."""
        return [
            (f"volumeClaimPolicies[{index}].templates[{number}]", template)
            for index, policy in enumerate(self.volume_claim_policies or [])
            for number, template in enumerate(policy.templates or [])
        ]

    def rules(self) -> Iterator[Broken]:
        """J1, J3, J8, J11, J13 without completions, J14 without mounts, and the CRD's rule on startup order."""
        for index, job in enumerate(self.jobs):
            if job.template.spec is None:
                yield Broken(f"replicatedJobs[{index}].template.spec", "is missing", "add the Job's spec")
        yield from self._order_rules()
        yield from self._target_rules()
        yield from self._coordinator_rules()
        yield from self._claim_rules()
        if self.managed_by is not None:
            if error := domain_prefixed_path_error(self.managed_by):
                yield Broken("managedBy", error, 'write a domain, "/" and a path, such as "kueue.x-k8s.io/multikueue"')
            if len(self.managed_by) > naming.LABEL_MAX:
                yield Broken("managedBy", f"has {len(self.managed_by)} characters, and {naming.LABEL_MAX} are allowed")
        actions = [rule.action for rule in (self.failure_policy and self.failure_policy.rules_) or []]
        if any(action.startswith("RestartJob") and "JobSet" not in action for action in actions):
            for index, job in enumerate(self.jobs):
                if job.count > _MOST_RESTARTABLE:
                    text = f"is {job.count}, and with the action RestartJob at most {_MOST_RESTARTABLE} are allowed"
                    yield Broken(f"replicatedJobs[{index}].replicas", text, "split the job, or use RestartJobSet")

    def created_rules(self) -> Iterator[Broken]:
        """J12, J13 and J14 in full, and what the API server refuses in the Jobs made from this spec."""
        in_place = self.failure_policy is not None and self.failure_policy.restart_strategy == "InPlaceRestart"
        given = {template.name for _, template in self.claims}
        for index, job in enumerate(self.jobs):
            spec = job.template.spec
            if spec is None:
                continue
            at = f"replicatedJobs[{index}].template.spec"
            for broken in spec.created_rules("Indexed", "OnFailure"):
                yield Broken(f"{at}.{broken.field}", broken.message, broken.fix)
            if in_place:
                yield from _in_place_rules(spec, at)
            if spec.template.spec is not None:
                yield from spec.template.spec.mount_rules(f"{at}.template.spec", given)
            if self.coordinator is not None and self.coordinator.replicated_job == job.name:
                yield from _pod_index_rules(self.coordinator, spec)
        mounted = {mount for job in self.jobs for mount in _mounts(job)}
        for path, template in self.claims:
            if template.name not in mounted:
                yield Broken(path, f'no container mounts "{template.name}"', "add a volume mount of that name")

    def name_rules(self, name: str) -> Iterator[Broken]:
        """J6, J7, J13 and J14: names that are made from the JobSet's own name, `name`."""
        errors: list[str] = []
        for index, job in enumerate(self.jobs):
            spec = job.template.spec
            indexed = spec is not None and spec.completion_mode in (None, "Indexed")
            completions = spec.completions if spec is not None and indexed else None
            claims = [] if index else [template.name for _, template in self.claims]
            errors += jobset_name_errors(name, job.name, job.count, completions, claims)
        errors = worst(errors)
        if (chosen := self.coordinator) is not None:
            subdomain = (self.network and self.network.subdomain) or None
            errors += coordinator_label_errors(
                name, chosen.replicated_job, chosen.job_index or 0, chosen.pod_index or 0, subdomain
            )
        for error in errors:
            yield Broken("metadata.name", error, "shorten a name" if "more than" in error else "")

    def _order_rules(self) -> Iterator[Broken]:
        in_order = self.startup_policy is not None and self.startup_policy.startup_policy_order == "InOrder"
        if in_order and any(job.depends_on is not None for job in self.jobs):
            text = "InOrder and dependsOn exclude each other"
            yield Broken("startupPolicy.startupPolicyOrder", text, "keep one of them")
        before: list[str] = []
        for index, job in enumerate(self.jobs):
            at = f"replicatedJobs[{index}].dependsOn"
            if index == 0 and job.depends_on is not None:
                yield Broken(at, "the first job cannot wait for another", "leave it out, or move the job down")
            for number, other in enumerate(job.depends_on or [] if index else []):
                if other.name == job.name:
                    yield Broken(
                        f"{at}[{number}].name", "the job waits for itself and never starts", "name another job"
                    )
                elif other.name not in before:
                    later = other.name in [one.name for one in self.jobs]
                    text = f'"{other.name}" {"comes later" if later else "is not a job of the set"}'
                    fix = "move it up" if later else nearest(other.name, before)
                    yield Broken(f"{at}[{number}].name", text, fix)
            before.append(job.name)

    def _target_rules(self) -> Iterator[Broken]:
        lists = [("successPolicy", self.success_policy.target_replicated_jobs)] if self.success_policy else []
        for index, rule in enumerate((self.failure_policy and self.failure_policy.rules_) or []):
            lists.append((f"failurePolicy.rules[{index}]", rule.target_replicated_jobs))
        for at, targets in lists:
            for index, target in enumerate(targets or []):
                yield from self._known(f"{at}.targetReplicatedJobs[{index}]", target)

    def _coordinator_rules(self) -> Iterator[Broken]:
        if self.coordinator is None:
            return
        chosen = next((job for job in self.jobs if job.name == self.coordinator.replicated_job), None)
        if chosen is None:
            yield from self._known("coordinator.replicatedJob", self.coordinator.replicated_job)
        elif not 0 <= (index := self.coordinator.job_index or 0) < chosen.count:
            has = f"{chosen.count} replica{'' if chosen.count == 1 else 's'}"
            yield Broken("coordinator.jobIndex", f'is {index}, and "{chosen.name}" has {has}')
        if chosen and chosen.template.spec and chosen.template.spec.completion_mode == "NonIndexed":
            yield Broken(
                "coordinator.replicatedJob", f'"{chosen.name}" is not Indexed', 'write completionMode: "Indexed"'
            )

    def _claim_rules(self) -> Iterator[Broken]:
        for index, policy in enumerate(self.volume_claim_policies or []):
            if policy.templates is None:
                # The CRD's rule on namespaces fails where there is nothing to look at.
                yield Broken(f"volumeClaimPolicies[{index}].templates", "is missing", "add the claims")
        seen: set[str] = set()
        for path, template in self.claims:
            if error := naming.dns1123_label_error(template.name):
                yield Broken(
                    f"{path}.metadata.name", error, "" if template.name else "add a name for mounts to refer to"
                )
            if template.metadata and template.metadata.namespace:
                yield Broken(f"{path}.metadata.namespace", "the claim is made where the JobSet is", "leave it out")
            if template.spec is None:
                yield Broken(f"{path}.spec", "is missing", "add the claim's spec")
            if template.name in seen:
                yield Broken(f"{path}.metadata.name", f'"{template.name}" is used twice', "rename one of them")
            seen.add(template.name)
        for index, job in enumerate(self.jobs):
            pod = _pod(job)
            for number, volume in enumerate((pod and pod.volumes) or []):
                if volume.name in seen:
                    at = f"replicatedJobs[{index}].template.spec.template.spec.volumes[{number}].name"
                    yield Broken(at, f'"{volume.name}" is in volumeClaimPolicies as well', "rename one of them")

    def _known(self, field: str, target: str) -> Iterator[Broken]:
        names = [job.name for job in self.jobs]
        if target not in names:
            fix = nearest(target, names) or (f"write one of {', '.join(names)}" if names else "")
            yield Broken(field, f'"{target}" is not a job of the set', fix)


class JobSet(KubernetesObject):
    """Jobs that are one workload: they start, fail, restart and succeed together.

    Immutable: see `IMMUTABLE`; `ReplicatedJob` says what may change while the JobSet is suspended. Kueue writes
    `suspend`, and annotations, labels, nodeSelector, tolerations and schedulingGates of the pod templates.
    """

    namespaced: ClassVar[bool] = True
    name_error: ClassVar[Callable[[str], str]] = staticmethod(naming.dns1035_label_error)
    IMMUTABLE: ClassVar[tuple[str, ...]] = (
        "spec.failurePolicy",
        "spec.managedBy",
        "spec.network",
        "spec.replicatedJobs",
        "spec.startupPolicy",
        "spec.successPolicy",
        "spec.volumeClaimPolicies",
    )

    api_version: Literal["jobset.x-k8s.io/v1alpha2"] = "jobset.x-k8s.io/v1alpha2"
    kind: Literal["JobSet"] = "JobSet"
    spec: JobSetSpec

    def rules(self) -> Iterator[Broken]:
        """The webhook's rules on a JobSet as it stands. Names are checked only when there is no generateName."""
        for broken in self.spec.created_rules():
            yield Broken(f"spec.{broken.field}", broken.message, broken.fix)
        name = self.metadata.name
        if name is not None and not type(self).name_error(name):
            yield from self.spec.name_rules(name)


def _in_place_rules(spec: JobSpec, at: str) -> Iterator[Broken]:
    why = "with the strategy InPlaceRestart"
    if spec.backoff_limit != _NEVER_GIVE_UP:
        yield Broken(f"{at}.backoffLimit", f"must be {_NEVER_GIVE_UP} {why}", f"write {_NEVER_GIVE_UP}")
    if spec.pod_replacement_policy != "Failed":
        yield Broken(f"{at}.podReplacementPolicy", f"must be Failed {why}", 'write "Failed"')
    if spec.completions is None or spec.completions != spec.parallelism:
        yield Broken(f"{at}.completions", f"must be written and equal to parallelism {why}", "write both")


def _pod_index_rules(chosen: Coordinator, spec: JobSpec) -> Iterator[Broken]:
    index = chosen.pod_index or 0
    if spec.completions is None:
        text = f'"{chosen.replicated_job}" has no completions, and the coordinator\'s job needs them'
        yield Broken("coordinator.replicatedJob", text, "add completions")
    elif not 0 <= index < spec.completions:
        yield Broken("coordinator.podIndex", f'is {index}, and "{chosen.replicated_job}" has {spec.completions} pods')


def _pod(job: ReplicatedJob) -> PodSpec | None:
    return job.template.spec.template.spec if job.template.spec else None


def _mounts(job: ReplicatedJob) -> Iterator[str]:
    pod = _pod(job)
    for container in [*pod.containers, *(pod.init_containers or [])] if pod else []:
        for mount in container.volume_mounts or []:
            yield mount.name
