"""Smaller rows: programs once only, digests in bytes, whole numbers, long texts compressed; and three more views.

Where a completion belongs stands in its verification only; verdicts of tests are numbers.

SQLite cannot change a column, so its tables are made anew and filled from the old ones; Postgres changes them in place.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from agnostics.store.compressed import compress
from agnostics.store.verdicts import verdict_code_sql, verdict_sql

revision = "0002"
down_revision = "0001"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ADDRESSED = ("language", "task", "program")
_MEASURED = {"wall_ms": ("wall_us", 1000), "cpu_ms": ("cpu_us", 1000), "peak_mb": ("peak_kb", 1024)}

VERIFICATIONS = """
create view verifications as
select v.run_id as run, l.name as language, v.phase, v.step, t.key as task, t.kind, c.sample, v.verdict,
       v.tests_passed, v.tests_total, w.value as reward, w.advantage, c.tokens, c.finish_reason, v.wall_ms, v.sandbox,
       p.text as program, v.compile_message,
       case when c.after is null then c.before else c.before || p.text || c.after end as completion, v.completion_id
from verification v
join completion c on c.id = v.completion_id
join run r on r.id = v.run_id
join language l on l.id = r.language_id
join task t on t.id = v.task_id
left join program p on p.id = v.program_id
left join reward w on w.completion_id = v.completion_id
"""

# SQLite answers row by row where what is grouped comes first and the rest is joined to it on the left.
PASS_RATES = """
create view pass_rates as
select g.run_id as run, g.phase, g.step, t.key as task, t.kind, g.programs, g.accepted,
       g.accepted / cast(g.programs as double precision) as pass_rate
from (select run_id, phase, step, task_id, count(*) as programs,
             sum(case when verdict = 'accepted' then 1 else 0 end) as accepted
      from verification
      where verdict <> 'sandbox_error'
      group by run_id, phase, step, task_id) g
left join task t on t.id = g.task_id
"""

TEST_RESULTS = f"""
create view test_results as
select v.run_id as run, l.name as language, v.phase, v.step, t.key as task, v.completion_id, x.number,
       {verdict_sql("x.verdict")} as verdict,
       x.wall_us / cast(1000 as double precision) as wall_ms, x.cpu_us / cast(1000 as double precision) as cpu_ms,
       x.peak_kb / cast(1024 as double precision) as peak_mb, x.exit_code, x.signal, x.stdout, x.stderr, x.truncated,
       x.difference
from test_result x
join verification v on v.completion_id = x.completion_id
join run r on r.id = v.run_id
join language l on l.id = r.language_id
join task t on t.id = v.task_id
"""

GROUPS = """
create view groups as
select g.run_id as run, l.name as language, g.phase, g.step, t.key as task, t.kind, g.programs, g.accepted,
       g.accepted / cast(g.programs as double precision) as pass_rate, g.mean_reward,
       case when g.lowest < g.highest then sqrt(abs(g.mean_square - g.mean_reward * g.mean_reward))
            when g.lowest is not null then 0 end as reward_spread,
       g.distinct_programs, g.mean_tokens
from (select v.run_id, v.phase, v.step, v.task_id, count(*) as programs,
             sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted,
             avg(w.value) as mean_reward, avg(w.value * w.value) as mean_square,
             min(w.value) as lowest, max(w.value) as highest,
             count(distinct v.program_id) as distinct_programs, avg(cast(c.tokens as double precision)) as mean_tokens
      from verification v
      join completion c on c.id = v.completion_id
      left join reward w on w.completion_id = v.completion_id
      where v.verdict <> 'sandbox_error'
      group by v.run_id, v.phase, v.step, v.task_id) g
left join run r on r.id = g.run_id
left join language l on l.id = r.language_id
left join task t on t.id = g.task_id
"""

FIRST_SOLVED = """
create view first_solved as
select j.run_id as run, t.key as task, t.kind, j.step, j.attempts, j.completion_id
from (select run_id, task_id, step, completion_id, verdict, count(*) over so_far as attempts,
             sum(case when verdict = 'accepted' then 1 else 0 end) over so_far as accepted
      from verification
      where phase = 'train' and verdict <> 'sandbox_error'
      window so_far as (partition by run_id, task_id order by step, completion_id rows unbounded preceding)) j
left join task t on t.id = j.task_id
where j.verdict = 'accepted' and j.accepted = 1
"""


def upgrade() -> None:
    """Change the tables, keep what is in them, and make the views again."""
    op.execute("drop view verifications")
    op.execute("drop view pass_rates")
    op.drop_index("completion_by_step", "completion")
    op.drop_index("verification_by_task", "verification")
    op.drop_index("verification_by_verdict", "verification")
    op.create_index("verification_by_task", "verification", ["task_id"])
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_tables()
    else:
        _alter_tables()
    for view in (VERIFICATIONS, PASS_RATES, TEST_RESULTS, GROUPS, FIRST_SOLVED):
        op.execute(view)


def _alter_tables() -> None:
    for table in _ADDRESSED:
        op.execute(f"alter table {table} alter sha256 type bytea using decode(sha256, 'hex')")
    op.execute("alter table completion add before text, add after text")
    op.execute("update completion set before = text")
    op.execute("""
        update completion c
        set before = left(c.text, strpos(c.text, p.text) - 1),
            after = substr(c.text, strpos(c.text, p.text) + length(p.text))
        from verification v join program p on p.id = v.program_id
        where v.completion_id = c.id and p.text <> '' and strpos(c.text, p.text) > 0
    """)
    belongs = "drop run_id, drop phase, drop step, drop task_id"
    op.execute(f"alter table completion alter before set not null, drop text, {belongs}")
    op.execute(f"alter table test_result alter verdict type smallint using {verdict_code_sql('verdict')}")
    for name, (new, factor) in _MEASURED.items():
        op.execute(f"alter table test_result alter {name} type integer using round({name} * {factor})")
        op.alter_column("test_result", name, new_column_name=new)


def _rebuild_tables() -> None:
    """References are not watched meanwhile (see `agnostics.store.version`): a dropped table would take others along."""
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    driver.create_function("packed", 1, compress, deterministic=True)
    driver.create_function("unhexed", 1, bytes.fromhex, deterministic=True)
    driver.create_function("compact", 1, _compact, deterministic=True)
    driver.create_function("times", 2, lambda value, factor: round(value * factor), deterministic=True)
    _rebuild_addressed()
    _rebuild_completion()
    _rebuild_test_result()
    op.execute("""
        update verification set compile_message = packed(compile_message), error = packed(error)
        where length(compile_message) > 100 or length(error) > 100
    """)


def _compact(value: str | None) -> str | None:
    return value and json.dumps(json.loads(value), separators=(",", ":"))


def _rebuild_addressed() -> None:
    columns = {
        "language": [sa.Column("name", sa.Text, nullable=False), sa.Column("definition", sa.JSON, nullable=False)],
        "task": [
            sa.Column("key", sa.Text, nullable=False),
            sa.Column("kind", sa.Text),
            sa.Column("difficulty", sa.Text),
            sa.Column("statement", sa.Text, nullable=False),
            sa.Column("definition", sa.JSON, nullable=False),
        ],
        "program": [sa.Column("text", sa.Text, nullable=False)],
    }
    for table, others in columns.items():
        digest = sa.Column("sha256", sa.LargeBinary(32), nullable=False, unique=True)
        op.create_table(f"new_{table}", sa.Column("id", _ID, primary_key=True), digest, *others)
        names = ", ".join(column.name for column in others)
        _refill(table, f"id, sha256, {names}", f"select id, unhexed(sha256), {names} from {table} order by id")
    op.create_index("task_by_key", "task", ["key"])


def _rebuild_completion() -> None:
    op.create_table(
        "new_completion",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("finish_reason", sa.Text, nullable=False),
        sa.Column("policy_version", sa.Integer, nullable=False),
    )
    rest = "tokens, finish_reason, policy_version"
    _refill(
        "completion",
        f"id, sample, before, after, {rest}",
        f"""
        select id, sample,
               case when place > 0 then substr(whole, 1, place - 1) else whole end,
               case when place > 0 then substr(whole, place + length(program)) end, {rest}
        from (select c.*, c.text as whole, p.text as program,
                     case when p.text <> '' then instr(c.text, p.text) else 0 end as place
              from completion c
              left join verification v on v.completion_id = c.id
              left join program p on p.id = v.program_id)
        order by id
        """,
    )


def _rebuild_test_result() -> None:
    key = sa.ForeignKey("verification.completion_id", ondelete="CASCADE")
    op.create_table(
        "new_test_result",
        sa.Column("completion_id", _ID, key, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("verdict", sa.SmallInteger, nullable=False),
        *(sa.Column(new, sa.Integer, nullable=False) for new, _ in _MEASURED.values()),
        sa.Column("exit_code", sa.Integer),
        sa.Column("signal", sa.Integer),
        sa.Column("stdout", sa.Text, nullable=False),
        sa.Column("stderr", sa.Text, nullable=False),
        sa.Column("truncated", sa.Boolean, nullable=False),
        sa.Column("difference", sa.JSON(none_as_null=True)),
        sqlite_with_rowid=False,
    )
    measured = ", ".join(f"times({old}, {factor})" for old, (_, factor) in _MEASURED.items())
    rest = "stdout, stderr, truncated, difference"
    numbers = f"{verdict_code_sql('verdict')}, {measured}"
    _refill(
        "test_result",
        f"completion_id, number, verdict, wall_us, cpu_us, peak_kb, exit_code, signal, {rest}",
        f"""
        select completion_id, number, {numbers}, exit_code, signal, packed(stdout), packed(stderr), truncated,
               compact(difference)
        from test_result
        order by completion_id, number
        """,
    )


def _refill(table: str, columns: str, rows: str) -> None:
    op.execute(f"insert into new_{table} ({columns}) {rows}")
    op.drop_table(table)
    op.rename_table(f"new_{table}", table)
