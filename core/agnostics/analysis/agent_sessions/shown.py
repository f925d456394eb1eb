"""The programs of agent sessions and the texts that their players were shown, in the order in which they could be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agnostics.referee.problem import Problem
from agnostics.referee.prompt import session_prompt
from agnostics.referee.session_rows import SessionRow, read_events, read_problems
from agnostics.referee.state import Event
from agnostics.store import schema
from agnostics.types.language import Language

STATEMENTS, PROMPT, LIBRARY, EARLIER = "statements", "prompt", "library", "earlier sessions"
SOURCES = (STATEMENTS, PROMPT, LIBRARY, EARLIER)
"""The sources of texts: the session's statements; its prompt, with the language card and advice; the files of the
library that its protocol puts into the workspace; and the programs that earlier sessions in the language solved
problems with, which no player may see."""
_PORTION = 500


@dataclass(frozen=True, slots=True)
class SubmittedProgram:
    """A program that was submitted for a problem of a session, `attempt` from 1; `data` is that of its event."""

    problem: Problem
    attempt: int
    program: str
    solved: bool
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that a player was or might have been shown; `name` says which one it is of its source.

    `problem` is the id of the problem that it solves; empty for one that is for all.
    """

    source: str
    name: str
    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SessionTexts:
    """A session with its problems, events and submitted programs."""

    row: SessionRow
    problems: tuple[Problem, ...]
    events: tuple[Event, ...]
    programs: tuple[SubmittedProgram, ...]

    def shown(self, language: Language | None) -> Iterator[ShownText]:
        """The statements, the prompt and the library; without the language, which may not be installed here, the
        statements and the advice alone.
        """
        for problem in self.problems:
            yield ShownText(STATEMENTS, problem.id, problem.task.statement)
        prompt = session_prompt(language, self.row.protocol, self.problems) if language else self.row.protocol.advice
        yield ShownText(PROMPT, "", prompt)
        if language and self.row.protocol.library:
            for name, text in language.library.items():
                yield ShownText(LIBRARY, name, text)

    def solutions(self) -> Iterator[ShownText]:
        """The programs that solved problems, as what no later session may be shown."""
        for one in self.programs:
            if one.solved:
                yield ShownText(EARLIER, f"{self.row.name} {one.problem.id}", one.program, one.problem.id)


def session_texts(connection: Connection, row: SessionRow) -> SessionTexts:
    """The texts of a session."""
    problems, events = tuple(read_problems(connection, row.id)), tuple(read_events(connection, row.id))
    submitted = [event for event in events if event.kind == "submit"]
    texts = program_texts(connection, {event.program_id for event in submitted if event.program_id is not None})
    return SessionTexts(row, problems, events, tuple(_programs(problems, submitted, texts)))


def _programs(
    problems: tuple[Problem, ...], submitted: list[Event], texts: Mapping[int, str]
) -> Iterator[SubmittedProgram]:
    attempts = [0] * len(problems)
    for event in submitted:
        if event.position is None or event.program_id is None:
            raise ValueError(f"event {event.sequence} is a submission without a problem or a program")
        attempts[event.position] += 1
        yield SubmittedProgram(
            problems[event.position],
            attempts[event.position],
            texts[event.program_id],
            event.data["passed"] == event.data["total"],
            tuple(event.data["verdicts"]),
        )


def program_texts(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """The texts of programs by their ids."""
    program, texts, wanted = schema.program.c, dict[int, str](), sorted(ids)
    for start in range(0, len(wanted), _PORTION):
        query = select(program.id, program.text).where(program.id.in_(wanted[start : start + _PORTION]))
        texts |= {row.id: row.text for row in connection.execute(query)}
    return texts
