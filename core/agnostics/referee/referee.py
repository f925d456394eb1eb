"""The referee of one agent session: every operation of a player is checked, carried out and recorded here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol
from agnostics.referee.state import SessionState
from agnostics.store.store import Store
from agnostics.types.language import Language
from agnostics.verify import Verifier

Status = Literal["ok", "refused", "error"]
EXIT_STATUS: Mapping[Status, int] = {"ok": 0, "refused": 1, "error": 2}
"""The exit status of the client in the box."""
MAX_PROGRAM_BYTES = 1 << 20
"""The largest program that is run or graded."""
MAX_INPUT_BYTES = 1 << 16
"""The largest input of a run."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to an operation: `text` for a terminal, hostile characters escaped, and the same as `data` for JSON.

    `refused`: the rules do not allow it, and nothing was spent. `error`: it could not be carried out.
    """

    status: Status
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the operation was carried out."""
        return self.status == "ok"


class Referee:
    """The referee of the session called `name`. Safe to use from several threads; its operations run one at a time.

    An operation that changes something is one event, committed before its reply. Raises UsageError for an unknown
    session or one in another language. `on_event` is called after each event with the state that it leads to.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        verifier: Verifier,
        language: Language,
        on_event: Callable[[SessionState], None] = lambda _: None,
    ) -> None:
        raise NotImplementedError

    @property
    def state(self) -> SessionState:
        """The state after the last event."""
        raise NotImplementedError

    def fetch(self) -> Reply:
        """Show the open problem; if there is none, open the next one.

        `data`: problem (id), tier, statement, tests (the number of hidden ones), submissions_left, runs_left (null for
        any number). When all problems are final it is refused with the reason `all_done`.
        """
        raise NotImplementedError

    def run(self, program: str, stdin: str) -> Reply:
        """Run a program on an input; needs an open problem. Surrogate escapes stand for bytes outside UTF-8.

        `data`: verdict, exit_code, stdout, stderr, truncated (whether an output was cut), runs_left.
        """
        raise NotImplementedError

    def submit(self, problem_id: str, program: str) -> Reply:
        """Grade a program on the hidden tests of the open problem.

        `data`: problem, passed, total, solved, final, submissions_left, and with the feedback `verdicts` also verdicts:
        PASS, WRONG ANSWER or RUNTIME ERROR for each test. A sandbox that fails costs no submission.
        """
        raise NotImplementedError

    def skip(self) -> Reply:
        """Leave the open problem unsolved, where the protocol allows it."""
        raise NotImplementedError

    def status(self) -> Reply:
        """The progress so far: `data` has solved, final, total, and problems with their submissions."""
        raise NotImplementedError

    def export(self) -> Reply:
        """The session as JSON; see `agnostics.referee.export`."""
        raise NotImplementedError

    def refuse(self, operation: str, reason: str, text: str) -> Reply:
        """Record and return a refusal that was decided elsewhere: a wrong key, an unknown operation, an attack.

        It is safe to call at any time, also after the session has finished.
        """
        raise NotImplementedError

    def finish(self, reason: str) -> None:
        """End the session: `completed`, or why the player stopped. Without effect on one that has ended."""
        raise NotImplementedError


def create_session(
    store: Store,
    name: str,
    *,
    problems: Sequence[Problem],
    protocol: Protocol,
    language: str,
    dataset: str,
    player: str,
    player_options: Mapping[str, Any] | None = None,
    model: str = "",
    seed: int | None = None,
) -> None:
    """Insert a new session with its problems. Raises UsageError if the name is taken or not one."""
    raise NotImplementedError
