"""The paper's training data: which problems are kept and held out, how statements vary, which tests they have."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.task import Task, Test
from agnostics_datasets.codeforces import HELD_OUT, Codeforces, CodeforcesFromSource
from agnostics_datasets.contest_prompt import drawn_style
from agnostics_datasets.mbpp_x import MbppX

EXAMPLES = [{"input": "1 2\n", "output": "3\n"}, {"input": "5 5\n", "output": "10\n"}]
SOURCE = {
    "id": "1/A",
    "title": "Sum",
    "description": "Add two numbers.",
    "input_format": "Two integers.",
    "output_format": "Their sum.",
    "examples": EXAMPLES,
    "note": "No note.",
    "time_limit": 1.0,
    "memory_limit": 256.0,
    "contest_start_year": 2010,
    "generation": "<think>",
}
STATEMENTS = {
    "headings": "# Problem\n\nAdd two numbers.\n\n# Input\n\nTwo integers.\n\n# Output\n\nTheir sum.\n\n# Examples\n\n"
    "Input 1:\n```\n1 2\n```\n\nOutput 1:\n```\n3\n```\n\n# Note\n\nNo note.",
    "bold": "**Problem**\n\nAdd two numbers.\n\n**Input**\n\nTwo integers.\n\n**Output**\n\nTheir sum.\n\n"
    "**Examples**\n\nInput 1:\n```\n1 2\n```\n\nOutput 1:\n```\n3\n```\n\n**Note**\n\nNo note.",
    "plain": "Add two numbers.\n\nTwo integers.\n\nTheir sum.\n\n"
    "Input 1:\n```\n1 2\n```\n\nOutput 1:\n```\n3\n```\n\nNo note.",
    "plain without sample": "Add two numbers.\n\nTwo integers.\n\nTheir sum.\n\nNo note.",
}


def said(problem: str, kind: str, thought: str = "") -> dict[str, str]:
    answer = f'The judge:\n```json\n{{"type": "{kind}"}}\n```'
    return {"id": problem, "generation": f"<think>{thought}</think>\n{answer}"}


def write(path: Path, *records: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def from_source(folder: Path, problems: list[Any], kinds: list[Any], split: str = "train", seed: int = 0) -> list[Task]:
    write(folder / "solutions_py_decontaminated" / "train-00000-of-00001.jsonl", *problems)
    write(folder / "checker_interactor" / "train-00000-of-00001.jsonl", *kinds)
    return list(CodeforcesFromSource().tasks(split, source=str(folder), seed=seed))


def test_fractions_of_styles_are_the_papers_and_fixed_for_a_seed() -> None:
    drawn = [drawn_style(f"{number}/A", seed=0) for number in range(10_000)]
    shares = {name: count / 10_000 for name, count in Counter(style.name for style in drawn).items()}
    assert shares == pytest.approx(
        {"headings": 0.30, "bold": 0.35, "plain": 0.175, "plain without sample": 0.175}, abs=0.015
    )
    assert drawn == [drawn_style(f"{number}/A", seed=0) for number in range(10_000)]
    assert drawn != [drawn_style(f"{number}/A", seed=1) for number in range(10_000)]


def test_each_style_sets_the_statement_in_its_way(tmp_path: Path) -> None:
    problems = [{**SOURCE, "id": f"{number}/A"} for number in range(60)]
    kinds = [said(str(problem["id"]), "diff") for problem in problems]
    found = {task.metadata["style"]: task.statement for task in from_source(tmp_path, problems, kinds)}
    assert found == STATEMENTS


def test_tests_are_the_examples_and_the_last_is_not_given_away(tmp_path: Path) -> None:
    only = {**SOURCE, "id": "2/A", "examples": EXAMPLES[:1]}
    two, one = from_source(tmp_path, [SOURCE, only], [said("1/A", "diff"), said("2/A", "diff")])
    assert two.tests == tuple(Test(**example) for example in EXAMPLES)
    assert "10" not in two.statement
    assert one.tests == two.tests[:1]
    assert "Input 1" not in one.statement
    assert (two.id, two.metadata["title"], two.metadata["year"]) == ("ag-codeforces-x/1/A", "Sum", 2010)
    assert two.limits.run_s is None


def test_only_problems_with_one_right_output_are_kept(tmp_path: Path) -> None:
    problems = [
        {**SOURCE, "id": name} for name in ("diff", "checker", "interactor", "unknown", "broken", "thought", "twice")
    ]
    kinds = [
        said("diff", "diff"),
        said("checker", "checker"),
        said("interactor", "interactor"),
        {"id": "broken", "generation": "```json\n{\n```"},
        said("thought", "checker", thought='```json\n{"type": "diff"}\n```'),
        said("twice", "checker"),
        said("twice", "diff"),
    ]
    assert [task.id for task in from_source(tmp_path, problems, kinds)] == [
        "ag-codeforces-x/diff",
        "ag-codeforces-x/twice",
    ]


def test_problems_without_description_or_examples_are_left_out(tmp_path: Path) -> None:
    problems = [{**SOURCE, "description": None}, {**SOURCE, "examples": None}, {**SOURCE, "examples": []}]
    assert not from_source(tmp_path, problems, [said("1/A", "diff")])


def test_one_problem_in_51_is_held_out_whatever_the_seed(tmp_path: Path) -> None:
    problems = [{**SOURCE, "id": f"{number}/A"} for number in range(3000)]
    kinds = [said(str(problem["id"]), "diff") for problem in problems]
    train, test, again = (
        {task.id for task in from_source(tmp_path, problems, kinds, split, seed)}
        for split, seed in (("train", 0), ("test", 0), ("test", 1))
    )
    assert not train & test
    assert len(train | test) == 3000
    assert len(test) == pytest.approx(3000 * HELD_OUT, abs=15)
    assert test == again


def test_held_out_statements_do_not_vary(tmp_path: Path) -> None:
    problems = [{**SOURCE, "id": f"{number}/A"} for number in range(500)]
    kinds = [said(str(problem["id"]), "diff") for problem in problems]
    held_out = from_source(tmp_path, problems, kinds, "test")
    assert {task.statement for task in held_out} == {STATEMENTS["headings"]}


@pytest.mark.parametrize("broken", [{"id": ["1/A"]}, {"id": None}, {}, 3])
def test_a_problem_without_an_id_is_refused_with_its_line(broken: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"train-00000-of-00001\.jsonl:2: "):
        from_source(tmp_path, [SOURCE, broken], [said("1/A", "diff")])


def test_a_folder_without_the_classifications_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "solutions_py_decontaminated" / "train.jsonl", SOURCE)
    with pytest.raises(UsageError, match="checker_interactor: no such file"):
        CodeforcesFromSource().tasks("train", source=str(tmp_path))


def test_the_published_form_gives_the_same_task(tmp_path: Path) -> None:
    renamed = {"id": "source_id", "description": "problem_statement", "note": "problem_notes"}
    published = {
        **{renamed.get(key, key): value for key, value in SOURCE.items()},
        "idx": 0,
        "prompt": "",
        "response": "",
    }
    write(tmp_path / "train.jsonl", published)
    assert list(Codeforces().tasks("train", source=str(tmp_path))) == from_source(
        tmp_path, [SOURCE], [said("1/A", "diff")]
    )


MBPP = {
    "original_task_id": 2,
    "description": "Add two numbers.",
    "input_format": "Two integers.",
    "output_format": "Their sum.",
    "tests": EXAMPLES,
}


def mbpp(folder: Path, split: str, *changes: dict[str, Any]) -> list[Task]:
    write(folder / "train.jsonl", *({**MBPP, **change} for change in changes))
    return list(MbppX().tasks(split, source=str(folder / "train.jsonl")))


def test_mbpp_shows_the_first_test_and_is_judged_by_all(tmp_path: Path) -> None:
    (task,) = mbpp(tmp_path, "train", {})
    assert task.statement == STATEMENTS["headings"].replace("\n\n# Note\n\nNo note.", "")
    assert len(task.tests) == 2


def test_mbpp_is_split_by_its_own_ids(tmp_path: Path) -> None:
    changes = [{"original_task_id": number} for number in (1, 10, 11, 510, 511, 600, 601, 974)]
    ids = {
        split: [int(task.id.rpartition("/")[2]) for task in mbpp(tmp_path, split, *changes)] for split in MbppX.splits
    }
    assert ids == {"train": [1, 10, 601, 974], "validation": [511, 600], "test": [11, 510]}


def test_mbpp_problems_whose_tests_contradict_each_other_are_left_out(tmp_path: Path) -> None:
    same = [{"input": "1 2", "output": "3"}, {"input": "1 2\n", "output": "3 "}]
    different = [{"input": "1 2", "output": "3"}, {"input": "1 2\n", "output": "4"}]
    assert len(mbpp(tmp_path, "train", {"tests": same}, {"tests": different}, {"tests": []})) == 1
