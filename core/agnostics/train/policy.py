"""The policy: a model under DeepSpeed that is scored and updated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Self

import torch
from transformers import AutoModelForCausalLM

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.loss import micro_batch_loss
from agnostics.train import lora
from agnostics.train.config import TrainConfig
from agnostics.train.deepspeed_engine import initialise
from agnostics.train.micro_batch import Example, MicroBatch, by_size, spoken_logprobs, stack
from agnostics.train.token_logprobs import TokenScorer
from agnostics.types.rollout import Segment, Trajectory
from agnostics.util.distributed import ALONE, Ranks

_IDLE = [Example(Trajectory((0,), (Segment.spoken((0,), (0.0,), 0),)), 0.0, 0.0)]
"""What a rank scores or learns nothing from while others have another micro batch."""


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update saw, over its N tokens: the loss, the mean ratio, the share clipped, the mean divergence.

    `gap` is the mean of |log-probability here - in the engine|, before the update, over the tokens of the same
    version (None where there are none); `kl` is 0 where it is not asked for; `entropy` is the mean over tokens of the
    policy's entropy there, in nats, at the sampling temperature.
    """

    loss: float
    ratio: float
    gap: float | None
    clipped: float
    kl: float
    entropy: float
    grad_norm: float


class Policy:
    """A model with its optimizer, in one DeepSpeed engine on all `ranks`. `version` counts its updates.

    An algorithm with a divergence needs `reference`, the folder of the model that it is from: a second one in memory,
    or with adapters the same one with the adapters switched off.
    Every rank is given the same examples and gets the same answers; each passes its share through the model.
    """

    def __init__(
        self,
        folder: Path,
        settings: TrainConfig,
        temperature: float,
        algorithm: Algorithm = GRPO,
        reference: Path | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        self.ranks = ranks
        self._settings, self._algorithm = settings, algorithm
        model = self._load(folder)
        if settings.lora_rank:
            lora.adapt(model, settings)
        scorer = TokenScorer(model, temperature, recompute=settings.activation_checkpointing)
        self._engine: Any = initialise(scorer, settings)
        self._reference: Any = None
        if reference and not settings.lora_rank:
            self._reference = TokenScorer(self._load(reference), temperature).to(self._engine.device)
        self.version = 0

    def anchored(self, examples: Sequence[Example]) -> list[Example]:
        """The examples with the log-probabilities that the algorithm needs from before an update."""
        anchored = list(examples)
        if self._algorithm.tis_cap:
            anchored = [replace(example, old=values) for example, values in self._scored(self._engine, anchored)]
        if self._algorithm.kl_coef:
            with self._as_it_began() as scorer:
                scored = self._scored(scorer, anchored)
            anchored = [replace(example, reference=values) for example, values in scored]
        return anchored

    def update(
        self, examples: Sequence[Example], learning_rate: float, between: Callable[[], None] = lambda: None
    ) -> UpdateStats:
        """One step of AdamW on the algorithm's loss over `examples`; `between` is called before each micro batch."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        totals = torch.zeros(8, dtype=torch.float64)
        for chunk in self._share(self._chunks(examples)):
            between()
            totals += self._idle() if chunk is _IDLE else self._backward(stack(chunk).to(self._engine.device))
        self._engine.step()
        self.version += 1
        norm = self._engine.get_global_grad_norm()
        loss, *sums, tokens, gap, own = self.ranks.summed(totals.tolist())
        ratio, clipped, kl, entropy = (value / tokens for value in sums)
        return UpdateStats(loss, ratio, gap / own if own else None, clipped, kl, entropy, float(norm or 0.0))

    def gap(self, trajectories: Sequence[Trajectory]) -> float:
        """The mean of |log-probability here - log-probability when sampled| over the tokens of `trajectories`."""
        examples = [Example(trajectory, 0.0, 0.0) for trajectory in trajectories]
        distances = [
            abs(here - there)
            for example, values in self._scored(self._engine, examples)
            for here, there in zip(values, spoken_logprobs(example.trajectory), strict=True)
        ]
        return fmean(distances) if distances else 0.0

    def weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every weight by its name in the model's folder, with its adapter merged into it where it has one.

        Those of ZeRO stage 3 are gathered one at a time.
        """
        import deepspeed

        partitioned = self._settings.zero_stage == 3
        for weight in lora.weights_of(self._engine.module.model):
            with deepspeed.zero.GatheredParameters(weight.parameters, enabled=partitioned):
                data = weight.merged()
                yield weight.name, data.clone() if partitioned else data

    def save_model(self, folder: Path) -> None:
        """Write the model into `folder` in Hugging Face's format."""
        weights = {name: weight for name, weight in self.weights() if self.ranks.first}
        if self.ranks.first:
            self._engine.module.model.save_pretrained(folder, state_dict=weights)

    def save_state(self, folder: Path) -> None:
        """Write what `restore` needs into `folder`: weights as they are trained, and the optimizer.

        With adapters, these and nothing else: they go with the model that the run began with.
        """
        self._engine.save_checkpoint(
            str(folder),
            tag="state",
            client_state={"version": self.version},
            save_latest=False,
            exclude_frozen_parameters=self._settings.lora_rank > 0,
        )

    def restore(self, folder: Path) -> None:
        """Take up weights and optimizer where `save_state` left them in `folder`."""
        strict = self._settings.lora_rank == 0
        _, client = self._engine.load_checkpoint(str(folder), tag="state", load_module_strict=strict)
        self.version = client["version"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.destroy()

    def _load(self, folder: Path) -> Any:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, self._settings.dtype))

    @contextmanager
    def _as_it_began(self) -> Iterator[Any]:
        """What scores as the model that the run began with."""
        if self._reference is not None:
            yield self._reference
        else:
            with lora.switched_off(self._engine.module.model):
                yield self._engine

    def _scored(self, scorer: Any, examples: Sequence[Example]) -> list[tuple[Example, tuple[float, ...]]]:
        """Each example with the log-probabilities that `scorer` gives what the policy spoke."""
        chunks = self._chunks(examples)
        scores = self.ranks.joined_shares([self._score(scorer, chunk) for chunk in self._share(chunks)])
        found = {
            id(example): row
            for chunk, rows in zip(chunks, scores, strict=False)  # the idle ones come last
            for example, row in zip(chunk, rows, strict=True)
        }
        return [(example, found[id(example)]) for example in examples]

    def _score(self, scorer: Any, chunk: Sequence[Example]) -> list[tuple[float, ...]]:
        """The log-probabilities of each example's tokens."""
        batch = stack(chunk).to(self._engine.device)
        with torch.no_grad():
            values, _ = scorer(batch.prompt, batch.token_ids, batch.mask)
        return [tuple(row.tolist()) for row in values.split(batch.mask.sum(-1).tolist())]

    def _chunks(self, examples: Sequence[Example]) -> list[list[Example]]:
        """The examples of each micro batch."""
        settings = self._settings
        return by_size(examples, settings.micro_batch_tokens, prompt_once=not settings.activation_checkpointing)

    def _share(self, chunks: Sequence[list[Example]]) -> Sequence[list[Example]]:
        """This rank's chunks, and idle ones where others have more.

        DeepSpeed gathers weights and reduces gradients in every pass, so that all ranks have to make equally many.
        """
        return self.ranks.share([*chunks, *[_IDLE] * (-len(chunks) % self.ranks.size)])

    def _idle(self) -> torch.Tensor:
        """Pass nothing through the model; the sums of `_backward` over no tokens."""
        batch = stack(_IDLE).to(self._engine.device)
        logprobs, _ = self._engine(batch.prompt, batch.token_ids, batch.mask)
        self._engine.backward(0.0 * logprobs.sum())
        return torch.zeros(8, dtype=torch.float64)

    def _backward(self, batch: MicroBatch) -> torch.Tensor:
        """Add the gradient of one micro batch; sums over its tokens of loss, ratio, clipped, kl, entropy and one.

        The last two sums, of the gap and of one, are over those tokens that this version sampled.
        """
        logprobs, entropies = self._engine(batch.prompt, batch.token_ids, batch.mask)
        loss = micro_batch_loss(self._algorithm, logprobs, batch)
        self._engine.backward(loss.value * self.ranks.size)  # DeepSpeed averages over ranks; the loss is their sum
        own = batch.versions == self.version
        gap = (logprobs.detach() - batch.behaviour).abs() * own
        over_tokens = (loss.ratio, loss.clipped, loss.kl, entropies, torch.ones_like(gap), gap, own)
        sums = (loss.value.detach(), *map(torch.sum, over_tokens))
        return torch.stack([value.double().cpu() for value in sums])
