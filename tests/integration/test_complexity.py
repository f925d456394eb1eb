"""Termination and complexity, with planted programs in a real sandbox and a policy behind a real endpoint."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agnostics import cli
from agnostics.complexity import Measurement, MeasurementLimits, measure
from agnostics.environments.complexity import ComplexityGeneration, ComplexityPrediction, sizes_themselves
from agnostics.environments.termination import Termination
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Comparison, LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier
from agnostics_datasets.planted.complexity_programs import TEMPLATES
from agnostics_datasets.planted.datasets import program_of_template
from chat_server import ChatServer
from episodes import Play, lua_answer

LANGUAGES = ("lua", "python", "ocaml", "fortran")
ENDS = "local n = io.read('*n')\nwhile n > 0 do n = n - 2 end"
DIVERGES = "local n = io.read('*n')\nwhile n ~= 0 do n = n - 2 end"
FLOODS = "while true do print('more') end"


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    """A verifier for programs in any language, one at a time."""
    with Verifier("bubblewrap", 1) as opened:
        yield opened


@pytest.fixture(scope="module")
def installed() -> dict[str, Language]:
    """The languages of all plugins."""
    return load_plugins().languages()


def _question(program: str, label: str) -> Task:
    return Task(
        id="question",
        tests=(Test(input="", output=label),),
        limits=LimitOverrides(run_s=0.3),
        metadata={"program": program, "language": "lua"},
    )


@pytest.mark.parametrize(
    ("program", "label", "said", "verdict"),
    [
        (ENDS, "T", "#T", "accepted"),
        (ENDS, "NT", "#T", "wrong_answer"),
        (DIVERGES, "NT", "```\n7\n```\n#NT", "accepted"),
        (DIVERGES, "NT", "```\n8\n```\n#NT", "wrong_answer"),
        (DIVERGES, "NT", "#NT", "no_program"),
        (DIVERGES, "NT", "It does not.", "no_program"),
        (DIVERGES, "T", "```\n7\n```\n#NT", "wrong_answer"),
        (FLOODS, "NT", "```\n7\n```\n#NT", "wrong_answer"),
    ],
    ids=["T", "wrong T", "NT", "an input that ends", "no input", "no claim", "the label is T", "another limit"],
)
def test_a_claim_of_divergence_counts_if_the_label_and_the_time_limit_agree(
    play: Play, program: str, label: str, said: str, verdict: str
) -> None:
    (rollout,) = play(Termination(), lambda _: said, _question(program, label))
    assert rollout.verified.verdict == verdict
    (asked,) = play.server.conversations[-1]  # type: ignore[attr-defined]
    assert program in asked["content"]
    assert "NT" not in asked["content"].replace("#NT", "")


def test_every_planted_program_ends_or_runs_on_as_its_label_says(
    verifier: Verifier, installed: dict[str, Language]
) -> None:
    dataset = load_plugins().datasets()["planted-termination"]
    for language in LANGUAGES:
        for task in list(dataset.tasks("validation", source=language))[:16]:
            ends = task.tests[0].output == "T"
            inputs = [task.tests[0].input, *(["-5\n", "0\n", "50000\n"] if ends else [])]
            run_s = 0.4 if ends else 0.2
            verification = _run(verifier, installed[language], task.metadata["program"], inputs, run_s)
            assert verification.verdict == ("accepted" if ends else "time_limit"), task.id


def test_a_planted_program_prints_the_same_in_every_language(
    verifier: Verifier, installed: dict[str, Language]
) -> None:
    for template in TEMPLATES:
        printed = set[tuple[str, ...]]()
        for language in ("lua", "ocaml", "fortran"):
            program = program_of_template(language, template, random.Random(7))
            verification = _run(verifier, installed[language], program, ["1\n", "6\n", "13\n"], 5.0)
            assert verification.accepted, (template, language, verification.compile)
            printed.add(tuple(test.stdout.strip() for test in verification.tests))
        assert len(printed) == 1, template


def _run(verifier: Verifier, language: Language, program: str, inputs: list[str], run_s: float) -> Verification:
    tests = tuple(Test(input=text, output="") for text in inputs)
    limits = LimitOverrides(run_s=run_s)
    return verifier.verify(
        language, program, Task(id="planted", tests=tests, compare=Comparison(mode="nothing"), limits=limits)
    )


def _measured(verifier: Verifier, language: Language, program: str) -> Measurement:
    async def run(task: Task) -> Verification:
        return await asyncio.wrap_future(verifier.submit(language, program, task))

    return asyncio.run(measure(run, sizes_themselves, MeasurementLimits(run_s=0.1)))


@pytest.mark.slow
@pytest.mark.parametrize("template", ["remainder", "list", "triangle", "subsets"])
def test_the_class_of_a_planted_program_is_named(
    verifier: Verifier, installed: dict[str, Language], template: str
) -> None:
    program = program_of_template("lua", template, random.Random(1))
    measured = _measured(verifier, installed["lua"], program)
    assert measured.time.klass == TEMPLATES[template].time, measured
    assert measured.space.klass == TEMPLATES[template].space, measured


def test_a_program_that_does_not_compile_has_no_class(verifier: Verifier, installed: dict[str, Language]) -> None:
    measured = _measured(verifier, installed["ocaml"], "let x =")
    assert (measured.time.klass, measured.space.klass) == (None, None)


def test_a_named_class_is_compared_with_the_gold_one(play: Play) -> None:
    task = next(iter(load_plugins().datasets()["planted-complexity"].tasks("test")))
    assert task.tests[0].output == "O(1)"
    (right,) = play(ComplexityPrediction(), lambda _: "Not O(n): it is $O(1)$.", task)
    (wrong,) = play(ComplexityPrediction(), lambda _: "O(n)", task)
    (none,) = play(ComplexityPrediction(), lambda _: "It is constant.", task)
    assert [one.verified.verdict for one in (right, wrong, none)] == ["accepted", "wrong_answer", "no_program"]
    assert right.verified.program == "O(1)"


SQUARE = """local n = io.read("*n")
local s = 0
for i = 1, n do for j = 1, n do s = (s + i * j) % 1000003 end end
print(n)"""
LINEAR = """local n = io.read("*n")
local s = 0
for i = 1, n do s = (s * 31 + i) % 1000003 end
print(n)"""


def _within(klass: str, **more: object) -> Task:
    tests = tuple(Test(input=f"{n}\n", output=str(n)) for n in (1, 5, 9))
    return Task(id="copy", statement="Print n.", tests=tests, metadata={"within": klass, **more})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "within", "verdict"),
    [
        (LINEAR, "O(n)", "accepted"),
        (LINEAR, "O(n^2)", "accepted"),
        (SQUARE, "O(n)", "wrong_answer"),
        ("print(1)", "O(n)", "wrong_answer"),
    ],
    ids=["equal", "faster", "slower", "wrong"],
)
def test_a_program_must_pass_its_tests_and_stay_within_the_class(
    play: Play, program: str, within: str, verdict: str
) -> None:
    (rollout,) = play(ComplexityGeneration(), lambda _: lua_answer(program), _within(within))
    assert rollout.verified.verdict == verdict
    if program == SQUARE:
        assert "O(n^2)" in rollout.verified.tests[-1].stderr
        assert [test.verdict for test in rollout.verified.tests[:-1]] == ["accepted"] * 3


READS = """local n = io.read("*n")
local s = 0
for i = 1, n do s = (s + io.read("*n")) % 1000003 end
print(s)"""
GENERATOR = "n = int(input())\nprint(n)\nfor i in range(n):\n    print(i % 100)\n"


@pytest.mark.slow
def test_inputs_of_each_size_come_from_a_generator(play: Play) -> None:
    task = Task(
        id="sum",
        tests=(Test(input="2\n3\n4\n", output="7"),),
        metadata={"within": "O(n)", "generator": GENERATOR, "largest": 1 << 18},
    )
    (rollout,) = play(ComplexityGeneration(), lambda _: lua_answer(READS), task)
    assert rollout.verified.accepted, rollout.verified.tests[-1].stderr
    assert "time: O(n) (" in rollout.verified.tests[-1].stderr


def test_a_generator_that_fails_is_named(play: Play) -> None:
    task = _within("O(n)", generator="raise ValueError('no size')")
    with pytest.raises(UsageError, match=r"task copy: its generator failed at n = 1: .*no size"):
        play(ComplexityGeneration(), lambda _: lua_answer(LINEAR), task)


READ = 'local n = io.read("*n")\nlocal a = {}\nfor i = 1, n do a[i] = io.read("*n") end\n'
SOLUTIONS = {
    "best_sum": (
        "local best, now = a[1], a[1]\n"
        "for i = 2, n do now = math.max(a[i], now + a[i]) best = math.max(best, now) end\n"
        "print(best)",
        "local best = a[1]\n"
        "for i = 1, n do local s = 0 for j = i, n do s = s + a[j] if s > best then best = s end end end\n"
        "print(best)",
    ),
    "closest": (
        "table.sort(a)\nlocal best = math.huge\n"
        "for i = 2, n do best = math.min(best, a[i] - a[i - 1]) end\n"
        "print(string.format('%d', best == math.huge and 0 or best))",
        "local best = math.huge\n"
        "for i = 1, n do for j = i + 1, n do local d = math.abs(a[i] - a[j]) if d < best then best = d end end end\n"
        "print(string.format('%d', best == math.huge and 0 or best))",
    ),
}
"""A fast program and a quadratic one for each problem."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLUTIONS)
def test_planted_problems_accept_a_program_within_each_class_that_it_stays_in(play: Play, name: str) -> None:
    """A measurement takes seconds: the fast program has one at the class of its own, not at the wider ones."""
    tasks = load_plugins().datasets()["planted-complexity-problems"].tasks("test")
    fast, slow = SOLUTIONS[name]
    for task in (task for task in tasks if task.family == f"test/{name}"):
        wide_enough = task.metadata["within"] in {"O(n^2)", "O(n^3)"}
        for program, accepted in [(slow, True)] if wide_enough else [(fast, True), (slow, False)]:
            (rollout,) = play(ComplexityGeneration(), lambda _, text=READ + program: lua_answer(text), task)
            told = rollout.verified.tests[-1].stderr
            assert rollout.verified.accepted == accepted, (task.id, program, told)


def test_an_evaluation_of_a_constant_answer_scores_as_the_labels_are_balanced(
    chat_server: Callable[..., ChatServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(lambda question: "O(1)" if "complexity" in question else "#T")
    scores = {}
    for environment, dataset in (
        ("termination", "planted-termination"),
        ("complexity-prediction", "planted-complexity"),
    ):
        words = [*("--environment", environment), *("--dataset", dataset), *("--samples", "1"), *("--model", "m")]
        words += ["--endpoint", server.url, "--sandbox", "bubblewrap", "--store", f"sqlite:///{tmp_path / 'runs.db'}"]
        assert cli.call(["eval", *words, "--json"]) == 0, capsys.readouterr().err
        (evaluation,) = json.loads(capsys.readouterr().out)["evaluations"]
        scores[environment] = {name: rate["rate"] for name, rate in evaluation["rates"].items()}
    assert scores["termination"] == {"pass@1": 0.5}
    assert scores["complexity-prediction"]["pass@1"] == pytest.approx((2 + 15) / 42)
    assert scores["complexity-prediction"]["all@1"] == pytest.approx(2 / 21)


def test_the_command_names_the_class_of_a_program_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "square.lua").write_text(SQUARE)
    (tmp_path / "generator.py").write_text("print(int(input()))")
    words = [str(tmp_path / "square.lua"), "--generator", str(tmp_path / "generator.py"), "--sandbox", "bubblewrap"]
    assert cli.call(["complexity", *words, "--seconds", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time"]["class"] == "O(n^2)"
    assert cli.call(["complexity", str(tmp_path / "missing.lua")]) == 2


@pytest.mark.parametrize(
    ("program", "message"), [("local n = io.read(", "near '<eof>'"), ("error('no numbers')", "no numbers")]
)
def test_the_command_says_why_a_program_cannot_be_measured(
    program: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.lua").write_text(program)
    assert cli.call(["complexity", str(tmp_path / "wrong.lua"), "--sandbox", "bubblewrap"]) == 2
    printed = capsys.readouterr().err
    assert "fails at n = 1" in printed
    assert message in printed
