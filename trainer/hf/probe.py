"""Whether an architecture does what the trainer builds on, asked of the model itself rather than of a list of names."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.hf.folder import refuse
from trainer.hf.model import Transformer

LENGTH = 12
"""Tokens of a probe."""
NOTHING = 1e-6
"""A masked position has a weight of exactly 0; gradients below this share of the others' are taken for that."""
ALIKE = 1e-2
"""Logits of a packed document may differ from those of the document alone by this share of what the other one makes."""


def probe(model: Transformer, folder: str, device: torch.device, *, documents: bool) -> None:
    """Raise `Stop` 78 for a model that sees later tokens, leaves a parameter without a gradient, or (`documents`) lets
    the documents of a row see each other. Leaves no gradient and the mode behind as it was.
    """
    kind, training = type(model.hf).__name__, model.training
    model.eval()
    try:
        tokens = (torch.arange(LENGTH, device=device) * 7 + 1).remainder(model.spec.vocab).unsqueeze(0)
        half = LENGTH // 2
        earlier, later = slice(0, half), slice(half, LENGTH)
        if _reaches(model, tokens, None, later, earlier):
            raise refuse(folder, f"{kind} lets a position see later ones: not a causal language model as configured")
        if idle := _without_gradient(model, tokens):
            raise refuse(folder, f"{kind} does not use {', '.join(idle[:3])} for the loss, which DDP cannot do")
        if documents and not _keeps_documents_apart(model, tokens, half - 1):
            raise refuse(folder, f"{kind} cannot keep the documents of a chat row apart; only text data can be used")
    finally:
        model.train(training)


def _reaches(model: Transformer, tokens: Tensor, segments: Tensor | None, source: slice, target: slice) -> bool:
    """Whether the logits at `target` depend on the tokens at `source`, by their gradient."""
    seen: list[Tensor] = []
    table = model.hf.get_input_embeddings()  # type: ignore[operator]
    hook = table.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    try:
        scores = model.logits(tokens, segments)[:, target].float()
    finally:
        hook.remove()
    weights = torch.linspace(-1, 1, scores.numel(), device=scores.device).view_as(scores)
    gradient = torch.autograd.grad((scores * weights).sum(), seen[0])[0].abs()
    return float(gradient[:, source].max()) > NOTHING * float(gradient.max())


def _without_gradient(model: Transformer, tokens: Tensor) -> list[str]:
    torch.autograd.backward(model(tokens[:, :-1], tokens[:, 1:]))
    idle = [name.removeprefix("hf.") for name, p in model.named_parameters() if p.grad is None]
    for parameter in model.parameters():
        parameter.grad = None
    return idle


def _keeps_documents_apart(model: Transformer, tokens: Tensor, start: int) -> bool:
    """The first of two documents must not reach the second, which must come out as if alone: also its positions."""
    segments = torch.zeros_like(tokens)
    segments[:, start:] = 1
    try:
        if _reaches(model, tokens, segments, slice(0, start), slice(start, LENGTH)):
            return False
    except (TypeError, ValueError):  # its forward pass takes no positions
        return False
    with torch.no_grad():
        packed = model.logits(tokens, segments)[:, start:]
        alone = model.logits(tokens[:, start:])
        running = model.logits(tokens)[:, start:]
    return float((packed - alone).abs().max()) <= ALIKE * float((running - alone).abs().max())
