"""The accelerator that DeepSpeed uses."""

from __future__ import annotations

import os


def has_gpu() -> bool:
    """Whether torch finds a GPU."""
    import torch

    return torch.cuda.is_available()


def choose_accelerator() -> None:
    """Set DeepSpeed's accelerator before it is imported: it would print on stdout that it had to guess.

    If `accelerate` is installed, saving a model imports DeepSpeed.
    """
    if not has_gpu():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
