"""Problems that ask for a Python function and test it with asserts, as their data sets publish them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FunctionProblem:
    """A problem of a data set. It is untrusted: its `code` and `tests` are run only in the sandbox."""

    id: str
    description: str
    cases: str
    """The test cases as the prompt shows them."""
    code: str
    """Python that defines `entry`: the reference solution, or a table of expected results."""
    entry: str
    tests: str
    """Python that calls `entry` and asserts its results."""
    records: tuple[Mapping[str, Any], ...]
    """Its records in the file."""
