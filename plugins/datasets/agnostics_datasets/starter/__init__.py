"""The `starter` data set: small tasks of many kinds, generated from a seed, for models that are just starting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import ClassVar

from agnostics import Dataset, Task, UsageError, unknown_name_error

from agnostics_datasets.starter import algorithms, arithmetic, lists, parsing, strings
from agnostics_datasets.starter.kind import Kind, Parameters

KINDS: dict[str, Kind] = {
    kind.name: kind for theme in (arithmetic, algorithms, strings, lists, parsing) for kind in theme.KINDS
}
HELD_OUT = 5
"""One combination of statement and parameters in this many is held out of training."""


class Starter(Dataset):
    """Thousands of statements from a few dozen kinds of task.

    Which statements are held out is fixed; the seed decides their order and the inputs they are tested on. Held-out
    tasks are tested on inputs of the training split's kinds and of kinds that it lacks. Every stretch of tasks as long
    as the number of kinds holds one of each, as far as they reach.
    """

    name: ClassVar[str] = "starter"
    description: ClassVar[str] = "Small tasks of many kinds, generated from a seed."
    license: ClassVar[str] = "Apache-2.0"
    size: ClassVar[str] = "about 10,000 statements of 67 kinds, a fifth of them held out; inputs without end"
    fields: ClassVar[Mapping[str, str]] = {"seed": "the order of the tasks, and the inputs of their tests"}

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is not None:
            raise UsageError(f"the data set 'starter' is generated and reads no file, got {source!r}")
        return _generate(split, seed)


def _generate(split: str, seed: int) -> Iterator[Task]:
    for kind, index, (statement, parameters) in _ordered(split, seed):
        name = f"starter-{seed}/{kind.name}/{index}"
        yield kind.task(name, statement, parameters, wide=split == "test", seed=seed)


def _ordered(split: str, seed: int) -> Iterator[tuple[Kind, int, tuple[str, Parameters]]]:
    """Rounds over the kinds, each in an order of its own, until every combination of the split has come."""
    rng = Random(f"starter/{seed}/{split}")
    left = [(kind, _part(kind, split)) for kind in KINDS.values()]
    for _, part in left:
        rng.shuffle(part)
    while left:
        rng.shuffle(left)
        for kind, part in left:
            index, combination = part.pop()
            yield kind, index, combination
        left = [(kind, part) for kind, part in left if part]


def _part(kind: Kind, split: str) -> list[tuple[int, tuple[str, Parameters]]]:
    every = enumerate(kind.combinations())
    return [(index, each) for index, each in every if (index % HELD_OUT == 0) == (split == "test")]
