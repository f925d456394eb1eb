"""The export of an agent session from the database alone, in the format of the paper's harness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from sqlalchemy import Connection, select

from agnostics.referee.problem import Problem
from agnostics.referee.session_rows import SessionRow, find_session, read_events, read_problems, session_rows
from agnostics.referee.state import Event, SessionState
from agnostics.store import schema
from agnostics.types.verification import Verdict

RESULTS = {Verdict.ACCEPTED: "PASS", Verdict.WRONG_ANSWER: "WRONG ANSWER"}
"""The words of appendix A.12.1 for the verdicts on tests; any other one is a RUNTIME ERROR."""


def result_of_test(verdict: str) -> str:
    """The word of the paper for the verdict on a test."""
    return RESULTS.get(Verdict(verdict), "RUNTIME ERROR")


def export_session(connection: Connection, name: str) -> dict[str, Any]:
    """The session called `name` as JSON values; the same for the same events. Raises UsageError for an unknown one.

    Keys of the paper's harness: language, current_index, current_problem, initialized_at, and problems by id with
    status (pending, active, solved, failed or skipped), submissions (attempt, results, passed, total, submitted_at),
    best_score, fetched_at and finished_at. Further ones: session, dataset, player, player_options, model, protocol,
    seed, agnostics_version, complete (every problem is final), totals, tiers, finished_at, end (why), and of a problem
    tier, tests, unsolvable, runs and seconds. Two sessions of the same operations differ in times alone: in the name,
    and in the keys that end in `_at` and `seconds`.
    """
    session = find_session(connection, name)
    problems, events = read_problems(connection, session.id), read_events(connection, session.id)
    state = SessionState.start(session.protocol, [problem.id for problem in problems]).fold(events)
    digests = _program_digests(connection, session.id)
    exported = [_problem(state, problem, position, events, digests) for position, problem in enumerate(problems)]
    return {
        "session": session.name,
        "dataset": session.dataset,
        "language": session.language,
        "player": session.player,
        "player_options": dict(session.player_options),
        "model": session.model,
        "protocol": session.protocol.model_dump(),
        "seed": session.seed,
        "agnostics_version": session.agnostics_version,
        "complete": state.all_done,
        "end": _end(events),
        "initialized_at": session.created_at.isoformat(),
        "finished_at": _time(session.finished_at),
        "current_index": state.position + 1,
        "current_problem": state.ids[state.position] if state.current else None,
        "totals": {**_totals(exported), "refusals": state.refusals},
        "tiers": {tier: _totals([one for one in exported if one["tier"] == tier]) for tier in _tiers(exported)},
        "problems": {problem.id: one for problem, one in zip(problems, exported, strict=True)},
    }


def session_summaries(connection: Connection) -> list[dict[str, Any]]:
    """Every session in the order of creation, with its score; `state` is open, completed or why the player stopped."""
    return [_summary(connection, session) for session in session_rows(connection)]


def _summary(connection: Connection, session: SessionRow) -> dict[str, Any]:
    problem = schema.session_problem.c
    query = select(problem.task_id).where(problem.session_id == session.id).order_by(problem.position)
    ids, events = list(connection.scalars(query)), read_events(connection, session.id)
    state = SessionState.start(session.protocol, ids).fold(events)
    return {
        "session": session.name,
        "language": session.language,
        "player": session.player,
        "model": session.model,
        "protocol": session.protocol.name,
        "dataset": session.dataset,
        "seed": session.seed,
        "solved": state.solved,
        "final": sum(map(state.is_final, range(len(ids)))),
        "problems": len(ids),
        "state": _end(events) or "open",
    }


def _end(events: Sequence[Event]) -> str | None:
    """The reason why the session has ended; None if it has not."""
    return next((event.data["reason"] for event in events if event.kind == "finish"), None)


def as_player_sees(export: Mapping[str, Any]) -> dict[str, Any]:
    """`export` without what a player must not know during the session."""
    hidden = {"unsolvable", "player_options", "seed"}
    if export["protocol"]["feedback"] == "count":
        hidden.add("results")
    return {key: _without(value, hidden) for key, value in export.items() if key not in hidden}


def _without(value: Any, keys: Set[str]) -> Any:
    """A JSON value without `keys`, at every depth."""
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _problem(
    state: SessionState, problem: Problem, position: int, events: Sequence[Event], digests: Mapping[int, str]
) -> dict[str, Any]:
    now, of_problem = state.problems[position], [event for event in events if event.position == position]
    fetched = next((event for event in of_problem if event.kind == "fetch"), None)
    final = next((event for event in reversed(of_problem) if event.kind in {"submit", "skip"}), None)
    return {
        "tier": problem.tier,
        "tests": len(problem.task.tests),
        "unsolvable": problem.unsolvable,
        "status": _status(state, position),
        "best_score": max((submission.passed for submission in now.submissions), default=0),
        "runs": now.runs,
        "submissions": list(_submissions(of_problem, digests)),
        "fetched_at": _time(fetched.at if fetched else None),
        "finished_at": _time(final.at if final and state.is_final(position) else None),
        "seconds": round(sum(event.seconds for event in of_problem), 6),
    }


def _submissions(events: Sequence[Event], digests: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    for attempt, event in enumerate((event for event in events if event.kind == "submit"), 1):
        yield {
            "attempt": attempt,
            "program_sha256": digests[event.program_id or 0],
            "results": [result_of_test(verdict) for verdict in event.data["verdicts"]],
            "passed": event.data["passed"],
            "total": event.data["total"],
            "submitted_at": _time(event.at),
        }


def _status(state: SessionState, position: int) -> str:
    problem = state.problems[position]
    if problem.solved:
        return "solved"
    if problem.skipped:
        return "skipped"
    if state.is_final(position):
        return "failed"
    return "active" if problem.fetched else "pending"


def _totals(problems: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Of all problems, or of a tier; without partial credit the score is `solved`."""
    statuses = Counter(problem["status"] for problem in problems)
    return {
        "problems": len(problems),
        "solved": statuses["solved"],
        "failed": statuses["failed"],
        "skipped": statuses["skipped"],
        "unsolvable": sum(problem["unsolvable"] is not None for problem in problems),
        "submissions": sum(len(problem["submissions"]) for problem in problems),
        "runs": sum(problem["runs"] for problem in problems),
        "tests_passed": sum(problem["best_score"] for problem in problems),
        "tests": sum(problem["tests"] for problem in problems),
    }


def _tiers(problems: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tiers in the order of their first problem."""
    return list(dict.fromkeys(problem["tier"] for problem in problems))


def _program_digests(connection: Connection, session_id: int) -> dict[int, str]:
    """The first half of the SHA-256 of the programs of a session, by id."""
    event, program = schema.session_event.c, schema.program.c
    query = select(program.id, program.sha256).where(
        program.id.in_(select(event.program_id).where(event.session_id == session_id))
    )
    return {row.id: row.sha256.hex() for row in connection.execute(query)}


def _time(time: Any) -> str | None:
    return None if time is None else time.isoformat()
