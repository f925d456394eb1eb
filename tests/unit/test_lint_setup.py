"""`make lint` checks the types of everything, and installs few of the packages that are imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CHECKED = (
    "core/agnostics",
    "core/agnostics_verifiers",
    "benchmarks/agnostics_benchmarks",
    "plugins/*/agnostics_*",
    "tests",
)
MODULES = {"pyyaml": "yaml"}
"""Of distributions whose module has another name."""
BROUGHT = {"pydantic_core", "markupsafe"}
"""What pydantic and alembic bring."""


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _installed() -> set[str]:
    """The modules of what `make lint` installs."""
    project = PROJECT["project"]
    named = [*project["dependencies"], *project["optional-dependencies"]["lint"]]
    names = [re.split(r"[^\w-]", requirement)[0].lower() for requirement in named]
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def test_every_package_that_make_lint_does_not_install_is_known_to_the_type_checker() -> None:
    files = [path for folder in CHECKED for start in ROOT.glob(folder) for path in start.rglob("*.py")]
    ours = {path.stem for path in files} | {path.parent.name for path in files} | {"agnostics"}
    imported = {name for path in files for name in _imported(ast.parse(path.read_text()))}
    known = [pattern for override in PROJECT["tool"]["mypy"]["overrides"] for pattern in override["module"]]
    passed_over = ours | _installed() | BROUGHT | sys.stdlib_module_names
    others = {name for name in imported if name.partition(".")[0] not in passed_over}
    assert len(others) > 20
    assert {name for name in others if not any(fnmatch(f"{name}.", pattern) for pattern in known)} == set()
