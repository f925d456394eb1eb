"""The reference solutions of EsoLang-Bench: they reproduce the published outputs, and their fresh tests are sound."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.task import Task, Test
from agnostics_datasets.esolang_bench import EsolangBench
from agnostics_datasets.esolang_references import REFERENCES
from agnostics_datasets.esolang_references.inputs import fixed, line, word
from agnostics_datasets.esolang_references.reference import Reference

REAL = Path(__file__).parents[3] / "shared" / "data" / "esolang_bench" / "esolang_benchmark.json"
DATASET = EsolangBench()
WITH_INPUT = sorted(name for name, reference in REFERENCES.items() if reference.draws)
FEW_INPUTS = ("E02", "M07")
"""Problems of which a kind of input may have no new one: the empty line, and the numbers up to 10."""
SEEDS = range(1, 6)


def invented(name: str) -> Task:
    """A task with the id of a problem, and six tests that are not those of the benchmark."""
    reference = REFERENCES[name]
    blank = [Test(input="", output=reference.output("") if not reference.draws else "")] * 6
    return Task(id=name, tests=reference.fresh_tests(blank, Random(f"invented/{name}")), tags=("kept",))


def digest() -> str:
    """A digest of the fresh tests of all invented tasks."""
    tasks = [DATASET.reseal(invented(name), 7) for name in REFERENCES]
    return hashlib.sha256("".join(task.model_dump_json() for task in tasks).encode()).hexdigest()


def test_there_are_twenty_references_of_each_tier() -> None:
    expected = [f"{tier}{number:02}" for tier in "EMHX" for number in range(1, 21)]
    assert list(REFERENCES) == expected


@pytest.mark.skipif(not REAL.is_file(), reason="EsoLang-Bench is not beside this checkout (../shared/data)")
def test_the_references_reproduce_all_480_published_outputs() -> None:
    tests = [(task.id, test) for task in DATASET.tasks("test", source=str(REAL)) for test in task.tests]
    wrong = [(name, test) for name, test in tests if REFERENCES[name].output(test.input) != test.output]
    assert (len(tests), wrong) == (480, [])


@pytest.mark.skipif(not REAL.is_file(), reason="EsoLang-Bench is not beside this checkout (../shared/data)")
def test_no_input_of_the_published_tests_is_drawn_again_but_one_of_ten_factorials() -> None:
    tasks = [task for task in DATASET.tasks("test", source=str(REAL)) if task.id != "E01"]
    fresh = {task.id: DATASET.reseal(task, 1).metadata["fresh_tests"] for task in tasks}
    assert {name: count for name, count in fresh.items() if count != 6} == {"M07": 5}


@pytest.mark.parametrize("name", WITH_INPUT)
def test_fresh_tests_are_new_distinct_right_and_not_all_alike(name: str) -> None:
    task = invented(name)
    published = {test.input for test in task.tests}
    for seed in SEEDS:
        sealed = DATASET.reseal(task, seed)
        inputs = [test.input for test in sealed.tests]
        outputs = [test.output for test in sealed.tests]
        assert len({*inputs}) == len(task.tests)
        assert sealed.metadata["fresh_tests"] == sum(text not in published for text in inputs)
        assert sealed.metadata["fresh_tests"] >= (5 if name in FEW_INPUTS else 6)
        assert max(map(outputs.count, outputs)) <= 4, "no output is that of more than two thirds of the tests"
        assert outputs == [REFERENCES[name].output(text) for text in inputs]
        assert all(text.isascii() and "\r" not in text and "\t" not in text for text in inputs + outputs)


def test_a_rare_answer_is_drawn_until_it_is_there_twice() -> None:
    rare = Reference(line, lambda text: text in "abc", (word(1, 1),))
    for seed in range(20):
        tests = rare.fresh_tests([Test(input="", output="")] * 6, Random(seed))
        assert [test.output for test in tests].count("yes") >= 2


def test_every_kind_of_input_is_there_and_published_ones_only_where_no_other_is_left() -> None:
    kinds = Reference(line, lambda text: text, (fixed("a", "b"), fixed("c"), word(2, 2)))
    published = [Test(input=text, output=text) for text in ("a", "c", "")]
    for seed in range(20):
        first, second, third = kinds.fresh_tests(published, Random(seed))
        assert (first.input, second.input, len(third.input)) == ("b", "c", 2)


def test_too_few_answers_are_an_error() -> None:
    constant = Reference(line, lambda _: "x", (word(5, 5),))
    with pytest.raises(ValueError, match="the generator of input 5 has too few different inputs or answers"):
        constant.fresh_tests([Test(input="", output="")] * 6, Random(1))


def test_a_task_keeps_all_but_its_tests() -> None:
    task = invented("E04")
    sealed = DATASET.reseal(task, 3)
    assert sealed.model_copy(update={"tests": task.tests, "metadata": {}}) == task
    assert sealed.metadata == {"reseal_seed": 3, "fresh_tests": 6}


def test_a_problem_without_input_keeps_its_tests_and_says_so() -> None:
    task = invented("E01")
    sealed = DATASET.reseal(task, 1)
    assert sealed.tests == task.tests
    assert sealed.metadata["fresh_tests"] == 0


def test_a_seed_gives_the_same_tests_and_another_seed_others() -> None:
    for name in WITH_INPUT:
        task = invented(name)
        assert DATASET.reseal(task, 1) == DATASET.reseal(task, 1)
        assert DATASET.reseal(task, 1).tests != DATASET.reseal(task, 2).tests, name


def test_fresh_tests_do_not_depend_on_the_hash_seed() -> None:
    words = [sys.executable, "-c", "from test_esolang_references import digest; print(digest())"]
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.strip() == digest()


def test_an_altered_output_is_refused_with_the_task_and_the_test() -> None:
    task = invented("E04")
    second = task.tests[1].model_copy(update={"output": "wrong"})
    altered = task.model_copy(update={"tests": (task.tests[0], second, *task.tests[2:])})
    with pytest.raises(UsageError, match=r"^task 'E04', test 2: the reference solution prints '-?\d+', not 'wrong'"):
        DATASET.reseal(altered, 1)


@pytest.mark.parametrize(("name", "text"), [("E04", "1 2 3"), ("M05", "3 / 4"), ("X12", "a b"), ("X17", "IZ")])
def test_an_input_that_the_reference_cannot_read_is_refused(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^task '{name}', test 1: the reference solution cannot read '{text}'"):
        DATASET.reseal(Task(id=name, tests=(Test(input=text, output="3"),)), 1)


def test_a_task_without_a_reference_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^task 'E21': esolang-bench has no reference solution"):
        DATASET.reseal(Task(id="E21", tests=(Test(input="", output=""),)), 1)


def test_a_data_set_without_references_makes_no_fresh_tests() -> None:
    starter, _ = load_plugins().dataset("starter")
    with pytest.raises(UsageError, match=r"^the data set 'starter' cannot make fresh tests \(task 'a', seed 1\)$"):
        starter.reseal(Task(id="a", tests=(Test(input="", output=""),)), 1)


def test_brackets_that_close_nothing_do_not_make_the_depth_negative() -> None:
    """The statement of X09 says 0 if all closing brackets come first; its published tests do not."""
    assert REFERENCES["X09"].output("))((()") == "3"


def test_fresh_tests_of_x09_have_the_same_answer_either_way() -> None:
    for seed in range(40):
        for test in DATASET.reseal(invented("X09"), seed).tests:
            depths = [test.input[:end].count("(") - test.input[:end].count(")") for end in range(len(test.input) + 1)]
            assert test.output == str(max(depths))
