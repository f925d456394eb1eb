"""Synthetic records of typical sizes for benchmarks of the results database, from a fixed seed.

A program has about 400 characters and five tests. A quarter of the programs are repeated: with a model of two million
weights and programs of 100 characters, half to three quarters are, and larger models repeat themselves less. Verdicts
are distributed as in the middle of a run; one test in a hundred prints two thousand characters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from agnostics.store.records import CompletionRecord
from agnostics.types.language import Language
from agnostics.types.rollout import Phase
from agnostics.types.task import Task, Test
from agnostics.types.verification import CompileResult, Difference, TestResult, Verdict, Verification

TESTS = 5
GROUP = 16
GROUPS = 64
"""Groups in a training step."""
HELD_OUT = 50
"""Tasks of an evaluation."""
REPEATED = 0.25
LONG = 0.01
SHARES = {
    Verdict.ACCEPTED: 0.5,
    Verdict.WRONG_ANSWER: 0.3,
    Verdict.RUNTIME_ERROR: 0.13,
    Verdict.COMPILE_ERROR: 0.05,
    Verdict.NO_PROGRAM: 0.02,
}
_WORDS = ["count", "total", "index", "value", "items", "left", "right", "best", "step", "size", "line", "word", "limit"]
_LINE = "local {a}, {b} = tonumber(io.read()), {n}\nfor {a} = 1, {m} do {b} = {b} + {a} * {n} end\nprint({b})\n"


LANGUAGE = Language(name="lua", prompt="Write Lua.", filename="main.lua", execute="luajit main.lua")


def tasks(count: int) -> list[Task]:
    """`count` distinct tasks, of ten families."""
    return [_task(number) for number in range(count)]


def _task(number: int) -> Task:
    tests = tuple(Test(input=f"{number} {case}\n", output=f"{number + case}\n") for case in range(TESTS))
    return Task(id=f"bench/{number}", family=f"family-{number % 10}", statement="Add two numbers. " * 20, tests=tests)


def records(tasks: Sequence[Task], count: int, seed: int) -> Iterator[CompletionRecord]:
    """The records of a run with `count` completions: an evaluation, training, and the evaluation again."""
    chance = random.Random(seed)
    written = list[str]()
    groups = -(-count // GROUP)
    held_out = min(HELD_OUT, groups // 3)
    for number in range(groups):
        phase, step = _place(number, groups, held_out)
        task = tasks[number % held_out] if phase != "train" else chance.choice(tasks)
        for sample in range(min(GROUP, count - number * GROUP)):
            yield _record(chance, written, step, phase, task, sample)


def _place(number: int, groups: int, held_out: int) -> tuple[Phase, int]:
    """The phase and the step of a group."""
    if number < held_out:
        return "eval_before", 0
    phase: Phase = "train" if number < groups - held_out else "eval_after"
    last = max(held_out, groups - held_out - 1)
    return phase, 1 + (min(number, last) - held_out) // GROUPS


def _record(
    chance: random.Random, written: list[str], step: int, phase: Phase, task: Task, sample: int
) -> CompletionRecord:
    (verdict,) = chance.choices(list(SHARES), list(SHARES.values()))
    program = None if verdict is Verdict.NO_PROGRAM else _program(chance, written)
    reward = 1.0 if verdict is Verdict.ACCEPTED else 0.0
    return CompletionRecord(
        step=step,
        phase=phase,
        task=task,
        sample=sample,
        text=f"Here is the program.\n\n```lua\n{program}```\n" if program else "I am not sure how to do that.",
        tokens=chance.randrange(80, 240),
        finish_reason="stop",
        policy_version=step - 1,
        verification=_verification(chance, task, program, verdict),
        reward=reward,
        advantage=reward - 0.5 + chance.random() / 10,
    )


def _program(chance: random.Random, written: list[str]) -> str:
    if written and chance.random() < REPEATED:
        return chance.choice(written[-1000:])
    written.append("".join(_lines(chance) for _ in range(chance.randint(3, 4))))
    return written[-1]


def _lines(chance: random.Random) -> str:
    a, b = chance.sample(_WORDS, 2)
    return _LINE.format(a=a, b=b, n=chance.randrange(1000), m=chance.randrange(100))


def _verification(chance: random.Random, task: Task, program: str | None, verdict: Verdict) -> Verification:
    compiled = verdict is Verdict.COMPILE_ERROR
    message = "luajit: main.lua:3: '=' expected near 'end' (a line that says what was meant)\n" * 3
    result = CompileResult(False, 4.2, 3.1, 5.5, 1, None, message) if compiled else None
    ran = program is not None and not compiled
    tests = tuple(_test(chance, verdict) for _ in task.tests) if ran else ()
    wall_ms = round(chance.uniform(5, 50), 3)
    return Verification(task.id, "lua", program, verdict, tests, result, "docker", 1, wall_ms)


def _test(chance: random.Random, verdict: Verdict) -> TestResult:
    long = chance.random() < LONG
    number = chance.randrange(100_000)
    failed = verdict is Verdict.RUNTIME_ERROR
    wrong = Difference(0, 0, str(number + 1), str(number)) if verdict is Verdict.WRONG_ANSWER else None
    return TestResult(
        verdict,
        round(chance.uniform(1, 5), 3),
        round(chance.uniform(0.5, 4), 3),
        chance.randrange(2000, 6000) / 1024,
        1 if failed else 0,
        None,
        " ".join(str(number + i) for i in range(300)) if long else f"{number}\n",
        f"luajit: main.lua:{number % 20}: attempt to perform arithmetic on a nil value (local 'x')" if failed else "",
        difference=wrong,
    )
