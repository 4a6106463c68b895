"""What a container really runs: its command and arguments, read through shells and scripts as far as is safe."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.fleet.access import Node, items, mapping, mappings, strings, text
from trainshed.fleet.launchers import Launch, Placed, launch_of
from trainshed.fleet.paths import Path
from trainshed.fleet.pod_environment import Environment, environment
from trainshed.fleet.shell import Command, read_script
from trainshed.fleet.words import Word, expand, literal
from trainshed.fleet.workload import PodSet, Workload

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_DEEPEST: Final = 3


def command_words(container: Node, path: Path, made: Environment) -> tuple[list[Placed], list[tuple[str, Path]]]:
    """command and args with `$(NAME)` put in, each with its path; and the names that are not known. With args alone
    the image's entrypoint comes first; most hand over to their arguments."""
    words: list[Placed] = []
    unknown: list[tuple[str, Path]] = []
    for field in ("command", "args"):
        for index, item in enumerate(items(container, field)):
            at = (*path, field, index)
            if isinstance(item, str):
                missing: list[str] = []
                words.append((expand(item, made.values, missing.append), at))
                unknown += [(name, at) for name in missing]
            elif item is not None:
                words.append(((str(item),), at))
    return words, unknown


class Box(NamedTuple):
    """A container of a pod set as it runs: its environment, its command line, and `$(NAME)`s that nobody defines."""

    pod_set: PodSet
    path: Path
    container: Node
    environment: Environment
    words: list[Placed]
    unknown: list[tuple[str, Path]]


def box_of(fleet: Fleet, workload: Workload, pod_set: PodSet, path: Path, container: Node) -> Box:
    """A container with its environment and command line."""
    made = environment(fleet, workload, pod_set, path, container)
    return Box(pod_set, path, container, made, *command_words(container, path, made))


def launches(fleet: Fleet, workload: Workload, box: Box) -> list[Launch]:
    """The commands of a container: one for the exec form, for a shell those of its script. Empty where only the image
    knows."""
    reader = _Reader(fleet, workload, box.pod_set, box.container)
    return list(reader.read(box.words, box.environment, _DEEPEST))


class _Reader:
    def __init__(self, fleet: Fleet, workload: Workload, pod_set: PodSet, container: Node) -> None:
        self.fleet = fleet
        self.workload = workload
        self.pod_set = pod_set
        self.container = container

    def read(self, words: list[Placed], made: Environment, levels: int) -> Iterator[Launch]:
        """The launches of one command line."""
        found = self._script(words) if levels else None
        if found is None:
            if launch := launch_of(words, made):
                yield launch
            return
        script, at = found
        read = read_script(script, made.values)
        if not read.whole:
            return
        for command in read.commands:
            inner = _within(made, command)
            placed = [(word, at) for word in command.words]
            for launch in self.read(placed, inner, levels - 1):
                launch.conditional = launch.conditional or command.conditional
                launch.opaque = launch.opaque or command.opaque
                launch.shell = launch.shell or not (command.execs or command.alone)
                launch.busy = launch.busy or len(read.commands) > 1
                launch.traps = launch.traps or read.traps
                yield launch

    def _script(self, words: list[Placed]) -> tuple[Word, Path] | None:
        """The script that a shell is given: its `-c` string, or a file from a ConfigMap of the input."""
        if not words:
            return None
        name = (literal(words[0][0]) or "").rpartition("/")[2]
        if name not in _SHELLS:
            if name in ("tini", "dumb-init", "env") and len(words) > 1:
                rest = [word for word in words[1:] if not (literal(word[0]) or "-").startswith("-")]
                return self._script(rest)
            return self._file(words[0])
        for index, (word, _) in enumerate(words[1:], 1):
            option = literal(word) or ""
            if option.startswith("-") and not option.startswith("--") and "c" in option and index + 1 < len(words):
                return words[index + 1]
            if not option.startswith(("-", "+")):
                return self._file(words[index])
        return None

    def _file(self, word: Placed) -> tuple[Word, Path] | None:
        path = literal(word[0])
        if not path or "/" not in path:
            return None
        content = self._mounted(posixpath.normpath(posixpath.join(text(self.container, "workingDir") or "/", path)))
        if content is None or (content.startswith("#!") and "sh" not in content.split("\n", 1)[0]):
            return None
        if not content.startswith("#!") and path.endswith((".py", ".pl", ".rb")):
            return None
        return (content,), word[1]

    def _mounted(self, path: str) -> str | None:
        for _, mount in mappings(self.container, "volumeMounts"):
            folder = text(mount, "mountPath").rstrip("/")
            key = text(mount, "subPath")
            if folder and ((path == folder and key) or posixpath.dirname(path) == folder):
                return self._content(text(mount, "name"), key if path == folder else posixpath.basename(path))
        return None

    def _content(self, volume: str, file: str) -> str | None:
        for _, item in mappings(self.pod_set.spec, "volumes"):
            if text(item, "name") == volume:
                source = mapping(item, "configMap")
                name = text(source, "name")
                found = self.fleet.namespaces.find("", "ConfigMap", self.workload.namespace, name) if name else None
                renamed = {text(entry, "path"): text(entry, "key") for _, entry in mappings(source, "items")}
                data = strings(found.manifest, "data") if found and found.judged else {}
                return data.get(renamed.get(file, file))
        return None


def _within(made: Environment, command: Command) -> Environment:
    """The environment of a command in a script: what the shell has set has no place of its own."""
    changed = {name for name, word in command.variables.items() if made.values.get(name) != word}
    if not changed:
        return made
    paths = {name: path for name, path in made.paths.items() if name not in changed}
    return Environment(command.variables, paths, made.complete and not command.opaque, made.unknown)
