"""Files of a session by any path, with the errors of Python's own `open`."""

from __future__ import annotations

import errno
import os
from pathlib import PurePosixPath

from agnostics.sandbox.protocol import RunResult
from agnostics.sandbox.session import TRANSFER_BYTES, Session, SessionError
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verdict

_READ = """
[ -d "$1" ] && exit 101
[ -e "$1" ] || exit 102
[ -r "$1" ] || exit 103
exec dd "if=$1" bs=1M iflag=fullblock,nonblock status=none
"""
_WRITE = """
[ -d "$1" ] && exit 101
mkdir -p -- "$2" && exec cat > "$1"
"""
_ERRORS = {101: errno.EISDIR, 102: errno.ENOENT, 103: errno.EACCES}
"""The errors that the scripts name by their exit status."""
_DENIED = tuple(os.strerror(number).encode() for number in (errno.EACCES, errno.EROFS))
_TRANSFER_S = 60.0
_ERROR_CHARACTERS = 300


class FileTooLarge(Exception):
    """A file of the session is larger than was to be read."""


def read_file(session: Session, path: str, limit: int) -> bytes:
    """The contents of a file, by its path in the workspace or from the root.

    Raises FileTooLarge for more than `limit` (at most TRANSFER_BYTES) bytes, FileNotFoundError, IsADirectoryError,
    PermissionError or another OSError with the path, TimeoutError, and SessionError if the sandbox fails.
    """
    result = _run(session, _READ, (path,), b"", min(limit, TRANSFER_BYTES))
    if result.verdict is Verdict.OUTPUT_LIMIT or result.truncated:
        raise FileTooLarge(path)
    _raise_for(result, path)
    return result.stdout


def write_file(session: Session, path: str, data: bytes) -> None:
    """Write a file, by its path in the workspace or from the root, and make the folders that it needs.

    Raises IsADirectoryError, PermissionError or another OSError with the path (EFBIG for more than TRANSFER_BYTES),
    TimeoutError, and SessionError if the sandbox fails.
    """
    if len(data) > TRANSFER_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    parent = str(PurePosixPath(path).parent)
    _raise_for(_run(session, _WRITE, (path, parent), data, None), path)


def _run(session: Session, script: str, paths: tuple[str, ...], stdin: bytes, output_bytes: int | None) -> RunResult:
    argv = ("/bin/sh", "-c", script, "sh", *paths)
    try:
        return session.exec(argv, stdin=stdin, run_s=_TRANSFER_S, output_bytes=output_bytes)
    except SessionError:
        raise
    except AgnosticsError as error:  # a NUL or half of a surrogate pair, which no path holds
        raise FileNotFoundError(errno.ENOENT, str(error), paths[0]) from error


def _raise_for(result: RunResult, path: str) -> None:
    if result.verdict is Verdict.TIME_LIMIT:
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), path)
    if result.verdict is not Verdict.ACCEPTED:
        denied = any(text in result.stderr for text in _DENIED)
        number = errno.EACCES if denied else _ERRORS.get(result.exit_code or 0)
        reason = result.stderr.decode(errors="replace").strip()[:_ERROR_CHARACTERS] or str(result.verdict)
        raise OSError(number or errno.EIO, os.strerror(number) if number else reason, path)
