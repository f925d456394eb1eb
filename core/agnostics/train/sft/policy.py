"""The model of supervised fine-tuning: a policy that is updated on packed rows."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from agnostics.train.policy import Policy
from agnostics.train.sft.documents import Document
from agnostics.train.sft.rows import PackedRow, stack_documents

_DUMMY = [Document(array("i", (0, 0)), b"\0\1")]
"""A dummy row that keeps collectives aligned while other ranks have another one."""
_PROBE_TOKENS = 64


@dataclass(frozen=True, slots=True)
class SftStats:
    """Statistics of one update: the mean of -log p over its trained tokens, and the gradient's norm before clipping."""

    loss: float
    grad_norm: float


class SupervisedPolicy(Policy):
    """A policy whose loss is the mean of -log p over the trained tokens of all rows of an update."""

    def update_on(self, rows: Sequence[Sequence[Document]], learning_rate: float) -> SftStats:
        """One step of AdamW on `rows`, each of one or more documents, which all ranks get."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        trained = sum(document.num_trained for row in rows for document in row)
        losses = [self._backward_row(row, trained) for row in self._shard_of(rows)]
        self._engine.step()
        self.version += 1
        (loss,) = self.process_group.all_reduce_sum([sum(losses)])
        return SftStats(loss, float(self._engine.get_global_grad_norm() or 0.0))

    def loss_on(self, rows: Sequence[Sequence[Document]]) -> float:
        """The mean of -log p over the trained tokens of `rows`, which all ranks get."""
        trained = sum(document.num_trained for row in rows for document in row)
        sums = [self._row_logprobs(row).sum().item() * (row is not _DUMMY) for row in self._shard_of(rows)]
        (total,) = self.process_group.all_reduce_sum([sum(sums)])
        return -total / trained

    def separates(self, documents: Sequence[Document]) -> bool:
        """Whether documents in one row have the log-probabilities that they have alone.

        Attention within each document follows from its positions in the models of transformers that make their masks
        with `create_causal_mask`; a model with recurrent layers, or a mask of its own, reads across documents.
        """
        short = [_shortened(document) for document in documents]
        together = self._row_logprobs(short)
        alone = torch.cat([self._row_logprobs([document]) for document in short])
        mismatch = (together - alone).abs().mean().item()
        return self.process_group.run_on_main(lambda: mismatch) <= self._settings.logprob_mismatch_bound

    def _row_logprobs(self, documents: Sequence[Document]) -> torch.Tensor:
        row = stack_documents(documents).to(self._engine.device)
        with torch.no_grad():
            logprobs: torch.Tensor = self._scored(row)
        return logprobs.cpu()

    def _scored(self, row: PackedRow) -> torch.Tensor:
        """The log-probabilities of the row's trained tokens."""
        no_prompt = row.token_ids[0, :0]
        logprobs, _ = self._engine(no_prompt, row.token_ids, row.mask, row.position_ids)
        scored: torch.Tensor = logprobs
        return scored

    def _shard_of(self, rows: Sequence[Sequence[Document]]) -> Sequence[Sequence[Document]]:
        """This rank's rows, and dummy ones if other ranks have more: see `Policy._shard`."""
        return self.process_group.shard([*rows, *[_DUMMY] * (-len(rows) % self.process_group.world_size)])

    def _backward_row(self, documents: Sequence[Document], trained: int) -> float:
        """Add the gradient of one row; its part of the loss, which is the mean over `trained` tokens."""
        logprobs = self._scored(stack_documents(documents).to(self._engine.device))
        loss = -logprobs.sum() / trained * (0.0 if documents is _DUMMY else 1.0)
        # DeepSpeed averages over ranks; the loss is their sum.
        self._engine.backward(loss * self.process_group.world_size)
        return float(loss.item())


def _shortened(document: Document) -> Document:
    """The beginning of a document, with every token but the first trained."""
    token_ids = document.token_ids[:_PROBE_TOKENS]
    return Document(token_ids, b"\0" + b"\1" * (len(token_ids) - 1))
