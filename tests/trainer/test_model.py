"""The model, the optimizer, and what must not change when a step is made cheaper."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (see docs/trainer.md)")

from trainer import kernels, optim, rng, zero  # noqa: E402
from trainer.config import Model, Optim  # noqa: E402
from trainer.model import GPT, IGNORE, Spec, document_positions  # noqa: E402
from trainer.presets import PRESETS  # noqa: E402

SPEC = Spec.of(Model(preset="tiny"), 259)


def model(spec: Spec = SPEC, **options: bool) -> GPT:
    torch.manual_seed(0)
    return GPT(spec, 16, **options)


def test_the_vocabulary_is_padded_to_a_multiple_of_64() -> None:
    assert (SPEC.vocab, SPEC.padded_vocab) == (259, 320)


@pytest.mark.parametrize(
    ("preset", "low", "high"),
    [("3m", 3, 17), ("124m", 121, 127), ("350m", 345, 365), ("774m", 765, 790), ("1.5b", 1500, 1600)],
)
def test_the_presets_have_the_sizes_of_their_names(preset: str, low: int, high: int) -> None:
    with torch.device("meta"):
        made = GPT(Spec.of(Model(preset=preset), 50_257), 1024)
    assert low <= sum(p.numel() for p in made.parameters()) / 1e6 <= high


def test_every_preset_is_a_valid_model() -> None:
    for name in PRESETS:
        Model(preset=name)


def test_no_position_sees_a_later_one() -> None:
    made = model().eval()
    tokens = torch.randint(0, 259, (1, 16))
    changed = tokens.clone()
    changed[0, 10:] = (changed[0, 10:] + 1) % 259
    before, after = made.logits(tokens), made.logits(changed)
    assert torch.equal(before[:, :10], after[:, :10])
    assert not torch.equal(before[:, 10:], after[:, 10:])


def test_packed_documents_are_as_if_alone() -> None:
    made = model().eval()
    first, second = torch.randint(0, 259, (1, 9)), torch.randint(0, 259, (1, 7))
    segments = torch.tensor([[0] * 9 + [1] * 7])
    together = made.logits(torch.cat((first, second), dim=1), segments)
    assert torch.allclose(together[:, :9], made.logits(first), atol=1e-5)
    assert torch.allclose(together[:, 9:], made.logits(second), atol=1e-5)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("packed", [False, True])
def test_the_passes_written_for_cpus_give_what_the_plain_operations_give(
    kv_heads: int, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, targets = torch.randint(0, 259, (2, 16)), torch.randint(0, 259, (2, 16))
    segments = torch.tensor([[0] * 9 + [1] * 7, [0] * 16]) if packed else None
    found = []
    for handmade in (True, False):
        made = model(replace(SPEC, kv_heads=kv_heads))
        if not handmade:
            monkeypatch.setattr(kernels, "handmade", lambda x: False)
        loss = made(tokens, targets, segments)
        torch.autograd.backward(loss)
        found.append([loss.detach(), *(p.grad for p in made.parameters())])
    for ours, plain in zip(*found, strict=True):
        assert torch.allclose(ours, plain, rtol=1e-4, atol=1e-5)


def test_the_backward_passes_are_the_forward_passes_derivatives() -> None:
    x = torch.randn(2, 3, 8, dtype=torch.double, requires_grad=True)
    weight = torch.randn(8, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: kernels._Norm.apply(x, w, 1e-5), (x, weight))  # type: ignore[no-untyped-call]
    heads = torch.randn(2, 3, 5, 4, dtype=torch.double, requires_grad=True)
    turns = torch.polar(torch.ones(3, 1, 2, dtype=torch.double), torch.randn(3, 1, 2, dtype=torch.double))
    assert torch.autograd.gradcheck(lambda y: kernels._Heads.apply(y.clone(), turns, 2, 1), (heads,))  # type: ignore[no-untyped-call]


def test_a_run_in_bfloat16_learns_on_a_cpu() -> None:
    made = model()
    tokens, targets = torch.randint(0, 259, (2, 16)), torch.randint(0, 259, (2, 16))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = made(tokens, targets)
    torch.autograd.backward(loss)
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in made.parameters())
    assert loss.item() == pytest.approx(made(tokens, targets).item(), rel=0.01)


def test_positions_start_again_in_each_document() -> None:
    assert document_positions(torch.tensor([[0, 0, 1, 1, 1, 2]])).tolist() == [[0, 1, 0, 1, 2, 0]]


def test_the_loss_is_a_sum_over_the_learned_targets() -> None:
    made = model().eval()
    tokens = torch.randint(0, 259, (2, 16))
    targets = torch.randint(0, 259, (2, 16))
    halves = made(tokens[:1], targets[:1]) + made(tokens[1:], targets[1:])
    assert torch.allclose(made(tokens, targets), halves, rtol=1e-5)
    targets[1] = IGNORE
    assert torch.allclose(made(tokens, targets), made(tokens[:1], targets[:1]), rtol=1e-5)


def test_grouped_queries_share_keys() -> None:
    made = model(replace(SPEC, kv_heads=1))
    assert made.get_parameter("layers.0.self_attn.k_proj.weight").shape == (16, 64)
    assert made.logits(torch.zeros(1, 4, dtype=torch.long)).shape == (1, 4, 320)


def test_activation_checkpointing_changes_no_gradient_even_with_dropout() -> None:
    tokens, targets = torch.randint(0, 259, (2, 16)), torch.randint(0, 259, (2, 16))
    gradients = []
    for option in (False, True):
        made = model(replace(SPEC, dropout=0.2), activation_checkpointing=option)
        rng.seed_all(7, 0)
        made(tokens, targets).backward()
        gradients.append({name: p.grad for name, p in made.named_parameters()})
    for name in gradients[0]:
        assert torch.equal(gradients[0][name], gradients[1][name]), name


def test_flops_of_gpt2_small_are_the_published_ones() -> None:
    spec = Spec.of(Model(preset="124m"), 50_257)
    assert spec.flops_per_token(1024) == pytest.approx(0.855e9, rel=0.01)


def test_warm_up_then_cosine_ends_at_the_lowest_rate() -> None:
    config = Optim(lr=1.0, warmup_steps=10, min_lr_ratio=0.1)
    rates = [optim.learning_rate(config, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert rates[99] == pytest.approx(0.1)
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_wsd_is_constant_then_falls_in_a_line() -> None:
    config = Optim(lr=1.0, schedule="wsd", warmup_steps=5, decay_fraction=0.2, min_lr_ratio=0.0)
    rates = [optim.learning_rate(config, step, 100) for step in range(100)]
    assert set(rates[5:80]) == {1.0}
    assert rates[80] == pytest.approx(0.95)
    assert rates[99] == pytest.approx(0.0)


def test_only_matrices_decay() -> None:
    made = optim.Optimizer(Optim(), model().named_parameters(), fused=False)
    assert made.inner is not None
    dims = [{p.dim() for p in group["params"]} for group in made.inner.param_groups]
    assert dims == [{2}, {1}]
    assert [group["weight_decay"] for group in made.inner.param_groups] == [0.1, 0.0]


def test_prepared_state_steps_like_plain_adamw() -> None:
    ours, plain = model(), model()
    mine = optim.Optimizer(Optim(weight_decay=0.0), ours.named_parameters(), fused=False)
    theirs = torch.optim.AdamW(plain.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.0)
    tokens, targets = torch.randint(0, 259, (2, 16)), torch.randint(0, 259, (2, 16))
    for _ in range(3):
        for made in (ours, plain):
            made.zero_grad()
            made(tokens, targets).backward()
        mine.step(6e-4)
        theirs.step()
    for a, b in zip(ours.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b)


def test_clipping_measures_before_it_cuts() -> None:
    parameter = torch.nn.Parameter(torch.zeros(4))
    parameter.grad = torch.full((4,), 3.0)
    assert float(optim.clip_gradients([parameter], 1.0)) == pytest.approx(6.0)
    assert float(parameter.grad.norm()) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("limit", [0.5, 5.999, 6.0, 6.001, 60.0])
def test_clipping_is_torchs_whether_or_not_it_is_needed(limit: float) -> None:
    ours, theirs = torch.nn.Parameter(torch.zeros(4)), torch.nn.Parameter(torch.zeros(4))
    ours.grad, theirs.grad = torch.full((4,), 3.0), torch.full((4,), 3.0)
    optim.clip_gradients([ours], limit)
    torch.nn.utils.clip_grad_norm_([theirs], limit)
    assert torch.equal(ours.grad, theirs.grad)


def test_ownership_is_balanced_and_complete() -> None:
    named = dict(model().named_parameters())
    owner = zero.owners(named, 3)
    load = [sum(named[name].numel() for name in named if owner[name] == rank) for rank in range(3)]
    assert set(owner) == set(named)
    assert max(load) < 1.5 * min(load)


def test_random_state_comes_back() -> None:
    import random

    import numpy as np

    device = torch.device("cpu")
    rng.seed_all(1, 0)
    state = rng.capture(device)

    def draw() -> list[float]:
        return [float(torch.rand(1)), random.random(), float(np.random.rand())]

    first = draw()
    rng.restore(state, device)
    assert draw() == first
    rng.seed_all(1, 1)
    assert draw() != first
