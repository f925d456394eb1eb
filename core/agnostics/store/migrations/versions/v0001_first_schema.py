"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_JSON = sa.JSON(none_as_null=True)

VERIFICATIONS = """
create view verifications as
select v.run_id as run, l.name as language, v.phase, v.step, t.key as task, t.kind, c.sample, v.verdict,
       v.tests_passed, v.tests_total, w.value as reward, w.advantage, c.tokens, c.finish_reason, v.wall_ms, v.sandbox,
       p.text as program, v.compile_message, c.text as completion, v.completion_id
from verification v
join completion c on c.id = v.completion_id
join run r on r.id = v.run_id
join language l on l.id = r.language_id
join task t on t.id = v.task_id
left join program p on p.id = v.program_id
left join reward w on w.completion_id = v.completion_id
"""

PASS_RATES = """
create view pass_rates as
select v.run_id as run, v.phase, v.step, t.key as task, t.kind, count(*) as programs,
       sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted,
       avg(cast(case when v.verdict = 'accepted' then 1 else 0 end as double precision)) as pass_rate
from verification v
join task t on t.id = v.task_id
where v.verdict <> 'sandbox_error'
group by v.run_id, v.phase, v.step, v.task_id, t.key, t.kind
"""


def upgrade() -> None:
    """Make the tables and the views."""
    _create_shared_texts()
    _create_run()
    _create_completion()
    _create_verification()
    _create_test_result()
    _create_figures()
    op.execute(VERIFICATIONS)
    op.execute(PASS_RATES)


def _create_shared_texts() -> None:
    op.create_table(
        "language",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("definition", sa.JSON, nullable=False),
    )
    op.create_table(
        "task",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text),
        sa.Column("difficulty", sa.Text),
        sa.Column("statement", sa.Text, nullable=False),
        sa.Column("definition", sa.JSON, nullable=False),
    )
    op.create_index("task_by_key", "task", ["key"])
    op.create_table(
        "program",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("text", sa.Text, nullable=False),
    )


def _create_run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("language_id", _ID, sa.ForeignKey("language.id"), nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("config", sa.JSON, nullable=False),
        sa.Column("summary", _JSON),
        sa.Column("started_at", sa.DateTime, nullable=False),
        sa.Column("finished_at", sa.DateTime),
    )


def _create_completion() -> None:
    op.create_table(
        "completion",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("task_id", _ID, sa.ForeignKey("task.id"), nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("finish_reason", sa.Text, nullable=False),
        sa.Column("policy_version", sa.Integer, nullable=False),
    )
    op.create_index("completion_by_step", "completion", ["run_id", "phase", "step"])


def _create_verification() -> None:
    op.create_table(
        "verification",
        _key("completion.id"),
        sa.Column("run_id", sa.Text, sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("task_id", _ID, sa.ForeignKey("task.id"), nullable=False),
        sa.Column("program_id", _ID, sa.ForeignKey("program.id")),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("tests_passed", sa.Integer, nullable=False),
        sa.Column("tests_total", sa.Integer, nullable=False),
        sa.Column("wall_ms", sa.Double, nullable=False),
        sa.Column("sandbox", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("unenforced", _JSON),
        sa.Column("error", sa.Text),
        sa.Column("compile_ok", sa.Boolean),
        sa.Column("compile_wall_ms", sa.Double),
        sa.Column("compile_cpu_ms", sa.Double),
        sa.Column("compile_peak_mb", sa.Double),
        sa.Column("compile_exit_code", sa.Integer),
        sa.Column("compile_signal", sa.Integer),
        sa.Column("compile_message", sa.Text),
        sa.Column("compile_truncated", sa.Boolean),
    )
    op.create_index("verification_by_step", "verification", ["run_id", "phase", "step", "task_id", "verdict"])
    op.create_index("verification_by_task", "verification", ["task_id", "verdict"])
    op.create_index("verification_by_verdict", "verification", ["verdict"])
    op.create_index("verification_by_program", "verification", ["program_id"])


def _create_test_result() -> None:
    op.create_table(
        "test_result",
        _key("verification.completion_id"),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("wall_ms", sa.Double, nullable=False),
        sa.Column("cpu_ms", sa.Double, nullable=False),
        sa.Column("peak_mb", sa.Double, nullable=False),
        sa.Column("exit_code", sa.Integer),
        sa.Column("signal", sa.Integer),
        sa.Column("stdout", sa.Text, nullable=False),
        sa.Column("stderr", sa.Text, nullable=False),
        sa.Column("truncated", sa.Boolean, nullable=False),
        sa.Column("difference", _JSON),
        sqlite_with_rowid=False,
    )


def _create_figures() -> None:
    op.create_table(
        "reward",
        _key("completion.id"),
        sa.Column("value", sa.Double),
        sa.Column("advantage", sa.Double),
    )
    op.create_table(
        "step_metric",
        sa.Column("run_id", sa.Text, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Double),
        sqlite_with_rowid=False,
    )


def _key(target: str) -> sa.Column[int]:
    """The number of a completion as a primary key: its rows go where it goes."""
    column: sa.Column[int] = sa.Column(
        "completion_id", _ID, sa.ForeignKey(target, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    return column
