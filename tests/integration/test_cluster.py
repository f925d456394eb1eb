"""The verifier across machines: a Ray cluster of two nodes with one processor each, on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier

pytestmark = pytest.mark.slow
SANDBOX = "ray://auto/bubblewrap"
ECHO = Task(id="echo", tests=(Test(input="7", output="7"),))


@pytest.mark.usefixtures("cluster")
def test_programs_run_on_every_node(languages: dict[str, Language]) -> None:
    with Verifier(SANDBOX) as verifier:
        assert (verifier.mode, verifier.slots) == ("ray:bubblewrap", 2)
        programs = ["print(io.read('n'))", "print(8)", "while", " "] * 25
        futures = [verifier.submit(languages["lua"], program, ECHO) for program in programs]
        found = [future.result(timeout=120) for future in futures]
    assert [str(one.verdict) for one in found[:4]] == ["accepted", "wrong_answer", "runtime_error", "no_program"]
    assert {str(one.verdict) for one in found[::4]} == {"accepted"}
    assert {one.sandbox for one in found[::4]} == {"bubblewrap"}


def test_a_node_that_dies_takes_no_program_with_it(cluster: Any, languages: dict[str, Language]) -> None:
    program = "local t = os.clock() while os.clock() - t < 0.05 do end print(io.read('n'))"
    with Verifier(SANDBOX) as verifier:
        futures = [verifier.submit(languages["lua"], program, ECHO) for _ in range(60)]
        futures[5].result(timeout=120)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        found = [future.result(timeout=120) for future in futures]
        assert {str(one.verdict) for one in found} == {"accepted"}
        assert verifier.slots == 1


def test_a_node_that_joins_takes_its_share(cluster: Any, languages: dict[str, Language]) -> None:
    with Verifier(SANDBOX) as verifier:
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
        verdicts = [verifier.verify(languages["lua"], "print(7)", ECHO).accepted]
        while verifier.slots < 3:
            verdicts.append(verifier.verify(languages["lua"], "print(7)", ECHO).accepted)
    assert all(verdicts)


def test_a_node_that_offers_no_processor_runs_no_program(cluster: Any, languages: dict[str, Language]) -> None:
    idle = cluster.add_node(num_cpus=0, object_store_memory=80 << 20)
    with Verifier(SANDBOX) as verifier:
        assert verifier.slots == 2
        assert verifier.verify(languages["lua"], "print(7)", ECHO).accepted
    cluster.remove_node(idle)


def test_a_node_that_starts_slowly_holds_up_nobody(
    cluster: Any, languages: dict[str, Language], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.sandbox.ray.pool.LATE_NODE_TIMEOUT_S", 5)
    (raylet, *_) = next(iter(cluster.worker_nodes)).all_processes["raylet"]
    raylet.process.send_signal(signal.SIGSTOP)
    try:
        with Verifier(SANDBOX) as verifier:
            assert verifier.slots == 1
            assert verifier.verify(languages["lua"], "print(7)", ECHO).accepted
            raylet.process.send_signal(signal.SIGCONT)
            while verifier.slots < 2:
                assert verifier.verify(languages["lua"], "print(7)", ECHO).accepted
    finally:
        raylet.process.send_signal(signal.SIGCONT)


@pytest.mark.usefixtures("cluster")
def test_a_toolchain_that_no_node_has_is_named() -> None:
    cobol = Language(name="cobol", prompt="Write COBOL.", filename="x.cob", execute="cobol-is-not-here x.cob")
    with Verifier(SANDBOX) as verifier, pytest.raises(MissingRequirement, match="cobol-is-not-here"):
        verifier.verify(cobol, "x", ECHO)


@pytest.mark.usefixtures("cluster")
def test_verify_as_a_command_uses_the_cluster() -> None:
    line = {"id": 1, "language": "lua", "program": "print(7)", "tests": [{"input": "", "output": "7"}]}
    command = [sys.executable, "-m", "agnostics", "verify", "-", "--sandbox", SANDBOX]
    answer = subprocess.run(
        command, input=json.dumps(line), capture_output=True, text=True, env=os.environ, check=False, timeout=120
    )
    assert json.loads(answer.stdout)["verdict"] == "accepted", answer.stderr


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(MissingRequirement, match="no Ray cluster answers"):
        Verifier("ray://auto")
