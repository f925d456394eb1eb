"""Agent sessions as they were played: the outcome of each problem, refusals, and the calls of models."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, case, func, select

from agnostics.referee.problem import Problem
from agnostics.referee.session_rows import SessionRow, find_session, read_events, read_problems, session_rows
from agnostics.referee.state import Event, SessionState
from agnostics.store import schema

_FIRST_ERROR = 400
"""The least HTTP status of a failed call."""


@dataclass(frozen=True, slots=True)
class PlayedProblem:
    """What a player did with a problem. `unsolvable` is the reason why no program of the language can solve it."""

    id: str
    tier: str
    unsolvable: str | None
    solved: bool
    final: bool
    submissions: int
    runs: int


@dataclass(frozen=True, slots=True)
class ModelUse:
    """The calls of models in a session; `failed` is the number of those that returned an error."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A session with the outcome of its problems. `tests` is a digest of the problems' ids and hidden tests.

    `refusals` counts refused operations by (operation, reason).
    """

    row: SessionRow
    tests: str
    problems: tuple[PlayedProblem, ...]
    refusals: Mapping[tuple[str, str], int] = field(default_factory=dict)
    use: ModelUse = ModelUse()

    @property
    def is_complete(self) -> bool:
        """Whether every problem is final. Others are partial (appendix A.6)."""
        return all(problem.final for problem in self.problems)

    @property
    def submissions(self) -> int:
        """The submissions of all problems."""
        return sum(problem.submissions for problem in self.problems)

    @property
    def runs(self) -> int:
        """The runs of all problems."""
        return sum(problem.runs for problem in self.problems)


def played_sessions(connection: Connection, names: Sequence[str] = ()) -> list[PlayedSession]:
    """The sessions called `names` in their order of creation, or all. Raises UsageError for an unknown name."""
    known = {find_session(connection, name).id for name in names}
    rows = [row for row in session_rows(connection) if not names or row.id in known]
    uses = _model_uses(connection)
    return [_played(connection, row, uses.get(row.id, ModelUse())) for row in rows]


def _played(connection: Connection, row: SessionRow, use: ModelUse) -> PlayedSession:
    problems, events = read_problems(connection, row.id), read_events(connection, row.id)
    state = SessionState.start(row.protocol, [problem.id for problem in problems]).fold(events)
    outcomes = tuple(_outcome(state, position, problem) for position, problem in enumerate(problems))
    return PlayedSession(row, _digest(problems), outcomes, refusals(events), use)


def _outcome(state: SessionState, position: int, problem: Problem) -> PlayedProblem:
    played = state.problems[position]
    return PlayedProblem(
        problem.id,
        problem.tier,
        problem.unsolvable,
        played.solved,
        state.is_final(position),
        len(played.submissions),
        played.runs,
    )


def refusals(events: Sequence[Event]) -> Counter[tuple[str, str]]:
    """The number of refused operations among `events`, by operation and reason."""
    refused = (event.data for event in events if event.kind == "refused")
    return Counter((str(data["operation"]), str(data["reason"])) for data in refused)


def _digest(problems: Sequence[Problem]) -> str:
    contents = [(problem.id, [(test.input, test.output) for test in problem.task.tests]) for problem in problems]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def _model_uses(connection: Connection) -> dict[int, ModelUse]:
    """The calls of each session that has any, by its id."""
    call = schema.model_call.c
    query = (
        select(
            call.session_id,
            func.count(),
            func.sum(case((call.status >= _FIRST_ERROR, 1), else_=0)),
            func.sum(call.prompt_tokens),
            func.sum(call.completion_tokens),
            func.sum(call.seconds),
        )
        .where(call.session_id.is_not(None))
        .group_by(call.session_id)
    )
    return {
        id_: ModelUse(int(calls), int(failed), int(prompt), int(completion), float(seconds))
        for id_, calls, failed, prompt, completion, seconds in connection.execute(query)
    }
