"""The contract suite: what every language does, shown by small programs that its pack brings.

Each program does one thing (docs/languages.md lists them), and none needs more of a language than a beginner knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agnostics.testing.expectations import Case, only
from agnostics.testing.shell import in_shell
from agnostics.types.language import Language
from agnostics.types.task import Comparison, LimitOverrides, Task, Test
from agnostics.types.verification import Verdict

PROGRAMS = {
    "hello": "prints `Hello, World!`",
    "echo": "copies its input, line by line",
    "sum": "reads two integers, prints their sum",
    "crash": "fails while it runs",
    "loop": "never ends",
    "flood": "prints without end",
    "memory": "takes memory without end",
}
"""What the programs of the contract suite do, by name."""
GARBAGE = ")} this is no program in any language (({\n"
"""What is tried as a program that is none, where the pack brings no `invalid` of its own."""
LOOP_S = 1.0
PATIENCE_S = 10.0
"""For what is not about time: however busy the machine is."""
PATIENT = LimitOverrides(run_s=PATIENCE_S)
FLOOD_BYTES = 100_000
MEMORY_MB = 128
LINES = Comparison(mode="lines")
GREETING = (Test(input="", output="Hello, World!\n"),)
SUMS = (("3 4\n", "7\n"), ("12\n30\n", "42\n"), ("0 0\n", "0\n"), ("99999 1\n", "100000\n"))
UNICODE = "Grüße, κόσμε, 世界, 🌍\n"
BIG = "".join(f"line {number:05} of the input\n" for number in range(10_000))
"""A quarter of a megabyte."""
LISTING = 'for folder in "$HOME" "$TMPDIR" .; do ls -A "$folder"; done | grep -v -x -F {known}\n:\n'
"""Names all that stands where programs may write, and is not known."""


@dataclass(frozen=True)
class Promise:
    """One line of the contract: the program of that name, run on these tests, gets one of these verdicts."""

    text: str
    program: str
    tests: tuple[Test, ...]
    expected: frozenset[Verdict]
    limits: LimitOverrides = PATIENT
    or_steps: bool = False


def _same(text: str) -> tuple[Test, ...]:
    return (Test(input=text, output=text),)


CONTRACT: dict[str, Promise] = {
    "hello": Promise("hello greets the world", "hello", GREETING, only("accepted")),
    "echo": Promise("echo gives back what it is given", "echo", _same("one two\nthree\n"), only("accepted")),
    "sum": Promise("sum adds", "sum", tuple(Test(input=i, output=o) for i, o in SUMS), only("accepted")),
    "big input": Promise("echo copies a quarter of a megabyte", "echo", _same(BIG), only("accepted")),
    "unicode": Promise("echo copies letters of all scripts", "echo", _same(UNICODE), only("accepted")),
    "wrong answer": Promise(
        "hello is wrong where another greeting is due",
        "hello",
        (Test(input="", output="Hello, World?\n"),),
        only("wrong_answer"),
    ),
    "crash": Promise("crash is a runtime error", "crash", GREETING, only("runtime_error")),
    "loop": Promise("loop is stopped", "loop", GREETING, only("time_limit"), LimitOverrides(run_s=LOOP_S)),
    "flood": Promise(
        "flood is stopped",
        "flood",
        GREETING,
        only("output_limit"),
        PATIENT.model_copy(update={"output_bytes": FLOOD_BYTES}),
        or_steps=True,
    ),
    "memory": Promise("memory is stopped", "memory", GREETING, only("memory_limit"), or_steps=True),
}
"""What is asked of a pack's own programs, by the name of the case."""
CASES = (*CONTRACT, "compile error", "no program", "no trace")
"""All the cases of the suite."""


def contract_cases(language: Language, names: tuple[str, ...] = CASES) -> Iterator[Case]:
    """The cases called `names` for `language`."""
    for name in names:
        if promise := CONTRACT.get(name):
            yield _case(language, name, promise)
        elif name == "no trace":
            yield from _no_trace(language)
        else:
            yield _refused(language, name)


def _case(language: Language, name: str, promise: Promise) -> Case:
    program, limits = language.contract.get(promise.program), promise.limits
    if name == "memory":
        limits = limits.model_copy(update={"memory_mb": language.limits.memory_mb or MEMORY_MB})
    task = Task(id=name, tests=promise.tests, compare=LINES, limits=limits)
    return Case("contract", f"{name}: {promise.text}", language, program, task, promise.expected, promise.or_steps)


def _refused(language: Language, name: str) -> Case:
    """What is no program in the language, and what is none at all."""
    task = Task(id=name, tests=GREETING, limits=PATIENT)
    if name == "no program":
        return Case("contract", f"{name}: an empty answer is none", language, "", task, only("no_program"))
    expected = only("compile_error" if language.compile else "runtime_error")
    program = language.contract.get("invalid", GARBAGE)
    return Case("contract", f"{name}: what is no program is refused", language, program, task, expected)


def _no_trace(language: Language) -> Iterator[Case]:
    """Run `hello` twice in a row, and after each time look at what is left where programs may write."""
    text = "no trace: a run leaves nothing for the next"
    known = " ".join(f"-e {name}" for name in ("snippet.sh", *language.support_files()))
    shell, program = in_shell(language, LISTING.format(known=known))
    task = Task(id="no trace", tests=(Test(input="", output=""),), limits=PATIENT)
    for _ in range(2):
        yield _case(language, "no trace", CONTRACT["hello"])
        yield Case("contract", text, shell, program, task, only("accepted"))
