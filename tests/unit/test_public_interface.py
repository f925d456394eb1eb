"""What `agnostics` exports, and that our own packs are made with nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import agnostics
import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"
PACKAGES = sorted(path.parent for path in PLUGINS.glob("*/agnostics_*/__init__.py"))


@pytest.mark.parametrize("name", agnostics.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(agnostics, name) is not None


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = agnostics.Nothing


def foreign_imports(package: Path) -> Iterator[str]:
    """The imports from `agnostics` in a pack that are not of its exported names."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (f"{path.name}: {a.name}" for a in node.names if a.name.partition(".")[0] == "agnostics")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "agnostics":
                names = {alias.name for alias in node.names}
                if node.module != "agnostics" or names - set(agnostics.__all__):
                    yield f"{path.name}: {ast.unparse(node)}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_our_packs_import_exported_names_only(package: Path) -> None:
    assert list(foreign_imports(package)) == []


def test_an_import_past_the_exported_names_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "pack.py").write_text(
        "import agnostics.cli\nfrom agnostics.types import task\nfrom agnostics import Task, call\nimport agnostics_x\n"
    )
    assert list(foreign_imports(tmp_path)) == [
        "pack.py: agnostics.cli",
        "pack.py: from agnostics.types import task",
        "pack.py: from agnostics import Task, call",
    ]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_our_packs_declare_the_contract_version(package: Path) -> None:
    assert "\nAGN_CONTRACT = 2\n" in (package / "__init__.py").read_text()
