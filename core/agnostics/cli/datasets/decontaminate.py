"""`agn datasets decontaminate`: removes tasks of benchmarks from training data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from agnostics.cli.datasets.documents import benchmark_documents, training_documents
from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.output_files import atomic_text_writer, path_beside, require_writable
from agnostics.plugins.manager import PluginManager, load_plugins
from agnostics.task_prep.decontamination import TESTS, BenchmarkIndex, ContaminationMatch, find_matches
from agnostics.types.errors import UsageError


@click.command()
@click.argument("train")
@click.option("--against", multiple=True, required=True, metavar="EVAL", help="A benchmark; may be repeated.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file for the kept tasks.")
@click.option("--report", type=click.Path(path_type=Path), help="The file for the matches; OUTPUT.removed.jsonl.")
@click.option("--split", default="train", show_default=True, help="The split of TRAIN.")
@click.option(
    "--similarity",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0.1, 1.0),
    help="The least Jaccard similarity of a match.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
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
    """Write the tasks of TRAIN that match no task of any EVAL, and a report of those that do.

    TRAIN and EVAL are data sets as for `agn run --dataset`, or files of MBPP, HumanEval or Exercism. A task is removed
    if its statement shares eight words in a row with one of EVAL, or is similar to one by MinHash.
    """
    output = require_writable(output, force)
    report = require_writable(report or path_beside(output, "removed"), force)
    plugins = load_plugins()
    benchmarks = [_benchmark(name, similarity, plugins) for name in dict.fromkeys(against)]
    counts, kept, removed = Counter[tuple[str, str]](), 0, 0
    with atomic_text_writer(output) as tasks, atomic_text_writer(report) as matched:
        for document, matches in find_matches(training_documents(train, split, plugins), benchmarks):
            if matches:
                removed += 1
                counts.update(_matching_tests(matches))
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


def _benchmark(name: str, similarity: float, plugins: PluginManager) -> BenchmarkIndex:
    documents = benchmark_documents(name, plugins)
    if not documents:
        raise UsageError(f"--against {name}: holds no tasks to compare with")
    return BenchmarkIndex(name, documents, similarity)


def _matching_tests(matches: list[ContaminationMatch]) -> set[tuple[str, str]]:
    """The benchmarks that a task matches, each with the tests that matched and with "either"."""
    return {(match.against, test) for match in matches for test in (match.test, "either")}


def _row(benchmark: BenchmarkIndex, counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    by_test = {test: counts[benchmark.name, test] for test in (*TESTS, "either")}
    return {"against": benchmark.name, "tasks": len(benchmark), **by_test}
