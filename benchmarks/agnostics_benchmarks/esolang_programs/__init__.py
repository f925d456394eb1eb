"""Programs that solve the problems of EsoLang-Bench, compiled from a small language when they are asked for."""

from __future__ import annotations

from pathlib import Path

from agnostics.types.errors import unknown_name_error

FOLDER = Path(__file__).parent
LANGUAGES = ("whitespace",)
MISTAKE = 'print_text("!")\n'


def task_ids() -> list[str]:
    """The ids of the problems that there is a program for."""
    return sorted(path.stem for path in (FOLDER / "sources").glob("*.small"))


def program_for(task_id: str, language: str = "whitespace") -> str:
    """A program that solves the problem. Raises UsageError for an unknown problem or language."""
    return _compiled(_source(task_id), language)


def wrong_program_for(task_id: str, language: str = "whitespace") -> str:
    """The same program with a `!` at the end of its output, so that it fails every test."""
    return _compiled(_source(task_id) + MISTAKE, language)


def _source(task_id: str) -> str:
    if task_id not in task_ids():
        raise unknown_name_error("problem", task_id, task_ids())
    return (FOLDER / "sources" / f"{task_id}.small").read_text()


def _compiled(source: str, language: str) -> str:
    from agnostics_benchmarks.esolang_programs.assembler import assemble
    from agnostics_benchmarks.esolang_programs.compiler import compile_program

    if language not in LANGUAGES:
        raise unknown_name_error("language of the programs", language, LANGUAGES)
    return assemble(compile_program(source, (FOLDER / "library.small").read_text()))
