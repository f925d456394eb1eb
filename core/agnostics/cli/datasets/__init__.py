"""`agn datasets`: lists adapters and shows their tasks; reformulates problems and decontaminates data sets."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Any

import click

from agnostics.cli.datasets.decontaminate import decontaminate
from agnostics.cli.datasets.reformulate import reformulate
from agnostics.cli.output import plain, print_json, print_table
from agnostics.plugins.manager import load_plugins
from agnostics.types.dataset import Dataset
from agnostics.types.task import Task


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON array on stdout.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List and show dataset adapters; make and clean data sets."""
    if context.invoked_subcommand is None:
        _list(as_json)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON array on stdout.")
def list_command(as_json: bool) -> None:
    """Name, splits, files, licence and description of every adapter."""
    _list(as_json)


@command.command()
@click.argument("name")
@click.option("--split", default="train", show_default=True, help="The split.")
@click.option("--source", help="The file or hub name that the adapter reads.")
@click.option("-n", "count", default=3, show_default=True, type=click.IntRange(min=0), help="The number of tasks.")
@click.option("--seed", default=0, show_default=True, help="The seed of a generated data set.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines, one task each.")
def show(name: str, split: str, source: str | None, count: int, seed: int, as_json: bool) -> None:
    """Show NAME and its first tasks: an adapter, adapter:source, or a file such as tasks.jsonl.

    With --json only the tasks; `agn datasets list --json` has the rest.
    """
    dataset, its_source = load_plugins().dataset(name)
    if not as_json:
        _show_adapter(dataset)
    if not count:
        return
    for task in islice(dataset.tasks(split, source=source or its_source, seed=seed), count):
        if as_json:
            print_json(task.model_dump(mode="json"))
        else:
            _show(task)


for subcommand in (reformulate, decontaminate):
    command.add_command(subcommand)


def _list(as_json: bool) -> None:
    datasets = [dataset for _, dataset in sorted(load_plugins().datasets().items())]
    if as_json:
        print_json([_describe(dataset) for dataset in datasets])
        return
    columns = ("name", "splits", "files", "license", "evaluation_only", "description")
    print_table(columns, ([_cell(_describe(dataset)[column]) for column in columns] for dataset in datasets))


def _describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "splits": list(dataset.splits),
        "files": list(dataset.suffixes),
        "license": dataset.license,
        "evaluation_only": dataset.evaluation_only,
        "description": dataset.description,
        "size": dataset.size,
        "hub": dataset.hub and asdict(dataset.hub),
        "fields": dict(dataset.fields),
    }


def _cell(value: str | bool | list[str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else " ".join(value)


def _show_adapter(dataset: Dataset) -> None:
    about = {
        "license": dataset.license + (", for evaluation only" if dataset.evaluation_only else ""),
        "size": dataset.size,
        "splits": ", ".join(dataset.splits),
        "hub": str(dataset.hub) if dataset.hub else "none",
    }
    click.echo(f"{dataset.name}: {dataset.description}\n")
    for name, value in about.items():
        click.echo(f"{name:8} {value}")
    click.echo()
    if dataset.fields:
        print_table(("field", "becomes"), dataset.fields.items())
        click.echo()


def _show(task: Task) -> None:
    click.echo(plain(f"{task.id}  ({len(task.tests)} tests)\n\n{task.statement}\n"))
    print_table(("input", "output"), ((repr(test.input), repr(test.output)) for test in task.tests))
    click.echo()
