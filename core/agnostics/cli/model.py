"""`agn model`: trains the starter model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

from agnostics.cli.libraries import configure_libraries
from agnostics.cli.output import console, print_json
from agnostics.types.errors import MissingRequirement, UsageError


@click.group()
def command() -> None:
    """Train the starter model."""


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
    try:
        from agnostics.models.starter.bootstrap import bootstrap

        backends = plugins.sandboxes()
        return bootstrap(resolved, dataset, seed=seed, sandbox=sandbox, backends=backends, progress=console.print)
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[train]'") from error
