"""`python -m trainshed.gitops.app_child FOLDER CONFIG`: the process that `app_process.started` starts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Renders the app and hands its files over; exit 1 when there are faults, which are told on stderr."""
    from trainshed.gitops.app_process import private_stdout, sent

    stream = private_stdout()
    from trainshed.gitops.app_config import AppConfig
    from trainshed.gitops.failures import Told, faults_reported
    from trainshed.gitops.run_app import render_app

    given = json.loads(sys.argv[2])
    config = AppConfig(given["module"], given["script"], tuple(given["arguments"]), Path(given["dist"]))
    try:
        with faults_reported():
            files = render_app(Path(sys.argv[1]), config)
    except Told:
        sent(stream, None)
        raise
    sent(stream, files)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        os._exit(130)
    except BrokenPipeError:  # whoever started this has ended
        os._exit(1)
