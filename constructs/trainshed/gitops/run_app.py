"""Runs the app that `cdk8s.yaml` names, in this process, and takes the files it renders."""

from __future__ import annotations

import runpy
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

import yaml

from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.publish import SCRATCH, received_by

CONFIG = "cdk8s.yaml"


class CannotRun(Exception):  # noqa: N818  (reads as what happened)
    """The command cannot start at all: a missing or unusable `cdk8s.yaml` or app. Exit code 2."""


@dataclass(frozen=True)
class AppConfig:
    """What `cdk8s.yaml` says: the module or script of the app, its arguments, and the folder of rendered manifests."""

    module: str | None
    script: str | None
    arguments: tuple[str, ...]
    dist: Path


def read_config(folder: Path) -> AppConfig:
    """The app of the repository in `folder`. Raises CannotRun, saying what is missing or unusable."""
    path = folder / CONFIG
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CannotRun(
            f"{CONFIG}: {error.strerror or error}; run this in the root of a repository made by `trainshed init`"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CannotRun(f"{CONFIG}: is not YAML: {' '.join(str(error).split())}") from None
    app = config.get("app") if isinstance(config, Mapping) else None
    words = _words(app)
    if len(words) < 2 or not Path(words[0]).name.startswith("python"):
        told = f"is {app!r}" if app else "is missing"
        raise CannotRun(f'{CONFIG}: app {told}; write "python -m <package>" or "python <file>"')
    output = Path(str(config.get("output") or "dist"))
    dist = folder / (output.name if output.parent.name == SCRATCH else output)
    if words[1] == "-m" and len(words) > 2:
        found = AppConfig(words[2], None, tuple(words[3:]), dist)
    else:
        found = AppConfig(None, words[1], tuple(words[2:]), dist)
    if missing := _missing(folder, found):
        raise CannotRun(f"{CONFIG}: {missing}")
    return found


def render_app(folder: Path, config: AppConfig) -> Mapping[str, str]:
    """The files the app renders, by path below `dist/`. Raises Faults, and SystemExit when the app ends with an
    error of its own."""
    received: list[Mapping[str, str]] = []
    sys.path.insert(0, str(folder))
    arguments, sys.argv = sys.argv, [config.script or config.module or "", *config.arguments]
    try:
        with received_by(received.append):
            if config.module:
                runpy.run_module(config.module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(folder / str(config.script)), run_name="__main__")
    except SystemExit as stopped:
        if stopped.code not in (None, 0):  # otherwise it has ended well: sys.exit(main())
            raise
    finally:
        sys.argv = arguments
        sys.path.remove(str(folder))
    if not received:
        raise Faults([Fault("never calls app.synth()", f'app "{config.script or config.module}"', place=Place(CONFIG))])
    return received[-1]


def _missing(folder: Path, config: AppConfig) -> str:
    """What the app's command names that is not there. A module inside a package is left to the import itself."""
    if config.script is not None:
        return "" if (folder / config.script).is_file() else f"there is no file {config.script}"
    module = str(config.module)
    if "." in module:
        return ""
    found = PathFinder.find_spec(module, [str(folder), *sys.path])
    if found is None:
        return f'there is no module "{module}"'
    folders = found.submodule_search_locations or []
    is_package = found.submodule_search_locations is not None
    if is_package and not any((Path(place) / "__main__.py").is_file() for place in folders):
        return f'package "{module}" has no __main__.py'
    return ""


def _words(app: object) -> list[str]:
    try:
        return shlex.split(app) if isinstance(app, str) else []
    except ValueError:  # a quotation mark without its partner
        return []
