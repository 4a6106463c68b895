"""ResourceQuota and LimitRange: each rule refuses what the API server refuses, and lets the neighbour pass."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.told import changed, told
from tests.oracle.core import core_errors
from trainshed.api.core.limit_range import LimitRange
from trainshed.api.core.quota import ResourceQuota

Manifest = dict[str, Any]

QUOTA: Manifest = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "a"},
    "spec": {"hard": {"requests.cpu": "96", "pods": 100}},
}


def limits(**item: Any) -> Manifest:
    """A LimitRange of one item; its type is Container unless said."""
    head = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}}
    return {**head, "spec": {"limits": [{"type": "Container", **item}]}}


def selected(scope: str, operator: str, *values: str) -> dict[str, Any]:
    requirement: dict[str, Any] = {"scopeName": scope, "operator": operator}
    return {"matchExpressions": [{**requirement, "values": list(values)} if values else requirement]}


GOOD_QUOTAS = [
    QUOTA,
    changed(QUOTA, spec__hard={"requests.nvidia.com/gpu": "64", "count/jobs.batch": 5, "hugepages-2Mi": "1Gi"}),
    changed(QUOTA, spec__hard={"fast.storageclass.storage.k8s.io/requests.storage": "1Ti"}),
    changed(QUOTA, spec__hard={"cpu": "500m", "requests.storage": "1.5Gi"}),
    changed(QUOTA, spec__scopes=["NotTerminating", "NotBestEffort"]),
    changed(QUOTA, spec__hard={"pods": 1}, spec__scopes=["BestEffort"]),
    changed(QUOTA, spec__hard={"requests.nvidia.com/gpu": 8}, spec__scopes=["BestEffort"]),
    changed(QUOTA, spec__scopeSelector=selected("PriorityClass", "In", "high")),
    changed(QUOTA, spec__scopeSelector=selected("PriorityClass", "DoesNotExist")),
    changed(QUOTA, spec__scopeSelector=selected("CrossNamespacePodAffinity", "Exists")),
    changed(
        QUOTA, spec__hard={"requests.storage": "1Ti"}, spec__scopeSelector=selected("VolumeAttributesClass", "In", "a")
    ),
]

BROKEN_QUOTAS = [
    (
        changed(QUOTA, spec__hard={"request.cpu": "1"}),
        'spec.hard.request.cpu.[key]: "request.cpu" is not a resource that a quota can limit; '
        'did you mean "requests.cpu"?',
    ),
    (
        changed(QUOTA, spec__hard={"gpu": "1"}),
        'spec.hard.gpu.[key]: "gpu" is not a resource that a quota can limit; did you mean "cpu"?',
    ),
    (changed(QUOTA, spec__hard={"cpu": "-1"}), "spec: hard[cpu]: -1 is less than 0"),
    (changed(QUOTA, spec__hard={"pods": "1500m"}), "spec: hard[pods]: 1500m is not a whole number"),
    (
        changed(QUOTA, spec__hard={"count/jobs.batch": "500m"}),
        "spec: hard[count/jobs.batch]: 500m is not a whole number",
    ),
    (
        changed(QUOTA, spec__hard={"cpu": "1"}, spec__scopes=["BestEffort"]),
        "spec: scopes: the scope BestEffort does not apply to cpu; move cpu to another quota",
    ),
    (
        changed(QUOTA, spec__hard={"services": "1"}, spec__scopes=["Terminating"]),
        "spec: scopes: the scope Terminating does not apply to services; move services to another quota",
    ),
    (
        changed(QUOTA, spec__scopes=["Terminating", "NotTerminating"]),
        "spec: scopes: Terminating and NotTerminating exclude each other; keep one of them",
    ),
    (
        changed(QUOTA, spec__hard={"pods": "1"}, spec__scopeSelector=selected("VolumeAttributesClass", "Exists")),
        "spec: scopeSelector.matchExpressions: the scope VolumeAttributesClass does not apply to pods; "
        "move pods to another quota",
    ),
    (
        changed(QUOTA, spec__scopeSelector=selected("Terminating", "In", "a")),
        'spec.scopeSelector.matchExpressions.0: operator: is In; the scope Terminating has no values; write "Exists"',
    ),
    (
        changed(QUOTA, spec__scopeSelector=selected("PriorityClass", "In")),
        "spec.scopeSelector.matchExpressions.0: values: is missing, and In needs it; add values",
    ),
    (
        changed(QUOTA, spec__scopeSelector=selected("PriorityClass", "Exists", "a")),
        "spec.scopeSelector.matchExpressions.0: values: does not go with Exists; leave it out",
    ),
]

GPU = "nvidia.com/gpu"

GOOD_LIMITS = [
    limits(min={"cpu": "1"}, defaultRequest={"cpu": "1"}, default={"cpu": "2"}, max={"cpu": "2000m"}),
    limits(type="Pod", max={"cpu": "96", GPU: "8", "hugepages-1Gi": "4Gi"}),
    limits(type="PersistentVolumeClaim", min={"storage": "1Gi"}),
    limits(defaultRequest={GPU: 1}, default={GPU: "1"}),
    limits(min={"cpu": "1"}, max={"cpu": "4"}, maxLimitRequestRatio={"cpu": "4"}),
    limits(type="example.com/disk", max={"storage": "1Gi"}),
]

BROKEN_LIMITS = [
    (
        limits(type="container"),
        'spec.limits.0: type: "container" is not a type; write Container, Pod or PersistentVolumeClaim',
    ),
    (
        limits(type="Pod", default={"cpu": "1"}),
        "spec.limits.0: default: does not go with type Pod; move it to an item of type Container",
    ),
    (
        limits(type="Pod", defaultRequest={"cpu": "1"}),
        "spec.limits.0: defaultRequest: does not go with type Pod; move it to an item of type Container",
    ),
    (
        limits(type="PersistentVolumeClaim"),
        "spec.limits.0: type PersistentVolumeClaim needs min or max of storage; add min.storage or max.storage",
    ),
    (limits(max={"storage": "1"}), 'spec.limits.0: max[storage]: "storage" is not a resource of containers'),
    (
        limits(max={"requests.nvidia.com/gpu": "1"}),
        'spec.limits.0: max[requests.nvidia.com/gpu]: "requests.nvidia.com/gpu" is not an extended resource',
    ),
    (limits(min={"cpu": 2}, max={"cpu": 1}), "spec.limits.0: min[cpu]: is 2, more than max with 1"),
    (
        limits(min={"cpu": 2}, defaultRequest={"cpu": 1}),
        "spec.limits.0: min[cpu]: is 2, more than defaultRequest with 1",
    ),
    (limits(min={"cpu": 2}, default={"cpu": 1}), "spec.limits.0: min[cpu]: is 2, more than default with 1"),
    (
        limits(defaultRequest={"cpu": 2}, default={"cpu": "1500m"}),
        "spec.limits.0: defaultRequest[cpu]: is 2, more than default with 1500m",
    ),
    (
        limits(defaultRequest={"cpu": 2}, max={"cpu": 1}),
        "spec.limits.0: defaultRequest[cpu]: is 2, more than max with 1",
    ),
    (limits(default={"cpu": 2}, max={"cpu": 1}), "spec.limits.0: default[cpu]: is 2, more than max with 1"),
    (
        limits(defaultRequest={GPU: 1}, max={GPU: 8}),
        f"spec.limits.0: defaultRequest[{GPU}]: is 1, and default is 8; {GPU} cannot be overcommitted; write 8",
    ),
    (
        limits(maxLimitRequestRatio={"cpu": "500m"}),
        "spec.limits.0: maxLimitRequestRatio[cpu]: 500m is less than 1",
    ),
    (
        limits(min={"cpu": 1}, max={"cpu": 4}, maxLimitRequestRatio={"cpu": 5}),
        "spec.limits.0: maxLimitRequestRatio[cpu]: 5 is more than max / min, which is 4",
    ),
    (
        changed(limits(), spec__limits=[{"type": "Pod"}, {"type": "Pod"}]),
        'spec.limits: two items have type "Pod"',
    ),
]


@pytest.mark.parametrize("manifest", GOOD_QUOTAS, ids=range(len(GOOD_QUOTAS)))
def test_a_good_quota_passes_and_reads_back(manifest: Manifest) -> None:
    assert told(ResourceQuota, manifest) == []
    quota = ResourceQuota.parse(manifest)
    assert ResourceQuota.parse(quota.manifest()) == quota
    assert core_errors(quota.manifest()) == []


@pytest.mark.parametrize(("manifest", "message"), BROKEN_QUOTAS, ids=[message[:60] for _, message in BROKEN_QUOTAS])
def test_a_broken_quota_is_refused_with_its_one_mistake(manifest: Manifest, message: str) -> None:
    assert told(ResourceQuota, manifest) == [message]


@pytest.mark.parametrize("manifest", GOOD_LIMITS, ids=range(len(GOOD_LIMITS)))
def test_a_good_limit_range_passes_and_reads_back(manifest: Manifest) -> None:
    assert told(LimitRange, manifest) == []
    limit = LimitRange.parse(manifest)
    assert LimitRange.parse(limit.manifest()) == limit
    assert core_errors(limit.manifest()) == []


@pytest.mark.parametrize(("manifest", "message"), BROKEN_LIMITS, ids=[message[:60] for _, message in BROKEN_LIMITS])
def test_a_broken_limit_range_is_refused_with_its_one_mistake(manifest: Manifest, message: str) -> None:
    assert told(LimitRange, manifest) == [message]
