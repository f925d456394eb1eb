"""Reports of evaluations, from either database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from agnostics.evaluate.report import EvaluationReport, compare_evaluations, evaluation_report
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.store.queries.evaluations import programs_by_task, stored_samples
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Comparison, PromptFormat, Test
from agnostics.types.verification import TestResult, Verdict
from agnostics.util.statistics import bootstrap_interval, wilson_interval
from msgspec.structs import replace

ACCEPTED, WRONG, CRASH, OURS = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR, Verdict.SANDBOX_ERROR
Make = Callable[..., CompletionRecord]


def _evaluation(url: str, lua: Language, records: list[CompletionRecord], ks: tuple[int, ...], **options: Any) -> Any:
    with Store.open(url) as store:
        run = store.start_run(kind="eval", config={}, language=lua, model="m", dataset="d", seed=3)
        with store.recorder(run) as recorder:
            for one in records:
                recorder.completion(one)
        with reading(store.engine) as connection:
            return evaluation_report(connection, run, ks, **options)


def _record(make: Make, verdict: Verdict, task: str, sample: int, *said: str, **task_fields: Any) -> CompletionRecord:
    """One record of an evaluation; its program says one thing in each test."""
    made = make(verdict, step=0, phase="eval", task=task, sample=sample, program=f"-- {task} {sample}")
    tests = tuple(TestResult(verdict, stdout=text) for text in said)
    changed = replace(made.verification, tests=tests)
    return replace(made, verification=changed, task=made.task.model_copy(update=task_fields), tokens=10 + sample)


def test_rates_tables_and_votes_are_as_computed_by_hand(database: str, lua: Language, record: Make) -> None:
    easy = {"difficulty": "easy", "tags": ("sums", "loops")}
    verdicts = [(ACCEPTED, "2"), (WRONG, "3"), (WRONG, "3 \n"), (OURS, "")]
    records = [_record(record, verdict, "a", n, said, **easy) for n, (verdict, said) in enumerate(verdicts)]
    verdicts = [(ACCEPTED, "2"), (ACCEPTED, " 2"), (CRASH, "9")]
    records += [_record(record, verdict, "b", n, said, tags=("sums",)) for n, (verdict, said) in enumerate(verdicts)]
    found: EvaluationReport = _evaluation(database, lua, records, (3,), vote=True)
    rates = {name: rate.rate for name, rate in found.rates.items()}
    assert rates == pytest.approx(
        {"pass@1": 1 / 2, "pass@3": 1.0, "majority@3": 1 / 2, "short-3@3": 1 / 2, "best@3": 1.0}
    )
    low, high = bootstrap_interval([1 / 3, 2 / 3], seed=3)
    assert (found.pass_at_1.low, found.pass_at_1.high, found.pass_at_1.tasks) == (*map(pytest.approx, (low, high)), 2)
    assert {name: (rate.rate, rate.tasks) for name, rate in found.by_tag.items()} == {
        "loops": (pytest.approx(1 / 3), 1),
        "sums": (pytest.approx(1 / 2), 2),
    }
    assert {name: rate.tasks for name, rate in found.by_difficulty.items()} == {"easy": 1}
    assert found.verdicts == {"accepted": 3, "wrong_answer": 2, "runtime_error": 1, "sandbox_error": 1}


def test_what_ran_on_tests_that_the_model_wrote_decides_best_at_k_and_nothing_else(
    database: str, lua: Language, record: Make
) -> None:
    wrong, right = _record(record, WRONG, "a", 0, "2", "3"), _record(record, ACCEPTED, "a", 1, "2", "2")
    shown = (TestResult(ACCEPTED, stdout="2"), TestResult(WRONG, stdout="3"))
    records = [replace(wrong, verification=replace(wrong.verification, tests=shown)), right]
    plain: EvaluationReport = _evaluation(database, lua, records, (2,), vote=True)
    again = [
        replace(
            one,
            phase="eval_generated_tests",
            task=one.task.model_copy(update={"tests": (Test(input="9", output="9"),)}),
        )
        for one in records
    ]
    for passed, one in enumerate(again):
        verification = replace(one.verification, tests=(TestResult(ACCEPTED),) * passed)
        again[passed] = replace(one, verification=verification)
    examined: EvaluationReport = _evaluation(database, lua, [*records, *again], (2,), vote=True)
    assert (plain.rates["best@2"].rate, examined.rates["best@2"].rate) == (0.0, 1.0)
    assert {**plain.as_dict(), "rates": 0, "run": 0} == {**examined.as_dict(), "rates": 0, "run": 0}
    assert plain.rates["pass@2"] == examined.rates["pass@2"]
    assert plain.rates["majority@2"] == examined.rates["majority@2"]


def test_what_is_stored_is_known_by_task_and_sample(database: str, lua: Language, record: Make) -> None:
    stitched = {"compare": Comparison(mode="nothing"), "prompt_format": PromptFormat(language="lua", tests="")}
    with Store.open(database) as store:
        run = store.start_run(kind="eval", config={}, language=lua, model="m", dataset="d", seed=3)
        with store.recorder(run) as recorder:
            for task, sample in (("a", 0), ("a", 2), ("b", 1)):
                recorder.completion(
                    _record(record, ACCEPTED, task, sample, "1", "2", **stitched if task == "b" else {})
                )
        with reading(store.engine) as connection:
            assert stored_samples(connection, run) == {"a": {0, 2}, "b": {1}}
            found = {
                task: [(program.tokens, program.compared, program.tests) for program in programs]
                for task, programs in programs_by_task(connection, run)
            }
    said = (("accepted", "1"), ("accepted", "2"))
    assert found == {"a": [(10, True, said), (12, True, said)], "b": [(11, False, said)]}


def test_two_evaluations_differ_task_by_task_where_they_share_tasks(database: str, lua: Language, record: Make) -> None:
    before = [_record(record, WRONG, task, 0, "") for task in "abcd"]
    after = [_record(record, ACCEPTED, task, 0, "") for task in "bcde"]
    first, second = (_evaluation(database, lua, records, (1,)) for records in (before, after))
    assert (first.pass_at_1.low, first.pass_at_1.high) == wilson_interval(0, 4)
    found = compare_evaluations(second, first)
    assert (found.mean, found.low, found.high, found.p, found.tasks) == (1.0, 1.0, 1.0, 2 / 8, 3)
    stranger = _evaluation(database, lua, [_record(record, WRONG, "z", 0, "")], (1,))
    with pytest.raises(UsageError, match="share no task"):
        compare_evaluations(stranger, first)


def test_single_trials_of_tasks_that_share_families_are_resampled_by_family(
    database: str, lua: Language, record: Make
) -> None:
    verdicts = {"a": ACCEPTED, "b": ACCEPTED, "c": ACCEPTED, "d": WRONG, "e": WRONG, "f": WRONG}
    records = [
        _record(record, verdict, task, 0, "", family="sum" if verdict is ACCEPTED else "sort")
        for task, verdict in verdicts.items()
    ]
    found = _evaluation(database, lua, records, (1,), vote=True)
    assert (found.pass_at_1.low, found.pass_at_1.high) == (0.0, 1.0)
    assert (found.rates["majority@1"].low, found.rates["majority@1"].high) == (0.0, 1.0)
    assert wilson_interval(3, 6) != (0.0, 1.0)


def test_more_programs_than_there_are_is_one_clear_line(tmp_path: Any, lua: Language, record: Make) -> None:
    url = str(tmp_path / "results.db")
    with pytest.raises(UsageError, match="pass@2 needs 2 verified programs for a task, and no task has as many"):
        _evaluation(url, lua, [_record(record, WRONG, "a", 0, "")], (2,))
    with pytest.raises(UsageError, match="holds no verified program"):
        _evaluation(url, lua, [_record(record, OURS, "a", 0, "")], (1,))


def test_metrics_of_the_environment_are_means_over_tasks_with_intervals(
    database: str, lua: Language, record: Make
) -> None:
    def measured(verdict: Verdict, task: str, sample: int, **metrics: float) -> CompletionRecord:
        made = _record(record, verdict, task, sample)
        return replace(made, verification=replace(made.verification, metrics=metrics))

    records = [
        measured(WRONG, "a", 0, key_match=0.5, state_length=10.0),
        measured(ACCEPTED, "a", 1, key_match=1.0, state_length=14.0),
        measured(OURS, "a", 2, key_match=0.0),
        measured(ACCEPTED, "b", 0, key_match=1.0, state_length=float("nan")),
        measured(ACCEPTED, "c", 0),
    ]
    found: EvaluationReport = _evaluation(database, lua, records, (1,))
    key, length = found.metrics["key_match"], found.metrics["state_length"]
    assert (key.rate, key.tasks) == (pytest.approx(0.875), 2)
    assert (key.low, key.high) == pytest.approx(bootstrap_interval([0.75, 1.0], seed=3))
    assert (length.rate, length.tasks) == (12.0, 1)
    assert found.as_dict()["metrics"]["key_match"]["rate"] == key.rate
