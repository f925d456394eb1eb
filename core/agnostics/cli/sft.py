"""`agn sft`: fine-tune a model on examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, print_json, print_table, reserve_stdout
from agnostics.cli.progress import SftProgress, progress_bar
from agnostics.cli.training import conclude, import_training, reported_once, run_folder

if TYPE_CHECKING:
    from agnostics.plugins.manager import PluginManager
    from agnostics.train.sft.config import SftConfig
    from agnostics.train.sft.plan import SftPlan
    from agnostics.train.sft.run import SftSummary


@click.command("sft")
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key, as in train.lora_rank=16.")
@click.option("--data", multiple=True, metavar="FILE", help="JSON Lines or Parquet to train on; can be repeated.")
@click.option("--model", help="A model's folder, its name on the hub, or `starter`.")
@click.option("--language", help="The language that the run is listed under.")
@click.option("--steps", type=int, help="Training steps.")
@click.option("--resume", metavar="RUN", help="Resume a run: its id, or its folder.")
@click.option("--store", help="The results database, as a SQLAlchemy URL.")
@click.option("--dry-run", is_flag=True, help="Print the mixture of the data, and train nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def command(
    config: Path | None,
    overrides: tuple[str, ...],
    data: tuple[str, ...],
    resume: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Fine-tune a model on examples: prompts and completions, conversations, texts.

    CONFIG is a TOML file; --data alone will do. Only completions are trained, and in conversations the messages of the
    assistant.
    """
    from agnostics.plugins.manager import load_plugins
    from agnostics.train.sft.config import load_sft_config
    from agnostics.train.sft.setup import check
    from agnostics.util.distributed import ReportedByOtherRank, is_main_rank

    options["sources"] = [{"path": path} for path in data] or None
    try:
        with reported_once():
            plugins = load_plugins()
            folder = run_folder(resume, config, load_sft_config(None, overrides, options)) if resume else None
            settings = load_sft_config(folder / "config.toml" if folder else config, overrides, options)
            if folder is None:
                check(settings, plugins)
            if dry_run:
                return _show_plan(settings, plugins, as_json)
            train = import_training("agnostics.train.sft.run").run
        with reserve_stdout(), progress_bar() as bar:
            summary: SftSummary = train(settings, plugins, SftProgress(bar), folder)
    except ReportedByOtherRank as error:
        return error.exit_code
    return conclude(summary, "sft", settings.output, _report, as_json and is_main_rank())


def _show_plan(settings: SftConfig, plugins: PluginManager, as_json: bool) -> int:
    plan: SftPlan = import_training("agnostics.train.sft.plan").plan(settings, plugins, console.print)
    if as_json:
        print_json(plan.as_dict())
        return 0
    rows = (
        (s.file, s.examples, s.left_out, s.documents, s.tokens, s.trained_tokens, f"{s.epochs:.2f}", f"{s.share:.2f}")
        for s in plan.sources
    )
    columns = ["file", "examples", "left out", "documents", "tokens", "trained tokens", "epochs", "share"]
    print_table(columns, rows)
    click.echo(f"\n{plan.steps} steps of at most {settings.train.batch_tokens:,} tokens")
    return 0


def _report(summary: SftSummary) -> str:
    from agnostics.store.database import store_argument

    loss = "" if summary.loss is None else f", loss {summary.loss:.3f}"
    if summary.validation_loss is not None:
        loss += f", validation loss {summary.validation_loss:.3f}"
    return "\n".join(
        [
            f"run {summary.run}: {summary.steps} steps, {summary.seconds:.0f} s{loss}",
            f"checkpoint: {summary.checkpoint}",
            "next:",
            f"  agn results show {summary.run}{store_argument(summary.store)}",
        ]
    )
