"""Python names for a cluster: any DNS label has a module and a class, and neither hides what the stack imports."""

from __future__ import annotations

from keyword import iskeyword


def module_name(cluster: str) -> str:
    """The module of a cluster: `eu-west` → `eu_west`, `3rd` → `cluster_3rd`, `import` → `cluster_import`."""
    name = cluster.replace("-", "_")
    return name if name.isidentifier() and not iskeyword(name) else f"cluster_{name}"


def class_name(cluster: str) -> str:
    """The class of a cluster: `eu-west` → `EuWestCluster`. The suffix keeps it apart from `App` or `Tenant`."""
    return "".join(part.capitalize() for part in module_name(cluster).split("_")) + "Cluster"
