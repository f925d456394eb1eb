"""Commits a run's batches, each exactly once, with retries while the database is unavailable."""

from __future__ import annotations

import logging
import time

from sqlalchemy import Engine

from agnostics.store.database import DatabaseUnavailable, writing
from agnostics.store.writer.batch import Batch, BatchWriter, reserve_ids

RETRY_SECONDS = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0

_log = logging.getLogger(__name__)


class RetryingWriter:
    """Commits the batches of one run, one after another, with retries."""

    def __init__(self, engine: Engine, run: str) -> None:
        self._engine = engine
        self._writer = BatchWriter(run)

    def commit(self, batch: Batch) -> None:
        """Commit `batch` exactly once; retries for a minute if the server is unavailable or the file is locked.

        Raises AgnosticsError, after which no other batch may be committed: it would follow a gap.
        """
        end, pause = time.monotonic() + RETRY_SECONDS, FIRST_PAUSE_S
        while True:
            try:
                return self._commit(batch)
            except DatabaseUnavailable as error:
                self._writer.forget()
                if time.monotonic() + pause > end:
                    raise DatabaseUnavailable(f"{error}; gave up after {RETRY_SECONDS:g} s") from error
                if pause == FIRST_PAUSE_S:
                    _log.warning("%s; trying again for %.0f s", error, RETRY_SECONDS)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _commit(self, batch: Batch) -> None:
        if self._engine.dialect.name == "postgresql" and batch.records and batch.ids is None:
            with writing(self._engine) as connection:
                ids = reserve_ids(connection, len(batch.records))
            batch.ids = ids
        with writing(self._engine) as connection:
            self._writer.write(connection, batch)
