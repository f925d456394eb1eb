"""YAML files that a request may name: reading is bounded, and no error quotes what is in the file.

The path may lead anywhere: to a pipe, a device or a link to a file of secrets.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import yaml

from agnostics.types.errors import UsageError

MAX_BYTES = 1 << 20
"""The largest YAML file that is read, in bytes."""
_QUOTATION = re.compile(r"(?P<syntax>'(?:<[a-z ]+>|[^\w\s'])')|['\"].*", re.DOTALL)
"""A quotation in a message of PyYAML: of one character of syntax or of the name of a token, else of the file."""


def read_yaml(path: Path) -> tuple[str, Any]:
    """The text and the value of the YAML file `path`.

    Raises UsageError if it is no regular file, larger than 1 MiB, cannot be read or is not YAML.
    """
    try:
        text = _read_regular_file(path).decode()
        return text, _value_of(text)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    except (OSError, ValueError) as error:  # a path with a NUL or a lone surrogate is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"{path}: not a readable YAML file: {reason}")


def _read_regular_file(path: Path) -> bytes:
    """The content of a file. Raises OSError or ValueError; never waits for the other end of a pipe."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file")
        data = file.read(MAX_BYTES + 1) or b""  # None if a file of the kernel's has nothing to read yet
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    return data


def _value_of(text: str) -> Any:
    """The value of a YAML text. Raises ValueError without a quotation of it."""
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = _QUOTATION.sub(lambda quoted: quoted["syntax"] or "…", error.problem or "not YAML")
        raise ValueError(place + " ".join(problem.split())) from None
    except yaml.YAMLError:
        raise ValueError("it contains characters that YAML does not allow") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # PyYAML lets these out for a value that its tag does not fit: `!!int ""`, a date in month 13.
        raise ValueError("it contains a value that cannot be converted to its type") from None
