"""ResourceFlavor (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.core.affinity import Toleration
from trainshed.api.types import DnsSubdomain, LabelKey, LabelValue, Str, shaped

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


def _time_error(text: str) -> str:
    return "" if _TIME.fullmatch(text) else f'"{text}" is not a time such as "2026-01-31T12:00:00Z"'


class Taint(Model):
    """A taint that the flavor's nodes carry. `time_added` is written by the node controller, as RFC 3339 text."""

    key: LabelKey
    value: LabelValue | None = None
    effect: TaintEffect
    time_added: Annotated[Str, shaped(_time_error)] | None = None


class ResourceFlavorSpec(Model):
    """Which nodes a flavor stands for. All fields absent: any node.

    `node_labels` go to a workload's node selector and `tolerations` to its pods; `node_taints` a workload has to
    tolerate itself. With `topology_name`, Kueue places pods along that Topology.
    """

    node_labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=8)] | None = None
    node_taints: Annotated[list[Taint], Field(max_length=8)] | None = None
    tolerations: Annotated[list[Toleration], Field(max_length=8)] | None = None
    topology_name: DnsSubdomain | None = None

    def rules(self) -> Iterator[Broken]:
        """CRD rules on spec, nodeTaints and tolerations; `pkg/webhooks/resourceflavor_webhook.go` for unique taints."""
        if self.topology_name is not None and not self.node_labels:
            yield Broken("nodeLabels", "is empty, but topologyName is set", "name at least one label of the nodes")
        seen: set[tuple[str, str]] = set()
        for index, taint in enumerate(self.node_taints or []):
            if (taint.key, taint.effect) in seen:
                yield Broken(
                    f"nodeTaints[{index}]",
                    f'key "{taint.key}" with effect "{taint.effect}" is listed twice',
                    "keep one of them",
                )
            seen.add((taint.key, taint.effect))
        for index, toleration in enumerate(self.tolerations or []):
            for broken in _toleration_rules(toleration):
                yield Broken(f"tolerations[{index}].{broken.field}", broken.message, broken.fix)


def _toleration_rules(toleration: Toleration) -> Iterator[Broken]:
    """Where Kueue takes less than a pod does (CRD rules on tolerations); the others are the core type's own."""
    if toleration.operator is not None and toleration.operator not in ("Equal", "Exists"):
        yield Broken("operator", f'is "{toleration.operator}"', 'write "Equal" or "Exists"')
    if toleration.operator == "Exists" and toleration.value is not None:
        yield Broken("value", 'is set, but operator is "Exists"', "leave the value out")
    if toleration.effect == "":
        yield Broken("effect", "is empty", "leave it out to tolerate every effect")


class ResourceFlavor(KubernetesObject):
    """A kind of node that quota can be given for.

    Once `topologyName` is set, it, `nodeLabels` and `tolerations` can't change; a flavor without one may gain it.
    """

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ()
    #: Immutable as soon as the old object has `spec.topologyName`.
    IMMUTABLE_WITH_TOPOLOGY: ClassVar[tuple[str, ...]] = ("spec.nodeLabels", "spec.tolerations", "spec.topologyName")

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["ResourceFlavor"] = "ResourceFlavor"
    spec: ResourceFlavorSpec | None = None
