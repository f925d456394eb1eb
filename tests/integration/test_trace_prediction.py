"""Trace prediction with real tracers: true traces have every measure, and end in the recorded outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from agnostics.environments.trace_prediction import TracePrediction
from agnostics.environments.traced_program import TracedProgram, program_of
from agnostics.plugins.manager import load_plugins
from agnostics.traces.cwm_format import END, Frame, frames_of, render_frame
from agnostics.traces.python import PYTHON, traceable
from agnostics.traces.runner import TraceRunner
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task
from agnostics_datasets.cruxeval import CruxEval
from agnostics_datasets.trace_programs import PROGRAMS, TracePrograms
from chat_server import ChatServer
from command_line import Agn
from episodes import Play

REAL = Path(__file__).parents[3] / "shared" / "data" / "cruxeval" / "cruxeval.jsonl"
FRACTIONS = (
    "valid_trace_format",
    "state_exact_match",
    "action_exact_match",
    "valid_json_format",
    "key_match",
    "key_value_match",
)
CODE = "def f(n):\n    for i in range(2):\n        n += i\n    return [n]"
Runner = Callable[[str], TraceRunner]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """The tracer of a language, one for all tests."""
    opened = dict[str, TraceRunner]()

    def of(language: str) -> TraceRunner:
        if language not in opened:
            chosen = PYTHON if language == PYTHON.name else load_plugins().language(language)
            opened[language] = TraceRunner(chosen, "bubblewrap")
        return opened[language]

    yield of
    for each in opened.values():
        each.close()


def true_frames(runner: Runner, task: Task, language: Language) -> tuple[Frame, ...]:
    """The true frames of a task. Raises NoTruth if they do not end in the recorded output."""
    program, test = program_of(task, language), task.tests[0]
    return program.frames(runner(language.name).run(program.executable, test.input), test.output)


def written(frames: tuple[Frame, ...]) -> str:
    return "".join(map(render_frame, frames)) + END


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_trace_of_every_program_of_our_own_ends_in_its_output(runner: Runner, language: str) -> None:
    chosen, lengths = load_plugins().language(language), []
    for split in ("train", "test"):
        for task in TracePrograms().tasks(split, source=language, seed=3):
            lengths.append(len(true_frames(runner, task, chosen)))
    assert max(lengths) <= 120


@pytest.mark.parametrize("language", ["python", *PROGRAMS])
def test_the_example_of_a_prompt_is_as_the_tracer_has_it(runner: Runner, tmp_path: Path, language: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "code": CODE, "input": "1", "output": "[2]"}))
    crux, ours = CruxEval().tasks("test", source=str(tmp_path / "a.jsonl")), TracePrograms()
    task = next(crux if language == "python" else ours.tasks("test", source=language))
    for example in task.metadata["program"]["examples"]:
        program = TracedProgram(language=language, text=example["text"], call=example.get("call"))
        run = runner(language).run(program.executable, example.get("input", ""))
        assert "".join(map(render_frame, program.frames(run, example["output"]))) == example["frames"]


@pytest.mark.skipif(not REAL.is_file(), reason="CruxEval is not beside this checkout (../shared/data/cruxeval)")
def test_all_800_traces_of_cruxeval_end_in_the_recorded_output(runner: Runner) -> None:
    tasks, given = list(CruxEval().tasks("test", source=str(REAL))), 0
    for task in tasks:
        program = program_of(task, PYTHON)
        run = runner("python").run(program.executable)
        frames = program.frames(run, task.tests[0].output)
        assert frames[-1].kind == "return"
        if program.given and run.trace:
            given += 1
            assert program.given == (next(frames_of(run.trace)),)
    assert (len(tasks), given) == (800, 788)


def test_a_true_trace_is_accepted_with_every_measure_and_a_wrong_one_is_not(play: Play, runner: Runner) -> None:
    task = next(TracePrograms().tasks("test", source="lua"))
    frames = true_frames(runner, task, load_plugins().language("lua"))

    def said(text: str) -> Rollout:
        (rollout,) = play(TracePrediction(), lambda _: text, task)
        return rollout

    golden = said(written(frames)).verified
    assert (golden.verdict, golden.program) == ("accepted", frames[-1].value)
    assert [golden.metrics[name] for name in FRACTIONS] == [1.0] * 6
    assert golden.metrics["state_length"] > 0
    repeated = said(program_of(task, load_plugins().language("lua")).context_text + written(frames)).verified
    assert dict(repeated.metrics) == dict(golden.metrics)
    short = said(written((*frames[:-2], frames[-1]))).verified
    assert short.accepted
    assert short.metrics["state_exact_match"] < 1.0
    wrong = said(written((*frames[:-1], replace(frames[-1], value="no")))).verified
    assert (wrong.verdict, wrong.tests[0].stdout) == ("wrong_answer", "no")
    assert {name for name in FRACTIONS if wrong.metrics[name] < 1.0} == {"state_exact_match"}
    nothing = said("I do not know.").verified
    assert (nothing.verdict, nothing.program) == ("no_program", None)
    assert nothing.metrics["action_exact_match"] == 0.0


def test_the_other_modes_ask_for_an_output_and_measure_nothing_else(play: Play) -> None:
    task = next(TracePrograms().tasks("test", source="lua"))
    output = task.tests[0].output
    replies = {
        "output": f"[ANSWER]\n{output}[/ANSWER]",
        "reasoning": f"[THOUGHT]\nEasy.\n[/THOUGHT]\n[ANSWER]\n{output}[/ANSWER]",
        "step": render_frame(Frame("return", "print(n)\n", value=output)) + END,
    }
    for mode, reply in replies.items():
        (rollout,) = play(TracePrediction(mode=mode), lambda _, reply=reply: reply, task)  # type: ignore[misc,arg-type]
        assert (rollout.verified.verdict, dict(rollout.verified.metrics)) == ("accepted", {}), mode


def test_a_task_whose_program_does_not_end_in_its_output_says_nothing_about_the_policy(play: Play) -> None:
    task = next(TracePrograms().tasks("test", source="lua"))
    program = {**task.metadata["program"], "text": "error('no')"}
    (rollout,) = play(TracePrediction(), lambda _: END, task.model_copy(update={"metadata": {"program": program}}))
    assert rollout.verified.verdict == "sandbox_error"
    assert "not in the recorded" in (rollout.verified.error or "")


def test_an_evaluation_reports_the_measures_with_intervals(
    agn: Agn, tmp_path: Path, chat_server: Callable[[Callable[[str], str]], ChatServer], runner: Runner
) -> None:
    records = [{"id": f"sample_{n}", "code": CODE, "input": str(n), "output": f"[{n + 1}]"} for n in range(3)]
    (path := tmp_path / "cruxeval.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    tasks = list(CruxEval().tasks("test", source=str(path)))
    true = {program_of(task, PYTHON).text: written(true_frames(runner, task, PYTHON)) for task in tasks[:1]}
    server = chat_server(lambda asked: next(reply for text, reply in true.items() if text.split("\n")[1] in asked))
    evaluate = partial(agn, "eval", "--store", str(tmp_path / "results.db"), "--sandbox", "bubblewrap")
    settings = ("--endpoint", server.url, "--model", "m", "--environment", "trace-prediction", "--samples", "1")
    answer = evaluate("--language", "python", "--dataset", f"cruxeval:{path}", *settings, "--json")
    assert answer.returncode == 0, answer.stderr
    report = answer.json["evaluations"][0]
    assert report["rates"]["pass@1"]["rate"] == pytest.approx(1 / 3)
    metrics = report["metrics"]
    assert {metrics[name]["rate"] for name in ("valid_trace_format", "action_exact_match", "key_match")} == {1.0}
    assert metrics["valid_trace_format"]["low"] < 1.0
    assert metrics["key_value_match"]["low"] < metrics["key_value_match"]["rate"] < 1.0
    assert metrics["action_length"]["tasks"] == 3
    shown = agn("results", "query", "--store", str(tmp_path / "results.db"), _QUERY)
    assert "state_exact_match" in shown.stdout


_QUERY = "select name, avg(value) from completion_metrics group by name"


def test_python_is_traced_whichever_language_of_this_name_is_chosen() -> None:
    other = load_plugins().language("python")
    assert other.trace is None
    assert traceable(other) is PYTHON
    assert traceable(load_plugins().language("lua")).name == "lua"
