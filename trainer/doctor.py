"""Look at a node, or at all nodes of a run, before training: a table or JSON, and 69 when something is not well.

`python -m trainer doctor` looks at this node and lets its GPUs (or a few CPU processes) talk to each other. In the
run's world, `python -m trainer launch -m trainer.doctor_ranks` does the same on every node, measures the network
between them, and compares their clocks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from trainer import doctor_checks, exits
from trainer.doctor_checks import Finding
from trainer.train import Parser

FLOOR_GPU_GB_PER_SECOND = 10.0
"""Below PCIe 4.0 x16, above any detour through a slow network: a node with less has a broken link."""
FLOOR_CPU_GB_PER_SECOND = 0.01


@dataclass(frozen=True)
class Wanted:
    """What the doctor holds a node against. Units: MB and MB/s, GB/s of bus bandwidth, seconds."""

    gpus: int | None
    processes: int
    folder: Path | None
    master: str | None
    shared_memory_mb: float | None
    write_mb_per_second: float
    all_reduce_gb_per_second: float | None
    deadline: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options; what they leave out is read from the pod's variables."""
    parser.add_argument("--gpus", type=int, help="GPUs that must be here (default: PET_NPROC_PER_NODE where GPUs are)")
    parser.add_argument("--processes", type=int, help="processes that talk to each other (default: GPUs, else 2)")
    parser.add_argument("--folder", type=Path, help="checkpoint folder (default: TRAINSHED_CHECKPOINT_DIR)")
    parser.add_argument("--master", help="name that must resolve (default: PET_MASTER_ADDR)")
    parser.add_argument("--shared-memory-mb", type=float, help="default: 64 a process, where there are several")
    parser.add_argument("--write-mb-per-second", type=float, default=20.0)
    parser.add_argument("--all-reduce-gb-per-second", type=float, help="floor at the largest size; 0 asks for nothing")
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds for the name, and for the all-reduces")
    parser.add_argument("--json", action="store_true", help="JSON instead of the table")


def wanted(options: argparse.Namespace, env: Mapping[str, str], gpus_here: int) -> Wanted:
    """The options, completed from the environment."""
    told = env.get("PET_NPROC_PER_NODE", "")
    expected = options.gpus
    if expected is None and gpus_here and told.isdecimal():
        expected = int(told)
    folder = options.folder or (Path(env["TRAINSHED_CHECKPOINT_DIR"]) if env.get("TRAINSHED_CHECKPOINT_DIR") else None)
    return Wanted(
        gpus=expected,
        processes=options.processes or gpus_here or 2,
        folder=folder,
        master=options.master or env.get("PET_MASTER_ADDR"),
        shared_memory_mb=options.shared_memory_mb,
        write_mb_per_second=options.write_mb_per_second,
        all_reduce_gb_per_second=options.all_reduce_gb_per_second,
        deadline=options.deadline,
    )


def floor_of(want: Wanted, device: str, nodes: int) -> float | None:
    """The floor for all-reduces: as given (0: none), else a mild one within a node; networks differ too much."""
    if want.all_reduce_gb_per_second is not None:
        return want.all_reduce_gb_per_second or None
    if nodes > 1:
        return None
    return FLOOR_GPU_GB_PER_SECOND if device == "cuda" else FLOOR_CPU_GB_PER_SECOND


def node_findings(want: Wanted, node: str) -> list[Finding]:
    """All checks that need no peer."""
    import torch

    gpus = torch.cuda.device_count()
    found = [
        doctor_checks.gpu_count(want.gpus, gpus),
        doctor_checks.gpu_driver(torch, gpus),
        doctor_checks.gpu_memory_errors(),
        doctor_checks.gpu_kernel_errors(),
        doctor_checks.gpu_speed(torch, gpus),
        doctor_checks.processor(want.processes),
        doctor_checks.shared_memory(want.processes, want.shared_memory_mb),
        doctor_checks.volume_speed(want.folder, want.write_mb_per_second),
        doctor_checks.volume_clock(want.folder),
        doctor_checks.name_resolution(want.master, want.deadline),
    ]
    return [replace(finding, node=node) for finding in found]


def local_bandwidth(want: Wanted, node: str) -> list[Finding]:
    """All-reduces between processes of this node, in processes of their own that can be ended."""
    if want.processes < 2:
        return [Finding("all-reduce", "skip", "one process", node=node)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    root = str(Path(__file__).resolve().parents[1])
    count = str(want.processes)
    base = {name: value for name, value in os.environ.items() if not name.startswith(("PET_", "TORCHELASTIC_"))}
    base |= {"PYTHONPATH": root, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    base |= {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "TRAINSHED_DOCTOR_NETWORK_ONLY": "1"}
    with tempfile.TemporaryDirectory(prefix="trainer-doctor-") as folder:
        output = Path(folder, "found.json")
        base["TRAINSHED_DOCTOR_OUTPUT"] = str(output)
        command = [sys.executable, "-m", "trainer.doctor_ranks"]
        if want.all_reduce_gb_per_second is not None:
            command += ["--all-reduce-gb-per-second", str(want.all_reduce_gb_per_second)]
        ranks = [
            subprocess.Popen(
                command, env={**base, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True,
            )
            for rank in range(want.processes)
        ]  # fmt: skip
        try:
            told = [rank.communicate(timeout=want.deadline)[1] for rank in ranks]
        except subprocess.TimeoutExpired:
            text = f"no end within {want.deadline:.0f} s"
            return [Finding("all-reduce", "fail", text, node=node)]
        finally:
            for rank in ranks:
                rank.kill()
        if not output.exists():
            last = next((text.strip().splitlines()[-1] for text in told if text.strip()), "no word")
            return [Finding("all-reduce", "fail", last[:200], node=node)]
        return [Finding(**{**fields, "node": node}) for fields in json.loads(output.read_text())]


def report(found: Sequence[Finding], *, as_json: bool) -> int:
    """Print the findings; returns the exit code."""
    sick = [finding for finding in found if finding.status == "fail"]
    if as_json:
        print(json.dumps({"healthy": not sick, "checks": [finding.fields() for finding in found]}, indent=2))
    else:
        print(table(found))
        print(f"{len(sick)} of {len(found)} checks failed" if sick else f"healthy: {len(found)} checks")
    return exits.UNHEALTHY if sick else exits.FINISHED


def table(found: Sequence[Finding]) -> str:
    """The findings as text, failures in capitals."""
    rows = [("node", "check", "status", "seen", "wanted")]
    for one in found:
        status = one.status.upper() if one.status == "fail" else one.status
        rows.append((one.node, one.check, status, one.seen, one.wanted))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    )


def main(arguments: Sequence[str]) -> int:
    """Look at this node."""
    signal.signal(signal.SIGTERM, _leave)  # as a container's first process Python would not hear it otherwise
    parser = Parser(prog="trainer doctor")
    add_arguments(parser)
    options = parser.parse_args(list(arguments))
    import torch

    node = socket.gethostname()
    want = wanted(options, os.environ, torch.cuda.device_count())
    return report([*node_findings(want, node), *local_bandwidth(want, node)], as_json=options.json)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(exits.PREEMPTED_UNSAVED)
