"""What one node can say about itself before a run: each check is a function that returns a `Finding`."""

from __future__ import annotations

import os
import socket
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from trainer import budget, topology
from trainer.exits import Stop

Status = Literal["ok", "warn", "fail", "skip"]
SHARED_MEMORY = Path("/dev/shm")
KERNEL_LOG = Path("/dev/kmsg")
CLOCK_WARN_SECONDS, CLOCK_FAIL_SECONDS = 1.0, 30.0
SLOW_GPU = 0.75
"""A GPU that does less than this share of the node's median is a straggler: every step waits for it."""


@dataclass(frozen=True)
class Finding:
    """One line of the table. `fail` makes the doctor leave with 69; `skip` says why there is nothing to see."""

    check: str
    status: Status
    seen: str
    wanted: str = ""
    node: str = ""

    def fields(self) -> dict[str, str]:
        """For JSON."""
        return asdict(self)


def gpu_count(expected: int | None, found: int) -> Finding:
    """As many GPUs as processes."""
    if expected is None:
        return Finding("gpu count", "ok" if found else "skip", str(found))
    return Finding("gpu count", "ok" if found == expected else "fail", str(found), str(expected))


def gpu_driver(torch: Any, found: int) -> Finding:
    """The driver can run what PyTorch was built for."""
    if torch.version.cuda is None:
        return Finding("gpu driver", "skip", f"PyTorch {torch.__version__} is built without CUDA")
    built = f"CUDA {torch.version.cuda}"
    driver = _driver()
    if found and torch.cuda.is_available():
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError as error:
            return Finding("gpu driver", "fail", f"driver {driver}: {_first_line(error)}", f"runs {built}")
        return Finding("gpu driver", "ok", f"driver {driver}", f"runs {built}")
    if driver == "unknown":
        return Finding("gpu driver", "skip", "no driver is visible")
    return Finding("gpu driver", "fail", f"driver {driver}, but PyTorch cannot use it", f"runs {built}")


def _driver() -> str:
    nvml = _nvml()
    if nvml is None:
        return "unknown"
    try:
        version = nvml.nvmlSystemGetDriverVersion()
    except nvml.NVMLError:
        return "unknown"
    finally:
        nvml.nvmlShutdown()
    return version.decode() if isinstance(version, bytes) else str(version)


def _nvml() -> Any:
    """NVIDIA's management library, opened; None where it is not there."""
    try:
        pynvml: Any = import_module("pynvml")
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def gpu_memory_errors() -> Finding:
    """No uncorrected ECC error since the driver was loaded, and no row remapping that failed or waits for a reset."""
    nvml = _nvml()
    if nvml is None:
        return Finding("gpu ecc", "skip", "NVML is not available")
    bad: list[str] = []
    seen = 0
    try:
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            try:
                errors = nvml.nvmlDeviceGetTotalEccErrors(
                    handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
                )
                seen += 1
                if errors:
                    bad.append(f"GPU {index}: {errors} uncorrected")
                _, _, pending, failed = nvml.nvmlDeviceGetRemappedRows(handle)
                if pending or failed:
                    bad.append(f"GPU {index}: row remapping {'failed' if failed else 'waits for a reset'}")
            except nvml.NVMLError:
                continue
    finally:
        nvml.nvmlShutdown()
    if not seen:
        return Finding("gpu ecc", "skip", "ECC is off or not told")
    return Finding("gpu ecc", "fail" if bad else "ok", "; ".join(bad) or f"{seen} GPUs clean", "no uncorrected error")


def gpu_kernel_errors(log: Path = KERNEL_LOG) -> Finding:
    """No Xid in the kernel's log. Most pods may not read it."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return Finding("gpu xid", "skip", f"{log}: {error.strerror}")
    found: list[str] = []
    try:
        while chunk := os.read(descriptor, 1 << 16):
            found += [
                line.partition("NVRM: Xid")[2]
                for line in chunk.decode(errors="replace").splitlines()
                if "NVRM: Xid" in line
            ]
    except BlockingIOError:
        pass
    except OSError as error:
        return Finding("gpu xid", "skip", f"{log}: {error.strerror}")
    finally:
        os.close(descriptor)
    seen = f"{len(found)} Xid, the last{found[-1][:80]}" if found else "none"
    return Finding("gpu xid", "warn" if found else "ok", seen, "none in the kernel's log")


def gpu_speed(torch: Any, found: int, size: int = 4096, rounds: int = 10) -> Finding:
    """Every GPU multiplies matrices about as fast as its neighbours."""
    if not found:
        return Finding("gpu speed", "skip", "no GPU")
    rates: list[float] = []
    for index in range(found):
        one = torch.randn(size, size, device=f"cuda:{index}", dtype=torch.bfloat16)
        for _ in range(3):
            one @ one
        torch.cuda.synchronize(index)
        begin = time.perf_counter()
        for _ in range(rounds):
            one @ one
        torch.cuda.synchronize(index)
        rates.append(2 * size**3 * rounds / (time.perf_counter() - begin) / 1e12)
    return judge_speed(rates)


def judge_speed(rates: Sequence[float]) -> Finding:
    """The verdict on TFLOP/s of each GPU."""
    middle = statistics.median(rates)
    slow = [f"GPU {index}: {rate:.0f}" for index, rate in enumerate(rates) if rate < SLOW_GPU * middle]
    seen = f"{min(rates):.0f} to {max(rates):.0f} TFLOP/s" + (f"; slow: {', '.join(slow)}" if slow else "")
    return Finding(
        "gpu speed", "fail" if slow else "ok", seen, f"each at least {SLOW_GPU:.0%} of the median {middle:.0f}"
    )


def shared_memory(processes: int, floor_mb: float | None, folder: Path = SHARED_MEMORY) -> Finding:
    """/dev/shm is larger than the 64 MB of a container without a volume, on which NCCL fails (nccl#525)."""
    wanted = floor_mb if floor_mb is not None else (64 * processes if processes > 1 else 0)
    try:
        stat = os.statvfs(folder)
    except OSError as error:
        return Finding("shared memory", "fail", f"{folder}: {error.strerror}", f"{wanted:.0f} MB")
    size = stat.f_frsize * stat.f_blocks / 1e6
    return Finding("shared memory", "ok" if size >= wanted else "fail", f"{size:.0f} MB", f"at least {wanted:.0f} MB")


def processor(processes: int) -> Finding:
    """Each process has a CPU of its own."""
    cpus = topology.usable_cpus()
    return Finding("cpus", "ok" if cpus >= processes else "warn", str(cpus), f"at least {processes}, one a process")


def volume_speed(folder: Path | None, floor_mb_per_second: float) -> Finding:
    """The checkpoint volume takes what is written to it, and fast enough."""
    if folder is None:
        return Finding("checkpoint volume", "skip", "no folder: --folder, or TRAINSHED_CHECKPOINT_DIR")
    wanted = f"at least {floor_mb_per_second:.0f} MB/s"
    try:
        speed = budget.write_speed(folder, os.getpid())
    except Stop as stop:
        return Finding("checkpoint volume", "fail", stop.reason, wanted)
    return Finding("checkpoint volume", "ok" if speed >= floor_mb_per_second else "fail", f"{speed:.0f} MB/s", wanted)


def volume_clock(folder: Path | None) -> Finding:
    """This clock against that of the volume's server, by the time of a new file."""
    if folder is None:
        return Finding("clock, volume", "skip", "no folder")
    probe = folder / f".clock-{socket.gethostname()}-{os.getpid()}"
    try:
        probe.write_bytes(b"x")
        skew = abs(probe.stat().st_mtime - time.time())
    except OSError as error:
        return Finding("clock, volume", "skip", f"{folder}: {error.strerror}")
    finally:
        with suppress(OSError):
            probe.unlink()
    return judge_clock("clock, volume", skew)


def judge_clock(check: str, skew: float) -> Finding:
    """The verdict on a difference of clocks in seconds."""
    status: Status = "fail" if skew > CLOCK_FAIL_SECONDS else "warn" if skew > CLOCK_WARN_SECONDS else "ok"
    return Finding(check, status, f"{skew:.3f} s apart", f"at most {CLOCK_WARN_SECONDS:.0f} s")


def name_resolution(host: str | None, deadline: float) -> Finding:
    """The master's name has an address before `deadline` seconds are over."""
    if not host:
        return Finding("master's name", "skip", "no name: --master, or PET_MASTER_ADDR")
    from trainer.rendezvous import wait_for_name

    begin = time.monotonic()
    try:
        address = wait_for_name(host, begin + deadline)
    except Stop as stop:
        return Finding("master's name", "fail", stop.reason, f"within {deadline:.0f} s")
    took = time.monotonic() - begin
    return Finding("master's name", "ok", f"{host} is {address} after {took:.1f} s", f"within {deadline:.0f} s")


def judge_bandwidth(rows: Sequence[dict[str, float]], world: int, device: str, floor: float | None) -> list[Finding]:
    """The verdict on all-reduces; `rows` have `bytes` and `seconds`. The floor, in GB/s of bus bandwidth
    (2 (n - 1) / n of the bytes per second, as in nccl-tests), is asked of the largest size."""
    found: list[Finding] = []
    for row in rows:
        rate = 2 * (world - 1) / world * row["bytes"] / row["seconds"] / 1e9
        name = f"all-reduce {_size(int(row['bytes']))}"
        seen = f"{rate:.2f} GB/s, {row['seconds'] * 1e3:.2f} ms, {world} {device}"
        if floor is None or row is not rows[-1]:
            found.append(Finding(name, "ok", seen))
        else:
            found.append(Finding(name, "ok" if rate >= floor else "fail", seen, f"at least {floor:g} GB/s"))
    return found


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
