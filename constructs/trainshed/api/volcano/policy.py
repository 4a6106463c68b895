"""What a Volcano Job does when something happens to its pods (v1.15.1).

Rules: `pkg/webhooks/admission/jobs/validate/util.go`, validatePolicies.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from trainshed.api.base import Broken, Model
from trainshed.api.types import Int32, Str
from trainshed.faults import nearest

Event = Literal[
    "*",
    "PodPending",
    "PodRunning",
    "PodFailed",
    "PodEvicted",
    "Unknown",
    "TaskCompleted",
    "OutOfSync",
    "CommandIssued",
    "JobUpdated",
    "TaskFailed",
]

ANY: Final = "*"
USER_EVENTS: Final = (
    ANY,
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
)
USER_ACTIONS: Final = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)


class LifecyclePolicy(Model):
    """An action for some events or for one exit code. `timeout` (a Go duration) delays it; PodPending needs one."""

    action: Str | None = None
    event: Event | None = None
    events: list[Event] | None = None
    exit_code: Int32 | None = None
    timeout: Str | None = None

    def all_events(self) -> tuple[str, ...]:
        """`events` and `event` together, each once."""
        return tuple(dict.fromkeys([*(self.events or []), *([self.event] if self.event else [])]))

    def rules(self) -> Iterator[Broken]:
        """Events or an exit code, and only what the webhook lets a person write.

        The webhook looks at the action of event policies only. An unknown one beside an exit code is accepted there
        and never does anything, so it is refused here as well.
        """
        events = self.all_events()
        if events and self.exit_code is not None:
            yield Broken("exitCode", "is set beside an event", "write two policies")
        if not events and self.exit_code is None:
            yield Broken("event", "is missing, and so is exitCode", "add one of them")
        for event in events:
            if event not in USER_EVENTS:
                yield Broken("event", f'"{event}" is for Volcano\'s own use', f"write one of {', '.join(USER_EVENTS)}")
        if self.exit_code == 0:
            yield Broken(
                "exitCode", "is 0, which is no failure", "write the code of a failure, or event: TaskCompleted"
            )
        if not self.action:
            yield Broken("action", "is missing", f"write one of {', '.join(USER_ACTIONS)}")
        elif self.action not in USER_ACTIONS:
            yield Broken(
                "action",
                f'"{self.action}" is not an action',
                nearest(self.action, USER_ACTIONS) or f"write one of {', '.join(USER_ACTIONS)}",
            )


def policy_rules(policies: Sequence[LifecyclePolicy], path: str = "policies") -> Iterator[Broken]:
    """No event and no exit code in two policies of a list, and `*` beside no other event."""
    seen_events: dict[str, int] = {}
    seen_codes: dict[int, int] = {}
    for index, policy in enumerate(policies):
        for event in policy.all_events():
            if event in seen_events:
                yield Broken(
                    f"{path}[{index}].event",
                    f'"{event}" is in {path}[{seen_events[event]}] already',
                    "keep one action for each event",
                )
            seen_events.setdefault(event, index)
        if policy.exit_code is not None:
            if policy.exit_code in seen_codes:
                yield Broken(
                    f"{path}[{index}].exitCode",
                    f"{policy.exit_code} is in {path}[{seen_codes[policy.exit_code]}] already",
                    "keep one action for each exit code",
                )
            seen_codes.setdefault(policy.exit_code, index)
    if ANY in seen_events and len(seen_events) > 1:
        others = ", ".join(event for event in seen_events if event != ANY)
        yield Broken(
            f"{path}[{seen_events[ANY]}].event", f'"*" takes every event, and {others} stands beside it', "remove one"
        )
