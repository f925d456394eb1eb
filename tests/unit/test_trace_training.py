"""The data of `benchmarks/trace_training.py`: what the arms train on, what is held out, and how they are compared."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics_benchmarks.step_programs import KINDS, NEW_FAMILIES, all_programs, draw_program
from agnostics_benchmarks.trace_documents import (
    filled,
    held_out_tasks,
    prompts_with_answers,
    shuffled,
    training_examples,
)

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "trace_training.py"))
PURPOSES = ("documents", "following", "answers", "pretraining")


def test_a_step_program_in_python_prints_what_its_steps_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in list(all_programs())[::40]:
        for given in ("0 9\n", "7 3\n", "5 5\n"):
            printed = io.StringIO()
            monkeypatch.setattr(sys, "stdin", io.StringIO(given))
            with contextlib.redirect_stdout(printed):
                exec(program.text("python"), {})
            assert printed.getvalue() == program.output(given), program.statement


def test_programs_with_the_same_statement_are_the_same() -> None:
    programs = list(all_programs())
    assert len({program.statement for program in programs}) == len(programs)
    assert len({program.text("lua") for program in programs}) == len(programs)


def test_no_held_out_family_statement_or_program_is_in_training() -> None:
    held_out = [*held_out_tasks("known", 90, "lua"), *held_out_tasks("new", 150, "lua")]
    assert len({task.statement for task in held_out}) == len(held_out) == 240
    trained = [each.program for purpose in PURPOSES for each in islice(training_examples(purpose), 2000)]
    families, statements = {program.family for program in trained}, {program.statement for program in trained}
    texts = {program.text(language) for program in trained for language in ("lua", "python")}
    assert not families & NEW_FAMILIES
    for task in held_out:
        is_new = task.id.startswith("new/")
        assert (task.family in NEW_FAMILIES, task.family in families) == (is_new, not is_new)
        assert task.statement not in statements
        assert task.metadata["program"]["text"] not in texts
    assert {kind for program in trained for kind in program.family.split()} == {kind.name for kind in KINDS}
    records = list(prompts_with_answers(load_plugins().language("lua"), 400))
    prompts = "".join(record["prompt"] for record in records)
    assert not any(task.statement in prompts for task in held_out)
    assert not any(task.metadata["program"]["text"] in prompts for task in held_out)


def test_arms_have_as_many_tokens_within_one_percent_and_begin_with_the_same_programs() -> None:
    def count(text: str) -> int:
        return len(text.split())

    examples = list(islice(training_examples("documents"), 300))
    firsts, rng = [example.text("lua") for example in examples], Random(0)
    lengths = [count(text) + rng.randrange(200) for text in firsts]
    following = (example.text("lua") for example in training_examples("following"))
    texts = list(filled(firsts, lengths, following, count))
    assert all(text.startswith(first) for text, first in zip(texts, firsts, strict=True))
    assert sum(lengths) * 0.99 <= sum(map(count, texts)) <= sum(lengths)


def test_a_shuffled_trace_has_the_frames_of_another_program_and_every_frame_is_used_once() -> None:
    parts = [(f"program {number}: ", "frame " * Random(number).randrange(9) + str(number)) for number in range(50)]
    texts = shuffled(parts)
    assert all(text.startswith(beginning) for text, (beginning, _) in zip(texts, parts, strict=True))
    assert not set(texts) & {"".join(each) for each in parts}
    frames = [text.removeprefix(beginning) for text, (beginning, _) in zip(texts, parts, strict=True)]
    assert sorted(frames) == sorted(frames for _, frames in parts)


def test_a_digit_is_right_in_its_place_alone() -> None:
    digits_right = BENCH["digits_right"]
    assert [digits_right(predicted, "7 2\n") for predicted in ("7 2", "7 3", "2 7", "", "7", "7 2 1")] == [
        1,
        0.5,
        0,
        0,
        0.5,
        1,
    ]


def test_an_arm_is_compared_with_the_runs_of_the_same_seeds() -> None:
    tasks = [f"new/{family}/{number}" for family in "abcd" for number in range(2)]
    scores = {
        "programs-0": dict.fromkeys(tasks, 0.0),
        "programs-1": dict.fromkeys(tasks, 1.0),
        "traces-0": {task: float(task.startswith(("new/a", "new/b"))) for task in tasks},
        "traces-1": {**dict.fromkeys(tasks, 1.0), "known/a/0": 1.0},
        "shuffled-1": dict.fromkeys(tasks, 1.0),
    }
    compared = BENCH["compared"]
    assert compared(scores, "traces", "new")[1:] == ["+0.250 (+0.000 to +0.500)", "0.500, 1.000"]
    assert compared(scores, "shuffled", "new")[1:] == ["+0.000 (+0.000 to +0.000)", "1.000"]
    assert compared(scores, "programs", "new")[1:] == ["", "0.000, 1.000"]
    assert compared(scores, "base", "new") == []


def test_all_programs_have_every_program_that_is_drawn() -> None:
    programs, rng = set(all_programs()), Random(1)
    assert all(draw_program(rng) in programs for _ in range(500))
