"""The runs that scaling laws are fitted to: finished ones of supervised fine-tuning with a validation loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from agnostics.store import schema

_RUNS = """
select r.id as run, r.model, r.config, m.steps, m.tokens, m.compute, v.value as loss
from run r
join (select run_id, max(step) as steps,
             sum(case when name = 'tokens' then value end) as tokens,
             sum(case when name = 'flop' then value end) as compute
      from step_metric where name in ('tokens', 'flop') group by run_id) m on m.run_id = r.id
left join step_metric v on v.run_id = r.id and v.step = m.steps and v.name = 'eval_during_loss'
where r.kind = 'sft' and r.status = 'finished'
order by r.started_at, r.id
"""


@dataclass(frozen=True, slots=True)
class ScalingRun:
    """A run as a point of a scaling law. `loss` is the validation loss after the last step, in nats per token.

    `compute` is in floating point operations (`agnostics.models.flop`), `batch_tokens` the mean over steps, and
    `learning_rate` the highest one; `validation` identifies the examples of the validation.
    """

    run: str
    model: str
    compute: float
    tokens: int
    batch_tokens: float
    learning_rate: float
    loss: float
    validation: str


def scaling_runs(connection: Connection, runs: Iterable[str] = ()) -> tuple[list[ScalingRun], int]:
    """The finished runs among `runs`, by default among all; and how many of them have no finite validation loss."""
    named = set(runs)
    query = text(_RUNS).columns(config=schema.run.c.config.type)
    rows = [row for row in connection.execute(query) if not named or row.run in named]
    points = list(_points(rows))
    return points, len(rows) - len(points)


def _points(rows: Iterable[Any]) -> Iterator[ScalingRun]:
    for row in rows:
        if row.loss is None or row.compute is None:
            continue
        yield ScalingRun(
            run=row.run,
            model=row.model,
            compute=row.compute,
            tokens=round(row.tokens),
            batch_tokens=row.tokens / row.steps,
            learning_rate=row.config["train"]["learning_rate"],
            loss=row.loss,
            validation=row.config["validation"]["sha256"],
        )
