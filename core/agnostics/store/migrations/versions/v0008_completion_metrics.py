"""What environments measure of a completion beside its verdict, by name, with a view."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

COMPLETION_METRICS = """
create view completion_metrics as
select v.run_id as run, v.phase, v.step, k.key as task, k.family, v.verdict, v.completion_id, m.name, m.value
from completion_metric m
join verification v on v.completion_id = m.completion_id
join task k on k.id = v.task_id
"""


def upgrade() -> None:
    """Create the table and the view."""
    op.create_table(
        "completion_metric",
        *_completion_id(),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Double),
        sqlite_with_rowid=False,
    )
    op.execute(COMPLETION_METRICS)


def _completion_id() -> list[sa.schema.SchemaItem]:
    """The first column of the key; it refers to the completion in SQLite only, as in the other tables."""
    column = sa.Column("completion_id", _ID, primary_key=True, autoincrement=False)
    if op.get_bind().dialect.name == "postgresql":
        return [column]
    return [column, sa.ForeignKeyConstraint(["completion_id"], ["completion.id"], ondelete="CASCADE")]
