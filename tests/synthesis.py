"""Rendering in tests, as cdk8s does it: `Testing.synth(application)`."""

from __future__ import annotations

from typing import Any

from trainshed.faults import Faults
from trainshed.gitops import App, Application, Cluster
from trainshed.tenancy import NodePool

Manifest = dict[str, Any]

NODE: dict[str, Any] = {"cpu": 96, "memory": "400G", "nvidia.com/gpu": 8}


def new_cluster(name: str = "lab") -> Cluster:
    """An empty cluster of a new app."""
    return Cluster(App(), name)


def h100(cluster: Cluster, nodes: int = 8) -> NodePool:
    """A pool of 8-GPU nodes."""
    return NodePool(cluster, "h100", nodes=nodes, per_node=NODE)


def synth(where: Cluster | Application, application: str = "platform") -> list[Manifest]:
    """The manifests of an application, by cdk8s' own way of testing."""
    from cdk8s import Testing  # after trainshed, which chooses jsii's Node

    chart = where if isinstance(where, Application) else where.application(application)
    manifests: list[Manifest] = Testing.synth(chart)
    return manifests


def only(manifests: list[Manifest], kind: str, name: str | None = None) -> Manifest:
    """The one manifest of a kind (and name)."""
    found = [item for item in manifests if item["kind"] == kind and name in (None, item["metadata"]["name"])]
    assert len(found) == 1, [(item["kind"], item["metadata"]["name"]) for item in manifests]
    return found[0]


def told(cluster: Cluster) -> list[str]:
    """Every fault of a cluster, without its place."""
    try:
        cluster.render()
    except Faults as found:
        return [str(fault).removeprefix(f"{fault.place}: ") for fault in found.faults]
    return []
