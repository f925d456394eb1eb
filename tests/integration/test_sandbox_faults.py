"""Faults of the sandbox never count against a program: each request gets a result, from another slot if need be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

NAP = "require('ffi').cdef('int usleep(unsigned);') require('ffi').C.usleep(%d) print(42)"
TASK = Task(id="t", tests=(Test(input="", output="42"),), limits=LimitOverrides(run_s=5.0))


def harnesses(of: int | None = None) -> set[int]:
    """The harnesses that descend from process `of` (this one); what one starts looks like it for a moment."""
    found = _descendants(b"/harness", of)
    return {pid for pid in found if _parent(pid) not in found}


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def programs() -> set[int]:
    """The Lua programs that run in sandboxes of this process."""
    return _descendants(b"luajit", None)


def _descendants(command: bytes, of: int | None) -> set[int]:
    parents, found = {}, set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().startswith(command + b"\0"):
                found.add(int(folder.name))
        except OSError:
            continue

    def descends(pid: int) -> bool:
        while pid > 1 and pid != (of or os.getpid()):
            pid = parents.get(pid, 0)
        return pid == (of or os.getpid())

    return {pid for pid in found if descends(pid)}


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return held


@pytest.fixture
def own(languages: dict[str, Language]) -> Iterator[Verifier]:
    """A verifier of bubblewrap mode with one slot, to be broken."""
    before = harnesses()
    with Verifier("bubblewrap", 1, languages=languages) as made:
        yield made
    assert wait_until(lambda: harnesses() <= before)


def test_a_program_whose_harness_is_killed_is_run_again_elsewhere(
    own: Verifier, languages: dict[str, Language]
) -> None:
    before = harnesses()
    running = own.submit(languages["lua"], NAP % 1_000_000, TASK)
    behind = own.submit(languages["lua"], NAP % 1, TASK)
    assert wait_until(lambda: bool(programs()))
    for pid in harnesses() - before:
        os.kill(pid, signal.SIGKILL)
    assert running.result(timeout=30).accepted
    assert running.result().attempts == 2
    assert behind.result(timeout=30).accepted


def test_a_program_whose_harnesses_are_all_killed_is_a_sandbox_error(
    own: Verifier, languages: dict[str, Language]
) -> None:
    before = harnesses()
    running = own.submit(languages["lua"], NAP % 3_000_000, TASK)
    while not running.done():
        if programs():
            for pid in harnesses() - before:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    result = running.result()
    assert (result.verdict, result.attempts) == ("sandbox_error", 2)
    assert result.error
    assert own.verify(languages["lua"], NAP % 1, TASK).accepted


def test_closing_fails_every_waiting_request(own: Verifier, languages: dict[str, Language]) -> None:
    waiting = [own.submit(languages["lua"], NAP % 2_000_000, TASK) for _ in range(5)]
    own.close()
    for future in waiting:
        with pytest.raises(AgnosticsError, match="closed"):
            future.result(timeout=5)
    with pytest.raises(AgnosticsError, match="closed"):
        own.submit(languages["lua"], NAP % 1, TASK)


CLIENT = """
import sys, time
from pathlib import Path
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier
lua = Language(name="lua", prompt="", filename="a.lua", execute="luajit a.lua")
verifier = Verifier("bubblewrap", 1)
verifier.submit(lua, "while true do end", Task(id="t", tests=(Test(input="", output=""),)))
print("running", flush=True)
{after}
"""


@pytest.mark.parametrize("after", ["time.sleep(60)", "sys.stdin.readline()"], ids=["SIGKILL", "exit"])
def test_nothing_outlives_a_client_that_does_not_close(after: str) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT.format(after=after)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert client.stdin
    assert client.stdout
    assert client.stdout.readline() == "running\n"
    assert wait_until(lambda: len(harnesses(client.pid)) == 1)
    (harness,) = harnesses(client.pid)
    if "60" in after:
        client.kill()
    client.stdin.close()
    client.wait(timeout=30)
    client.stdout.close()
    assert wait_until(lambda: not Path(f"/proc/{harness}").exists())


def test_a_toolchain_that_is_not_here_is_named_with_what_installs_it(own: Verifier) -> None:
    odd = Language(
        name="odd", prompt="", filename="a.odd", execute="odd-interpreter a.odd", install="apt-get install odd"
    )
    with pytest.raises(MissingRequirement, match=r"odd needs odd-interpreter.*apt-get install odd"):
        own.verify(odd, "x", TASK)


def test_languages_share_slots_and_none_starves(own: Verifier, languages: dict[str, Language]) -> None:
    many = [own.submit(languages["lua"], NAP % 100_000, TASK) for _ in range(30)]
    fortran = own.submit(languages["fortran"], "print *, 42\nend", TASK)
    assert fortran.result(timeout=60).accepted
    assert not all(future.done() for future in many)
    assert all(future.result(timeout=60).accepted for future in many)


def test_limits_may_change_from_program_to_program(own: Verifier, languages: dict[str, Language]) -> None:
    hungry = "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(1e5) .. i end print(42)"
    for megabytes, verdict in [(256, "accepted"), (64, "memory_limit"), (300, "accepted"), (50, "memory_limit")]:
        task = TASK.model_copy(update={"limits": LimitOverrides(memory_mb=megabytes)})
        assert own.verify(languages["lua"], hungry, task).verdict == verdict
