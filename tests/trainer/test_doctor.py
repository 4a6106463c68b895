"""The doctor: what it sees on a healthy CPU node, and that it sees what is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainer import exits

pytest.importorskip("torch", reason="the trainer's packages are not installed (see docs/trainer.md)")

from trainer import cli, doctor, doctor_checks, doctor_ranks
from trainer.doctor_checks import Finding
from trainer.train import Parser


def look(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Exit code and findings by check."""
    code = cli.main(["doctor", "--json", *options])
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is (code == 0)
    return code, {one["check"]: one for one in told["checks"]}


def test_a_healthy_node(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found = look(capsys, "--folder", str(tmp_path), "--master", "localhost", "--processes", "2")
    assert code == 0, found
    assert {name: one["status"] for name, one in found.items() if not name.startswith(("gpu", "cpus"))} == {
        "shared memory": "ok",
        "checkpoint volume": "ok",
        "clock, volume": "ok",
        "master's name": "ok",
        "all-reduce 1 MiB": "ok",
        "all-reduce 16 MiB": "ok",
    }
    assert list(tmp_path.iterdir()) == []


def test_every_mistake_is_told_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    code, found = look(
        capsys,
        *("--folder", str(file / "below"), "--master", "no-such-host.invalid", "--deadline", "20", "--gpus", "64"),
        *("--shared-memory-mb", "1e9", "--all-reduce-gb-per-second", "1e6"),
    )  # fmt: skip
    assert code == exits.UNHEALTHY
    failed = {name for name, one in found.items() if one["status"] == "fail"}
    assert failed == {"gpu count", "shared memory", "checkpoint volume", "master's name", "all-reduce 16 MiB"}
    assert found["gpu count"]["wanted"] == "64"
    assert "no-such-host.invalid" in found["master's name"]["seen"]
    assert found["all-reduce 16 MiB"]["wanted"] == "at least 1e+06 GB/s"


def test_ranks_that_never_meet_end_at_the_deadline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/sleep")  # `sleep -m …` fails at once, and leaves no word of its own
    found = doctor.local_bandwidth(want(processes=2), "here")
    assert [(one.check, one.status) for one in found] == [("all-reduce", "fail")]


def test_a_wrong_option_is_a_wrong_command_line() -> None:
    assert cli.main(["doctor", "--frobnicate"]) == exits.USAGE


def want(**more: Any) -> doctor.Wanted:
    """Defaults of a node without GPUs."""
    given: dict[str, Any] = {
        "gpus": None, "processes": 2, "folder": None, "master": None, "shared_memory_mb": None,
        "write_mb_per_second": 1.0, "all_reduce_gb_per_second": None, "deadline": 30.0,
    }  # fmt: skip
    return doctor.Wanted(**{**given, **more})


def test_what_the_pod_says_is_what_is_wanted() -> None:
    parser = Parser()
    doctor.add_arguments(parser)
    env = {"PET_NPROC_PER_NODE": "8", "TRAINSHED_CHECKPOINT_DIR": "/run/a", "PET_MASTER_ADDR": "a-0.a"}
    told = doctor.wanted(parser.parse_args([]), env, 4)
    assert (told.gpus, told.processes, told.folder, told.master) == (8, 4, Path("/run/a"), "a-0.a")
    assert doctor.wanted(parser.parse_args([]), env, 0).gpus is None
    assert doctor.wanted(parser.parse_args(["--gpus", "2"]), env, 0).gpus == 2


def test_floors() -> None:
    assert doctor.floor_of(want(), "cuda", 1) == doctor.FLOOR_GPU_GB_PER_SECOND
    assert doctor.floor_of(want(), "cuda", 2) is None
    assert doctor.floor_of(want(all_reduce_gb_per_second=5.0), "cuda", 2) == 5.0
    assert doctor.floor_of(want(all_reduce_gb_per_second=0.0), "cpu", 1) is None


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    """2 (n - 1) / n of the bytes: 1 GB in 0.1 s over 8 ranks is 17.5 GB/s."""
    rows = [{"bytes": 1e6, "seconds": 1.0}, {"bytes": 1e9, "seconds": 0.1}]
    small, large = doctor_checks.judge_bandwidth(rows, 8, "cuda", 17.6)
    assert (small.status, large.status) == ("ok", "fail")
    assert large.seen.startswith("17.50 GB/s")
    assert doctor_checks.judge_bandwidth(rows, 8, "cuda", 17.4)[-1].status == "ok"


@pytest.mark.parametrize(("skew", "status"), [(0.2, "ok"), (5.0, "warn"), (60.0, "fail")])
def test_clocks(skew: float, status: str) -> None:
    now = time.time()
    found = doctor_ranks.clocks([("a", now), ("b", now + skew), ("c", now)])
    assert found.status == status
    assert "(a, b)" in found.seen


@pytest.mark.parametrize(("expected", "found", "status"), [(8, 8, "ok"), (8, 7, "fail"), (None, 0, "skip")])
def test_gpu_count(expected: int | None, found: int, status: str) -> None:
    assert doctor_checks.gpu_count(expected, found).status == status


def test_one_slow_gpu_is_named() -> None:
    found = doctor_checks.judge_speed([700.0, 690.0, 400.0, 710.0])
    assert (found.status, "GPU 2: 400" in found.seen) == ("fail", True)
    assert doctor_checks.judge_speed([700.0, 690.0]).status == "ok"


def test_an_xid_in_the_kernels_log(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text("6,1,2,-;usb\n4,1,3,-;NVRM: Xid (PCI:0000:0f:00): 79, pid=1, GPU has fallen off the bus.\n")
    found = doctor_checks.gpu_kernel_errors(log)
    assert (found.status, "79" in found.seen) == ("warn", True)
    log.write_text("6,1,2,-;usb\n")
    assert doctor_checks.gpu_kernel_errors(log).status == "ok"
    assert doctor_checks.gpu_kernel_errors(tmp_path / "none").status == "skip"


class Nvml:
    """As much of pynvml as the check of ECC uses."""

    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0

    class NVMLError(Exception):
        """Its error."""

    def __init__(self, errors: int | None, remapped: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        self.errors, self.remapped = errors, remapped

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetTotalEccErrors(self, *_: object) -> int:  # noqa: N802
        if self.errors is None:
            raise self.NVMLError
        return self.errors

    def nvmlDeviceGetRemappedRows(self, _: int) -> tuple[int, int, int, int]:  # noqa: N802
        return self.remapped

    def nvmlShutdown(self) -> None:  # noqa: N802
        return


@pytest.mark.parametrize(
    ("nvml", "status", "said"),
    [
        (Nvml(0), "ok", "1 GPUs clean"),
        (Nvml(3), "fail", "GPU 0: 3 uncorrected"),
        (Nvml(0, (1, 0, 1, 0)), "fail", "waits for a reset"),
        (Nvml(0, (1, 0, 0, 1)), "fail", "failed"),
        (Nvml(None), "skip", "ECC is off"),
        (None, "skip", "NVML"),
    ],
)
def test_ecc(monkeypatch: pytest.MonkeyPatch, nvml: Nvml | None, status: str, said: str) -> None:
    monkeypatch.setattr(doctor_checks, "_nvml", lambda: nvml)
    found = doctor_checks.gpu_memory_errors()
    assert found.status == status
    assert said in found.seen


def test_the_table_lines_up_and_shouts() -> None:
    text = doctor.table([Finding("a", "ok", "1", "2", "n"), Finding("long name", "fail", "x", node="node-1")])
    lines = text.splitlines()
    assert lines[0].split() == ["node", "check", "status", "seen", "wanted"]
    assert {line.index(word) for line, word in zip(lines, ("status", "ok", "FAIL"), strict=True)} == {19}


def test_all_ranks_of_a_launcher(launch: Callable[..., Any], tmp_path: Path) -> None:
    """In the run's world each node is looked at once, and the network between them."""
    code, output = launch(
        "--nproc-per-node", "2", "-m", "trainer.doctor_ranks", "--json", "--folder", str(tmp_path / "run")
    ).end()
    assert code == 0, output
    told = json.loads(output[output.index("{\n") : output.rindex("\n}") + 2])
    checks = [one["check"] for one in told["checks"]]
    assert checks.count("checkpoint volume") == 1
    assert checks[-2:] == ["all-reduce 1 MiB", "all-reduce 16 MiB"]


def test_a_sick_node_gives_its_reason_to_the_pod(launch: Callable[..., Any]) -> None:
    started = launch("--nproc-per-node", "2", "-m", "trainer.doctor_ranks", "--all-reduce-gb-per-second", "1000000")
    code, output = started.end()
    assert code == exits.UNHEALTHY, output
    assert "all-reduce 16 MiB" in str(started.told()["reason"])
