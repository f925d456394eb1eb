"""Several updates of a policy for each case, on as many ranks as there are: their metrics, as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.gspo import GSPO
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from agnostics.util.distributed import ProcessGroup, join_process_group

RATE = 1e-4
WIDE_GSPO = replace(GSPO, clip_low=0.5, clip_high=0.8)
DIVERGING = replace(GRPO, kl_coef=0.1)
CORRECTED = replace(GRPO, tis_cap=2.0, kl_coef=0.1)
CASES: list[tuple[str, Algorithm, dict[str, Any]]] = [
    *(
        (f"{algorithm.name}, stage {stage}", algorithm, {"zero_stage": stage})
        for stage in (1, 2, 3)
        for algorithm in (GRPO, GSPO)
    ),
    ("corrected, stage 3", CORRECTED, {"zero_stage": 3}),
    *((f"adapters, stage {stage}", DIVERGING, {"zero_stage": stage, "lora_rank": 4}) for stage in (1, 3)),
    ("recomputed, stage 3", GRPO, {"zero_stage": 3, "activation_checkpointing": True}),
    *((f"bfloat16, stage {stage}", GRPO, {"zero_stage": stage, "dtype": "bfloat16"}) for stage in (1, 2, 3)),
]


def main(folder: Path, every: int) -> None:
    """The cases, or of each two the first: one of every kind, in every stage."""
    with join_process_group() as group:
        metrics = {name: _updates(folder, algorithm, settings, group) for name, algorithm, settings in CASES[::every]}
        if group.is_main:
            print(json.dumps(metrics))


def _updates(folder: Path, algorithm: Algorithm, settings: dict[str, Any], group: ProcessGroup) -> dict[str, Any]:
    """Metrics of three updates, the last on fewer rollouts than there are ranks, and the mismatch after them."""
    reference = folder if algorithm.kl_coef else None
    config = TrainConfig(learning_rate=RATE, micro_batch_tokens=64, **settings)
    with Policy(folder, config, 0.7, reference, group) as policy:
        rollouts = _rollouts()
        if algorithm.tis_cap:
            rollouts = policy.with_old_logprobs(rollouts)
        if algorithm.kl_coef:
            rollouts = policy.with_reference_logprobs(rollouts)
        batches = (rollouts, rollouts, rollouts[:1])
        stats = [policy.update(batch, algorithm.loss, RATE) for batch in batches]
        mismatch = policy.logprob_mismatch(rollouts)
        weights = torch.cat([weight.float().flatten() for _, weight in policy.weights()])
    return {
        "losses": [update.loss for update in stats],
        "norms": [update.grad_norm for update in stats],
        "ratios": [update.importance_ratio for update in stats],
        "clipped": [update.clip_fraction for update in stats],
        "kl": [update.kl for update in stats],
        "entropies": [update.entropy for update in stats],
        "mismatch": mismatch,
        "weights": weights.norm().item(),
    }


def _rollouts() -> list[Rollout]:
    """Rollouts of many lengths of three prompts, with advantages of both signs."""
    generator = torch.Generator().manual_seed(3)

    def tokens(size: int) -> list[int]:
        return torch.randint(3, 700, (size,), generator=generator).tolist()

    prompts = [tuple(tokens(size)) for size in (5, 9, 7)]
    return [
        Rollout(
            task=Task(id="t", tests=(Test(input="", output=""),)),
            sample=place % 5,
            prompt_ids=prompts[place // 5],
            segments=(Segment.sampled(tokens(size), [-6.5] * size, [0] * size),),
            advantage=1.5 - place % 3,
            loss_weight=0.01,
        )
        for place, size in enumerate(3 + 2 * place for place in range(15))
    ]


main(Path(sys.argv[1]), int(sys.argv[2]))
