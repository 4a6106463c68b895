"""The parts of a JobSet: its replicated jobs, its policies, its network, its shared volumes.

Schema: JobSet v0.12.0, `jobset.x-k8s.io_jobsets.yaml`. Rules: `pkg/webhooks/jobset_webhook.go` at that tag.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.batch import JobTemplateSpec
from trainshed.api.core.claim import PersistentVolumeClaimSpec
from trainshed.api.meta import TemplateMeta
from trainshed.api.times import Time
from trainshed.api.types import Bool, CrdQuantity, DnsLabel1035, Int32, Int64, Str, keyed_by
from trainshed.faults import nearest

FAILURE_REASONS: Final = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_RULE_NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_MANY: Final = 2**31 - 1


class DependsOn(Model):
    """Wait until the Jobs of `name` are ready, or complete. Failed and succeeded Jobs count as ready."""

    name: Str
    status: Literal["Ready", "Complete"]


class ReplicatedJob(Model):
    """`replicas` (default 1) equal Jobs, called `<jobset>-<name>-<index>`.

    Without a `completionMode` the Jobs are Indexed, without a `restartPolicy` their pods restart OnFailure: JobSet's
    webhook fills that in. Immutable, but for labels, annotations, nodeSelector, tolerations and schedulingGates of the
    pod template while the JobSet is suspended.
    """

    name: Str
    template: JobTemplateSpec
    replicas: Int32 | None = None
    group_name: DnsLabel1035 | None = None
    depends_on: Annotated[list[DependsOn], Field(max_length=5), keyed_by("name")] | None = None

    @property
    def count(self) -> int:
        """How many Jobs there are."""
        return 1 if self.replicas is None else self.replicas

    def rules(self) -> Iterator[Broken]:
        """J4 (webhook): the pods of all Jobs can be counted in an int32. Below 0 nothing refuses `replicas`, and the
        controller makes no Job of it (JobSet v0.12.0, `constructJobsFromTemplate`)."""
        if self.count < 0:
            yield Broken("replicas", f"is {self.count}: no Job is made of it", "write how many Jobs there are to be")
        written = self.template.spec.parallelism if self.template.spec else None
        parallelism = 1 if written is None else written
        if self.count * parallelism > _MANY:
            yield Broken(
                "replicas", f"{self.count} Jobs with a parallelism of {parallelism} are more than {_MANY} pods"
            )


class Network(Model):
    """DNS names of the pods: `<jobset>-<job>-<index>-<pod>.<subdomain>`. Immutable.

    Unwritten fields are filled in by JobSet's webhook: host names on, addresses published before pods are ready,
    and the JobSet's name as the subdomain.
    """

    enable_dns_hostnames: Annotated[Bool | None, Field(alias="enableDNSHostnames")] = None
    subdomain: Str | None = None
    publish_not_ready_addresses: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """J2 (webhook): the subdomain is the name of a Service as well."""
        if self.subdomain and (error := naming.dns1035_label_error(self.subdomain)):
            yield Broken("subdomain", error)


class SuccessPolicy(Model):
    """The set succeeds when All, or Any, of the targeted Jobs (default: of all Jobs) complete. Immutable."""

    operator: Literal["All", "Any"]
    target_replicated_jobs: list[Str] | None = None


class FailurePolicyRule(Model):
    """What to do about a failed Job. The first rule that matches holds; without one, the set restarts.

    `on_job_failure_message_patterns` are RE2 expressions; one that does not compile matches nothing. An unwritten
    `name` becomes `failurePolicyRule<index>` in a JobSet, and is refused in a training runtime.
    """

    name: Str | None = None
    action: Literal[
        "FailJobSet",
        "RestartJobSet",
        "RestartJobSetAndIgnoreMaxRestarts",
        "RestartJob",
        "RestartJobAndIgnoreMaxRestarts",
    ]
    on_job_failure_reasons: list[Str] | None = None
    on_job_failure_message_patterns: list[Str] | None = None
    target_replicated_jobs: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """J9 and J10 (webhook): the shape of the name, and known reasons."""
        if self.name and (error := rule_name_error(self.name)):
            yield Broken("name", error)
        for index, reason in enumerate(self.on_job_failure_reasons or []):
            if reason not in FAILURE_REASONS:
                yield Broken(
                    f"onJobFailureReasons[{index}]",
                    f'"{reason}" is not a reason',
                    nearest(reason, FAILURE_REASONS) or f"write one of {', '.join(FAILURE_REASONS)}",
                )


class FailurePolicy(Model):
    """How often the set restarts, and how. Absent: the first failed Job fails the set. Immutable.

    `max_restarts` (default 0) counts restarts of the whole set. BlockingRecreate waits until all old pods are gone.
    InPlaceRestart and the actions RestartJob… need alpha feature gates of JobSet.
    """

    max_restarts: Int32 | None = None
    restart_strategy: Literal["Recreate", "BlockingRecreate", "InPlaceRestart"] | None = None
    rules_: Annotated[list[FailurePolicyRule] | None, Field(alias="rules")] = None

    def rules(self) -> Iterator[Broken]:
        """J9 (webhook): no two rules have one name, the ones that JobSet makes up included."""
        seen: dict[str, int] = {}
        for index, rule in enumerate(self.rules_ or []):
            name = rule.name or f"failurePolicyRule{index}"
            if name in seen:
                yield Broken(
                    f"rules[{index}].name", f'"{name}" is the name of rules[{seen[name]}] as well', "rename one of them"
                )
            seen.setdefault(name, index)


class StartupPolicy(Model):
    """Whether Jobs start all at once or each after the one before it is ready. Immutable."""

    startup_policy_order: Literal["AnyOrder", "InOrder"]


class Coordinator(Model):
    """The pod whose address all Jobs and pods carry as the label and annotation `jobset.sigs.k8s.io/coordinator`."""

    replicated_job: Str
    job_index: Int64 | None = None
    pod_index: Int64 | None = None


class ClaimCondition(Model):
    """A condition of a claim."""

    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    message: Str | None = None
    reason: Str | None = None
    status: Str
    type: Str


class ModifyVolumeStatus(Model):
    """A change of the attributes class that is under way."""

    status: Str
    target_volume_attributes_class_name: Str | None = None


class ClaimStatus(Model):
    """The status of a claim. A template has none; the schema takes one all the same."""

    access_modes: list[Str] | None = None
    allocated_resource_statuses: dict[str, Str] | None = None
    allocated_resources: dict[str, CrdQuantity] | None = None
    capacity: dict[str, CrdQuantity] | None = None
    conditions: Annotated[list[ClaimCondition], keyed_by("type")] | None = None
    current_volume_attributes_class_name: Str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None
    phase: Str | None = None


class VolumeClaimTemplate(Model):
    """A claim called `<name>-<jobset>`, shared by all Jobs that mount a volume called `<name>`."""

    api_version: Str | None = None
    kind: Str | None = None
    metadata: TemplateMeta | None = None
    spec: PersistentVolumeClaimSpec | None = None
    status: ClaimStatus | None = None

    @property
    def name(self) -> str:
        """The name that volume mounts refer to; empty when it is not written."""
        return (self.metadata and self.metadata.name) or ""


class RetentionPolicy(Model):
    """What becomes of the claims when the JobSet is deleted; Delete unless said."""

    when_deleted: Literal["Delete", "Retain"] | None = None


class VolumeClaimPolicy(Model):
    """Claims that JobSet makes, and how long they live."""

    templates: Annotated[list[VolumeClaimTemplate], Field(max_length=50)] | None = None
    retention_policy: RetentionPolicy | None = None


def rule_name_error(name: str) -> str:
    """The name of a failure policy rule: at most 128 characters, a letter first, no hyphens."""
    if len(name) > 128:
        return f"it has {len(name)} characters, {len(name) - 128} more than the 128 allowed"
    if _RULE_NAME.fullmatch(name):
        return ""
    return f'"{name}" is not a rule name: a letter, then letters, digits, "_", "," and ":", the last no "," or ":"'
