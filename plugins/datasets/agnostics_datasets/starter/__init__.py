"""The `starter` data set: small tasks of many families, generated from a seed, for models that are just starting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import ClassVar

from agnostics import Dataset, Task, UsageError, unknown_name_error

from agnostics_datasets.starter import algorithms, arithmetic, lists, parsing, strings
from agnostics_datasets.starter.family import NumberedCombination, TaskFamily, in_turn

FAMILIES: dict[str, TaskFamily] = {
    family.name: family for theme in (arithmetic, algorithms, strings, lists, parsing) for family in theme.FAMILIES
}
HELD_OUT = 5
"""One combination of statement and parameters in this many is held out of training."""


class Starter(Dataset):
    """Thousands of statements from a few dozen families of tasks.

    The held-out statements are fixed; the seed decides the order of the tasks and the inputs of their tests. Held-out
    tasks are tested on inputs like those of the training split and on inputs that it lacks. Every block of tasks as
    long as the number of families holds one task of each family, until a family is exhausted.
    """

    name: ClassVar[str] = "starter"
    description: ClassVar[str] = "Small tasks of many families, generated from a seed."
    license: ClassVar[str] = "Apache-2.0"
    size: ClassVar[str] = "about 10,000 statements of 67 families, a fifth of them held out; inputs without end"
    fields: ClassVar[Mapping[str, str]] = {"seed": "the order of the tasks, and the inputs of their tests"}

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is not None:
            raise UsageError(f"the data set 'starter' is generated and reads no file, got {source!r}")
        return _generate(split, seed)


def _generate(split: str, seed: int) -> Iterator[Task]:
    parts = [(family, _part(family, split)) for family in FAMILIES.values()]
    for family, index, (statement, parameters) in in_turn(parts, Random(f"starter/{seed}/{split}")):
        name = f"starter-{seed}/{family.name}/{index}"
        yield family.task(name, statement, parameters, wide=split == "test", seed=seed)


def _part(family: TaskFamily, split: str) -> list[NumberedCombination]:
    every = enumerate(family.combinations())
    return [(index, each) for index, each in every if (index % HELD_OUT == 0) == (split == "test")]
