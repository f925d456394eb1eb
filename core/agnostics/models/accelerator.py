"""The accelerator that DeepSpeed uses."""

from __future__ import annotations

import os

import torch


def choose_accelerator() -> None:
    """Set DeepSpeed's accelerator before it is imported: it would print on stdout that it had to guess.

    If `accelerate` is installed, saving a model imports DeepSpeed.
    """
    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
