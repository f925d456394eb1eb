"""Shell programs: they check a language's image without its toolchain."""

from __future__ import annotations

from agnostics.types.language import Language


def shell_program(language: Language, script: str) -> tuple[Language, str]:
    """A language that runs `sh` in the image of `language`, and `script` as its program."""
    shell = {"filename": "snippet.sh", "compile": None, "execute": "sh snippet.sh", "fork_server": None}
    return language.model_copy(update=shell), script


def printing_program(language: Language, output: str) -> tuple[Language, str]:
    """A shell program that prints `output`, with its language; see `shell_program`."""
    quoted = output.replace("'", "'\\''")
    return shell_program(language, f"printf '%s' '{quoted}'\n")
