"""On one frozen batch, loss and gradients are those of TRL's GRPOTrainer with the same settings, in float32."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import preloaded
import pytest
import torch
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.cispo import CISPO
from agnostics.algorithms.dapo import DAPO
from agnostics.algorithms.dr_grpo import DR_GRPO
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.gspo import GSPO
from agnostics.algorithms.scoring import BatchTotals, group_advantages, token_weights
from agnostics.models.loading import load_tokenizer
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy, UpdateStats
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from transformers import AutoModelForCausalLM

pytestmark = pytest.mark.slow

TEMPERATURE, LIMIT, GROUP = 0.7, 24, 4
TASK = Task(id="t", tests=(Test(input="", output=""),))
REWARDS = [1.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.25, 1.0, 0.0, 1.0, 0.0, 0.0]
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Case:
    """One setting of ours and of TRL's. Weights are multiplied by `drift` between scoring the batch and the loss."""

    algorithm: Algorithm
    config: dict[str, Any] = field(default_factory=dict)
    drift: float = 1.0


WIDE = {"epsilon": 0.15, "epsilon_high": 0.3}
PLAIN = replace(GRPO, clip_low=0.15, clip_high=0.3)
CASES = {
    "paper's equation": Case(
        replace(GRPO, loss_normalization="sequence"), {"loss_type": "grpo", "epsilon": 0.2, "scale_rewards": "group"}
    ),
    "grpo": Case(GRPO, {"loss_type": "bnpo", "epsilon": 0.2, "scale_rewards": "group"}),
    "unscaled": Case(replace(PLAIN, normalize_by_std=False), {"loss_type": "bnpo", "scale_rewards": "none", **WIDE}),
    "dapo": Case(DAPO, {"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28, "scale_rewards": "group"}),
    "dr_grpo": Case(DR_GRPO, {"loss_type": "dr_grpo", "epsilon": 0.2, "scale_rewards": "none"}),
    "gspo": Case(
        GSPO,
        {
            "loss_type": "grpo",
            "importance_sampling_level": "sequence",
            "epsilon": 3e-4,
            "epsilon_high": 4e-4,
            "scale_rewards": "group",
        },
    ),
    "gspo, clip between": Case(
        replace(GSPO, clip_low=0.03, clip_high=0.05),
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 0.03, "epsilon_high": 0.05},
    ),
    "divergence": Case(replace(PLAIN, kl_coef=0.3), {"loss_type": "bnpo", "beta": 0.3, **WIDE}),
    "divergence by sequence": Case(
        replace(PLAIN, kl_coef=0.3, loss_normalization="sequence"), {"loss_type": "grpo", "beta": 0.3, **WIDE}
    ),
    "correction": Case(
        replace(PLAIN, tis_cap=1.2),
        {
            "loss_type": "dapo",
            "vllm_importance_sampling_correction": True,
            "vllm_importance_sampling_mode": "token_truncate",
            "vllm_importance_sampling_clip_max": 1.2,
            **WIDE,
        },
        drift=1.1,
    ),
    "masked correction": Case(
        replace(PLAIN, mis_low=0.8, mis_high=1.25),
        {
            "loss_type": "dapo",
            "vllm_importance_sampling_correction": True,
            "vllm_importance_sampling_mode": "token_mask",
            "vllm_importance_sampling_clip_min": 0.8,
            "vllm_importance_sampling_clip_max": 1.25,
            **WIDE,
        },
        drift=1.1,
    ),
    "cispo": Case(replace(CISPO, clip_high=0.3), {"loss_type": "cispo", "epsilon": 0.2, "epsilon_high": 1.3}),
    "mask": Case(
        replace(PLAIN, mask_truncated=True), {"loss_type": "dapo", "mask_truncated_completions": True, **WIDE}
    ),
}


@dataclass(frozen=True)
class Frozen:
    """Twelve rollouts of three prompts, of 3 to 24 tokens, some with a turn of a tool, some truncated."""

    folder: Path
    reference: Path
    rollouts: list[Rollout]


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def frozen(request: pytest.FixtureRequest, tiny_model: Callable[..., Path], tmp_path_factory: Any) -> Frozen:
    folder = tiny_model(tied=request.param)
    drawn = _rollouts(load_tokenizer(folder).eos_token_id)
    return Frozen(folder, _reference(folder, tmp_path_factory.mktemp("reference")), _sampled(folder, drawn))


@pytest.fixture(scope="module")
def trl(frozen: Frozen, tmp_path_factory: Any) -> dict[str, Any]:
    """TRL's results on the batch, for each case."""
    home = tmp_path_factory.mktemp("trl")
    batch = {
        "folder": frozen.folder,
        "reference": frozen.reference,
        "prompts": [list(rollout.prompt_ids) for rollout in frozen.rollouts],
        "completions": [list(rollout.token_ids) for rollout in frozen.rollouts],
        "masks": [list(rollout.mask) for rollout in frozen.rollouts],
        "logprobs": [_logprobs(rollout) for rollout in frozen.rollouts],
        "rewards": REWARDS,
        "group": GROUP,
        "limit": LIMIT,
        "temperature": TEMPERATURE,
        "cases": {
            name: {"config": case.config, "drift": case.drift, "advantages": _advantages(case.algorithm)}
            for name, case in CASES.items()
        },
    }
    torch.save(batch, home / "batch.pt")
    script = Path(__file__).with_name("trl_reference.py")
    command = [sys.executable, str(script), str(home / "batch.pt"), str(home / "results.pt")]
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
    answer = preloaded.run(command, capture_output=True, text=True, timeout=300, env=alone)
    assert answer.returncode == 0, answer.stderr
    results: dict[str, Any] = torch.load(home / "results.pt", weights_only=True)
    return results


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradients_are_those_of_trl(name: str, frozen: Frozen, trl: dict[str, Any]) -> None:
    stats, gradients = _ours(frozen, CASES[name])
    theirs = trl[name]["gradients"]
    assert stats.loss == pytest.approx(trl[name]["loss"], abs=TOLERANCE, rel=TOLERANCE)
    assert gradients.keys() == theirs.keys()
    largest = max(gradient.abs().max().item() for gradient in theirs.values())
    distance = max((gradients[key] - theirs[key]).abs().max().item() for key in theirs)
    print(f"{name}: loss {stats.loss:.6f}, off by {abs(stats.loss - trl[name]['loss']):.1e};", end=" ")
    print(f"largest gradient {largest:.2e}, off by at most {distance:.1e}; clipped {stats.clip_fraction:.2f}")
    assert largest > 1e-4  # there is something to agree on
    assert distance <= TOLERANCE * min(largest, 1.0)


@pytest.mark.parametrize("name", ["grpo", "gspo, clip between", "dr_grpo", "dapo", "cispo"])
def test_some_tokens_of_the_batch_are_clipped_and_some_are_not(name: str, frozen: Frozen) -> None:
    stats, _ = _ours(frozen, CASES[name])
    assert 0.02 < stats.clip_fraction < 0.9


def test_advantages_are_those_of_trl_but_for_its_standard_deviation(trl: dict[str, Any]) -> None:
    """TRL divides by the sample's standard deviation plus 1e-4, the paper by the group's."""
    assert trl["dr_grpo"]["advantages"] == pytest.approx(_advantages(DR_GRPO), abs=1e-6)
    expected = []
    for first in range(0, len(REWARDS), GROUP):
        rewards = REWARDS[first : first + GROUP]
        factor = statistics.pstdev(rewards) / (statistics.stdev(rewards) + 1e-4)
        expected += [advantage * factor for advantage in group_advantages(rewards)]
    assert trl["grpo"]["advantages"] == pytest.approx(expected, abs=1e-6)


def _ours(frozen: Frozen, case: Case) -> tuple[UpdateStats, dict[str, torch.Tensor]]:
    """The statistics and gradients of our policy's update on the batch, in micro batches of at most 64 tokens."""
    settings, algorithm = TrainConfig(micro_batch_tokens=64), case.algorithm
    with Policy(frozen.folder, settings, TEMPERATURE, frozen.reference) as policy:
        rollouts = _trained(frozen, algorithm)
        if algorithm.needs_old_logprobs:
            rollouts = policy.with_old_logprobs(rollouts)
        if algorithm.kl_coef:
            rollouts = policy.with_reference_logprobs(rollouts)
        with torch.no_grad():
            for _, weight in policy.weights():
                weight.mul_(case.drift)
        with _gradients(policy) as gradients:
            return policy.update(rollouts, algorithm.loss, 0.0), gradients


@contextmanager
def _gradients(policy: Policy) -> Iterator[dict[str, torch.Tensor]]:
    """The gradient of every weight, added up over micro batches as autograd delivers it."""
    found: dict[str, torch.Tensor] = {}

    def add(name: str, gradient: torch.Tensor) -> None:
        found[name] = found.get(name, 0.0) + gradient.clone()

    for name, weight in policy._engine.module.model.named_parameters():
        weight.register_hook(lambda gradient, name=name: add(name, gradient))
    yield found


def _trained(frozen: Frozen, algorithm: Algorithm) -> list[Rollout]:
    """The rollouts that count in the loss, with advantages and loss weights."""
    scored = [
        replace(rollout, advantage=advantage)
        for rollout, advantage in zip(frozen.rollouts, _advantages(algorithm), strict=True)
        if not (algorithm.mask_truncated and rollout.finish_reason == "length")
    ]
    lengths = [rollout.num_sampled for rollout in scored]
    totals = BatchTotals(len(lengths), sum(lengths), len(lengths) * LIMIT)
    weights = token_weights(lengths, algorithm.loss_normalization, totals)
    return [replace(rollout, loss_weight=weight) for rollout, weight in zip(scored, weights, strict=True)]


def _advantages(algorithm: Algorithm) -> list[float]:
    groups = [REWARDS[first : first + GROUP] for first in range(0, len(REWARDS), GROUP)]
    return [a for group in groups for a in group_advantages(group, normalize_by_std=algorithm.normalize_by_std)]


def _logprobs(rollout: Rollout) -> list[float]:
    """The engine's log-probabilities, one for each token of the completion."""
    return [logprob for segment in rollout.segments for logprob in segment.logprobs]


def _rollouts(eos: int) -> list[Rollout]:
    """Random rollouts with log-probabilities of zero as yet; a truncated one does not end with the stop token."""
    generator = torch.Generator().manual_seed(3)

    def tokens(size: int) -> list[int]:
        return torch.randint(3, 700, (size,), generator=generator).tolist()

    def sampled(token_ids: list[int]) -> Segment:
        return Segment.sampled(token_ids, [0.0] * len(token_ids), [0] * len(token_ids))

    prompts = [tuple(tokens(size)) for size in (5, 9, 7)]
    drawn = []
    for index in range(len(REWARDS)):
        size = 3 + (7 * index) % 19
        end, tool = tokens(1) if index % 5 == 4 else [eos], tokens(3 * (index % 3 == 1))
        turn = Segment(tuple(tool), (0,) * len(tool), (0.0,) * len(tool), (0,) * len(tool))
        drawn.append(
            Rollout(
                task=TASK,
                sample=index % GROUP,
                prompt_ids=prompts[index // GROUP],
                segments=(sampled(tokens(size - 1)), turn, sampled(end)),
                finish_reason="stop" if end == [eos] else "length",
            )
        )
    return drawn


def _sampled(folder: Path, drawn: list[Rollout]) -> list[Rollout]:
    """The rollouts with log-probabilities of an engine that is some way off: ratios between a half and two."""
    generator = torch.Generator().manual_seed(4)
    with Policy(folder, TrainConfig(), TEMPERATURE) as policy:
        scored = policy.with_old_logprobs(drawn)

    def engine(logprobs: Iterator[float], segment: Segment) -> Segment:
        values = [next(logprobs) if bit else 0.0 for bit in segment.mask]
        noise = (0.25 * torch.randn(len(values), generator=generator)).tolist()
        return replace(segment, logprobs=tuple(v + n if v else v for v, n in zip(values, noise, strict=True)))

    def rescored(rollout: Rollout) -> Rollout:
        logprobs = iter(rollout.old_logprobs or ())
        segments = tuple(engine(logprobs, segment) for segment in rollout.segments)
        return replace(rollout, segments=segments, old_logprobs=None)

    return [rescored(rollout) for rollout in scored]


def _reference(folder: Path, copy: Path) -> Path:
    """A model some way off from the one in `folder`."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * weight.std() * torch.randn_like(weight))
    model.save_pretrained(copy)
    return copy
