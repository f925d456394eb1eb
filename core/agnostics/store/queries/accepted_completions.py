"""Completions with accepted programs, each program once, with what their prompts were made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.accepted import task_of
from agnostics.store.views import verifications
from agnostics.types.language import Language
from agnostics.types.task import Task

_verification, _completion = schema.verification.c, schema.completion.c
_PORTION = 200


@dataclass(frozen=True, slots=True)
class AcceptedCompletion:
    """The first completion of `run` with this program for this task; `config` holds the run's settings."""

    completion_id: int
    run: str
    task: Task
    language: Language
    config: Mapping[str, Any]
    program: str
    text: str


def accepted_completions(connection: Connection, where: VerificationFilter) -> Iterator[AcceptedCompletion]:
    """The completions that match `where` and ended by themselves, in order: in each run each task's programs once.

    Of episodes, those of one turn: a later one answers the environment, not the prompt (`accepted_episodes`).
    """
    first = func.min(_verification.completion_id).label("first")
    query = (
        select(_verification.run_id, _verification.task_id, first)
        .join(schema.completion, _completion.id == _verification.completion_id)
        .where(
            *replace(where, turns=1).conditions(),
            _verification.verdict == "accepted",
            _verification.program_id.is_not(None),
        )
        .where(_completion.finish_reason == "stop")
        .group_by(_verification.run_id, _verification.task_id, _verification.program_id)
        .order_by(first)
        .execution_options(yield_per=_PORTION)
    )
    run_of, task = cache(lambda run: language_and_config(connection, run)), cache(lambda id_: task_of(connection, id_))
    for portion in connection.execute(query).partitions():
        texts = _texts(connection, [row.first for row in portion])
        for row in portion:
            made_of = (task(row.task_id), *run_of(row.run_id))
            yield AcceptedCompletion(row.first, row.run_id, *made_of, *texts[row.first])


def _texts(connection: Connection, completions: list[int]) -> dict[int, tuple[str, str]]:
    """The program and the whole text of each completion."""
    view = verifications.c
    query = select(view.completion_id, view.program, view.completion).where(view.completion_id.in_(completions))
    return {id_: (program, text) for id_, program, text in connection.execute(query)}


def language_and_config(connection: Connection, run: str) -> tuple[Language, Mapping[str, Any]]:
    """The language and the configuration of `run`, as they were stored."""
    language = schema.language.c
    query = select(language.name, language.definition, schema.run.c.config).join_from(schema.run, schema.language)
    name, definition, config = connection.execute(query.where(schema.run.c.id == run)).one()
    return Language(name=name, **definition), config
