"""Comparison of outputs as bytes: correct outputs, and outputs that only look correct."""

from __future__ import annotations

from typing import Any

import pytest
from agnostics.sandbox.job_codec import CheckerInput, checker_job
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Checker, Comparison, LimitOverrides, Task, Test
from agnostics.verify import Verifier

ECHO = "io.write(io.read('*a'))"
RIGHT = [
    ("tokens", "1 2\n3", " 1\t2\r\n\n3\n\n"),
    ("tokens", "", " \n"),
    ("tokens", "a\x0bb\x0cc", "a b c"),
    ("lines", "a b\n\nc", "a b  \n\nc\t\n\n\n"),
    ("lines", "", "\n\n"),
    ("exact", "a\n", "a\n"),
    ("floats", "0.5", "0.5000004"),
    ("floats", "1e3 2.0", "1000 2"),
    ("floats", "nan inf -inf", "NaN Infinity -inf"),
    ("floats", "1000000.0", "1000000.9"),
    ("floats", "x 7 3.0", "x 7 3.0000000001"),
]
WRONG = [
    ("tokens", "1 2 3", "1 2"),
    ("tokens", "1 2", "1 2 3"),
    ("tokens", "1", "1.0"),
    ("tokens", "a\xa0b", "a b"),
    ("tokens", "1", ""),
    ("tokens", "ab", "a b"),
    ("lines", "a b", "a  b"),
    ("lines", "a\nb", "a\n\nb"),
    ("lines", "a", " a"),
    ("lines", "a", "a\n\nb"),
    ("exact", "a\n", "a"),
    ("exact", "a", "a\n"),
    ("floats", "1000000", "1000001"),
    ("floats", "1", "1.0000001"),
    ("floats", "0.5", "nan"),
    ("floats", "nan", "0.5"),
    ("floats", "inf", "-inf"),
    ("floats", "0.5", "0.50001"),
    ("floats", "0.5", "0.5x"),
    ("floats", "16.0", "0x10"),
    ("floats", "1.0 2.0", "1.0"),
    ("floats", "1e400", "5"),
]


@pytest.fixture
def lua(languages: dict[str, Language]) -> Language:
    return languages["lua"]


def verdict(verifier: Verifier, lua: Language, mode: Any, expected: str, actual: str) -> str:
    task = Task(id="t", tests=(Test(input=actual, output=expected),), compare=Comparison(mode=mode))
    return verifier.verify(lua, ECHO, task).verdict


@pytest.mark.parametrize(("mode_of_comparison", "expected", "actual"), RIGHT)
def test_correct_outputs_are_accepted(
    verifier: Verifier, lua: Language, mode_of_comparison: str, expected: str, actual: str
) -> None:
    assert verdict(verifier, lua, mode_of_comparison, expected, actual) == "accepted"


@pytest.mark.parametrize(("mode_of_comparison", "expected", "actual"), WRONG)
def test_outputs_that_only_look_correct_are_not(
    verifier: Verifier, lua: Language, mode_of_comparison: str, expected: str, actual: str
) -> None:
    assert verdict(verifier, lua, mode_of_comparison, expected, actual) == "wrong_answer"


def test_tolerances_are_the_tasks(verifier: Verifier, lua: Language) -> None:
    compare = Comparison(mode="floats", absolute=0.1, relative=0.0)
    tests = (Test(input="100.05", output="100.0"), Test(input="100.2", output="100.0"))
    result = verifier.verify(lua, ECHO, Task(id="t", tests=tests, compare=compare), stop_on_failure=False)
    assert [t.verdict for t in result.tests] == ["accepted", "wrong_answer"]


def test_outputs_that_are_not_utf8_or_hold_nul_are_compared_as_bytes(verifier: Verifier, lua: Language) -> None:
    raw = "\udcff\udc00a\0b"
    task = Task(id="t", tests=(Test(input=raw, output=raw), Test(input=raw, output="\udcfe\udc00a\0b")))
    result = verifier.verify(lua, ECHO, task, stop_on_failure=False)
    assert [t.verdict for t in result.tests] == ["accepted", "wrong_answer"]


CHECK_SORTED = """
local function numbers(path)
  local t = {} for n in io.open(path):read('*a'):gmatch('%S+') do t[#t + 1] = tonumber(n) end return t
end
local given, got = numbers(arg[1]), numbers(arg[2])
if #given ~= #got then os.exit(1) end
for i = 2, #got do if got[i] < got[i - 1] then os.exit(1) end end
if numbers(arg[3])[1] ~= #given then os.exit(7) end
"""
SORT = "local t = {} for n in io.read('*a'):gmatch('%S+') do t[#t+1] = tonumber(n) end table.sort(t) "


def checked(checker: str, *tests: tuple[str, str]) -> Task:
    compare = Comparison(mode="checker", checker=Checker(language="lua", program=checker))
    return Task(id="t", tests=tuple(Test(input=i, output=o) for i, o in tests), compare=compare)


def test_a_checker_decides_each_test(verifier: Verifier, lua: Language) -> None:
    task = checked(CHECK_SORTED, ("3 1 2", "3"), ("2 1", "2"))
    assert verifier.verify(lua, SORT + "print(table.concat(t, ' '))", task).verdict == "accepted"
    result = verifier.verify(lua, "io.write(io.read('*a'))", task)
    assert [t.verdict for t in result.tests] == ["wrong_answer", "skipped"]


@pytest.mark.parametrize("batch_bytes", [1, 8, 1 << 20])
def test_a_checker_checks_every_successful_run_whatever_its_batch_size(
    verifier: Verifier, lua: Language, batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.verify.CHECKER_BATCH_BYTES", batch_bytes)
    task = checked(CHECK_SORTED, ("3 1 2", "3"), ("crash", "0"), ("1 2", "2"), ("2 1", "2"), ("1", "9"))
    program = "local s = io.read('*a') if s == 'crash' then error() end io.write(s == '3 1 2' and '1 2 3' or s)"
    every = verifier.verify(lua, program, task, stop_on_failure=False)
    assert [t.verdict for t in every.tests] == [
        "accepted",
        "runtime_error",
        "accepted",
        "wrong_answer",
        "sandbox_error",
    ]
    assert every.tests[0].stdout == "1 2 3"
    stopped = verifier.verify(lua, program, task)
    assert [t.verdict for t in stopped.tests] == ["accepted", "runtime_error", *["skipped"] * 3]


def test_a_checker_is_compiled_once_for_all_outputs() -> None:
    language = Language(name="c", prompt="", filename="c.c", compile="cc -o c c.c", execute="./c")
    outputs = [CheckerInput(b"in", b"out", b"expected")] * 3
    job = checker_job(language, Checker(language="c", program=""), outputs, stop_on_failure=True)
    assert (job.compile, len(job.tests)) == (["cc", "-o", "c", "c.c"], 3)


def test_a_checker_that_fails_is_the_sandboxs_fault_and_says_so(verifier: Verifier, lua: Language) -> None:
    result = verifier.verify(lua, SORT + "print(table.concat(t, ' '))", checked(CHECK_SORTED, ("1", "9")))
    assert result.verdict == "sandbox_error"
    assert result.error
    assert "exit 7" in result.error


def test_a_program_that_crashes_never_reaches_the_checker(verifier: Verifier, lua: Language) -> None:
    assert verifier.verify(lua, "error('x')", checked("os.exit(0)", ("1", "1"))).verdict == "runtime_error"


def test_outputs_that_wait_for_a_checker_take_none_of_the_programs_memory(verifier: Verifier, lua: Language) -> None:
    task = checked("os.exit(0)", *[("", "")] * 30)
    task = task.model_copy(update={"limits": LimitOverrides(memory_mb=64)})
    assert verifier.verify(lua, "io.write(('x'):rep(4900000))", task).verdict == "accepted"


def test_a_checker_in_an_unknown_language_is_refused_by_name(verifier: Verifier, lua: Language) -> None:
    compare = Comparison(mode="checker", checker=Checker(language="luaa", program="x"))
    with pytest.raises(UsageError, match="did you mean 'lua'"):
        verifier.submit(lua, "print(1)", Task(id="t", tests=(Test(input="", output=""),), compare=compare))
