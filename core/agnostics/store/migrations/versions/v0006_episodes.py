"""Episodes: turns, tool calls, and the policy versions of tokens, with views in which single answers are episodes too.

Of a completion from before, the version of its last token is known, and counts for all of them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from agnostics.store.verdicts import verdict_sql

revision = "0006"
down_revision = "0005"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Correlated, so that rows come one after another, and a query pays for the columns that it asks for.
EPISODES = """
create view episodes as
select v.run_id as run, l.name as language, v.phase, v.step, k.key as task, k.family, c.sample, v.verdict,
       w.value as reward,
       coalesce((select max(t.number) from turn t where t.completion_id = v.completion_id), 1) as turns,
       c.tokens as sampled_tokens,
       coalesce((select sum(t.observation_tokens) from turn t where t.completion_id = v.completion_id), 0)
           as observation_tokens,
       (select count(*) from tool_call x where x.completion_id = v.completion_id) as tool_calls,
       (select count(*) from tool_call x where x.completion_id = v.completion_id and not x.ok) as failed_tool_calls,
       case when v.verdict = 'accepted'
            then coalesce((select max(t.number) from turn t where t.completion_id = v.completion_id), 1) end
           as solved_at_turn,
       v.completion_id
from verification v
join completion c on c.id = v.completion_id
join run r on r.id = v.run_id
join language l on l.id = r.language_id
join task k on k.id = v.task_id
left join reward w on w.completion_id = v.completion_id
"""

TURNS = f"""
create view turns as
select v.run_id as run, v.phase, v.step, k.key as task, v.completion_id, coalesce(t.number, 1) as number,
       case when t.text is not null then t.text when c.after is null then c.before
            else c.before || p.text || c.after end as text,
       coalesce(t.tokens, c.tokens) as tokens, coalesce(t.finish_reason, c.finish_reason) as finish_reason,
       t.observation, coalesce(t.observation_tokens, 0) as observation_tokens, {verdict_sql("t.verdict")} as verdict,
       t.reward, t.sampling_us / cast(1000 as double precision) as sampling_ms,
       t.environment_us / cast(1000 as double precision) as environment_ms
from verification v
join completion c on c.id = v.completion_id
join task k on k.id = v.task_id
left join program p on p.id = v.program_id
left join turn t on t.completion_id = v.completion_id
"""

TOOL_CALLS = """
create view tool_calls as
select v.run_id as run, v.phase, v.step, k.key as task, v.completion_id, x.turn, x.number, x.tool, x.arguments,
       x.output, x.ok, x.wall_us / cast(1000 as double precision) as wall_ms
from tool_call x
join verification v on v.completion_id = x.completion_id
join task k on k.id = v.task_id
"""

VERSION_SPANS = """
create view version_spans as
select v.run_id as run, v.phase, v.step, v.completion_id, coalesce(s.first_token, 0) as first_token,
       coalesce(s.tokens, c.tokens) as tokens, coalesce(s.policy_version, c.policy_version) as policy_version
from verification v
join completion c on c.id = v.completion_id
left join version_span s on s.completion_id = v.completion_id
"""


def upgrade() -> None:
    """Create the tables and the views."""
    _create_turn()
    _create_tool_call()
    _create_version_span()
    for view in (EPISODES, TURNS, TOOL_CALLS, VERSION_SPANS):
        op.execute(view)


def _completion_id() -> list[sa.schema.SchemaItem]:
    """The first column of the key; it refers to the completion in SQLite only, as in the other tables."""
    column = sa.Column("completion_id", _ID, primary_key=True, autoincrement=False)
    if op.get_bind().dialect.name == "postgresql":
        return [column]
    return [column, sa.ForeignKeyConstraint(["completion_id"], ["completion.id"], ondelete="CASCADE")]


def _create_turn() -> None:
    op.create_table(
        "turn",
        *_completion_id(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("finish_reason", sa.Text, nullable=False),
        sa.Column("observation_tokens", sa.Integer, nullable=False),
        sa.Column("verdict", sa.SmallInteger),
        sa.Column("reward", sa.Double),
        sa.Column("sampling_us", sa.BigInteger, nullable=False),
        sa.Column("environment_us", sa.BigInteger, nullable=False),
        sa.Column("text", sa.Text),
        sa.Column("observation", sa.Text),
    )


def _create_tool_call() -> None:
    op.create_table(
        "tool_call",
        *_completion_id(),
        sa.Column("turn", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("ok", sa.Boolean, nullable=False),
        sa.Column("wall_us", sa.BigInteger, nullable=False),
        sa.Column("arguments", sa.JSON, nullable=False),
        sa.Column("output", sa.Text, nullable=False),
    )


def _create_version_span() -> None:
    op.create_table(
        "version_span",
        *_completion_id(),
        sa.Column("first_token", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("policy_version", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
