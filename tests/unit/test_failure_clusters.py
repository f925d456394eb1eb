"""Failures with equivalent messages are one cluster, in every language; solved fractions are unbiased."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from agnostics import cli
from agnostics.analysis.failure_clusters import cluster_failures
from agnostics.analysis.solved_fractions import solved_fractions
from agnostics.store import CompletionRecord, Store
from agnostics.store.queries.tasks import SampleCounts
from agnostics.types.failed_program import FailedProgram
from agnostics.types.language import Language
from agnostics.types.verification import CompileResult, TestResult, Verdict
from msgspec.structs import replace

COMPILE, RUN, WRONG = Verdict.COMPILE_ERROR, Verdict.RUNTIME_ERROR, Verdict.WRONG_ANSWER
Make = Callable[..., CompletionRecord]


def _templates(*programs: tuple[str, str]) -> list[tuple[str, int]]:
    """The message templates and sizes of the clusters of programs, each given with its message."""
    failures = [FailedProgram(text, RUN, message) for text, message in programs]
    return [(cluster.message, cluster.programs) for cluster in cluster_failures(failures)]


SAME = {
    "lua": (
        [
            ("local n\nfor i = 1, m do end", "luajit: snippet.lua:2: attempt to index global 'm' (a nil value)"),
            ("print(total.x)", "luajit: /tmp/a1/snippet.lua:17: attempt to index global 'total' (a nil value)\nstack"),
        ],
        "luajit: snippet.lua:…: attempt to index global '…' (a nil value)",
    ),
    "fortran": (
        [
            (
                "total = n",
                "snippet.f90:5:7:\n\n 5 |\n   | 1\nError: Symbol \u2018total\u2019 at (1) has no IMPLICIT type",
            ),
            ("m = 1", "snippet.f90:9:1:\n\n 9 |\n   | 1\nError: Symbol \u2018m\u2019 at (1) has no IMPLICIT type"),
        ],
        "Error: Symbol \u2018…\u2019 at (…) has no IMPLICIT type",
    ),
    "ocaml": (
        [
            (
                "print_int total",
                'File "./snippet.ml", line 1, characters 4-9:\n1 | x\n    ^\nError: Unbound value total',
            ),
            ("print_int n2", 'File "./snippet.ml", line 12, characters 1-2:\n12 | x\n    ^\nError: Unbound value n2'),
        ],
        "Error: Unbound value …",
    ),
    "r": (
        [
            ("f(y) + 1", "Error in f(y) : \n  non-numeric argument to binary operator\nCalls: print"),
            ("x + 2", "Error in x + 2 : non-numeric argument to binary operator"),
        ],
        "Error in … : non-numeric argument to binary operator",
    ),
    "julia": (
        [
            ("println(t1)", "ERROR: LoadError: UndefVarError: `t1` not defined in `Main`\nStacktrace:\n [1]"),
            ("println(a)", "ERROR: LoadError: UndefVarError: `a` not defined in `Main`\nStacktrace:\n [1]"),
        ],
        "ERROR: LoadError: UndefVarError: `…` not defined in `Main`",
    ),
}


@pytest.mark.parametrize("language", SAME)
def test_names_places_and_numbers_do_not_count(language: str) -> None:
    programs, template = SAME[language]
    assert _templates(*programs) == [(template, 2)]


def test_words_of_the_compiler_keep_messages_apart_even_if_a_program_has_the_same_words() -> None:
    assert _templates(("value = 1", "Error: Unbound value value"), ("x = 1", "Error: Unbound value x")) == [
        ("Error: Unbound value value", 1),
        ("Error: Unbound value …", 1),
    ]
    expected = [("if x then", "'end' expected near '<eof>'"), ("f(x = 1)", "')' expected near '='")]
    assert _templates(*expected, expected[0]) == [("'end' expected near '<eof>'", 2), ("')' expected near '='", 1)]
    assert _templates(("a", "at 0x7ffe12 near 'say \"hi\" there'"), ("a", "at 0x12 near 'b c'")) == [
        ("at … near '…'", 2)
    ]


def test_verdicts_without_a_message_are_clusters_of_their_own_and_the_commonest_comes_first() -> None:
    failures = [FailedProgram("a", COMPILE, "Error: x"), FailedProgram("b", RUN, "Error: x")]
    failures += [FailedProgram("c", WRONG, number) for number in "123"]
    found = cluster_failures(failures)
    assert [(one.verdict, one.message, one.programs) for one in found] == [
        (WRONG, "", 3),
        (COMPILE, "Error: x", 1),
        (RUN, "Error: x", 1),
    ]
    assert found[0].example is failures[2]
    assert cluster_failures([]) == []


def test_the_solved_fraction_is_that_of_all_choices_of_n_attempts() -> None:
    tasks = [SampleCounts(5, 2), SampleCounts(4, 0), SampleCounts(8, 1), SampleCounts(2, 2)]
    found = {one.attempts: one for one in solved_fractions(tasks)}
    assert [(n, one.tasks) for n, one in found.items()] == [(1, 4), (2, 4), (4, 3), (8, 1)]
    for n, one in found.items():
        chances = []
        for task in (task for task in tasks if task.programs >= n):
            outcomes = [place < task.accepted for place in range(task.programs)]
            chances.append(fmean(any(chosen) for chosen in combinations(outcomes, n)))
        assert one.fraction == pytest.approx(fmean(chances))
        assert one.low <= one.fraction <= one.high
    assert solved_fractions([]) == []


# The commands


def _failed(record: Make, verdict: Verdict, sample: int, message: str, **options: object) -> CompletionRecord:
    made = record(verdict, sample=sample, program=f"print(x{sample})", **options)
    if verdict is COMPILE:
        said = CompileResult(False, 1.0, 1.0, 1.0, 1, None, message)
        return replace(made, verification=replace(made.verification, tests=(), compile=said))
    failed = TestResult(verdict, 1.0, 1.0, 1.0, 1, None, "", message)
    tests = (TestResult(Verdict.ACCEPTED), failed)
    return replace(made, verification=replace(made.verification, tests=tests))


@pytest.fixture
def filled(database: str, lua: Language, record: Make) -> str:
    """A database with a training run: three programs of one kind, one of another, and steps of a task."""
    with Store.open(database) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            for sample in range(3):
                recorder.completion(_failed(record, RUN, sample, f"snippet.lua:{sample}: attempt to call 'x{sample}'"))
            recorder.completion(_failed(record, COMPILE, 3, "\x1b[31mError: [bold]no end"))
            recorder.completion(record(Verdict.ACCEPTED, step=2, sample=0, program="print(1)"))
            recorder.completion(record(Verdict.ACCEPTED, step=3, sample=0, program="print(1)"))
            recorder.completion(record(Verdict.SANDBOX_ERROR, step=2, sample=1, program="print(1)"))
        store.finish_run(run, "finished", {})
    return database


def test_a_runs_failures_are_told_in_clusters_with_an_example(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.call(["results", "failures", "last", "--store", filled, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["language"], one["verdict"], one["message"], one["programs"]) for one in found] == [
        ("lua", "runtime_error", "snippet.lua:…: attempt to call '…'", 3),
        ("lua", "compile_error", "\x1b[…mError: [bold]no end", 1),
    ]
    first = {"message": "snippet.lua:0: attempt to call 'x0'", "program": "print(x0)"}
    assert found[0]["example"] == first
    assert cli.call(["results", "--store", filled, "failures", "last", "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("lua: 4 failed programs, 2 clusters\n")
    assert "0.75   runtime_error  snippet.lua:…: attempt to call '…'" in shown
    assert "\x1b" not in shown
    assert "[bold]" not in shown


def test_a_runs_first_steps_say_what_rejection_sampling_would_solve(
    filled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def solved(*options: str) -> list[tuple[int, int, float]]:
        assert cli.call(["results", "solved", "last", "--store", filled, "--json", *options]) == 0
        return [(one["attempts"], one["tasks"], one["fraction"]) for one in json.loads(capsys.readouterr().out)]

    assert solved("--steps", "1") == [(1, 1, 0.0), (2, 1, 0.0), (4, 1, 0.0)]
    assert solved("--steps", "2") == [(1, 1, pytest.approx(1 / 5)), (2, 1, pytest.approx(2 / 5)), (4, 1, 0.8)]
    assert solved()[0] == (1, 1, pytest.approx(2 / 6))
    assert cli.call(["results", "solved", "last", "--store", filled]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["attempts", "tasks", "solved", "95", "%"]


def test_a_run_that_judged_nothing_is_refused_in_one_line(
    tmp_path: Path, lua: Language, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    with Store.open(url) as store:
        store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
    assert cli.call(["results", "solved", "last", "--store", url]) == 2
    assert "has no verified program yet" in capsys.readouterr().err
