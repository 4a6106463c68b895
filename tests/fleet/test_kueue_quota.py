"""The quota tree's numbers: those of Kueue's own tests (v0.19.2, `pkg/cache/scheduler/resource_test.go`) and ours."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.fleet.kueue_quota import Quota, QuotaNode, Usage, counted, shown
from trainshed.quantity import Quantity

KEY = ("default", "nvidia.com/gpu")

Shape = tuple[str, str, int, int | None, int | None]


def tree(*shapes: Shape) -> dict[str, QuotaNode]:
    """Nodes from (name, parent, nominal, borrowingLimit, lendingLimit); a parent stands before its children."""
    nodes: dict[str, QuotaNode] = {}
    for name, parent, nominal, borrowing, lending in shapes:
        node = QuotaNode(name, "Cohort", parent=nodes.get(parent))
        if node.parent is not None:
            node.parent.children.append(node)
        node.quotas[KEY] = Quota(nominal, borrowing, lending)
        nodes[name] = node
    return nodes


ORG: tuple[Shape, ...] = (
    ("org", "", 4, None, None),
    ("res", "org", 0, 6, 8),
    ("prod", "org", 0, None, None),
    ("res-a", "res", 8, None, 8),
    ("res-b", "res", 8, 0, None),
    ("prod-a", "prod", 16, 2, 4),
)


@pytest.mark.parametrize(
    ("shapes", "used", "available", "potential"),
    [
        (
            (("c", "", 10000, None, None), ("cq1", "c", 10000, None, None), ("cq2", "c", 10000, None, 9000)),
            {"cq1": 1000, "cq2": 500},
            {"cq1": 28000, "cq2": 28500},
            {"cq1": 29000, "cq2": 30000},
        ),
        (
            (("c", "", 10, None, None), ("cq1", "c", 10, None, None), ("cq2", "c", 10, 0, 0)),
            {"cq1": 31},
            {"cq1": 0, "cq2": 0},
            {"cq1": 20, "cq2": 10},
        ),
        (
            (
                ("c", "", 10, None, None),
                ("cq1", "c", 10, None, None),
                ("cq2", "c", 10, 2, None),
                ("cq3", "c", 10, None, 5),
            ),
            {"cq1": 20, "cq2": 10, "cq3": 6},
            {"cq1": 4, "cq2": 2, "cq3": 4},
            {"cq1": 35, "cq2": 12, "cq3": 40},
        ),
        (
            (
                ("root", "", 0, None, None),
                ("left", "root", 10, None, None),
                ("right", "root", 10, None, None),
                ("cq1", "left", 10, None, None),
                ("cq2", "right", 10, None, 0),
            ),
            {"cq1": 10, "cq2": 5},
            {"cq1": 20, "cq2": 25},
            {"cq1": 30, "cq2": 40},
        ),
        (
            (
                ("root", "", 0, None, None),
                ("left", "root", 10, 5, None),
                ("right", "root", 10, None, None),
                ("l1", "left", 10, None, None),
                ("l2", "left", 10, 5, None),
                ("r", "right", 10, None, None),
            ),
            {},
            {"l1": 35, "l2": 15, "r": 50},
            {"l1": 35, "l2": 15, "r": 50},
        ),
        (
            ORG,
            {"res-a": 20},
            {"res-a": 2, "res-b": 2, "prod-a": 16},
            {"res-a": 22, "res-b": 8, "prod-a": 18},
        ),
    ],
)
def test_available_and_potential(
    shapes: tuple[Shape, ...], used: dict[str, int], available: dict[str, int], potential: dict[str, int]
) -> None:
    nodes, usage = tree(*shapes), Usage()
    for name, amount in used.items():
        usage.add(nodes[name], KEY, amount)
    assert {name: usage.available(nodes[name], KEY) for name in available} == available
    assert {name: nodes[name].potential(KEY) for name in potential} == potential


def test_subtrees_local_parts_and_shares_of_the_worked_example() -> None:
    nodes, usage = tree(*ORG), Usage()
    assert {name: nodes[name].subtree_quota(KEY) for name in ("org", "res", "prod")} == {
        "org": 16,
        "res": 16,
        "prod": 4,
    }
    assert nodes["res"].local_quota(KEY) == 8
    assert nodes["prod-a"].local_quota(KEY) == 12
    usage.add(nodes["res-a"], KEY, 20)
    assert (usage.of(nodes["res"], KEY), usage.of(nodes["org"], KEY)) == (20, 12)
    assert usage.dominant_share(nodes["res-a"]) == Fraction(12 * 1000, 22)
    assert usage.dominant_share(nodes["res"]) == 250


def test_the_share_of_a_borrower_in_a_flat_cohort() -> None:
    nodes, usage = tree(("c", "", 0, None, None), ("a", "c", 5, None, None), ("b", "c", 5, None, None)), Usage()
    usage.add(nodes["a"], KEY, 7)
    assert usage.dominant_share(nodes["a"]) == 200
    nodes["a"].weight = Fraction(0)
    assert usage.dominant_share(nodes["a"]) is None
    assert usage.dominant_share(nodes["c"]) == 0


@st.composite
def trees(draw: st.DrawFn) -> dict[str, QuotaNode]:
    limit = st.none() | st.integers(0, 40)
    shapes: list[Shape] = [("n0", "", draw(st.integers(0, 40)), None, None)]
    for index in range(1, draw(st.integers(2, 8))):
        parent = f"n{draw(st.integers(0, index - 1))}"
        shapes.append((f"n{index}", parent, draw(st.integers(0, 40)), draw(limit), draw(limit)))
    return tree(*shapes)


@given(trees(), st.data())
def test_an_idle_tree_offers_the_potential_and_remove_undoes_add(
    nodes: dict[str, QuotaNode], data: st.DataObject
) -> None:
    usage, leaves = Usage(), [node for node in nodes.values() if not node.children]
    assert all(usage.available(node, KEY) == node.potential(KEY) for node in nodes.values())
    taken = data.draw(st.lists(st.tuples(st.sampled_from(leaves), st.integers(0, 60)), max_size=6))
    for node, amount in taken:
        usage.add(node, KEY, amount)
    assert all(usage.available(node, KEY) <= node.potential(KEY) for node in leaves)
    for node, amount in reversed(taken):
        usage.remove(node, KEY, amount)
    assert all(usage.of(node, KEY) == 0 for node in nodes.values())


@given(trees(), st.data())
def test_what_is_available_fits_and_no_more(nodes: dict[str, QuotaNode], data: st.DataObject) -> None:
    usage, leaves = Usage(), [node for node in nodes.values() if not node.children]
    for node, amount in data.draw(st.lists(st.tuples(st.sampled_from(leaves), st.integers(0, 20)), max_size=6)):
        usage.add(node, KEY, min(amount, usage.available(node, KEY)))
    node = data.draw(st.sampled_from(leaves))
    free = usage.available(node, KEY)
    usage.add(node, KEY, free)
    assert usage.available(node, KEY) == 0


@pytest.mark.parametrize(
    ("resource", "written", "amount", "text"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "96", 96000, "96"),
        ("memory", "256Gi", 256 << 30, "256Gi"),
        ("memory", "400G", 400 * 10**9, "400G"),
        ("nvidia.com/gpu", "8", 8, "8"),
        ("example.com/half", "500m", 1, "1"),
    ],
)
def test_amounts_are_counted_as_kueue_does_and_shown_as_people_write(
    resource: str, written: str, amount: int, text: str
) -> None:
    assert counted(resource, Quantity(written)) == amount
    assert shown(resource, amount) == text


def test_a_chain_of_many_cohorts_takes_time_in_proportion() -> None:
    key = ("h100", "cpu")
    nodes = [
        QuotaNode(f"c{index}", "Cohort", quotas={key: Quota(1, borrowing_limit=20_000)}) for index in range(20_000)
    ]
    for below, above in pairwise(nodes):
        below.parent = above
        above.children.append(below)
    started = time.process_time()
    for node in nodes:
        assert node.subtree_quota(key) + node.potential(key)
    assert time.process_time() - started < 2
    assert (nodes[-1].subtree_quota(key), nodes[0].potential(key)) == (20_000, 20_000)
