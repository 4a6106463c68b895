"""Progress into the TrainJob's own status: Kubeflow Trainer's status server (2.2 and newer, gate TrainJobStatus).

The Trainer gives the pod three variables: the server's URL, a file with its certificate authority and a file with the
token, which is renewed while the run goes on. Telling is best effort: it never holds up, slows or ends a run.
"""

from __future__ import annotations

import json
import math
import os
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

URL, CA, TOKEN = (f"KUBEFLOW_TRAINER_SERVER_{name}" for name in ("URL", "CA_CERT", "TOKEN"))
INTERVAL_SECONDS = 5.0
"""The least time between two posts."""
TIMEOUT_SECONDS = 3.0
LAST_WORD_SECONDS = 1.0
"""How long the run's end waits for the last post: it comes out of the grace period."""
VALUE_LIMIT = 64
"""Characters of a metric's name and value."""
METRICS = ("loss", "lr", "gradient_norm", "tokens", "tokens_per_second", "mfu")


class Status:
    """Hears the journal's events and posts the newest, at most every `interval` seconds, from a thread of its own."""

    def __init__(
        self, url: str, authority: Path | None, token: Path | None, *, interval: float = INTERVAL_SECONDS
    ) -> None:
        self.url, self.token, self.interval = url, token, interval
        self.context = ssl.create_default_context(cafile=str(authority) if authority else None)
        self._body: dict[str, object] | None = None
        self._pace: tuple[float, int] | None = None
        self._state: dict[str, object] = {}
        self._wake, self._closing = threading.Event(), False
        self._complained = False
        self._thread = threading.Thread(target=self._run, name="trainer-status", daemon=True)
        self._thread.start()

    def hear(self, event: Mapping[str, object]) -> None:
        """Take over what an event of the journal says about progress; returns at once."""
        kind = event.get("event")
        if kind not in ("step", "eval", "preempted", "end"):
            return
        step, steps = event.get("step"), event.get("steps")
        for name in METRICS:
            if kind == "step" and event.get(name) is not None:
                self._state[name] = event[name]
        if kind == "eval":
            self._state["eval_loss"] = event["loss"]
        if kind == "preempted":
            self._state["preempted_at_step"] = step
        if isinstance(step, int):
            self._state["step"] = step
        if isinstance(steps, int):
            self._state["steps"] = steps
        self._body = {"trainerStatus": self._progress()}
        self._wake.set()

    def _progress(self) -> dict[str, object]:
        step, steps = (int(str(self._state.get(name, 0))) for name in ("step", "steps"))
        if self._pace is None:
            self._pace = (time.monotonic(), step)
        shown = {name: value for name, value in self._state.items() if name != "steps"}
        metrics = [{"name": name, "value": str(value)[:VALUE_LIMIT]} for name, value in shown.items()]
        body: dict[str, object] = {
            "metrics": metrics,
            "lastUpdatedTime": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        }
        if steps:
            body["progressPercentage"] = min(100, 100 * step // steps)
            began, first = self._pace
            if step > first:
                left = (time.monotonic() - began) / (step - first) * (steps - step)
                body["estimatedRemainingSeconds"] = max(0, math.ceil(left))
        return body

    def close(self) -> None:
        """Post what is newest, within a second, and end."""
        self._closing = True
        self._wake.set()
        self._thread.join(LAST_WORD_SECONDS)

    def _run(self) -> None:
        earliest = 0.0
        while True:
            self._wake.wait()
            while not self._closing and time.monotonic() < earliest:
                time.sleep(min(0.05, self.interval))
            self._wake.clear()
            body, self._body = self._body, None
            if body is not None:
                self._post(body)
                earliest = time.monotonic() + self.interval
            if self._closing:
                return

    def _post(self, body: dict[str, object]) -> None:
        headers = {"Content-Type": "application/json"}
        try:
            if self.token is not None:
                headers["Authorization"] = f"Bearer {self.token.read_text().strip()}"
            request = urllib.request.Request(self.url, json.dumps(body).encode(), headers, method="POST")
            timeout = LAST_WORD_SECONDS if self._closing else TIMEOUT_SECONDS
            with urllib.request.urlopen(request, timeout=timeout, context=self.context):
                return
        except (OSError, ValueError) as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Say once what the server or the network says; a `Status` object of Kubernetes has a message."""
        if self._complained:
            return
        self._complained = True
        text = str(error)
        if isinstance(error, urllib.error.HTTPError):
            try:
                text = f"{error.code}: {json.loads(error.read())['message']}"
            except (OSError, ValueError, KeyError, TypeError):
                text = str(error.code)
        print(f"trainer: the TrainJob's status cannot be updated: {text}", file=sys.stderr, flush=True)


def from_environment(env: Mapping[str, str] = os.environ) -> Status | None:
    """What the Trainer's variables name; None without them or when they cannot be used, which is said once."""
    url = env.get(URL)
    if not url:
        return None
    if not url.startswith("https://"):
        print(f"trainer: {URL} is no https address; the TrainJob's status stays empty", file=sys.stderr)
        return None
    try:
        return Status(url, *(Path(env[name]) if env.get(name) else None for name in (CA, TOKEN)))
    except (OSError, ssl.SSLError) as error:
        print(f"trainer: {CA}: {error}; the TrainJob's status stays empty", file=sys.stderr)
        return None
