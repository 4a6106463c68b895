"""Which documents describe one cluster, and which of them define one object twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from trainshed.fleet.document import Document, Identity
from trainshed.fleet.finding import Finding

_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def worlds(documents: Iterable[Document]) -> Callable[[Document], str]:
    """The world of a document, as a function. Two objects with one identity clash only in one world.

    Files named one by one and standard input share the world "". A folder named alone shares it, too; of several
    folders each is its own world. Below a folder, `<cluster>/<application>/…` (two folders or more above the file)
    makes `<cluster>` a world, since there one identity may occur once per cluster. Files beside a kustomization are
    input for Kustomize, so their folder is a world.

    Worlds serve to find clashes. A reference may lead out of one: look in the document's own world first, then in all.
    """
    documents = list(documents)
    roots = {document.source.root for document in documents if not document.source.explicit}
    folders: dict[str, str] = {}

    def world(document: Document) -> str:
        source = document.source
        if source.explicit:
            return ""
        folder = os.path.dirname(source.file)  # noqa: PTH120
        key = f"{source.root}\0{folder}"
        if key not in folders:
            folders[key] = _folder_world(source.root, folder, len(roots) > 1)
        return folders[key]

    return world


def _folder_world(root: str, folder: str, several: bool) -> str:
    base = root if several else ""
    if any(os.path.exists(os.path.join(folder, name)) for name in _KUSTOMIZATIONS):  # noqa: PTH110, PTH118
        return folder
    parts = [part for part in os.path.relpath(folder, root).split(os.sep) if part != "."]  # noqa: PTH206
    return os.path.join(base, parts[0]) if len(parts) >= 2 else base  # noqa: PTH118


def duplicates(documents: Iterable[Document], world_of: Callable[[Document], str] | None = None) -> Iterator[Finding]:
    """A finding for every object that a document before it in its world defines as well.

    An error where the two differ (the last one applied wins), a warning where they are equal (Argo CD reports
    SharedResourceWarning or RepeatedResourceWarning). Objects without a final name and Kustomize patches are left out.
    """
    documents = list(documents)
    by_identity: dict[Identity, list[Document]] = {}
    for document in documents:
        if document.name and not document.generated and document.unjudged not in ("template", "patch"):
            by_identity.setdefault(document.identity, []).append(document)
    world_of = world_of or worlds(documents)
    for group in by_identity.values():
        if len(group) == 1:
            continue
        first_of: dict[str, Document] = {}
        for document in group:
            first = first_of.setdefault(world_of(document), document)
            if first is not document:
                yield _duplicate(first, document)


def _duplicate(first: Document, second: Document) -> Finding:
    equal = first.manifest == second.manifest
    differing = "" if equal else _first_difference(first, second)
    return second.finding(
        "duplicate-object",
        "warning" if equal else "error",
        f"{second.ref} is defined twice"
        + (", both times the same" if equal else f" with different content{differing}: the last one applied wins"),
        "keep one of the two",
        ("metadata", "name"),
        (("first defined here", first.place(("metadata", "name"))),),
    )


def _first_difference(first: Document, second: Document) -> str:
    keys = [key for key in {**first.manifest, **second.manifest} if first.manifest.get(key) != second.manifest.get(key)]
    return f" (in {', '.join(keys[:3])})" if keys else ""
