"""The documents and the tasks of `benchmarks/trace_training.py`: traces, as many tokens without them, and prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from random import Random

from agnostics.environments.trace_prediction import TracePrediction
from agnostics.environments.traced_program import TracedProgram
from agnostics.rollout.prompts import ChatSettings
from agnostics.traces.cwm_format import END, render_frame
from agnostics.traces.records import TraceRecord
from agnostics.traces.runner import TracedRun
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict

from agnostics_benchmarks.step_programs import Split, StepProgram, all_programs, draw_input, draw_program

TEMPLATE = "In {language}:\n\n{statement}"
"""The prompt that asks for a program. The language's own is left out: it would be most of the tokens."""
TESTS = 8
_BETWEEN = "\n\n"


@dataclass(frozen=True)
class StepExample:
    """A program with an input."""

    program: StepProgram
    given: str

    def text(self, language: str) -> str:
        """The program, the input, and what is printed."""
        answer = f"[ANSWER]\n{self.program.output(self.given)}[/ANSWER]"
        return f"[PROGRAM]\n{self.program.text(language)}[/PROGRAM]\n{self._input}{answer}"

    def explained(self, language: str) -> str:
        """The same after the program's statement."""
        return f"[STATEMENT]\n{self.program.statement}\n[/STATEMENT]\n{self.text(language)}"

    def trace_parts(self, record: TraceRecord) -> tuple[str, str]:
        """The program with its input, and the frames of its trace.

        Raises NoTruth if the trace is not whole or does not end in what the program prints.
        """
        traced = TracedProgram(language=record.language, text=record.program)
        run = TracedRun(
            Verdict(record.verdict), stdout=record.stdout.encode(), error=record.error, trace=record.trace()
        )
        frames = "".join(map(render_frame, traced.frames(run, self.program.output(self.given))))
        return f"{self._input}{traced.context_text}", f"{frames}{END}"

    @property
    def _input(self) -> str:
        return f"[INPUT]\n{self.given}[/INPUT]\n"


def training_examples(purpose: str) -> Iterator[StepExample]:
    """Examples of training programs without end; each purpose has its own."""
    rng = Random(purpose)
    while True:
        program = draw_program(rng)
        if program.split == "train":
            yield StepExample(program, draw_input(rng))


def shuffled(parts: Sequence[tuple[str, str]]) -> list[str]:
    """Each beginning with the frames of another one, which are about as long: those of the next in order of length."""
    order = sorted(range(len(parts)), key=lambda place: len(parts[place][1]))
    other = {place: order[(rank + 1) % len(order)] for rank, place in enumerate(order)}
    return [beginning + parts[other[place]][1] for place, (beginning, _) in enumerate(parts)]


def filled(
    firsts: Iterable[str], lengths: Iterable[int], following: Iterator[str], count: Callable[[str], int]
) -> Iterator[str]:
    """Texts of about `lengths` tokens each, and of as many together: each begins with its first, others follow."""
    room, waiting = 0, next(following)
    for text, length in zip(firsts, lengths, strict=True):
        room += length
        while count(longer := f"{text}{_BETWEEN}{waiting}") <= room:
            text, waiting = longer, next(following)
        room -= count(text)
        yield text


def prompts_with_answers(language: Language, count: int) -> Iterator[dict[str, str]]:
    """Training records in the form of the two measured tasks, in turn."""
    environment, chat = TracePrediction(mode="output"), ChatSettings(template=TEMPLATE)
    for number, example in zip(range(count), training_examples("answers"), strict=False):
        task = _task(str(number), example.program, [example.given], language.name)
        if number % 2:
            completion = f"```{language.name}\n{example.program.text(language.name)}```"
            yield {"prompt": chat.message(language, task), "completion": completion}
        else:
            completion = f"[ANSWER]\n{example.program.output(example.given)}[/ANSWER]"
            yield {"prompt": environment.message(task, language), "completion": completion}


def held_out_tasks(split: Split, count: int, language: str) -> Iterator[Task]:
    """At most `count` tasks of a split, one of each of its families in turn. The id is split, family and a number."""
    rng, families = Random(f"held-out/{split}"), defaultdict[str, list[StepProgram]](list)
    for program in all_programs():
        if program.split == split:
            families[program.family].append(program)
    for programs in families.values():
        rng.shuffle(programs)
    in_turn = chain.from_iterable(zip_longest(*families.values()))
    for number, program in enumerate(islice(filter(None, in_turn), count)):
        yield _task(f"{split}/{program.family}/{number}", program, _inputs(rng), language)


def _inputs(rng: Random) -> list[str]:
    inputs = dict.fromkeys(draw_input(rng) for _ in range(3 * TESTS))
    return list(inputs)[:TESTS]


def _task(name: str, program: StepProgram, inputs: Sequence[str], language: str) -> Task:
    return Task(
        id=name,
        statement=program.statement,
        tests=tuple(Test(input=given, output=program.output(given)) for given in inputs),
        family=program.family,
        metadata={"program": {"language": language, "text": program.text(language)}},
    )
