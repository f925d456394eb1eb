"""The objective, its ratios and corrections, and the weights of tokens, against the equations written as loops."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.cispo import CISPO
from agnostics.algorithms.loss import (
    MicroBatch,
    clipped_objective,
    kl_estimate,
    micro_batch_loss,
    mis_weights,
    sequence_log_ratio,
    tis_weights,
)
from agnostics.algorithms.reinforce_plus_plus import REINFORCE_PLUS_PLUS, REINFORCE_PLUS_PLUS_BASELINE
from agnostics.algorithms.rloo import RLOO
from agnostics.algorithms.scoring import BatchTotals, LossNormalization, token_weights
from hypothesis import given
from hypothesis import strategies as st

LOW, HIGH, LIMIT = 0.2, 0.28, 10
LENGTHS = [5, 1, 8, 3]
ADVANTAGES = [1.5, -0.5, -2.0, 0.7]
Rows = list[list[float]]


def _frozen_batch() -> tuple[Rows, Rows]:
    """Log-probabilities now, and those at sampling time, of sequences of 5, 1, 8 and 3 tokens."""
    generator = torch.Generator().manual_seed(7)
    sampled = [(-3 * torch.rand(n, generator=generator)).tolist() for n in LENGTHS]
    now = [[b + 0.5 * torch.randn(1, generator=generator).item() for b in row] for row in sampled]
    return now, sampled


def _by_the_equation(normalization: str) -> float:
    """The paper, section 3.3, token by token, with a clip for each side."""
    now, sampled = _frozen_batch()
    means, total = [], 0.0
    for row, old, advantage in zip(now, sampled, ADVANTAGES, strict=True):
        values = []
        for new_logprob, old_logprob in zip(row, old, strict=True):
            ratio = math.exp(new_logprob) / math.exp(old_logprob)
            clipped = max(1 - LOW, min(1 + HIGH, ratio))
            values.append(min(ratio * advantage, clipped * advantage))
        means.append(sum(values) / len(values))
        total += sum(values)
    divisor = {"token": sum(LENGTHS), "constant": len(LENGTHS) * LIMIT}
    return sum(means) / len(means) if normalization == "sequence" else total / divisor[normalization]


def _flat(rows: Rows) -> torch.Tensor:
    return torch.tensor([value for row in rows for value in row])


def _repeated(values: list[float]) -> torch.Tensor:
    return torch.tensor(values).repeat_interleave(torch.tensor(LENGTHS))


def _weights(normalization: LossNormalization, lengths: list[int] | None = None) -> list[float]:
    return token_weights(
        lengths or LENGTHS, normalization, BatchTotals(len(LENGTHS), sum(LENGTHS), len(LENGTHS) * LIMIT)
    )


def _batch(normalization: LossNormalization = "token", rows: slice = slice(None)) -> MicroBatch:
    """The frozen batch (or some of its `rows`) as a micro batch; only the mask of its tokens matters to the loss."""
    _, sampled = _frozen_batch()
    lengths = torch.tensor(LENGTHS)[rows]
    mask = (torch.arange(max(LENGTHS)) < lengths[:, None]).long()
    values = [torch.tensor(v)[rows].repeat_interleave(lengths) for v in (ADVANTAGES, _weights(normalization))]
    engine = _flat(sampled[rows])
    return MicroBatch(
        torch.tensor([1]), mask, mask, engine, engine + 0.1, engine - 0.3, torch.zeros_like(engine), *values
    )


GRPO = Algorithm(name="grpo", source="", clip_high=HIGH)


@pytest.mark.parametrize("normalization", ["token", "sequence", "constant"])
def test_weighted_objective_is_the_papers_equation(normalization: LossNormalization) -> None:
    now, sampled = _frozen_batch()
    weights = _repeated(_weights(normalization))
    objective = clipped_objective(_flat(now) - _flat(sampled), _repeated(ADVANTAGES), clip_low=LOW, clip_high=HIGH)
    assert (weights * objective.value).sum().item() == pytest.approx(_by_the_equation(normalization), abs=1e-6)
    assert weights.sum().item() == pytest.approx(1.0 if normalization != "constant" else sum(LENGTHS) / 40)


@given(st.lists(st.integers(1, 2000), min_size=2, max_size=40), st.data())
def test_ranks_that_share_their_totals_weigh_as_one(lengths: list[int], data: st.DataObject) -> None:
    """Each rank weighs its own sequences, by totals over all of them: together that is the whole batch."""
    cuts = sorted({0, data.draw(st.integers(0, len(lengths))), len(lengths)})
    totals = BatchTotals(len(lengths), sum(lengths), len(lengths) * 2000)
    for normalization in ("token", "sequence", "constant"):
        shares = [token_weights(lengths[a:b], normalization, totals) for a, b in pairwise(cuts)]
        assert [w for share in shares for w in share] == token_weights(lengths, normalization, totals)


def test_gradient_at_the_sampling_policy_is_the_policy_gradient() -> None:
    log_ratio = torch.zeros(3, requires_grad=True)
    advantages = torch.tensor([1.0, -1.0, 0.5])
    objective = clipped_objective(log_ratio, advantages, clip_low=LOW, clip_high=HIGH)
    torch.autograd.backward(objective.value.sum())
    assert log_ratio.grad is not None
    assert torch.allclose(log_ratio.grad, advantages)


def test_clip_stops_the_gradient_on_the_side_that_the_advantage_pushes_to() -> None:
    log_ratio = torch.tensor([1.5, 1.5, 0.5, 0.5]).log().requires_grad_()
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    objective = clipped_objective(log_ratio, advantages, clip_low=LOW, clip_high=HIGH)
    torch.autograd.backward(objective.value.sum())
    assert log_ratio.grad is not None
    assert (log_ratio.grad == 0).tolist() == [True, False, False, True]
    assert objective.is_clipped.tolist() == [True, False, False, True]


def test_upper_clip_may_be_wider_than_the_lower() -> None:
    inside = torch.tensor([1.27]).log()
    wide = clipped_objective(inside, torch.ones(1), clip_low=0.2, clip_high=0.28)
    narrow = clipped_objective(inside, torch.ones(1), clip_low=0.2, clip_high=0.2)
    assert not wide.is_clipped.item()
    assert narrow.is_clipped.item()


def test_sequence_ratio_is_the_geometric_mean_of_its_tokens_ratios() -> None:
    now, sampled = _frozen_batch()
    found = sequence_log_ratio(_flat(now), _flat(sampled), torch.tensor(LENGTHS)).exp()
    expected = []
    for row, old in zip(now, sampled, strict=True):
        product = math.prod(math.exp(a) / math.exp(b) for a, b in zip(row, old, strict=True))
        expected += [product ** (1 / len(row))] * len(row)
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


def test_a_sequence_without_tokens_has_no_ratio() -> None:
    found = sequence_log_ratio(torch.tensor([0.2, 0.4]), torch.zeros(2), torch.tensor([0, 2, 0]))
    assert found.tolist() == pytest.approx([0.3, 0.3])


def test_truncated_importance_weight_is_the_ratio_to_the_engine_up_to_its_cap() -> None:
    old, engine = torch.tensor([0.5, 0.9, 0.1]).log(), torch.tensor([0.4, 0.1, 0.2]).log()
    assert tis_weights(old, engine, cap=2.0).tolist() == pytest.approx([1.25, 2.0, 0.5])


def test_masked_importance_weight_is_the_ratio_to_the_engine_or_nothing() -> None:
    old, engine = torch.tensor([0.5, 0.9, 0.1, 0.4]).log(), torch.tensor([0.4, 0.1, 0.4, 0.4]).log()
    assert mis_weights(old, engine, low=0.5, high=5.0).tolist() == pytest.approx([1.25, 0.0, 0.0, 1.0])
    assert mis_weights(old, engine, low=0.0, high=10.0).tolist() == pytest.approx([1.25, 9.0, 0.25, 1.0])


def test_masked_tokens_have_no_part_in_the_loss_and_count_in_its_divisor() -> None:
    """Every third token is one on which trainer and engine differ by a factor of e^2 or e^-2."""
    now, _ = _frozen_batch()
    batch = _batch()
    gaps = [(0.1, 2.0, -2.0)[place % 3] for place in range(sum(LENGTHS))]
    batch = replace(batch, old_logprobs=batch.rollout_logprobs + torch.tensor(gaps))
    masked = replace(GRPO, mis_low=0.5, mis_high=5.0)
    found = _loss_and_gradient(masked, _flat(now), batch)
    value, gradient = 0.0, []
    rows = zip(_flat(now).tolist(), batch.old_logprobs.tolist(), batch.advantages.tolist(), gaps, strict=True)
    for logprob, old, advantage, gap in rows:
        ratio, weight = math.exp(logprob - old), math.exp(gap) * (0.5 <= math.exp(gap) <= 5.0) / sum(LENGTHS)
        free, bounded = ratio * advantage, max(1 - LOW, min(1 + HIGH, ratio)) * advantage
        value -= weight * min(free, bounded)
        gradient.append(-weight * ratio * advantage if free <= bounded else 0.0)
    assert found[0] == pytest.approx(value, rel=1e-5)
    assert found[1] == pytest.approx(gradient, rel=1e-4)
    assert sum(entry == 0 for entry in found[1]) >= sum(LENGTHS) * 2 // 3


def test_cispo_weights_the_gradient_of_every_token_with_its_clipped_ratio() -> None:
    """MiniMax 2025, equations 4 and 5, token by token; some ratios are beyond the clip."""
    now, sampled = _frozen_batch()
    algorithm = replace(CISPO, clip_high=0.3)
    batch = _batch()
    batch = replace(batch, old_logprobs=batch.rollout_logprobs)
    found = micro_batch_loss(algorithm, _flat(now), batch)
    value, gradient, clipped = 0.0, [], []
    for logprob, old, advantage in zip(
        _flat(now).tolist(), _flat(sampled).tolist(), batch.advantages.tolist(), strict=True
    ):
        ratio = math.exp(logprob - old)
        weight = max(0.0, min(1.3, ratio))
        value += weight * advantage * logprob / sum(LENGTHS)
        gradient.append(-weight * advantage / sum(LENGTHS))
        clipped.append(ratio > 1.3)
    assert found.value.item() == pytest.approx(-value, rel=1e-5)
    assert _loss_and_gradient(algorithm, _flat(now), batch)[1] == pytest.approx(gradient, rel=1e-4)
    assert found.is_clipped.tolist() == clipped
    assert 0 < sum(clipped) < len(clipped)


@pytest.mark.parametrize("algorithm", [CISPO, RLOO, REINFORCE_PLUS_PLUS, REINFORCE_PLUS_PLUS_BASELINE])
def test_on_policy_the_gradient_is_that_of_reinforce(algorithm: Algorithm) -> None:
    """sum_t w_t A_t grad log p_t: the clip changes nothing where the ratio is 1."""
    now, _ = _frozen_batch()
    batch = replace(_batch("constant"), old_logprobs=_flat(now))
    _, gradient = _loss_and_gradient(algorithm, _flat(now), batch)
    assert gradient == pytest.approx((-batch.loss_weights * batch.advantages).tolist(), rel=1e-5)


def test_entropy_is_taken_off_the_loss_with_its_weight() -> None:
    now, _ = _frozen_batch()
    batch = _batch()
    without = micro_batch_loss(GRPO, _flat(now), batch)
    entropies = torch.linspace(0.1, 2.0, sum(LENGTHS)).requires_grad_()
    found = micro_batch_loss(replace(GRPO, entropy_coef=0.01), _flat(now), batch, entropies)
    mean = sum(entropies.tolist()) / sum(LENGTHS)
    assert found.value.item() == pytest.approx(without.value.item() - 0.01 * mean)
    torch.autograd.backward(found.value)
    assert entropies.grad is not None
    assert entropies.grad.tolist() == pytest.approx([-0.01 / sum(LENGTHS)] * sum(LENGTHS))


@pytest.mark.parametrize("entropies", [None, torch.ones(sum(LENGTHS))])
def test_an_entropy_term_without_a_gradient_is_an_error(entropies: torch.Tensor | None) -> None:
    now, _ = _frozen_batch()
    with pytest.raises(ValueError, match="entropies with a gradient"):
        micro_batch_loss(replace(GRPO, entropy_coef=0.01), _flat(now), _batch(), entropies)


def test_divergence_estimate_is_never_negative_and_right_in_the_mean() -> None:
    policy, reference = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.5, 0.25, 0.25])
    estimate = kl_estimate(policy.log(), reference.log())
    assert (estimate >= 0).all()
    assert kl_estimate(policy.log(), policy.log()).tolist() == [0.0] * 3
    assert (policy * estimate).sum().item() == pytest.approx((policy * (policy / reference).log()).sum().item())


def test_ratio_is_against_the_engine_without_truncated_importance_sampling() -> None:
    now, sampled = _frozen_batch()
    batch = _batch()
    plain = micro_batch_loss(GRPO, _flat(now), replace(batch, old_logprobs=batch.rollout_logprobs))
    assert plain.ratio.tolist() == pytest.approx((_flat(now) - _flat(sampled)).exp().tolist())
    corrected = micro_batch_loss(replace(GRPO, tis_cap=2.0), batch.old_logprobs.clone(), batch)
    assert corrected.ratio.tolist() == [1.0] * sum(LENGTHS)
    expected = -(batch.loss_weights * batch.advantages * math.exp(0.1)).sum().item()
    assert corrected.value.item() == pytest.approx(expected, rel=1e-5)


def test_divergence_is_added_with_its_weight() -> None:
    now, _ = _frozen_batch()
    batch = _batch()
    without = micro_batch_loss(GRPO, _flat(now), batch)
    found = micro_batch_loss(replace(GRPO, kl_coef=0.5), _flat(now), batch)
    assert without.kl.tolist() == [0.0] * sum(LENGTHS)
    divergence = (batch.loss_weights * kl_estimate(_flat(now), batch.reference_logprobs)).sum().item()
    assert found.value.item() == pytest.approx(without.value.item() + 0.5 * divergence)


@pytest.mark.parametrize("normalization", ["token", "sequence", "constant"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ratio_level": "sequence"},
        {"kl_coef": 0.1, "tis_cap": 1.05},
        {"clipping": "weight", "mis_high": 1.2},
    ],
)
def test_micro_batches_add_up_to_the_batch(normalization: LossNormalization, changes: dict[str, float]) -> None:
    algorithm = replace(GRPO, **changes)  # type: ignore[arg-type]
    now, _ = _frozen_batch()
    whole = _loss_and_gradient(algorithm, _flat(now), _batch(normalization))
    parts = [slice(0, 1), slice(1, 3), slice(3, 4)]
    found = [_loss_and_gradient(algorithm, _flat(now[part]), _batch(normalization, part)) for part in parts]
    assert sum(loss for loss, _ in found) == pytest.approx(whole[0])
    assert [g for _, gradient in found for g in gradient] == pytest.approx(whole[1])


def _loss_and_gradient(algorithm: Algorithm, logprobs: torch.Tensor, batch: MicroBatch) -> tuple[float, list[float]]:
    leaf = logprobs.clone().requires_grad_()
    loss = micro_batch_loss(algorithm, leaf, batch).value
    torch.autograd.backward(loss)
    assert leaf.grad is not None
    return loss.item(), leaf.grad.tolist()


def test_an_algorithm_may_bring_an_objective_of_its_own() -> None:
    now, _ = _frozen_batch()
    batch = _batch()
    plain = Algorithm(name="reinforce", source="", objective=lambda logprobs, _, advantages: logprobs * advantages)
    found = micro_batch_loss(plain, _flat(now), batch)
    assert found.value.item() == pytest.approx(-(batch.loss_weights * _flat(now) * batch.advantages).sum().item())
    assert not found.is_clipped.any()
