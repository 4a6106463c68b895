"""Whether all sides made the same objects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from trainshed.gitops.layout import identity

Objects = Mapping[tuple[str, str, str, str], Any]


class Disagreement(Exception):  # noqa: N818  (reads as what happened)
    """Two sides did not make the same objects, so their times say nothing about each other."""


def objects_in(folder: Path) -> Objects:
    """All objects below `folder` by identity. Raises Disagreement unless each stands in a file of its own."""
    objects: dict[tuple[str, str, str, str], Any] = {}
    for path in folder.rglob("*.yaml"):
        documents = list(yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
        if len(documents) != 1:
            raise Disagreement(f"{path} holds {len(documents)} objects")
        key = identity(documents[0])
        if key in objects:
            raise Disagreement(f"{path}: {key} stands in another file too")
        objects[key] = documents[0]
    return objects


def compare(name: str, objects: Objects, other_name: str, others: Objects) -> None:
    """Raises Disagreement at the first difference."""
    if missing := objects.keys() ^ others.keys():
        raise Disagreement(f"only one of {name} and {other_name} makes {min(missing)}")
    for key, manifest in objects.items():
        if manifest != others[key]:
            raise Disagreement(f"{key} differs:\n{name}: {manifest}\n{other_name}: {others[key]}")
