"""`agn complexity`: the complexity of a program, from runs at growing sizes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import json_option, print_json, print_table, reserve_stdout
from agnostics.types.errors import UsageError
from agnostics.util.signals import InterruptHandler

if TYPE_CHECKING:
    from agnostics.complexity import Measurement
    from agnostics.complexity.measurement import Inputs
    from agnostics.plugins.manager import PluginManager
    from agnostics.types.verification import Verification

_MESSAGE_CHARACTERS = 300


@click.command("complexity")
@click.argument("program", type=click.Path(path_type=Path))
@click.option("--language", default="lua", show_default=True, help="A language's name, or a YAML file.")
@click.option(
    "--generator",
    type=click.Path(path_type=Path),
    help="A Python program that reads n and prints an input of that size; without one the input is n.",
)
@click.option("--largest", type=click.IntRange(min=1), help="The largest n.  [default: 2^40; 2^18 with --generator]")
@click.option("--seconds", type=click.FloatRange(min=0.01), default=0.2, show_default=True, help="The longest run.")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@json_option
def command(
    program: Path,
    language: str,
    generator: Path | None,
    largest: int | None,
    seconds: float,
    sandbox: str,
    as_json: bool,
) -> int:
    """Name the complexity class of a program's time and memory, as its input grows.

    The exit status is 1 if the measurement does not tell the class of the time.
    """
    from agnostics.plugins.manager import load_plugins

    plugins = load_plugins()
    with InterruptHandler(), reserve_stdout():
        measured = _measured(plugins, language, _text(program), generator, largest, seconds, sandbox)
    if as_json:
        print_json(_as_dict(measured))
    else:
        times, peaks = measured.times_ms, measured.peaks_mb
        rows = [[n, _cell(times.get(n)), _cell(peaks.get(n))] for n in sorted({*times, *peaks})]
        print_table(["n", "time (ms)", "memory (MiB)"], rows)
        click.echo(f"\ntime   {measured.time}\nspace  {measured.space}")
    return 0 if measured.time.klass else 1


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _measured(
    plugins: PluginManager,
    language: str,
    program: str,
    generator: Path | None,
    largest: int | None,
    seconds: float,
    sandbox: str,
) -> Measurement:
    from agnostics.complexity import MeasurementLimits, measure
    from agnostics.environments.complexity import LARGEST, LARGEST_GENERATED
    from agnostics.types.task import Task
    from agnostics.verify import Verifier

    chosen = plugins.language(language)
    runs: list[Verification] = []
    limits = MeasurementLimits(run_s=seconds, largest=largest or (LARGEST_GENERATED if generator else LARGEST))
    with (
        Verifier(sandbox, 1, plugins.languages(), plugins.sandboxes()) as verifier,
        _inputs(plugins, generator, sandbox) as inputs,
    ):

        async def run(task: Task) -> Verification:
            runs.append(await asyncio.wrap_future(verifier.submit(chosen, program, task)))
            return runs[-1]

        measured = asyncio.run(measure(run, inputs, limits))
    if not measured.times_ms:
        raise UsageError(_failure(runs[-1]))
    return measured


def _failure(verification: Verification) -> str:
    from agnostics.types.failed_program import failed_program_of

    failed = failed_program_of(verification)
    message = " ".join(failed.message.split())[:_MESSAGE_CHARACTERS] if failed else ""
    return f"the program fails at n = 1, its smallest input: {verification.verdict}{message and f': {message}'}"


@contextmanager
def _inputs(plugins: PluginManager, generator: Path | None, sandbox: str) -> Iterator[Inputs]:
    from agnostics.environments.complexity import generated_input, sizes_themselves
    from agnostics.environments.math import PYTHON
    from agnostics.rollout.episode_sandboxes import LIMITS
    from agnostics.sandbox.session_pool import SessionPool

    if generator is None:
        yield sizes_themselves
        return
    text, whose = _text(generator), str(generator)
    with SessionPool(PYTHON, sandbox, LIMITS, backends=plugins.sandboxes()) as pool, pool.open() as session:

        async def inputs(sizes: Sequence[int]) -> list[str]:
            return [generated_input(session, text, size, whose) for size in sizes]

        yield inputs


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _as_dict(measured: Measurement) -> dict[str, object]:
    fits = {"time": measured.time, "space": measured.space}
    named = {name: {"class": fit.klass, "confidence": fit.confidence, "best": fit.best} for name, fit in fits.items()}
    return {**named, "times_ms": measured.times_ms, "peaks_mb": measured.peaks_mb}
