"""What `cdk8s.yaml` says: which app to run, and where its manifests go."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from trainshed.faults import Fault, Faults, Place, nearest
from trainshed.gitops.hand_written import read_text

CONFIG = "cdk8s.yaml"
SCRATCH = ".cdk8s"


class CannotRun(Exception):  # noqa: N818  (reads as what happened)
    """The command cannot start at all: a missing or unusable `cdk8s.yaml` or app. Exit code 2."""


@dataclass(frozen=True)
class AppConfig:
    """The module or script of the app, its arguments, and the folder of rendered manifests."""

    module: str | None
    script: str | None
    arguments: tuple[str, ...]
    dist: Path

    @property
    def name(self) -> str:
        """What messages call the app."""
        return self.script or self.module or ""


def read_config(folder: Path) -> AppConfig:
    """The app of the repository in `folder`. Raises CannotRun, saying what is missing or unusable."""
    config, marks = _parsed(folder)
    given = config if isinstance(config, Mapping) else {}
    app = given.get("app")
    words = _words(app)
    if len(words) < 2 or not Path(words[0]).name.startswith("python"):
        told = f"is {app!r}" if app else "is missing"
        if misspelt := next((str(key) for key in given if not app and nearest(str(key), ["app"])), ""):
            raise CannotRun(f'{CONFIG}: "{misspelt}" is not known; did you mean "app"?')
        raise CannotRun(f'{CONFIG}: app {told}; write "python -m <package>" or "python <file>"')
    if shell := next((word for word in words if _SHELL.search(word)), ""):
        told = f"is {app!r}, and no shell runs it: {shell!r} would be one of its arguments"
        raise CannotRun(f'{CONFIG}: app {told}; write "python -m <package>" or "python <file>" alone')
    if words[1] != "-m" and words[1].startswith("-"):
        raise CannotRun(f'{CONFIG}: app is {app!r}; write "python -m <package>" or "python <file>"')
    if wrong := _wrong_output(folder, given.get("output")):
        raise CannotRun(str(Fault(wrong, field="output", fix=_OUTPUT_FIX, place=marks.get("output", Place(CONFIG)))))
    output = Path(given.get("output") or "dist")
    dist = folder / (published_beside(output) or output)
    if words[1] == "-m" and len(words) > 2:
        found = AppConfig(words[2], None, tuple(words[3:]), dist)
    else:
        found = AppConfig(None, words[1], tuple(words[2:]), dist)
    if missing := _missing(folder, found):
        raise CannotRun(f"{CONFIG}: {missing}")
    if _is_inside(found, dist.relative_to(folder)):
        wrong = f'is "{given.get("output") or "dist"}", and the app itself stands in {dist.relative_to(folder)}/'
        raise CannotRun(str(Fault(wrong, field="output", fix=_OUTPUT_FIX, place=marks.get("output", Place(CONFIG)))))
    return found


def _parsed(folder: Path) -> tuple[Any, dict[str, Place]]:
    """What the file holds, and where the value of each key stands."""
    path = folder / CONFIG
    try:
        text = read_text(path, CONFIG)
        return yaml.safe_load(text), _marks(text)
    except Faults as error:
        raise CannotRun(str(error)) from None
    except OSError as error:
        raise CannotRun(f"{CONFIG}: {error.strerror or error}; {_where_to_run(folder)}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(CONFIG, mark.line + 1, mark.column + 1) if mark else Place(CONFIG)
        raise CannotRun(str(Fault(f"is not YAML: {error.problem or error.context}", place=place))) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise CannotRun(f"{CONFIG}: is not YAML: {' '.join(str(error).split())}") from None


def _where_to_run(folder: Path) -> str:
    for levels, above in enumerate(folder.resolve().parents, 1):
        if (above / CONFIG).is_file():
            return f"run this in {above}, {'one level' if levels == 1 else f'{levels} levels'} up"
    return "run this in the root of a repository made by `trainshed init`, or write one: `app: python stack.py`"


def published_beside(outdir: Path) -> Path | None:
    """`dist` for `.cdk8s/dist`; None for any other output folder."""
    return outdir.parent.parent / outdir.name if outdir.parent.name == SCRATCH else None


#: What only a shell understands.
_SHELL = re.compile(r"[;&|<>`]|\$\(")
_OUTPUT_FIX = f"name a folder of this repository, for example {SCRATCH}/dist"


def _wrong_output(folder: Path, output: Any) -> str:
    """Why stale files must not be removed from `output`; empty when it is a folder of the repository's own."""
    if output is None:
        output = "dist"
    if not isinstance(output, str) or not output.strip() or "\0" in output:
        return f"is {output!r}, not a path"
    parts = PurePosixPath(output.replace("\\", "/")).parts
    if Path(output).is_absolute() or parts[:1] == ("/",) or re.match("[A-Za-z]:", output):
        return f'is the absolute path "{output}"'
    if ".." in parts or not parts or parts[0] == "~":
        return f'is "{output}", which is no folder below this one'
    try:
        root = folder.resolve()
        for path in (Path(output), published_beside(Path(output))):
            real = (folder / path).resolve() if path else None
            if real and (real == root or root not in real.parents):
                return f'is "{output}", and {path} leads out of this folder, to {real}'
            if path and (folder / path).is_symlink() and not (folder / path).exists():
                return f'is "{output}", and {path} is a symbolic link that leads nowhere'
    except (OSError, RuntimeError):  # RuntimeError: a symbolic link to itself, before Python 3.13
        return f'is "{output}", a symbolic link that leads nowhere'
    return ""


def _marks(text: str) -> dict[str, Place]:
    """Where the value of each key stands."""
    root = yaml.compose(text, yaml.CSafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return {}
    return {
        str(key.value): Place(CONFIG, value.start_mark.line + 1, value.start_mark.column + 1)
        for key, value in root.value
    }


def _missing(folder: Path, config: AppConfig) -> str:
    """What the app's command names that is not there. A module inside a package is left to the import itself.

    Only this folder counts: an installed package of the same name would be another repository's stacks.
    """
    if config.script is not None:
        return "" if (folder / config.script).is_file() else f"there is no file {config.script}"
    module = str(config.module)
    found = PathFinder.find_spec(module.partition(".")[0], [str(folder)])
    if found is None:
        return f'there is no module "{module}" in this folder'
    if "." in module:
        return ""
    folders = found.submodule_search_locations or []
    is_package = found.submodule_search_locations is not None
    if is_package and not any((Path(place) / "__main__.py").is_file() for place in folders):
        return f'package "{module}" has no __main__.py'
    return ""


def _is_inside(config: AppConfig, dist: Path) -> bool:
    """Whether the app is part of what it would write: the output folder holds nothing but generated files."""
    own = Path(config.script or str(config.module).replace(".", "/"))
    return Path(os.path.normpath(dist)) in (own, *Path(os.path.normpath(own)).parents[:-1])


def _words(app: object) -> list[str]:
    try:
        return shlex.split(app) if isinstance(app, str) else []
    except ValueError:  # a quotation mark without its partner
        return []
