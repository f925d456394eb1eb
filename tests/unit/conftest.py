"""The tests of this folder need Python and nothing else: what imports torch or starts a sandbox program fails.

`make unit` runs them where neither is installed; the check makes them fail where both are.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
MODULES = {"deepspeed", "peft", "ray", "tensorboard", "torch", "transformers", "trl", "vllm", "wandb"}
PROGRAMS = {"bwrap", "docker", "dockerd", "initdb", "luajit", "podman", "postgres", "psql"}
_HERE = False
"""Whether a test or a module of this folder is running now."""


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: Python calls it before every import and every start of a process."""
    if not _HERE:
        return
    if event == "import" and arguments[0].partition(".")[0] in MODULES:
        pytest.fail(f"a test in tests/unit imports {arguments[0]}: move it to tests/models or tests/integration")
    if event == "subprocess.Popen" and Path(str(arguments[0])).name in PROGRAMS:
        pytest.fail(f"a test in tests/unit starts {arguments[0]}: move it to tests/integration")


sys.addaudithook(_refuse)


def _watched(path: Path) -> Generator[None, Any, Any]:
    """Run the rest of a hook, with the check if `path` is in this folder."""
    global _HERE
    _HERE = path.is_relative_to(FOLDER)
    try:
        return (yield)
    finally:
        _HERE = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check the tests, with their fixtures."""
    return (yield from _watched(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Check what their modules import."""
    return (yield from _watched(collector.path))


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """There is none here."""
    pytest.fail("a test in tests/unit wants a database server: move it to tests/integration")
