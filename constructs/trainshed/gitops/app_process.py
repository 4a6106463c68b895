"""The app in a process of its own, which must say that it has finished.

A stack is a program: it may end its process (`os._exit`), replace it, or be killed for memory. What it had rendered by
then is no `dist/`, and an exit code of 0 is no promise; so the files count only once the process has handed over all of
them, in one message, and then ended with 0. Its standard output carries that message; what a stack prints goes to
stderr.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Final

from trainshed.faults import Fault, Faults, Place
from trainshed.gitops.app_config import CONFIG, AppConfig
from trainshed.gitops.publish import File, Files

_FILES: Final = b"trainshed files"
_TOLD: Final = b"trainshed told"


class ToldAlready(Exception):  # noqa: N818  (reads as what happened)
    """The app has told its mistakes itself, on stderr."""


class AppProcess:
    """A running app."""

    def __init__(self, process: subprocess.Popen[bytes], config: AppConfig) -> None:
        self._process = process
        self._config = config

    def files(self) -> Files:
        """What the app has rendered, waiting for it. Raises ToldAlready, and Faults when it did not finish."""
        stream = self._process.stdout
        assert stream is not None
        head, _, length = stream.readline().strip().rpartition(b" ")
        if head == _TOLD:
            raise ToldAlready
        data = stream.read(int(length)) if head == _FILES else b""
        if head != _FILES or len(data) != int(length):
            raise Faults([self._unfinished()])
        return {path: File(text, manifest, _place(place)) for path, (text, manifest, place) in json.loads(data).items()}

    def wait(self) -> None:
        """Until the process has ended. Raises Faults unless it ended well."""
        if self._process.wait():
            raise Faults([self._unfinished()])

    def _unfinished(self) -> Fault:
        code = self._process.wait()
        if code < 0:
            name = signal.Signals(-code).name if -code in {*signal.Signals} else str(-code)
            told = f"was ended by signal {name} before it had finished"
            fix = "give it more memory, or render fewer tenants" if name == "SIGKILL" else "render again"
        else:
            told = f"ended with exit code {code} before it had finished"
            fix = "look in the stacks for os._exit(), os.exec…() and libraries that end the process"
        return Fault(told, f'app "{self._config.name}"', "", fix, Place(CONFIG))


@contextmanager
def started(folder: Path, config: AppConfig) -> Iterator[AppProcess]:
    """The app of `folder`, running; it ends with this context at the latest."""
    given = {**asdict(config), "dist": str(config.dist)}
    command = [sys.executable, "-P", "-m", "trainshed.gitops.app_child", str(folder), json.dumps(given)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield AppProcess(process, config)
        finally:
            if process.poll() is None:
                process.kill()


def sent(stream: BinaryIO, files: Files | None) -> None:
    """Says to the one who started this process that the app has finished; without files, that its faults are told."""
    data = b"" if files is None else json.dumps(files, default=_plain).encode("utf-8", "surrogatepass")
    stream.write(b"%s %d\n" % (_TOLD if files is None else _FILES, len(data)))
    stream.write(data)
    stream.flush()


def _plain(value: object) -> object:
    if isinstance(value, Place):
        return (value.file, value.line, value.column)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not plain data")


def _place(given: Any) -> Place | None:
    return Place(*given) if given else None


def private_stdout() -> BinaryIO:
    """This process' standard output for `sent` alone; whatever else is printed goes to stderr from now on."""
    sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stream
