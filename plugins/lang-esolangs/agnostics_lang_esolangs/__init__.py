"""The pack of the esoteric languages, each in `languages/NAME/`; `agn esolang` runs a program without a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agnostics import Language, hookimpl

from agnostics_lang_esolangs.interpreter import EsoLanguage

if TYPE_CHECKING:
    import click

AGN_CONTRACT = 2

LANGUAGES = Path(__file__).parent / "languages"
STANDARD = {
    "brainfuck": "Where the standard differs, it holds: at the end of the input `,` leaves the cell as it is.",
    "befunge98": "Where the standard, Funge-98, differs, it holds: space is unbounded, an empty stack pops 0, `~` "
    "and `&` reflect at the end of the input, and so do t, i, o and =; all other instructions are there.",
    "whitespace": "Where the standard, Whitespace 0.3, differs, it holds: division rounds down, a number is read as a "
    "line of the input, and the program must end with LLL.",
    "shakespeare": "Where the standard differs, it holds: nouns, adjectives and characters are those of the reference, "
    "scenes are numbered within their act, and quotients are rounded towards zero.",
}
"""Additions to the prompts of languages whose standard dialect differs from the benchmark's."""


@hookimpl
def agn_languages() -> list[Language]:
    """Each language in the dialect of the benchmark, and as `NAME-standard` in the other."""
    benchmark = [EsoLanguage.from_folder(path, name=path.name, interpreter=path.name) for path in _folders()]
    return [*benchmark, *(_standard(language) for language in benchmark if language.name in STANDARD)]


@hookimpl
def agn_commands(group: click.Group) -> None:
    """Add `agn esolang`."""
    from agnostics_lang_esolangs.command import esolang

    group.add_command(esolang)


def _folders() -> list[Path]:
    return sorted(path.parent for path in LANGUAGES.glob("*/language.yaml"))


def _standard(language: EsoLanguage) -> EsoLanguage:
    assert language.trace is not None
    changes = {
        "name": f"{language.name}-standard",
        "prompt": f"{language.prompt.strip()}\n\n{STANDARD[language.name]}",
        "execute": _in_standard_dialect(language.execute),
        "trace": language.trace.model_copy(update={"execute": _in_standard_dialect(language.trace.execute)}),
        "library": {},
    }
    return language.model_copy(update=changes)


def _in_standard_dialect(command: str) -> str:
    return command.replace("./interpreter", "./interpreter --dialect standard")
