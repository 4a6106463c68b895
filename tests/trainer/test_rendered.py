"""The real trainer, started on two nodes by nothing but what each rendered form of a run says.

The generator renders in its own environment, a subprocess. Only the master's address and port are replaced, by ones
that exist here; the image's part is the PYTHONPATH, the kubelet's the index and the file for the termination message.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from tests.trainer.conftest import ROOT, Launched
from trainer import exits

FORMS = ("IndexedJob", "JobSet", "TrainJob", "VolcanoJob")
STEPS = 60
RENDER = """
import json, sys
from dataclasses import asdict
from tests.training.given import manifests
from tests.training.test_torchrun import pods
given = json.load(sys.stdin)
told = {}
for form in given["forms"]:
    made = manifests(form, gpus_per_node=0, launcher="trainshed", script=given["script"], args=given["args"])
    told[form] = [asdict(pod) for pod in pods(form, made)]
print(json.dumps(told))
"""


def generator() -> str:
    """A Python that has the generator: this one, or that of `make`."""
    chosen = ROOT / ".venv" / "bin" / "python"
    for python in (sys.executable, str(chosen)):
        probe = [python, "-c", "import cdk8s, trainshed.training"]
        if Path(python).exists() and not subprocess.run(probe, cwd=ROOT, capture_output=True, check=False).returncode:
            return python
    pytest.skip("the generator is not installed: `make synth` makes .venv")


@pytest.fixture(scope="module")
def rendered() -> Callable[[list[str]], dict[str, list[dict[str, Any]]]]:
    """Host, environment and command of the two pods of each form, for these arguments of the script."""
    python = generator()

    def render(arguments: list[str]) -> dict[str, list[dict[str, Any]]]:
        given = json.dumps({"forms": FORMS, "script": str(ROOT / "trainer" / "ddp.py"), "args": arguments})
        done = subprocess.run(
            [python, "-c", RENDER], cwd=ROOT, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
        return found

    return render


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(form: str, pods: list[dict[str, Any]], folder: Path) -> list[Launched]:
    """Both pods of a run, as the kubelets would start them."""
    address = "MASTER_ADDR" if form == "VolcanoJob" else "PET_MASTER_ADDR"
    here = {address: "127.0.0.1", address.replace("ADDR", "PORT"): free_port()}
    machine = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    started = []
    for index, pod in enumerate(pods):
        message = folder / f"message-{index}"
        env = {**machine, "TRAINSHED_TERMINATION_LOG": str(message), **pod["env"], **here}
        words = [_expanded(word, {**pod["env"], **here}) for word in pod["command"]]
        assert words[:4] == ["python", "-m", "trainer", "launch"]
        process = subprocess.Popen(
            [sys.executable, *words[1:]],
            env=env,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(Launched(process, message))
    return started


def _expanded(text: str, env: dict[str, str]) -> str:
    for name, value in env.items():
        text = text.replace(f"$({name})", value)
    return text


@pytest.fixture(scope="module")
def whole() -> dict[str, str]:
    """Hash of the uninterrupted run, made by the first test that needs it."""
    return {}


@pytest.mark.parametrize("form", FORMS)
def test_a_rendered_run_of_two_nodes_is_preempted_and_ends_as_if_it_never_was(
    form: str,
    rendered: Any,
    settings: Any,
    tmp_path: Path,
    events: Any,
    wait_for: Any,
    state_hash: Any,
    launch: Any,
    script: str,
    whole: dict[str, str],
) -> None:
    # GIVEN what the generator renders for this form
    pods = rendered(settings(run__steps=STEPS))[form]
    assert all(pod["env"]["TRAINSHED_GRACE_PERIOD"] for pod in pods)
    # WHEN both nodes start, and one of them is told to go
    both = start(form, pods, tmp_path)
    try:
        wait_for(lambda: any(int(event["step"]) >= 10 for event in events(kind="step")))
        both[FORMS.index(form) % 2].process.send_signal(signal.SIGTERM)
        ends = [node.end() for node in both]
        # THEN both saved the same step and say so
        assert [code for code, _ in ends] == [exits.PREEMPTED, exits.PREEMPTED], ends
        saved = {node.told()["step"] for node in both}
        assert len(saved) == 1
        # AND the same command goes on from there to the same weights as a run that nobody stopped
        both = start(form, pods, tmp_path)
        ends = [node.end() for node in both]
        assert [code for code, _ in ends] == [0, 0], ends
    finally:
        for node in both:
            if node.process.poll() is None:
                os.killpg(node.process.pid, signal.SIGKILL)
                node.process.communicate()
    assert {event["step"] for event in events(kind="resume")} == saved
    assert {event["nodes"] for event in events(kind="start")} == {2}
    if "hash" not in whole:
        run = launch("--nproc-per-node", "2", script, *settings("whole", run__steps=STEPS))
        assert run.end()[0] == 0
        whole["hash"] = state_hash("whole", STEPS)
    assert state_hash("run", STEPS) == whole["hash"]
