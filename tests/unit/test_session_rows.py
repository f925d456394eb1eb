"""The rows of sessions: created once, grown by events, exported; whatever texts they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agnostics.referee.export import as_player_sees, export_session, session_summaries
from agnostics.referee.problem import Problem, make_problems
from agnostics.referee.protocol import Protocol
from agnostics.referee.session_rows import append_event, create_session, find_session, read_events, read_problems
from agnostics.referee.state import Event, Kind
from agnostics.store import Store, schema
from agnostics.store.database import reading
from agnostics.store.prune import prune
from agnostics.types.dataset import Dataset
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.task import PromptFormat, Task, Test
from command_line import Agn
from sqlalchemy import select

HOSTILE = "é\0\ud800\x1b[2J"
TASKS = [
    Task(id="E01", statement=f"Copy.{HOSTILE}", difficulty="easy", tests=(Test(input=HOSTILE, output="1"),) * 2),
    Task(id="X01", statement="Add.", difficulty="extra_hard", tests=(Test(input="1", output="1"),)),
]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


def create(store: Store, name: str = "one", **changes: Any) -> int:
    facts: dict[str, Any] = {
        "problems": [Problem(TASKS[0]), Problem(TASKS[1], "it needs negative numbers")],
        "protocol": Protocol(name="mine", submissions=2),
        "language": "brainfuck",
        "dataset": "d",
        "player": "replay",
    }
    create_session(store, name, **{**facts, **changes})
    with reading(store.engine) as connection:
        return find_session(connection, name).id


def record(store: Store, session: int, *events: tuple[Kind, int | None, dict[str, Any], str | None]) -> list[Event]:
    made = []
    for sequence, (kind, position, data, program) in enumerate(events):
        made.append(append_event(store, session, Event(sequence, kind, position, data, seconds=0.5), program))
    return made


PLAY: tuple[tuple[Kind, int | None, dict[str, Any], str | None], ...] = (
    ("fetch", 0, {}, None),
    ("run", 0, {"input": HOSTILE, "verdict": "accepted", "exit_code": 0}, f"+{HOSTILE}"),
    ("refused", 0, {"operation": "submit", "reason": "not_fetched"}, None),
    ("submit", 0, {"passed": 1, "total": 2, "verdicts": ["accepted", "time_limit"]}, "+"),
    ("submit", 0, {"passed": 2, "total": 2, "verdicts": ["accepted", "accepted"]}, "-"),
    ("fetch", 1, {}, None),
    ("finish", None, {"reason": "stopped"}, None),
)


def test_problems_and_events_are_read_as_they_were_written(store: Store) -> None:
    session = create(store)
    written = record(store, session, *PLAY)
    with reading(store.engine) as connection:
        assert [problem.task for problem in read_problems(connection, session)] == TASKS
        assert [problem.unsolvable for problem in read_problems(connection, session)] == [
            None,
            "it needs negative numbers",
        ]
        assert read_events(connection, session) == written
        assert find_session(connection, "one").finished_at == written[-1].at


def test_the_export_has_the_keys_of_the_papers_harness_and_the_facts_of_the_events(store: Store) -> None:
    record(store, create(store), *PLAY)
    with reading(store.engine) as connection:
        export = export_session(connection, "one")
    assert json.loads(json.dumps(export)) == export
    assert (export["language"], export["current_index"], export["current_problem"]) == ("brainfuck", 2, "X01")
    assert (export["complete"], export["end"]) == (False, "stopped")
    first, second = export["problems"]["E01"], export["problems"]["X01"]
    assert {"status", "submissions", "best_score", "fetched_at", "finished_at"} <= first.keys()
    assert (first["status"], first["best_score"], first["runs"], first["seconds"]) == ("solved", 2, 1, 2.5)
    assert [submission["results"] for submission in first["submissions"]] == [["PASS", "RUNTIME ERROR"], ["PASS"] * 2]
    assert [submission["attempt"] for submission in first["submissions"]] == [1, 2]
    assert (second["status"], second["unsolvable"]) == ("active", "it needs negative numbers")
    assert export["totals"] == {
        "problems": 2,
        "solved": 1,
        "failed": 0,
        "skipped": 0,
        "unsolvable": 1,
        "submissions": 2,
        "runs": 1,
        "tests_passed": 2,
        "tests": 3,
        "refusals": 1,
    }
    assert {tier: totals["solved"] for tier, totals in export["tiers"].items()} == {"easy": 1, "extra_hard": 0}


def test_a_player_sees_the_export_without_what_its_protocol_hides(store: Store) -> None:
    record(store, create(store), *PLAY)
    create(store, "two", protocol=Protocol(name="mine", feedback="verdicts"))
    with reading(store.engine) as connection:
        seen = json.dumps(as_player_sees(export_session(connection, "one")))
        other = json.dumps(as_player_sees(export_session(connection, "two")))
    for hidden in ("results", "PASS", "unsolvable", "negative", "player_options", "seed"):
        assert hidden not in seen
    assert "unsolvable" not in other
    assert '"passed": 1' in seen


def test_sessions_are_listed_in_order_with_their_score_and_their_end(store: Store) -> None:
    record(store, create(store), *PLAY)
    create(store, "two", player="bare", model="m")
    with reading(store.engine) as connection:
        one, two = session_summaries(connection)
    assert (one["session"], one["solved"], one["final"], one["problems"], one["state"]) == ("one", 1, 1, 2, "stopped")
    assert (two["session"], two["player"], two["model"], two["state"]) == ("two", "bare", "m", "open")


def test_the_seed_of_resealed_tests_is_shown(agn: Agn, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/results.db"
    with Store.open(database) as store:
        create(store)
        create(store, "sealed", seed=7)
    listed = agn("session", "status", "--store", database, "--json").json
    assert [(row["session"], row["seed"]) for row in listed] == [("one", None), ("sealed", 7)]
    assert "seed" in agn("session", "status", "--store", database).stdout.splitlines()[0]
    last = [agn("session", "status", name, "--store", database).stdout.splitlines()[-1] for name in ("one", "sealed")]
    assert last == [
        "one: 0 of 2 solved, not finished",
        "sealed: 0 of 2 solved, not finished, hidden tests of --reseal 7",
    ]


def test_two_processes_cannot_write_the_same_event(store: Store) -> None:
    session = create(store)
    record(store, session, PLAY[0])
    with pytest.raises(AgnosticsError):
        record(store, session, PLAY[0])
    with reading(store.engine) as connection:
        assert len(read_events(connection, session)) == 1


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", "x" * 101, "a\n"])
def test_a_name_that_is_no_folder_is_refused(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        create(store, name)


def test_a_name_is_given_once_and_an_unknown_one_has_a_neighbour(store: Store) -> None:
    create(store)
    with pytest.raises(UsageError, match="already"):
        create(store)
    with reading(store.engine) as connection, pytest.raises(UsageError, match="did you mean 'one'"):
        find_session(connection, "ones")


def test_pruning_keeps_the_programs_of_sessions(store: Store) -> None:
    record(store, create(store), *PLAY)
    prune(store.engine, [])
    with reading(store.engine) as connection:
        assert set(connection.scalars(select(schema.program.c.text))) >= {"+", "-"}


class Numbers(Dataset):
    """A data set that can make fresh tests."""

    name = "numbers"
    description = "numbers"
    license = "none"

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:  # noqa: ARG002
        yield from TASKS

    def reseal(self, task: Task, seed: int) -> Task:
        return task.model_copy(update={"tests": (Test(input=str(seed), output=str(seed)),)})


def test_problems_have_fresh_tests_for_a_seed_and_the_published_ones_without(lua: Language) -> None:
    fresh, published = (make_problems(Numbers(), TASKS, lua, seed) for seed in (7, None))
    assert [problem.task.tests[0].input for problem in fresh] == ["7", "7"]
    assert [problem.task for problem in published] == TASKS


def test_a_problem_whose_tests_contradict_each_other_is_marked(lua: Language) -> None:
    contradicting = TASKS[1].model_copy(update={"tests": (Test(input="", output="1"), Test(input="", output="2"))})
    (right, wrong) = make_problems(Numbers(), [TASKS[0], contradicting], lua, None)
    assert right.unsolvable is None
    assert wrong.unsolvable == "no program in lua passes tests 1 and 2: the same input, different outputs"


PART = PromptFormat(language="lua", tests="assert(f() == 1)")


class Plain(Numbers):
    """A data set that can make no fresh tests."""

    reseal = Dataset.reseal


@pytest.mark.parametrize(
    ("dataset", "tasks", "seed", "message"),
    [
        (Numbers(), [], None, "no problems"),
        (Numbers(), [TASKS[0]] * 2, None, "two problems with the id 'E01'"),
        (Numbers(), [TASKS[0].model_copy(update={"prompt_format": PART})], None, "needs whole programs"),
        (Plain(), TASKS, 1, "cannot make fresh tests"),
    ],
)
def test_tasks_that_make_no_session_are_an_error(
    lua: Language, dataset: Dataset, tasks: list[Task], seed: int | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_problems(dataset, tasks, lua, seed)
