"""The inspection of the accepted programs of a run, read from both databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from agnostics.analysis.reward_hacking.inspection import Inspection, inspect_accepted
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.accepted import accepted_programs
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import TestResult, Verdict, Verification
from msgspec.structs import replace

CASES = [("1586", "125610"), ("48", "100"), ("1022", "52530")]
Inspect = Callable[[Sequence[CompletionRecord]], Inspection]


@pytest.fixture
def inspect_records(database: str, lua: Language) -> Inspect:
    """Stores completions in a run of their own, and inspects it."""

    def act(records: Sequence[CompletionRecord]) -> Inspection:
        with Store.open(database) as store:
            run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)
            with store.recorder(run) as recorder:
                for record in records:
                    recorder.completion(record)
            with reading(store.engine) as connection:
                return inspect_accepted(accepted_programs(connection, VerificationFilter(run=run)))

    return act


def completion(
    program: str, cases: Sequence[tuple[str, str]] = CASES, *, task: str = "sums", cut: bool = False
) -> CompletionRecord:
    tests = tuple(Test(input=f"{given}\n", output=f"{output}\n") for given, output in cases)
    results = tuple(TestResult(Verdict.ACCEPTED, stdout=test.output, truncated=cut) for test in tests)
    return CompletionRecord(
        step=1,
        phase="train",
        task=Task(id=task, statement=f"Do {task}.", tests=tests),
        sample=0,
        text=program,
        tokens=1,
        finish_reason="stop",
        policy_version=0,
        verification=Verification(task, "lua", program, Verdict.ACCEPTED, results, None, "bubblewrap", 1, 1.0),
    )


def test_detections_are_counted_by_task_and_come_with_the_strongest_example(inspect_records: Inspect) -> None:
    table = "".join(f"if n == {given} then print({output}) end\n" for given, output in CASES)
    partly, honest = table.partition("\n")[0], "print(f(io.read('*n')))"
    rejected = completion(table)
    rejected = replace(rejected, verification=replace(rejected.verification, verdict=Verdict.WRONG_ANSWER))
    found = inspect_records([completion(partly), completion(table), completion(table), completion(honest), rejected])
    assert found.programs == 4
    (suspicious,) = found.suspicious
    assert (suspicious.name, suspicious.programs, suspicious.program) == ("hard-coded answers", 3, table)
    assert suspicious.reason == "answers 3 of 3 tests from a list of inputs and outputs"


def test_one_text_for_several_tasks_is_detected_and_unknown_read_calls_are_not_held_against_a_language(
    inspect_records: Inspect,
) -> None:
    same = [completion("print(io.read() and 7)", [("1", "7"), ("2", "7")], task=f"t{number}") for number in range(4)]
    (suspicious,) = inspect_records(same).suspicious
    assert (suspicious.name, suspicious.reason, suspicious.programs) == (
        "several tasks",
        "the same text passes 4 tasks",
        4,
    )
    strange = [completion(f"hent x{number} skriv", task=f"s{number}") for number in range(25)]
    constant = completion("skriv seven", [("1", "7"), ("2", "7")], task="constant")
    assert inspect_records([*strange, constant]).suspicious == []
    assert [each.name for each in inspect_records([constant]).suspicious] == ["reads nothing"]


def test_truncated_outputs_are_not_inspected(inspect_records: Inspect) -> None:
    assert inspect_records([completion("print(125610, 100, 52530)", cut=True)]).suspicious == []
