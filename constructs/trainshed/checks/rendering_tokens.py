"""Traps of rendering: tokens of cdk8s that nothing replaced, scripts that may not be executed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.pods import issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, items, mappings, text
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendering traps"
_TOKEN: Final = re.compile(r"\$\{Token\[[^\]]*\]\}|#\{Token\[[^\]]*\]\}")
_DEEPEST: Final = 40


@rule("rendering-token-left", severity="error", family=FAMILY)
def token_left(fleet: Fleet) -> Iterator[Issue]:
    """A value is a token of cdk8s that was never resolved.

    Why: Values that are known only at the end, such as another object's name, are passed on as `${Token[…]}` and
    replaced when the chart is written. One that was cut, joined into a JSON text or written by another tool stays as it
    is, and the cluster takes it literally.
    Fix: Hand the value on whole, as `Lazy`, or write it out.
    """
    for document in fleet.documents:
        extent = document.extent
        if not document.judged or extent.source.text.find("Token[", extent.start, extent.end) < 0:
            continue
        for path, value in _tokens(document.manifest, ()):
            message = f"{value} is a token of cdk8s that was not resolved"
            yield Issue(document, path, message, "write the value itself, a string")


def _tokens(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        if "Token[" in node and (found := _TOKEN.search(node)):
            yield path, found[0]
    elif len(path) > _DEEPEST:
        return
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _tokens(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _tokens(value, (*path, index))


@rule("rendering-script-not-executable", severity="error", family=FAMILY)
def script_not_executable(fleet: Fleet) -> Iterator[Issue]:
    """A container starts a file of a ConfigMap that may not be executed.

    Why: Files of ConfigMap and Secret volumes have the mode 0644 unless `defaultMode` (or the item's `mode`) says
    otherwise. Without the x bit the container does not start: "permission denied".
    Fix: Write `defaultMode: 0755` (493 in JSON), or start it as `bash <file>`.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in (*pod_set.containers, *pod_set.init_containers):
            command = items(container, "command")
            program = command[0] if command and isinstance(command[0], str) else ""
            if program.startswith("/") and (found := _mounted(pod_set, container, program)):
                kind, name, mode = found
                message = (
                    f"{named(container)} starts {program}, a file of {kind} {name} with the mode {mode:#o}, which "
                )
                message += "nobody may execute: permission denied"
                fix = "write defaultMode: 0755 (493 in JSON), or start it with bash"
                yield issue(pod_set, (*path, "command", 0), message, fix)


def _mounted(pod_set: PodSet, container: Node, program: str) -> tuple[str, str, int] | None:
    """(kind, name, mode) of the ConfigMap or Secret that a program is a file of, where it may not be executed."""
    mounts = [mount for _, mount in mappings(container, "volumeMounts") if _below(program, text(mount, "mountPath"))]
    mount = max(mounts, key=lambda item: len(text(item, "mountPath")), default=None)
    for _, volume in mappings(pod_set.spec, "volumes") if mount is not None else ():
        if text(volume, "name") != text(mount, "name"):
            continue
        for field, kind, name in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            source = volume.get(field)
            if not isinstance(source, dict):
                continue
            mode = source.get("defaultMode", 0o644)
            inside = text(mount, "subPath") or program[len(text(mount, "mountPath").rstrip("/")) + 1 :]
            for _, item in mappings(source, "items"):
                if posixpath.normpath(text(item, "path")) == inside:
                    mode = item.get("mode", mode)
            if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode <= 0o777 and not mode & 0o111:
                return kind, text(source, name), mode
    return None


def _below(program: str, folder: str) -> bool:
    return bool(folder) and (program == folder or program.startswith(folder.rstrip("/") + "/"))
