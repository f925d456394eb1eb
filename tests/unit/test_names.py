"""The names of the code: every public class name has one definition."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("core/agnostics", "plugins", "benchmarks")


def _public_classes() -> Iterator[str]:
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        if not {"tests", "templates"}.intersection(path.relative_to(ROOT).parts):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name[0] != "_")


def test_no_public_class_name_is_defined_twice() -> None:
    twice = {name for name, count in Counter(_public_classes()).items() if count > 1}
    assert twice == set()
