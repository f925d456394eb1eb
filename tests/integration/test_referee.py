"""The referee, with real programs in a real sandbox: what it answers, counts, refuses and records."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from agent_sessions import COPY, FIRST, INVALID, LOOP, create, task, without_times
from agnostics.plugins.manager import load_plugins
from agnostics.referee import referee as referee_module
from agnostics.referee.export import export_session
from agnostics.referee.grading import MAX_INPUT_BYTES, MAX_PROGRAM_BYTES
from agnostics.referee.referee import Referee
from agnostics.referee.session_rows import find_session, read_events
from agnostics.referee.state import Event
from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Checker, Comparison, Task
from agnostics.verify import Verifier
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LANGUAGE: Language = load_plugins().language("brainfuck")
Open = Callable[..., Referee]


@pytest.fixture(scope="module")
def pool() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1, load_plugins().languages()) as verifier:
        yield verifier


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "results.db")) as opened:
        yield opened


@pytest.fixture
def session(store: Store, pool: Verifier) -> Open:
    """Makes the referee of a new session."""

    def make(*tasks: Task, name: str = "one", **protocol: Any) -> Referee:
        create(store, name, tasks or (task("E01"), task("M01")), **protocol)
        return Referee(store, name, pool, LANGUAGE)

    return make


def events(store: Store, name: str = "one") -> list[Event]:
    with reading(store.engine) as connection:
        return read_events(connection, find_session(connection, name).id)


def refusals(store: Store) -> list[tuple[str, str]]:
    return [(event.data["operation"], event.data["reason"]) for event in events(store) if event.kind == "refused"]


def test_a_session_goes_from_fetch_over_run_and_submit_to_the_next_problem(session: Open, store: Store) -> None:
    referee = session()
    fetched = referee.fetch()
    assert fetched.text.splitlines()[0] == "Problem E01 (easy), 1 of 2"
    assert "Copy the input (E01)." in fetched.text
    assert fetched.text.endswith("3 hidden tests; left: 3 submissions, any number of runs.")
    assert referee.run(FIRST, "ab").text == "The program ended with exit status 0.\n--- stdout ---\na"
    failed = referee.submit("E01", FIRST)
    assert failed.text == "E01: 1 of 3 hidden tests passed.\nNot solved; 2 submissions left."
    solved = referee.submit("E01", COPY)
    assert solved.text == "E01: 3 of 3 hidden tests passed.\nSolved.\nFetch the next problem."
    assert solved.data == {
        "problem": "E01",
        "passed": 3,
        "total": 3,
        "solved": True,
        "final": True,
        "submissions_left": 0,
    }
    assert referee.fetch().data["problem"] == "M01"
    assert referee.status().text.splitlines() == [
        "1 of 2 problems solved, 1 final.",
        "M01 is open; left: 3 submissions, any number of runs.",
        "E01: solved (1/3, 3/3)",
        "M01: open",
    ]
    assert [event.kind for event in events(store)] == ["fetch", "run", "submit", "submit", "fetch"]


def test_a_fetch_shows_an_open_problem_again_and_is_no_event(session: Open, store: Store) -> None:
    referee = session()
    first = referee.fetch()
    assert referee.fetch() == first
    assert len(events(store)) == 1


def test_every_test_is_run_and_the_count_says_nothing_of_which_passed(session: Open, store: Store) -> None:
    referee = session()
    referee.fetch()
    reply = referee.submit("E01", FIRST)
    assert "verdicts" not in reply.data
    assert "PASS" not in reply.text
    assert events(store)[-1].data["verdicts"] == ["accepted", "wrong_answer", "wrong_answer"]


@pytest.mark.parametrize(
    ("program", "verdicts"),
    [
        (FIRST, ["PASS", "WRONG ANSWER", "WRONG ANSWER"]),
        (INVALID, ["RUNTIME ERROR"] * 3),
        (LOOP, ["RUNTIME ERROR"] * 3),
        ("", ["RUNTIME ERROR"] * 3),
        (COPY, ["PASS"] * 3),
    ],
)
def test_the_feedback_can_be_a_verdict_for_each_test(session: Open, program: str, verdicts: list[str]) -> None:
    referee = session(feedback="verdicts")
    referee.fetch()
    reply = referee.submit("E01", program)
    assert reply.data["verdicts"] == verdicts
    assert [line for line in reply.text.splitlines() if line.startswith("test ")] == [
        f"test {number}: {verdict}" for number, verdict in enumerate(verdicts, 1)
    ]


@pytest.mark.parametrize("submissions", [1, 3])
def test_no_submission_is_taken_after_the_last(session: Open, store: Store, submissions: int) -> None:
    referee = session(submissions=submissions)
    referee.fetch()
    replies = [referee.submit("E01", FIRST) for _ in range(submissions + 2)]
    assert [reply.status for reply in replies] == ["ok"] * submissions + ["refused"] * 2
    assert replies[submissions - 1].text.splitlines()[1] == "Not solved, and final: it was the last submission."
    assert replies[-1].text == "refused: E01: that problem is final, and is not revisited"
    assert refusals(store) == [("submit", "final")] * 2
    assert len(referee.state.problems[0].submissions) == submissions


def test_no_program_is_run_after_the_last_run_and_each_problem_has_its_own(session: Open, store: Store) -> None:
    referee = session(runs=2, submissions=1)
    referee.fetch()
    assert [referee.run(COPY, "").data.get("runs_left") for _ in range(3)] == [1, 0, None]
    assert refusals(store) == [("run", "no_runs")]
    assert referee.submit("E01", FIRST).ok
    referee.fetch()
    assert referee.run(COPY, "x").data["runs_left"] == 1
    assert referee.run(COPY, "x").text.endswith("--- left: 0 runs ---")


@pytest.mark.parametrize(("skip", "status"), [("after_submissions", "refused"), ("never", "refused"), ("always", "ok")])
def test_an_open_problem_is_left_only_where_the_protocol_allows_it(session: Open, skip: str, status: str) -> None:
    referee = session(skip=skip)
    referee.fetch()
    referee.submit("E01", FIRST)
    assert referee.skip().status == status
    assert referee.state.problems[0].skipped == (status == "ok")
    assert referee.fetch().data["problem"] == ("M01" if status == "ok" else "E01")


def test_operations_out_of_order_are_refused_with_a_reason_and_recorded(session: Open, store: Store) -> None:
    referee = session(submissions=1)
    referee.run(COPY, "")
    referee.submit("E01", COPY)
    referee.skip()
    referee.fetch()
    referee.submit("M01", COPY)
    referee.submit("X99\x1b[2J" + "y" * 500, COPY)
    referee.submit("E01", COPY)
    referee.run(COPY, "")
    assert refusals(store) == [
        ("run", "no_problem"),
        ("submit", "not_fetched"),
        ("skip", "no_problem"),
        ("submit", "not_fetched"),
        ("submit", "unknown_problem"),
        ("run", "no_problem"),
    ]
    assert referee.state.solved == 1


def test_when_all_problems_are_final_nothing_is_left_to_do(session: Open) -> None:
    referee = session(task("E01"))
    referee.fetch()
    assert referee.submit("E01", COPY).text.endswith("Every problem is final.")
    assert referee.fetch().text == "refused: every problem is final: the session is complete"
    referee.finish("completed")
    referee.finish("again")
    assert referee.fetch().text == "refused: the session has ended"
    assert referee.export().data["end"] == "completed"


def test_an_output_is_cut_to_a_bound_and_the_reply_says_so(session: Open) -> None:
    referee = session()
    referee.fetch()
    reply = referee.run(COPY, "x" * 5000)
    assert (reply.data["stdout"], reply.data["truncated"]) == ("x" * 4096, True)
    assert reply.text.endswith("--- an output is cut to its first 4096 bytes ---")
    assert not referee.run(COPY, "x" * 4096).data["truncated"]


def test_hostile_characters_of_an_output_are_escaped_in_the_text(session: Open) -> None:
    referee = session()
    referee.fetch()
    reply = referee.run(COPY, "\x1b[2J\x07é\u202e\udcff\n\t.")
    assert reply.text.splitlines()[2:] == ["\\x1b[2J\\x07é\\u202e\N{REPLACEMENT CHARACTER}", "\t."]
    assert reply.text.isprintable() is False  # the line feeds and the tab are there
    assert "\x1b" in reply.data["stdout"]


def test_hostile_bytes_of_a_program_are_run_and_stored(session: Open, store: Store) -> None:
    referee = session()
    referee.fetch()
    assert referee.submit("E01", f"\0\x1b\udcff{COPY}\ud800").data["solved"]
    assert events(store)[-1].program_id is not None


@pytest.mark.parametrize(
    ("program", "first_line"),
    [
        (LOOP, "The program was stopped at its time limit."),
        (INVALID, "The program ended with exit status 1."),
        ("  \n", "There is no program in the file."),
    ],
)
def test_a_run_says_how_the_program_ended(session: Open, program: str, first_line: str) -> None:
    referee = session()
    referee.fetch()
    assert referee.run(program, "").text.splitlines()[0] == first_line


def test_a_program_or_an_input_that_is_too_large_is_refused_unseen(session: Open, store: Store) -> None:
    referee = session()
    referee.fetch()
    assert referee.run("+" * MAX_PROGRAM_BYTES, "x" * MAX_INPUT_BYTES).ok
    assert referee.run("+" * (MAX_PROGRAM_BYTES + 1), "").status == "refused"
    assert referee.run("+", "é" * (MAX_INPUT_BYTES // 2 + 1)).status == "refused"
    assert referee.submit("E01", "+" * (MAX_PROGRAM_BYTES + 1)).status == "refused"
    assert refusals(store) == [("run", "too_large"), ("run", "too_large"), ("submit", "too_large")]


def test_a_sandbox_that_fails_costs_no_submission(session: Open, store: Store) -> None:
    checker = Checker(language="brainfuck", program=LOOP)  # which neither accepts nor rejects
    referee = session(task("E01", compare=Comparison(mode="checker", checker=checker)), submissions=1)
    referee.fetch()
    replies = [referee.submit("E01", COPY) for _ in range(2)]
    assert [reply.status for reply in replies] == ["error", "error"]
    assert "nothing was counted" in replies[0].text
    assert referee.state.submissions_left(0) == 1
    assert refusals(store) == [("submit", "sandbox_error")] * 2


def test_submissions_at_once_take_no_more_than_there_are(session: Open) -> None:
    referee = session(submissions=3)
    referee.fetch()
    start = threading.Barrier(8)

    def submit(_: int) -> str:
        start.wait(10)
        return referee.submit("E01", FIRST).status

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(submit, range(8)))
    assert sorted(statuses) == ["ok"] * 3 + ["refused"] * 5


def test_two_referees_of_one_session_share_its_budget(session: Open, store: Store, pool: Verifier) -> None:
    first = session(submissions=2)
    first.fetch()
    second = Referee(store, "one", pool, LANGUAGE)
    assert first.submit("E01", FIRST).ok
    with pytest.raises(Exception, match="results database"):
        second.submit("E01", FIRST)
    assert second.submit("E01", FIRST).data["final"]
    with pytest.raises(Exception, match="results database"):
        first.submit("E01", FIRST)
    assert first.submit("E01", FIRST).status == "refused"


def test_what_was_refused_elsewhere_is_recorded_up_to_a_bound(
    session: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referee_module, "MAX_RECORDED_REFUSALS", 3)
    referee = session()
    referee.finish("stopped")
    replies = [referee.refuse("forge" * 100, "wrong_key", "refused: a wrong key") for _ in range(5)]
    assert {(reply.status, reply.text) for reply in replies} == {("refused", "refused: a wrong key")}
    assert refusals(store) == [(("forge" * 100)[:100], "wrong_key")] * 3


def test_a_session_in_another_language_is_refused(session: Open, store: Store, pool: Verifier) -> None:
    session()
    with pytest.raises(UsageError, match="is in brainfuck, not in whitespace"):
        Referee(store, "one", pool, load_plugins().language("whitespace"))


OPERATIONS = st.tuples(
    st.sampled_from(["fetch", "fetch", "run", "submit", "submit", "submit", "skip"]),
    st.sampled_from(["E01", "M01"]),
    st.sampled_from([COPY, FIRST]),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OPERATIONS, max_size=12), st.sampled_from(["always", "never"]), st.none() | st.integers(0, 2))
def test_a_session_that_is_read_again_is_the_one_that_was_played(
    store: Store, pool: Verifier, play: list[tuple[str, str, str]], skip: str, runs: int | None
) -> None:
    name = create(store, f"s{next(NUMBERS)}", (task("E01"), task("M01")), skip=skip, runs=runs, submissions=2)
    referee = Referee(store, name, pool, LANGUAGE)
    for operation, problem, program in play:
        match operation:
            case "fetch":
                referee.fetch()
            case "skip":
                referee.skip()
            case "run":
                referee.run(program, "ab")
            case _:
                referee.submit(problem, program)
    again = Referee(store, name, pool, LANGUAGE)
    assert again.state == referee.state
    assert all(len(problem.submissions) <= 2 for problem in again.state.problems)
    with reading(store.engine) as connection:
        first, second = (export_session(connection, name) for _ in range(2))
    assert without_times(first) == without_times(second)
    assert first["totals"]["solved"] == referee.state.solved


NUMBERS = iter(range(10_000))
