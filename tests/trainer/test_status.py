"""The TrainJob's status over TLS, against a server that refuses what Trainer's would, and TensorBoard."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import exits, train  # noqa: E402
from trainer.status import CA, TOKEN, URL, Status, from_environment  # noqa: E402


@dataclass
class Server:
    """What the stub was told; `refuse` makes it answer with that code."""

    url: str
    authority: Path
    token: Path
    bodies: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refuse: int | None = None
    stall: float = 0.0
    expected: str = "first"

    def env(self) -> dict[str, str]:
        return {URL: self.url, CA: str(self.authority), TOKEN: str(self.token)}


def problems_of(body: dict[str, Any]) -> Iterator[str]:
    """The limits of the CRD (trainjobs.trainer.kubeflow.org, status.trainerStatus)."""
    if set(body) != {"trainerStatus"}:
        yield f"top level {sorted(body)}"
    status = body["trainerStatus"]
    known = {"progressPercentage", "estimatedRemainingSeconds", "metrics", "lastUpdatedTime"}
    if not set(status) <= known or "lastUpdatedTime" not in status:
        yield f"fields {sorted(status)}"
    datetime.strptime(status["lastUpdatedTime"], "%Y-%m-%dT%H:%M:%SZ")
    percentage, left = status.get("progressPercentage", 0), status.get("estimatedRemainingSeconds", 0)
    if not (isinstance(percentage, int) and 0 <= percentage <= 100 and isinstance(left, int) and left >= 0):
        yield f"progress {percentage}, left {left}"
    metrics = status.get("metrics", [])
    if len(metrics) > 256 or len({metric["name"] for metric in metrics}) != len(metrics):
        yield "too many metrics, or one twice"
    for metric in metrics:
        if set(metric) != {"name", "value"} or not all(
            isinstance(v, str) and 1 <= len(v) <= 64 for v in metric.values()
        ):
            yield f"metric {metric}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not installed")
    key, certificate, token = tmp_path / "key.pem", tmp_path / "ca.pem", tmp_path / "token"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    token.write_text("first\n")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(made.stall)
            found = list(problems_of(body))
            if self.headers["Authorization"] != f"Bearer {made.expected}":
                found.append(f"token {self.headers['Authorization']}")
            made.problems += found
            made.bodies.append(body["trainerStatus"])
            made.times.append(time.monotonic())
            code = made.refuse or (422 if found else 200)
            answer = json.dumps({"kind": "Status", "message": "the gate is off", "code": code}).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    made = Server(f"https://localhost:{http.server_port}/status", certificate, token)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield made
    http.shutdown()


def values(status: dict[str, Any]) -> dict[str, str]:
    return {metric["name"]: metric["value"] for metric in status["metrics"]}


def test_a_run_tells_its_trainjob_how_far_it_is(
    server: Server, settings: Any, monkeypatch: pytest.MonkeyPatch, packed: Path
) -> None:
    for name, value in server.env().items():
        monkeypatch.setenv(name, value)
    assert train.main(settings(run__steps=30, data__eval=packed, eval__every=30, eval__rows=8)) == exits.FINISHED
    assert server.problems == []
    last = server.bodies[-1]
    assert (last["progressPercentage"], last["estimatedRemainingSeconds"]) == (100, 0)
    assert values(last)["step"] == "30"
    assert float(values(last)["eval_loss"]) > 0


def test_posts_keep_their_distance_and_the_last_word_is_said(server: Server) -> None:
    told = Status(server.url, server.authority, server.token, interval=0.4)
    for step in range(1, 100):
        told.hear({"event": "step", "step": step, "steps": 200, "loss": "nan" * 40, "tokens_per_second": 7})
        time.sleep(0.01)
    told.hear({"event": "preempted", "step": 99, "seconds": 0.1})
    told.close()
    assert server.problems == []
    assert 3 <= len(server.bodies) <= 5
    gaps = [after - before for before, after in zip(server.times, server.times[1:], strict=False)]
    assert min(gaps[:-1]) >= 0.39, "only the last word may come early"
    assert values(server.bodies[-1])["preempted_at_step"] == "99"


def test_a_renewed_token_is_read_again(server: Server) -> None:
    told = Status(server.url, server.authority, server.token, interval=0.05)
    told.hear({"event": "step", "step": 1, "steps": 2})
    time.sleep(0.5)
    server.token.write_text("second\n")
    server.expected = "second"
    told.hear({"event": "step", "step": 2, "steps": 2})
    told.close()
    assert (len(server.bodies), server.problems) == (2, [])


def test_a_refusing_server_is_told_of_once_and_ends_nothing(server: Server, capsys: Any) -> None:
    server.refuse = 403
    told = Status(server.url, server.authority, server.token, interval=0.05)
    for step in (1, 2):
        told.hear({"event": "step", "step": step, "steps": 2})
        time.sleep(0.4)
    told.close()
    assert capsys.readouterr().err.count("cannot be updated: 403: the gate is off") == 1
    assert len(server.bodies) == 2


def test_a_silent_server_costs_a_second_at_the_end_and_nothing_before(server: Server) -> None:
    server.stall = 5
    told = Status(server.url, server.authority, server.token)
    begin = time.monotonic()
    told.hear({"event": "step", "step": 1, "steps": 2})
    assert time.monotonic() - begin < 0.1
    told.close()
    assert time.monotonic() - begin < 1.5


def test_another_authority_is_not_trusted(server: Server, tmp_path: Path, capsys: Any) -> None:
    told = Status(server.url, None, server.token)
    told.hear({"event": "step", "step": 1, "steps": 2})
    told.close()
    assert server.bodies == []
    assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err


@pytest.mark.parametrize(
    "env", [{}, {URL: "http://plain"}, {URL: "https://x", CA: "/nowhere/ca.crt"}, {URL: ""}], ids=str
)
def test_without_usable_variables_nothing_is_sent(env: dict[str, str]) -> None:
    assert from_environment(env) is None


def test_tensorboard_has_the_scalars_of_the_journal(settings: Any, events: Any, tmp_path: Path, packed: Path) -> None:
    name = "tensorboard.backend.event_processing.event_accumulator"
    reader = pytest.importorskip(name, reason="tensorboard is not installed")
    asked = {"log__tensorboard": "true", "data__eval": packed, "eval__every": 5, "eval__rows": 8}
    assert train.main(settings(run__steps=5, **asked)) == exits.FINISHED
    assert train.main(settings(run__steps=8, **asked)) == exits.FINISHED
    found = reader.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    drawn = {entry.step: round(entry.value, 4) for entry in found.Scalars("train/loss")}
    assert drawn == {event["step"]: round(float(event["loss"]), 4) for event in events(kind="step")}
    assert [entry.step for entry in found.Scalars("eval/loss")] == [5, 8]
