"""Projects: what an Application may do, where both are in the input."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from trainshed.checks.argocd import APPLICATION, APPLICATION_SET, FAMILY, PROJECT, application_specs, sources_of
from trainshed.checks.gang_common import listed
from trainshed.checks.rule import Issue, rule
from trainshed.faults import nearest
from trainshed.fleet.access import dig, items, mapping, mappings, text
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path
from trainshed.spelling import Names, near_miss

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet


@rule("argocd-project-missing", severity="error", family=FAMILY)
def project_missing(fleet: Fleet) -> Iterator[Issue]:
    """An Application names a project that the input does not have, while it has others.

    Why: Argo CD refuses to sync an Application whose project does not exist.
    Fix: Correct the name, or add the AppProject.
    """
    known = fleet.names(*PROJECT)
    if not known:
        return
    for document, path in _uses(fleet):
        name = text(document.manifest, *path)
        if name and name != "default" and "{{" not in name and name not in known:
            hint = nearest(name, known)
            severity: Severity | None = None if hint else "warning"
            message = f'AppProject "{name}" is not in the input, which has {listed(known)}'
            yield Issue(document, path, message, hint or "add it, or name another", severity)
    used = (document.namespace for document in fleet.of(APPLICATION, APPLICATION_SET))
    namespaces = Names(dict.fromkeys(namespace for namespace in used if namespace))
    for project in fleet.of(PROJECT):
        near = near_miss(project.namespace or "", namespaces)
        if near and project.namespace not in namespaces:
            message = f'the AppProject is in namespace "{project.namespace}", and its Applications are in "{near}"'
            yield Issue(project, ("metadata", "namespace"), message, f'did you mean "{near}"?')


def _uses(fleet: Fleet) -> Iterator[tuple[Document, Path]]:
    """Where Applications and the templates of ApplicationSets name their project."""
    for application in fleet.of(APPLICATION):
        yield application, ("spec", "project")
    for application_set in fleet.of(APPLICATION_SET):
        yield application_set, ("spec", "template", "spec", "project")
        for index, generator in mappings(application_set.manifest, "spec", "generators"):
            for kind in generator:
                path: Path = ("spec", "generators", index, kind, "template", "spec", "project")
                if application_set.has(path):
                    yield application_set, path


@rule("argocd-project-refuses", severity="error", family=FAMILY)
def project_refuses(fleet: Fleet) -> Iterator[Issue]:
    """An Application uses a repository or a destination that its project does not allow.

    Why: Argo CD marks such an Application as invalid and syncs nothing.
    Fix: Allow it in the AppProject's `sourceRepos` or `destinations`, or name another project.
    """
    projects = {(item.namespace, item.name): item for item in fleet.of(PROJECT)}
    names: dict[int, set[str]] = {}
    for document, at in _uses(fleet) if projects else ():
        names.setdefault(id(document), set()).add(text(document.manifest, *at))
    for application, start, spec in application_specs(fleet) if projects else ():
        for name in sorted(names.get(id(application), ())):
            project = projects.get((application.namespace, name))
            if project is not None:
                yield from _against(project, application, start, spec)


def _against(project: Document, application: Document, start: Path, spec: dict[str, Any]) -> Iterator[Issue]:
    for path, source in sources_of(spec):
        repository = text(source, "repoURL")
        if not repository or "{{" in repository:
            continue
        if not allowed_by(items(project.manifest, "spec", "sourceRepos"), repository):
            message = f'AppProject "{project.name}" does not allow the repository {repository}'
            yield _refused(application, (*start, *path, "repoURL"), message, project, "sourceRepos")
    destination = {key: value for key, value in mapping(spec, "destination").items() if "{{" not in str(value)}
    if destination and not _destination_allowed(project, destination):
        told = " ".join(text(destination, key) for key in ("server", "name", "namespace") if text(destination, key))
        message = f'AppProject "{project.name}" does not allow the destination {told}'
        yield _refused(application, (*start, "destination"), message, project, "destinations")


def _refused(application: Document, path: Path, message: str, project: Document, field: str) -> Issue:
    related = (("what it allows", project, ("spec", field)),)
    return Issue(application, path, message, f"add it to {field}, or name another project", None, related)


def allowed_by(patterns: list[Any], value: str) -> bool:
    """Whether a list of a project's patterns, some of them denials (`!…`), allows the value."""
    given = [pattern for pattern in patterns if isinstance(pattern, str)]
    denied = any(fnmatchcase(value, pattern[1:]) for pattern in given if pattern.startswith("!"))
    return not denied and any(fnmatchcase(value, pattern) for pattern in given if not pattern.startswith("!"))


def _destination_allowed(project: Document, destination: dict[str, Any]) -> bool:
    """Cluster by address or by name, and namespace; a pair that cannot be compared is taken as allowed."""
    allowed = False
    for _, entry in mappings(project.manifest, "spec", "destinations"):
        fits = _fits(entry, destination, "namespace") and _cluster_fits(entry, destination)
        denies = any(str(dig(entry, key) or "").startswith("!") for key in ("server", "name", "namespace"))
        if fits and not denies:
            allowed = True
    return allowed


def _cluster_fits(entry: dict[str, Any], destination: dict[str, Any]) -> bool:
    by = "name" if text(destination, "name") else "server"
    other = "server" if by == "name" else "name"
    if not text(entry, by) and text(entry, other):
        return True  # the input does not tell which address belongs to which name
    return _fits(entry, destination, by)


def _fits(entry: dict[str, Any], destination: dict[str, Any], key: str) -> bool:
    value, pattern = text(destination, key), text(entry, key)
    return not value or fnmatchcase(value, pattern.removeprefix("!"))
