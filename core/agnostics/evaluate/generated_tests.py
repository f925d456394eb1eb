"""Generated tests: the model writes tests for a task, and best@k chooses programs by them.

After section 7.2 of the CWM paper: many completions hold tests, and those that most of them agree on are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agnostics.evaluate.selection import EXAMPLES
from agnostics.evaluate.sources import SampledRollouts
from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.store.queries.evaluations import unexamined_programs, written_tests
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test

KEPT = 5
"""How many tests of a task are kept (section 7.2 of the CWM paper)."""
REQUEST = """\
Below is a problem that a program solves: it reads its input from stdin and writes its output to stdout. Do not write \
the program. Write up to five tests that a right program passes and a wrong one is likely to fail: small enough to \
work out by hand, different from the examples, and with edge cases among them. Write each test exactly so, and nothing \
else:

```input
what the program reads
```
```output
what it has to write
```

The problem:"""
"""The prompt before a task's statement that asks for tests; the wording is ours, because the paper prints none."""
_LONGEST = 10_000
"""The most characters of a test's input or output: models that repeat themselves never stop."""
_FENCE = "```"


def read_tests(answer: str) -> list[Test]:
    """The tests in a completion of `REQUEST`: each block of input with the block of output that follows it."""
    blocks = list(_blocks(answer.encode(errors="replace").decode()))
    return [
        Test(input=given, output=expected)
        for (first, given), (second, expected) in pairwise(blocks)
        if (first, second) == ("input", "output") and max(len(given), len(expected)) <= _LONGEST
    ]


def _blocks(answer: str) -> Iterator[tuple[str, str]]:
    """The closed blocks of input and of output, each with its kind."""
    kind, lines = "", list[str]()
    for line in answer.split("\n"):
        mark = line.strip()
        if not kind and mark in {f"{_FENCE}input", f"{_FENCE}output"}:
            kind, lines = mark.removeprefix(_FENCE), []
        elif kind and mark == _FENCE:
            yield kind, "".join(f"{line}\n" for line in lines)
            kind = ""
        elif kind:
            lines.append(line)


def agreed(answers: Iterable[Sequence[Test]], shown: Sequence[Test]) -> tuple[Test, ...]:
    """The tests that most completions hold, at most `KEPT`, with inputs that are not among those `shown`.

    White space is ignored. A completion counts once for a test, and an input has the output that most completions give
    it; between equals, the first.
    """
    votes = Counter[tuple[str, str]]()
    texts = dict[tuple[str, str], Test]()
    for tests in answers:
        held = {(_words(test.input), _words(test.output)): test for test in reversed(tests)}
        votes.update(dict.fromkeys(reversed(held), 1))
        texts = {**held, **texts}
    known = {_words(test.input) for test in shown}
    kept = list[Test]()
    for (given, expected), _ in votes.most_common():
        if given not in known and len(kept) < KEPT:
            known.add(given)
            kept.append(texts[given, expected])
    return tuple(kept)


def _words(text: str) -> str:
    return " ".join(text.split())


def can_have(task: Task) -> bool:
    """Whether tests can be written for `task`: not if outputs are not compared, or its tests are code."""
    return task.prompt_format is None and task.compare.mode != "nothing"


@dataclass(slots=True)
class TestGeneration:
    """Has a model write tests for the tasks of an evaluation, in `samples` completions for each, and verifies the
    evaluation's programs on them.
    """

    __test__ = False  # not a pytest class

    store: Store
    run: str
    source: SampledRollouts
    samples: int
    tested: int = 0
    """The number of tasks that tests were written for."""

    def run_on(self, tasks: Iterable[Task], language: Language) -> Iterator[Rollout]:
        """The verified rollouts, once more, on the tests that were written. Tests stored earlier are used again."""
        return self.source.collector.verifier.stream(self._programs(tasks, language), stop_on_failure=False)

    def _programs(self, tasks: Iterable[Task], language: Language) -> Iterator[tuple[Rollout, str | None]]:
        """Every program of the evaluation, with a rollout of its task whose tests are the written ones."""
        with reading(self.store.engine) as connection:
            stored = written_tests(connection, self.run)
        missing = list[Task]()
        for task in tasks:
            if task.id in stored:
                yield from self._with_tests(task, stored[task.id])
            elif can_have(task):
                missing.append(task)
        by_task = defaultdict[str, list[list[Test]]](list)
        wanted = ((task, range(self.samples)) for task in missing)
        for rollout in self.source.sampled(wanted, language.model_copy(update={"prompt": REQUEST})):
            task = rollout.task
            by_task[task.id].append(read_tests(rollout.text))
            if len(by_task[task.id]) == self.samples:
                yield from self._with_tests(task, agreed(by_task.pop(task.id), task.tests[:EXAMPLES]))

    def _with_tests(self, task: Task, tests: tuple[Test, ...]) -> Iterator[tuple[Rollout, str | None]]:
        """The programs that were written for `task`, each text once."""
        if not tests:
            return
        self.tested += 1
        with reading(self.store.engine) as connection:
            programs = unexamined_programs(connection, self.run, task.id)
        for sample, program in programs:
            yield Rollout(task=task.model_copy(update={"tests": tests}), sample=sample, text=program), program
