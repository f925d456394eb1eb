"""Postgres no longer looks for each row what completion it belongs to: a third of its time, and always in vain.

SQLite, where that costs a hundredth, goes on; so its tables stay as they are.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

_TABLES = ("verification", "test_result", "reward")


def upgrade() -> None:
    """Drop the references to completions, in Postgres."""
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            op.drop_constraint(f"{table}_completion_id_fkey", table, type_="foreignkey")
