"""Commits a run's batches: again while the database is out of reach, in the end once."""

from __future__ import annotations

import logging
import time

from sqlalchemy import Engine

from agnostics.store.database import Unreachable, writing
from agnostics.store.writer.thread import Batch, BatchWriter, reserved_numbers

RETRY_SECONDS = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0

_log = logging.getLogger(__name__)


class Committer:
    """Commits the batches of one run, one after another."""

    def __init__(self, engine: Engine, run: str) -> None:
        self._engine = engine
        self._writer = BatchWriter(run)

    def commit(self, batch: Batch) -> None:
        """Commit `batch`, once, however often it has to be tried: for a minute where a server is away or a file locked.

        Raises AgnosticsError, after which no other batch may be committed: it would stand on a gap.
        """
        end, pause = time.monotonic() + RETRY_SECONDS, FIRST_PAUSE_S
        while True:
            try:
                return self._commit(batch)
            except Unreachable as error:
                self._writer.forget()
                if time.monotonic() + pause > end:
                    raise Unreachable(f"{error}; given up after {RETRY_SECONDS:g} s") from error
                if pause == FIRST_PAUSE_S:
                    _log.warning("%s; trying again for %.0f s", error, RETRY_SECONDS)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _commit(self, batch: Batch) -> None:
        if self._engine.dialect.name == "postgresql" and batch.records and batch.numbers is None:
            with writing(self._engine) as connection:
                numbers = reserved_numbers(connection, len(batch.records))
            batch.numbers = numbers
        with writing(self._engine) as connection:
            self._writer.write(connection, batch)
