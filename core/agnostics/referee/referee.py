"""The referee of one agent session: every operation of a player is checked, carried out and recorded here."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agnostics.referee.export import as_player_sees, export_session
from agnostics.referee.grading import data_of_run, data_of_submission, task_of_run, why_too_large
from agnostics.referee.problem import Problem
from agnostics.referee.replies import (
    Reply,
    escaped,
    problem_reply,
    refusal_text,
    run_reply,
    status_reply,
    submission_reply,
)
from agnostics.referee.session_rows import append_event, find_session, read_events, read_problems
from agnostics.referee.state import Event, Kind, Reason, SessionState
from agnostics.store.database import reading
from agnostics.store.store import Store
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import Verdict, Verification
from agnostics.verify import Verifier

MAX_RECORDED_REFUSALS = 1000
"""Refusals of a session that are recorded; more are answered alone, so that a flood does not fill the database."""
_ATTEMPTS = 2
"""How often a program is verified whose sandbox fails; the pool tries each time on several slots."""
_MAX_WORD = 100
"""The characters of an operation or a reason that are recorded."""
_TURN_TIMEOUT_S = 3600.0
"""The longest wait for the operations before this one."""


class Referee:
    """The referee of the session called `name`. Safe to use from several threads; its operations run one at a time.

    An operation that changes something is one event, committed before its reply. `on_event` is called after each event
    with the state that it leads to. Raises UsageError for an unknown session, or one in another language. A method
    raises AgnosticsError if the database fails; the operation then did not happen.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        verifier: Verifier,
        language: Language,
        on_event: Callable[[SessionState], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._verifier = verifier
        self._language = language
        self._on_event = on_event
        self._turn = threading.Lock()
        with reading(store.engine) as connection:
            self._session = find_session(connection, name)
            self._problems = read_problems(connection, self._session.id)
        if self._session.language != language.name:
            raise UsageError(f"the session {name!r} is in {self._session.language}, not in {language.name}")
        self._start = SessionState.start(self._session.protocol, [problem.id for problem in self._problems])
        self._state = self._stored_state()
        self._is_stale = False

    @property
    def name(self) -> str:
        """The name of the session."""
        return self._session.name

    @property
    def model(self) -> str:
        """The model that the player asks; empty if none was named."""
        return self._session.model

    @property
    def problems(self) -> list[Problem]:
        """The problems in their order, with their hidden tests: not for a player."""
        return list(self._problems)

    @property
    def state(self) -> SessionState:
        """The state after the last event."""
        return self._state

    def fetch(self) -> Reply:
        """Show the open problem; if there is none, open the next one.

        `data`: problem (id), tier, number, problems, statement, tests (the number of hidden ones), submissions_left,
        runs_left (null for any number). When all problems are final it is refused with the reason `all_done`.
        """
        with self._operation():
            if reason := self._state.why_no_fetch():
                return self._refused("fetch", reason)
            if self._state.current is None:
                self._record("fetch", self._state.position + 1)
            return problem_reply(self._state, self._open_problem())

    def run(self, program: str, stdin: str) -> Reply:
        """Run a program on an input; needs an open problem. Surrogate escapes stand for bytes outside UTF-8.

        `data`: verdict, exit_code, signal, stdout, stderr, truncated (whether an output was cut), runs_left.
        """
        with self._operation() as seconds:
            if reason := self._state.why_no_run() or why_too_large(program, stdin):
                return self._refused("run", reason)
            verification = self._verified(program, task_of_run(self._open_problem().task, stdin))
            if verification is None:
                return self._sandbox_failed("run")
            self._record("run", self._state.position, data_of_run(stdin, verification), program, seconds())
            return run_reply(self._state, verification)

    def submit(self, problem_id: str, program: str) -> Reply:
        """Grade a program on the hidden tests of the open problem.

        `data`: problem, passed, total, solved, final, submissions_left, and with the feedback `verdicts` also verdicts:
        PASS, WRONG ANSWER or RUNTIME ERROR for each test. A sandbox that fails costs no submission.
        """
        with self._operation() as seconds:
            if reason := self._state.why_no_submit(problem_id) or why_too_large(program):
                return self._refused("submit", reason, problem_id)
            verification = self._verified(program, self._open_problem().task)
            if verification is None:
                return self._sandbox_failed("submit")
            self._record("submit", self._state.position, data_of_submission(verification), program, seconds())
            made = self._state.problems[self._state.position].submissions[-1]
            return submission_reply(self._state, problem_id, made)

    def skip(self) -> Reply:
        """Leave the open problem unsolved, where the protocol allows it."""
        with self._operation():
            if reason := self._state.why_no_skip():
                return self._refused("skip", reason)
            problem = self._open_problem().id
            self._record("skip", self._state.position)
            return Reply("ok", escaped(f"{problem} is skipped. Fetch the next problem."), {"problem": problem})

    def status(self) -> Reply:
        """The progress: `data` has solved, final, total, current, finished, and the problems that were fetched."""
        return status_reply(self._state)

    def export(self) -> Reply:
        """The session as JSON (`agnostics.referee.export`), without what the protocol hides from the player."""
        with self._operation(), reading(self._store.engine) as connection:
            export = export_session(connection, self.name)
        data = as_player_sees(export)
        return Reply("ok", escaped(json.dumps(data, indent=2, default=str)), data)

    def refuse(self, operation: str, reason: str, text: str) -> Reply:
        """Record and return a refusal that was decided elsewhere: a wrong key, an unknown operation, an attack.

        It is safe to call at any time, also after the session has finished.
        """
        with self._operation():
            return self._refusal(operation, reason, text)

    def finish(self, reason: str) -> None:
        """End the session: `completed`, or why the player stopped. Without effect on one that has ended."""
        with self._operation():
            if not self._state.finished:
                self._record("finish", None, {"reason": reason})

    @contextmanager
    def _operation(self) -> Iterator[Callable[[], float]]:
        """The turn of one operation; gives a clock of its seconds. If it fails, the state is read again."""
        if not self._turn.acquire(timeout=_TURN_TIMEOUT_S):
            raise AgnosticsError(f"the session {self.name!r} has been busy for {_TURN_TIMEOUT_S:.0f} s")
        start = time.monotonic()
        try:
            if self._is_stale:
                self._state, self._is_stale = self._stored_state(), False
            yield lambda: round(time.monotonic() - start, 6)
        except BaseException:
            self._is_stale = True  # it is unknown whether its event was committed
            raise
        finally:
            self._turn.release()

    def _stored_state(self) -> SessionState:
        with reading(self._store.engine) as connection:
            return self._start.fold(read_events(connection, self._session.id))

    def _open_problem(self) -> Problem:
        return self._problems[self._state.position]

    def _verified(self, program: str, task: Task) -> Verification | None:
        """The verification of a program on every test of a task; None if the sandbox fails each time."""
        for _ in range(_ATTEMPTS):
            verification = self._verifier.verify(self._language, program, task, stop_on_failure=False)
            if verification.verdict is not Verdict.SANDBOX_ERROR:
                return verification
        return None

    def _record(
        self,
        kind: Kind,
        position: int | None,
        data: Mapping[str, Any] | None = None,
        program: str | None = None,
        seconds: float = 0.0,
    ) -> None:
        event = Event(self._state.sequence, kind, position, data or {}, seconds=seconds)
        self._state = self._state.after(append_event(self._store, self._session.id, event, program))
        self._on_event(self._state)

    def _refused(self, operation: str, reason: Reason, subject: str = "") -> Reply:
        return self._refusal(operation, reason, refusal_text(reason, subject))

    def _refusal(self, operation: str, reason: str, text: str) -> Reply:
        data = {"operation": operation[:_MAX_WORD], "reason": reason[:_MAX_WORD]}
        if self._state.refusals < MAX_RECORDED_REFUSALS:
            position = self._state.position if self._state.current else None
            self._record("refused", position, data)
        return Reply("refused", text, data)

    def _sandbox_failed(self, operation: str) -> Reply:
        text = "error: the sandbox failed, so nothing was counted; try it again"
        return replace(self._refusal(operation, "sandbox_error", text), status="error")
