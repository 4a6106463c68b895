"""From paths to texts: which files are read, their limits and their encodings. Nothing here knows YAML.

`os` instead of `pathlib`: on ten thousand small files pathlib would cost more than the reading.
"""
# ruff: noqa: PTH116

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from trainshed.faults import Place
from trainshed.fleet.finding import Finding
from trainshed.fleet.source import Source

#: A named pipe that nobody opens for writing so long is given up.
PIPE_SECONDS: Final = 10.0
STDIN_NAME: Final = "<stdin>"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__"})
_BOMS: Final = (  # UTF-32 LE starts like UTF-16 LE, so it comes first
    (codecs.BOM_UTF8, "utf-8", ""),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


class Entry(NamedTuple):
    """One file to read: its name to print, the path given by the user, and whether that path was this file."""

    file: str
    root: str
    explicit: bool


class Sources:
    """The inputs behind some paths, in order, each file once; problems are collected in `findings`."""

    def __init__(self, paths: Sequence[str], stdin: BinaryIO | None, max_bytes: int) -> None:
        self.findings: list[Finding] = []
        self.chart_templates = 0
        self.binary_files = 0
        self._paths = paths
        self._stdin = stdin
        self._max_bytes = max_bytes
        self._seen_files: set[tuple[int, int]] = set()
        self._seen_folders: set[tuple[int, int]] = set()

    def __iter__(self) -> Iterator[Source]:
        for path in self._paths:
            if path == "-":
                stream = self._stdin if self._stdin is not None else sys.stdin.buffer
                yield from self._decoded(Entry(STDIN_NAME, path, True), self._read_stream(stream))
                continue
            for entry in self._entries(path):
                yield from self._decoded(entry, self._read_file(entry))

    def _entries(self, path: str) -> Iterator[Entry]:
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            self._unreadable(path, error)
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._walk(path, path)
        else:
            yield Entry(path, path, True)

    def _walk(self, root: str, folder: str) -> Iterator[Entry]:
        pending = [folder]
        while pending:
            folder = pending.pop()
            try:
                status = os.stat(folder)
                children = sorted(os.scandir(folder), key=lambda child: child.name)
            except OSError as error:
                self._unreadable(folder, error)
                continue
            identity = (status.st_dev, status.st_ino)
            if identity in self._seen_folders:
                continue
            self._seen_folders.add(identity)
            chart = any(child.name == "Chart.yaml" for child in children)
            folders = []
            for child in children:
                name = child.name
                if name[0] == "." or name in _SKIPPED_FOLDERS:
                    continue
                if _is_folder(child):
                    if chart and name == "templates":
                        self._chart(folder, child.path)
                    else:
                        folders.append(child.path)
                elif name.endswith(SUFFIXES) and _is_file_or_broken(child):  # a pipe would block
                    yield Entry(child.path, root, False)
            pending.extend(reversed(folders))

    def _chart(self, folder: str, templates: str) -> None:
        self.chart_templates += 1
        self.findings.append(
            Finding(
                "template-not-rendered",
                "info",
                "the templates of this Helm chart are not judged: they are not YAML before Helm has rendered them",
                f"check what `helm template {folder}` prints",
                place=Place(os.path.join(folder, "Chart.yaml")),  # noqa: PTH118  (pathlib costs more than the read)
            )
        )

    def _read_file(self, entry: Entry) -> bytes | None:
        try:
            with open(entry.file, "rb", buffering=0, opener=_opened) as file:
                status = os.fstat(file.fileno())
                regular = stat.S_ISREG(status.st_mode)
                if not regular and not entry.explicit:
                    return None
                if regular:
                    identity = (status.st_dev, status.st_ino)
                    if identity in self._seen_files:
                        return None
                    self._seen_files.add(identity)
                    if status.st_size > self._max_bytes:
                        self._too_large(entry.file)
                        return None
                first = b""
                if not regular:
                    first = _first_bytes(file.fileno()) if stat.S_ISFIFO(status.st_mode) else b""
                    os.set_blocking(file.fileno(), True)
                return self._read_limited(file, entry.file, first)
        except (OSError, ValueError) as error:
            self._unreadable(entry.file, error)
            return None

    def _read_stream(self, stream: BinaryIO) -> bytes | None:
        try:
            return self._read_limited(stream, STDIN_NAME)
        except (OSError, ValueError) as error:
            self._unreadable(STDIN_NAME, error)
            return None

    def _read_limited(self, stream: BinaryIO, file: str, first: bytes = b"") -> bytes | None:
        pieces, size = [first] if first else [], len(first)
        while piece := stream.read(1 << 20):
            size += len(piece)
            if size > self._max_bytes:
                self._too_large(file)
                return None
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _decoded(self, entry: Entry, data: bytes | None) -> Iterator[Source]:
        if data is None:
            return
        text = self._decode(entry.file, data)
        if text is None:
            self.binary_files += 1
        else:
            yield Source(entry.file, text, entry.root, entry.explicit)

    def _decode(self, file: str, data: bytes) -> str | None:
        encoding, name = "utf-8", ""
        for mark, of_mark, shown in _BOMS:
            if data.startswith(mark):
                data, encoding, name = data[len(mark) :], of_mark, shown
                break
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            text = data.decode(encoding, "replace")
            offset = len(data[: error.start].decode(encoding, "replace"))
            self._encoding(file, text, offset, f"a byte here is not {name or 'UTF-8'}: Kubernetes refuses the file")
        else:
            if name:
                message = f"the file is {name}; Kubernetes' tools split and read UTF-8"
                self._encoding(file, text, 0, message, "warning")
        if (at := text.find("\0")) >= 0:
            utf16 = data[:200].count(0) * 3 >= len(data[:200])
            told = "the file looks like UTF-16 without a byte order mark" if utf16 else "there is a NUL character here"
            self._encoding(file, text, at, told)
            return None
        return text

    def _encoding(self, file: str, text: str, offset: int, message: str, severity: str = "error") -> None:
        place = Source(file, text).place(offset)
        self.findings.append(
            Finding(
                "yaml-encoding",
                "warning" if severity == "warning" else "error",
                message,
                "save the file as UTF-8 without a byte order mark",
                place=place,
            )
        )

    def _too_large(self, file: str) -> None:
        limit = self._max_bytes
        shown = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
        self.findings.append(
            Finding(
                "yaml-too-large",
                "error",
                f"the file is larger than {shown} and was not read",
                "split it, or raise the limit",
                place=Place(file),
            )
        )

    def _unreadable(self, file: str, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        broken = isinstance(error, OSError) and error.errno == errno.ENOENT and os.path.islink(file)  # noqa: PTH114
        self.findings.append(
            Finding(
                "unreadable",
                "error",
                "is a symbolic link that leads nowhere" if broken else f"cannot be read: {reason}",
                "remove the link or restore what it points to" if broken else "check the path and its permissions",
                place=Place(file or "''"),
            )
        )


def _opened(path: str, flags: int) -> int:
    """Opening a named pipe would wait for its writer, for ever when there is none."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _first_bytes(pipe: int) -> bytes:
    """What a named pipe has when somebody writes to it; from then on reading waits. Raises TimeoutError when nobody has
    opened it for writing after `PIPE_SECONDS`: until then, reading finds its end at once."""
    until = time.monotonic() + PIPE_SECONDS
    data = b""
    while not data:
        try:
            data = os.read(pipe, 1 << 16)
        except BlockingIOError:  # a writer that has not written yet
            break
        if not data:
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, f"nobody has written to the pipe for {PIPE_SECONDS:g} seconds")
            time.sleep(0.02)
    os.set_blocking(pipe, True)
    return data


def _is_folder(child: os.DirEntry[str]) -> bool:
    try:
        return child.is_dir()
    except OSError:  # a symbolic link to itself
        return False


def _is_file_or_broken(child: os.DirEntry[str]) -> bool:
    try:
        return child.is_file() or not os.path.exists(child.path)  # noqa: PTH110
    except OSError:  # a symbolic link to itself
        return True
