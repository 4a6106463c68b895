"""Quotas by resource and flavor, as ClusterQueues and Cohorts write them.

Shapes and bounds: Kueue v0.19.2, CRDs of ClusterQueue and Cohort, v1beta2. Rules beyond them: `pkg/webhooks/` of the
same tag (`clusterqueue_webhook.go`, `cohort_webhook.go`).
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import CrdQuantity, DnsSubdomain, LabelKey, Str, keyed_by
from trainshed.quantity import Quantity

_ZERO: Final = Quantity(0)


class ResourceQuota(Model):
    """How much of one resource of one flavor is owned, may be borrowed and may be lent.

    `borrowing_limit` absent: borrow whatever the cohort has. `lending_limit` absent: lend everything unused.
    """

    name: Str
    nominal_quota: CrdQuantity
    borrowing_limit: CrdQuantity | None = None
    lending_limit: CrdQuantity | None = None

    def rules(self) -> Iterator[Broken]:
        """No negative amounts (validateResourceQuantity)."""
        amounts = (
            ("nominalQuota", self.nominal_quota),
            ("borrowingLimit", self.borrowing_limit),
            ("lendingLimit", self.lending_limit),
        )
        for field, amount in amounts:
            if amount is not None and amount < _ZERO:
                yield Broken(field, f"is {amount}, below 0", "write 0 or more")


class FlavorQuotas(Model):
    """The quotas of one flavor: one entry for each covered resource of its group, in the group's order."""

    name: DnsSubdomain
    resources: Annotated[list[ResourceQuota], Field(min_length=1, max_length=64), keyed_by("name")]


class ResourceGroup(Model):
    """Resources that are handed out together, and the flavors that offer them, tried in this order."""

    covered_resources: Annotated[list[LabelKey], Field(min_length=1, max_length=64)]
    flavors: Annotated[list[FlavorQuotas], Field(min_length=1, max_length=64), keyed_by("name")]

    def rules(self) -> Iterator[Broken]:
        """Each flavor lists the covered resources (CRD rule on resourceGroups[]), in their order (webhook)."""
        for index, flavor in enumerate(self.flavors):
            path = f"flavors[{index}].resources"
            named = [quota.name for quota in flavor.resources]
            if len(named) != len(self.covered_resources):
                yield Broken(path, *_wrong_number(named, self.covered_resources))
                continue
            if named != self.covered_resources and sorted(named) == sorted(self.covered_resources):
                told = (
                    f"are in the order {', '.join(named)}, but coveredResources are {', '.join(self.covered_resources)}"
                )
                yield Broken(path, told, "list the resources in the order of coveredResources")
                continue
            for place, (name, covered) in enumerate(zip(named, self.covered_resources, strict=True)):
                if name != covered:
                    told = f'is "{name}", but coveredResources[{place}] is "{covered}"'
                    yield Broken(f"{path}[{place}].name", told, f'write "{covered}"')


def _wrong_number(named: Sequence[str], covered: Sequence[str]) -> tuple[str, str]:
    missing = [name for name in dict.fromkeys(covered) if name not in named]
    surplus = [name for name in named if name not in covered]
    steps = [f"add {_quoted(missing)}"] if missing else []
    steps += [f"remove {_quoted(surplus)}"] if surplus else []
    message = f"has {len(named)} of the {len(covered)} resources in coveredResources"
    if len(named) > len(covered):
        message = f"has {len(named)} resources, but coveredResources has {len(covered)}"
    return message, " and ".join(steps)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


ResourceGroups = Annotated[list[ResourceGroup], Field(max_length=16)]


def quotas(groups: Sequence[ResourceGroup]) -> Iterator[tuple[str, FlavorQuotas, ResourceQuota]]:
    """Every quota with its path below `spec` and its flavor."""
    for group_index, group in enumerate(groups):
        for flavor_index, flavor in enumerate(group.flavors):
            for quota_index, quota in enumerate(flavor.resources):
                path = f"resourceGroups[{group_index}].flavors[{flavor_index}].resources[{quota_index}]"
                yield path, flavor, quota


def flavor_names(groups: Sequence[ResourceGroup]) -> list[str]:
    """The names of all flavors, in order, without repeats."""
    return list(dict.fromkeys(flavor.name for group in groups for flavor in group.flavors))


def repeated_rules(groups: Sequence[ResourceGroup]) -> Iterator[Broken]:
    """A resource and a flavor stand in one group only, and a resource only once in it (validateResourceGroups)."""
    resource_places: dict[str, str] = {}
    flavor_places: dict[str, str] = {}
    for group_index, group in enumerate(groups):
        group_path = f"resourceGroups[{group_index}]"
        for index, name in enumerate(group.covered_resources):
            path = f"{group_path}.coveredResources[{index}]"
            if name in resource_places:
                yield Broken(
                    path, f'"{name}" is listed already in {resource_places[name]}', "cover each resource in one place"
                )
            resource_places.setdefault(name, path)
        for index, flavor in enumerate(group.flavors):
            path = f"{group_path}.flavors[{index}]"
            if flavor.name in flavor_places:
                yield Broken(
                    f"{path}.name",
                    f'flavor "{flavor.name}" is used already in {flavor_places[flavor.name]}',
                    "list each flavor in one resource group only",
                )
            flavor_places.setdefault(flavor.name, path)


def limits_without_parent_rules(groups: Sequence[ResourceGroup], what: str, parent_field: str) -> Iterator[Broken]:
    """No borrowing or lending limit where there is nobody to borrow from (CRD rule on spec; validateLimit)."""
    for path, _, quota in quotas(groups):
        limits = (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit))
        for field, limit in limits:
            if limit is not None:
                yield Broken(f"{path}.{field}", f"is set, but {what}", f"set {parent_field} or leave {field} out")


def size_rules(groups: Sequence[ResourceGroup]) -> Iterator[Broken]:
    """At most 256 flavors, 256 covered resources, and 512 quotas in a group (ClusterQueue webhook)."""
    flavors = sum(len(group.flavors) for group in groups)
    if flavors > 256:
        yield Broken("resourceGroups", f"has {flavors} flavors in all, {flavors - 256} more than the 256 allowed")
    covered = sum(len(group.covered_resources) for group in groups)
    if covered > 256:
        yield Broken(
            "resourceGroups", f"has {covered} covered resources in all, {covered - 256} more than the 256 allowed"
        )
    for index, group in enumerate(groups):
        pairs = sum(len(flavor.resources) for flavor in group.flavors)
        if pairs > 512:
            yield Broken(
                f"resourceGroups[{index}]",
                f"has {pairs} quotas (flavors times resources), {pairs - 512} more than the 512 allowed",
            )
