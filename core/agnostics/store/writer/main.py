"""The program of the process that commits a run's batches: the far side of `CommittingProcess`."""

from __future__ import annotations

import gc
import logging
import os
import sys
from typing import IO

import msgspec
from sqlalchemy import URL

from agnostics.store.database import connect
from agnostics.store.writer.commit import Committer
from agnostics.store.writer.wire import Answer, Opening, Unpacker, read_frame, write_frame
from agnostics.types.errors import AgnosticsError
from agnostics.util.subprocesses import die_with_parent

_PRIORITY = 10
"""By how much who trains comes first where both want a processor (`nice`)."""
_OBJECTS = 10_000
"""New objects after which garbage is looked for: rows are many and no garbage, and 700 take a quarter more time."""


class _Notices(logging.Handler):
    """Gives what is logged to the other side, which prints it in its own way."""

    def __init__(self, answers: IO[bytes]) -> None:
        super().__init__(logging.WARNING)
        self._answers = answers

    def emit(self, record: logging.LogRecord) -> None:
        _say(self._answers, Answer("notice", record.getMessage()))


def _say(answers: IO[bytes], answer: Answer) -> None:
    write_frame(answers, msgspec.msgpack.encode(answer))
    answers.flush()


def main() -> None:
    """Commit what comes on standard input until it ends, and say so on standard output, which nobody else writes to."""
    frames = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        logging.getLogger().addHandler(_Notices(answers))
        opening = msgspec.msgpack.decode(read_frame(frames) or sys.exit(1), type=Opening)
        die_with_parent(opening.parent)
        os.nice(_PRIORITY)
        gc.set_threshold(_OBJECTS)
        _commit_all(opening, frames, answers)


def _commit_all(opening: Opening, frames: IO[bytes], answers: IO[bytes]) -> None:
    committer, unpacker = Committer(connect(URL.create(**opening.url)), opening.run), Unpacker()
    try:
        while (frame := read_frame(frames)) is not None:
            if batch := unpacker.add(frame):
                committer.commit(batch)
                _say(answers, Answer("committed"))
    except AgnosticsError as error:
        _say(answers, Answer("failed", str(error)))


if __name__ == "__main__":
    main()
