"""Commands that start training processes, and their options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from trainshed.fleet.paths import Path
from trainshed.fleet.pod_environment import Environment
from trainshed.fleet.words import Word, joined, literal, shown

Kind = Literal["torchrun", "accelerate", "deepspeed", "mpi", "ray", "python", "other"]

_PYTHON: Final = re.compile(r"python[0-9.]*")
_PYTHON_FLAGS_WITH_VALUE: Final = ("-W", "-X")
#: Programs that start the program that follows them.
_WRAPPERS: Final = frozenset(
    {
        "env",
        "nohup",
        "time",
        "timeout",
        "nice",
        "ionice",
        "stdbuf",
        "sudo",
        "gosu",
        "su-exec",
        "tini",
        "dumb-init",
        "catatonit",
        "numactl",
        "taskset",
        "chrt",
        "nsys",
        "ncu",
        "strace",
        "ddtrace-run",
        "opentelemetry-instrument",
        "uv",
        "poetry",
        "pipenv",
        "conda",
        "micromamba",
        "mamba",
        "pixi",
        "xvfb-run",
        "setsid",
        "unbuffer",
        "nvidia_entrypoint.sh",
        "catchsegv",
    }
)
_TORCH_MODULES: Final = ("torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic.run")
_TORCH_SWITCHES: Final = frozenset(
    {"standalone", "m", "module", "no-python", "run-path", "use-env", "virtual-local-rank"}
)
_SHORT: Final = {"r": "redirects", "t": "tee", "m": "module", "h": "help"}
_ACCELERATE_SWITCHES: Final = frozenset(
    {
        "cpu",
        "multi-gpu",
        "tpu",
        "use-mps-device",
        "ipex",
        "debug",
        "no-python",
        "m",
        "module",
        "quiet",
        "use-deepspeed",
        "use-fsdp",
        "use-megatron-lm",
        "use-xpu",
        "same-network",
        "no-local-rank",
        "dynamo-use-fullgraph",
        "dynamo-use-dynamic",
        "use-parallelism-config",
    }
)
_DEEPSPEED_SWITCHES: Final = frozenset(
    {
        "module",
        "no-python",
        "no-local-rank",
        "no-ssh",
        "no-ssh-check",
        "force-multi",
        "enable-each-rank-log",
        "save-pid",
    }
)
#: What the options of other launchers are called by torchrun.
_ACCELERATE_NAMES: Final = {
    "num-machines": "nnodes",
    "machine-rank": "node-rank",
    "main-process-ip": "master-addr",
    "main-process-port": "master-port",
}


class Option(NamedTuple):
    """A value that a launcher is given: as `label` is written (`--nnodes`, `PET_NNODES`), at `path` in the template."""

    word: Word
    path: Path
    label: str


@dataclass
class Launch:
    """A command of a container. `options` by torchrun's names with hyphens; `script` is what is started, with `rest`.

    `path` is where it is written. `conditional`: it may not run, or not alone. `opaque`: options may come from what the
    manifest does not tell. `shell`: a shell starts it and stays in front of it. `busy`: that shell has other commands.
    `keeps_codes`: it is the launcher of Trainshed's trainer, which is torchrun but for the exit code: its workers'.
    """

    kind: Kind
    name: str
    path: Path
    environment: Environment
    options: dict[str, Option] = field(default_factory=dict)
    rest: list[Word] = field(default_factory=list)
    conditional: bool = False
    opaque: bool = False
    shell: bool = False
    busy: bool = False
    traps: bool = False
    keeps_codes: bool = False

    def option(self, name: str) -> Option | None:
        """An option of torchrun: the flag, else the variable `PET_<NAME>`; of other launchers: the flag."""
        if name in self.options:
            return self.options[name]
        return self.variable(f"PET_{name.upper().replace('-', '_')}") if self.kind == "torchrun" else None

    def variable(self, name: str) -> Option | None:
        """An environment variable; where a controller adds it, it stands at the container."""
        word = self.environment.values.get(name)
        if word is None:
            return None
        return Option(word, self.environment.paths.get(name, self.path), name)

    @property
    def script(self) -> Word:
        """The program that the launcher starts."""
        return self.rest[0] if self.rest else ()


Placed = tuple[Word, Path]


def launch_of(words: Sequence[Placed], environment: Environment) -> Launch | None:
    """What a command line starts; None for an empty one. Wrappers such as `numactl` are looked through."""
    if not words:
        return None
    name = _base(words[0][0])
    if name in _WRAPPERS:
        for index in range(1, len(words)):
            if _is_launcher(words[index:]):
                return launch_of(words[index:], environment)
        return Launch("other", name, words[0][1], environment, rest=[word for word, _ in words[1:]])
    kind, skipped = _kind(words)
    made = Launch(kind, name, words[0][1], environment)
    made.keeps_codes = kind == "torchrun" and literal(words[skipped - 1][0]) == "launch"
    _options(made, words[skipped:])
    return made


def _base(word: Word) -> str:
    text = literal(word)
    return text.rpartition("/")[2] if text else ""


def _is_launcher(words: Sequence[Placed]) -> bool:
    return _base(words[0][0]) not in _WRAPPERS and _kind(words)[0] != "other"


def _kind(words: Sequence[Placed]) -> tuple[Kind, int]:
    """The launcher, and how many words name it."""
    name = _base(words[0][0])
    texts = [literal(word) for word, _ in words[1:10]]
    if name == "torchrun":
        return "torchrun", 1
    if name == "accelerate" and texts[:1] == ["launch"]:
        return "accelerate", 2
    if name == "deepspeed":
        return "deepspeed", 1
    if name in ("mpirun", "mpiexec", "horovodrun"):
        return "mpi", 1
    if name == "ray":
        return "ray", 1
    if not _PYTHON.fullmatch(name):
        return "other", 1
    index = 0
    while index < len(texts) and (text := texts[index]) is not None and text.startswith("-"):
        if text == "-m" and index + 1 < len(texts):
            module = texts[index + 1]
            if module in _TORCH_MODULES:
                return "torchrun", index + 3
            if module == "trainer" and texts[index + 2 : index + 3] == ["launch"]:
                return "torchrun", index + 4
            if module == "accelerate.commands.launch":
                return "accelerate", index + 3
            if module in ("deepspeed", "deepspeed.launcher.runner"):
                return "deepspeed", index + 3
            break
        if text == "-c":
            break
        index += 2 if text in _PYTHON_FLAGS_WITH_VALUE else 1
    return "python", 1


def _options(made: Launch, words: Sequence[Placed]) -> None:
    """Options up to the first word that is none: the script. A gap among them may be any number of options."""
    switches = {"torchrun": _TORCH_SWITCHES, "accelerate": _ACCELERATE_SWITCHES, "deepspeed": _DEEPSPEED_SWITCHES}
    if made.kind not in switches:
        made.rest = [word for word, _ in words]
        return
    index = 0
    while index < len(words):
        word, path = words[index]
        first = word[0] if word else ""
        if not isinstance(first, str):
            made.opaque = True
            index += 1
            continue
        if not first.startswith("-") or first == "-":
            break
        index += 1
        if first == "--":
            break
        written, equals, value = first.partition("=")
        name = _name(made.kind, written)
        if equals:
            made.options[name] = Option(joined([value, *word[1:]]), path, written)
        elif name in switches[made.kind]:
            made.options[name] = Option(("true",), path, written)
        elif index < len(words):
            made.options[name] = Option(words[index][0], words[index][1], written)
            index += 1
    made.rest = [word for word, _ in words[index:]]


def _name(kind: Kind, written: str) -> str:
    name = written.lstrip("-").replace("_", "-")
    if kind == "accelerate":
        return _ACCELERATE_NAMES.get(name, name)
    return _SHORT.get(name, name) if not written.startswith("--") else name


def command_line(words: Sequence[Word]) -> str:
    """A command line for people."""
    return " ".join(shown(word) for word in words)
