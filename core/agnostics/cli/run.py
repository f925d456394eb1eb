"""`agn run`: train a model by running what it writes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from agnostics.cli.libraries import configure_libraries
from agnostics.cli.output import console, print_json, reserve_stdout
from agnostics.cli.plan import show_plan
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError, unknown

if TYPE_CHECKING:
    from agnostics.evaluate.metrics import Score
    from agnostics.train.config import RunConfig
    from agnostics.train.journal import Summary


@click.command("run")
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key, as in train.clip_high=0.28.")
@click.option("--language", help="A language's name, or a YAML file.")
@click.option("--model", help="A model's folder, its name on the hub, or `starter`.")
@click.option("--dataset", help="A data set's name, adapter:source, or a file.")
@click.option("--steps", type=int, help="Training steps.")
@click.option("--resume", metavar="RUN", help="Go on with a run: its id, or its folder.")
@click.option("--sandbox", help="auto, docker, bubblewrap, process or ray://…")
@click.option("--store", help="The results database, as a SQLAlchemy URL.")
@click.option("--dry-run", is_flag=True, help="Print what the run would do and need, and start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def command(
    config: Path | None,
    overrides: tuple[str, ...],
    resume: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Train a model by running what it writes.

    CONFIG is a TOML file; without one the defaults are the paper's.
    """
    from agnostics.plugins.manager import load_plugins
    from agnostics.train.config import load_config
    from agnostics.train.setup import check
    from agnostics.util.distributed import Untold, is_first

    try:
        with _said_once():
            plugins = load_plugins()
            folder = _run_folder(resume, config, load_config(None, overrides, options)) if resume else None
            settings = load_config(folder / "config.toml" if folder else config, overrides, options)
            if dry_run:
                _import_training("agnostics.train.plan")
                return show_plan(settings, plugins, as_json)
            if folder is None:
                check(settings, plugins)
            train = _import_training("agnostics.train.run").run
        with reserve_stdout(), ConsoleReporter.watching() as reporter:
            summary: Summary = train(settings, plugins, reporter, folder)
    except Untold as error:
        return error.exit_code
    return _conclude(summary, as_json and is_first())


@contextmanager
def _said_once() -> Iterator[None]:
    """What all ranks find out for themselves is said by the first; from here on the others are silent."""
    from agnostics.util.distributed import Untold, is_first

    if is_first():
        yield
        return
    console.quiet = True
    logging.disable()
    try:
        yield
    except (AgnosticsError, KeyboardInterrupt) as error:
        raise Untold(getattr(error, "exit_code", 130)) from error


class ConsoleReporter:
    """Tells of a run on stderr: a line for each step, and on a terminal a bar below them."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._task: TaskID | None = None

    @classmethod
    @contextmanager
    def watching(cls) -> Iterator[ConsoleReporter]:
        """A reporter, with its bar where stderr is a terminal."""
        if not console.is_terminal:
            yield cls(None)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            yield cls(bar)

    def say(self, text: str) -> None:
        """See `Reporter.say`."""
        console.print(text, markup=False, soft_wrap=True)

    def step(self, step: int, steps: int, figures: Mapping[str, float]) -> None:
        """See `Reporter.step`."""
        console.print(_line(step, steps, figures), markup=False, soft_wrap=True)
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("training", total=steps)
            self._bar.update(self._task, completed=step)

    def score(self, phase: str, step: int, score: Score) -> None:
        """See `Reporter.score`."""
        when = {"eval_before": "before training", "eval_after": "after training"}.get(phase, f"after step {step}")
        console.print(f"held-out pass@1 {when}: {_describe(score)} on {score.tasks} tasks", markup=False)


def _line(step: int, steps: int, figures: Mapping[str, float]) -> str:
    """A step in one line, of some 110 columns."""
    return (
        f"step {step}/{steps}  pass {figures['pass_rate']:.2f}  reward {figures['reward_mean']:.2f}  "
        f"{figures['tokens_mean']:.0f} tokens  "
        f"{figures['zero_variance_groups']:.0f}/{figures['groups']:.0f} groups silent  "
        f"entropy {figures['entropy']:.2f}  {_gap(figures)}{_speed(figures)}{figures['seconds']:.1f} s"
    )


def _gap(figures: Mapping[str, float]) -> str:
    return f"gap {figures['gap']:.0e}  " if "gap" in figures else ""


def _speed(figures: Mapping[str, float]) -> str:
    return f"{figures['tokens_per_s']:.0f} tokens/s  " if "tokens_per_s" in figures else ""


def _run_folder(resume: str, config: Path | None, settings: RunConfig) -> Path:
    """The folder of the run to go on with."""
    from agnostics.train.config import output_folder

    if config:
        raise UsageError("--resume takes the run's own configuration: leave CONFIG out, and change it with --set")
    home = output_folder(settings)
    for folder in (Path(resume), home / resume):
        if (folder / "config.toml").is_file():
            return folder.resolve()
    raise unknown("run", resume, (path.parent.name for path in home.glob("*/config.toml")))


def _import_training(module: str) -> Any:
    """A module of the trainer, with the libraries below it told to keep quiet, and how to wait."""
    configure_libraries()
    try:
        import transformers

        imported = import_module(module)
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[train]'") from error
    transformers.logging.disable_progress_bar()
    return imported


def _conclude(summary: Summary, as_json: bool) -> int:
    """Say what the run came to; its exit status."""
    if summary.status == "interrupted":
        console.print(f"interrupted after step {summary.steps}; to go on: agn run --resume {summary.run}", markup=False)
        return 130
    if as_json:
        print_json(summary.as_dict())
    elif not console.quiet:
        click.echo(_report(summary))
    return 0


def _report(summary: Summary) -> str:
    from agnostics.store.database import naming

    lines = [f"run {summary.run}: {summary.steps} steps, {summary.completions} programs, {summary.seconds:.0f} s"]
    if summary.before and summary.after:
        lines.append(f"held-out pass@1: {_describe(summary.before)} -> {_describe(summary.after)}")
    lines += [f"checkpoint: {summary.checkpoint}", "next:"]
    store = naming(summary.store)
    lines.append(f"  agn results show {summary.run}{store}")
    lines.append(f'  agn results query "select verdict, count(*) from verification group by verdict"{store}')
    lines.append(f"  agn results list{store}")
    return "\n".join(lines)


def _describe(score: Score) -> str:
    low, high = score.interval
    return f"{score.pass_at_1:.3f} (95 %: {low:.3f} to {high:.3f})"
