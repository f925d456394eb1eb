"""`agn results failures`: what compilers and runs said of faulty programs, in clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.results.faulty import Faulty, faulty_in
from agnostics.cli.results.reading import store_option
from agnostics.types.failed_program import most_informative_line

if TYPE_CHECKING:
    from agnostics.analysis.failure_clusters import FailureCluster
    from agnostics.types.failed_program import FailedProgram


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(min=1), help="Clusters of a language.")
@store_option
@json_option
def failures(runs: tuple[str, ...], count: int, store: str | None, as_json: bool) -> None:
    """FailureCluster what went wrong in each RUN by language: verdicts, and what compilers and runs said.

    Names, numbers, places and quotations in messages do not count, and no model is asked. RUN is a run, or one phase of
    it as in last:eval_after. With --json, each cluster comes with a program.
    """
    from agnostics.analysis.failure_clusters import cluster_failures

    found = {language: cluster_failures(faults) for language, faults in _by_language(faulty_in(runs, store)).items()}
    if as_json:
        print_json([_as_dict(language, cluster) for language, all_ in found.items() for cluster in all_[:count]])
        return
    for language, all_ in found.items():
        _print(language, all_, count)


def _by_language(found: Iterable[Faulty]) -> dict[str, list[FailedProgram]]:
    faults = defaultdict[str, list["FailedProgram"]](list)
    for one in found:
        faults[one.run.language] += one.faults
    return faults


def _print(language: str, found: Sequence[FailureCluster], count: int) -> None:
    programs = sum(cluster.programs for cluster in found)
    click.echo(f"{language}: {programs} faulty programs, {len(found)} clusters")
    rows = ([*_figures(cluster, programs), most_informative_line(cluster.example.message)] for cluster in found[:count])
    print_table(["programs", "share", "verdict", "message", "for example"], rows)
    click.echo()


def _figures(cluster: FailureCluster, programs: int) -> list[Any]:
    return [cluster.programs, f"{cluster.programs / programs:.2f}", cluster.verdict, cluster.message]


def _as_dict(language: str, cluster: FailureCluster) -> dict[str, Any]:
    told = {"language": language, "verdict": cluster.verdict, "message": cluster.message, "programs": cluster.programs}
    return {**told, "example": {"message": cluster.example.message, "program": cluster.example.program}}
