"""The run's configuration: frozen, typed, unknown keys refused. Imports no torch, so that a generator can check it.

Sections of the TOML file are the fields of `Config`. Units are in the names or the docstrings; every default is written
here and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trainer.presets import PRESETS, Shape

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """Base of all sections."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Run(Section):
    """What is run, where its state lives, and for how long."""

    name: Annotated[str, Field(min_length=1, max_length=63)] = "run"
    dir: Annotated[str, Field(min_length=1)] = "run"
    """Folder for checkpoints, metrics and dumps. All nodes must see the same folder."""
    steps: Positive = 1000
    """Optimizer steps in all, across every interruption."""
    seed: NotNegative = 1337
    device: Literal["auto", "cpu", "cuda"] = "auto"
    deterministic: bool = False
    """Only deterministic kernels. Slower on GPUs; needed there for bit-exact resume."""
    threads: Positive | None = None
    """Intra-op threads per process. Default: OMP_NUM_THREADS, else the cgroup's CPUs ÷ the node's processes."""


class World(Section):
    """What the run expects of the cluster; it refuses to start (78) in another world. None: not checked."""

    nodes: Positive | None = None
    processes_per_node: Positive | None = None


class Model(Section):
    """The model's shape: a preset, any part of which can be overridden; or a folder of transformers (`hf`)."""

    hf: Annotated[str, Field(min_length=1)] | None = None
    """Folder with config.json and safetensors, whose model and weights are trained instead. Never downloaded. Needs the
    package transformers; nothing else of this section may be set."""
    preset: str = "124m"
    layers: Positive | None = None
    width: Positive | None = None
    heads: Positive | None = None
    kv_heads: Positive | None = None
    hidden: Positive | None = None
    vocab: Positive | None = None
    """Size of the vocabulary before padding to a multiple of 64. Default: that of the data."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    rope_base: Annotated[float, Field(gt=1)] = 10_000.0
    norm_eps: Annotated[float, Field(gt=0)] = 1e-5

    @model_validator(mode="after")
    def _shape_fits(self) -> Model:
        own = [key for key, field in type(self).model_fields.items() if getattr(self, key) != field.default]
        if self.hf is not None and own != ["hf"]:
            raise ValueError(f"model.{own[-1]}: model.hf is set, and its config.json decides; remove one of the two")
        if self.preset not in PRESETS:
            raise ValueError(f"model.preset: there is no preset {self.preset!r}; write one of {', '.join(PRESETS)}")
        shape = self.shape()
        if shape.width % shape.heads or (shape.width // shape.heads) % 2:
            raise ValueError(f"model.width: {shape.width} must be an even multiple of model.heads ({shape.heads})")
        if shape.heads % shape.kv_heads:
            raise ValueError(f"model.kv_heads: {shape.kv_heads} must divide model.heads ({shape.heads})")
        return self

    def shape(self) -> Shape:
        """The preset's shape with this section's overrides."""
        base = PRESETS[self.preset]
        kv_default = base.kv_heads if self.heads is None else self.heads
        return Shape(
            self.layers or base.layers,
            self.width or base.width,
            self.heads or base.heads,
            self.kv_heads or kv_default,
            self.hidden or base.hidden,
        )


class Data(Section):
    """Packed datasets (made by `trainer data pack`) and how they are cut into rows."""

    train: Annotated[str, Field(min_length=1)] = "data/train"
    eval: str | None = None
    seq_len: Positive = 1024
    tokenizer_sha256: str | None = None
    """Refuse data that was packed with another tokenizer."""
    digest: str | None = None
    """Refuse data whose manifest has another digest."""
    verify: Literal["hash", "size"] = "hash"
    """Check each shard's SHA-256 at the start (split over the ranks), or only its size."""


class Batch(Section):
    """Rows per step. `rows` is global, so the run is the same at any world size; accumulation follows from it."""

    rows: Positive = 512
    micro_rows: Positive = 8
    """Rows per forward pass and process."""


class Optim(Section):
    """AdamW and its schedule."""

    lr: Annotated[float, Field(gt=0)] = 6e-4
    min_lr_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1
    schedule: Literal["cosine", "wsd", "constant"] = "cosine"
    warmup_steps: NotNegative = 0
    decay_fraction: Annotated[float, Field(gt=0, le=1)] = 0.2
    """Share of the steps in the linear decay at the end (`wsd` only)."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.1
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.95
    eps: Annotated[float, Field(gt=0)] = 1e-8
    clip: Annotated[float, Field(ge=0)] = 1.0
    """Largest norm of the gradient; 0 turns clipping off."""
    spike_factor: Annotated[float, Field(gt=1)] | None = None
    """Leave (79) when a reported loss is above this many times the median of the last 20. None: never."""
    zero1: bool = False
    """Each rank keeps the optimizer state of its share of the parameters only."""


class Speed(Section):
    """What makes a step faster or smaller without changing what it means."""

    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Type of the matrix products; weights and optimizer state stay in float32."""
    compile: Literal["off", "blocks", "model"] = "off"
    activation_checkpointing: bool = False


class Checkpoint(Section):
    """When to save and what to keep."""

    every: Positive = 500
    """Steps between saves. The last step and a preemption are saved as well."""
    keep: Positive = 2
    asynchronous: bool = True
    """Write in a thread while training goes on, from a copy of the state."""
    resume: Literal["auto", "never", "must"] = "auto"
    """Start from the newest valid checkpoint if there is one; never; or refuse to start without one."""
    allow_changed: frozenset[Literal["model", "data"]] = frozenset()
    """Resume although the model or the data is not the one of the checkpoint."""
    deadline_seconds: Seconds = 1800
    """A save or load that takes longer ends the run (69)."""


class Preempt(Section):
    """What a SIGTERM may cost. The rule is: save + one step + margin <= the launcher's shutdown timeout."""

    margin_seconds: Seconds = 2
    write_mb_per_second: Annotated[float, Field(gt=0)] | None = None
    """Speed of the checkpoint volume as seen by one process. Default: measured at the start."""
    step_seconds: Seconds | None = None
    """Expected time of a step, for the check at the start. Default: unknown, counted as 0."""
    enforce: bool = True
    """Refuse to start (78) when the rule cannot hold; otherwise only warn."""


class Eval(Section):
    """Loss on `data.eval`."""

    every: Positive = 500
    rows: Positive = 256


class Log(Section):
    """What the run says."""

    every: Positive = 10
    prometheus_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """Serve metrics on this port (rank 0); 0 takes a free one; None serves nothing."""
    hang_seconds: Seconds | None = None
    """Dump all stacks and leave (69) when no step ends for so long. Leave room for compilation."""
    progress: Literal["auto", "bar", "json"] = "auto"
    tensorboard: bool = False
    """Write scalars for TensorBoard under `run.dir`/tensorboard as well. Needs the package tensorboard."""


class Config(Section):
    """The whole configuration."""

    run: Run = Run()
    world: World = World()
    model: Model = Model()
    data: Data = Data()
    batch: Batch = Batch()
    optim: Optim = Optim()
    speed: Speed = Speed()
    checkpoint: Checkpoint = Checkpoint()
    preempt: Preempt = Preempt()
    eval: Eval = Eval()
    log: Log = Log()

    def digest(self) -> str:
        """SHA-256 of the configuration with all its defaults."""
        return digest_of(self.model_dump(mode="json"))


def digest_of(value: object) -> str:
    """SHA-256 of a value as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def json_schema() -> dict[str, object]:
    """JSON Schema (2020-12) of the configuration file."""
    schema: dict[str, object] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema.update(Config.model_json_schema())
    return schema
