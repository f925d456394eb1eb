"""The state of an agent session: a fold over its events, and the rules that decide what may follow.

A problem is fetched, run, submitted up to N times, and final when it is solved, out of submissions or skipped (figure
2). A final problem is never revisited. Nothing here reads or writes anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Self, get_args

from agnostics.referee.protocol import Protocol

Kind = Literal["fetch", "run", "submit", "skip", "refused", "finish"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Reason = Literal[
    "finished",
    "all_done",
    "no_problem",
    "unknown_problem",
    "final",
    "not_fetched",
    "no_runs",
    "skip_policy",
    "too_large",
]
"""Why an operation is refused."""


@dataclass(frozen=True, slots=True)
class Event:
    """An operation that a player carried out, or that was refused.

    `data` of `run`: input, verdict, exit_code; of `submit`: passed, total, verdicts; of `refused`: operation, reason;
    of `finish`: reason; otherwise empty.
    """

    sequence: int
    kind: Kind
    position: int | None
    data: Mapping[str, Any] = field(default_factory=dict)
    at: datetime | None = None
    seconds: float = 0.0
    program_id: int | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """The result of a submission: hidden tests passed, of `total`, with the verdict of each."""

    passed: int
    total: int
    verdicts: tuple[str, ...]

    @property
    def solved(self) -> bool:
        """Whether every hidden test passed; there is no partial credit."""
        return self.passed == self.total


@dataclass(frozen=True, slots=True)
class ProblemState:
    """What happened to a problem so far."""

    fetched: bool = False
    runs: int = 0
    submissions: tuple[Submission, ...] = ()
    skipped: bool = False

    @property
    def solved(self) -> bool:
        """Whether one submission passed all hidden tests."""
        return any(submission.solved for submission in self.submissions)


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session after its events so far. `position` is that of the problem fetched last, -1 before the first."""

    protocol: Protocol
    ids: tuple[str, ...]
    problems: tuple[ProblemState, ...]
    position: int = -1
    sequence: int = 0
    """The number of events, and the `sequence` of the next one."""
    refusals: int = 0
    finished: bool = False

    @classmethod
    def start(cls, protocol: Protocol, ids: Sequence[str]) -> Self:
        """The state before the first event."""
        return cls(protocol, tuple(ids), (ProblemState(),) * len(ids))

    def fold(self, events: Iterable[Event]) -> SessionState:
        """The state after `events`. Raises ValueError for one that the rules do not allow."""
        state = self
        for event in events:
            state = state.after(event)
        return state

    @property
    def current(self) -> ProblemState | None:
        """The problem that is open: fetched and not final; None if there is none."""
        return self.problems[self.position] if self.position >= 0 and not self.is_final(self.position) else None

    @property
    def all_done(self) -> bool:
        """Whether every problem is final."""
        return all(self.is_final(position) for position in range(len(self.problems)))

    @property
    def operations(self) -> int:
        """The number of operations that were carried out and changed something."""
        return self.sequence - self.refusals

    @property
    def solved(self) -> int:
        """The number of solved problems: the score."""
        return sum(problem.solved for problem in self.problems)

    def submissions_left(self, position: int) -> int:
        """The submissions that a problem has left; none if it is final."""
        return 0 if self.is_final(position) else self.protocol.submissions - len(self.problems[position].submissions)

    def runs_left(self, position: int) -> int | None:
        """The runs that a problem has left; None for any number."""
        limit = self.protocol.runs
        return None if limit is None else limit - self.problems[position].runs

    def is_final(self, position: int) -> bool:
        """Whether a problem is solved, skipped or out of submissions."""
        problem = self.problems[position]
        return problem.solved or problem.skipped or len(problem.submissions) >= self.protocol.submissions

    def why_no_fetch(self) -> Reason | None:
        """The reason why there is no problem to fetch, or None."""
        return self._ended()

    def why_no_run(self) -> Reason | None:
        """The reason why no program may be run now, or None."""
        if self.current is None:
            return self._ended() or "no_problem"
        return "no_runs" if self.runs_left(self.position) == 0 else self._ended()

    def why_no_submit(self, problem_id: str) -> Reason | None:
        """The reason why `problem_id` takes no submission now, or None."""
        if self.finished:
            return "finished"
        if problem_id not in self.ids:
            return "unknown_problem"
        position = self.ids.index(problem_id)
        if self.is_final(position):
            return "final"
        return None if position == self.position else "not_fetched"

    def why_no_skip(self) -> Reason | None:
        """The reason why the open problem may not be left unsolved, or None.

        `after_submissions` refuses while there are any left; with none, the problem is final and there is none to skip.
        """
        if self.current is None:
            return self._ended() or "no_problem"
        return self._ended() or (None if self.protocol.skip == "always" else "skip_policy")

    def after(self, event: Event) -> SessionState:
        """The state after `event`. Raises ValueError if the rules do not allow it, or it is not the next one."""
        if event.sequence != self.sequence:
            raise ValueError(f"event {event.sequence} does not follow event {self.sequence - 1}")
        state = replace(self, sequence=self.sequence + 1)
        match event.kind:
            case "refused":
                return replace(state, refusals=self.refusals + 1)
            case "finish":
                self._require(event, "finished" if self.finished else None)
                return replace(state, finished=True)
            case "fetch":
                self._require(
                    event, self.why_no_fetch() or ("not_fetched" if self.current else None), self.position + 1
                )
                return replace(state, position=self.position + 1)._with_current(fetched=True)
            case "run":
                self._require(event, self.why_no_run(), self.position)
                return state._with_current(runs=self.problems[self.position].runs + 1)
            case "skip":
                self._require(event, self.why_no_skip(), self.position)
                return state._with_current(skipped=True)
            case "submit":
                self._require(event, self.why_no_submission(), self.position)
                made = self.problems[self.position].submissions
                return state._with_current(submissions=(*made, _submission(event.data)))

    def why_no_submission(self) -> Reason | None:
        """The reason why the open problem takes no submission now, or None."""
        return self._ended() or (None if self.current else "no_problem")

    def _ended(self) -> Reason | None:
        return "finished" if self.finished else "all_done" if self.all_done else None

    def _require(self, event: Event, refusal: Reason | None, position: int | None = None) -> None:
        if refusal or event.position != position:
            raise ValueError(f"event {event.sequence} ({event.kind}) is not allowed: {refusal or 'another problem'}")

    def _with_current(self, **changes: Any) -> SessionState:
        changed = replace(self.problems[self.position], **changes)
        return replace(self, problems=(*self.problems[: self.position], changed, *self.problems[self.position + 1 :]))


def _submission(data: Mapping[str, Any]) -> Submission:
    return Submission(data["passed"], data["total"], tuple(data["verdicts"]))
