"""Folders of the repository that Applications name, where the input shows what the repository has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainshed.checks.argocd import FAMILY, application_specs, sources_of
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.spelling import short_slip

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet
    from trainshed.fleet.folders import Folders


@rule("argocd-path-missing", severity="error", family=FAMILY)
def path_missing(fleet: Fleet) -> Iterator[Issue]:
    """An Application's path is not in the repository, but nearly.

    Why: Argo CD cannot render the Application (ComparisonError: app path does not exist), so nothing of it is synced.
    For a directory of an ApplicationSet it is worse: no Application is made, and one that was there is deleted.
    The input shows the repository when it has the folder of another Application from there.
    Fix: Write the path of the folder.
    """
    folders = fleet.folders
    shown = {_repository(source) for _, _, source in _sources(fleet) if folders.called(text(source, "path"))}
    for document, path, source in _sources(fleet):
        where = text(source, "path").strip("/")
        if folders.called(where) or _repository(source) not in shown or any(char in where for char in "*?[{"):
            continue
        if meant := _meant(folders, where):
            message = f'path "{where}" is not in the input, which has "{meant}" of the same repository'
            at: Path = ("metadata", "name")
            related = (("an object of that folder", folders.ending(meant)[0], at),)
            yield Issue(document, (*path, "path"), message, f'did you mean "{meant}"?', None, related)


def _meant(folders: Folders, path: str) -> str:
    """The folder that a path leads to when one of its parts, but the first, is a slip; empty for none."""
    parts = path.split("/")
    for index in range(1, len(parts)):
        beside = folders.beside("/".join(parts[: index + 1]))
        near = beside.near_miss(parts[index]) or short_slip(parts[index], beside)
        meant = "/".join([*parts[:index], near, *parts[index + 1 :]])
        if near and folders.called(meant):
            return meant
    return ""


def _sources(fleet: Fleet) -> Iterator[tuple[Document, Path, Node]]:
    """(document, path, source) of Applications, of the templates of sets, and of the directories of git generators."""
    for document, start, spec in application_specs(fleet):
        for path, source in sources_of(spec):
            if not text(source, "chart"):
                yield document, (*start, *path), source
        for index, generator in mappings(document.manifest, "spec", "generators"):
            git = generator.get("git")
            for number, directory in mappings(git, "directories"):
                if directory.get("exclude") is not True:
                    given = {"repoURL": text(git, "repoURL"), "targetRevision": text(git, "revision")}
                    path = ("spec", "generators", index, "git", "directories", number)
                    yield document, path, {**given, "path": text(directory, "path")}


def _repository(source: Node) -> tuple[str, str]:
    """The repository and the revision: other revisions may have other folders."""
    return text(source, "repoURL").removesuffix("/").removesuffix(".git"), text(source, "targetRevision") or "HEAD"
