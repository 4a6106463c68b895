"""batch/v1: Job and CronJob.

Rules: kubernetes v1.36, `pkg/apis/batch/validation/validation.go`, after the defaults of `batch/v1/defaults.go` there.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.pod import PodTemplateSpec
from trainshed.api.cron import schedule_error, time_zone_error
from trainshed.api.job_policies import PodFailurePolicy, SuccessPolicy, count_indexes
from trainshed.api.meta import TemplateMeta
from trainshed.api.selectors import LabelSelector
from trainshed.api.shapes import domain_prefixed_path_error
from trainshed.api.types import Bool, Int32, Int64, Str

CompletionMode = Literal["NonIndexed", "Indexed"]
NonNegative32 = Annotated[Int32, Field(ge=0)]
NonNegative64 = Annotated[Int64, Field(ge=0)]

_MANY: Final = 100_000
_MANY_PARALLEL: Final = 10_000
_GENERATED_LABELS: Final = frozenset(
    prefix + key for prefix in ("", "batch.kubernetes.io/") for key in ("controller-uid", "job-name")
)


class JobSpec(Model):
    """Pods that run to completion.

    Checked here is what holds wherever a Job's spec appears. What depends on Kubernetes' defaults is in
    `created_rules`, since JobSet, TrainingRuntime and others fill in unwritten fields with values of their own.
    """

    active_deadline_seconds: NonNegative64 | None = None
    backoff_limit: NonNegative32 | None = None
    backoff_limit_per_index: NonNegative32 | None = None
    completion_mode: CompletionMode | None = None
    completions: NonNegative32 | None = None
    managed_by: Annotated[Str, Field(max_length=63)] | None = None
    manual_selector: Bool | None = None
    max_failed_indexes: NonNegative32 | None = None
    parallelism: NonNegative32 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: Literal["TerminatingOrFailed", "Failed"] | None = None
    selector: LabelSelector | None = None
    success_policy: SuccessPolicy | None = None
    suspend: Bool | None = None
    template: PodTemplateSpec
    ttl_seconds_after_finished: NonNegative32 | None = None

    def rules(self) -> Iterator[Broken]:
        """`validateJobSpec`, where no default of the host can change the verdict."""
        if self.managed_by is not None and (error := domain_prefixed_path_error(self.managed_by)):
            yield Broken("managedBy", error, 'write a domain, "/" and a path, such as "kueue.x-k8s.io/multikueue"')
        if self.max_failed_indexes is not None and self.backoff_limit_per_index is None:
            yield Broken("maxFailedIndexes", "works only with backoffLimitPerIndex", "add backoffLimitPerIndex")
        if self.completion_mode is not None:
            yield from self._mode_rules(self.completion_mode)
        if self.pod_failure_policy is not None:
            yield from self._failure_policy_rules(self.pod_failure_policy)
        if self.template.spec is not None and self.template.spec.restart_policy is not None:
            yield from self._restart_rules(self.template.spec.restart_policy)

    def created_rules(self, mode: CompletionMode = "NonIndexed", restart_policy: str | None = None) -> Iterator[Broken]:
        """What the API server also refuses when a Job is made from exactly this spec.

        `mode` and `restart_policy` are what the host fills in where the spec says nothing: batch itself NonIndexed and
        nothing; JobSet Indexed and OnFailure.
        """
        if self.completion_mode is None:
            yield from self._mode_rules(mode)
        if (self.completion_mode or mode) == "Indexed" and self.completions is None and self.parallelism is not None:
            # Without parallelism the server would default both to 1.
            yield Broken("completions", "is missing, and an Indexed Job needs it", f"write {self.parallelism}")
        if self.template.spec is None or self.template.spec.restart_policy is None:
            if restart_policy is None:
                yield Broken(
                    "template.spec.restartPolicy",
                    "is missing, and a Job has no default",
                    'write "Never" or "OnFailure"',
                )
            else:
                yield from self._restart_rules(restart_policy)

    def _mode_rules(self, mode: CompletionMode) -> Iterator[Broken]:
        if mode == "NonIndexed":
            for name, value in (
                ("backoffLimitPerIndex", self.backoff_limit_per_index),
                ("maxFailedIndexes", self.max_failed_indexes),
                ("successPolicy", self.success_policy),
            ):
                if value is not None:
                    yield Broken(name, "works only in Indexed Jobs", 'write completionMode: "Indexed"')
            return
        if self.parallelism is not None and self.parallelism > _MANY:
            yield Broken("parallelism", f"is {self.parallelism}; an Indexed Job has at most {_MANY}")
        yield from self._index_limit_rules()
        if self.success_policy is not None and self.completions is not None:
            yield from _success_rules(self.success_policy, self.completions)

    def _index_limit_rules(self) -> Iterator[Broken]:
        failed = self.max_failed_indexes
        if failed is not None and self.completions is not None and failed > self.completions:
            yield Broken("maxFailedIndexes", f"is {failed}, more than the {self.completions} completions")
        if failed is not None and failed > _MANY:
            yield Broken("maxFailedIndexes", f"is {failed}; at most {_MANY} are allowed")
        if self.completions is None or self.completions <= _MANY or self.backoff_limit_per_index is None:
            return
        why = f"beyond {_MANY} completions with backoffLimitPerIndex"
        if failed is None:
            yield Broken("maxFailedIndexes", f"is missing, and needed {why}", f"write at most {_MANY_PARALLEL}")
        elif failed > _MANY_PARALLEL:
            yield Broken("maxFailedIndexes", f"is {failed}; at most {_MANY_PARALLEL} are allowed {why}")
        if self.parallelism is not None and self.parallelism > _MANY_PARALLEL:
            yield Broken("parallelism", f"is {self.parallelism}; at most {_MANY_PARALLEL} is allowed {why}")

    def _failure_policy_rules(self, policy: PodFailurePolicy) -> Iterator[Broken]:
        if self.pod_replacement_policy == "TerminatingOrFailed":
            yield Broken("podReplacementPolicy", "must be Failed when podFailurePolicy is set", 'write "Failed"')
        pod = self.template.spec
        names = [c.name for c in [*(pod.containers or []), *(pod.init_containers or [])]] if pod else []
        for index, rule in enumerate(policy.rules_):
            at = f"podFailurePolicy.rules[{index}]"
            if rule.action == "FailIndex" and self.backoff_limit_per_index is None:
                yield Broken(
                    f"{at}.action", "FailIndex works only with backoffLimitPerIndex", "add backoffLimitPerIndex"
                )
            codes = rule.on_exit_codes
            if names and codes is not None and codes.container_name is not None and codes.container_name not in names:
                text = f'"{codes.container_name}" is not a container of the pod template'
                yield Broken(f"{at}.onExitCodes.containerName", text, f"write one of {', '.join(names)}")

    def _restart_rules(self, policy: str) -> Iterator[Broken]:
        at = "template.spec.restartPolicy"
        if policy == "Always":
            yield Broken(at, "a Job cannot restart its pods for ever", 'write "Never" or "OnFailure"')
        elif self.pod_failure_policy is not None and policy != "Never":
            yield Broken(at, f"is {policy}; podFailurePolicy works only with Never", 'write "Never"')


class Job(KubernetesObject):
    """Pods that run until enough of them succeed.

    Immutable: see `IMMUTABLE`. While the Job is suspended and has never started, the template's labels, annotations,
    nodeSelector, node affinity, tolerations and schedulingGates may change; completions of an Indexed Job may change
    together with an equal parallelism.
    """

    namespaced: ClassVar[bool] = True
    IMMUTABLE: ClassVar[tuple[str, ...]] = (
        "spec.backoffLimitPerIndex",
        "spec.completionMode",
        "spec.completions",
        "spec.managedBy",
        "spec.podFailurePolicy",
        "spec.selector",
        "spec.successPolicy",
        "spec.template",
    )

    api_version: Literal["batch/v1"] = "batch/v1"
    kind: Literal["Job"] = "Job"
    spec: JobSpec

    def rules(self) -> Iterator[Broken]:
        """`ValidateJob`: the spec as batch defaults it, the selector, and the names made from this one."""
        for broken in self.spec.created_rules():
            yield Broken(f"spec.{broken.field}", broken.message, broken.fix)
        if self.spec.template.spec is not None:
            yield from self.spec.template.spec.mount_rules("spec.template.spec")
        yield from self._name_rules()
        yield from self._selector_rules()

    def _name_rules(self) -> Iterator[Broken]:
        name = self.metadata.name
        if name is None:
            return
        completions = self.spec.completions
        if completions is None and self.spec.parallelism is None:
            completions = 1
        if self.spec.completion_mode == "Indexed" and completions:
            host = f"{name}-{completions - 1}"
            if error := naming.dns1123_label_error(host):
                yield Broken("metadata.name", f'the last pod would have the host name "{host}", and {error}')
        elif not self.spec.manual_selector and (error := naming.label_value_error(name)):
            yield Broken("metadata.name", f"it becomes the label job-name of the pods, and {error}")

    def _selector_rules(self) -> Iterator[Broken]:
        selector = self.spec.selector
        if not self.spec.manual_selector:
            if selector is not None and not set(selector.match_labels or {}) <= _GENERATED_LABELS:
                yield Broken("spec.selector", "the server generates it", "leave it out, or write manualSelector: true")
            return
        if selector is None:
            yield Broken(
                "spec.selector", "is missing, and manualSelector is true", "add it, or leave manualSelector out"
            )
            return
        labels = (self.spec.template.metadata and self.spec.template.metadata.labels) or {}
        for key, value in (selector.match_labels or {}).items():
            if labels.get(key) != value:
                text = f"does not select the Job's own pods: their template has no label {key}={value}"
                yield Broken("spec.selector", text, "add it to spec.template.metadata.labels")


class JobTemplateSpec(Model):
    """A Job to be made later, by a CronJob or a JobSet."""

    metadata: TemplateMeta | None = None
    spec: JobSpec | None = None


class CronJobSpec(Model):
    """When Jobs are made, and how many finished ones are kept (3 successful and 1 failed unless said)."""

    concurrency_policy: Literal["Allow", "Forbid", "Replace"] | None = None
    failed_jobs_history_limit: NonNegative32 | None = None
    job_template: JobTemplateSpec
    schedule: Str
    starting_deadline_seconds: NonNegative64 | None = None
    successful_jobs_history_limit: NonNegative32 | None = None
    suspend: Bool | None = None
    time_zone: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """`validateCronJobSpec`."""
        if error := schedule_error(self.schedule):
            yield Broken("schedule", error, 'write five fields, such as "0 3 * * 1-5", or a word such as "@daily"')
        if self.time_zone is not None and (error := time_zone_error(self.time_zone)):
            yield Broken("timeZone", error, 'write a name from the IANA list, such as "Europe/Berlin"')
        job = self.job_template.spec
        if job is None:
            yield Broken("jobTemplate.spec", "is missing")
            return
        if job.selector is not None:
            yield Broken("jobTemplate.spec.selector", "the server generates it", "leave it out")
        if job.manual_selector:
            yield Broken("jobTemplate.spec.manualSelector", "cannot be true in a CronJob", "leave it out")
        for broken in job.created_rules():
            yield Broken(f"jobTemplate.spec.{broken.field}", broken.message, broken.fix)
        if job.template.spec is not None:
            yield from job.template.spec.mount_rules("jobTemplate.spec.template.spec")


class CronJob(KubernetesObject):
    """Jobs on a schedule. Nothing in it is immutable."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["batch/v1"] = "batch/v1"
    kind: Literal["CronJob"] = "CronJob"
    spec: CronJobSpec

    def rules(self) -> Iterator[Broken]:
        """`ValidateCronJobCreate`: the controller appends 11 characters, and a Job's name has at most 63."""
        if len(self.metadata.name or "") > 52:
            yield Broken("metadata.name", f"has {len(self.metadata.name or '')} characters; a CronJob may have 52")


def _success_rules(policy: SuccessPolicy, completions: int) -> Iterator[Broken]:
    for index, rule in enumerate(policy.rules_):
        at = f"successPolicy.rules[{index}]"
        if rule.succeeded_indexes is not None:
            _, error = count_indexes(rule.succeeded_indexes, completions)
            if error:
                yield Broken(f"{at}.succeededIndexes", error)
        if rule.succeeded_count is not None and rule.succeeded_count > completions:
            yield Broken(f"{at}.succeededCount", f"is {rule.succeeded_count}, more than the {completions} completions")
