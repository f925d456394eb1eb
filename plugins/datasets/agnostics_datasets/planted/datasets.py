"""The planted data sets: complexities to name, programs to write within a class, and programs that end or diverge."""

from __future__ import annotations

import random
from abc import abstractmethod
from binascii import crc32
from collections.abc import Iterator, Mapping
from itertools import count
from typing import ClassVar

from agnostics import Dataset, LimitOverrides, Task, Test, unknown_name_error

from agnostics_datasets.planted.complexity_programs import TEMPLATES, planted_program
from agnostics_datasets.planted.problems import PROBLEMS, problem_tasks
from agnostics_datasets.planted.termination_programs import PAIRS, planted_pair
from agnostics_datasets.planted.translation import TRANSLATORS

_SPEEDS = {"python": 0.05}
"""The speed of slow interpreters, as a part of that of the others."""
_ROUNDS = {"train": 8, "validation": 2, "test": 4}
"""The programs of each template in each split."""


def program_of_template(language: str, template: str, draw: random.Random) -> str:
    """A program of the complexity template of this name in a language."""
    return TRANSLATORS[language](planted_program(TEMPLATES[template], draw, _SPEEDS.get(language, 1.0)))


class _Planted(Dataset):
    """Tasks made from a seed about programs in the language that is named as the source, Lua by default."""

    license: ClassVar[str] = "Apache-2.0"
    splits: ClassVar[tuple[str, ...]] = tuple(_ROUNDS)
    fields: ClassVar[Mapping[str, str]] = {"seed": "the constants of the programs, their work and their start-up"}

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split` about programs in the language `source`; see `Dataset.tasks`."""
        language = source or "lua"
        if split not in _ROUNDS:
            raise unknown_name_error("split", split, _ROUNDS)
        if language not in TRANSLATORS:
            raise unknown_name_error(f"language of {self.name}", language, TRANSLATORS)
        for number in range(_ROUNDS[split]):
            yield from self._round(language, split, f"{seed}/{split}/{number}", f"{split}/{number}")

    @abstractmethod
    def _round(self, language: str, split: str, seed: str, where: str) -> Iterator[Task]:
        """The tasks of one round, each with a program drawn with `seed`; ids have `where`."""


def _draws(seed: str) -> Iterator[random.Random]:
    return (random.Random(f"{seed}/{attempt}") for attempt in count())


def _belongs(source: str, split: str) -> bool:
    """Whether a program may be in `split`, by its checksum: no program is in two of them, whatever the seeds."""
    return list(_ROUNDS)[crc32(source.encode()) % len(_ROUNDS)] == split


class PlantedComplexity(_Planted):
    """Programs with a planted complexity of time and memory, for the environment `complexity-prediction`."""

    name: ClassVar[str] = "planted-complexity"
    description: ClassVar[str] = "Programs whose complexity is known by construction, in Lua, Python, OCaml or Fortran."
    size: ClassVar[str] = f"{2 * len(TEMPLATES)} questions about {len(TEMPLATES)} programs in each round, 4 for tests"

    def _round(self, language: str, split: str, seed: str, where: str) -> Iterator[Task]:
        for name, template in TEMPLATES.items():
            programs = (program_of_template(language, name, draw) for draw in _draws(f"{seed}/{name}"))
            program = next(program for program in programs if _belongs(program, split))
            for quantity, klass in (("time", template.time), ("space", template.space)):
                yield Task(
                    id=f"{self.name}/{language}/{where}/{name}/{quantity}",
                    tests=(Test(input="", output=klass),),
                    family=f"{where}/{name}",
                    tags=(quantity, klass),
                    metadata={"program": program, "language": language, "quantity": quantity},
                )


class PlantedTermination(_Planted):
    """Pairs of programs, one that ends and one that diverges, for the environment `termination`.

    The input of the test is one on which the program diverges, or ends.
    """

    name: ClassVar[str] = "planted-termination"
    description: ClassVar[str] = "Programs that end, and as many that do not, in Lua, Python, OCaml or Fortran."
    size: ClassVar[str] = f"{2 * len(PAIRS)} programs in each round, 4 rounds for tests"

    def _round(self, language: str, split: str, seed: str, where: str) -> Iterator[Task]:
        for name, pair in PAIRS.items():
            pairs = (planted_pair(pair, draw) for draw in _draws(f"{seed}/{name}"))
            planted, witness = next(
                (found, witness)
                for found, witness in pairs
                if _belongs(found.ends, split) and _belongs(found.diverges, split)
            )
            for label, program in (("T", planted.ends), ("NT", planted.diverges)):
                yield Task(
                    id=f"{self.name}/{language}/{where}/{name}/{label}",
                    statement="The input is one whole number, of either sign.",
                    tests=(Test(input=f"{witness}\n", output=label),),
                    limits=LimitOverrides(run_s=5.0),
                    family=name,
                    tags=(label,),
                    metadata={"program": TRANSLATORS[language](program), "language": language},
                )


class PlantedComplexityProblems(Dataset):
    """Problems to solve within a class, for the environment `complexity-generation`, in any language."""

    name: ClassVar[str] = "planted-complexity-problems"
    description: ClassVar[str] = "Problems about lists of integers, to be solved within a complexity, in any language."
    license: ClassVar[str] = "Apache-2.0"
    splits: ClassVar[tuple[str, ...]] = tuple(_ROUNDS)
    fields: ClassVar[Mapping[str, str]] = {"seed": "the inputs of the tests"}
    size: ClassVar[str] = f"{sum(len(problem.classes) for problem in PROBLEMS.values())} in each split"

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        yield from problem_tasks(f"{seed}/{split}", split)
