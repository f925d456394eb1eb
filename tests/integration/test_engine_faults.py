"""Faults in docker mode, on an engine of the test's own: harness, container, daemon. No program loses its verdict.

Its other runtime is tested on it too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from agnostics.sandbox.docker_client import connect
from agnostics.sandbox.images.language_image import ensure_image
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier
from docker.models.containers import Container

pytestmark = pytest.mark.slow
START_TIMEOUT_S = 60
GVISOR_OPTIONS = ["--host-uds=create", "--ignore-cgroups", "--network=none"]
GVISOR = {"runtimes": {"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": GVISOR_OPTIONS}}}
SPIN = "local t = os.clock() while os.clock() - t < 0.05 do end print(42)"
TASK = Task(id="t", tests=(Test(input="", output="42"),), limits=LimitOverrides(run_s=5.0))


class Engine:
    """A daemon with data of its own, which may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"unix://{folder}/socket"
        (folder / "config.json").write_text(json.dumps(GVISOR if shutil.which("runsc") else {}))
        self.start()

    def start(self) -> None:
        # What a killed daemon leaves, the next one takes for a sign that it still runs.
        for pid_file in ("pid", "exec/containerd/containerd.pid"):
            (self._folder / pid_file).unlink(missing_ok=True)
        places = {"data-root": "data", "exec-root": "exec", "pidfile": "pid", "config-file": "config.json"}
        options = [f"--{name}={self._folder / place}" for name, place in places.items()]
        with (self._folder / "log").open("ab") as log:
            self._daemon = subprocess.Popen(
                ["dockerd", *options, f"--host={self.url}", "--bridge=none", "--iptables=false", "--ip6tables=false"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait()

    def stop(self, number: signal.Signals) -> None:
        self._daemon.send_signal(number)
        self._daemon.wait(timeout=START_TIMEOUT_S)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                client = docker.DockerClient(self.url, timeout=10)
                client.ping()
                client.close()
                return
            except (docker.errors.DockerException, OSError):
                assert time.monotonic() < deadline, (self._folder / "log").read_text()[-2000:]
            time.sleep(0.1)


@pytest.fixture(scope="module")
def engine(languages: dict[str, Language]) -> Iterator[Engine]:
    if os.geteuid() != 0:
        pytest.skip("a daemon of our own needs root")
    shared = connect()
    names = [ensure_image(shared, languages["lua"], lambda _: None), languages["lua"].container.base_image]
    image = subprocess.Popen(["docker", "save", names[0], f"agnostics/{names[1]}"], stdout=subprocess.PIPE)
    with tempfile.TemporaryDirectory(prefix="agn-engine-") as folder:
        made = Engine(Path(folder))
        subprocess.run(["docker", "-H", made.url, "load", "-q"], stdin=image.stdout, check=True, timeout=300)
        yield made
        made.stop(signal.SIGTERM)
        for place in ("data", "exec"):  # the mounts of the daemon that was killed
            subprocess.run(["umount", "--recursive", "--lazy", Path(folder, place)], capture_output=True, check=False)


@pytest.fixture
def own(engine: Engine, monkeypatch: pytest.MonkeyPatch, languages: dict[str, Language]) -> Iterator[Verifier]:
    """A verifier with two slots on that engine, warm."""
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    with Verifier("docker", 2) as made:
        assert made.verify(languages["lua"], "print(42)", TASK).accepted
        yield made


def containers(engine: Engine) -> list[Container]:
    return docker.DockerClient(engine.url).containers.list(filters={"label": "agnostics.scope"})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_a_daemon_that_is_started_again_loses_no_program(
    engine: Engine, own: Verifier, languages: dict[str, Language], number: signal.Signals
) -> None:
    futures = [own.submit(languages["lua"], SPIN, TASK) for _ in range(100)]
    futures[10].result(timeout=60)
    engine.stop(number)
    engine.start()
    found = [future.result(timeout=120) for future in futures]
    assert {str(one.verdict) for one in found} == {"accepted"}
    assert max(one.attempts for one in found) <= 2


def by_the_engine(container: Container) -> None:
    container.kill()


def by_the_kernel(container: Container) -> None:
    """As for want of memory: a SIGKILL to the first process of the container, the harness."""
    os.kill(container.attrs["State"]["Pid"], signal.SIGKILL)


@pytest.mark.parametrize("kill", [by_the_engine, by_the_kernel])
def test_a_container_that_is_killed_loses_no_program(
    engine: Engine, own: Verifier, languages: dict[str, Language], kill: Callable[[Container], None]
) -> None:
    futures = [own.submit(languages["lua"], SPIN, TASK) for _ in range(60)]
    futures[5].result(timeout=60)
    kill(containers(engine)[0])
    assert {str(future.result(timeout=120).verdict) for future in futures} == {"accepted"}


def test_a_client_that_is_killed_leaves_no_container(engine: Engine) -> None:
    line = {"id": 1, "language": "lua", "program": "print(42)", "tests": [{"input": "", "output": "42"}]}
    command = [sys.executable, "-m", "agnostics", "verify", "-", "--sandbox", "docker"]
    environment = {**os.environ, "DOCKER_HOST": engine.url}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as client:
        assert client.stdin
        assert client.stdout
        client.stdin.write(json.dumps(line).encode() + b"\n")
        client.stdin.flush()
        assert json.loads(client.stdout.readline())["verdict"] == "accepted"
        client.kill()
    deadline = time.monotonic() + START_TIMEOUT_S
    while containers(engine) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not containers(engine)


@pytest.mark.skipif(not shutil.which("runsc"), reason="gVisor is not on this machine: apt-get install runsc")
def test_programs_run_in_gvisor_with_the_verdicts_that_they_have_elsewhere(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, languages: dict[str, Language]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    programs = {
        "print(42)": "accepted",
        "print(41)": "wrong_answer",
        "error('x')": "runtime_error",
        "while true do end": "time_limit",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end": "memory_limit",
    }
    task = Task(id="t", tests=(Test(input="", output="42"),), limits=LimitOverrides(run_s=2.0, memory_mb=128))
    with Verifier("docker:runsc", 1) as verifier:
        found = {program: verifier.verify(languages["lua"], program, task) for program in programs}
    assert {program: str(one.verdict) for program, one in found.items()} == programs, found["print(42)"].error
    assert {one.unenforced for one in found.values()} == {("memory", "processes")}
    assert {one.sandbox for one in found.values()} == {"docker:runsc"}
