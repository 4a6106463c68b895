"""Runs the app that `cdk8s.yaml` names, in this process, and takes the files it renders."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.app_config import CONFIG, AppConfig
from trainshed.gitops.failures import Told, ended_by
from trainshed.gitops.publish import Files, received_by
from trainshed.gitops.stack_imports import import_from_source, pin


def render_app(folder: Path, config: AppConfig) -> Files:
    """The files the app renders, by path below `dist/`. Raises Faults, and Told when the app has told its own."""
    received: list[Files] = []
    sys.path.insert(0, str(folder))
    import_from_source(folder)
    arguments, sys.argv = sys.argv, [config.name, *config.arguments]
    try:
        with received_by(received.append):
            if config.module:
                pin(config.module.partition(".")[0], folder)
                runpy.run_module(config.module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(folder / str(config.script)), run_name="__main__")
    except Told:
        raise
    except SystemExit as stopped:
        if not received or stopped.code not in (None, 0):  # otherwise it has ended well: sys.exit(main())
            raise Faults([ended_by(stopped)]) from None
    finally:
        sys.argv = arguments
        sys.path.remove(str(folder))
    if not received:
        raise Faults([Fault("never calls app.synth()", f'app "{config.name}"', place=Place(CONFIG))])
    return received[-1]
