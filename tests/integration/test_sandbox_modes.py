"""The choice of a mode, bubblewrap mode without root, and process mode."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import agnostics
import pytest
from agnostics.sandbox.backend import SandboxBackend, SlotFactory
from agnostics.sandbox.backends.process_slots import ProcessSlotFactory
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.modes import builtin_backends, choose_backend
from agnostics.sandbox.user_namespaces import can_make_user_namespaces
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

TASK = Task(id="t", tests=(Test(input="41", output="42"),) * 2, limits=LimitOverrides(run_s=0.5))


def test_auto_prefers_docker_where_an_engine_answers() -> None:
    assert choose_backend("auto").name == "docker"


def test_an_unknown_mode_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean 'docker'"):
        choose_backend("dokcer")


def test_process_mode_works_when_asked_for_and_warns(
    languages: dict[str, Language], caplog: pytest.LogCaptureFixture
) -> None:
    with Verifier("process", 1) as verifier:
        assert "process" in caplog.text
        assert verifier.verify(languages["lua"], "print(io.read('n') + 1)", TASK).accepted
        assert verifier.verify(languages["lua"], "print(io.read('n') + 1)", TASK).unenforced
        assert verifier.verify(languages["lua"], "while true do end", TASK).verdict == "time_limit"
        assert verifier.verify(languages["lua"], "os.execute('sleep 60 &') print(42)", TASK).accepted


@pytest.mark.parametrize("parent", [Path("/opt"), Path("/usr/local")])
def test_a_toolchain_in_a_folder_of_its_own_is_found_in_bubblewrap_mode(parent: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root installs there")
    with tempfile.TemporaryDirectory(prefix="agnostics-", dir=parent) as folder:
        Path(folder).chmod(0o755)
        tool = Path(shutil.copy("/bin/cat", folder))
        language = Language.model_validate(
            {"name": "own", "filename": "program", "execute": f"{tool} program", "prompt": "-"}
        )
        with Verifier("bubblewrap", 1) as verifier:
            assert verifier.verify(language, "42", TASK).accepted


class OwnBackend(SandboxBackend):
    """The backend of a plugin, with plain processes as slots."""

    name = "own"
    description = "plain processes"
    priority = 99

    def check(self) -> str:
        return "1.0"

    def open(self) -> SlotFactory:
        return ProcessSlotFactory()


def test_a_backend_of_ones_own_runs_programs_and_is_named_in_their_verifications(
    languages: dict[str, Language],
) -> None:
    with Verifier("auto", 1, backends={**builtin_backends(), "own": OwnBackend()}) as verifier:
        result = verifier.verify(languages["lua"], "print(io.read('n') + 1)", TASK)
    assert (result.verdict, result.sandbox) == ("accepted", "own")


ORDINARY = """
import os, sys
from agnostics.sandbox.backends import bubblewrap_slots  # which an ordinary user may not be able to read
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier
os.setgid(65534), os.setuid(65534)
lua = Language(name="lua", prompt="", filename="a.lua", execute="luajit a.lua")
task = Task(id="t", tests=(Test(input="41", output="42"),) * 2, limits=LimitOverrides(run_s=0.5, memory_mb=128))
with Verifier("bubblewrap", 1) as verifier:
    for program in sys.argv[1:]:
        result = verifier.verify(lua, program, task, stop_on_failure=False)
        print(result.verdict, *(test.verdict for test in result.tests), ",".join(result.unenforced))
"""
TAMPER = (
    "os.execute('chmod +w a.lua') local f = io.open('a.lua', 'w') if f then f:write('print(0)') f:close() end print(42)"
)


@pytest.fixture
def public_copy() -> Iterator[Path]:
    """A copy of the package that every user can reach, wherever this checkout lies."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(Path(agnostics.__file__).parent, Path(folder) / "agnostics")
        yield Path(folder)


MOUNTER = """
import ctypes, os, sys
folders = [f"{sys.argv[1]}/{number}" for number in range(60)]
libc = ctypes.CDLL(None)
for folder in folders:
    os.mkdir(folder)
print("ready", flush=True)
while True:
    for folder in folders:
        libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, None)
    for folder in folders:
        libc.umount2(folder.encode(), 2), os.rmdir(folder), os.mkdir(folder)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_bubblewrap_mode_is_found_while_mounts_of_others_come_and_go(tmp_path: Path) -> None:
    """As those of containers do; a trial of bwrap on the whole root failed on one in two."""
    with subprocess.Popen([sys.executable, "-c", MOUNTER, tmp_path], stdout=subprocess.PIPE) as mounter:
        try:
            assert mounter.stdout
            assert mounter.stdout.readline() == b"ready\n"
            for _ in range(20):
                assert choose_backend("bubblewrap").name == "bubblewrap"
                assert can_make_user_namespaces(harness_path())
        finally:
            mounter.kill()
            mounter.wait()
            for folder in tmp_path.iterdir():
                subprocess.run(["umount", "--quiet", folder], check=False, timeout=10)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become an ordinary user")
def test_an_ordinary_user_gets_the_same_verdicts_and_is_told_what_is_not_enforced(public_copy: Path) -> None:
    programs = ["print(io.read('n') + 1)", "while true do end", "print(1)", TAMPER]
    programs += ["local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end"]
    programs += ["require('ffi').cdef('int kill(int, int);') require('ffi').C.kill(-1, 9) print(42)"]
    environment = {**os.environ, "PYTHONPATH": str(public_copy)}
    command = [sys.executable, "-c", ORDINARY, *programs]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    verdicts = [line.split()[0] for line in done.stdout.splitlines()]
    assert verdicts == ["accepted", "time_limit", "wrong_answer", "accepted", "memory_limit", "accepted"], done.stderr
    assert {line.split()[-1] for line in done.stdout.splitlines()} == {"memory,processes"}


def test_a_runtime_that_the_engine_lacks_and_one_of_a_sandbox_without_any_are_refused() -> None:
    with pytest.raises(MissingRequirement, match=r"no runtime 'kata' \(it has .*runc.*\); install it, .*daemon.json"):
        choose_backend("docker:kata")
    with pytest.raises(UsageError, match="the sandbox bubblewrap has no runtime to choose"):
        choose_backend("bubblewrap:runsc")
