"""The tests of this folder need Python and nothing else: what imports torch or starts a sandbox or a server fails.

`make unit` runs them where none of these is installed; the check makes them fail where all are. Only with `--postgres`
may they start a database server.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
MODULES = {"deepspeed", "peft", "ray", "tensorboard", "torch", "transformers", "trl", "vllm", "wandb"}
PROGRAMS = {"bwrap", "docker", "dockerd", "luajit", "podman"}
SERVERS = {"initdb", "pg_ctl", "postgres"}
_refused = PROGRAMS | SERVERS
_HERE = False
"""Whether a test or a module of this folder is running now."""


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: Python calls it before every import and every start of a process."""
    if not _HERE:
        return
    if event == "import" and arguments[0].partition(".")[0] in MODULES:
        pytest.fail(f"a test in tests/unit imports {arguments[0]}: move it to tests/models or tests/integration")
    if event == "subprocess.Popen" and (started := _refused & {Path(str(word)).name for word in arguments[1]}):
        pytest.fail(f"a test in tests/unit starts {', '.join(started)}: move it to tests/integration")


sys.addaudithook(_refuse)


def pytest_configure(config: pytest.Config) -> None:
    """Allow a database server where the tests are asked to use one."""
    global _refused
    if config.getoption("postgres", default=False):
        _refused = PROGRAMS


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
