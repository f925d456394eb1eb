"""The calls of a session's model in the results database."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import insert

from agnostics.gateway.recording import ModelCall
from agnostics.referee.session_rows import find_session
from agnostics.store import schema
from agnostics.store.database import reading, writing
from agnostics.store.store import Store


class SessionCalls:
    """Records calls of the session called `name`. Raises UsageError for an unknown one."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        with reading(store.engine) as connection:
            self._session_id = find_session(connection, name).id

    def record(self, call: ModelCall) -> None:
        """Commit the row of a call."""
        row = {**asdict(call), "at": call.at.replace(tzinfo=None), "session_id": self._session_id}
        with writing(self._store.engine) as connection:
            connection.execute(insert(schema.model_call).values(row))
