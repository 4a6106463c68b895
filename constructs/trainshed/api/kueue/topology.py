"""Topology (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import LabelKey

HOSTNAME: Final = "kubernetes.io/hostname"


class TopologyLevel(Model):
    """A level: nodes with one value of this label are together.

    The CRD allows up to 316 characters; a label key that a node can carry has at most 63 after its prefix.
    """

    node_label: Annotated[LabelKey, Field(min_length=1, max_length=316)]


class TopologySpec(Model):
    """The levels, widest first. `kubernetes.io/hostname` as the last one lets Kueue look at single nodes."""

    levels: Annotated[list[TopologyLevel], Field(min_length=1, max_length=16)]

    def rules(self) -> Iterator[Broken]:
        """CRD rules on levels: no level twice, the hostname only as the last."""
        labels = [level.node_label for level in self.levels]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                yield Broken(f"levels[{index}].nodeLabel", f'"{label}" is listed already', "list each label once")
            if label == HOSTNAME and index < len(labels) - 1:
                yield Broken(
                    f"levels[{index}].nodeLabel", f'"{HOSTNAME}" is not the last level', "list levels widest first"
                )


class Topology(KubernetesObject):
    """How nodes are grouped, from the widest group to the single node. Its levels can't change: make a new Topology."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.levels",)

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["Topology"] = "Topology"
    spec: TopologySpec | None = None
