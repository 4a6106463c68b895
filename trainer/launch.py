"""The container's first process: starts the ranks as torchrun does, and leaves with a code that says what happened.

Takes torchrun's arguments and its PET_* variables. Unlike torchrun it keeps the ranks' exit codes (torchrun 2.13.0
makes every failure 1), takes the wait before SIGKILL from the pod's grace period, waits for the master with a deadline,
and never leaves with 0 after a signal unless all ranks had finished. The reason goes to the termination message.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from trainer import exits, outcome, topology
from trainer.exits import Stop
from trainer.outcome import Outcome
from trainer.startup import record_collectives, uncollected

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

GRACE_VARIABLE = "TRAINSHED_GRACE_PERIOD"
DEFAULT_GRACE_SECONDS = 30
GRACE_MARGIN_SECONDS = 5
SHUTDOWN_VARIABLE = "TRAINSHED_SHUTDOWN_SECONDS"
MASTER_TIMEOUT_VARIABLE = "TRAINSHED_MASTER_TIMEOUT_SECONDS"
DEFAULT_MASTER_TIMEOUT_SECONDS = 300.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class Signalled(BaseException):
    """A signal came before the ranks were started. A BaseException, so that no library swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(arguments: Sequence[str]) -> int:
    """Run and return the exit code; the reason is printed and written to the termination message."""
    for number in SIGNALS:
        signal.signal(number, _raise_signalled)
    with tempfile.TemporaryDirectory(prefix="trainer-outcome-") as folder:
        os.environ[outcome.FOLDER_VARIABLE] = folder
        try:
            result = _launch(list(arguments), Path(folder))
        except Signalled as caught:
            name = signal.Signals(caught.number).name
            result = Outcome(exits.PREEMPTED_UNSAVED, f"{name} before the ranks were started; nothing new to save")
        except Stop as stop:
            result = Outcome(stop.code, stop.reason)
        except Exception as error:
            result = _from_exception(error)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    print(f"trainer launch: {result.line()}", file=sys.stderr, flush=True)
    outcome.publish(result)
    return result.code


_seen: list[int] = []


def _raise_signalled(number: int, _frame: FrameType | None) -> NoReturn:
    _seen.append(number)
    raise Signalled(number)


def _heed_signals() -> None:
    """Raise again what was swallowed: extension modules clear exceptions while they are imported."""
    if _seen:
        raise Signalled(_seen[0])


def _launch(arguments: list[str], folder: Path) -> Outcome:
    shutdown = shutdown_seconds()
    os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = str(shutdown)
    os.environ[SHUTDOWN_VARIABLE] = str(shutdown)
    with uncollected():
        from torch.distributed.elastic.multiprocessing.api import SignalException
        from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
        from torch.distributed.launcher.api import elastic_launch
        from torch.distributed.run import config_from_args

        from trainer import rendezvous

    _heed_signals()
    options = _parse(arguments)
    _fill_rendezvous(options)
    try:
        share_cpus(options.nproc_per_node)
        config, command, command_arguments = config_from_args(options)
    except ValueError as error:
        given = ", ".join(f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith("PET_"))
        text = f"torchrun's arguments or PET_* variables: {error}{f' ({given})' if given else ''}"
        raise Stop(exits.CONFIG, text) from None
    script = options.training_script
    if not (options.module or options.no_python or Path(script).exists()):
        raise Stop(exits.USAGE, f"{script}: no such script")
    _wait_before_kill(config, shutdown)
    use_huge_pages()
    os.environ["TRAINSHED_LAUNCHER_PID"] = str(os.getpid())
    record_collectives(os.environ)
    rendezvous.prepare(config, float(os.environ.get(MASTER_TIMEOUT_VARIABLE, DEFAULT_MASTER_TIMEOUT_SECONDS)))
    _heed_signals()
    try:
        elastic_launch(config=config, entrypoint=command)(*command_arguments)
    except ChildFailedError as failed:
        return from_failures(failed, outcome.read_all(folder))
    except SignalException as caught:
        return after_signal(int(caught.sigval), outcome.read_all(folder), config.nproc_per_node)
    return Outcome(exits.FINISHED, "all ranks finished")


def _wait_before_kill(config: Any, seconds: int) -> None:
    """Set how long the agent waits after SIGTERM. torch 2.11 has only the default of one method, 30 s, for it."""
    if hasattr(config, "shutdown_timeout"):
        config.shutdown_timeout = seconds
        return
    from torch.distributed.elastic.multiprocessing.api import PContext

    PContext.close.__defaults__ = (None, seconds)


def _parse(arguments: list[str]) -> Any:
    from torch.distributed.run import get_args_parser

    def refuse(message: str) -> NoReturn:
        raise Stop(exits.USAGE, f"torchrun's arguments or PET_* variables: {message}")

    parser = get_args_parser()
    parser.prog = "trainer launch"
    parser.allow_abbrev = False  # an abbreviation would eat options of the script (pytorch#120601)
    parser.error = refuse  # type: ignore[method-assign]
    return parser.parse_args(arguments)


def _fill_rendezvous(options: Any) -> None:
    """What torchrun does outside its parser: a single node without an address meets itself on a free port."""
    alone = options.rdzv_backend == "static" and not options.rdzv_endpoint and options.master_port is None
    if options.standalone or (alone and str(options.nnodes) in ("1", "1:1")):
        options.rdzv_backend = "c10d"
        options.rdzv_endpoint = "localhost:0"
        options.rdzv_id = f"trainer-{os.getpid()}"
    if options.master_port is None:
        options.master_port = 29500


def share_cpus(processes: str) -> None:
    """Set OMP_NUM_THREADS, unless it is set: the node's CPUs are shared out among its ranks.

    Before torchrun's own reading of its options, which would make it 1. Raises ValueError for no number of ranks.
    """
    from torch.distributed.run import determine_local_world_size

    if not os.environ.get("OMP_NUM_THREADS"):
        os.environ["OMP_NUM_THREADS"] = str(topology.threads_per_process(determine_local_world_size(processes)))


def use_huge_pages() -> None:
    """Let glibc (2.35 and newer) ask for huge pages in ranks on CPUs: 7 % less time a step where they are granted.

    Ranks on GPUs keep their memory elsewhere. glibc reads this only while a process starts, hence the launcher.
    """
    if not Path("/dev/nvidiactl").exists():
        os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")


def shutdown_seconds() -> int:
    """Seconds that ranks get after SIGTERM: the pod's grace period less a margin, or what PET_SHUTDOWN_TIMEOUT says.

    Raises `Stop` 78 when the explicit value cannot end inside the grace period.
    """
    explicit = os.environ.get("PET_SHUTDOWN_TIMEOUT") or os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT")
    grace_text = os.environ.get(GRACE_VARIABLE)
    try:
        grace = int(grace_text) if grace_text else DEFAULT_GRACE_SECONDS
        chosen = int(explicit) if explicit else max(1, grace - GRACE_MARGIN_SECONDS)
    except ValueError:
        raise Stop(exits.CONFIG, f"{GRACE_VARIABLE}={grace_text!r} or PET_SHUTDOWN_TIMEOUT={explicit!r}") from None
    if grace_text and chosen > max(1, grace - GRACE_MARGIN_SECONDS):
        raise Stop(
            exits.CONFIG,
            f"PET_SHUTDOWN_TIMEOUT {chosen} s does not fit in the grace period {grace} s less {GRACE_MARGIN_SECONDS} s",
        )
    return chosen


def from_failures(failed: ChildFailedError, outcomes: dict[int, Outcome]) -> Outcome:
    """The cause among the ranks' failures: the earliest one that is no consequence of another.

    The agent ends the remaining ranks with SIGTERM, so their -15, 71 and 76 come after the cause.
    """
    ranked: list[tuple[bool, float, int, Outcome]] = []
    for rank, failure in failed.failures.items():
        told = outcomes.get(failure.local_rank)
        code = exits.from_wait_status(failure.exitcode)
        reason = told.reason if told and told.code == code else _without_word(rank, code, failure.message)
        when = told.time if told and told.code == code else float(failure.timestamp)
        step = told.step if told else None
        follows = code in (exits.TERMINATED, exits.COLLATERAL, exits.PREEMPTED_UNSAVED)
        ranked.append((follows, when, rank, Outcome(code, reason, rank, step)))
    return min(ranked, key=lambda entry: entry[:3])[3]


def _without_word(rank: int, code: int, message: str) -> str:
    """What to say of a rank that left nothing: torch's message where it knows of a signal, else its code."""
    return message if message.startswith("Signal") else f"rank {rank} left with {code} and without a word"


def after_signal(number: int, outcomes: dict[int, Outcome], local_size: int) -> Outcome:
    """What to leave with after a signal: what the ranks said, else 128 + signal; 0 only if every rank had finished."""
    finished = [told for told in outcomes.values() if told.code == exits.FINISHED]
    if finished and len(finished) == local_size:
        return Outcome(
            exits.FINISHED, "all ranks had finished when the signal came", finished[0].rank, finished[0].step
        )
    others = {rank: told for rank, told in outcomes.items() if told.code not in (exits.FINISHED, exits.COLLATERAL)}
    for told in others.values():
        if told.code == exits.PREEMPTED:
            return told
    if others:
        return others[min(others)]
    name = signal.Signals(number).name
    return Outcome(128 + number, f"{name}; the ranks ended without a word")


def _from_exception(error: Exception) -> Outcome:
    from torch.distributed import DistError
    from torch.distributed.elastic.rendezvous import RendezvousError

    text = f"{type(error).__name__}: {error}"
    if isinstance(error, DistError | RendezvousError | OSError | TimeoutError):
        return Outcome(exits.UNHEALTHY, f"the nodes could not meet: {text}")
    import traceback

    traceback.print_exception(error)
    return Outcome(exits.BUG, text)
