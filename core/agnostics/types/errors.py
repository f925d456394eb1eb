"""The errors that people see: one line that says what failed, what was tried and what to run next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AgnosticsError(Exception):
    """An expected failure. `agn` prints its message on one line, without a traceback, and exits with `exit_code`."""

    exit_code = 1


class UsageError(AgnosticsError):
    """The command, the configuration or an input file is wrong."""

    exit_code = 2


class MissingRequirement(AgnosticsError):
    """The environment lacks something; the message names the command that installs it."""

    exit_code = 3


_MAX_NAME = 100
"""What is shown of a name, and compared: of a text of megabytes in its place, both would take seconds."""


def unknown_name_error(what: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a `name` that is not among the `known` ones, with the nearest of these."""
    choices, name = sorted(known), name[:_MAX_NAME]
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(choices) or 'none'}"
    return UsageError(f"unknown {what} {name!r}; {hint}")


def describe_error(error: BaseException) -> str:
    """An exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
