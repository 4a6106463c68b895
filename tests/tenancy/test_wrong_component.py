"""A component of another kind is no reference."""

from __future__ import annotations

from tests.synthesis import h100, new_cluster
from trainshed.tenancy import Tenant, nodes


def test_a_node_pool_is_no_cohort() -> None:
    """A tenant with a pool as its cohort would leave its lending group without a word."""
    cluster = new_cluster()
    pool = h100(cluster)

    Tenant(cluster, "high", namespaces=["a"], guarantee={pool: nodes(1)}, cohort=pool)  # type: ignore[arg-type]

    assert [(fault.field, fault.message, fault.fix) for fault in cluster.faults] == [
        ("cohort", 'is NodePool "h100"', "pass a Cohort")
    ]
