"""meta/v1 label selectors, shared by every kind that selects by label.

Rules: k8s.io/apimachinery v0.36, `pkg/apis/meta/v1/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import Literal

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.types import LabelKey, LabelValue, Str


class LabelSelectorRequirement(Model):
    """One condition on one label: In and NotIn compare with `values`, Exists and DoesNotExist take none."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateLabelSelectorRequirement: values by operator, each value a label value."""
        if self.operator in ("In", "NotIn"):
            if not self.values:
                yield Broken(
                    "values", f"is missing, and operator {self.operator} needs at least one value", "add values"
                )
        elif self.values:
            yield Broken("values", f"operator {self.operator} takes no values", "remove values, or write operator: In")
        for index, value in enumerate(self.values or []):
            if error := naming.label_value_error(value):
                yield Broken(f"values[{index}]", error)


class LabelSelector(Model):
    """All of `match_labels` and all of `match_expressions` must hold. Empty selects everything, absent nothing."""

    match_expressions: list[LabelSelectorRequirement] | None = None
    match_labels: dict[LabelKey, LabelValue] | None = None
