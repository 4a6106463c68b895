"""LeaderWorkerSet v0.10.0, `leaderworkerset.x-k8s.io/v1`: groups of one leader and its workers.

Rules: the CRD and `pkg/webhooks/leaderworkerset_webhook.go`, create.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.pod import PodTemplateSpec
from trainshed.api.jobset_parts import VolumeClaimTemplate
from trainshed.api.types import Int32, IntOrString, Str

_PERCENT: Final = re.compile(r"([0-9]{1,3})%")
_INT32_MAX: Final = 2**31 - 1


class SubGroupPolicy(Model):
    """Parts of a group that are placed together; `sub_group_size` pods each, the leader with the first or apart."""

    IMMUTABLE: ClassVar[tuple[str, ...]] = ("subGroupPolicyType", "subGroupSize")

    sub_group_policy_type: Literal["LeaderWorker", "LeaderExcluded"] | None = None
    sub_group_size: Annotated[Int32, Field(ge=1)] | None = None


class RetentionPolicy(Model):
    """What becomes of the claims when the set is deleted or gets smaller."""

    when_deleted: Str | None = None
    when_scaled: Str | None = None


class LeaderWorkerTemplate(Model):
    """One group: `size` pods with the leader, 1 by default. Without `leader_template` the leader is like a worker."""

    leader_template: PodTemplateSpec | None = None
    worker_template: PodTemplateSpec
    size: Annotated[Int32, Field(ge=1)] | None = None
    restart_policy: Literal["Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"] | None = None
    sub_group_policy: SubGroupPolicy | None = None
    volume_claim_templates: list[VolumeClaimTemplate] | None = None
    persistent_volume_claim_retention_policy: RetentionPolicy | None = None

    def rules(self) -> Iterator[Broken]:
        """Templates become those of StatefulSets; subgroups divide the group, with or without its leader."""
        for field, template in (("leaderTemplate", self.leader_template), ("workerTemplate", self.worker_template)):
            policy = template.spec.restart_policy if template and template.spec else None
            if policy not in (None, "", "Always"):
                message = f'is "{policy}"; the pods are a StatefulSet\'s, which takes only Always'
                yield Broken(f"{field}.spec.restartPolicy", message, "write Always, or leave it out")
        if self.sub_group_policy is not None:
            yield from self._sub_group_rules(self.sub_group_policy)

    def _sub_group_rules(self, policy: SubGroupPolicy) -> Iterator[Broken]:
        size, part = self.size or 1, policy.sub_group_size
        path = "subGroupPolicy.subGroupSize"
        if part is None:
            yield Broken(path, "is missing, and the webhook cannot do without", "add it")
        elif part > size:
            yield Broken(path, f"{part} is more than the group's size {size}", f"write {size} or less")
        elif policy.sub_group_policy_type == "LeaderExcluded" and (size - 1) % part:
            yield Broken(path, f"{part} does not divide the {size - 1} workers", f"write a divisor of {size - 1}")
        elif size % part and (size - 1) % part:
            yield Broken(path, f"{part} divides neither size {size} nor {size - 1}", "write a divisor of one of them")


class RollingUpdateConfiguration(Model):
    """How many groups change at once: numbers or percentages. Defaults: partition 0, maxUnavailable 1, maxSurge 0."""

    partition: Annotated[Int32, Field(ge=0)] | None = None
    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None

    def rules(self) -> Iterator[Broken]:
        """Numbers from 0, percentages from 0 % to 100 %, and not both zero."""
        for field, value in (("maxUnavailable", self.max_unavailable), ("maxSurge", self.max_surge)):
            if isinstance(value, int) and value < 0:
                yield Broken(field, f"{value} is less than 0", "write 0 or more")
            if isinstance(value, str) and (not (match := _PERCENT.fullmatch(value)) or int(match[1]) > 100):
                yield Broken(field, f'"{value}" is neither a number nor a percentage up to 100%', 'write "25%" or 1')
        if self.max_unavailable in (0, "0%") and self.max_surge in (None, 0, "0%"):
            yield Broken("maxUnavailable", "is 0 and so is maxSurge: no group could ever change", "write 1 or more")


class RolloutStrategy(Model):
    """How a change reaches the groups."""

    type: Literal["RollingUpdate"] | None = None
    rolling_update_configuration: RollingUpdateConfiguration | None = None


class NetworkConfig(Model):
    """One headless Service for all groups, or one for each."""

    subdomain_policy: Literal["Shared", "UniquePerReplica"]


class LeaderWorkerSetSpec(Model):
    """`replicas` groups, 1 by default."""

    replicas: Annotated[Int32, Field(ge=0, le=1_000_000)] | None = None
    leader_worker_template: LeaderWorkerTemplate
    rollout_strategy: RolloutStrategy | None = None
    startup_policy: Literal["LeaderCreated", "LeaderReady"] | None = None
    network_config: NetworkConfig | None = None

    def rules(self) -> Iterator[Broken]:
        """All pods together fit into an int32."""
        replicas = 1 if self.replicas is None else self.replicas
        pods = replicas * (self.leader_worker_template.size or 1)
        if pods > _INT32_MAX:
            yield Broken("replicas", f"times size makes {pods:,} pods, more than {_INT32_MAX:,}", "write less")


class LeaderWorkerSet(KubernetesObject):
    """Replicas of a group of pods that start, fail and move together."""

    namespaced: ClassVar[bool] = True
    name_error: ClassVar[Callable[[str], str]] = staticmethod(naming.dns1035_label_error)
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.leaderWorkerTemplate.subGroupPolicy",)

    api_version: Literal["leaderworkerset.x-k8s.io/v1"] = "leaderworkerset.x-k8s.io/v1"
    kind: Literal["LeaderWorkerSet"] = "LeaderWorkerSet"
    spec: LeaderWorkerSetSpec
