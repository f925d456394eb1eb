"""The `trace-programs` data set: small programs whose outputs and traces are to be predicted, generated from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import ClassVar

from agnostics import Dataset, Task, Test, UsageError, unknown_name_error

from agnostics_datasets.trace_programs import brainfuck, lua
from agnostics_datasets.trace_programs.family import ProgramFamily, TracedLanguage, in_turn

PROGRAMS: dict[str, TracedLanguage] = {each.language: each for each in (lua.PROGRAMS, brainfuck.PROGRAMS)}
HELD_OUT = 5
"""One program of each family in this many is held out of training."""


class TracePrograms(Dataset):
    """Programs in Lua or in Brainfuck, a few lines each, for the environment `trace-prediction`.

    The programs are fixed; the seed decides their order and their inputs. The output of each is computed apart from
    the program, and its trace is made by running it.
    """

    name: ClassVar[str] = "trace-programs"
    description: ClassVar[str] = "Small programs in Lua or Brainfuck, whose outputs and traces are to be predicted."
    license: ClassVar[str] = "Apache-2.0"
    size: ClassVar[str] = (
        "240 programs of 12 families in Lua and 87 programs of 9 families in Brainfuck, a fifth held out"
    )
    fields: ClassVar[Mapping[str, str]] = {
        "source": "the language, lua or brainfuck",
        "seed": "the order of the tasks, and their inputs",
    }

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split` in the language `source`; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is None:
            raise UsageError("the data set 'trace-programs' needs a language: trace-programs:lua")
        if source not in PROGRAMS:
            raise unknown_name_error("language of trace-programs", source, PROGRAMS)
        return _generate(PROGRAMS[source], split, seed)


def _generate(programs: TracedLanguage, split: str, seed: int) -> Iterator[Task]:
    example = programs.whole_example()
    rng = Random(f"trace-programs/{programs.language}/{seed}/{split}")
    for family, index, parameters in in_turn(
        programs.families, lambda at: (at % HELD_OUT == 0) == (split == "test"), rng
    ):
        name = f"trace-programs-{seed}/{programs.language}/{family.name}/{index}"
        text = family.program(parameters)
        program = {"language": programs.language, "text": text, "examples": [example]}
        yield _task(name, family, parameters, {"program": program})


def _task(name: str, family: ProgramFamily, parameters: dict[str, int | str], metadata: dict[str, object]) -> Task:
    given = family.draw(Random(name))
    return Task(
        id=name,
        statement=f"What does this program print for the input {given!r}?\n\n{family.program(parameters)}",
        tests=(Test(input=given, output=family.output(given, **parameters)),),
        family=family.name,
        parameters=parameters,
        metadata=metadata,
    )
