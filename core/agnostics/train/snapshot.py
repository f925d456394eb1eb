"""Snapshots of a policy: copies in the host's memory, from which a checkpoint is written while training goes on."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

LaterTensor = Callable[[], torch.Tensor]
"""A tensor of the snapshot; a merged weight is computed when it is written."""


class HostCopies:
    """Copies of tensors in the host's memory, one of each: tied weights, and weights in two files, share theirs.

    The originals are kept alive, so that an address belongs to one of them.
    """

    def __init__(self) -> None:
        self._copies = dict[tuple[object, ...], tuple[torch.Tensor, torch.Tensor]]()

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The copy of `tensor` as it was when it was first asked for, in its shape and type."""
        place = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if place not in self._copies:
            self._copies[place] = tensor, tensor.detach().to("cpu", copy=True)
        return self._copies[place][1]


class FrozenState:
    """A nested state with tensors, as it was when this was created: the tensors copied, everything else pickled."""

    def __init__(self, state: object, copies: HostCopies) -> None:
        pickled = io.BytesIO()
        freezer = _Freezer(pickled, copies)
        freezer.dump(state)
        self._pickled, self._tensors = pickled.getvalue(), freezer.tensors

    def thawed(self) -> Any:
        """The state, with its copied tensors."""
        return _Thawer(io.BytesIO(self._pickled), self._tensors).load()


@dataclass(frozen=True, slots=True)
class PolicySnapshot:
    """A policy after a step, for a checkpoint in `folder`.

    `weights` are those of `model` by name, on rank 0 alone; `states` are this rank's files of DeepSpeed.
    """

    folder: Path
    model: Any
    weights: Mapping[str, LaterTensor]
    states: Mapping[Path, FrozenState]

    def write(self) -> Iterator[Path]:
        """Write the policy, one file or folder after the other; yields each."""
        for path, state in self.states.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(state.thawed(), path)
            yield path
        if self.weights:
            weights = {name: weight() for name, weight in self.weights.items()}
            self.model.save_pretrained(self.folder, state_dict=weights)
            yield self.folder


def known(tensor: torch.Tensor) -> LaterTensor:
    """`tensor`, which is not computed later."""
    return lambda: tensor


def captured_states(engine: Any, folder: Path, copies: HostCopies, **options: Any) -> dict[Path, FrozenState]:
    """What this rank's DeepSpeed engine saves into `folder`, by file. `options` are those of its `save_checkpoint`.

    All ranks call it together. Nothing is written but DeepSpeed's recovery scripts, of a few kilobytes, on rank 0.
    """
    states = dict[Path, FrozenState]()
    writer = engine.checkpoint_engine
    engine.checkpoint_engine = _Capture(writer, states, copies)
    try:
        engine.save_checkpoint(str(folder), **options)
    finally:
        engine.checkpoint_engine = writer
    return states


class _Capture:
    """A checkpoint engine of DeepSpeed that copies what it is told to save; otherwise it is `writer`."""

    def __init__(self, writer: Any, states: dict[Path, FrozenState], copies: HostCopies) -> None:
        self._writer, self._states, self._copies = writer, states, copies

    def save(self, state_dict: object, path: str) -> None:
        self._states[Path(path)] = FrozenState(state_dict, self._copies)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make no folder: the file's writer does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)


class _Freezer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, copies: HostCopies) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._copies = copies
        self.tensors = list[torch.Tensor]()

    def persistent_id(self, value: object) -> int | None:
        if not isinstance(value, torch.Tensor):
            return None
        self.tensors.append(self._copies.of(value))
        return len(self.tensors) - 1


class _Thawer(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tensors: list[torch.Tensor]) -> None:
        super().__init__(file)
        self._tensors = tensors

    def persistent_load(self, place: int) -> torch.Tensor:
        return self._tensors[place]
