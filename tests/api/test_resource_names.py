"""Which names of resources are right, and which are slips."""

from __future__ import annotations

import pytest

from trainshed.api.core.resources import container_resource_error, device_error, node_resource_error


@pytest.mark.parametrize(
    "name",
    [
        "cpu",
        "memory",
        "ephemeral-storage",
        "pods",
        "hugepages-2Mi",
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.10gb",
        "amd.com/gpu",
        "amd.com/npu",
        "gpu.intel.com/i915",
        "google.com/tpu",
        "rdma/hca_shared_devices_a",
        "example.com/gpu",
    ],
)
def test_what_nodes_have_is_taken(name: str) -> None:
    assert node_resource_error(name) == ""


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("memroy", 'did you mean "memory"?'),
        ("Memory", 'did you mean "memory"?'),
        ("pod", 'did you mean "pods"?'),
        ("gpu", "write nvidia.com/gpu, or your device's name"),
        ("amd.com.gpu", "write amd.com/gpu, or your device's name"),
        ("nvidia.com/gpus", 'did you mean "nvidia.com/gpu"?'),
        ("nvidia.com/GPU", 'did you mean "nvidia.com/gpu"?'),
        ("nvida.com/gpu", 'did you mean "nvidia.com/gpu"?'),
        ("nvidia/gpu", 'did you mean "nvidia.com/gpu"?'),
        ("habana.ai/guadi", 'did you mean "habana.ai/gaudi"?'),
    ],
)
def test_what_no_node_has_is_told_with_what_was_meant(name: str, fix: str) -> None:
    assert node_resource_error(name).partition("; ")[2] == fix


def test_devices_are_judged_alike_for_nodes_and_runs() -> None:
    assert node_resource_error("nvidia.com/gpus") == device_error("nvidia.com/gpus")
    assert container_resource_error("nvidia.com/gpus") == ""  # the API server takes any
