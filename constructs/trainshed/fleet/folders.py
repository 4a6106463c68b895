"""Which objects stand in which folder, for paths of a repository whose root is not known."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from trainshed.fleet.document import Document


class Folders:
    """The folders of the input's files."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents: dict[str, list[Document]] = {}
        for document in documents:
            self.documents.setdefault(posixpath.dirname(document.file.replace("\\", "/")), []).append(document)
        self._ending: dict[str, list[str]] = {}
        for folder in self.documents:
            parts = [part for part in folder.split("/") if part not in ("", ".")]
            for start in range(len(parts)):
                self._ending.setdefault("/".join(parts[start:]), []).append(folder)

    def ending(self, path: str) -> list[Document]:
        """The objects in folders whose path is `path` or ends with it, part by part."""
        return [item for folder in self._ending.get(path.strip("/"), ()) for item in self.documents[folder]]

    def known(self, path: str) -> bool:
        """Whether there is a folder whose path is `path` or ends with it."""
        return path.strip("/") in self._ending
