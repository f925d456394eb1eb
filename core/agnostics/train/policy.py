"""The policy: a model under DeepSpeed that is scored and updated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from transformers import AutoModelForCausalLM

from agnostics.train.batch import Example, MicroBatch, micro_batches
from agnostics.train.config import TrainConfig
from agnostics.train.deep import initialise
from agnostics.train.loss import clipped_objective
from agnostics.train.scorer import TokenScorer
from agnostics.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update saw, over its N tokens: the loss, means of the ratio and of |log ratio|, the share clipped."""

    loss: float
    ratio: float
    gap: float
    clipped: float
    gradient_norm: float


class Policy:
    """A model with its optimizer, in one DeepSpeed engine. `version` counts its updates."""

    def __init__(self, folder: Path, settings: TrainConfig, temperature: float) -> None:
        self._settings = settings
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, settings.dtype))
        self._engine: Any = initialise(TokenScorer(model, temperature), settings)
        self.version = 0

    def update(self, examples: Sequence[Example], learning_rate: float) -> UpdateStats:
        """One step of AdamW on the clipped objective over all `examples`."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        totals = torch.zeros(5, dtype=torch.float64)
        for batch in micro_batches(examples, self._settings.micro_batch_tokens):
            totals += self._backward(batch.to(self._engine.device))
        self._engine.step()
        self.version += 1
        norm = self._engine.get_global_grad_norm()
        loss, ratio, gap, clipped, tokens = totals.tolist()
        return UpdateStats(loss, ratio / tokens, gap / tokens, clipped / tokens, float(norm or 0.0))

    def gap(self, trajectories: Sequence[Trajectory]) -> float:
        """The mean of |log-probability here - log-probability when sampled| over the tokens of `trajectories`."""
        distance, tokens = 0.0, 0
        examples = [Example(trajectory, 0.0, 0.0) for trajectory in trajectories]
        with torch.no_grad():
            for batch in micro_batches(examples, self._settings.micro_batch_tokens):
                here = batch.to(self._engine.device)
                difference = self._engine(here.prompt, here.token_ids, here.mask) - here.behaviour
                distance += difference.abs().sum().item()
                tokens += difference.numel()
        return distance / max(tokens, 1)

    def weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every weight by its name in the model's folder; those of ZeRO stage 3 are gathered one at a time."""
        import deepspeed

        for name, weight in self._engine.module.model.named_parameters():
            with deepspeed.zero.GatheredParameters([weight], enabled=self._settings.zero_stage == 3):
                data = weight.detach()
                yield name, data.clone() if self._settings.zero_stage == 3 else data

    def save_model(self, folder: Path) -> None:
        """Write the model into `folder` in Hugging Face's format."""
        self._engine.module.model.save_pretrained(folder, state_dict=dict(self.weights()))

    def save_state(self, folder: Path) -> None:
        """Write what `restore` needs into `folder`: weights as they are trained, and the optimizer."""
        client = {"version": self.version}
        self._engine.save_checkpoint(str(folder), tag="state", client_state=client, save_latest=False)

    def restore(self, folder: Path) -> None:
        """Take up weights and optimizer where `save_state` left them in `folder`."""
        _, client = self._engine.load_checkpoint(str(folder), tag="state")
        self.version = client["version"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.destroy()

    def _backward(self, batch: MicroBatch) -> torch.Tensor:
        """Add the gradient of one micro batch; sums over its tokens of loss, ratio, gap, clipped, and one."""
        settings = self._settings
        logprobs = self._engine(batch.prompt, batch.token_ids, batch.mask)
        objective = clipped_objective(
            logprobs, batch.behaviour, batch.advantages, clip_low=settings.clip_low, clip_high=settings.clip_high
        )
        loss = -(batch.weights * objective.value).sum()
        self._engine.backward(loss)
        gap = (logprobs.detach() - batch.behaviour).abs().sum()
        sums = (loss.detach(), objective.ratio.sum(), gap, objective.clipped.sum(), torch.tensor(logprobs.numel()))
        return torch.stack([value.double().cpu() for value in sums])
