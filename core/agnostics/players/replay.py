"""The player `replay`: recorded programs, from a file or from an earlier session."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import Connection, select

from agnostics.players.player import Game, Player
from agnostics.referee.referee import Referee
from agnostics.referee.replies import Reply
from agnostics.referee.session_rows import find_session, read_events, read_problems
from agnostics.store import schema
from agnostics.store.database import reading
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.util.settings import absolute_path


@dataclass(frozen=True, slots=True)
class Move:
    """A recorded operation: a submission, or a run if there is an input."""

    program: str
    stdin: str | None = None


Moves = Mapping[str, Sequence[Move]]
"""The recorded operations of each problem, by its id, in their order."""


@dataclass
class Replay(Player):
    """Runs and submits recorded programs in their order, and ends at a problem that it has no program left for.

    Such a problem is skipped where the protocol allows it.
    """

    programs: str = ""
    """A file of JSON lines with `problem`, `program`, and optionally `inputs` to run it on before it is submitted."""
    session: str = ""
    """The name of an earlier session in the same database, whose runs and submissions are repeated."""

    name = "replay"
    description = "Recorded programs, from a file or from an earlier session."
    needs_box = False

    def __post_init__(self) -> None:
        self.programs = absolute_path(self.programs)

    def check_requirements(self) -> None:
        """Raise UsageError unless there is one source of programs, or for a malformed line of the file."""
        if bool(self.programs) == bool(self.session):
            raise UsageError("the player 'replay' needs either --set programs=FILE or --set session=NAME")
        if self.programs:
            moves_of_file(Path(self.programs))

    def play(self, game: Game) -> None:
        """See `Player.play`."""
        moves = self._moves(game)
        while not game.referee.state.all_done:
            _require(game.referee.fetch())
            _play_problem(game.referee, moves)
            if game.referee.state.current is not None:
                if game.referee.state.why_no_skip():
                    return
                _require(game.referee.skip())

    def _moves(self, game: Game) -> Moves:
        if self.programs:
            return moves_of_file(Path(self.programs))
        with reading(game.store.engine) as connection:
            return moves_of_session(connection, self.session)


def _play_problem(referee: Referee, moves: Moves) -> None:
    """Repeat what was recorded for the open problem, from where a session that was interrupted stands."""
    problem, now = referee.state.ids[referee.state.position], referee.state.current
    assert now is not None
    done = now.runs + len(now.submissions)
    for move in _allowed(moves.get(problem, ()), referee.state.protocol.runs)[done:]:
        if referee.state.current is None:
            return
        if move.stdin is None:
            _require(referee.submit(problem, move.program))
        else:
            _require(referee.run(move.program, move.stdin))


def _allowed(moves: Sequence[Move], runs: int | None) -> list[Move]:
    """`moves` without the runs after the first `runs`."""
    kept, left = [], len(moves) if runs is None else runs
    for move in moves:
        if move.stdin is None or left > 0:
            kept.append(move)
            left -= move.stdin is not None
    return kept


def _require(reply: Reply) -> None:
    if not reply.ok:
        raise AgnosticsError(f"the replay cannot go on: {reply.text.splitlines()[0]}")


class _Line(BaseModel):
    """A line of the file."""

    model_config = ConfigDict(extra="forbid")

    problem: str
    program: str
    inputs: list[str] = []


def moves_of_file(path: Path) -> Moves:
    """The operations in a file of JSON lines. Raises UsageError for a missing file or a malformed line."""
    moves = defaultdict[str, list[Move]](list)
    for number, line in _lines(path):
        try:
            record = _Line.model_validate(json.loads(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise UsageError(f"{path}:{number}: {where + ': ' if where else ''}{first['msg']}") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}:{number}: not a line of JSON: {error}") from error
        moves[record.problem] += [Move(record.program, stdin) for stdin in record.inputs]
        moves[record.problem].append(Move(record.program))
    return moves


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def moves_of_session(connection: Connection, name: str) -> Moves:
    """The runs and submissions of a session. Raises UsageError for an unknown one."""
    session = find_session(connection, name)
    ids = [problem.id for problem in read_problems(connection, session.id)]
    event, program = schema.session_event.c, schema.program.c
    used = program.id.in_(select(event.program_id).where(event.session_id == session.id))
    texts = {row.id: row.text for row in connection.execute(select(program.id, program.text).where(used))}
    moves = defaultdict[str, list[Move]](list)
    for one in read_events(connection, session.id):
        if one.kind in {"run", "submit"} and one.position is not None and one.program_id is not None:
            stdin = one.data["input"] if one.kind == "run" else None
            moves[ids[one.position]].append(Move(texts[one.program_id], stdin))
    return moves
