"""The `starter-families` data set: generated tasks whose held-out families, statements, programs and tests are new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import ClassVar

from agnostics import Dataset, Task, UsageError, unknown_name_error

from agnostics_datasets.starter.family import NumberedCombination, TaskFamily, in_turn
from agnostics_datasets.starter_families.splits import SPLITS, split_of_family, split_of_value


class StarterFamilies(Dataset):
    """Generated tasks of many families, each family in one split only.

    The families of `starter` and 93 others. No family, statement, value of a parameter or input of a test is
    in two splits, whatever the seed. The seed decides the order of the tasks and the inputs of their tests, half of
    which are long or large. Every block of tasks as long as the number of families holds one task of each family, until
    a family is exhausted.
    """

    name: ClassVar[str] = "starter-families"
    description: ClassVar[str] = "Small generated tasks; the families of held-out tasks are not in training."
    license: ClassVar[str] = "Apache-2.0"
    splits: ClassVar[tuple[str, ...]] = SPLITS
    size: ClassVar[str] = (
        "about 6,400 statements of 160 families: 87 for training, 21 for validation, 52 for tests; inputs without end"
    )
    fields: ClassVar[Mapping[str, str]] = {"seed": "the order of the tasks, and the inputs of their tests"}

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is not None:
            raise UsageError(f"the data set {self.name!r} is generated and reads no file, got {source!r}")
        return _generate(split, seed)


def _generate(split: str, seed: int) -> Iterator[Task]:
    from agnostics_datasets.starter_families.families import FAMILIES  # every `agn` command imports every adapter

    families = [family for name, family in FAMILIES.items() if split_of_family(name) == split]
    parts = [(family, _part(family, split)) for family in families]
    for family, index, (statement, parameters) in in_turn(parts, Random(f"starter-families/{seed}/{split}")):
        yield family.task(
            f"starter-families-{seed}/{family.name}/{index}",
            statement,
            parameters,
            wide=True,
            seed=seed,
            accepts=lambda text: split_of_value(text) == split,
        )


def _part(family: TaskFamily, split: str) -> list[NumberedCombination]:
    """The combinations whose parameters all belong to `split`."""
    every = enumerate(family.combinations())
    return [(i, each) for i, each in every if all(split_of_value(value) == split for value in each[1].values())]
