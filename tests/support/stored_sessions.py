"""Agent sessions written into a database as a referee writes them: a row, its problems, and one event after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol, load_protocol
from agnostics.referee.session_rows import append_event, create_session, find_session
from agnostics.referee.state import Event, Kind, SessionState
from agnostics.store import Store, schema
from agnostics.store.database import reading, writing
from agnostics.types.task import Task, Test
from sqlalchemy import insert

PRIMARY = load_protocol("primary")
SOLVED = "ok"


def problem(id_: str, tier: str, cases: Sequence[tuple[str, str]], statement: str = "") -> Problem:
    """A problem with these inputs and outputs as hidden tests."""
    tests = tuple(Test(input=given, output=output) for given, output in cases)
    return Problem(Task(id=id_, statement=statement or f"Do {id_}.", tests=tests, difficulty=tier))


def numbered(count: int, tiers: Sequence[str] = ("easy", "extra_hard")) -> list[Problem]:
    """`count` problems P1, P2, ... with two tests, the first half of them in the first tier."""
    return [
        problem(f"P{number + 1}", tiers[number * len(tiers) // count], [(f"{number}", "1"), (f"{number}9", "2")])
        for number in range(count)
    ]


@dataclass
class StoredSession:
    """A session that is played on from its last event."""

    store: Store
    name: str
    problems: Sequence[Problem] = field(default_factory=lambda: numbered(4))
    language: str = "brainfuck"
    player: str = "bare"
    model: str = ""
    protocol: Protocol = PRIMARY
    options: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = "esolang-bench"
    seed: int | None = None

    def __post_init__(self) -> None:
        create_session(
            self.store,
            self.name,
            problems=self.problems,
            protocol=self.protocol,
            language=self.language,
            dataset=self.dataset,
            player=self.player,
            player_options=self.options,
            model=self.model,
            seed=self.seed,
        )
        with reading(self.store.engine) as connection:
            self.id = find_session(connection, self.name).id
        self.state = SessionState.start(self.protocol, [one.id for one in self.problems])

    def play(self, outcomes: str) -> StoredSession:
        """Play a problem for each character: a digit is the number of submissions up to the one that solves it.

        `x` is a problem whose submissions all fail.
        """
        for outcome in outcomes:
            self.event("fetch", self.state.position + 1)
            failed = self.protocol.submissions if outcome == "x" else int(outcome) - 1
            for attempt in range(failed):
                self.submit(f"wrong {self.name} {self.state.position} {attempt}", passes=1)
            if outcome != "x":
                self.submit(f"right {self.name} {self.state.position}")
        return self

    def submit(self, program: str, passes: int | None = None, verdicts: Sequence[str] = ()) -> None:
        """Submit `program`, which passes the first tests, all by default, and has wrong answers in the others."""
        total = len(self.problems[self.state.position].task.tests)
        passed = total if passes is None else passes
        verdicts = verdicts or ["accepted"] * passed + ["wrong_answer"] * (total - passed)
        data = {"passed": verdicts.count("accepted"), "total": total, "verdicts": list(verdicts)}
        self.event("submit", self.state.position, data, program)

    def run(self, program: str, given: str) -> None:
        """Run `program` on an input."""
        self.event("run", self.state.position, {"input": given, "verdict": "accepted", "exit_code": 0}, program)

    def refuse(self, operation: str, reason: str) -> None:
        """Record a refusal."""
        self.event("refused", None, {"operation": operation, "reason": reason})

    def event(
        self, kind: Kind, position: int | None = None, data: Mapping[str, Any] | None = None, program: str | None = None
    ) -> None:
        """Append an event; the rules must allow it."""
        event = append_event(self.store, self.id, Event(self.state.sequence, kind, position, data or {}), program)
        self.state = self.state.after(event)

    def call(self, prompt_tokens: int, completion_tokens: int, seconds: float, status: int = 200) -> None:
        """Record a call of a model."""
        row = {
            **{"session_id": self.id, "at": datetime(2026, 11, 26), "api": "chat", "model": "m", "status": status},
            **{"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "seconds": seconds},
            **{"request": "{}", "response": "{}"},
        }
        with writing(self.store.engine) as connection:
            connection.execute(insert(schema.model_call).values(row))
