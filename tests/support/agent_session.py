"""An agent session of two small problems in Brainfuck: its database, its referee, and programs that solve them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol
from agnostics.referee.referee import Referee
from agnostics.referee.session_rows import create_session, find_session, read_events
from agnostics.store.database import reading
from agnostics.store.store import Store
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier
from agnostics_lang_esolangs import agn_languages

BRAINFUCK = next(language for language in agn_languages() if language.name == "brainfuck")
ECHO = ",[.,]"
WRONG = "+++."
SECRET = "tulip-7-heron"
"""The input and the output of a hidden test."""


def echo_task(name: str) -> Task:
    """A task that `ECHO` solves, one of whose hidden tests is `SECRET`."""
    tests = (Test(input="a", output="a"), Test(input=SECRET, output=SECRET))
    return Task(id=name, statement="Print the input.", tests=tests, difficulty="easy")


@dataclass(frozen=True)
class AgentSession:
    """A session and what was recorded of it."""

    store: Store
    referee: Referee
    protocol: Protocol
    url: str

    def events(self) -> list[tuple[str, Any]]:
        """The kind of each event, and for a refusal its reason."""
        with reading(self.store.engine) as connection:
            session = find_session(connection, self.referee.name)
            return [(event.kind, event.data.get("reason")) for event in read_events(connection, session.id)]

    def refusals(self) -> list[str]:
        """The reasons of what was refused."""
        return [reason for kind, reason in self.events() if kind == "refused"]


@contextmanager
def agent_session(
    folder: Path, verifier: Verifier, language: Language = BRAINFUCK, **rules: Any
) -> Iterator[AgentSession]:
    """A new session of the problems `one` and `two` in a database in `folder`, under a protocol with these rules."""
    protocol, name = Protocol(name="test", **rules), f"test-{secrets.token_hex(4)}"
    url = f"sqlite:///{folder}/{name}.db"
    with Store.open(url) as store:
        problems = [Problem(echo_task(task)) for task in ("one", "two")]
        create_session(
            store, name, problems=problems, protocol=protocol, language=language.name, dataset="test", player="test"
        )
        yield AgentSession(store, Referee(store, name, verifier, language), protocol, url)
