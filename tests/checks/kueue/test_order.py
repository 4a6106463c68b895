"""The first flavor that takes a workload gets it: what it selects of a later one, and what needs no devices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.kueue.worlds import (
    KINDS,
    Manifest,
    cluster_queue,
    flavor,
    fleet,
    job,
    local_queue,
    metadata,
    node,
    template,
)
from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.finding import Finding

GPU = "nvidia.com/gpu"
POOL, ZONE = "example.com/pool", "example.com/zone"
SELECTED = "kueue-selects-later-flavor"
NONE = "kueue-devices-for-none"


def told(code: str, *objects: Manifest, **target: str) -> list[Finding]:
    all_rules.load()
    rule = RULES[code]
    return [issue.finding(rule) for issue in rule.function(fleet(*objects, **target))]


def zones(general: dict[str, str], pinned: dict[str, str], **spec: Any) -> list[Manifest]:
    """A flavor `general` before a flavor `pinned`, each with 16 GPUs."""
    quota = {GPU: "16", "cpu": "64"}
    queue = cluster_queue("gpu", {"general": quota, "pinned": quota}, **spec)
    return [flavor("general", nodeLabels=general), flavor("pinned", nodeLabels=pinned), queue, local_queue()]


APART = zones({POOL: "general"}, {POOL: "pinned", ZONE: "z1"})


def affinity(*terms: list[Manifest]) -> Manifest:
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions} for expressions in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def in_zone(value: str) -> Manifest:
    return {"key": ZONE, "operator": "In", "values": [value]}


class TestSelection:
    @pytest.mark.parametrize("kind", KINDS)
    def test_of_a_label_that_only_a_later_flavor_has(self, kind: str) -> None:
        run = KINDS[kind](template(nodeSelector={ZONE: "z1"}), metadata())
        found = told(SELECTED, *APART, run)
        assert [one.severity for one in found] == ["warning"] * len(found)
        assert f'the pods get {POOL}="general" as well and stay Pending, unless nodes have both' in found[0].message
        assert found[0].fix == f'select {POOL}="pinned", or declare {ZONE} on flavor general too'

    def test_by_required_affinity(self) -> None:
        (found,) = told(SELECTED, *APART, job(template(affinity=affinity([in_zone("z1")])), metadata()))
        assert found.path.endswith("nodeSelectorTerms[0].matchExpressions[0]")
        either = affinity([in_zone("z1")], [{"key": POOL, "operator": "In", "values": ["general"]}])
        assert told(SELECTED, *APART, job(template(affinity=either), metadata())) == []

    @pytest.mark.parametrize(
        "selector",
        [{ZONE: "z2"}, {ZONE: "z1", POOL: "pinned"}, {"kubernetes.io/arch": "amd64"}, {POOL: "general"}],
    )
    def test_of_what_no_later_flavor_or_the_earlier_one_declares(self, selector: dict[str, str]) -> None:
        assert told(SELECTED, *APART, job(template(nodeSelector=selector), metadata())) == []

    def test_of_nodes_that_the_earlier_flavor_means_as_well(self) -> None:
        """All labels of the first are the second's too: the pods run, on the wrong quota."""
        world = zones({}, {ZONE: "z1"})
        (found,) = told(SELECTED, *world, job(template(nodeSelector={ZONE: "z1"}), metadata()))
        assert found.severity == "info"
        assert "holds quota of general while it runs on nodes of pinned" in found.message

    def test_is_judged_by_the_nodes_of_the_input(self) -> None:
        run = job(template(nodeSelector={ZONE: "z1"}), metadata())
        both = node("a", {POOL: "general", ZONE: "z1"})
        assert told(SELECTED, *APART, run, both) == []
        (found,) = told(SELECTED, *APART, run, node("a", {POOL: "general", ZONE: "z2"}))
        assert "which no Node in the input has" in found.message

    def test_of_a_release_that_refuses_the_earlier_flavor(self) -> None:
        run = job(template(nodeSelector={ZONE: "z1"}), metadata())
        assert told(SELECTED, *APART, run, kueue="0.18.1") == []
        assert len(told(SELECTED, *APART, run, kueue="0.18.2")) == 1

    def test_is_met_where_the_first_flavor_does_not_take_it(self) -> None:
        run = job(template({"cpu": "1", GPU: "8"}, nodeSelector={ZONE: "z1"}), metadata(), parallelism=2)
        small = zones({POOL: "general"}, {POOL: "pinned", ZONE: "z1"})
        small[2] = cluster_queue("gpu", {"general": {GPU: "8", "cpu": "64"}, "pinned": {GPU: "16", "cpu": "64"}})
        assert told(SELECTED, *small, run) == []

    def test_is_met_where_the_first_flavor_would_have_to_borrow(self) -> None:
        quotas = {"general": {GPU: {"nominalQuota": "0"}}, "pinned": {GPU: {"nominalQuota": "16"}}}
        lender = cluster_queue("other", {"general": {GPU: "16"}}, cohortName="all")
        run = job(template({GPU: "8"}, nodeSelector={ZONE: "z1"}), metadata())
        for when, number in (("TryNextFlavor", 0), ("MayStopSearch", 1)):
            queue = cluster_queue("gpu", quotas, cohortName="all", flavorFungibility={"whenCanBorrow": when})
            assert len(told(SELECTED, *APART[:2], queue, lender, local_queue(), run)) == number


class TestWithoutDevices:
    QUOTAS: tuple[tuple[str, dict[str, Any]], ...] = (
        ("h100", {"cpu": "64", GPU: "16"}),
        ("cpu", {"cpu": "64", GPU: "0"}),
    )

    def world(self, *quotas: tuple[str, dict[str, Any]]) -> list[Manifest]:
        queue = cluster_queue("gpu", dict(quotas or self.QUOTAS))
        return [flavor("h100"), flavor("cpu"), queue, local_queue()]

    def test_goes_to_device_nodes_that_come_first(self) -> None:
        (found,) = told(NONE, *self.world(), *[job(template({"cpu": "4"}), metadata() | {"name": n}) for n in "ab"])
        assert found.object is not None
        assert (found.object.kind, found.severity, found.fix) == ("ClusterQueue", "info", "list flavor cpu first")
        assert "Job aurora/a asks for no devices and goes to flavor h100 (up to 16 nvidia.com/gpu)" in found.message

    @pytest.mark.parametrize(
        "run",
        [
            job(template({"cpu": "4", GPU: "1"}), metadata()),
            job(template({"cpu": "4"}, nodeSelector={"example.com/gpu": "h100"}), metadata()),
            job(template({"cpu": "4"}, nodeSelector={"example.com/gpu": "cpu"}), metadata()),
            job(template({"cpu": "4"}, resourceClaims=[{"name": "gpu", "resourceClaimName": "a"}]), metadata()),
        ],
    )
    def test_that_wants_devices_or_selects_nodes_is_left_alone(self, run: Manifest) -> None:
        assert told(NONE, *self.world(), run) == []

    def test_goes_to_nodes_without_devices_that_come_first(self) -> None:
        assert told(NONE, *self.world(*reversed(self.QUOTAS)), job(template({"cpu": "4"}), metadata())) == []

    def test_has_no_other_place(self) -> None:
        run = job(template({"cpu": "4"}), metadata())
        small = ("h100", {"cpu": "64", GPU: "16"}), ("cpu", {"cpu": "2", GPU: "0"})
        assert told(NONE, *self.world(*small), run) == []
        other = ("h100", {"cpu": "64", GPU: "16"}), ("cpu", {"cpu": "64", GPU: "8"})
        assert told(NONE, *self.world(*other), run) == []
