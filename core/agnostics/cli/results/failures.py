"""`agn results failures`: clusters of the messages of failed programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.results.failed_programs import RunFailures, load_failures
from agnostics.cli.results.reading import store_option
from agnostics.types.failed_program import most_informative_line
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.analysis.failure_clusters import FailureCluster
    from agnostics.types.failed_program import FailedProgram


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-n",
    "count",
    default=20,
    show_default=True,
    type=click.IntRange(min=1),
    help="The number of clusters per language.",
)
@store_option
@json_option
def failures(runs: tuple[str, ...], count: int, store: str | None, as_json: bool) -> None:
    """Cluster the failed programs of each RUN, by language, verdict and message of the compiler or the run.

    Names, numbers, positions and quotations in messages are ignored, and no model is asked. RUN is a run, or one phase
    of it as in last:eval_after. With --json, each cluster includes a program.
    """
    from agnostics.analysis.failure_clusters import cluster_failures

    by_language = _by_language(load_failures(runs, store))
    clusters_of = {language: cluster_failures(programs) for language, programs in by_language.items()}
    if as_json:
        print_json(
            [_as_dict(language, cluster) for language, of_one in clusters_of.items() for cluster in of_one[:count]]
        )
        return
    for language, of_one in clusters_of.items():
        _print(language, of_one, count)


def _by_language(failures: Iterable[RunFailures]) -> dict[str, list[FailedProgram]]:
    programs = defaultdict[str, list["FailedProgram"]](list)
    for of_run in failures:
        programs[of_run.run.language] += of_run.programs
    return programs


def _print(language: str, clusters: Sequence[FailureCluster], count: int) -> None:
    programs = sum(cluster.programs for cluster in clusters)
    click.echo(f"{language}: {plural(programs, 'failed program')}, {plural(len(clusters), 'cluster')}")
    rows = (
        [*_columns(cluster, programs), most_informative_line(cluster.example.message)] for cluster in clusters[:count]
    )
    print_table(["programs", "share", "verdict", "message", "for example"], rows)
    click.echo()


def _columns(cluster: FailureCluster, programs: int) -> list[Any]:
    return [cluster.programs, f"{cluster.programs / programs:.2f}", cluster.verdict, cluster.message]


def _as_dict(language: str, cluster: FailureCluster) -> dict[str, Any]:
    values = {
        "language": language,
        "verdict": cluster.verdict,
        "message": cluster.message,
        "programs": cluster.programs,
    }
    return {**values, "example": {"message": cluster.example.message, "program": cluster.example.program}}
