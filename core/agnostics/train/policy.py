"""The policy: a model under DeepSpeed that scores tokens and is updated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self, cast

import torch
from transformers import AutoModelForCausalLM

from agnostics.algorithms.loss import Loss, MicroBatch, split_by_size, stack
from agnostics.models.token_logprobs import TokenLogprobModel
from agnostics.train import lora
from agnostics.train.config import TrainConfig
from agnostics.train.deepspeed_engine import initialise
from agnostics.train.snapshot import HostCopies, LaterTensor, PolicySnapshot, captured_states, known
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from agnostics.util.distributed import SINGLE_PROCESS, ProcessGroup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LossFunction = Callable[[torch.Tensor, MicroBatch, torch.Tensor], Loss]
"""(log-probabilities under the policy, micro batch, entropies of the policy) -> loss."""

_TAG = "state"
"""The folder of DeepSpeed's files in a checkpoint."""
_DUMMY = [
    Rollout(
        task=Task(id="dummy", tests=(Test(input="", output=""),)),
        sample=0,
        prompt_ids=(0,),
        segments=(Segment.sampled((0,), (0.0,), (0,)),),
    )
]
"""A dummy micro batch that keeps collectives aligned while other ranks have another one."""


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Statistics of one update over its N tokens.

    `importance_ratio`, `kl` and `entropy` (in nats, at the sampling temperature) are means over tokens.
    `logprob_mismatch` is the mean of |log-probability in the trainer - in the engine|, before the update, over the
    tokens of the current policy version; None without such tokens.
    """

    loss: float
    importance_ratio: float
    logprob_mismatch: float | None
    clip_fraction: float
    kl: float
    entropy: float
    grad_norm: float


class Policy:
    """A model with its optimizer, in one DeepSpeed engine on all ranks. `version` counts its updates.

    `reference` is the folder of the reference model of a KL term: a second model in memory, or with LoRA the same one
    with its adapters disabled. Every rank gets the same rollouts and returns the same results; each passes its shard
    through the model.
    """

    def __init__(
        self,
        folder: Path,
        settings: TrainConfig,
        temperature: float,
        reference: Path | None = None,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        self.process_group = process_group
        self._settings = settings
        model = self._load(folder)
        if settings.lora_rank:
            lora.adapt(model, settings)
        module = TokenLogprobModel(
            model,
            temperature,
            recompute=settings.activation_checkpointing,
            entropy_gradient=bool(settings.entropy_coef),
        )
        self._engine: Any = initialise(module, settings)
        self._reference: Any = None
        if reference and not settings.lora_rank:
            self._reference = TokenLogprobModel(self._load(reference), temperature).to(self._engine.device)
        self.version = 0

    def with_old_logprobs(self, rollouts: Sequence[Rollout]) -> list[Rollout]:
        """The rollouts with the log-probabilities of the policy as it is now."""
        logprobs = self._logprobs(self._engine, rollouts)
        return [replace(rollout, old_logprobs=row) for rollout, row in zip(rollouts, logprobs, strict=True)]

    def with_reference_logprobs(self, rollouts: Sequence[Rollout]) -> list[Rollout]:
        """The rollouts with the log-probabilities of the reference model."""
        with self._reference_model() as model:
            logprobs = self._logprobs(model, rollouts)
        return [replace(rollout, reference_logprobs=row) for rollout, row in zip(rollouts, logprobs, strict=True)]

    def update(
        self,
        rollouts: Sequence[Rollout],
        loss: LossFunction,
        learning_rate: float,
        before_micro_batch: Callable[[], None] = lambda: None,
    ) -> UpdateStats:
        """One step of AdamW on `loss` over `rollouts`."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        totals = torch.zeros(8, dtype=torch.float64)
        for chunk in self._shard(self._micro_batches(rollouts)):
            before_micro_batch()
            totals += self._dummy_backward() if chunk is _DUMMY else self._backward(chunk, loss)
        self._engine.step()
        self.version += 1
        norm = self._engine.get_global_grad_norm()
        value, *sums, tokens, mismatch, current = self.process_group.all_reduce_sum(totals.tolist())
        ratio, clipped, kl, entropy = (total / tokens for total in sums)
        return UpdateStats(
            value, ratio, mismatch / current if current else None, clipped, kl, entropy, float(norm or 0.0)
        )

    def logprob_mismatch(self, rollouts: Sequence[Rollout]) -> float:
        """The mean of |log-probability here - in the engine that sampled| over the sampled tokens of `rollouts`."""
        distances = [
            abs(here - there)
            for rollout, row in zip(rollouts, self._logprobs(self._engine, rollouts), strict=True)
            for here, there in zip(row, rollout.sampled_logprobs, strict=True)
        ]
        return fmean(distances) if distances else 0.0

    def weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every weight by its name in transformers' model, with its adapter merged if it has one.

        With ZeRO stage 3 they are gathered one at a time.
        """
        import deepspeed

        partitioned = self._settings.zero_stage == 3
        for weight in lora.weights_of(self._engine.module.model):
            with deepspeed.zero.GatheredParameters(weight.parameters, enabled=partitioned):
                data = weight.merged()
                yield weight.name, data.clone() if partitioned else data

    def adapter(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The weights of the adapters by their names in peft's format, for an engine that serves them.

        With ZeRO stage 3 they are gathered one at a time.
        """
        import deepspeed

        partitioned = self._settings.zero_stage == 3
        for name, weight in lora.adapter_weights(self._engine.module.model):
            with deepspeed.zero.GatheredParameters([weight], enabled=partitioned):
                yield name, weight.detach().clone() if partitioned else weight.detach()

    def snapshot(self, folder: Path) -> PolicySnapshot:
        """A copy of the policy as it is now, for a checkpoint that is written into `folder` while training goes on.

        It holds the model in Hugging Face's format and, in `trainer`, what `restore` needs: the trained weights and the
        optimizer's state. With LoRA these are the adapters alone: they belong to the run's starting model.
        """
        copies = HostCopies()
        weights = self._snapshot_of_weights(copies)
        states = captured_states(
            self._engine,
            folder / "trainer",
            copies,
            tag=_TAG,
            client_state={"version": self.version},
            save_latest=False,
            exclude_frozen_parameters=self._settings.lora_rank > 0,
        )
        return PolicySnapshot(folder, self._engine.module.model, weights, states)

    def _snapshot_of_weights(self, copies: HostCopies) -> dict[str, LaterTensor]:
        """A copy of every weight on rank 0, none on the others, which gather them with it in ZeRO stage 3."""
        is_main = self.process_group.is_main
        if self._settings.zero_stage == 3:
            return {name: known(weight.cpu()) for name, weight in self.weights() if is_main}
        weights = lora.weights_of(self._engine.module.model) if is_main else ()
        return {weight.name: weight.snapshot(copies) for weight in weights}

    def restore(self, folder: Path) -> None:
        """Load the weights and the optimizer's state from the folder `trainer` of a checkpoint."""
        strict = self._settings.lora_rank == 0
        _, client = self._engine.load_checkpoint(str(folder), tag=_TAG, load_module_strict=strict)
        self.version = client["version"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.destroy()

    def _load(self, folder: Path) -> Any:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, self._settings.dtype))

    @contextmanager
    def _reference_model(self) -> Iterator[Any]:
        """The model that the run started with."""
        if self._reference is not None:
            yield self._reference
        else:
            with lora.disabled(self._engine.module.model):
                yield self._engine

    def _logprobs(self, model: Any, rollouts: Sequence[Rollout]) -> list[tuple[float, ...]]:
        """The log-probabilities that `model` gives the sampled tokens of each rollout."""
        chunks = self._micro_batches(rollouts)
        scores = self.process_group.gather_shards([self._score(model, chunk) for chunk in self._shard(chunks)])
        by_rollout = {
            id(rollout): tuple(row.tolist())
            for chunk, logprobs in zip(chunks, map(torch.from_numpy, scores), strict=False)  # dummies come last
            for rollout, row in zip(chunk, torch.split(logprobs, [one.num_sampled for one in chunk]), strict=True)
        }
        return [by_rollout[id(rollout)] for rollout in rollouts]

    def _score(self, model: Any, chunk: Sequence[Rollout]) -> NDArray[np.float32]:
        """The log-probabilities of the S sampled tokens of a micro batch, (S,): an array, which ranks exchange fast."""
        batch = stack(chunk).to(self._engine.device)
        with torch.no_grad():
            logprobs, _ = model(batch.prompt_ids, batch.token_ids, batch.mask)
        return cast("NDArray[np.float32]", logprobs.cpu().numpy())

    def _micro_batches(self, rollouts: Sequence[Rollout]) -> list[list[Rollout]]:
        settings = self._settings
        return split_by_size(rollouts, settings.micro_batch_tokens, prompt_once=self._engine.module.prompt_once)

    def _shard(self, chunks: Sequence[list[Rollout]]) -> Sequence[list[Rollout]]:
        """This rank's micro batches, and dummy ones if other ranks have more.

        DeepSpeed gathers weights and reduces gradients in every pass, so that all ranks must make equally many.
        """
        size = self.process_group.world_size
        return self.process_group.shard([*chunks, *[_DUMMY] * (-len(chunks) % size)])

    def _dummy_backward(self) -> torch.Tensor:
        """A pass without gradient; the sums of `_backward` over no tokens."""
        batch = stack(_DUMMY).to(self._engine.device)
        logprobs, _ = self._engine(batch.prompt_ids, batch.token_ids, batch.mask)
        self._engine.backward(0.0 * logprobs.sum())
        return torch.zeros(8, dtype=torch.float64)

    def _backward(self, chunk: Sequence[Rollout], loss_function: LossFunction) -> torch.Tensor:
        """Add the gradient of one micro batch; sums over its tokens of loss, ratio, clipped, kl, entropy and one.

        The last two sums, of the mismatch and of one, are over the tokens of the current policy version.
        """
        batch = stack(chunk).to(self._engine.device)
        logprobs, entropies = self._engine(batch.prompt_ids, batch.token_ids, batch.mask)
        loss = loss_function(logprobs, batch, entropies)
        # DeepSpeed averages over ranks; the loss is their sum.
        self._engine.backward(loss.value * self.process_group.world_size)
        current = batch.policy_versions == self.version
        mismatch = (logprobs.detach() - batch.rollout_logprobs).abs() * current
        per_token = (loss.ratio, loss.is_clipped, loss.kl, entropies, torch.ones_like(mismatch), mismatch, current)
        sums = (loss.value, *map(torch.sum, per_token))
        return torch.stack([value.detach().double().cpu() for value in sums])
