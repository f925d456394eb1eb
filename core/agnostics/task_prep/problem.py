"""Problems that ask for a Python function and test it with asserts, as their data sets state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a data set. All of it is data: its `code` and `tests` are run in the sandbox and nowhere else."""

    id: str
    description: str
    cases: str
    """The test cases as a model is shown them."""
    code: str
    """Python that defines `entry`: the reference solution, or a table of what is known to be right."""
    entry: str
    tests: str
    """Python that calls `entry` and asserts what it returns."""
    records: tuple[Mapping[str, Any], ...]
    """What the file holds of it."""
