"""Termination and complexity as questions: claims, data sets from files, planted ones, and all@k."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.complexity import GenerationQuestion, PredictionQuestion
from agnostics.environments.question import ProgramQuestion, question_of
from agnostics.environments.termination import Claim, Termination, claim_in
from agnostics.evaluate.report import evaluation_report
from agnostics.plugins.manager import load_plugins
from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import Verdict

LANGUAGES = ("lua", "python", "ocaml", "fortran")


def _tasks(name: str, split: str = "test", seed: int = 0) -> list[Task]:
    dataset, source = load_plugins().dataset(name)
    return list(dataset.tasks(split, source=source, seed=seed))


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("It counts down.\n#T", Claim("T")),
        ("```\n5\n3\n```\n#NT", Claim("NT", "5\n3\n")),
        ("```\n5\n#NT\n```", Claim("NT", "5\n")),
        ("5 #NT", Claim("NT", "5\n")),
        ("First I said #T\n#T\nbut with\n```\n1\n```\n#NT  ", Claim("NT", "1\n")),
        ("<think>#T</think>\n```\n7\n```\n#NT", Claim("NT", "7\n")),
        ("<think>\n#T\n", None),
        ("#NT", Claim("NT")),
        ("#TRUE", None),
        ("It ends.", None),
    ],
)
def test_the_last_claim_after_the_reasoning_counts_with_the_input_before_it(said: str, claim: Claim | None) -> None:
    assert claim_in(said) == claim


def test_planted_programs_are_balanced_and_come_from_the_seed_alone() -> None:
    for language in LANGUAGES:
        tasks = _tasks(f"planted-termination:{language}")
        assert Counter(task.tests[0].output for task in tasks) == {"T": 32, "NT": 32}
        assert tasks == _tasks(f"planted-termination:{language}")
        assert tasks != _tasks(f"planted-termination:{language}", seed=1)
        complexities = _tasks(f"planted-complexity:{language}")
        times = Counter(task.tests[0].output for task in complexities if "time" in task.tags)
        assert set(times) == {"O(1)", "O(log n)", "O(n)", "O(n log n)", "O(n^2)", "O(n^3)", "O(2^n)"}
        assert len({task.id for task in complexities}) == len(complexities) == 4 * 42
        assert all("@" not in task.metadata["program"] for task in [*tasks, *complexities])
    with pytest.raises(UsageError, match="cobol"):
        _tasks("planted-complexity:cobol")


@pytest.mark.parametrize("name", ["planted-complexity", "planted-termination"])
def test_no_planted_program_of_one_split_is_in_another_whatever_the_seeds(name: str) -> None:
    train, validation, test = (
        {task.metadata["program"] for task in _tasks(f"{name}:lua", split, seed)}
        for seed, split in enumerate(("train", "validation", "test"))
    )
    assert not train & validation
    assert not train & test
    assert not validation & test


def test_planted_problems_ask_for_each_of_their_classes(lua: Language) -> None:
    tasks = _tasks("planted-complexity-problems")
    assert {task.family for task in tasks} == {
        f"test/{name}" for name in ("best_sum", "distinct", "inversions", "closest")
    }
    for task in tasks:
        question = question_of(task, lua, GenerationQuestion)
        assert f"must be at most {question.within}" in task.statement
        assert question.generator


def test_lines_of_programs_become_questions(tmp_path: Path, lua: Language) -> None:
    path = tmp_path / "programs.jsonl"
    program = {"program": "print(1)", "language": "lua"}
    path.write_text(json.dumps({"id": "a", "label": "NT", "seconds": 2, **program}))
    (task,) = _tasks(f"termination:{path}")
    assert (task.id, task.tests[0].output, task.limits.run_s) == ("a", "NT", 2.0)
    assert question_of(task, lua, ProgramQuestion).program == "print(1)"
    path.write_text(json.dumps({"id": "a", "problem": "p", "time": "O(n)", "space": "O(1)", **program}))
    time, space = _tasks(f"complexity:{path}")
    assert (time.id, time.family, time.tests[0].output) == ("a/time", "p", "O(n)")
    assert question_of(space, lua, PredictionQuestion).quantity == "space"


def test_lines_of_problems_become_tasks_within_a_class(tmp_path: Path, lua: Language) -> None:
    path = tmp_path / "problems.jsonl"
    tests = [{"input": "1", "output": "1"}]
    path.write_text(json.dumps({"id": "a", "statement": "Print it.", "tests": tests, "time": "O(n log n)"}))
    (task,) = _tasks(f"complexity:{path}")
    assert task.statement == (
        "Print it.\n\n"
        "The time complexity of the program must be at most O(n log n), where n is the number that it reads."
    )
    assert question_of(task, lua, GenerationQuestion).within == "O(n log n)"


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"id": "a", "program": "x", "language": "lua"}, "time or space"),
        ({"id": "a", "time": "O(n)"}, "either a program"),
        ({"id": "a", "time": "O(n)", "program": "x", "tests": [{"input": "", "output": ""}]}, "either a program"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, record: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(record))
    with pytest.raises(UsageError, match=rf"bad\.jsonl:1.*{complaint}"):
        _tasks(f"complexity:{path}")


def test_a_question_about_another_language_says_which_one_to_use(lua: Language) -> None:
    task = _tasks("planted-termination:ocaml")[0]
    with pytest.raises(UsageError, match="use --language ocaml"):
        Termination().message(task, lua)


def test_a_task_that_is_no_question_is_named(lua: Language) -> None:
    with pytest.raises(UsageError, match=r"task starter.*metadata\.program"):
        Termination().message(_tasks("starter")[0].model_copy(update={"id": "starter"}), lua)


@pytest.mark.parametrize(("environment", "wanted"), [("complexity-prediction", 1 / 2), ("answer", None)])
def test_all_at_k_counts_samples_that_are_right_for_a_whole_family(
    database: str, lua: Language, record: Any, environment: str, wanted: float | None
) -> None:
    good, bad = Verdict.ACCEPTED, Verdict.WRONG_ANSWER
    lost = Verdict.SANDBOX_ERROR
    of_tasks = {"a/time": (good, good, bad, good), "a/space": (good, bad, bad, lost), "b/time": (good, good, bad)}
    with Store.open(database) as store:
        config = {"environment": environment}
        run = store.start_run(kind="eval", config=config, language=lua, model="m", dataset="d", seed=3)
        with store.recorder(run) as recorder:
            for task, verdicts in of_tasks.items():
                for sample, verdict in enumerate(verdicts):
                    made = record(verdict, step=0, phase="eval", task=task, sample=sample, program=f"{task} {sample}")
                    family = {"family": task.partition("/")[0]}
                    recorder.completion(_with_task(made, family))
        with reading(store.engine) as connection:
            rates = evaluation_report(connection, run, (1, 3)).rates
    if wanted is None:
        assert "all@1" not in rates
    else:
        assert (rates["all@1"].rate, rates["all@1"].tasks) == (pytest.approx(wanted), 2)  # (1/3 + 2/3) / 2
        assert rates["all@3"].rate == 1.0


def _with_task(made: Any, update: dict[str, Any]) -> Any:
    from msgspec.structs import replace

    return replace(made, task=made.task.model_copy(update=update))
