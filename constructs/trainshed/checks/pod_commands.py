"""Commands of containers that are written for a shell and run without one, or the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from trainshed.checks.pods import containers, issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, dig, items, mappings, text
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "commands"
_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
#: Programs whose arguments are commands, scripts or expressions of their own.
_READERS: Final = frozenset(
    {"eval", "xargs", "ssh", "parallel", "srun", "su", "runuser", "find", "expr", "test", "[", "envsubst", "awk"}
    | {"jq", "yq", "perl", "ruby", "node", "sed", "busybox", "mpirun", "mpiexec", "pdsh", "watch", "script"}
)
_BUILTINS: Final = frozenset({"cd", "source", ".", "export", "exec", "set", "ulimit", "eval", "unset", "alias", "trap"})
_SYNTAX: Final = frozenset({"&&", "||", "|", ";", ">", ">>", "<", "2>&1", "2>", "&>", "|&"})
_LAUNCHERS: Final = frozenset({"torchrun", "accelerate", "deepspeed", "python", "python3", "torch.distributed.run"})
_VARIABLE: Final = re.compile(r"\$(?:([A-Z_][A-Z0-9_]*)|\{([A-Z_][A-Z0-9_]*)\})")
_POSITIONAL: Final = re.compile(r"\$(?:[@*#0-9]|\{[@*#0-9!])|\bshift\b|\bgetopts\b")
#: Variables that controllers and launchers give.
_GIVEN: Final = frozenset({"JOB_COMPLETION_INDEX", "RANK", "NODE_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})


class _Command(NamedTuple):
    """The words of a command, each with its path in the template; `program`: the image does not come first."""

    pod_set: PodSet
    container: Node
    words: list[tuple[str, Path]]
    program: bool

    @property
    def name(self) -> str:
        """The program, without folders."""
        return self.words[0][0].rpartition("/")[2]

    def reads(self) -> bool:
        """Whether a program among the words reads what follows it by rules of its own."""
        return any(word.rpartition("/")[2] in (_SHELLS | _READERS) for word, _ in self.words)


@once
def _commands(fleet: Fleet) -> list[_Command]:
    """Each command that is written: of containers, of their probes and hooks."""
    found: dict[tuple[int, Path], _Command] = {}
    for workload in chain(fleet.workloads, fleet.templates):
        for pod_set in workload.pod_sets:
            for path, container in containers(pod_set):
                for words, program in _written(container, path):
                    document, place = pod_set.at(words[0][1])
                    found.setdefault((id(document), place), _Command(pod_set, container, words, program))
    return list(found.values())


def _written(container: Node, path: Path) -> Iterator[tuple[list[tuple[str, Path]], bool]]:
    own = [*_words(container, path, ("command",)), *_words(container, path, ("args",))]
    if own:
        yield own, bool(items(container, "command"))
    for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
        if words := _words(container, path, (probe, "exec", "command")):
            yield words, True
    for hook in ("preStop", "postStart"):
        if words := _words(container, path, ("lifecycle", hook, "exec", "command")):
            yield words, True


def _words(container: Node, path: Path, field: Path) -> list[tuple[str, Path]]:
    listed = dig(container, *field)
    found = listed if isinstance(listed, list) else []
    return [(word, (*path, *field, index)) for index, word in enumerate(found) if isinstance(word, str)]


@rule("pod-command-one-word", severity="error", family=FAMILY)
def one_word(fleet: Fleet) -> Iterator[Issue]:
    """A whole command line is written as one word.

    Why: No shell splits `command`: the first item is the program's name. There is no program "torchrun train.py", and
    the container ends with "executable file not found".
    Fix: Write one list item for each word, or let `sh -c` run the line.
    """
    for command in _commands(fleet):
        word, at = command.words[0]
        parts = word.split()
        if command.program and len(parts) > 1 and not word.startswith(("$(", "./")):
            message = f'"{_short(word)}" is one word, so {named(command.container)} looks for a program of that name'
            fix = f"write one item for each word: [{', '.join(parts[:3])}{', …' if len(parts) > 3 else ''}]"
            if any(sign in parts for sign in _SYNTAX) or "\n" in word.strip():
                fix = "let a shell run it: [sh, -c, …]"
            yield issue(command.pod_set, at, message, fix)


@rule("pod-shell-without-c", severity="error", family=FAMILY)
def without_c(fleet: Fleet) -> Iterator[Issue]:
    """A shell is given a command line without `-c`.

    Why: Without `-c` a shell takes its first argument for the name of a script file.
    Fix: Add `-c` before the line.
    """
    for command in _commands(fleet):
        if command.name not in _SHELLS or not command.program:
            continue
        script = _first_argument(command)
        if script is not None and len(script[0].split()) > 1:
            message = f'{command.name} has no -c, and takes "{_short(script[0])}" for the name of a file'
            yield issue(command.pod_set, script[1], message, "add -c before it")


def _first_argument(command: _Command) -> tuple[str, Path] | None:
    """What a shell takes for a file: its first word that is no option; None with `-c` or `-s`."""
    values = 0
    for word, at in command.words[1:]:
        if values:
            values -= 1
        elif word in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            values = 1
        elif word.startswith(("-", "+")):
            if not word.startswith("--") and ("c" in word or "s" in word):
                return None
        else:
            return word, at
    return None


@rule("pod-shell-arguments-lost", severity="error", family=FAMILY)
def arguments_lost(fleet: Fleet) -> Iterator[Issue]:
    """Words after the script of `sh -c` are no arguments of its command.

    Why: `-c` takes exactly one word as the script. What follows becomes `$0`, `$1` and so on of that script, and a
    script that does not use them drops it: `[sh, -c, torchrun, train.py]` runs torchrun without arguments.
    Fix: Write the whole line as one word, or leave the shell out.
    """
    for command in _commands(fleet):
        if command.name not in _SHELLS or not command.program:
            continue
        script, rest = _script(command)
        if script is None or not rest or _POSITIONAL.search(script):
            continue
        if len(rest) > 1 or (len(script.split()) == 1 and rest[0][0] not in (command.name, "--", "_", script)):
            lost = " ".join(word for word, _ in rest)
            message = f'{command.name} -c runs "{_short(script)}" and nothing else: "{_short(lost)}" is not passed on'
            yield issue(command.pod_set, rest[0][1], message, "write the whole line as one word")


def _script(command: _Command) -> tuple[str | None, list[tuple[str, Path]]]:
    """The script after `-c`, and the words behind it."""
    for index, (word, _) in enumerate(command.words[1:], 1):
        if not word.startswith(("-", "+")):
            return None, []
        if not word.startswith("--") and "c" in word and index + 1 < len(command.words):
            return command.words[index + 1][0], command.words[index + 2 :]
    return None, []


@rule("pod-shell-syntax", severity="error", family=FAMILY)
def shell_syntax(fleet: Fleet) -> Iterator[Issue]:
    """A command that no shell runs has words that only a shell understands.

    Why: Kubernetes starts the program itself: `&&`, `|` or `>` are arguments like others, `cd` and `export` are no
    programs, and `$NAME` stays as it is (Kubernetes puts in `$(NAME)` only).
    Fix: Let a shell run the line (`[sh, -c, "cd /app && exec torchrun train.py"]`), or write `$(NAME)`.
    """
    for command in _commands(fleet):
        if command.reads():
            continue
        first, at = command.words[0]
        if command.program and first in _BUILTINS:
            message = f'"{first}" is a word of the shell, not a program that {named(command.container)} could start'
            yield issue(command.pod_set, at, message, 'let a shell run the line: [sh, -c, "…"]')
            continue
        if not command.program and command.name not in _LAUNCHERS:
            continue
        for word, at in command.words[1:]:
            if word in _SYNTAX and command.program:
                message = f'"{word}" is given to {command.name} as an argument: no shell runs this command'
                yield issue(command.pod_set, at, message, 'let a shell run the line: [sh, -c, "…"]')
                break
            if variable := _unexpanded(command, word):
                message = f"{variable[0]} stays as it is: no shell runs this command"
                yield issue(command.pod_set, at, message, f"write $({variable[1]})")


def _unexpanded(command: _Command, word: str) -> tuple[str, str] | None:
    """(as written, name) of a shell variable that the container has; programs with a language of their own aside."""
    if "\n" in word or ";" in word or "'" in word or '"' in word:
        return None
    names = {text(item, "name") for _, item in mappings(command.container, "env")} | _GIVEN
    for match in _VARIABLE.finditer(word):
        name = match[1] or match[2]
        if name in names or name.startswith("PET_"):
            return match[0], name
    return None


def _short(word: str) -> str:
    line = " ".join(word.split())
    return line if len(line) <= 40 else f"{line[:39]}…"
