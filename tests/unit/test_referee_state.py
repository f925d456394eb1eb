"""The state of a session: what the rules allow, and that it is the fold of its events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from agnostics.referee.protocol import Protocol
from agnostics.referee.state import Event, Kind, ProblemState, SessionState
from hypothesis import given
from hypothesis import strategies as st

IDS = ("E01", "E02", "M01")
TOTAL = 3
Operation = tuple[Kind, str, int]
"""What a player does: a kind, the problem that it names, and the tests that its program passes."""

protocols = st.builds(
    Protocol,
    name=st.just("any"),
    submissions=st.integers(1, 3),
    runs=st.none() | st.integers(0, 3),
    skip=st.sampled_from(["after_submissions", "always", "never"]),
)
kinds = st.sampled_from(["fetch", "fetch", "run", "submit", "submit", "submit", "skip", "refused", "finish"])
operations = st.tuples(kinds, st.sampled_from([*IDS, "X99"]), st.integers(0, TOTAL))
plays = st.lists(operations, max_size=40)


def data_of(kind: Kind, passed: int) -> dict[str, Any]:
    verdicts = ["accepted"] * passed + ["wrong_answer"] * (TOTAL - passed)
    return {"passed": passed, "total": TOTAL, "verdicts": verdicts} if kind == "submit" else {}


def event_of(state: SessionState, operation: Operation) -> Event | None:
    """The event that a referee makes of an operation; None for a fetch that shows the open problem again."""
    kind, name, passed = operation
    refusal = {
        "fetch": state.why_no_fetch(),
        "run": state.why_no_run(),
        "submit": state.why_no_submit(name),
        "skip": state.why_no_skip(),
        "finish": "finished" if state.finished else None,
    }.get(kind)
    if refusal or kind == "refused":
        return Event(state.sequence, "refused", None)
    if kind == "fetch":
        return Event(state.sequence, kind, state.position + 1) if state.current is None else None
    position = None if kind == "finish" else state.position
    return Event(state.sequence, kind, position, data_of(kind, passed))


def played(start: SessionState, play: list[Operation]) -> Iterator[tuple[SessionState, Event, SessionState]]:
    """The state before each event of a play, the event, and the state after it."""
    state = start
    for operation in play:
        if event := event_of(state, operation):
            before, state = state, state.after(event)
            yield before, event, state


@given(protocols, plays)
def test_the_fold_of_the_events_is_the_state_that_was_played(protocol: Protocol, play: list[Operation]) -> None:
    start = SessionState.start(protocol, IDS)
    steps = list(played(start, play))
    assert start.fold([event for _, event, _ in steps]) == (steps[-1][2] if steps else start)


@given(protocols, plays)
def test_no_play_exceeds_a_budget_or_changes_a_final_problem(protocol: Protocol, play: list[Operation]) -> None:
    for before, event, after in played(SessionState.start(protocol, IDS), play):
        assert after.sequence == before.sequence + 1
        assert before.position <= after.position <= before.position + 1
        for position, problem in enumerate(after.problems):
            assert len(problem.submissions) <= protocol.submissions
            assert protocol.runs is None or problem.runs <= protocol.runs
            assert not (problem.skipped and protocol.skip != "always")
            assert problem.fetched == (position <= after.position)
            if before.is_final(position):
                assert problem == before.problems[position]
        if before.finished or event.kind == "refused":
            assert after.problems == before.problems


@given(protocols, plays, st.sampled_from(["fetch", "run", "submit", "skip", "finish"]), st.integers(-1, len(IDS)))
def test_an_event_that_the_rules_forbid_does_not_fold(
    protocol: Protocol, play: list[Operation], kind: Kind, position: int
) -> None:
    start = SessionState.start(protocol, IDS)
    state = start.fold([event for _, event, _ in played(start, play)])
    event = Event(state.sequence, kind, position, data_of(kind, 0))
    if kind == "finish":
        allowed = False  # it belongs to no problem
    elif kind == "fetch":
        allowed = state.why_no_fetch() is None and state.current is None and position == state.position + 1
    else:
        name = IDS[state.position] if state.position >= 0 else ""
        why = {"run": state.why_no_run(), "submit": state.why_no_submit(name), "skip": state.why_no_skip()}[kind]
        allowed = why is None and position == state.position
    if allowed:
        state.after(event)
        return
    with pytest.raises(ValueError, match="is not allowed"):
        state.after(event)


def test_an_event_out_of_sequence_does_not_fold() -> None:
    state = SessionState.start(Protocol(name="p"), IDS)
    with pytest.raises(ValueError, match="event 1 does not follow event -1"):
        state.after(Event(1, "fetch", 0))


def session(protocol: Protocol, *kinds_and_passed: tuple[Kind, int]) -> SessionState:
    state = SessionState.start(protocol, IDS)
    for kind, passed in kinds_and_passed:
        position = state.position + (kind == "fetch")
        state = state.after(Event(state.sequence, kind, position, data_of(kind, passed)))
    return state


def test_a_problem_is_final_when_a_submission_passes_every_test() -> None:
    state = session(Protocol(name="p"), ("fetch", 0), ("submit", 2), ("submit", 3))
    assert (state.is_final(0), state.solved, state.current, state.submissions_left(0)) == (True, 1, None, 0)
    assert state.why_no_submit("E01") == "final"
    assert state.why_no_submit("E02") == "not_fetched"
    assert state.why_no_submit("E09") == "unknown_problem"
    assert state.why_no_run() == "no_problem"


def test_passes_of_several_submissions_do_not_add_up() -> None:
    state = session(Protocol(name="p"), ("fetch", 0), ("submit", 2), ("submit", 2), ("submit", 1))
    assert (state.is_final(0), state.solved) == (True, 0)


def test_runs_are_counted_for_each_problem() -> None:
    state = session(Protocol(name="p", runs=1, submissions=1), ("fetch", 0), ("run", 0))
    assert state.why_no_run() == "no_runs"
    state = session(Protocol(name="p", runs=1, submissions=1), ("fetch", 0), ("run", 0), ("submit", 0), ("fetch", 0))
    assert state.why_no_run() is None


@pytest.mark.parametrize(
    ("skip", "reason"), [("after_submissions", "skip_policy"), ("never", "skip_policy"), ("always", None)]
)
def test_the_skip_policy_decides_whether_an_open_problem_may_be_left(skip: Any, reason: str | None) -> None:
    state = session(Protocol(name="p", skip=skip), ("fetch", 0), ("submit", 0))
    assert state.why_no_skip() == reason


def test_nothing_follows_the_end_but_refusals() -> None:
    state = SessionState.start(Protocol(name="p", skip="always"), IDS).after(Event(0, "finish", None))
    whys = [state.why_no_fetch(), state.why_no_run(), state.why_no_submit("E01"), state.why_no_skip()]
    assert whys == ["finished"] * 4
    assert state.after(Event(1, "refused", None)).refusals == 1
    with pytest.raises(ValueError, match="finished"):
        state.after(Event(1, "finish", None))


def test_a_session_is_done_when_every_problem_is_final() -> None:
    state = SessionState.start(Protocol(name="p"), IDS[:1])
    done = replace(state, problems=(ProblemState(fetched=True, skipped=True),), position=0)
    assert (state.all_done, done.all_done, done.why_no_fetch()) == (False, True, "all_done")
