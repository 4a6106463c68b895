"""Where pods may run: node affinity, pod affinity, tolerations, topology spread.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.selectors import LabelSelector
from trainshed.api.types import DnsLabel, Int32, Int64, LabelKey, Str

Weight = Annotated[Int32, Field(ge=1, le=100)]
_NO_VALUES = ("Exists", "DoesNotExist")


class NodeSelectorRequirement(Model):
    """One condition on one label (or field) of a node. Gt and Lt compare with one integer."""

    key: Str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateNodeSelectorRequirement: values by operator."""
        count = len(self.values or [])
        if self.operator in ("In", "NotIn") and not count:
            yield Broken("values", f"is missing, and operator {self.operator} needs at least one value", "add values")
        if self.operator in _NO_VALUES and count:
            yield Broken("values", f"operator {self.operator} takes no values", "remove values, or write operator: In")
        if self.operator in ("Gt", "Lt") and count != 1:
            yield Broken("values", f"operator {self.operator} needs exactly one value, and here are {count}")


class NodeSelectorTerm(Model):
    """All conditions hold together. A term without any condition matches no node."""

    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateNodeSelectorTerm: keys are label keys; the only field is metadata.name, with one value."""
        for index, one in enumerate(self.match_expressions or []):
            if error := naming.label_key_error(one.key):
                yield Broken(f"matchExpressions[{index}].key", error)
        for index, one in enumerate(self.match_fields or []):
            if one.key != "metadata.name":
                yield Broken(f"matchFields[{index}].key", f'"{one.key}" is not a field of nodes', "use metadata.name")
            if one.operator not in ("In", "NotIn") or len(one.values or []) != 1:
                yield Broken(f"matchFields[{index}]", "a field is compared by In or NotIn with exactly one value")


class NodeSelector(Model):
    """One of the terms must hold."""

    node_selector_terms: Annotated[list[NodeSelectorTerm], Field(min_length=1)]

    def rules(self) -> Iterator[Broken]:
        """validateNodeAffinity: values of required terms are label values."""
        for at, term in enumerate(self.node_selector_terms):
            for index, one in enumerate(term.match_expressions or []):
                for value in one.values or []:
                    if error := naming.label_value_error(value):
                        yield Broken(f"nodeSelectorTerms[{at}].matchExpressions[{index}].values", error)


class PreferredSchedulingTerm(Model):
    """Nodes that match get `weight` points."""

    preference: NodeSelectorTerm
    weight: Weight


class NodeAffinity(Model):
    """Conditions on the nodes."""

    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(Model):
    """Pods selected by labels, in the same topology domain (the same value of the node label `topology_key`)."""

    label_selector: LabelSelector | None = None
    match_label_keys: list[LabelKey] | None = None
    mismatch_label_keys: list[LabelKey] | None = None
    namespace_selector: LabelSelector | None = None
    namespaces: list[DnsLabel] | None = None
    topology_key: LabelKey

    def rules(self) -> Iterator[Broken]:
        """validateMatchLabelKeysAndMismatchLabelKeys."""
        keys, others = self.match_label_keys or [], self.mismatch_label_keys or []
        for field, listed in (("matchLabelKeys", keys), ("mismatchLabelKeys", others)):
            if listed and self.label_selector is None:
                yield Broken(field, "needs a labelSelector beside it", "add labelSelector")
        for key in keys:
            if key in others:
                yield Broken("matchLabelKeys", f'"{key}" is in mismatchLabelKeys as well', "keep one of them")


class WeightedPodAffinityTerm(Model):
    """Nodes whose domain holds such pods get `weight` points."""

    pod_affinity_term: PodAffinityTerm
    weight: Weight


class PodAffinity(Model):
    """Near these pods."""

    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class PodAntiAffinity(Model):
    """Away from these pods."""

    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class Affinity(Model):
    """Conditions on nodes and on the pods that run there."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(Model):
    """Lets a pod onto nodes with a matching taint. Without `effect` every effect, without `key` every taint."""

    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    key: Str | None = None
    operator: Literal["", "Exists", "Equal", "Lt", "Gt"] | None = None
    toleration_seconds: Int64 | None = None
    value: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateTolerations. Lt and Gt: gate TaintTolerationComparisonOperators (Kubernetes 1.35)."""
        if self.key and (error := naming.label_key_error(self.key)):
            yield Broken("key", error)
        if not self.key and self.operator != "Exists":
            yield Broken("operator", "a toleration without a key tolerates every taint", "write operator: Exists")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            yield Broken("effect", "tolerationSeconds needs the effect NoExecute", "write effect: NoExecute")
        if self.operator == "Exists" and self.value:
            yield Broken("value", "operator Exists takes no value", "remove the value, or write operator: Equal")
        if self.operator in ("Lt", "Gt"):
            if not (self.value or "").removeprefix("-").isdigit():
                yield Broken("value", f"operator {self.operator} compares integers", "write a whole number in quotes")
        elif self.operator != "Exists" and (error := naming.label_value_error(self.value or "")):
            yield Broken("value", error)


class TopologySpreadConstraint(Model):
    """Spreads pods over the values of a node label, so that no two differ by more than `max_skew` pods."""

    label_selector: LabelSelector | None = None
    match_label_keys: list[LabelKey] | None = None
    max_skew: Annotated[Int32, Field(ge=1)]
    min_domains: Annotated[Int32, Field(ge=1)] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    topology_key: LabelKey
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]

    def rules(self) -> Iterator[Broken]:
        """validateMinDomains, validateMatchLabelKeysInTopologySpread."""
        if self.min_domains is not None and self.when_unsatisfiable != "DoNotSchedule":
            yield Broken("minDomains", "needs whenUnsatisfiable: DoNotSchedule", "remove minDomains")
        if self.match_label_keys and self.label_selector is None:
            yield Broken("matchLabelKeys", "needs a labelSelector beside it", "add labelSelector")
