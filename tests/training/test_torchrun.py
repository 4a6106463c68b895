"""Proof that the wiring works: two real torchrun agents, started with exactly what the manifest says.

One process a node on the CPU. Only the master's address and port are replaced, by ones that exist here.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.synthesis import Manifest
from tests.training.given import FORMS, manifests, trained
from tests.training.kubelet import expanded, resolved

INDEX = "batch.kubernetes.io/job-completion-index"
SCRIPT = '''
"""Run by torchrun in tests: every rank adds its number, and writes down what it knows about the world."""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
known = {name: os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TRAINSHED_RUN")}
Path(sys.argv[1], f"{dist.get_rank()}.json").write_text(json.dumps({**known, "total": total.item()}))
dist.destroy_process_group()
'''


@pytest.fixture(scope="module")
def torchrun() -> str:
    """The command torchrun of an environment with PyTorch, which this project's own does not have."""
    found = os.environ.get("TRAINSHED_TORCHRUN") or shutil.which("torchrun")
    if not found:
        pytest.skip("needs PyTorch: put torchrun on PATH, or name it in TRAINSHED_TORCHRUN")
    return found


@dataclass(frozen=True)
class Pod:
    """A pod of a run as its controllers make it."""

    host: str
    env: dict[str, str]
    command: list[str]


def pods(form: str, made: list[Manifest]) -> Iterator[Pod]:
    """The two pods: host names, injected variables and the index are those of the controllers."""
    name = made[-1]["metadata"]["name"]
    for index in range(2):
        holder = trained(form, made)[index if form == "VolcanoJob" else 0]
        host = {
            "IndexedJob": f"{name}-{index}",
            "JobSet": f"{name}-node-0-{index}",
            "TrainJob": f"{name}-node-0-{index}",
            "VolcanoJob": f"{name}-{'worker-0' if index else 'master-0'}",
        }[form]
        env = resolved([*holder["env"], *injected(form, made, index)], {INDEX: str(index)})
        yield Pod(f"{host}.{name}", env, [*holder["command"], *holder["args"]])


def injected(form: str, made: list[Manifest], index: int) -> list[dict[str, Any]]:
    """The variables that a controller adds to pod `index`."""
    name = made[-1]["metadata"]["name"]
    if form == "TrainJob":
        return _by_trainer(name, made[-1]["spec"]["trainer"])
    return _by_volcano(name, index, made[-1]) if form == "VolcanoJob" else []


def _by_trainer(name: str, trainer: Manifest) -> list[dict[str, Any]]:
    """Trainer v2.3.0, torch plugin."""
    return [
        {"name": "PET_NNODES", "value": str(trainer.get("numNodes"))},
        {"name": "PET_NPROC_PER_NODE", "value": str(trainer.get("numProcPerNode"))},
        {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX}']"}}},
        {"name": "PET_MASTER_ADDR", "value": f"{name}-node-0-0.{name}"},
        {"name": "PET_MASTER_PORT", "value": "29500"},
    ]


def _by_volcano(name: str, index: int, job: Manifest) -> list[dict[str, Any]]:
    """Volcano v1.15.1, pytorch plugin: it counts pods, and appends its variables."""
    arguments = dict(word.removeprefix("--").split("=") for word in job["spec"].get("plugins", {}).get("pytorch", []))
    replicas = {task["name"]: task["replicas"] for task in job["spec"].get("tasks", [])}
    return [
        {"name": "MASTER_ADDR", "value": f"{name}-{arguments.get('master')}-0.{name}"},
        {"name": "MASTER_PORT", "value": arguments.get("port", "")},
        {"name": "WORLD_SIZE", "value": str(sum(replicas.values()))},
        {"name": "RANK", "value": str(index)},
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("form", FORMS)
def test_two_nodes_meet_and_add_up(form: str, torchrun: str, tmp_path: Path) -> None:
    # GIVEN a run on two nodes, as it is rendered
    script = tmp_path / "all_reduce.py"
    script.write_text(SCRIPT)
    made = manifests(form, gpus_per_node=0, script=str(script), args=[str(tmp_path)])
    both = list(pods(form, made))
    address = "MASTER_ADDR" if form == "VolcanoJob" else "PET_MASTER_ADDR"
    assert {pod.env[address] for pod in both} == {both[0].host}
    here = {address: "127.0.0.1", address.replace("ADDR", "PORT"): str(_free_port())}
    # WHEN each pod starts its agent
    agents = []
    for pod in both:
        env = {**pod.env, **here}
        words = [expanded(word, env) for word in pod.command]
        assert words[0] == "torchrun"
        machine = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
        agents.append(
            subprocess.Popen(
                [torchrun, *words[1:]],
                env={**machine, **env},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    told = [agent.communicate(timeout=90)[0] for agent in agents]
    # THEN both ranks have met
    assert [agent.returncode for agent in agents] == [0, 0], "\n".join(told)
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    run = made[-1]["metadata"]["name"]
    world = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "TRAINSHED_RUN": run, "total": 3.0}
    assert ranks == [{"RANK": str(rank), **world} for rank in range(2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A)", "$(A)"),
        ("$(A", "$(A"),
        ("$A", "$A"),
        ("100$", "100$"),
        ("$(A)$(A)", "11"),
    ],
)
def test_the_expander_is_kubernetes(text: str, expected: str) -> None:
    assert expanded(text, {"A": "1"}) == expected
