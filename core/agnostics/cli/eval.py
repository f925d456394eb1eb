"""`agn eval`: how often models solve tasks, with intervals, and whether they differ."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.libraries import configure_libraries, training_packages
from agnostics.cli.output import json_option, reserve_stdout
from agnostics.cli.progress import EvaluationProgress, progress_bar
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.imports import without_garbage_collection

if TYPE_CHECKING:
    from agnostics.evaluate.report import EvaluationReport
    from agnostics.evaluate.settings import EvaluationSettings
    from agnostics.store import Store

_POSITIVE = click.IntRange(min=1)


@click.command("eval")
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key, as in max_completion_tokens=2048."
)
@click.option("--model", "models", multiple=True, help="A folder, a training run, a hub name, `starter`; or several.")
@click.option("--endpoint", metavar="URL", help="Sample behind an OpenAI-compatible URL, with /v1; --model names it.")
@click.option("--completions", metavar="FILE", help="Verify recorded completions, a JSON object a line.")
@click.option("--language", help="A language's name, or a YAML file.")
@click.option("--dataset", help="A data set's name, adapter:source, or a file.")
@click.option("--environment", help="Its name, as in code-feedback, math or termination, or path.py:NAME.")
@click.option("--split", help="The split of the data set.")
@click.option("--tasks", type=_POSITIVE, help="How many tasks, drawn; all if not given.")
@click.option("--samples", type=_POSITIVE, help="Completions of each task.  [default: 20]")
@click.option("--temperature", type=float, help="The sampling temperature.  [default: 0.2]")
@click.option("--language-prompt/--no-language-prompt", default=None, help="Begin prompts as training does.")
@click.option("--vote/--no-vote", default=None, help="Also majority vote, short-3@k and best@k; runs every test.")
@click.option("--k", "ks", default="1", show_default=True, help="The k of pass@k, as in 1,5,10.")
@click.option("--compare", "compared_with", multiple=True, metavar="RUN", help="Compare with an earlier evaluation.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw pass@k with its intervals into a .png or .svg.")
@click.option("--resume", metavar="RUN", help="Resume an evaluation: its id, its beginning, or `last`.")
@click.option("--sandbox", help="auto, docker, bubblewrap, process or ray://…")
@click.option("--store", help="The results database, as a SQLAlchemy URL.")
@json_option
def command(
    config: Path | None,
    overrides: tuple[str, ...],
    models: tuple[str, ...],
    ks: str,
    compared_with: tuple[str, ...],
    plot: Path | None,
    resume: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure pass@k of models, with 95 % intervals, and compare them task by task.

    CONFIG is a TOML file; without one the defaults are the paper's: 20 completions of each task at temperature 0.2,
    without the language's prompt. Everything verified is stored at once: --resume continues an evaluation.
    """
    configure_libraries()
    from agnostics.cli.eval_report import show
    from agnostics.store import Store, default_url

    wanted = _ks(ks)
    if resume:
        _refuse_beside_resume(config, overrides, models, options)
    new = [] if resume else _settings(config, overrides, models, options)
    url = options["store"] or next((one.store for one in new if one.store), None) or default_url()
    with Store.open(url, create=not resume) as store:
        baselines = [_run(store, run) for run in compared_with]
        run = _run(store, resume) if resume else None
        settings = [_settings_of(store, run, options["sandbox"])] if run else new
        for one in settings:
            _check(one, wanted, plot)
        evaluations = [
            *(_report(store, baseline, wanted, vote=False) for baseline in baselines),
            *(_evaluated(store, one, wanted, run) for one in settings),
        ]
        show(evaluations, plot, as_json)
    return 0


def _ks(text: str) -> tuple[int, ...]:
    try:
        ks = tuple(int(k) for k in text.split(","))
    except ValueError:
        ks = ()
    if not ks or min(ks) < 1:
        raise UsageError(f"--k {text}: expected numbers from 1, as in --k 1,5,10")
    return ks


def _refuse_beside_resume(
    config: Path | None, overrides: tuple[str, ...], models: tuple[str, ...], options: dict[str, Any]
) -> None:
    given = [name for name, value in options.items() if value is not None and name not in {"sandbox", "store"}]
    if config or overrides or models or given:
        raise UsageError(
            "--resume uses the evaluation's own settings; it may be combined with --k, --compare, --plot, "
            "--sandbox, --store and --json"
        )


def _settings(
    config: Path | None, overrides: tuple[str, ...], models: tuple[str, ...], options: dict[str, Any]
) -> list[EvaluationSettings]:
    """The settings for each model."""
    from agnostics.evaluate.settings import EvaluationSettings
    from agnostics.util.settings import load_settings

    named: list[dict[str, str]] = [{"model": model} for model in models] or [{}]
    return [load_settings(EvaluationSettings, config, overrides, {**options, **name}).resolved() for name in named]


def _run(store: Store, name: str) -> str:
    """The evaluation `name`. Raises UsageError if it is none."""
    from agnostics.store.database import reading
    from agnostics.store.queries.evaluations import evaluation_config
    from agnostics.store.queries.runs import find_run

    with reading(store.engine) as connection:
        run = find_run(connection, name)
        evaluation_config(connection, run)
    return run


def _settings_of(store: Store, run: str, sandbox: str | None) -> EvaluationSettings:
    """The settings of `run`, in another sandbox if one is named."""
    from agnostics.evaluate.settings import EvaluationSettings
    from agnostics.store.database import reading
    from agnostics.store.queries.evaluations import evaluation_config

    with reading(store.engine) as connection:
        config = evaluation_config(connection, run)
    return EvaluationSettings.model_validate({**config, "sandbox": sandbox or config["sandbox"]})


def _check(settings: EvaluationSettings, ks: tuple[int, ...], plot: Path | None) -> None:
    """Raise UsageError for settings that exclude each other, before anything is sampled."""
    if plot and plot.suffix not in {".png", ".svg"}:
        raise UsageError(f"--plot {plot}: name a file that ends in .png or .svg")
    if plot and not find_spec("matplotlib"):
        raise MissingRequirement("matplotlib is not installed; run: pip install 'agnostics[plot]'")
    if settings.endpoint and settings.completions:
        raise UsageError("--endpoint and --completions exclude each other: completions are sampled, or recorded")
    if settings.completions and settings.environment != "answer":
        raise UsageError("--completions and --environment exclude each other: recorded completions are single answers")
    if settings.endpoint and "model" not in settings.model_fields_set:
        raise UsageError("--endpoint needs --model: the endpoint's name of the model")
    if settings.generated_tests and (settings.completions or not settings.vote):
        raise UsageError("generated_tests needs --vote, because best@k chooses by them, and a model that writes them")
    if not settings.completions and max(ks) > settings.samples:
        raise UsageError(f"pass@{max(ks)} needs --samples {max(ks)} or more, not {settings.samples}")


def _evaluated(store: Store, settings: EvaluationSettings, ks: tuple[int, ...], run: str | None) -> EvaluationReport:
    """Evaluate one model, or resume `run`."""
    from agnostics.plugins.manager import load_plugins

    key = os.environ.get(settings.key_from)
    with training_packages():
        with without_garbage_collection():
            from agnostics.evaluate.run import evaluate

        with reserve_stdout(), progress_bar() as bar:
            run = evaluate(settings, load_plugins(), store, EvaluationProgress(bar), key, run)
    return _report(store, run, ks, vote=settings.vote)


def _report(store: Store, run: str, ks: tuple[int, ...], *, vote: bool) -> EvaluationReport:
    from agnostics.evaluate.report import evaluation_report
    from agnostics.store.database import reading

    with reading(store.engine) as connection:
        return evaluation_report(connection, run, ks, vote=vote)
