"""`agn bench`: how fast the parts are, measured against what the machine can do at most."""

from __future__ import annotations

from typing import Any

import click

from agnostics.cli.output import print_json, print_table, words
from agnostics.host import load_host


@click.group()
def command() -> None:
    """Measure the parts, as ratios within one run."""


@command.command()
@click.option("--language", "name", default="lua", show_default=True, help="A language, or a YAML file of one.")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def sandbox(name: str, slots: int | None, as_json: bool) -> None:
    """Compare `agn verify` in each mode with the bare machine, and with one `docker run` per program."""
    from agnostics.bench.sandbox import compare_sandbox
    from agnostics.sandbox.pool import available_cores

    host = load_host()
    language = host.language(name)
    starter, _ = host.dataset("starter")
    slots = slots or available_cores()
    words.print(f"{language.name}: {slots} at a time on {available_cores()} cores; this takes a few minutes")
    report = compare_sandbox(language, list(starter.tasks("test")), slots)
    if as_json:
        print_json(report)
    else:
        _show(report)


def _show(report: dict[str, Any]) -> None:
    for title, table in (("1 test a program", report["one_test"]), ("10 tests a program", report["ten_tests"])):
        click.echo(f"{title}, {report['slots']} at a time on {report['cores']} cores")
        _show_rates(table)
    for row in report["by_slots"]:
        click.echo(f"10 tests a program, {row['slots']} at a time")
        _show_rates({name: rates for name, rates in row.items() if name != "slots"})
    click.echo("one program with 1 test, from request to verdict (ms)")
    print_table(["", "p50", "p99"], [(name, t["p50"], t["p99"]) for name, t in report["latency_ms"].items()])


def _show_rates(table: dict[str, dict[str, float | None]]) -> None:
    columns = ["programs_per_s", "programs_per_s_per_core", "tests_per_s_per_core", "over_bare"]
    heads = ["", "programs/s", "per core", "tests/s per core", "over bare"]
    print_table(heads, [(name, *(rates[column] for column in columns)) for name, rates in table.items()])
    click.echo()
