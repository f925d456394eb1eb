"""Parts of the commands that train: their errors on several ranks, the folder of a run, the libraries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from agnostics.cli.libraries import configure_libraries, training_packages
from agnostics.cli.output import console, print_json
from agnostics.types.errors import AgnosticsError, UsageError, unknown_name_error
from agnostics.util.imports import without_garbage_collection

if TYPE_CHECKING:
    from agnostics.train.config import RunConfig
    from agnostics.train.sft.config import SftConfig


@contextmanager
def reported_once() -> Iterator[None]:
    """Errors that every rank meets are reported by rank 0; from here on the others print nothing."""
    from agnostics.util.distributed import ReportedByOtherRank, is_main_rank

    if is_main_rank():
        yield
        return
    console.quiet = True
    logging.disable()
    try:
        yield
    except (AgnosticsError, KeyboardInterrupt) as error:
        raise ReportedByOtherRank(getattr(error, "exit_code", 130)) from error


def run_folder(resume: str, config: Path | None, settings: RunConfig | SftConfig) -> Path:
    """The folder of the run to resume."""
    from agnostics.train.config import output_folder

    if config:
        raise UsageError("--resume takes the run's own configuration: leave CONFIG out, and change it with --set")
    home = output_folder(settings.output)
    for folder in (Path(resume), home / resume):
        if (folder / "config.toml").is_file():
            return folder.resolve()
    raise unknown_name_error("run", resume, (path.parent.name for path in home.glob("*/config.toml")))


def import_training(module: str) -> Any:
    """A module of the trainer; the libraries below it are configured first."""
    configure_libraries()
    with training_packages(), without_garbage_collection():
        import transformers

        imported = import_module(module)
    transformers.logging.disable_progress_bar()
    return imported


class _Summary(Protocol):
    """The results of a run that trains."""

    @property
    def run(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def steps(self) -> int: ...

    def as_dict(self) -> dict[str, Any]: ...


_S = TypeVar("_S", bound=_Summary)


def conclude(summary: _S, command: str, output: str | None, report: Callable[[_S], str], as_json: bool) -> int:
    """Print the summary of a run of `agn COMMAND` in the folder `output`, for people as `report` words it.

    Returns the exit status.
    """
    if summary.status == "interrupted":
        from agnostics.train.config import output_folder, resume_argument

        resume = f"agn {command} --resume {resume_argument(output_folder(output) / summary.run)}"
        console.print(f"interrupted after step {summary.steps}; to resume: {resume}", markup=False, soft_wrap=True)
        return 130
    if as_json:
        print_json(summary.as_dict())
    elif not console.quiet:
        click.echo(report(summary))
    return 0
