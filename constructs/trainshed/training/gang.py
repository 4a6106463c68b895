"""Restarting a gang: all ranks leave together and come back together from the last checkpoint.

One replicated Job whose pods are never restarted in place; its first failure fails the Job, and the JobSet recreates it
whole once every old pod is gone. A disruption (preemption, drain, node loss) takes the same way without counting
against the retries (JobSet v0.12.0, `pkg/controllers/failure_policy.go`; jobset#574 for podReplacementPolicy).
"""

from __future__ import annotations

from trainshed.api.batch import JobSpec, JobTemplateSpec
from trainshed.api.core.pod import PodTemplateSpec
from trainshed.api.job_policies import (
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from trainshed.api.jobset_parts import FailurePolicy, FailurePolicyRule
from trainshed.api.meta import TemplateMeta

_DISRUPTED = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")


def gang_failure_policy(retries: int, *, deadline: bool = False) -> FailurePolicy:
    """The JobSet's side: `retries` restarts after failures of its own, any number after disruptions, and none once the
    Job's own `deadline` is over, which would start again with each restart."""
    disruption = FailurePolicyRule(
        name="disruption",
        action="RestartJobSetAndIgnoreMaxRestarts",
        on_job_failure_reasons=["PodFailurePolicy"],
    )
    late = FailurePolicyRule(name="deadline", action="FailJobSet", on_job_failure_reasons=["DeadlineExceeded"])
    rules = [disruption, late] if deadline else [disruption]
    return FailurePolicy(max_restarts=retries, restart_strategy="BlockingRecreate", rules_=rules)


def gang_job(template: PodTemplateSpec, nodes: int | None, labels: dict[str, str] | None = None) -> JobTemplateSpec:
    """The Job's side: fail at the first failed pod. `nodes` None leaves the count to Trainer."""
    return JobTemplateSpec(
        metadata=TemplateMeta(labels=labels) if labels else None,
        spec=JobSpec(
            backoff_limit=0,
            completion_mode="Indexed" if nodes else None,
            completions=nodes,
            parallelism=nodes,
            pod_failure_policy=PodFailurePolicy(rules_=[disruption_rule("FailJob")]),
            pod_replacement_policy="Failed",
            template=template,
        ),
    )


def disruption_rule(action: str) -> PodFailurePolicyRule:
    """What a Job does with a pod that was evicted, preempted or lost its node."""
    return PodFailurePolicyRule.model_validate({"action": action, "onPodConditions": [_DISRUPTED]})
