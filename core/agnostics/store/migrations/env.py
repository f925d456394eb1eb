"""Runs migrations within the transaction of the connection that `agnostics.store.version` hands over."""

from __future__ import annotations

from alembic import context

from agnostics.store.schema import metadata
from agnostics.store.version import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
