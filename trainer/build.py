"""From a config and a world to a `Loop` that is ready to run: data, model, optimizer, state of the checkpoint."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, MutableMapping
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from trainer import __version__, budget, exits, models, optim, rng, topology, zero
from trainer.checkpoint import layout, resume
from trainer.checkpoint.layout import Meta
from trainer.checkpoint.save import Saver
from trainer.comm import Comm
from trainer.config import Config, digest_of
from trainer.data import manifest as manifests
from trainer.data.manifest import Manifest
from trainer.data.reader import Batches, Dataset
from trainer.evaluate import Evaluation
from trainer.exits import Stop
from trainer.hf.model import Transformer
from trainer.loop import Loop, Progress
from trainer.metrics import Gauges, Goodput, Journal, serve
from trainer.models import Trained
from trainer.preempt import Preemption
from trainer.startup import record_collectives
from trainer.watch import Watch

PEAK_BF16_FLOPS = {"H100": 989e12, "H200": 989e12, "H800": 989e12, "A100": 312e12, "B200": 2250e12, "L40S": 362e12}
"""Dense bfloat16 peak by part of the device's name (NVIDIA's data sheets, SXM parts)."""


def set_up_process(config: Config, world: topology.World, device: torch.device) -> None:
    """Threads, determinism, precision: what must be set before the first kernel."""
    if config.run.threads or not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(config.run.threads or topology.threads_per_process(world.local_size))
    if config.run.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
    if device.type == "cuda":
        record_flight(Path(config.run.dir) / "dumps", os.environ)
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = True
    else:
        keep_freed_memory()


def keep_freed_memory() -> None:
    """Let glibc keep what a step frees for the next one, instead of giving it back and faulting it in again.

    M_TRIM_THRESHOLD (-1) and M_MMAP_THRESHOLD (-3, 32 MiB at most) of malloc.h; other C libraries are left alone.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(-1, 1 << 30)
        library.mallopt(-3, 1 << 25)


def record_flight(folder: Path, env: MutableMapping[str, str]) -> None:
    """Let NCCL's flight recorder keep the last collectives and write them, one file a rank, when one times out.

    What is already set stays. Both names of the file's variable are set: torch 2.11 knows the older one only.
    """
    record_collectives(env)
    env.setdefault("TORCH_NCCL_DUMP_ON_TIMEOUT", "1")
    for name in ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"):
        env.setdefault(name, str(folder.absolute() / "nccl-"))
    with contextlib.suppress(OSError):  # the journal says what is wrong with the folder
        folder.mkdir(parents=True, exist_ok=True)


def open_data(config: Config, comm: Comm, folder: str) -> tuple[Manifest, Dataset]:
    """A dataset after all checks; the ranks share the hashing and agree on the result. Raises `Stop` 65."""
    path = Path(folder)

    def check() -> Manifest:
        found = manifests.read(path)
        wanted = config.data
        if wanted.tokenizer_sha256 and found.tokenizer.sha256 != wanted.tokenizer_sha256:
            raise Stop(
                exits.DATA,
                f"{path}: packed with tokenizer {found.tokenizer.name} {found.tokenizer.sha256[:12]}, but "
                f"data.tokenizer_sha256 wants {wanted.tokenizer_sha256[:12]}",
            )
        manifests.verify(path, found, wanted.verify, comm.world.rank, comm.world.size)
        return found

    found = comm.together(check)
    return found, comm.together(lambda: Dataset(path, found, config.data.seq_len))


def build(config: Config, comm: Comm, journal: Journal, goodput: Goodput, preemption: Preemption, watch: Watch) -> Loop:
    """Everything up to the first step, resumed from the newest valid checkpoint. Collective."""
    world, device = comm.world, comm.device
    manifest, data = open_data(config, comm, config.data.train)
    if config.data.digest and manifest.digest != config.data.digest:
        raise Stop(
            exits.DATA,
            f"{config.data.train}: digest {manifest.digest[:12]}, data.digest wants {config.data.digest[:12]}",
        )
    model = models.make(config, comm, manifest, journal)
    named = dict(model.named_parameters())
    owner = zero.owners(named, world.size)
    kept = {n: p for n, p in named.items() if not config.optim.zero1 or owner[n] == world.rank}
    optimizer = optim.Optimizer(config.optim, kept.items(), fused=True)
    wrapped, forward, plain_forward = wrap(config, comm, model)
    batches = Batches(
        data,
        seed=config.run.seed,
        rows=config.batch.rows,
        micro_rows=config.batch.micro_rows,
        rank=world.rank,
        world=world.size,
        pinned=device.type == "cuda",
    )
    evaluation = _evaluation(config, comm, manifest, model, plain_forward)
    folder = Path(config.run.dir) / layout.FOLDER
    save = config.checkpoint
    loop = Loop(
        config=config,
        comm=comm,
        model=model,
        forward=forward,
        wrapped=wrapped,
        optimizer=optimizer,
        owner=owner,
        batches=batches,
        evaluation=evaluation,
        saver=Saver(folder, comm, keep=save.keep, asynchronous=save.asynchronous, deadline=save.deadline_seconds),
        journal=journal,
        gauges=_gauges(config, journal),
        goodput=goodput,
        preemption=preemption,
        watch=watch,
        describe=describer(config, world, model, manifest),
        peak_flops=_peak(device),
    )
    rng.seed_all(config.run.seed, world.rank)
    check_budget(config, comm, loop, folder, journal)
    resume.resume(config, loop, folder)
    journal.say(
        "start",
        step=loop.progress.step,
        steps=config.run.steps,
        world=world.size,
        nodes=world.nodes,
        device=device.type,
        parameters=sum(p.numel() for p in named.values()),
        rows=data.rows,
        cut_documents=data.plan.cut if data.plan else 0,
        accumulation=topology.accumulation(config, world),
        threads=torch.get_num_threads(),
        data_digest=manifest.digest,
        config_digest=config.digest(),
    )
    return loop


def wrap(
    config: Config, comm: Comm, model: Trained
) -> tuple[DistributedDataParallel | None, Callable[..., Tensor], Callable[..., Tensor]]:
    """DDP (None alone), the forward pass for training, and the one for evaluation, both under autocast."""
    device = comm.device
    if config.speed.compile == "blocks":
        for block in model.layers:
            block.compile()
    wrapped: DistributedDataParallel | None = None
    if not comm.alone:
        ids = [device.index] if device.type == "cuda" else None
        # Buffers are tables that are the same everywhere; without this DDP would broadcast them in every forward pass.
        tables = [name for name, _ in model.named_buffers()]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, tables)  # type: ignore[no-untyped-call]
        wrapped = DistributedDataParallel(model, device_ids=ids, gradient_as_bucket_view=True)
    inner: Callable[..., Tensor] = wrapped if wrapped is not None else model
    if config.speed.compile == "model":
        inner = torch.compile(inner)

    def under_autocast(call: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def forward(tokens: Tensor, targets: Tensor, segments: Tensor | None = None) -> Tensor:
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=config.speed.dtype == "bfloat16"):
                return call(tokens, targets, segments)

        return forward

    return wrapped, under_autocast(inner), under_autocast(model)


def _evaluation(
    config: Config, comm: Comm, train: Manifest, model: Trained, forward: Callable[..., Tensor]
) -> Evaluation | None:
    if config.data.eval is None:
        return None
    manifest, data = open_data(config, comm, config.data.eval)
    if manifest.tokenizer.sha256 != train.tokenizer.sha256:
        raise Stop(exits.DATA, f"{config.data.eval}: packed with another tokenizer than {config.data.train}")
    return Evaluation(data, comm, model, forward, rows=config.eval.rows, micro_rows=config.batch.micro_rows)


def describer(config: Config, world: topology.World, model: Trained, manifest: Manifest) -> Callable[[Progress], Meta]:
    """What a checkpoint of this run says about itself, as a function of the progress."""
    shape = models.facts_of(model)
    transformers = model.config if isinstance(model, Transformer) else None
    written = config.model_dump(mode="json")
    digest = config.digest()

    def describe(progress: Progress) -> Meta:
        return Meta(
            step=progress.step,
            cursor=progress.cursor,
            tokens=progress.tokens,
            seed=config.run.seed,
            world=world.size,
            model=shape,
            model_digest=digest_of(shape),
            transformers=transformers,
            data_digest=manifest.digest,
            seq_len=config.data.seq_len,
            config=written,
            config_digest=digest,
            tokenizer_sha256=manifest.tokenizer.sha256,
            torch=str(torch.__version__),
            trainer=__version__,
            image_digest=os.environ.get("TRAINSHED_IMAGE_DIGEST"),
            git_revision=os.environ.get("TRAINSHED_GIT_REVISION"),
        )

    return describe


def check_budget(config: Config, comm: Comm, loop: Loop, folder: Path, journal: Journal) -> None:
    """Measure the volume, compute what a preemption needs, log it, and refuse (78) when it cannot hold. Collective."""
    weights = sum(p.numel() * p.element_size() for p in loop.named.values())
    mine = sum(tensor.numel() * tensor.element_size() for tensor in loop.share().values())
    largest = -int(comm.smallest(-float(mine)))
    given = config.preempt.write_mb_per_second
    speed = given or comm.smallest(comm.together(lambda: budget.write_speed(folder, comm.world.rank)))
    found = budget.Budget(
        state_bytes=3 * weights,
        bytes_per_rank=largest,
        write_mb_per_second=speed,
        save_seconds=largest / 1e6 / speed,
        step_seconds=config.preempt.step_seconds or 0.0,
        margin_seconds=config.preempt.margin_seconds,
        shutdown_seconds=loop.preemption.shutdown_seconds,
    )
    journal.say("budget", **found.fields())
    if config.preempt.enforce:
        found.refuse()


def _gauges(config: Config, journal: Journal) -> Gauges:
    gauges = Gauges()
    if config.log.prometheus_port is not None and not journal.silent:
        try:
            server = serve(gauges, config.log.prometheus_port)
            journal.say("prometheus", port=server.server_port)
        except OSError as error:
            journal.say("notice", text=f"port {config.log.prometheus_port} cannot be served: {error.strerror}")
    return gauges


def _peak(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in PEAK_BF16_FLOPS.items() if part in name), None)
