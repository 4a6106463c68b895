"""The training loop: one optimizer step after the other, stopping places agreed by all ranks."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from trainer import exits, optim, rng, zero
from trainer.checkpoint.layout import Meta
from trainer.checkpoint.save import Saved, Saver
from trainer.comm import Comm
from trainer.config import Config
from trainer.data.reader import Batches, StepBatch
from trainer.evaluate import Evaluation
from trainer.exits import Stop
from trainer.metrics import Gauges, Goodput, Journal
from trainer.models import Trained
from trainer.preempt import Preemption
from trainer.watch import Watch

SPIKE_LEAST = 5
"""Reports that must be there before one can be called a spike."""


@dataclass
class Progress:
    """How far the run is: completed steps, rows taken from the order, tokens seen."""

    step: int = 0
    cursor: int = 0
    tokens: int = 0


@dataclass
class Window:
    """What happened since the last line of the journal."""

    loss: Tensor | None = None
    targets: int = 0
    tokens: int = 0
    began: float = field(default_factory=time.perf_counter)


class Preempted(Exception):  # noqa: N818
    """All ranks have agreed to stop; `rng` is the random state of the last completed step."""

    def __init__(self, state: rng.RngState) -> None:
        super().__init__()
        self.rng = state


class Loop:
    """Everything a step needs. Built by `trainer.train`; `run` returns the exit code's `Stop` fields by raising it."""

    def __init__(
        self,
        config: Config,
        comm: Comm,
        model: Trained,
        forward: Callable[..., Tensor],
        wrapped: DistributedDataParallel | None,
        optimizer: optim.Optimizer,
        owner: dict[str, int],
        batches: Batches,
        evaluation: Evaluation | None,
        saver: Saver,
        journal: Journal,
        gauges: Gauges,
        goodput: Goodput,
        preemption: Preemption,
        watch: Watch,
        describe: Callable[[Progress], Meta],
        peak_flops: float | None,
    ) -> None:
        self.config, self.comm, self.model, self.forward, self.wrapped = config, comm, model, forward, wrapped
        self.optimizer, self.owner, self.batches, self.evaluation = optimizer, owner, batches, evaluation
        self.saver, self.journal, self.gauges, self.goodput = saver, journal, gauges, goodput
        self.preemption, self.watch, self.describe, self.peak_flops = preemption, watch, describe, peak_flops
        self.named = dict(model.named_parameters())
        self.progress = Progress()
        self.window = Window()
        self.bad = torch.zeros((), dtype=torch.bool, device=comm.device)
        self.norm = torch.zeros((), device=comm.device)
        self._first = True
        self._recent: deque[float] = deque(maxlen=20)

    def run(self) -> None:
        """Train to the last step and save it. Raises `Preempted` or `Stop`."""
        config = self.config
        while self.progress.step < config.run.steps:
            self._step()
            self.note_saves(self.saver.collect())
            step = self.progress.step
            last = step == config.run.steps
            if self.comm.device.type == "cpu" or step % config.log.every == 0 or last:
                self._refuse_divergence()
            if step % config.log.every == 0 or last:
                self._report()
            if self.evaluation is not None and (step % config.eval.every == 0 or last):
                self._evaluate()
            if step % config.checkpoint.every == 0 and not last:
                self.save(rng.capture(self.comm.device))
        if self.saver.last_step != self.progress.step:
            self.save(rng.capture(self.comm.device))
        self.note_saves(self._joined())

    def _step(self) -> None:
        config, comm, progress = self.config, self.comm, self.progress
        before = rng.capture(comm.device)
        with self.goodput.during("data"):
            batch = self.batches.at(progress.cursor)
        asked, targets = comm.total(int(self.preemption.requested), batch.targets)
        if asked:
            raise Preempted(before)
        phase = "compile" if self._first and config.speed.compile != "off" else "step"
        with self.goodput.during(phase):
            rate = optim.learning_rate(config.optim, progress.step, config.run.steps)
            loss = self._accumulate(batch, comm.world.size / max(1, targets), before)
            self.norm = optim.clip_gradients(list(self.named.values()), config.optim.clip)
            self.bad |= ~torch.isfinite(self.norm)
            self.preemption.nothing_to_lose = False
            self.optimizer.step(rate)
            if config.optim.zero1 and not comm.alone:
                zero.broadcast(self.named, self.owner, comm.world.size, None)
            for parameter in self.named.values():
                parameter.grad = None
        self._first = False
        self.watch.beat()
        progress.step += 1
        progress.cursor += config.batch.rows
        progress.tokens += config.batch.rows * config.data.seq_len
        window = self.window
        window.loss = loss if window.loss is None else window.loss + loss
        window.targets += targets
        window.tokens += config.batch.rows * config.data.seq_len

    def _accumulate(self, batch: StepBatch, scale: float, before: rng.RngState) -> Tensor:
        """Gradients of the mean loss over the step's global batch; returns this rank's summed loss.

        DDP divides by the world size, hence `scale`: it makes that a division by the global number of targets.
        """
        micros = batch.tokens.shape[0]
        total = torch.zeros((), device=self.comm.device)
        for number in range(micros):
            last = number == micros - 1
            with self._synchronised(last):
                loss = self.forward(*batch.micro(number, self.comm.device))
                torch.autograd.backward(loss * scale)
            total += loss.detach()
            self.watch.beat()
            if not last and self.comm.total(int(self.preemption.requested))[0]:
                for parameter in self.named.values():
                    parameter.grad = None
                raise Preempted(before)
        return total

    @contextlib.contextmanager
    def _synchronised(self, last: bool) -> Iterator[None]:
        """DDP exchanges gradients only in the last forward pass of a step."""
        if self.wrapped is None or last:
            yield
        else:
            with self.wrapped.no_sync():
                yield

    def _refuse_divergence(self) -> None:
        """Raise `Stop` 79. The norm is that of the summed gradients, so all ranks see the same and agree."""
        if bool(self.bad):
            self.note_saves(self.saver.join())
            raise Stop(
                exits.DIVERGED,
                f"the gradient is not finite at or before step {self.progress.step} (norm {float(self.norm)}); "
                f"{self._last_good()}",
            )

    def _refuse_spike(self, loss: float) -> None:
        """Raise `Stop` 79 for a loss far above those before it. All ranks have the same loss, so they agree."""
        factor, recent = self.config.optim.spike_factor, self._recent
        if factor is not None and len(recent) >= SPIKE_LEAST and loss > factor * statistics.median(recent):
            self.note_saves(self.saver.join())
            raise Stop(
                exits.DIVERGED,
                f"the loss jumped to {loss:.4g} at step {self.progress.step}, more than {factor} times the median "
                f"{statistics.median(recent):.4g} of the last {len(recent)} reports; {self._last_good()}",
            )
        recent.append(loss)

    def _last_good(self) -> str:
        step = self.saver.last_step
        return "there is no checkpoint yet" if step is None else f"the last good checkpoint is step {step}"

    def _report(self) -> None:
        window, progress, config = self.window, self.progress, self.config
        assert window.loss is not None
        loss = float(self.comm.total_on_device(window.loss.clone())) / max(1, window.targets)
        if not math.isfinite(loss):
            self.note_saves(self.saver.join())
            raise Stop(
                exits.DIVERGED,
                f"the loss is {loss} at step {progress.step}; {self._last_good()}",
            )
        self._refuse_spike(loss)
        seconds = time.perf_counter() - window.began
        speed = window.tokens / max(seconds, 1e-9)
        flops = speed * self.model.spec.flops_per_token(config.data.seq_len)
        mfu = None if self.peak_flops is None else round(flops / (self.peak_flops * self.comm.world.size), 4)
        phases = self.goodput.snapshot()
        rate = optim.learning_rate(config.optim, progress.step - 1, config.run.steps)
        self.journal.say(
            "step",
            step=progress.step,
            steps=config.run.steps,
            loss=round(loss, 6),
            lr=rate,
            gradient_norm=round(float(self.norm), 6),
            tokens=progress.tokens,
            tokens_per_second=round(speed),
            mfu=mfu,
            phases=phases,
        )
        self._gauge(loss, speed, rate, phases)
        self.window = Window()

    def _gauge(self, loss: float, speed: float, rate: float, phases: dict[str, float]) -> None:
        gauges, progress = self.gauges, self.progress
        gauges.set("step", "Completed optimizer steps.", progress.step)
        gauges.set("steps", "Optimizer steps of the whole run.", self.config.run.steps)
        gauges.set("loss", "Mean training loss since the last report.", loss)
        gauges.set("learning_rate", "Learning rate of the last step.", rate)
        gauges.set("tokens_total", "Tokens seen by the run, over all interruptions.", progress.tokens, kind="counter")
        gauges.set("tokens_per_second", "Tokens per second over all ranks.", speed)
        gauges.set("goodput_ratio", "Share of this process's time spent in steps.", phases["goodput"])
        by_phase = {name.removesuffix("_seconds"): value for name, value in phases.items() if name.endswith("_seconds")}
        by_phase.pop("total")
        gauges.set("phase_seconds_total", "Seconds spent per phase.", by_phase, kind="counter")

    def _evaluate(self) -> None:
        assert self.evaluation is not None
        with self.goodput.during("eval"):
            state = rng.capture(self.comm.device)
            loss = self.evaluation.run(self.preemption, self.watch)
        if loss is None:
            raise Preempted(state)
        self.journal.say("eval", step=self.progress.step, loss=round(loss, 6))
        self.gauges.set("eval_loss", "Mean loss on the evaluation rows.", loss)
        self.window.began = time.perf_counter()

    def save(self, state: rng.RngState) -> None:
        """Begin a checkpoint of the last completed step. Collective. Never saves a state that is not finite."""
        self._refuse_divergence()
        with self.goodput.during("checkpoint"):
            self.note_saves(self.saver.begin(self.share(), state, self.describe(self.progress)))
        self.watch.beat()

    def _joined(self) -> list[Saved]:
        with self.goodput.during("checkpoint"):
            return self.saver.join()

    def note_saves(self, saves: list[Saved]) -> None:
        """Tell the journal about committed checkpoints."""
        for saved in saves:
            self.journal.say(
                "checkpoint",
                step=saved.step,
                path=str(saved.path),
                bytes=saved.bytes,
                blocked_seconds=round(saved.blocked_seconds, 4),
                seconds=round(saved.seconds, 4),
            )
            self.gauges.set("checkpoint_step", "Step of the newest committed checkpoint.", saved.step)

    def share(self) -> dict[str, Tensor]:
        """The state that this rank writes: the parameters it owns and their optimizer state."""
        rank = self.comm.world.rank
        state = {f"model.{name}": p.detach() for name, p in self.named.items() if self.owner[name] == rank}
        for key, tensor in self.optimizer.state().items():
            if self.owner[key.rpartition(".")[0]] == rank:
                state[f"optim.{key}"] = tensor
        return state

    def targets(self) -> dict[str, Tensor]:
        """The state that this rank reads: all weights, and the optimizer state it keeps."""
        state = {f"model.{name}": p.detach() for name, p in self.named.items()}
        return state | {f"optim.{key}": tensor for key, tensor in self.optimizer.state().items()}
