"""Which model a run trains: our own by its shape, or a local folder of transformers."""

from __future__ import annotations

from dataclasses import asdict

import torch

from trainer import exits
from trainer.comm import Comm
from trainer.config import Config
from trainer.data.manifest import Manifest
from trainer.exits import Stop
from trainer.hf import folder as folders
from trainer.hf.folder import Facts
from trainer.hf.model import Transformer
from trainer.metrics import Journal
from trainer.model import GPT, Spec

Trained = GPT | Transformer


def make(config: Config, comm: Comm, manifest: Manifest, journal: Journal) -> Trained:
    """The model on its device, weights drawn from the seed or read from the folder. Collective.

    Raises `Stop` 65 when the data do not fit it, 78 when it cannot be trained.
    """
    if config.model.hf is not None:
        return _from_folder(config, comm, manifest, journal, config.model.hf)
    spec = Spec.of(config.model, manifest.tokenizer.vocab)
    if spec.vocab < manifest.tokenizer.vocab:
        raise Stop(exits.DATA, f"model.vocab {spec.vocab} is smaller than the data's {manifest.tokenizer.vocab} tokens")
    torch.manual_seed(config.run.seed)
    model = GPT(spec, config.data.seq_len, activation_checkpointing=config.speed.activation_checkpointing)
    return model.to(comm.device)


def _from_folder(config: Config, comm: Comm, manifest: Manifest, journal: Journal, name: str) -> Transformer:
    from trainer.hf import model as transformers
    from trainer.hf.probe import probe

    folder = comm.together(lambda: folders.open_folder(name))
    facts = folders.facts(folder, folders.weights_digest(folder, comm))
    asked = config.data.tokenizer_sha256
    notice = comm.together(lambda: folders.check_tokenizer(folder, manifest.tokenizer, asked))

    def build() -> tuple[Transformer, list[str]]:
        options = {"activation_checkpointing": config.speed.activation_checkpointing}
        model, notices = transformers.load(folder, facts, **options)
        _refuse_misfit(config, manifest, model)
        model.to(comm.device)
        probe(model, name, comm.device, documents=manifest.kind == "chat")
        return model, notices

    model, notices = comm.together(build)
    for text in [notice, *notices]:
        if text is not None:
            journal.say("notice", text=text)
    return model


def _refuse_misfit(config: Config, manifest: Manifest, model: Transformer) -> None:
    figures, data = model.spec, manifest.tokenizer
    if figures.vocab < data.vocab:
        raise Stop(exits.DATA, f"the model's vocabulary {figures.vocab} is smaller than the data's {data.vocab} tokens")
    if figures.positions is not None and figures.positions < config.data.seq_len:
        raise Stop(
            exits.CONFIG, f"data.seq_len {config.data.seq_len} is longer than the model's {figures.positions} positions"
        )
    if config.speed.compile == "blocks" and not model.layers:
        raise Stop(exits.CONFIG, 'the model does not say which its blocks are; set speed.compile = "model" or "off"')


def facts_of(model: Trained) -> Facts:
    """What two runs must have in common to be of the same model."""
    if isinstance(model, Transformer):
        return model.facts
    return {key: value for key, value in asdict(model.spec).items() if key != "dropout"}
