"""`agn traces make`: the traces of many programs, into a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import click
from pydantic import ValidationError

from agnostics.cli.output import console
from agnostics.cli.output_files import require_writable
from agnostics.cli.progress import progress_bar
from agnostics.cli.results.filters import verification_options
from agnostics.cli.results.reading import store_option
from agnostics.plugins.manager import load_plugins
from agnostics.traces.limits import TraceLimits
from agnostics.types.errors import UsageError
from agnostics.util.signals import InterruptHandler
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.traces.records import TraceRecord

_SUFFIXES = (".jsonl", ".parquet")
_LINE_INTERVAL_S = 10.0
_DEFAULTS = TraceLimits()


def _limit(name: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = getattr(_DEFAULTS, name)
    return click.option(f"--{name}", type=click.IntRange(min=0), default=default, show_default=True, help=text)


@click.command()
@click.argument("run", required=False)
@verification_options
@click.option("--dataset", help="Reference programs for a data set: its name, adapter:source, or a file.")
@click.option("--split", default="train", show_default=True, help="The split of the data set.")
@click.option(
    "--programs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON Lines with `program`, and `input` and `id` if they have them.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="A file that ends in .jsonl or .parquet."
)
@_limit("events", "Events of a trace.")
@_limit("depth", "Scopes within each other that are traced.")
@_limit("value", "Characters of a value.")
@_limit("bytes", "Bytes of a trace as it is written.")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap or process.")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
@click.option("--force", is_flag=True, help="Begin anew, and overwrite an existing file.")
@store_option
def make(
    run: str | None,
    filters: dict[str, Any],
    dataset: str | None,
    split: str,
    programs: Path | None,
    output: Path,
    sandbox: str,
    slots: int | None,
    force: bool,
    store: str | None,
    **limits: int,
) -> int:
    """Trace programs on their inputs: those of RUN, reference programs for a data set, or those in a file.

    RUN may name one phase of a run, as in last:eval_after. Each program of a task is traced once, on each input of it.
    If it is interrupted, the same command goes on where it was: what is there so far is in OUTPUT.partial.
    """
    from agnostics.cli.traces.sources import ProgramSource, open_programs
    from agnostics.sandbox.pool import available_cores
    from agnostics.traces.make import make_traces, open_partial
    from agnostics.traces.runner import TraceRunner

    require_writable(output, force, _SUFFIXES)
    trace_limits = _limits_of(limits)
    plugins = load_plugins()
    source = ProgramSource(run, store, filters, dataset, split, programs)
    with (
        InterruptHandler(),
        open_programs(plugins, source) as found,
        open_partial(output, anew=force) as partial,
        TraceRunner(found.language, sandbox, trace_limits=trace_limits, backends=plugins.sandboxes()) as runner,
        _Progress(found.total) as progress,
    ):
        failed = make_traces(found.requests, runner, partial, slots or available_cores(), progress.advance)
        if not failed:
            partial.finish(_write_parquet if output.suffix == ".parquet" else None)
    if failed:
        console.print(f"the sandbox failed on {plural(failed, 'program')}; run the same command again", markup=False)
        return 1
    console.print(f"{output}: {progress.text()}", markup=False, soft_wrap=True)
    return 0


def _limits_of(limits: dict[str, int]) -> TraceLimits:
    try:
        return TraceLimits.model_validate(limits)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--{first['loc'][0]}: {first['msg']}") from error


def _write_parquet(records: Iterable[Any], file: BinaryIO) -> None:
    from agnostics.store.export import write_parquet
    from agnostics.traces.records import TraceRecord

    write_parquet(TraceRecord, records, file)


class _Progress:
    """Shows how many programs are traced: a bar, or a line now and then. A context manager."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._stack = ExitStack()
        self._done = 0
        self._last_line_s = time.monotonic()

    def __enter__(self) -> Self:
        self._bar = self._stack.enter_context(progress_bar())
        self._task = self._bar.add_task("traced", total=self._total) if self._bar else None
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def advance(self, _: TraceRecord | None) -> None:
        """Count a trace, whether it was made or was there."""
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif time.monotonic() >= self._last_line_s + _LINE_INTERVAL_S:
            self._last_line_s = time.monotonic()
            console.print(self.text(), markup=False)

    def text(self) -> str:
        """The count in words."""
        return f"{self._done} of {plural(self._total, 'trace')}" if self._total else plural(self._done, "trace")
