"""The programs for EsoLang-Bench: the verifier accepts them on every problem, and rejects the wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Comparison, Task, Test
from agnostics.verify import Verifier
from agnostics_benchmarks.esolang_programs import program_for, task_ids, wrong_program_for
from agnostics_benchmarks.esolang_programs.assembler import assemble
from agnostics_benchmarks.esolang_programs.compiler import compile_program
from agnostics_datasets.esolang_bench import EsolangBench
from agnostics_datasets.esolang_references import REFERENCES
from esolang import run

REAL = Path(__file__).parents[3] / "shared" / "data" / "esolang_bench" / "esolang_benchmark.json"
SEEDS = (1, 2, 3)
MOST_STEPS = 100_000


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 2) as made:
        yield made


@pytest.fixture(scope="module")
def whitespace() -> Language:
    return load_plugins().language("whitespace")


def drawn(name: str, seed: int) -> Task:
    """A task with the id of a problem, and six tests of the reference solution."""
    reference = REFERENCES[name]
    blank = [Test(input="", output=reference.output("") if not reference.draws else "")] * 6
    tests = reference.fresh_tests(blank, Random(f"{seed}/{name}"))
    return Task(id=name, tests=tests, compare=Comparison(mode="lines"))


def with_newline(test: Test) -> Test:
    return test.model_copy(update={"input": f"{test.input}\n"})


def verdicts(verifier: Verifier, language: Language, programs: list[tuple[str, Task]]) -> dict[str, set[str]]:
    """The verdicts on each task's programs, by its id."""
    futures = [(task.id, verifier.submit(language, program, task)) for program, task in programs]
    results = dict[str, set[str]]()
    for name, future in futures:
        results.setdefault(name, set()).add(future.result(timeout=300).verdict)
    return results


def test_there_is_a_program_for_every_problem() -> None:
    assert task_ids() == sorted(REFERENCES)


def test_every_program_is_accepted_on_fresh_tests_and_its_wrong_variant_is_not(
    verifier: Verifier, whitespace: Language
) -> None:
    tasks = [drawn(name, seed) for name in REFERENCES for seed in SEEDS]
    right = verdicts(verifier, whitespace, [(program_for(task.id), task) for task in tasks])
    wrong = verdicts(verifier, whitespace, [(wrong_program_for(task.id), task) for task in tasks])
    assert right == {name: {"accepted"} for name in REFERENCES}
    assert wrong == {name: {"wrong_answer"} for name in REFERENCES}


@pytest.mark.skipif(not REAL.is_file(), reason="EsoLang-Bench is not beside this checkout (../shared/data)")
def test_every_program_is_accepted_on_the_published_tests_and_on_resealed_ones(
    verifier: Verifier, whitespace: Language
) -> None:
    dataset = EsolangBench()
    published = list(dataset.tasks("test", source=str(REAL)))
    tasks = [*published, *(dataset.reseal(task, seed) for task in published for seed in SEEDS)]
    results = verdicts(verifier, whitespace, [(program_for(task.id), task) for task in tasks])
    assert results == {name: {"accepted"} for name in REFERENCES}


def test_every_program_is_accepted_on_inputs_that_end_with_a_newline(verifier: Verifier, whitespace: Language) -> None:
    tasks = [drawn(name, 1) for name in REFERENCES]
    ended = [task.model_copy(update={"tests": tuple(map(with_newline, task.tests))}) for task in tasks]
    results = verdicts(verifier, whitespace, [(program_for(task.id), task) for task in ended])
    assert results == {name: {"accepted"} for name in REFERENCES}


def test_the_programs_take_few_steps() -> None:
    for name in REFERENCES:
        given = drawn(name, 1).tests[-1].input
        assert run("whitespace", program_for(name), given, steps=MOST_STEPS).returncode == 0, name


@pytest.mark.parametrize(
    ("source", "given", "output"),
    [
        ("print_number(-7 // 2)\nprint_number(-7 % 3)", "", "-32"),
        ("print_number(1 < 2 and 3 <= 3)\nprint_number(not 2 > 1 or 1 >= 2)", "", "10"),
        ("a = 5\na -= 2\nmemory[a] = 4\nmemory[a] *= a\nprint_number(memory[3])", "", "12"),
        ("for i in range(2, 5):\n    print_number(i)\nprint_number(i)", "", "2345"),
        ("n = 2\nfor i in range(n):\n    n += 1\nprint_number(n)", "", "4"),
        ("def f(a, b):\n    a -= b\n    return a\n\n\na = 9\nprint_number(f(a, f(5, 3)) * a)", "", "63"),
        ("def f():\n    print_text('ab')\n\n\nprint_number(f())", "", "ab0"),
        (
            "print_number(read_character())\nprint_number(read_number())\nprint_number(read_character())",
            "a 12",
            "9712-1",
        ),
    ],
)
def test_the_compiler_keeps_what_the_language_says(source: str, given: str, output: str) -> None:
    done = run("whitespace", assemble(compile_program(source)), given)
    assert (done.stdout.decode(), done.returncode) == (output, 0)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("a = 1\nimport os", "line 2: no statement of this language: import os"),
        ("print_number(a)", "line 1: no value of this language: a"),
        ("print_number('ab')", "line 1: no value of this language: 'ab'"),
        ("f(1)", r"line 1: no call of this language: f\(1\)"),
        ("def f(a):\n    return a\n\n\nf()", r"line 5: no call of this language: f\(\)"),
        ("a = print_number(1)", "line 1: a call without a value"),
        ("return 1", "line 1: no statement"),
        ("def f():\n    return g()\n\n\ndef g():\n    return f()\n\n\nf()", "a recursive function"),
    ],
)
def test_what_the_language_does_not_have_is_refused_with_its_line(source: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        compile_program(source)


def test_an_unknown_problem_and_an_unknown_language_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown problem 'E21'"):
        program_for("E21")
    with pytest.raises(UsageError, match="unknown language of the programs 'brainfuck'"):
        program_for("E04", "brainfuck")
