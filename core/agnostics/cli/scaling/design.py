"""`agn scaling design`: write the configurations of a scaling experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.files import atomic_write


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="DESIGN")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="A new or empty folder.")
@json_option
def design(file: Path, output: Path, as_json: bool) -> None:
    """Write a configuration of `agn sft` for each run of the experiment that DESIGN, a TOML file, describes.

    Batch sizes and learning rates are those of a Sobol sequence in the ranges of each scale.
    """
    try:
        from agnostics.train.sft.design import designed_runs
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[scaling]'") from error
    from agnostics.train.sft.config import to_toml

    runs = list(designed_runs(file))
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output}: already there; name a new or an empty folder")
    output.mkdir(parents=True, exist_ok=True)
    rows = []
    for run in runs:
        path, train = output / f"{run.name}.toml", run.config.train
        with atomic_write(path) as written:
            written.write(to_toml(run.config).encode())
        values = (run.config.model, run.config.tokens, train.batch_tokens, train.learning_rate)
        rows.append({"file": str(path), **dict(zip(_COLUMNS[1:], values, strict=True))})
    if as_json:
        print_json(rows)
        return
    print_table([column.replace("_", " ") for column in _COLUMNS], (_cells(row) for row in rows))


_COLUMNS = ("file", "model", "tokens", "batch_tokens", "learning_rate")


def _cells(row: Mapping[str, Any]) -> list[Any]:
    return [f"{value:.2e}" if name == "learning_rate" else value for name, value in row.items()]
