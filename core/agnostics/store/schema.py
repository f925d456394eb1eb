"""The tables of the results database, as the newest migration leaves them.

Texts that many rows share (programs, tasks, languages) are stored once and keyed by half a sha256. Times are UTC.
The run, phase, step and task of a completion are columns of its verification; one index covers them and the verdict, so
that rates over steps and tasks are read from the index alone.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from agnostics.store.compressed import CompressedText
from agnostics.store.verdicts import VerdictCode

metadata = MetaData()

_Id = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> Column[int]:
    return Column("id", _Id, primary_key=True, autoincrement=True)


def _sha256() -> Column[bytes]:
    return Column("sha256", LargeBinary(16), nullable=False, unique=True)


def _reference(name: str, target: str, **options: Any) -> Column[Any]:
    return Column(name, ForeignKey(target, ondelete="CASCADE"), **{"nullable": False, **options})


def _completion_id(target: str) -> tuple[Column[int], ForeignKeyConstraint]:
    """The primary key of a table with rows per completion; a foreign key in SQLite only.

    All rows of a completion are inserted in one transaction and deleted in one (`agnostics.store.deletion`); checking
    the foreign key of each row would cost a Postgres server half as much time again.
    """
    key = ForeignKeyConstraint(["completion_id"], [target], ondelete="CASCADE").ddl_if(dialect="sqlite")
    return Column("completion_id", _Id, primary_key=True, autoincrement=False), key


language = Table(
    "language",
    metadata,
    _id(),
    _sha256(),
    Column("name", Text, nullable=False),
    Column("definition", JSON, nullable=False),
)
"""The configuration of a language as a run used it."""

run = Table(
    "run",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("language_id", ForeignKey("language.id"), nullable=False),
    Column("model", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("config", JSON, nullable=False),
    Column("summary", JSON(none_as_null=True)),
    Column("started_at", DateTime, nullable=False),
    Column("finished_at", DateTime),
)
"""A training or evaluation run; `status` is running, finished, interrupted or failed."""

task = Table(
    "task",
    metadata,
    _id(),
    _sha256(),
    Column("key", Text, nullable=False),
    Column("family", Text),
    Column("difficulty", Text),
    Column("statement", Text, nullable=False),
    Column("definition", JSON, nullable=False),
    Index("task_by_key", "key"),
)
"""A task as a run used it: `key` is its id in the data set, `definition` its other fields, tests included."""

program = Table("program", metadata, _id(), _sha256(), Column("text", Text, nullable=False))
"""The source text of programs, each once."""

completion = Table(
    "completion",
    metadata,
    _id(),
    Column("sample", Integer, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text),
    Column("tokens", Integer, nullable=False),
    Column("finish_reason", Text, nullable=False),
    Column("policy_version", Integer, nullable=False),
)
"""The completion of a model, without its program.

The text is split into the parts `before` and `after` the program. If there is no program, or it is not part of the text
verbatim, the whole text is in `before` and `after` is null.
"""

verification = Table(
    "verification",
    metadata,
    *_completion_id("completion.id"),
    _reference("run_id", "run.id"),
    Column("phase", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("task_id", ForeignKey("task.id"), nullable=False),
    Column("program_id", ForeignKey("program.id")),
    Column("verdict", Text, nullable=False),
    Column("tests_passed", Integer, nullable=False),
    Column("tests_total", Integer, nullable=False),
    Column("wall_ms", Double, nullable=False),
    Column("sandbox", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("unenforced", JSON(none_as_null=True)),
    Column("error", CompressedText),
    Column("compile_ok", Boolean),
    Column("compile_wall_ms", Double),
    Column("compile_cpu_ms", Double),
    Column("compile_peak_mb", Double),
    Column("compile_exit_code", Integer),
    Column("compile_signal", Integer),
    Column("compile_message", CompressedText),
    Column("compile_truncated", Boolean),
    Index("verification_by_step", "run_id", "phase", "step", "task_id", "verdict"),
    Index("verification_by_run", "run_id"),
    Index("verification_by_task", "task_id"),
    Index("verification_by_program", "program_id"),
)
"""The verification of a completion; `phase` is one of `agnostics.types.rollout.PHASES`.

`program_id` is null if the completion has no program, `compile_*` if nothing was compiled.
"""

test_result = Table(
    "test_result",
    metadata,
    *_completion_id("verification.completion_id"),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("verdict", VerdictCode, nullable=False),
    Column("wall_us", Integer, nullable=False),
    Column("cpu_us", Integer, nullable=False),
    Column("peak_kb", Integer, nullable=False),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("stdout", CompressedText, nullable=False),
    Column("stderr", CompressedText, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("difference", JSON(none_as_null=True)),
    sqlite_with_rowid=False,
)
"""The result of each test, numbered from 1; `difference` is the first difference from the expected output."""

reward = Table(
    "reward",
    metadata,
    *_completion_id("completion.id"),
    Column("value", Double),
    Column("advantage", Double),
)
"""The reward of a completion, null if it was left out of the loss, and its advantage within its group."""

turn = Table(
    "turn",
    metadata,
    *_completion_id("completion.id"),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("tokens", Integer, nullable=False),
    Column("finish_reason", Text, nullable=False),
    Column("observation_tokens", Integer, nullable=False),
    Column("verdict", VerdictCode),
    Column("reward", Double),
    Column("sampling_us", BigInteger, nullable=False),
    Column("environment_us", BigInteger, nullable=False),
    Column("text", CompressedText),
    Column("observation", CompressedText),
)
"""The turns of episodes, numbered from 1; none for a single answer (`Rollout.is_single_answer`).

`text` is null in the last turn, whose text is the completion's. `verdict` and `reward` are those of the turn, null if
it has none; `observation` is null after the last action.
"""

tool_call = Table(
    "tool_call",
    metadata,
    *_completion_id("completion.id"),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("tool", Text, nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("wall_us", BigInteger, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("output", CompressedText, nullable=False),
)
"""The tool calls of turns, numbered from 1 in each; `ok` is false for one that failed or could not be read."""

version_span = Table(
    "version_span",
    metadata,
    *_completion_id("completion.id"),
    Column("first_token", Integer, primary_key=True, autoincrement=False),
    Column("tokens", Integer, nullable=False),
    Column("policy_version", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""Consecutive sampled tokens of one policy version; none for a completion that one version sampled.

`first_token` is the index of the first one among the sampled tokens of the completion, from 0.
"""

completion_metric = Table(
    "completion_metric",
    metadata,
    *_completion_id("completion.id"),
    Column("name", Text, primary_key=True),
    Column("value", Double),
    sqlite_with_rowid=False,
)
"""What the environment has measured of a completion, by name; null if a value was not a finite number.

Most environments measure nothing but the verdict.
"""

step_metric = Table(
    "step_metric",
    metadata,
    _reference("run_id", "run.id", primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("value", Double),
    sqlite_with_rowid=False,
)
"""The metrics of each step by name; null if a value was not a finite number."""

agent_session = Table(
    "agent_session",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", DateTime, nullable=False),
    Column("finished_at", DateTime),
    Column("dataset", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("player", Text, nullable=False),
    Column("player_options", JSON, nullable=False),
    Column("model", Text, nullable=False),
    Column("protocol", JSON, nullable=False),
    Column("seed", BigInteger),
    Column("agnostics_version", Text, nullable=False),
)
"""One player that goes through the problems of a data set in one language (`agnostics.referee`).

`model` is empty for a player without one; `protocol` holds the fields of `agnostics.referee.protocol.Protocol`;
`seed` is that of fresh hidden tests, null for the tests of the data set.
"""

session_problem = Table(
    "session_problem",
    metadata,
    _reference("session_id", "agent_session.id", primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("task_id", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("unsolvable", Text),
    Column("task", CompressedText, nullable=False),
    sqlite_with_rowid=False,
)
"""The problems of a session in their order, from 0. `task` is the whole task as JSON, with its hidden tests.

`unsolvable` is the reason why no program of the language can solve it, null if none is known.
"""

session_event = Table(
    "session_event",
    metadata,
    _id(),
    _reference("session_id", "agent_session.id"),
    Column("sequence", Integer, nullable=False),
    Column("at", DateTime, nullable=False),
    Column("kind", Text, nullable=False),
    Column("position", Integer),
    Column("program_id", ForeignKey("program.id")),
    Column("seconds", Double, nullable=False),
    Column("data", JSON, nullable=False),
    UniqueConstraint("session_id", "sequence", name="session_event_in_sequence"),
    Index("session_event_by_program", "program_id"),
)
"""What a player did in a session, in `sequence` from 0; `kind` is one of `agnostics.referee.state.KINDS`.

`position` is that of the problem, null if none was open; `seconds` is the time that the operation took; `data` holds
what its kind needs (`agnostics.referee.state.Event`).
"""

model_call = Table(
    "model_call",
    metadata,
    _id(),
    _reference("session_id", "agent_session.id", nullable=True),
    Column("at", DateTime, nullable=False),
    Column("api", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("status", Integer, nullable=False),
    Column("request", CompressedText, nullable=False),
    Column("response", CompressedText, nullable=False),
    Index("model_call_by_session", "session_id"),
)
"""A call of a model through the gateway. `api` is chat, responses or messages; `status` is that of HTTP.

`request` and `response` are JSON texts; a streamed response is stored as its events.
"""
