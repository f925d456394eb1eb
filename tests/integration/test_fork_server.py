"""A program has the same verdict whether its interpreter is forked or executed, and the same outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.job_codec import job_for
from agnostics.sandbox.protocol import JobResult
from agnostics.testing.contract import contract_expectations
from agnostics.types.errors import UsageError
from agnostics.types.language import ForkServer, Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verdict
from agnostics.verify import Verifier
from agnostics_datasets.starter import FAMILIES, Starter

PYTHON = Language(
    name="python",
    prompt="Use Python.",
    filename="snippet.py",
    execute="/usr/bin/python3 snippet.py",
    fork_server=ForkServer(),
)
INPUTS = ("3 4\nline\n", "", "\xff\n" * 3)
HARNESS = Path(__file__).parents[1] / "harness"
AMPLE, ROOMY = LimitOverrides(run_s=20, memory_mb=512), LimitOverrides(run_s=20, memory_mb=1024)


def _looks(file: str) -> dict[str, str]:
    """The programs in `file` by name: each begins after a line `#: NAME`, and has no last newline."""
    parts = re.split(r"^#: (.+)\n", (HARNESS / file).read_text(), flags=re.MULTILINE)
    return {name: text.removesuffix("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


R_LOOKS, JULIA_LOOKS, PYTHON_LOOKS = _looks("looks.R"), _looks("looks.jl"), _looks("looks.python")


class Pair:
    """A verifier with a slot whose interpreter is forked, and one whose interpreter is executed."""

    def __init__(self, verifier: Verifier, language: Language) -> None:
        self.forked = language
        self.executed = language.model_copy(update={"fork_server": None})
        self._pool: Any = verifier._pool

    def run(self, program: str, task: Task) -> tuple[JobResult, JobResult]:
        forked, executed = (
            self._pool.submit(language, job_for(language, program, task, stop_on_failure=False))
            for language in (self.forked, self.executed)
        )
        return forked.result(), executed.result()


@pytest.fixture(scope="module")
def pairs(mode: str) -> Iterator[dict[str, Pair]]:
    with Verifier(mode, 2) as verifier:
        plugins = load_plugins()
        languages = plugins.language("r"), plugins.language("julia"), PYTHON
        yield {language.name: Pair(verifier, language) for language in languages}


def _seen(result: JobResult) -> list[tuple[object, ...]]:
    assert (result.error, result.fork_refusal) == (None, "")
    ends = [(run.exit_code, run.signal) if run.verdict != "memory_limit" else () for run in result.tests]
    return [(run.verdict.value, end, run.stdout, run.stderr) for run, end in zip(result.tests, ends, strict=True)]


def _compare(pair: Pair, program: str, *inputs: str, limits: LimitOverrides = AMPLE) -> None:
    tests = tuple(Test(input=one, output="") for one in inputs)
    forked, executed = pair.run(program, Task(id="looks", tests=tests, limits=limits))
    assert _seen(forked) == _seen(executed)


@pytest.mark.parametrize("name", R_LOOKS)
def test_an_r_program_that_looks_around_sees_the_same(name: str, pairs: dict[str, Pair]) -> None:
    _compare(pairs["r"], R_LOOKS[name], *INPUTS[:2])


@pytest.mark.parametrize("name", JULIA_LOOKS)
def test_a_julia_program_that_looks_around_sees_the_same(name: str, mode: str, pairs: dict[str, Pair]) -> None:
    if mode == "bubblewrap":
        pytest.skip("Debian 12 has no Julia")
    _compare(pairs["julia"], JULIA_LOOKS[name], INPUTS[0], limits=ROOMY)


@pytest.mark.parametrize("name", PYTHON_LOOKS)
def test_a_python_program_that_looks_around_sees_the_same(name: str, mode: str, pairs: dict[str, Pair]) -> None:
    if mode == "docker":
        pytest.skip("no image has Python")
    _compare(pairs["python"], PYTHON_LOOKS[name], *INPUTS)


@pytest.mark.parametrize("name", ["r", "julia"])
def test_contract_programs_have_the_same_verdicts(name: str, mode: str, pairs: dict[str, Pair]) -> None:
    if (name, mode) == ("julia", "bubblewrap"):
        pytest.skip("Debian 12 has no Julia")
    for expectation in contract_expectations(pairs[name].forked):
        if expectation.program is None or Verdict.NO_PROGRAM in expectation.expected:  # no sandbox sees it
            continue
        if expectation.language.execute != pairs[name].forked.execute:
            continue
        forked, executed = pairs[name].run(expectation.program, expectation.task)
        verdicts = [[test.verdict for test in result.tests] for result in (forked, executed)]
        assert verdicts[0] == verdicts[1], expectation
        assert set(verdicts[0]) & expectation.expected, expectation


@pytest.mark.slow
def test_reference_programs_and_wrong_ones_have_the_same_verdicts(pairs: dict[str, Pair]) -> None:
    tasks = {task.family: task for task in islice(Starter().tasks("test"), 2 * len(FAMILIES))}
    for task in list(tasks.values())[::3]:
        program = pairs["r"].forked.reference_for(task)
        assert program is not None
        one = task.model_copy(update={"tests": task.tests[:1], "limits": AMPLE})
        for text in (program, f"{program}\ncat(1)\n"):
            forked, executed = pairs["r"].run(text, one)
            assert _seen(forked) == _seen(executed)


@pytest.mark.parametrize(("name", "program"), [("r", "cat(runif(2), sample(1e9, 1))"), ("julia", "print(rand(3))")])
def test_random_numbers_without_a_seed_differ_from_test_to_test(
    name: str, program: str, mode: str, pairs: dict[str, Pair]
) -> None:
    if (name, mode) == ("julia", "bubblewrap"):
        pytest.skip("Debian 12 has no Julia")
    task = Task(id="random", tests=(Test(input="", output=""),) * 4, limits=ROOMY)
    forked, _ = pairs[name].run(program, task)
    assert len({run.stdout for run in forked.tests}) == 4


def test_a_language_that_compiles_cannot_ask_for_it() -> None:
    with pytest.raises((UsageError, ValueError), match="leave out compile"):
        Language(name="c", prompt="", filename="a.c", compile="cc a.c", execute="./a.out", fork_server=ForkServer())
