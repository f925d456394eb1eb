"""Tests that the model itself writes to a task, and what each program does on them: what best@k chooses by.

After section 7.2 of the CWM paper: many answers hold tests, and those that most of them agree on are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from agnostics.evaluate.pipeline import Judging
from agnostics.evaluate.selection import EXAMPLES
from agnostics.evaluate.sources import Answered, Source, Wanted
from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.store.queries.evaluations import programs_without_generated_tests, stored_generated_tests
from agnostics.types.language import Language
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
"""What stands before a task's statement to ask for tests; the wording is ours, for the paper prints none."""
_LONGEST = 10_000
"""Characters of a test's input or output: models that repeat themselves go on for ever."""
_FENCE = "```"


def read_tests(answer: str) -> list[Test]:
    """The tests in an answer to `REQUEST`: each block of input with the block of output that follows it."""
    blocks = list(_blocks(answer.encode(errors="replace").decode()))
    return [
        Test(input=given, output=expected)
        for (first, given), (second, expected) in pairwise(blocks)
        if (first, second) == ("input", "output") and max(len(given), len(expected)) <= _LONGEST
    ]


def _blocks(answer: str) -> Iterator[tuple[str, str]]:
    """The blocks of input and of output that are closed, each with its kind."""
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
    """The tests that most answers hold, at most `KEPT`, with inputs that are not among those `shown`.

    White space aside. An answer counts once for a test, and an input has the output that most answers give it; between
    equals, what was written first.
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
    """Whether tests can be written to `task`: where outputs are not compared, or tests are code, there is nothing."""
    return task.prompt_format is None and task.compare.mode != "nothing"


class Examination:
    """Has a model write tests to the tasks of an evaluation, `answers` times to each, and runs its programs on them.

    `judging` stores what comes of it.
    """

    def __init__(self, store: Store, run: str, judging: Judging, answers: int) -> None:
        self._store, self._run, self._judging, self._answers = store, run, judging, answers
        self._examined = 0

    def hold(self, tasks: Iterable[Task], source: Source, language: Language) -> int:
        """Examine the programs that were written to `tasks`; returns to how many of these there are tests.

        What an earlier session has stored is not asked again.
        """
        with reading(self._store.engine) as connection:
            examined = stored_generated_tests(connection, self._run)
        answers = defaultdict[str, list[list[Test]]](list)
        asking = language.model_copy(update={"prompt": REQUEST})
        for answered in source(self._wanted(tasks, examined), asking):
            task = answered.task
            answers[task.id].append(read_tests(answered.text))
            if len(answers[task.id]) == self._answers:
                self._examine(task, agreed(answers.pop(task.id), task.tests[:EXAMPLES]))
        return self._examined

    def _wanted(self, tasks: Iterable[Task], examined: Mapping[str, tuple[Test, ...]]) -> Iterator[Wanted]:
        for task in tasks:
            if task.id in examined:
                self._examine(task, examined[task.id])
            elif can_have(task):
                yield task, range(self._answers)

    def _examine(self, task: Task, tests: tuple[Test, ...]) -> None:
        """Run every program that was written to `task` on `tests`, each text once."""
        if not tests:
            return
        self._examined += 1
        with reading(self._store.engine) as connection:
            programs = programs_without_generated_tests(connection, self._run, task.id)
        for sample, program in programs:
            answered = Answered(task.model_copy(update={"tests": tests}), sample, program, 0, "stop")
            self._judging.judge(answered, program)
