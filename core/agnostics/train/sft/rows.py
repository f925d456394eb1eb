"""Rows of documents as tensors; their positions keep the documents of a row apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from agnostics.train.sft.documents import Document


@dataclass(frozen=True, slots=True)
class PackedRow:
    """Documents one after another: (1, L) each. `position_ids` start again at 0 with each document."""

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    mask: torch.Tensor

    @property
    def num_trained(self) -> int:
        """The number of trained tokens."""
        return int(self.mask.sum())

    def to(self, device: torch.device) -> PackedRow:
        """The same on `device`."""
        return PackedRow(self.token_ids.to(device), self.position_ids.to(device), self.mask.to(device))


def stack_documents(documents: Sequence[Document]) -> PackedRow:
    """Documents as one row."""
    token_ids = [token for document in documents for token in document.token_ids]
    mask = [bit for document in documents for bit in document.mask]
    positions = [place for document in documents for place in range(len(document))]
    return PackedRow(*(torch.tensor([column]) for column in (token_ids, positions, mask)))
