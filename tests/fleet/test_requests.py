"""A pod's requests are those the scheduler counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fleet.given import fleet, shown, workload
from trainshed.fleet.requests import container_requests, pod_requests
from trainshed.quantity import Quantity


def container(cpu: int | str, **more: Any) -> dict[str, Any]:
    """A container that requests `cpu`."""
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


def test_containers_add_up() -> None:
    """Kubernetes documentation, "Resource Management for Pods and Containers": 0.5 CPU and 128 MiB."""
    resources = {"requests": {"memory": "64Mi", "cpu": "250m"}, "limits": {"memory": "128Mi", "cpu": "500m"}}
    spec = {"containers": [{"name": "app", "resources": resources}, {"name": "log", "resources": resources}]}
    assert shown(pod_requests(spec)) == {"memory": "128Mi", "cpu": "500m"}


def test_limits_without_requests_and_the_overhead_of_a_runtime_class() -> None:
    """Kubernetes documentation, "Pod Overhead": 2250m and 320 MiB."""
    runtime_class = """
        apiVersion: node.k8s.io/v1
        kind: RuntimeClass
        metadata: {name: kata-fc}
        handler: kata-fc
        overhead: {podFixed: {memory: 120Mi, cpu: 250m}}
    """
    pod = """
        apiVersion: v1
        kind: Pod
        metadata: {name: test-pod}
        spec:
          runtimeClassName: kata-fc
          containers:
          - {name: busybox-ctr, resources: {limits: {cpu: 500m, memory: 100Mi}}}
          - {name: nginx-ctr, resources: {limits: {cpu: 1500m, memory: 100Mi}}}
    """
    assert shown(workload(runtime_class, pod).requests) == {"cpu": "2250m", "memory": "320Mi"}
    assert shown(workload(pod).requests) == {"cpu": "2", "memory": "200Mi"}


def test_pod_level_requests_stand_for_the_sum() -> None:
    """Kubernetes documentation, "Assign Pod-level CPU and memory resources". Devices are never pod-level."""
    one = {"limits": {"cpu": "0.5", "memory": "100Mi", "a/gpu": 1}, "requests": {"cpu": "0.5", "memory": "50Mi"}}
    pod_level: dict[str, Any] = {"limits": {"cpu": 1, "memory": "200Mi"}, "requests": {"cpu": 1, "memory": "100Mi"}}
    spec = {"resources": pod_level, "containers": [{"name": "a", "resources": one}, {"name": "b"}]}
    assert shown(pod_requests(spec)) == {"cpu": "1", "memory": "100Mi", "a/gpu": "1"}
    spec["resources"] = {"limits": {"cpu": 1, "memory": "200Mi"}}
    assert shown(pod_requests(spec)) == {"cpu": "500m", "memory": "50Mi", "a/gpu": "1"}
    assert shown(pod_requests({**spec, "containers": [{"name": "b"}]})) == {"cpu": "1", "memory": "200Mi"}


def test_sidecars_count_all_the_time_and_init_containers_while_they_run() -> None:
    """KEP-753: an init container runs beside the sidecars that were started before it."""
    sidecar = {"restartPolicy": "Always"}
    spec = {
        "initContainers": [container(5), container(1, **sidecar), container(7), container(2, **sidecar)],
        "containers": [container(3)],
    }
    assert shown(pod_requests(spec)) == {"cpu": "8"}
    spec["containers"] = [container(6)]
    assert shown(pod_requests(spec)) == {"cpu": "9"}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=6),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_requests_are_the_peak_of_the_pods_life(init: list[tuple[int, bool]], main: list[int], overhead: int) -> None:
    """Oracle: walk through the start of the pod and sum up what runs in each phase."""
    phases, running = [0], 0
    for cpu, sidecar in init:
        phases.append(running + cpu)
        running += cpu if sidecar else 0
    phases.append(running + sum(main))
    spec = {
        "initContainers": [container(cpu, **({"restartPolicy": "Always"} if sidecar else {})) for cpu, sidecar in init],
        "containers": [container(cpu) for cpu in main],
    }
    assert pod_requests(spec, None, {"cpu": Quantity(overhead)})["cpu"] == Quantity(max(phases) + overhead)


def test_what_is_no_quantity_is_left_out() -> None:
    resources = {"requests": {"cpu": "many", "memory": None, "a/gpu": True, "b/gpu": ["1"]}, "limits": {"cpu": "2"}}
    assert shown(container_requests({"resources": resources})) == {"cpu": "2"}
    assert container_requests({"resources": []}) == {}
    assert pod_requests({"containers": ["x", None, {"resources": {"requests": 7}}], "initContainers": {}}) == {}


RANGE = """
    apiVersion: v1
    kind: LimitRange
    metadata: {name: r, namespace: %s}
    spec: {limits: [{type: Pod, max: {cpu: 9}}, {type: Container, %s}]}
"""
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {containers: [{name: c, resources: %s}]}}"
)
EXAMPLE = "default: {cpu: 1}, defaultRequest: {cpu: 0.5}"


@pytest.mark.parametrize(
    ("limits", "resources", "expected"),
    [
        (EXAMPLE, "{}", {"cpu": "500m"}),
        (EXAMPLE, "{limits: {cpu: 1}}", {"cpu": "1"}),
        (EXAMPLE, "{requests: {cpu: 0.75}}", {"cpu": "750m"}),
        ("default: {cpu: 1}", "{}", {"cpu": "1"}),
        ("max: {cpu: 4}, min: {cpu: 1, memory: 1Gi}", "{}", {"cpu": "4", "memory": "1Gi"}),
        ("max: {cpu: 4}, defaultRequest: {cpu: 1}", "{}", {"cpu": "1"}),
    ],
)
def test_limit_range_defaults(limits: str, resources: str, expected: dict[str, str]) -> None:
    """Kubernetes documentation, "Configure Default CPU Requests and Limits for a Namespace", and its defaults."""
    assert shown(workload(RANGE % ("team", limits), POD % resources).requests) == expected
    assert workload(RANGE % ("other", limits), POD % "{}").requests == {}


def test_of_two_limit_ranges_the_first_one_wins() -> None:
    found = fleet(RANGE % ("team", "default: {cpu: 1}"), RANGE % ("team", "default: {cpu: 2, memory: 1Gi}"), POD % "{}")
    assert shown(found.workloads[0].requests) == {"cpu": "1", "memory": "1Gi"}
