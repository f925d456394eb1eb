"""Trace prediction: programs of tasks, prompts of the modes, the output in a completion, and its data sets."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.trace_prediction import TracePrediction, answer_in
from agnostics.environments.trace_prompts import Mode
from agnostics.environments.traced_program import NoTruth, TracedProgram, program_of
from agnostics.plugins.manager import load_plugins
from agnostics.traces.cwm_format import Frame
from agnostics.traces.events import Trace, TraceEvent
from agnostics.traces.outputs import same_text, same_value
from agnostics.traces.prediction import read_prediction
from agnostics.traces.python import PYTHON
from agnostics.traces.runner import TracedRun
from agnostics.types.errors import UsageError
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict
from agnostics_datasets.cruxeval import CruxEval, arguments_of
from agnostics_datasets.trace_programs import PROGRAMS, TracePrograms
from hypothesis import given
from hypothesis import strategies as st
from processor_time import processor_time_limit

MODES: tuple[Mode, ...] = ("output", "reasoning", "step", "trace")
SAMPLE = {"code": "def f(n):\n    return n + 1", "input": "4", "output": "5", "id": "sample_0"}


def cruxeval(folder: Path, **fields: Any) -> Task:
    path = folder / "cruxeval.jsonl"
    path.write_text(json.dumps({**SAMPLE, **fields}) + "\n")
    (task,) = CruxEval().tasks("test", source=str(path))
    return task


# Programs


def test_a_call_is_traced_from_the_definition_of_its_function(tmp_path: Path) -> None:
    program = program_of(
        cruxeval(tmp_path, code="import re\n\ndef g(f):\n    return f\n\ndef f(n):  \n    return n"), PYTHON
    )
    assert program.context.splitlines()[5] == "def f(n):  # << START_OF_TRACE"
    assert program.context.count("START_OF_TRACE") == 1
    assert program.executable == program.context + "\nprint(repr(f(4)))\n"
    assert program.given == (Frame("call", "def f(n):\n", {"n": "4"}),)


@pytest.mark.parametrize(
    ("code", "call", "arguments"),
    [
        ("def f(a, b):\n    pass", "f([1,2], ('x' ,))", {"a": "[1, 2]", "b": "('x',)"}),
        ("def f():\n    pass", "f()", {}),
        ("def f(a):\n    pass", "f('x'.upper())", None),
        ("def f(a):\n    pass", "f(lambda x: x)", None),
        ("def f(a):\n    pass", "f({'x', 'y'})", None),
    ],
)
def test_arguments_are_given_where_they_are_literals(code: str, call: str, arguments: dict[str, str] | None) -> None:
    assert arguments_of(code, call) == arguments


@pytest.mark.parametrize(
    ("code", "call"), [("def f(a):\n  ", "f(1)"), ("def f(a):\n    pass", "f(1, 2)"), ("x", "f(1)")]
)
def test_a_call_that_is_none_of_the_function_is_an_error(tmp_path: Path, code: str, call: str) -> None:
    with pytest.raises(UsageError, match=r"cruxeval.jsonl:1: (code or )?input: "):
        cruxeval(tmp_path, code=code, input=call.removeprefix("f(").removesuffix(")"))


def test_a_task_without_a_program_or_with_one_of_another_language_is_one_clear_line(tmp_path: Path) -> None:
    plain = Task(id="a", tests=(Test(input="", output="1"),))
    with pytest.raises(UsageError, match="task 'a' has no program to predict the trace of"):
        TracePrediction().message(plain, PYTHON)
    lua = load_plugins().language("lua")
    with pytest.raises(UsageError, match="has a program in python; name it: --language python"):
        TracePrediction().message(cruxeval(tmp_path), lua)


@pytest.mark.parametrize("mode", ["all", "steps"])
def test_a_mode_that_there_is_not_is_an_error(mode: Any) -> None:
    with pytest.raises(ValueError, match="mode is one of output, reasoning, step, trace"):
        TracePrediction(mode=mode)


CALL = TraceEvent("call", 1, 0, "f", "def f(n):", {"n": "4"})
LINE = TraceEvent("line", 2, 0, "f", "    return n + 1")
RETURN = TraceEvent("return", 2, 0, "f", "    return n + 1", value="5")


def test_the_true_frames_are_those_after_the_prompts(tmp_path: Path) -> None:
    program = program_of(cruxeval(tmp_path), PYTHON)
    run = TracedRun(Verdict.ACCEPTED, trace=Trace(program.context, (CALL, LINE, RETURN)))
    expected = (Frame("line", "    return n + 1\n", {"n": ".."}), Frame("return", "    return n + 1\n", value="5"))
    assert program.frames(run, "5") == expected
    whole = program.model_copy(update={"arguments": None})
    assert whole.frames(run, "5") == (Frame("call", "def f(n):\n", {"n": "4"}), *expected)


def test_a_whole_program_ends_with_what_it_has_printed() -> None:
    program = TracedProgram(language="lua", text="print(5)\n")
    events = (TraceEvent("call", 1, 0, ""), TraceEvent("return", 1, 0, "", "print(5)"))
    run = TracedRun(Verdict.ACCEPTED, stdout=b"5\n", trace=Trace("print(5)\n", events))
    assert program.frames(run, "5\n")[-1] == Frame("return", "print(5)\n", value="5\n")


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (TracedRun(Verdict.SANDBOX_ERROR, error="no room"), "no whole trace: no room"),
        (TracedRun(Verdict.ACCEPTED, trace=Trace("", (CALL, LINE, RETURN), "events")), "no whole trace: events"),
        (TracedRun(Verdict.ACCEPTED, trace=Trace("", (CALL, LINE))), "ends in None, not in the recorded '5'"),
        (
            TracedRun(Verdict.ACCEPTED, trace=Trace("", (CALL, replace(RETURN, value="6")))),
            "ends in '6', not in the recorded '5'",
        ),
        (TracedRun(Verdict.ACCEPTED, trace=Trace("", ())), "ends in None, not in the recorded '5'"),
    ],
)
def test_a_trace_that_does_not_end_in_the_recorded_output_is_no_truth(
    tmp_path: Path, run: TracedRun, reason: str
) -> None:
    with pytest.raises(NoTruth, match=reason):
        program_of(cruxeval(tmp_path), PYTHON).frames(run, "5")


# Outputs


@pytest.mark.parametrize(
    ("predicted", "recorded", "is_same"),
    [
        ("[1,2]", "[1, 2]", True),
        ('"a"', "'a'", True),
        (" {2, 1}\n", "{1, 2}", True),
        ("{'b': 1, 'a': 2}", "{'a': 2, 'b': 1}", True),
        ("5 # five", "5", True),
        ("True", "1", True),
        ("'5'", "5", False),
        ("5 + 1", "6", False),
        ("dict()", "{}", False),
        ("print", "'print'", False),
        ("", "''", False),
        ("(" * 5000, "5", False),
        ("-" * 15_000 + "5", "5", False),
        ("9" * 19_000, "9", False),
        ("'" + "x" * 30_000, "5", False),
        ("'\\d'", "'\\\\d'", True),
        ("\0", "5", False),
        ("\ud800", "5", False),
        ("{[]: 1}", "5", False),
    ],
)
def test_literals_are_compared_as_values(predicted: str, recorded: str, is_same: bool) -> None:
    assert same_value(predicted, recorded) is is_same


@given(st.text())
def test_no_text_that_a_model_writes_is_an_error(text: str) -> None:
    assert same_value(text, "[1, 2]") in (True, False)
    for needs_tag in (True, False):
        answer_in(text, "f(4)", needs_tag=needs_tag)


@pytest.mark.parametrize("text", ["[" * 1_000_000, "-" * 1_000_000, "[ANSWER]" * 125_000, "f(4) ==" * 140_000])
def test_a_long_answer_is_read_without_taking_long(text: str) -> None:
    with processor_time_limit(10):
        assert not same_value(answer_in(text, "f(4)", needs_tag=False) or "", "5")


def test_outputs_of_programs_are_compared_by_their_lines() -> None:
    assert same_text("1 2\n3", "1 2 \n3\n")
    assert not same_text("1 2 3", "1 2\n3\n")
    assert not same_text("1  2", "1 2\n")


@pytest.mark.parametrize(
    ("text", "with_tag", "without"),
    [
        ("[ANSWER]\nassert f(4) == 5\n[/ANSWER]", "5", "5"),
        ("[THOUGHT]\n4 == 4\n[/THOUGHT]\n[ANSWER]\nassert f(4) == 5\n[/ANSWER] f(4) == 6", "5", "5"),
        ("[ANSWER]6[/ANSWER] No: [ANSWER]5", "5", "5"),
        ("[ANSWER]\n```python\nassert f(4) == 5\n```\n[/ANSWER]", "5", "5"),
        ("assert f(4) == 5", None, "5"),
        ("assert f( 4 )== '==5'", None, "'==5'"),
        ("f(4) == 5", None, "5"),
        ("f(5) == 5", None, "f(5) == 5"),
        ("```\n5\n```", None, "5"),
        ("5", None, "5"),
        ("[ANSWER][/ANSWER]", None, None),
        ("", None, None),
    ],
)
def test_the_output_is_that_of_the_last_answer(text: str, with_tag: str | None, without: str | None) -> None:
    assert answer_in(text, "f(4)", needs_tag=True) == with_tag
    assert answer_in(text, "f(4)", needs_tag=False) == without


# Prompts


@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_shows_the_task_and_never_its_output(tmp_path: Path, mode: Mode) -> None:
    task = cruxeval(tmp_path, code="def f(n):\n    return n + 7654", input="70000", output="77654")
    prompt = TracePrediction(mode=mode).message(task, PYTHON)
    assert "77654" not in prompt
    assert "return n + 7654" in prompt
    assert ("[THOUGHT]" in prompt) == (mode == "reasoning")
    assert ("<|line_sep|>{" in prompt) == (mode == "trace")
    if mode in ("step", "trace"):
        given = '<|call_sep|>{"n": "70000"}<|action_sep|>def f(n):\n<|frame_sep|>'
        assert prompt.endswith(f"7654\n<|frame_sep|>{given}\nWhat follows:")
        assert prompt.count("What follows:\n<|line_sep|>") == (2 if mode == "trace" else 0)
        assert prompt.count("What follows:\n<|return_sep|>") == (2 if mode == "step" else 0)
    else:
        assert prompt.endswith("assert f(70000) == ??\n[/PROGRAM]")


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_shows_a_programs_input(language: str, mode: Mode) -> None:
    task = next(TracePrograms().tasks("test", source=language))
    prompt = TracePrediction(mode=mode).message(task, load_plugins().language(language))
    assert f"[INPUT]\n{task.tests[0].input.rstrip()}\n[/INPUT]" in prompt
    assert task.metadata["program"]["text"].rstrip() in prompt


@pytest.mark.parametrize("language", ["python", *PROGRAMS])
def test_the_example_of_a_prompt_is_in_the_format_and_ends_in_its_output(tmp_path: Path, language: str) -> None:
    task = cruxeval(tmp_path) if language == "python" else next(TracePrograms().tasks("test", source=language))
    for example in task.metadata["program"]["examples"]:
        prediction = read_prediction(example["frames"])
        assert prediction.is_valid
        assert prediction.output == example["output"]


# The data set of our own


@pytest.mark.parametrize("language", PROGRAMS)
def test_programs_are_in_one_split_each_and_the_seed_decides_inputs_and_order(language: str) -> None:
    train, test = (list(TracePrograms().tasks(split, source=language)) for split in ("train", "test"))
    texts = [{task.metadata["program"]["text"] for task in tasks} for tasks in (train, test)]
    assert not texts[0] & texts[1]
    assert len(texts[0]) + len(texts[1]) == len(train) + len(test)
    assert (
        {task.family for task in train}
        == {task.family for task in test}
        == {family.name for family in PROGRAMS[language].families}
    )
    assert test == list(TracePrograms().tasks("test", source=language))
    other = list(TracePrograms().tasks("test", source=language, seed=1))
    assert {task.metadata["program"]["text"] for task in other} == texts[1]
    inputs = [Counter(task.tests[0].input for task in tasks) for tasks in (test, other)]
    assert inputs[0] != inputs[1]
    stated = load_plugins().dataset("trace-programs:lua")[0].size
    assert f"{len(train) + len(test)} programs of {len(PROGRAMS[language].families)} families" in stated


def test_a_language_that_the_data_set_lacks_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="needs a language: trace-programs:lua"):
        TracePrograms().tasks("test")
    with pytest.raises(UsageError, match="unknown language of trace-programs"):
        TracePrograms().tasks("test", source="cobol")
