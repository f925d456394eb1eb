"""`agn model`: lists, converts, checks and removes cached models, and trains the starter model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.libraries import configure_libraries, training_packages
from agnostics.cli.output import console, json_option, print_json, print_table, reserve_stdout
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError
from agnostics.util.imports import without_garbage_collection

if TYPE_CHECKING:
    from agnostics.models.cache import CachedModel


_checkpoint_option = click.option(
    "--checkpoint",
    type=click.Choice(["last", "best"]),
    default="last",
    show_default=True,
    help="Of those that the run keeps; best is on validation tasks.",
)


@click.group()
def command() -> None:
    """List, convert, check and remove cached models; train the starter model; upload what a run has trained."""


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the models in the cache: what each was made of, its size and its folder."""
    from agnostics.models.cache import cached_models

    models: list[dict[str, Any]] = [
        {"name": model.name, "made_of": _made_of(model), "bytes": model.size, "folder": str(model.folder)}
        for model in cached_models()
    ]
    if as_json:
        print_json(models)
    elif models:
        rows = [(one["name"], one["made_of"], f"{one['bytes'] / 1e6:,.0f} MB", one["folder"]) for one in models]
        print_table(("name", "made of", "size", "folder"), rows)
    else:
        console.print("no model is cached; agn model convert FILE.gguf adds one")


@command.command()
@click.argument("model")
@click.option("--output", type=click.Path(path_type=Path), help="Copy the model to this new folder.")
@json_option
def convert(model: str, output: Path | None, as_json: bool) -> None:
    """Convert MODEL into a folder in Hugging Face's format, once: a GGUF file, a folder with one, or a hub name.

    `agn run`, `agn eval` and `agn languages advise` do the same for their --model.
    """
    if output and output.exists():
        raise UsageError(f"{output}: already there; name a new folder")
    configure_libraries()
    with training_packages(), reserve_stdout():
        from agnostics.models.loading import find_model

        folder = find_model(model, console.print)
    if output:
        folder = Path(shutil.copytree(folder, output))
    if as_json:
        print_json({"model": str(folder)})
    else:
        click.echo(folder)


@command.command()
@click.argument("model")
@click.option("--sha256", "expected", metavar="DIGEST", help="The SHA-256 that the file must have.")
@json_option
def check(model: str, expected: str | None, as_json: bool) -> int:
    """Check that MODEL is what it was: a model in the cache by its name, or a file by its SHA-256.

    Every file of a cached model is compared with the checksum that was taken when it was written.
    """
    from agnostics.models.cache import cached_model, check_files
    from agnostics.util.files import sha256

    path, digest, problems = Path(model).expanduser(), None, list[str]()
    if path.is_file():
        digest = sha256(path)
    else:
        cached = cached_model(model)
        digest = cached.origin.get("sha256")
        problems = [f"{name} is missing or modified" for name in check_files(cached)]
    if expected and digest != expected.lower():
        problems.append(f"the SHA-256 is {digest}, not {expected.lower()}")
    if as_json:
        print_json({"model": model, "sha256": digest, "problems": problems})
    else:
        lines = [f"{model}: {problem}" for problem in problems]
        click.echo("\n".join(lines or [f"{model}: unmodified" + (f", SHA-256 {digest}" if digest else "")]))
    return 1 if problems else 0


@command.command()
@click.argument("model")
@json_option
def remove(model: str, as_json: bool) -> None:
    """Delete MODEL, a name that `agn model list` shows, from the cache. The file it was made of stays."""
    from agnostics.models import cache

    cached = cache.cached_model(model)
    cache.remove(cached)
    if as_json:
        print_json({"removed": model, "bytes": cached.size})
    else:
        click.echo(f"removed {model}, {cached.size / 1e6:,.0f} MB")


@command.command()
@click.argument("run")
@_checkpoint_option
@store_option
def card(run: str, checkpoint: str, store: str | None) -> None:
    """Print the model card of RUN: what was trained, how, and what was measured. RUN is an id, or `last`."""
    _, text = _checkpoint_and_card(run, checkpoint, store, title=None)
    click.echo(text, nl=False)


@command.command()
@click.argument("run")
@click.argument("repository")
@_checkpoint_option
@click.option("--private", is_flag=True, help="Make a new repository private.")
@store_option
@json_option
def push(run: str, repository: str, checkpoint: str, private: bool, store: str | None, as_json: bool) -> None:
    """Upload a checkpoint of RUN to REPOSITORY on the hub, OWNER/NAME, with the model card of `agn model card`.

    The state of the optimizer stays here.
    """
    configure_libraries()
    with training_packages():
        from agnostics.models.hub import upload

    folder, text = _checkpoint_and_card(run, checkpoint, store, repository.rpartition("/")[2])
    console.print(f"uploading {folder} to {repository}", markup=False)
    address = upload(folder, repository, text, private=private)
    if as_json:
        print_json({"model": address, "checkpoint": str(folder)})
    else:
        click.echo(address)


def _checkpoint_and_card(run: str, checkpoint: str, store: str | None, title: str | None) -> tuple[Path, str]:
    """The folder of a checkpoint of `run`, and its card. Raises UsageError if the run has none."""
    from agnostics.cli.model_card import model_card
    from agnostics.cli.report import report_of
    from agnostics.store.queries.runs import run_config
    from agnostics.train.config import RunConfig, output_folder

    with reading(store) as connection:
        report = report_of(connection, run)
        if report.run.kind != "train":
            raise UsageError(f"{report.run.run} is no training run: it has no model")
        settings, language = run_config(connection, report.run.run)
    config = RunConfig.model_validate(settings)
    home = output_folder(config.output) / report.run.run
    found = sorted(home.glob("checkpoints/step-*")) if checkpoint == "last" else [(home / "checkpoints/best").resolve()]
    if not found or not found[-1].is_dir():
        raise UsageError(f"{home}: it has no {checkpoint} checkpoint")
    step = int(found[-1].name.rpartition("-")[2])
    return found[-1], model_card(report, config, language, title or report.run.run, step)


def _made_of(model: CachedModel) -> str:
    if "gguf" in model.origin:
        return str(model.origin["gguf"]["path"])
    return f"starter model of {model.origin['starter']}" if "starter" in model.origin else ""


@command.command()
@click.option("--language", required=True, help="A language's name, or a YAML file.")
@click.option("--seed", default=0, show_default=True, help="Seed of the weights and of the examples.")
@click.option("--output", type=click.Path(path_type=Path), help="Copy the model to this new folder.")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def bootstrap(language: str, seed: int, output: Path | None, sandbox: str, as_json: bool) -> None:
    """Train a small model from scratch on a language's reference programs.

    Most of its examples are wrong programs, so that it can still improve. A cached model is not trained again.
    """
    if output and output.exists():
        raise UsageError(f"{output}: already there; name a new folder")
    folder = starter_model(language, seed, sandbox)
    if output:
        folder = Path(shutil.copytree(folder, output))
    start = json.loads((folder / "starter.json").read_text(encoding="utf-8"))["pass_at_1"]
    if as_json:
        print_json({"language": language, "seed": seed, "model": str(folder), "pass_at_1": start})
    else:
        click.echo(folder)


def starter_model(language: str, seed: int, sandbox: str) -> Path:
    """The folder of the starter model for a language, which is trained if it is not in the cache."""
    from agnostics.plugins.manager import load_plugins

    plugins = load_plugins()
    resolved, (dataset, _) = plugins.language(language), plugins.dataset("starter")
    configure_libraries()
    with training_packages():
        with without_garbage_collection():
            from agnostics.models.starter.bootstrap import bootstrap

        backends = plugins.sandboxes()
        return bootstrap(resolved, dataset, seed=seed, sandbox=sandbox, backends=backends, progress=console.print)
