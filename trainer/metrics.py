"""What the run says while it runs: JSON lines (schemas/metrics.schema.json), a progress line, Prometheus, goodput."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Protocol

PHASES = ("setup", "compile", "step", "data", "checkpoint", "eval")


class Goodput:
    """Seconds spent per phase; phases do not overlap. The share of `step` is the goodput."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Count the block's time as `phase`."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] += time.perf_counter() - begin

    def snapshot(self) -> dict[str, float]:
        """Seconds per phase, the whole, and the goodput between 0 and 1."""
        whole = time.perf_counter() - self.began
        return {
            **{f"{name}_seconds": round(value, 4) for name, value in self.seconds.items()},
            "total_seconds": round(whole, 4),
            "goodput": round(self.seconds["step"] / whole, 4) if whole > 0 else 0.0,
        }


class Gauges:
    """Numbers for Prometheus, replaced as a whole; read by the server's threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, tuple[str, str, dict[str, float]]] = {}

    def set(self, name: str, help_text: str, value: float | dict[str, float], *, kind: str = "gauge") -> None:
        """Set a metric; a mapping gives one sample per label `phase`."""
        samples = value if isinstance(value, dict) else {"": value}
        with self._lock:
            self._values[f"trainer_{name}"] = (kind, help_text, dict(samples))

    def text(self) -> str:
        """Prometheus text exposition 0.0.4."""
        lines: list[str] = []
        with self._lock:
            for name, (kind, help_text, samples) in sorted(self._values.items()):
                lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
                lines += [
                    f'{name}{{phase="{label}"}} {v!r}' if label else f"{name} {v!r}" for label, v in samples.items()
                ]
        return "\n".join(lines) + "\n"


def serve(gauges: Gauges, port: int) -> ThreadingHTTPServer:
    """Serve `/metrics` in a daemon thread; port 0 takes a free one (see `server_port`). Raises OSError when taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = gauges.text().encode() if self.path.split("?")[0] == "/metrics" else b"see /metrics\n"
            self.send_response(200 if self.path.startswith("/metrics") else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not worth a line each."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="trainer-metrics", daemon=True).start()
    return server


class Listener(Protocol):
    """Someone else who hears the journal's events."""

    def hear(self, event: Mapping[str, object]) -> None:
        """Take an event; must return at once."""

    def close(self) -> None:
        """The run is over."""


class Journal:
    """Rank 0's voice: every event goes to `metrics.jsonl`; people at a terminal see one line that renews itself."""

    def __init__(self, folder: Path | None, *, bar: bool, stream: IO[str] | None = None) -> None:
        self.stream = stream or sys.stdout
        self.bar = bar
        self._file: IO[str] | None = None
        self._open_line = False
        self.listeners: list[Listener] = []
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / "metrics.jsonl").open("a")

    @property
    def silent(self) -> bool:
        """Whether this rank says nothing (all but rank 0)."""
        return self._file is None

    def say(self, event: str, **fields: object) -> None:
        """Write one event. `time` is seconds since the epoch. Non-finite numbers become text, since JSON has none."""
        if self._file is None:
            return
        record = {"event": event, "time": round(time.time(), 3), **{k: _plain(v) for k, v in fields.items()}}
        line = json.dumps(record, separators=(",", ":"), allow_nan=False)
        self._file.write(line + "\n")
        self._file.flush()
        for listener in self.listeners:
            listener.hear(record)
        if not self.bar:
            print(line, file=self.stream, flush=True)
        elif event == "step":
            self._renew(record)
        else:
            self._note(event, {k: v for k, v in record.items() if k not in ("event", "time", "config", "phases")})

    def _renew(self, record: dict[str, object]) -> None:
        steps, step = record.get("steps"), record.get("step")
        done = int(step) / int(steps) if isinstance(step, int) and isinstance(steps, int) and steps else 0.0
        filled = int(done * 24)
        text = (
            f"\r[{'#' * filled}{'.' * (24 - filled)}] {step}/{steps}  loss {record.get('loss')}  "
            f"{record.get('tokens_per_second')} tokens/s\x1b[K"
        )
        print(text, end="", file=self.stream, flush=True)
        self._open_line = True

    def _note(self, event: str, fields: dict[str, object]) -> None:
        if self._open_line:
            print(file=self.stream)
            self._open_line = False
        print(f"{event}: {', '.join(f'{key} {value}' for key, value in fields.items())}", file=self.stream, flush=True)

    def close(self) -> None:
        """End the progress line and close the file."""
        if self._open_line:
            print(file=self.stream)
        for listener in self.listeners:
            listener.close()
        self.listeners = []
        if self._file is not None:
            self._file.close()
            self._file = None


def _plain(value: object) -> object:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
