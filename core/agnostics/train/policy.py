"""The policy: a model under DeepSpeed that is scored and updated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Self

import torch
from transformers import AutoModelForCausalLM

from agnostics.algorithm import Algorithm
from agnostics.algorithms.grpo import GRPO
from agnostics.train.batch import Example, MicroBatch, chunks, micro_batches, spoken_logprobs, spoken_versions, stack
from agnostics.train.config import TrainConfig
from agnostics.train.deep import initialise
from agnostics.train.loss import micro_batch_loss
from agnostics.train.scorer import TokenScorer
from agnostics.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update saw, over its N tokens: the loss, the mean ratio, the share clipped, the mean divergence.

    `gap` is the mean of |log-probability here - in the engine|, before the update, over the tokens of the same
    version (None where there are none); `kl` is 0 where it is not asked for.
    """

    loss: float
    ratio: float
    gap: float | None
    clipped: float
    kl: float
    gradient_norm: float


class Policy:
    """A model with its optimizer, in one DeepSpeed engine. `version` counts its updates.

    An algorithm with a divergence needs `reference`, the folder of the model that it is from: a second one in memory.
    """

    def __init__(
        self,
        folder: Path,
        settings: TrainConfig,
        temperature: float,
        algorithm: Algorithm = GRPO,
        reference: Path | None = None,
    ) -> None:
        self._settings, self._algorithm = settings, algorithm
        self._engine: Any = initialise(self._scorer(folder, temperature), settings)
        self._reference = self._scorer(reference, temperature).to(self._engine.device) if reference else None
        self.version = 0

    def anchored(self, examples: Sequence[Example]) -> list[Example]:
        """The examples, in any order, with the log-probabilities that the algorithm needs from before an update."""
        anchored = list(examples)
        if self._algorithm.correction_cap:
            anchored = [replace(example, old=values) for example, values in self._scored(self._engine, anchored)]
        if self._reference is not None:
            scored = self._scored(self._reference, anchored)
            anchored = [replace(example, reference=values) for example, values in scored]
        return anchored

    def update(self, examples: Sequence[Example], learning_rate: float) -> UpdateStats:
        """One step of AdamW on the algorithm's loss over all `examples`."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        totals = torch.zeros(7, dtype=torch.float64)
        for batch in micro_batches(examples, self._settings.micro_batch_tokens):
            totals += self._backward(batch.to(self._engine.device))
        self._engine.step()
        self.version += 1
        norm = self._engine.get_global_grad_norm()
        loss, ratio, clipped, kl, tokens, gap, own = totals.tolist()
        distance = gap / own if own else None
        return UpdateStats(loss, ratio / tokens, distance, clipped / tokens, kl / tokens, float(norm or 0.0))

    def gap(self, trajectories: Sequence[Trajectory]) -> float | None:
        """The mean of |log-probability here - when sampled| over the tokens of this version in `trajectories`."""
        examples = [Example(trajectory, 0.0, 0.0) for trajectory in trajectories]
        distances = [
            abs(here - there)
            for example, values in self._scored(self._engine, examples)
            for here, there, version in zip(
                values, spoken_logprobs(example.trajectory), spoken_versions(example.trajectory), strict=True
            )
            if version == self.version
        ]
        return fmean(distances) if distances else None

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

    def _scorer(self, folder: Path, temperature: float) -> TokenScorer:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, self._settings.dtype))
        return TokenScorer(model, temperature)

    def _scored(self, scorer: Any, examples: Sequence[Example]) -> Iterator[tuple[Example, tuple[float, ...]]]:
        """Each example, in any order, with the log-probabilities that `scorer` gives what the policy spoke."""
        with torch.no_grad():
            for chunk in chunks(examples, self._settings.micro_batch_tokens):
                batch = stack(chunk).to(self._engine.device)
                values = scorer(batch.prompt, batch.token_ids, batch.mask)
                rows = values.split(batch.mask.sum(-1).tolist())
                yield from ((example, tuple(row.tolist())) for example, row in zip(chunk, rows, strict=True))

    def _backward(self, batch: MicroBatch) -> torch.Tensor:
        """Add the gradient of one micro batch; sums over its tokens of loss, ratio, clipped, kl and one, and over those
        that this version sampled of the gap and one."""
        logprobs = self._engine(batch.prompt, batch.token_ids, batch.mask)
        loss = micro_batch_loss(self._algorithm, logprobs, batch)
        self._engine.backward(loss.value)
        own = batch.versions == self.version
        gap = (logprobs.detach() - batch.behaviour).abs() * own
        tokens = torch.tensor(logprobs.numel())
        sums = (loss.value.detach(), loss.ratio.sum(), loss.clipped.sum(), loss.kl.sum(), tokens, gap.sum(), own.sum())
        return torch.stack([value.double().cpu() for value in sums])
