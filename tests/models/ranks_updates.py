"""Several updates of a policy for each case, on as many ranks as there are: what they came to, as JSON."""

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
from agnostics.train.micro_batch import Example
from agnostics.train.policy import Policy
from agnostics.types.rollout import Segment, Trajectory
from agnostics.util.distributed import Ranks, joined

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


def main(folder: Path) -> None:
    with joined() as ranks:
        found = {name: _updates(folder, algorithm, settings, ranks) for name, algorithm, settings in CASES}
        if ranks.first:
            print(json.dumps(found))


def _updates(folder: Path, algorithm: Algorithm, settings: dict[str, Any], ranks: Ranks) -> dict[str, Any]:
    """Figures of four updates, the third on fewer examples than there are ranks, and the gap after them."""
    reference = folder if algorithm.kl_coef else None
    config = TrainConfig(learning_rate=RATE, micro_batch_tokens=64, **settings)
    with Policy(folder, config, 0.7, algorithm, reference, ranks) as policy:
        examples = policy.anchored(_examples())
        stats = [policy.update(batch, RATE) for batch in (examples, examples, examples[:1], examples)]
        gap = policy.gap([example.trajectory for example in examples])
        weights = torch.cat([weight.float().flatten() for _, weight in policy.weights()])
    return {
        "losses": [update.loss for update in stats],
        "norms": [update.grad_norm for update in stats],
        "ratios": [update.ratio for update in stats],
        "clipped": [update.clipped for update in stats],
        "kl": [update.kl for update in stats],
        "entropies": [update.entropy for update in stats],
        "gap": gap,
        "weights": weights.norm().item(),
    }


def _examples() -> list[Example]:
    """Answers of many lengths to three prompts, with advantages of both signs."""
    generator = torch.Generator().manual_seed(3)

    def tokens(size: int) -> list[int]:
        return torch.randint(3, 700, (size,), generator=generator).tolist()

    prompts = [tuple(tokens(size)) for size in (5, 9, 7)]
    return [
        Example(
            Trajectory(prompts[place // 5], (Segment.spoken(tokens(size), [-6.5] * size, 0),)), 1.5 - place % 3, 0.01
        )
        for place, size in enumerate(3 + 2 * place for place in range(15))
    ]


main(Path(sys.argv[1]))
