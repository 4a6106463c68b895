"""Restarting a gang: all ranks leave together and come back together from the last checkpoint.

One replicated Job whose pods are never restarted in place; its first failure fails the Job, and the JobSet recreates it
whole once every old pod is gone. A disruption (preemption, drain, node loss) takes the same way without counting
against the retries (JobSet v0.12.0, `pkg/controllers/failure_policy.go`; jobset#574 for podReplacementPolicy). Behind
the trainer's launcher the exit code decides as well: a preempted peer does not count, a refused config is final.
"""

from __future__ import annotations

from typing import Final

from trainshed.api.batch import JobSpec, JobTemplateSpec
from trainshed.api.core.pod import PodTemplateSpec
from trainshed.api.job_policies import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from trainshed.api.jobset_parts import FailurePolicy, FailurePolicyRule
from trainshed.api.meta import TemplateMeta
from trainshed.training import exits
from trainshed.training.containers import NODE

_DISRUPTED = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")


#: Rules of the Job by index: a disrupted pod, then the launcher's exit codes in groups, which the JobSet tells apart by
#: the index in the Job's message ("… matching FailJob rule at index 2": kubernetes v1.36, `pod_failure_policy.go`).
_GROUPS: Final = {"preempted": exits.PREEMPTED, "fatal": exits.FATAL, "unhealthy": exits.UNHEALTHY}


def gang_failure_policy(retries: int, *, deadline: bool = False, by_code: bool = False) -> FailurePolicy:
    """The JobSet's side: `retries` restarts after failures of its own, any number after disruptions, and none once the
    Job's own `deadline` is over, which would start again with each restart. `by_code`: exit codes are told apart, and
    what no rule names restarts and counts."""
    rules = [_jobset_rule("disruption", "RestartJobSetAndIgnoreMaxRestarts")]
    if by_code:
        rules = [
            _jobset_rule("fatal", "FailJobSet", _place("fatal")),
            _jobset_rule("unhealthy", "RestartJobSet", _place("unhealthy")),
            _jobset_rule("disruption", "RestartJobSetAndIgnoreMaxRestarts", 0, _place("preempted")),
        ]
    if deadline:
        rules.append(
            FailurePolicyRule(name="deadline", action="FailJobSet", on_job_failure_reasons=["DeadlineExceeded"])
        )
    return FailurePolicy(max_restarts=retries, restart_strategy="BlockingRecreate", rules_=rules)


def gang_job(
    template: PodTemplateSpec, nodes: int | None, labels: dict[str, str] | None = None, *, by_code: bool = False
) -> JobTemplateSpec:
    """The Job's side: fail at the first failed pod. `nodes` None leaves the count to Trainer; `by_code` as above."""
    by_exit = [exit_rule("FailJob", group) for group in _GROUPS.values()] if by_code else []
    return JobTemplateSpec(
        metadata=TemplateMeta(labels=labels) if labels else None,
        spec=JobSpec(
            backoff_limit=0,
            completion_mode="Indexed" if nodes else None,
            completions=nodes,
            parallelism=nodes,
            pod_failure_policy=PodFailurePolicy(rules_=[disruption_rule("FailJob"), *by_exit]),
            pod_replacement_policy="Failed",
            template=template,
        ),
    )


def disruption_rule(action: str) -> PodFailurePolicyRule:
    """What a Job does with a pod that was evicted, preempted or lost its node."""
    return PodFailurePolicyRule.model_validate({"action": action, "onPodConditions": [_DISRUPTED]})


def exit_rule(action: str, codes: list[int]) -> PodFailurePolicyRule:
    """What a Job does with a pod whose training container left with one of `codes`."""
    wanted = PodFailurePolicyOnExitCodesRequirement(container_name=NODE, operator="In", values=codes)
    return PodFailurePolicyRule.model_validate({"action": action, "onExitCodes": wanted})


def _place(group: str) -> int:
    return 1 + list(_GROUPS).index(group)


def _jobset_rule(name: str, action: str, *places: int) -> FailurePolicyRule:
    """A rule about Jobs that their pod failure policy failed; with `places`, by those rules of it."""
    patterns = [f"matching FailJob rule at index {place}$" for place in places] or None
    return FailurePolicyRule.model_validate(
        {
            "name": name,
            "action": action,
            "onJobFailureReasons": ["PodFailurePolicy"],
            "onJobFailureMessagePatterns": patterns,
        }
    )
