"""Agent sessions: their problems with the hidden tests, what players did, and the calls of models."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create_agent_session()
    _create_session_problem()
    _create_session_event()
    _create_model_call()


def _id() -> sa.Column[int]:
    return sa.Column("id", _ID, primary_key=True, autoincrement=True)


def _create_agent_session() -> None:
    op.create_table(
        "agent_session",
        _id(),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("finished_at", sa.DateTime),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("language", sa.Text, nullable=False),
        sa.Column("player", sa.Text, nullable=False),
        sa.Column("player_options", sa.JSON, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("protocol", sa.JSON, nullable=False),
        sa.Column("seed", sa.BigInteger),
        sa.Column("agnostics_version", sa.Text, nullable=False),
    )


def _create_session_problem() -> None:
    op.create_table(
        "session_problem",
        sa.Column(
            "session_id",
            _ID,
            sa.ForeignKey("agent_session.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("tier", sa.Text, nullable=False),
        sa.Column("unsolvable", sa.Text),
        sa.Column("task", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_session_event() -> None:
    op.create_table(
        "session_event",
        _id(),
        sa.Column("session_id", _ID, sa.ForeignKey("agent_session.id", ondelete="CASCADE"), nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("position", sa.Integer),
        sa.Column("program_id", _ID, sa.ForeignKey("program.id")),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.UniqueConstraint("session_id", "sequence", name="session_event_in_sequence"),
    )
    op.create_index("session_event_by_program", "session_event", ["program_id"])


def _create_model_call() -> None:
    op.create_table(
        "model_call",
        _id(),
        sa.Column("session_id", _ID, sa.ForeignKey("agent_session.id", ondelete="CASCADE")),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("api", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("prompt_tokens", sa.Integer, nullable=False),
        sa.Column("completion_tokens", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("response", sa.Text, nullable=False),
    )
    op.create_index("model_call_by_session", "model_call", ["session_id"])
