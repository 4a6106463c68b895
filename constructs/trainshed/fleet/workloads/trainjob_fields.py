"""What a TrainJob's own fields change in the containers of its runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainshed.fleet.access import Node, items, mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workloads.at import At
from trainshed.fleet.workloads.merge import Origins, index_of, name_of, positions_of


@dataclass
class Draft:
    """A replicatedJob of a runtime on its way into the JobSet. `path` is its place in the runtime, `origins` are by
    path in the pod template. Nothing of the runtime's manifest is changed in place."""

    name: str
    ancestor: str
    item: Node
    path: Path
    metadata: Node
    job: Node
    template: Node
    origins: Origins
    count: int
    count_at: tuple[Document, Path]
    replicas: int

    def counted(self, count: int, place: tuple[Document, Path]) -> None:
        """Sets the number of pods, which Trainer writes to parallelism and completions."""
        self.count, self.count_at = count, place
        self.job = {**self.job, "parallelism": count, "completions": count}

    def rendered(self) -> Node:
        """The replicatedJob as it stands in the JobSet."""
        template: Node = {"metadata": self.metadata} if self.metadata else {}
        template["spec"] = self.job = {**self.job, "template": self.template}
        rendered: Node = {**self.item, "template": template}
        if "replicas" in self.item or self.replicas != 1:
            rendered["replicas"] = self.replicas
        return rendered

    def container(self, name: str) -> int | None:
        """The position of the container called `name`."""
        return index_of(items(self.template, "spec", "containers"), "name", name)

    def change(self, index: int, fields: dict[str, Any]) -> None:
        """Sets fields of the container at `index`."""
        containers = list(items(self.template, "spec", "containers"))
        containers[index] = {**containers[index], **fields}
        self.template = {**self.template, "spec": {**mapping(self.template, "spec"), "containers": containers}}

    def upsert_env(self, index: int, variables: list[tuple[Node, tuple[Document, Path]]]) -> None:
        """Environment variables: one of a name that is there takes its place, others go to the end."""
        place: Path = ("spec", "containers", index, "env")
        env = list(items(self.template, *place))
        positions = positions_of(env, "name")
        for variable, source in variables:
            name = name_of(variable, "name")
            found = positions.get(name)
            if found is None:
                found = len(env)
                env.append(variable)
                if name is not None:
                    positions[name] = found
            else:
                env[found] = variable
            self.origins.put((*place, found), source)
            if not isinstance(source[1][-1], int):  # a field of the TrainJob, not an item of a list of variables
                for field in ("value", "valueFrom"):
                    self.origins.put((*place, found, field), source)
        if variables:
            self.change(index, {"env": env})


def written_env(at: At, *path: str) -> list[tuple[Node, tuple[Document, Path]]]:
    """The variables of the list at `path` of the TrainJob, each with its place."""
    return [(item, (at.document, (*at.path, *path, index))) for index, item in mappings(at.manifest, *path)]


def override_trainer(at: At, draft: Draft, *, resources: bool) -> None:
    """image, command, args, env and resourcesPerNode of `spec.trainer`, to the container `node`. `resources` is False
    for a runtime without mlPolicy, with which Trainer drops resourcesPerNode."""
    trainer = at.manifest.get("spec", {}).get("trainer") if isinstance(at.manifest.get("spec"), dict) else None
    index = draft.container("node")
    if not isinstance(trainer, dict) or index is None:
        return
    place: Path = ("spec", "containers", index)
    root: Path = (*at.path, "spec", "trainer")
    fields: dict[str, Any] = {}
    for field in ("image", "command", "args"):
        if trainer.get(field) is not None:
            fields[field] = trainer[field]
            draft.origins.put((*place, field), (at.document, (*root, field)))
    per_node = mapping(trainer, "resourcesPerNode")
    if per_node and resources:
        source = (at.document, (*root, "resourcesPerNode"))
        fields["resources"] = _overlaid(draft, (*place, "resources"), per_node, source)
    if fields:
        draft.change(index, fields)
    draft.upsert_env(index, written_env(at, "spec", "trainer", "env"))


def _overlaid(draft: Draft, place: Path, patch: Node, source: tuple[Document, Path]) -> Node:
    """Trainer 2.3 merges limits and requests key by key (`pkg/runtime/resourcerequirements.go`); 2.2 replaced them."""
    document, path = source
    resources = dict(mapping(draft.template, *place))
    for field, amounts in patch.items():
        base = resources.get(field)
        if field in ("limits", "requests") and isinstance(amounts, dict) and isinstance(base, dict):
            resources[field] = {**base, **amounts}
            for name in amounts:
                draft.origins.put((*place, field, name), (document, (*path, field, name)))
        elif amounts is not None:
            resources[field] = amounts
            draft.origins.put((*place, field), (document, (*path, field)))
    return resources


def override_initializer(at: At, draft: Draft, part: str) -> None:
    """storageUri, env and secretRef of `spec.initializer.<part>`, to the container called as its job's label says."""
    index = draft.container(draft.ancestor)
    settings = mapping(at.manifest, "spec", "initializer", part)
    if index is None or not settings:
        return
    root: Path = (*at.path, "spec", "initializer", part)
    variables: list[tuple[Node, tuple[Document, Path]]] = []
    if uri := text(settings, "storageUri"):
        variables.append(({"name": "STORAGE_URI", "value": uri}, (at.document, (*root, "storageUri"))))
    draft.upsert_env(index, variables + written_env(at, "spec", "initializer", part, "env"))
    if secret := text(settings, "secretRef", "name"):
        place: Path = ("spec", "containers", index, "envFrom")
        sources = [*items(draft.template, *place), {"secretRef": {"name": secret}}]
        draft.origins.put((*place, len(sources) - 1), (at.document, (*root, "secretRef")))
        draft.change(index, {"envFrom": sources})
