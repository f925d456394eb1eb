"""The control groups of programs, within those of slots."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from agnostics.sandbox.cgroups import counters_of
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

MARK = "sleep\x0060.4321\x00"
SLEEPER = "os.execute('sleep 60.4321')"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups here")


@pytest.mark.parametrize("mode", ["docker", "bubblewrap"])
def test_programs_stand_in_a_control_group_that_their_harness_is_not_in(
    mode: str, languages: dict[str, Language]
) -> None:
    task = Task(id="sleep", tests=(Test(input="", output=""),), limits=LimitOverrides(run_s=1.0))
    with ThreadPoolExecutor() as executor, Verifier(mode, 1, languages=languages) as verifier:
        verification = executor.submit(verifier.verify, languages["lua"], SLEEPER, task)
        program = next(pid for pid in _processes_until(time.monotonic() + 60) if _is_sleeper(pid))
        shell = _parent(program)
        groups = counters_of(program)
        assert groups == counters_of(shell)
        assert [folder.name for folder in groups] == ["programs"] * len(groups)
        assert groups
        assert not set(groups) & set(counters_of(_parent(_parent(shell))))
        assert verification.result(timeout=60).verdict == "time_limit"
    assert not any(folder.exists() for folder in groups)


def _processes_until(deadline: float) -> Iterator[int]:
    while time.monotonic() < deadline:
        yield from (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _is_sleeper(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text() == MARK
    return False


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])
