"""The contract suite: the behaviour that every language must show, with small programs from its pack.

Each program does one thing (docs/languages.md lists them) and needs only what a beginner knows of the language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agnostics.testing.expectations import Expectation, exactly
from agnostics.testing.shell import shell_program
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
"""The behaviour of the programs of the contract suite, by name."""
GARBAGE = ")} this is no program in any language (({\n"
"""The invalid program for packs without an `invalid` of their own."""
LOOP_S = 1.0
UNHURRIED_S = 10.0
"""The time limit of checks that are not about time, on a loaded machine."""
UNHURRIED = LimitOverrides(run_s=UNHURRIED_S)
FLOOD_BYTES = 100_000
MEMORY_MB = 128
LINES = Comparison(mode="lines")
GREETING = (Test(input="", output="Hello, World!\n"),)
SUMS = (("3 4\n", "7\n"), ("12\n30\n", "42\n"), ("0 0\n", "0\n"), ("99999 1\n", "100000\n"))
UNICODE = "Grüße, κόσμε, 世界, 🌍\n"
BIG = "".join(f"line {number:05} of the input\n" for number in range(10_000))
"""A quarter of a megabyte."""
LISTING = 'for folder in "$HOME" "$TMPDIR" .; do ls -A "$folder"; done | grep -v -x -F {known}\n:\n'
"""Lists the unknown files in the folders where programs may write."""


@dataclass(frozen=True)
class ContractClause:
    """A clause of the contract: the pack's `program`, run on `tests`, gets one of the verdicts `expected`."""

    text: str
    program: str
    tests: tuple[Test, ...]
    expected: frozenset[Verdict]
    limits: LimitOverrides = UNHURRIED
    or_steps: bool = False


def _same(text: str) -> tuple[Test, ...]:
    return (Test(input=text, output=text),)


CONTRACT: dict[str, ContractClause] = {
    "hello": ContractClause("hello greets the world", "hello", GREETING, exactly("accepted")),
    "echo": ContractClause("echo prints its input", "echo", _same("one two\nthree\n"), exactly("accepted")),
    "sum": ContractClause("sum adds", "sum", tuple(Test(input=i, output=o) for i, o in SUMS), exactly("accepted")),
    "big input": ContractClause("echo copies a quarter of a megabyte", "echo", _same(BIG), exactly("accepted")),
    "unicode": ContractClause("echo copies letters of all scripts", "echo", _same(UNICODE), exactly("accepted")),
    "wrong answer": ContractClause(
        "hello is wrong if another greeting is expected",
        "hello",
        (Test(input="", output="Hello, World?\n"),),
        exactly("wrong_answer"),
    ),
    "crash": ContractClause("crash is a runtime error", "crash", GREETING, exactly("runtime_error")),
    "loop": ContractClause("loop is stopped", "loop", GREETING, exactly("time_limit"), LimitOverrides(run_s=LOOP_S)),
    "flood": ContractClause(
        "flood is stopped",
        "flood",
        GREETING,
        exactly("output_limit"),
        UNHURRIED.model_copy(update={"output_bytes": FLOOD_BYTES}),
        or_steps=True,
    ),
    "memory": ContractClause("memory is stopped", "memory", GREETING, exactly("memory_limit"), or_steps=True),
}
"""The clauses about a pack's own programs, by name."""
CASES = (*CONTRACT, "compile error", "no program", "no trace")
"""The names of all cases of the suite."""


def contract_expectations(language: Language, names: tuple[str, ...] = CASES) -> Iterator[Expectation]:
    """The expectations of the cases `names` for `language`."""
    for name in names:
        if clause := CONTRACT.get(name):
            yield _expectation(language, name, clause)
        elif name == "no trace":
            yield from _no_trace(language)
        else:
            yield _rejected(language, name)


def _expectation(language: Language, name: str, clause: ContractClause) -> Expectation:
    program, limits = language.contract.get(clause.program), clause.limits
    if name == "memory":
        limits = limits.model_copy(update={"memory_mb": language.limits.memory_mb or MEMORY_MB})
    task = Task(id=name, tests=clause.tests, compare=LINES, limits=limits)
    return Expectation("contract", f"{name}: {clause.text}", language, program, task, clause.expected, clause.or_steps)


def _rejected(language: Language, name: str) -> Expectation:
    """The expectation that an invalid program, or an empty completion, gets its verdict."""
    task = Task(id=name, tests=GREETING, limits=UNHURRIED)
    if name == "no program":
        return Expectation(
            "contract", f"{name}: an empty completion holds none", language, "", task, exactly("no_program")
        )
    expected = exactly("compile_error" if language.compile else "runtime_error")
    program = language.contract.get("invalid", GARBAGE)
    return Expectation("contract", f"{name}: an invalid program is rejected", language, program, task, expected)


def _no_trace(language: Language) -> Iterator[Expectation]:
    """Run `hello` twice in a row, and list the files that are left after each run."""
    text = "no trace: a run leaves nothing for the next"
    known = " ".join(f"-e {name}" for name in ("snippet.sh", *language.support_files()))
    shell, program = shell_program(language, LISTING.format(known=known))
    task = Task(id="no trace", tests=(Test(input="", output=""),), limits=UNHURRIED)
    for _ in range(2):
        yield _expectation(language, "no trace", CONTRACT["hello"])
        yield Expectation("contract", text, shell, program, task, exactly("accepted"))
