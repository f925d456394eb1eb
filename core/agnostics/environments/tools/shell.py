"""The shell of a session: folder, variables, functions and options outlast a command, though processes do not."""

from __future__ import annotations

from importlib.resources import files

from agnostics.sandbox.protocol import RunResult
from agnostics.sandbox.session import Session

_IN_FOLDER, _SHELL = ((files(__package__) / name).read_text("utf-8") for name in ("in_folder.bash", "shell.bash"))
_RUN = '{ eval "$1"; \\eval "$__shell_command" 2>&1 </dev/null; builtin set -- "$?"; __shell_keep; builtin exit "$1"; }'
"""On one line, so that bash counts the lines of the command from 1."""
_STARTED = b"started"


def run_in_folder(session: Session, program: str, *arguments: str, run_s: float, stdin: bytes = b"") -> RunResult:
    """Run a program for bash in the folder of the shell, without its variables, functions and options."""
    return session.exec(["bash", "-c", _IN_FOLDER + program, "bash", *arguments], stdin=stdin, run_s=run_s)


def run_in_shell(session: Session, command: str, run_s: float) -> tuple[RunResult, bool]:
    """Run a command in the shell, and say whether it had to be a fresh one.

    It is if what earlier commands have left in `$TMPDIR/.shell` is not the state of a shell; the command has not begun
    then. Both outputs are in `stdout`, as they were written.
    """
    result = _run(session, _IN_FOLDER + _SHELL, "kept", command, run_s)
    has_started = result.stderr.endswith(_STARTED)
    return (result, False) if has_started else (_run(session, _SHELL, "fresh", command, run_s), True)


def _run(session: Session, setup: str, state: str, command: str, run_s: float) -> RunResult:
    return session.exec(["bash", "-c", _RUN, "bash", setup, state], stdin=command.encode(), run_s=run_s)
