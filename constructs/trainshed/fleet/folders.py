"""Which objects stand in which folder, for paths of a repository whose root is not known."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from functools import cached_property

from trainshed.fleet.document import Document
from trainshed.spelling import Names


class Folders:
    """The folders of the input's files."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents: dict[str, list[Document]] = {}
        for document in documents:
            self.documents.setdefault(posixpath.dirname(document.file.replace("\\", "/")), []).append(document)
        self._ending: dict[str, list[str]] = {}
        for folder in self.documents:
            # A file of a Git revision is called REVISION:path.
            first, slash, rest = folder.partition("/")
            inside = f"{first.rpartition(':')[2]}{slash}{rest}"
            parts = [part for part in inside.split("/") if part not in ("", ".")]
            for start in range(len(parts)):
                self._ending.setdefault("/".join(parts[start:]), []).append(folder)

    @property
    def paths(self) -> Iterable[str]:
        """Every path that a folder could be called by: its own, and its ends."""
        return self._ending

    def called(self, path: str) -> list[str]:
        """The folders whose path is `path` or ends with it, part by part: keys of `documents`."""
        return self._ending.get(path.strip("/"), [])

    def ending(self, path: str) -> list[Document]:
        """The objects in those folders."""
        return [item for folder in self.called(path) for item in self.documents[folder]]

    def beside(self, path: str) -> Names:
        """What else could stand for the last part of a path: the names of the folders next to it."""
        return self._beside.get(path.strip("/").rpartition("/")[0], Names())

    @cached_property
    def _beside(self) -> dict[str, Names]:
        found: dict[str, dict[str, None]] = {}
        for path in self._ending:
            while path:
                path, _, name = path.rpartition("/")
                found.setdefault(path, {})[name] = None
        return {above: Names(names) for above, names in found.items() if above}
