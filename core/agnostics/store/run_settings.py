"""The settings of a run as a flat mapping, for comparison with another run's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from agnostics.store import schema

_run, _language = schema.run.c, schema.language.c


def run_settings(connection: Connection, run: str) -> dict[str, Any]:
    """The settings of `run` by dotted name: its configuration, and the definition of its language as `language.…`."""
    columns = ("model", "dataset", "seed", "config")
    query = select(*(_run[name] for name in columns), _language.name.label("language"), _language.definition)
    row = connection.execute(query.join_from(schema.run, schema.language).where(_run.id == run)).one()
    basic = {"language": row.language, "model": row.model, "dataset": row.dataset, "seed": row.seed}
    return {**basic, **dict(_flat(row.config)), **dict(_flat({"language": row.definition}))}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
