"""Accepted episodes with their turns, and what their prompts were made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import Connection, exists, or_, select

from agnostics.store import schema
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.accepted import task_of
from agnostics.store.queries.accepted_completions import language_and_config
from agnostics.store.views import turns
from agnostics.types.language import Language
from agnostics.types.task import Task

_verification, _completion, _turn = schema.verification.c, schema.completion.c, schema.turn.c
_PORTION = 200


@dataclass(frozen=True, slots=True)
class AcceptedTurn:
    """An action, and what the environment answered; `used_tools` says that the answer is the output of tools."""

    text: str
    observation: str | None
    used_tools: bool


@dataclass(frozen=True, slots=True)
class AcceptedEpisode:
    """An accepted episode of `run`; `config` holds the run's settings."""

    completion_id: int
    run: str
    task: Task
    language: Language
    config: Mapping[str, Any]
    turns: tuple[AcceptedTurn, ...]


def accepted_episodes(connection: Connection, where: VerificationFilter) -> Iterator[AcceptedEpisode]:
    """The episodes that match `where`, were accepted and have no truncated turn, in order.

    They have several turns, or one with an answer that is no program.
    """
    query = (
        select(_verification.completion_id, _verification.run_id, _verification.task_id)
        .join(schema.completion, _completion.id == _verification.completion_id)
        .where(*replace(where, verdicts=("accepted",)).conditions(), _completion.finish_reason == "stop")
        .where(or_(_verification.program_id.is_(None), _has_turn(_turn.number > 1)))
        .where(~_has_turn(_turn.finish_reason != "stop"))
        .order_by(_verification.completion_id)
        .execution_options(yield_per=_PORTION)
    )
    run_of, task = cache(lambda run: language_and_config(connection, run)), cache(lambda id_: task_of(connection, id_))
    for portion in connection.execute(query).partitions():
        turns_of = _turns(connection, [row.completion_id for row in portion])
        for id_, run, task_id in portion:
            yield AcceptedEpisode(id_, run, task(task_id), *run_of(run), tuple(turns_of[id_]))


def _has_turn(condition: Any) -> Any:
    return exists().where(_turn.completion_id == _verification.completion_id, condition)


def _turns(connection: Connection, completions: Sequence[int]) -> dict[int, list[AcceptedTurn]]:
    """The turns of each completion, in order."""
    call, view = schema.tool_call.c, turns.c
    used = select(call.completion_id, call.turn).where(call.completion_id.in_(completions)).distinct()
    with_tools = {tuple(row) for row in connection.execute(used)}
    query = select(view.completion_id, view.number, view.text, view.observation)
    found = defaultdict[int, list[AcceptedTurn]](list)
    rows = connection.execute(
        query.where(view.completion_id.in_(completions)).order_by(view.completion_id, view.number)
    )
    for id_, number, text, observation in rows:
        found[id_].append(AcceptedTurn(text, observation, (id_, number) in with_tools))
    return found
