"""Runs the app that `cdk8s.yaml` names, in this process, and takes the files it renders."""

from __future__ import annotations

import runpy
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.publish import SCRATCH, received_by

CONFIG = "cdk8s.yaml"


class CannotRun(Exception):  # noqa: N818  (reads as what happened)
    """The command cannot start at all: a missing or unusable `cdk8s.yaml`. Exit code 2."""


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
    except yaml.YAMLError as error:
        raise CannotRun(f"{CONFIG}: is not YAML: {' '.join(str(error).split())}") from None
    app = config.get("app") if isinstance(config, Mapping) else None
    words = shlex.split(app) if isinstance(app, str) else []
    if len(words) < 2 or not Path(words[0]).name.startswith("python"):
        raise CannotRun(f'{CONFIG}: app is {app!r}; write "python -m <package>" or "python <file>"')
    output = Path(str(config.get("output", "dist")))
    dist = folder / (output.name if output.parent.name == SCRATCH else output)
    if words[1] == "-m" and len(words) > 2:
        return AppConfig(words[2], None, tuple(words[3:]), dist)
    return AppConfig(None, words[1], tuple(words[2:]), dist)


def render_app(folder: Path, config: AppConfig) -> Mapping[str, str]:
    """The files the app renders, by path below `dist/`. Raises Faults, or ends the process as the app does."""
    received: list[Mapping[str, str]] = []
    sys.path.insert(0, str(folder))
    arguments, sys.argv = sys.argv, [config.script or config.module or "", *config.arguments]
    try:
        with received_by(received.append):
            if config.module:
                runpy.run_module(config.module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(folder / str(config.script)), run_name="__main__")
    except ImportError as error:
        if error.name != config.module:
            raise
        raise Faults([Fault(f'app "{config.module}" cannot be imported', place=Place(CONFIG))]) from None
    finally:
        sys.argv = arguments
        sys.path.remove(str(folder))
    if not received:
        raise Faults([Fault("the app never calls app.synth()", place=Place(config.script or str(config.module)))])
    return received[-1]
