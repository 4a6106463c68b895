"""When a batch Job counts a pod failure, gives up, or is done early.

Rules: kubernetes v1.36, `pkg/apis/batch/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import Int32, LabelKey, Str

SUCCEEDED_INDEXES_MAX = 64 * 1024


class PodFailurePolicyOnExitCodesRequirement(Model):
    """Exit codes of one container (or of all but the init containers): matched by a list, at most 255 codes."""

    container_name: Str | None = None
    operator: Literal["In", "NotIn"]
    values: Annotated[list[Int32], Field(min_length=1, max_length=255)]

    def rules(self) -> Iterator[Broken]:
        """`validatePodFailurePolicyRuleOnExitCodes`."""
        if len(set(self.values)) < len(self.values):
            yield Broken("values", "an exit code is listed twice", "name each exit code once")
        if self.values != sorted(self.values):
            yield Broken("values", "the exit codes are out of order", f"write {sorted(set(self.values))}")
        if self.operator == "In" and 0 in self.values:
            yield Broken("values", "0 is success and cannot be a failure", 'leave 0 out, or use the operator "NotIn"')


class PodFailurePolicyOnPodConditionsPattern(Model):
    """A pod condition, such as `DisruptionTarget`. `status` defaults to True."""

    status: Literal["True", "False", "Unknown"] | None = None
    type: LabelKey


class PodFailurePolicyRule(Model):
    """What to do about one kind of pod failure: matched by exit codes or by pod conditions."""

    action: Literal["Count", "FailIndex", "FailJob", "Ignore"]
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: Annotated[list[PodFailurePolicyOnPodConditionsPattern], Field(max_length=20)] | None = None

    def rules(self) -> Iterator[Broken]:
        """`validatePodFailurePolicyRule`; an empty list of conditions counts as none."""
        if self.on_exit_codes is not None and self.on_pod_conditions:
            yield Broken("", "onExitCodes and onPodConditions exclude each other", "write two rules")
        if self.on_exit_codes is None and not self.on_pod_conditions:
            yield Broken("", "the rule matches nothing", "add onExitCodes or onPodConditions")


class PodFailurePolicy(Model):
    """Pod failures by cause; the first matching rule decides, others count towards backoffLimit. At most 20 rules."""

    rules_: Annotated[list[PodFailurePolicyRule], Field(max_length=20, alias="rules")]


class SuccessPolicyRule(Model):
    """The Job is done when these indexes, or this many of them, have succeeded."""

    succeeded_count: Annotated[Int32, Field(ge=0)] | None = None
    succeeded_indexes: Annotated[Str, Field(max_length=SUCCEEDED_INDEXES_MAX)] | None = None

    def rules(self) -> Iterator[Broken]:
        """`validateSuccessPolicyRule`, the part that needs no completions."""
        if self.succeeded_count is None and self.succeeded_indexes is None:
            yield Broken("", "the rule asks for nothing", "add succeededIndexes or succeededCount")
        if self.succeeded_indexes is not None:
            total, error = count_indexes(self.succeeded_indexes)
            if error:
                yield Broken("succeededIndexes", error, 'write rising indexes and ranges, such as "0,2-5"')
            elif self.succeeded_count is not None and self.succeeded_count > total:
                yield Broken(
                    "succeededCount", f"is {self.succeeded_count}, but succeededIndexes names only {total} indexes"
                )


class SuccessPolicy(Model):
    """Early success of an Indexed Job: one fulfilled rule is enough, the other pods are then stopped."""

    rules_: Annotated[list[SuccessPolicyRule], Field(min_length=1, max_length=20, alias="rules")]


def count_indexes(text: str, completions: int | None = None) -> tuple[int, str]:
    """How many indexes `"0,2-5"` names, and what is wrong with it (an empty string when nothing is).

    With `completions`, an index beyond the last is wrong too. Rule: `validateIndexesFormat`; the empty text names none.
    """
    total, last = 0, -1
    for part in text.split(",") if text else []:
        ends = part.split("-")
        if len(ends) > 2 or not all(end.isascii() and end.isdigit() for end in ends):
            return 0, f'"{part}" is neither an index nor a range'
        first, final = int(ends[0]), int(ends[-1])
        if first <= last or (len(ends) == 2 and final <= first):
            return 0, f'"{part}" is out of order'
        if completions is not None and final >= completions:
            return 0, f"index {final} does not exist: the last of {completions} completions is {completions - 1}"
        total, last = total + final - first + 1, final
    return total, ""
