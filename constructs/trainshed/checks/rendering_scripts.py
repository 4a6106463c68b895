"""Traps of rendering: scripts that no kernel starts, volumes whose source got lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import items, mapping, mappings, text
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendering traps"
#: Blank space, or the byte order mark that editors on Windows write.
_LATE_SHEBANG: Final = re.compile(r"\A[\s\ufeff]+#!")
#: An interpreter with more than one argument, and nothing after that line.
_FOLDED: Final = re.compile(r"\A#!\s*\S+(?:[ \t]+\S+){2,}\s*\Z")
#: A first line that ends in a backslash and an n, outside of quotes, and no line end at all.
_ESCAPED: Final = re.compile(r"(?:#!|set -)[^\n\\'\"]*\\n[^\n]*\Z")
_SCRIPT_NAME: Final = re.compile(r"\.(?:sh|bash|py|pl|rb)$|(?:^|/)(?:entrypoint|run|start)$")


@rule("rendering-shebang-not-first", severity="error", family=FAMILY)
def shebang_not_first(fleet: Fleet) -> Iterator[Issue]:
    """A script in a ConfigMap has blank space before its `#!`.

    Why: The kernel looks for `#!` in the first two bytes. Otherwise it refuses to execute the file ("exec format
    error"), or a shell takes it for its own language. A block scalar that begins with an empty line, or a Python string
    that was not stripped, does this.
    Fix: Begin the value with `#!`; in Python, `textwrap.dedent(…).lstrip()`.
    """
    for document in fleet.of(("", "ConfigMap")):
        for key, value in mapping(document.manifest, "data").items():
            if isinstance(value, str) and _LATE_SHEBANG.match(value):
                what = "a byte order mark" if value.startswith("\ufeff") else "blank space"
                message = f'"{key}" has {what} before its #!, so nothing executes it'
                yield Issue(document, ("data", key), message, "begin the value with #!")


@rule("rendering-script-on-one-line", severity="error", family=FAMILY)
def script_on_one_line(fleet: Fleet) -> Iterator[Issue]:
    """A script in a ConfigMap has everything on its `#!` line.

    Why: A folded block scalar (`>`) joins lines with blanks, and so do templates that lose line ends. The kernel hands
    the rest of the line to the interpreter as one argument: no command of the script runs.
    Fix: Write the script as a literal block scalar (`|`).
    """
    for document in fleet.of(("", "ConfigMap")):
        for key, value in mapping(document.manifest, "data").items():
            whole = isinstance(value, str) and _FOLDED.match(value) and not _ESCAPED.match(value)
            if whole and "/env -S" not in value:
                message = f'"{key}" has the whole script on its #! line, so none of it runs'
                yield Issue(document, ("data", key), message, "write it as a literal block scalar (|)")


@rule("rendering-script-crlf", severity="warning", family=FAMILY)
def script_crlf(fleet: Fleet) -> Iterator[Issue]:
    """A script in a ConfigMap or in a container's command has CRLF line ends.

    Why: The kernel looks for an interpreter called `/bin/bash\\r`, and a shell passes the carriage return on as part of
    the last argument of each line.
    Fix: Save the file with LF line ends before it is rendered.
    """
    for document in fleet.of(("", "ConfigMap")):
        for key, value in mapping(document.manifest, "data").items():
            if not isinstance(value, str) or "\r\n" not in value:
                continue
            if value.lstrip().startswith("#!") or (isinstance(key, str) and _SCRIPT_NAME.search(key)):
                message = f'"{key}" is a script with CRLF line ends (carriage returns)'
                yield Issue(document, ("data", key), message, "write it with LF line ends")
    for pod_set, path, value in _odd_scripts(fleet):
        if "\r\n" in value:
            message = "the script has CRLF line ends (carriage returns)"
            yield issue(pod_set, path, message, "write it with LF line ends")


@once
def _odd_scripts(fleet: Fleet) -> list[tuple[PodSet, Path, str]]:
    """(pod set, path in its template, text) of commands and arguments with CRLF or an escaped line end."""
    return [
        (pod_set, (*path, field, index), value)
        for _, pod_set in pod_sets(fleet)
        for path, container in (*pod_set.containers, *pod_set.init_containers)
        for field in ("command", "args")
        for index, value in enumerate(items(container, field))
        if isinstance(value, str) and ("\r\n" in value or "\\n" in value)
    ]


@rule("rendering-escaped-newlines", severity="error", family=FAMILY)
def escaped_newlines(fleet: Fleet) -> Iterator[Issue]:
    """A script has `\\n` in place of line ends.

    Why: In a plain or single-quoted YAML string `\\n` is a backslash and an n. The whole script is one line: after `#!`
    no interpreter is found, and a shell reads `set -e\\ntorchrun` as one strange command.
    Fix: Write the script as a literal block scalar (`|`), or the string in double quotes.
    """
    fix = "write it as a literal block scalar (|), or in double quotes"
    for document in fleet.of(("", "ConfigMap")):
        for key, value in mapping(document.manifest, "data").items():
            if isinstance(value, str) and _ESCAPED.match(value):
                yield Issue(document, ("data", key), f'"{key}" has \\n in place of line ends (newlines)', fix)
    for pod_set, path, value in _odd_scripts(fleet):
        if _ESCAPED.match(value):
            yield issue(pod_set, path, "the script has \\n in place of line ends (newlines)", fix)


@rule("rendering-volume-without-source", severity="warning", family=FAMILY)
def volume_without_source(fleet: Fleet) -> Iterator[Issue]:
    """A volume names no source.

    Why: The API server makes it an emptyDir on the node's disk. Mostly a source was meant and got lost in rendering:
    a memory-backed /dev/shm then is a folder on disk, a claim's data is gone with the pod.
    Fix: Write the source; for shared memory `emptyDir: {medium: Memory, sizeLimit: …}`, for scratch space
    `emptyDir: {}`.
    """
    for _, pod_set in pod_sets(fleet):
        shared = {
            text(mount, "name")
            for _, container in pod_set.containers
            for _, mount in mappings(container, "volumeMounts")
            if text(mount, "mountPath").rstrip("/") == "/dev/shm"
        }
        for index, volume in mappings(pod_set.spec, "volumes"):
            name = text(volume, "name")
            if name and all(value is None for key, value in volume.items() if key != "name"):
                wanted = "emptyDir: {medium: Memory, sizeLimit: …}" if name in shared else "emptyDir: {}"
                message = f'volume "{name}" has no source, so it is an emptyDir on the node\'s disk'
                yield issue(
                    pod_set, ("spec", "volumes", index), message, f"write {wanted}, or the source that was meant"
                )
