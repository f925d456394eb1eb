"""The languages of requests over HTTP: by name only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import Language


def language_finder(languages: Mapping[str, Language]) -> Callable[[str], Language]:
    """Finds one of `languages` by its name, or raises UsageError.

    It never opens a file: a client that could name one would choose what runs on this machine, and learn of its files.
    """

    def find(name: str) -> Language:
        if name in languages:
            return languages[name]
        if "/" in name or name.endswith((".yaml", ".yml")):
            raise UsageError("a language is named here, not its file; the server gets files with --language")
        raise unknown_name_error("language", name, languages)

    return find
