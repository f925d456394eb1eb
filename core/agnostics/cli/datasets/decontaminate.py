"""`agn datasets decontaminate`: keep what benchmarks ask for out of what is trained on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from agnostics.cli.datasets.documents import benchmark_documents, training_documents
from agnostics.cli.output import json_option, print_json, print_table
from agnostics.plugins.manager import PluginManager, load_plugins
from agnostics.task_prep.decontamination import TESTS, Benchmark, Match, judged
from agnostics.types.errors import UsageError
from agnostics.util.files import beside, writable, written


@click.command()
@click.argument("train")
@click.option(
    "--against", multiple=True, required=True, metavar="EVAL", help="A benchmark; may be given several times."
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file for the tasks kept.")
@click.option("--report", type=click.Path(path_type=Path), help="The file of those removed; OUTPUT.removed.jsonl.")
@click.option("--split", default="train", show_default=True, help="Which split of TRAIN.")
@click.option(
    "--similarity",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0.1, 1.0),
    help="The least Jaccard similarity of statements that are alike.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@json_option
def decontaminate(
    train: str,
    against: tuple[str, ...],
    output: Path,
    report: Path | None,
    split: str,
    similarity: float,
    force: bool,
    as_json: bool,
) -> None:
    """Write the tasks of TRAIN that are not like a task of any EVAL, and a report of those that are.

    TRAIN and EVAL are data sets as `agn run --dataset` takes them, or files of MBPP, HumanEval or Exercism. A task is
    removed if its statement shares eight words in a row with one of EVAL, or is similar to one by MinHash.
    """
    output, report = writable(output, force), writable(report or beside(output, "removed"), force)
    plugins = load_plugins()
    benchmarks = [_benchmark(name, similarity, plugins) for name in dict.fromkeys(against)]
    counts, kept, removed = Counter[tuple[str, str]](), 0, 0
    with written(output) as tasks, written(report) as matched:
        for document, matches in judged(training_documents(train, split, plugins), benchmarks):
            if matches:
                removed += 1
                counts.update(_found_by(matches))
                matched.writelines(f"{json.dumps(match.as_dict())}\n" for match in matches)
            else:
                kept += 1
                tasks.writelines(f"{line}\n" for line in document.lines)
    rows = [_row(benchmark, counts) for benchmark in benchmarks]
    if as_json:
        print_json({"kept": kept, "removed": removed, "against": rows, "output": str(output), "report": str(report)})
        return
    print_table([*rows[0]], ([*row.values()] for row in rows))
    click.echo(f"\nkept {kept} of {kept + removed} tasks: {output}\nremoved {removed}: {report}")


def _benchmark(name: str, similarity: float, plugins: PluginManager) -> Benchmark:
    documents = benchmark_documents(name, plugins)
    if not documents:
        raise UsageError(f"--against {name}: holds no tasks to compare with")
    return Benchmark(name, documents, similarity)


def _found_by(matches: list[Match]) -> set[tuple[str, str]]:
    """Which tests, and whether any, found the task in which benchmark."""
    return {(match.against, test) for match in matches for test in (match.test, "either")}


def _row(benchmark: Benchmark, counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    found = {test: counts[benchmark.name, test] for test in (*TESTS, "either")}
    return {"against": benchmark.name, "tasks": len(benchmark), **found}
