"""Checkpoints that a test waits for, or holds on their way to the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from agnostics.models.loading import load_tokenizer
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState


def write_checkpoint(run: Path, policy: Policy, state: TrainerState, model: Path) -> Path:
    """The folder of a complete checkpoint of `state` in the folder of a run, with the tokenizer of `model`."""
    with CheckpointWriter(policy, load_tokenizer(model)) as writer:
        writer.save(run, state)
        writer.wait()
    assert writer.last
    return writer.last


@contextmanager
def held_checkpoint(run: Path, policy: Policy, state: TrainerState, model: Path) -> Iterator[CheckpointWriter]:
    """A block in which the same is begun, but cannot go on; it is complete after the block."""
    tokenizer = HeldTokenizer(model)
    with CheckpointWriter(policy, tokenizer) as writer:
        writer.save(run, state)
        yield writer
        tokenizer.released.set()
        writer.wait()


class HeldTokenizer:
    """The tokenizer in `folder`, whose files the thread of a checkpoint cannot write until it is `released`."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)
        self.released = Event()

    def save_pretrained(self, folder: Path) -> None:
        assert self.released.wait(timeout=60)
        self._tokenizer.save_pretrained(folder)
