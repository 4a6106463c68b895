"""Objects of `dist/`, and small questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trainshed.quantity import Quantity

Manifest = dict[str, Any]
WAVE = "argocd.argoproj.io/sync-wave"
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Object:
    """A manifest and its file below `dist/`."""

    file: str
    manifest: Manifest

    @property
    def cluster(self) -> str:
        return self.file.split("/")[0]

    @property
    def application(self) -> str:
        return self.file.split("/")[1]

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"].get("namespace", ""))

    @property
    def spec(self) -> Manifest:
        return dict(self.manifest["spec"])

    @property
    def wave(self) -> int:
        return int(self.manifest["metadata"]["annotations"][WAVE])


def of_kind(objects: list[Object], cluster: str, kind: str, *names: str) -> list[Object]:
    """The objects of a kind in a cluster; of the given names only, where there are some."""
    found = [item for item in objects if (item.cluster, item.kind) == (cluster, kind)]
    return [item for item in found if not names or item.name in names]


def one(objects: list[Object], cluster: str, kind: str, name: str) -> Object:
    """The object of that name."""
    (found,) = of_kind(objects, cluster, kind, name)
    return found


def quotas(queue: Object, field: str = "nominalQuota") -> dict[str, Fraction]:
    """A field of every quota of a ClusterQueue, summed over its flavors."""
    found: dict[str, Fraction] = {}
    for group in queue.spec["resourceGroups"]:
        for flavor in group["flavors"]:
            for quota in flavor["resources"]:
                amount = Quantity(quota[field]).value
                found[quota["name"]] = found.get(quota["name"], Fraction(0)) + amount
    return found


def requests(template: Manifest, pods: int) -> dict[str, Fraction]:
    """What `pods` pods of a template ask for together."""
    found: dict[str, Fraction] = {}
    for container in template["spec"]["containers"]:
        for name, amount in container["resources"]["requests"].items():
            found[name] = found.get(name, Fraction(0)) + Quantity(amount).value * pods
    return found


def walk(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value in a manifest with its path; list positions are left out."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from walk(value, (*path, str(key)))
    elif isinstance(node, list):
        for item in node:
            yield from walk(item, path)
    else:
        yield path, node
