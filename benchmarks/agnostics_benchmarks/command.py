"""`agn bench`: how fast the parts are, measured against what the machine can do at most."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from agnostics.cli.libraries import configure_libraries
from agnostics.cli.model import starter_model
from agnostics.cli.output import console, print_json, print_table
from agnostics.plugins.manager import load_plugins

STORES = ("sqlite", "postgres")


@click.group()
def command() -> None:
    """Measure the parts, as ratios within one run."""


@command.command()
@click.option("--language", "name", default="lua", show_default=True, help="A language, or a YAML file of one.")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def sandbox(name: str, slots: int | None, as_json: bool) -> None:
    """Compare `agn verify` in each mode with the bare machine, and with one `docker run` per program."""
    from agnostics.sandbox.pool import available_cores

    from agnostics_benchmarks.sandbox import compare_sandbox

    plugins = load_plugins()
    language = plugins.language(name)
    starter, _ = plugins.dataset("starter")
    slots = slots or available_cores()
    console.print(f"{language.name}: {slots} at a time on {available_cores()} cores; this takes a few minutes")
    report = compare_sandbox(language, list(starter.tasks("test")), slots)
    if as_json:
        print_json(report)
    else:
        _show(report)


@command.command()
@click.option("--language", "name", default="lua", show_default=True, help="A language, or a YAML file of one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def session(name: str, as_json: bool) -> None:
    """Compare commands of a session with a bash that stays, and with SWE-ReX if it is installed."""
    from agnostics_benchmarks.sandbox import working_modes
    from agnostics_benchmarks.session import measure_sessions

    language = load_plugins().language(name)
    report = measure_sessions(language, working_modes(language))
    if as_json:
        print_json(report)
    else:
        _show_sessions(report)


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--sandbox", default="auto", show_default=True, help="The sandbox, as in agn run.")
@click.option("--slots", type=click.IntRange(min=1), help="Comparisons at once; one per processor if not given.")
def math(files: tuple[Path, ...], sandbox: str, slots: int | None) -> None:
    """Compare the gold answers of FILES of the data set `math` with themselves and with others; prints JSON."""
    from agnostics_benchmarks.math_checks import measure_math

    print_json(measure_math(files, sandbox, slots))


@command.command()
@click.option("--language", "name", default="lua", show_default=True, help="A language, or a YAML file of one.")
@click.option("--model", default="starter", show_default=True, help="A model, as in agn run.")
@click.option("--engine", type=click.Choice(["vllm", "transformers"]), help="Our engine; on a GPU vLLM if not given.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps that are measured in a turn.")
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True, help="Turns of each trainer.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change a setting of all trainers.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def train(
    name: str,
    model: str,
    engine: Literal["vllm", "transformers"] | None,
    steps: int | None,
    repeats: int,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare `agn run`, on-policy and sampling ahead, with TRL's GRPOTrainer on the same work."""
    from agnostics_benchmarks.train import compare_training

    configure_libraries()  # for all of them alike: how their threads wait decides how long a small update takes
    folder = _model(name, model)
    console.print(f"{name}: {repeats} rounds of three trainers, twice; this takes a quarter of an hour or so")
    say = partial(console.print, markup=False)
    report = compare_training(name, folder, engine, steps, repeats, sets, say)
    if as_json:
        print_json(report)
    else:
        _show_training(report)


@command.command()
@click.option("--rows", type=click.IntRange(min=1000), default=1_000_000, show_default=True, help="Verifications.")
@click.option("--steps", type=click.IntRange(min=1), default=100, show_default=True, help="Training steps that record.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def store(rows: int, steps: int, as_json: bool) -> None:
    """Write a results database of typical sizes and query it: on SQLite, and on a PostgreSQL server of its own."""
    from agnostics_benchmarks.store import measure_store

    report = measure_store(rows, steps, lambda text: console.print(text, markup=False))
    if as_json:
        print_json(report)
    else:
        _show_store(report)


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def traces(as_json: bool) -> None:
    """Compare the tracer of Python with PySnooper and hunter, if they are installed."""
    from agnostics_benchmarks.traces import measure_traces

    report = measure_traces()
    if as_json:
        print_json(report)
    else:
        rows = [(name, rate, report["ours_over"].get(name)) for name, rate in report["events_per_s"].items()]
        print_table(["", "events/s", "ours is faster, times"], rows)


def _model(language: str, model: str) -> Path:
    if model == "starter":
        return starter_model(language, seed=0, sandbox="auto")
    from agnostics.models.loading import find_model

    return find_model(model)


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


def _show_sessions(report: dict[str, Any]) -> None:
    click.echo(f"one command, on {report['cores']} cores (ms)")
    over, slower = report["over_persistent_bash"], report["swe_rex_over"] or {}
    rows = [(name, ms, over[name], slower.get(name)) for name, ms in report["round_trip_ms"].items()]
    print_table(["", "ms", "over a bash that stays", "SWE-ReX takes times"], rows)
    click.echo(f"\nsessions; memory is that of {report['open_sessions']} open ones")
    starts, memory, steps = report["start_ms"], report["memory_mb_per_session"], report["steps_per_s"]
    print_table(
        ["", "start p50 (ms)", "start p99 (ms)", "MiB each", "steps/s"],
        [(mode, starts[mode]["p50"], starts[mode]["p99"], memory[mode], steps[mode]) for mode in starts],
    )


def _show_training(report: dict[str, Any]) -> None:
    for lengths, part in (("natural lengths", report), ("fixed lengths", report["fixed"])):
        click.echo(f"{lengths}, {report['repeats']} rounds of {report['steps']} steps on {report['cores']} cores")
        _show_trainers(part)
        for ratio in ("ours_over_trl", "overlapped_over_trl", "peak_memory_over_trl"):
            low, high = part["spread"][ratio]
            click.echo(f"{ratio}: {part[ratio]} ({low} to {high})")
        click.echo()


def _show_trainers(part: dict[str, Any]) -> None:
    stages = list(next(iter(part["stages"].values())))
    heads = ["", "samples/s", "tokens", "MiB", "reward", *stages]
    rows = [
        (
            name,
            part[f"{name}_samples_per_s"],
            part["tokens_mean"][name],
            part["peak_memory_mb"][name],
            part["reward"][name]["mean"],
            *(seconds[stage] for stage in stages),
        )
        for name, seconds in part["stages"].items()
    ]
    print_table(heads, rows)


def _show_store(report: dict[str, Any]) -> None:
    for name in STORES:
        click.echo(f"{name}_verifications_per_s: {report[f'{name}_verifications_per_s']}")
    click.echo(f"write_share_of_step: {report['write_share_of_step']}")
    costs = {name: cost for name, cost in report["step_beside"].items() if cost}
    print_table(
        ["a step beside", *next(iter(costs.values()))], [(name, *cost.values()) for name, cost in costs.items()]
    )
    click.echo(f"bytes_per_program: {report['bytes_per_program']}")
    click.echo()
    print_table(["query", "ms"], report["query_ms"].items())
    click.echo(f"million_row_list_ms: {report['million_row_list_ms']} ({report['slowest']}; {report['rows']} rows)")
