"""Programs that need no more than a shell: for what is tried of a language's image, but not of the language."""

from __future__ import annotations

from agnostics.types.language import Language


def in_shell(language: Language, script: str) -> tuple[Language, str]:
    """`script` as a program, and the language that runs it in the same image as `language`."""
    shell = {"filename": "snippet.sh", "compile": None, "execute": "sh snippet.sh"}
    return language.model_copy(update=shell), script


def printing(language: Language, output: str) -> tuple[Language, str]:
    """A program that prints `output`, in the same image as `language`, and the language it is written in."""
    quoted = output.replace("'", "'\\''")
    return in_shell(language, f"printf '%s' '{quoted}'\n")
