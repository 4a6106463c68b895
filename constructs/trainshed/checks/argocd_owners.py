"""Which Application brings which object: those of the input, and those that its ApplicationSets make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.argocd import APPLICATION, APPLICATION_SET, app_options, sources_of
from trainshed.fleet.access import Node, mapping, mappings, strings, text
from trainshed.fleet.document import Document, Identity
from trainshed.fleet.folders import Folders
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?([\w.\-]+)\s*-?\}\}")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_CASCADE: Final = "resources-finalizer.argocd.argoproj.io"


class App(NamedTuple):
    """An Application: its name (its path where a template says more than we can read), its folder, where it is written,
    its sync options. `cascades`: whether Argo CD deletes its objects with it; `stays`: whether it is not deleted at all
    when it is no longer written."""

    name: str
    path: str
    document: Document
    at: Path
    options: list[str]
    cascades: bool
    stays: bool = False


@once
def apps(fleet: Fleet) -> list[App]:
    """The Applications that read a folder of a repository."""
    return [*_written(fleet), *_made(fleet)]


@once
def owned(fleet: Fleet) -> dict[Identity, App]:
    """The Application of each object whose folder one names."""
    found: dict[Identity, App] = {}
    for app in apps(fleet):
        for document in fleet.folders.ending(app.path):
            if document.name and document.judged and document is not app.document:
                found.setdefault(document.identity, app)
    return found


def _written(fleet: Fleet) -> Iterator[App]:
    for document in fleet.of(APPLICATION):
        spec = mapping(document.manifest, "spec")
        finalizers = mapping(document.manifest, "metadata").get("finalizers")
        cascades = isinstance(finalizers, list) and any(str(item).startswith(_CASCADE) for item in finalizers)
        for path, source in sources_of(spec):
            if where := text(source, "path"):
                yield App(document.name, where, document, ("spec", *path, "path"), app_options(spec), cascades)


def _made(fleet: Fleet) -> Iterator[App]:
    for document in fleet.of(APPLICATION_SET):
        policy = mapping(document.manifest, "spec", "syncPolicy")
        cascades = policy.get("preserveResourcesOnDeletion") is not True
        stays = text(policy, "applicationsSync") in ("create-only", "create-update")
        for at, generator, parameters in _elements(document, fleet.folders):
            templates = [mapping(generator, "template"), mapping(document.manifest, "spec", "template")]
            named = next((found for template in templates if (found := text(template, "metadata", "name"))), "")
            name = _rendered(named, parameters)
            specs = [mapping(template, "spec") for template in templates]
            options = [option for spec in specs for option in app_options(spec)]
            for spec in specs:
                for _, source in sources_of(spec):
                    if path := _rendered(text(source, "path"), parameters):
                        yield App(name or path, path, document, at, options, cascades, stays)


def _elements(document: Document, folders: Folders) -> Iterator[tuple[Path, Node, dict[str, str]]]:
    """(path, generator, parameters) of each Application that list and git directory generators make."""
    for index, generator in mappings(document.manifest, "spec", "generators"):
        where: Path = ("spec", "generators", index)
        for number, element in mappings(generator, "list", "elements"):
            yield (*where, "list", "elements", number), generator["list"], strings(element)
        directories = list(mappings(generator, "git", "directories"))
        excluded = [text(item, "path") for _, item in directories if item.get("exclude") is True]
        for number, item in directories:
            pattern = text(item, "path").strip("/")
            for path in _folders(pattern, folders) if item.get("exclude") is not True else ():
                if not any(_matches(path, other.strip("/")) for other in excluded):
                    yield (*where, "git", "directories", number), generator["git"], _parameters(path)


def _folders(pattern: str, folders: Folders) -> Iterator[str]:
    """The folders of the input that a pattern means. One without wildcards is taken as there, unless the input shows
    those beside it, and not this one."""
    if any(char in pattern for char in "*?["):
        yield from sorted(path for path in folders.paths if _matches(path, pattern))
    elif folders.called(pattern) or not folders.beside(pattern):
        yield pattern


def _matches(path: str, pattern: str) -> bool:
    """As Go's path.Match: a star does not reach over a slash."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _parameters(path: str) -> dict[str, str]:
    name = path.rpartition("/")[2]
    normalized = _NOT_IN_NAMES.sub("-", name.lower())
    return {"path": path, "path.path": path, "path.basename": name, "path.basenameNormalized": normalized}


def _rendered(template: str, parameters: Mapping[str, str]) -> str:
    """A template with its parameters; empty where it holds another one, or more than parameters."""
    found = _PARAMETER.sub(lambda match: parameters.get(match[1], match[0]), template)
    return "" if "{{" in found else found
