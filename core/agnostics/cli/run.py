"""`agn run`: train a model by running what it writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import reserve_stdout
from agnostics.cli.plan import show_plan
from agnostics.cli.progress import TrainingProgress, describe_pass_rate, progress_bar
from agnostics.cli.training import conclude, import_training, reported_once, run_folder

if TYPE_CHECKING:
    from agnostics.train.state import TrainingSummary


@click.command("run")
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key, as in train.clip_high=0.28.")
@click.option("--language", help="A language's name, or a YAML file.")
@click.option("--model", help="A model's folder, its name on the hub, or `starter`.")
@click.option("--dataset", help="A data set's name, adapter:source, or a file.")
@click.option("--environment", help="Its name, as in code-feedback, math or termination, or path.py:NAME.")
@click.option("--steps", type=int, help="Training steps.")
@click.option("--resume", metavar="RUN", help="Resume a run: its id, or its folder.")
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
    from agnostics.util.distributed import ReportedByOtherRank, is_main_rank

    try:
        with reported_once():
            plugins = load_plugins()
            folder = run_folder(resume, config, load_config(None, overrides, options)) if resume else None
            settings = load_config(folder / "config.toml" if folder else config, overrides, options)
            if dry_run:
                import_training("agnostics.train.plan")
                return show_plan(settings, plugins, as_json)
            if folder is None:
                check(settings, plugins)
            train = import_training("agnostics.train.run").run
        with reserve_stdout(), progress_bar() as bar:
            summary: TrainingSummary = train(settings, plugins, TrainingProgress(bar), folder)
    except ReportedByOtherRank as error:
        return error.exit_code
    return conclude(summary, "run", settings.output, _report, as_json and is_main_rank())


def _report(summary: TrainingSummary) -> str:
    from agnostics.store.database import store_argument

    lines = [f"run {summary.run}: {summary.steps} steps, {summary.completions} programs, {summary.seconds:.0f} s"]
    if summary.before and summary.after:
        lines.append(f"held-out pass@1: {describe_pass_rate(summary.before)} -> {describe_pass_rate(summary.after)}")
    lines += [f"checkpoint: {summary.checkpoint}", "next:"]
    store = store_argument(summary.store)
    lines.append(f"  agn results show {summary.run}{store}")
    lines.append(f'  agn results query "select verdict, count(*) from verification group by verdict"{store}')
    lines.append(f"  agn results list{store}")
    return "\n".join(lines)
