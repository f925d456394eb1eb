"""`agn esolang`: run a program with its interpreter, without a sandbox."""

from __future__ import annotations

import os
from pathlib import Path

import click
from agnostics import UsageError, unknown_name_error

from agnostics_lang_esolangs.interpreter import INTERPRETERS, interpreter_path

STEPS = 10_000_000


@click.command()
@click.argument("language")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--dialect",
    type=click.Choice(["benchmark", "standard"]),
    default="benchmark",
    show_default=True,
    help="Which rules.",
)
@click.option(
    "--steps", type=click.IntRange(min=0), default=STEPS, show_default=True, help="End after so many; 0 for no limit."
)
def esolang(language: str, file: Path, dialect: str, steps: int) -> None:
    """Run FILE, a program in LANGUAGE: befunge98, brainfuck, shakespeare, unlambda or whitespace.

    The program has your terminal, or what you redirect, as its input and output.
    """
    if language not in INTERPRETERS:
        raise unknown_name_error("language", language, INTERPRETERS)
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    path = interpreter_path(language)
    os.execv(path, [language, "--dialect", dialect, "--steps", str(steps), str(file.absolute())])
