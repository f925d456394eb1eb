"""Ranks on the nodes of a Ray cluster: the run of one rank, followed and interrupted from where it was launched."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cluster")]

AGN = [sys.executable, "-m", "agnostics"]
LAUNCH = [*AGN, "launch", "--ranks", "2", "ray://auto"]
SMALL = [
    *(
        "rollout.engine=transformers",
        "rollout.prompts_per_step=2",
        "rollout.group_size=6",
        "rollout.max_completion_tokens=32",
    ),
    *("train.learning_rate=1e-3", "train.warmup_epochs=0", "evaluation.tasks=0"),
]


def _completions(home: Any, run: str) -> list[Any]:
    query = "select step, task, sample, completion from verifications where run = ? order by 1, 2, 3"
    return home.query(query, run)


def _follow(process: subprocess.Popen[str], act: Callable[[], object]) -> tuple[int, list[str]]:
    """The exit status and stderr of a run; `act` is called after its first step."""
    assert process.stderr is not None
    said, acted = list[str](), False
    for line in process.stderr:
        said.append(line)
        if line.startswith("step ") and not acted:
            acted = True
            act()
    return process.wait(timeout=120), said


def test_a_run_on_two_nodes_is_that_of_one_process_also_when_it_is_interrupted_and_when_a_node_is_lost(
    starter_model: Path, home: Any, cluster: Any
) -> None:
    settings = [*SMALL, "checkpoint_interval=2"]
    words = ("--model", str(starter_model), "--steps", "12")
    whole = home.run(*words, settings=settings)["run"]
    process = _launched(home.command(*words, agn=LAUNCH, settings=settings))
    status, said = _follow(process, lambda: process.send_signal(signal.SIGINT))
    assert status == 130, said
    ((run, stored),) = home.query("select id, status from run where id != ?", whole)
    assert stored == "interrupted"
    resume = home.command("--resume", run, agn=LAUNCH, settings=[])
    lost = next(iter(cluster.worker_nodes))
    status, said = _follow(_launched(resume), lambda: cluster.remove_node(lost, allow_graceful=False))
    assert status == 1, said
    (complaint,) = (line for line in said if line.startswith("agn:"))
    # Who notices first: Ray, or the rank that waits for the lost one.
    assert "is lost with its node" in complaint or "another rank ended without an error message" in complaint
    cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    assert home.run("--resume", run, agn=LAUNCH, settings=[])["steps"] == 12
    assert _completions(home, run) == _completions(home, whole)
    assert home.query("select status from run where id = ?", run) == [("finished",)]


def _launched(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def test_what_is_wrong_is_said_once_and_is_the_exit_status(home: Any) -> None:
    answer = subprocess.run(
        home.command("--language", "luaa", agn=LAUNCH, settings=[]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stderr.count("unknown language 'luaa'; did you mean 'lua'?") == 1


def test_more_ranks_than_the_cluster_has_room_for_are_refused(tmp_path: Path) -> None:
    command = [*AGN, "launch", "--ranks", "3", "ray://auto", "run", "--dry-run"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path)
    assert answer.returncode == 3
    assert "the cluster has no room for 3 ranks" in answer.stderr
