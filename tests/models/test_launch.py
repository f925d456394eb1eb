"""Ranks on the nodes of a Ray cluster: the run of one rank, followed and interrupted from where it was launched."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import agnostics
import preloaded
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cluster")]

AGN = [sys.executable, "-m", "agnostics"]
LAUNCH = [*AGN, "launch", "--ranks", "2", "ray://auto"]
RANKS_HERE = [
    *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--start-method", "fork"),
    *("--run-path", str(Path(agnostics.__file__).with_name("__main__.py"))),
]
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


def _follow(process: subprocess.Popen[str], step: int, act: Callable[[], object]) -> tuple[int, list[str]]:
    """The exit status and stderr of a run; `act` is called after this step, or the first after it."""
    assert process.stderr is not None
    said, acted = list[str](), False
    for line in process.stderr:
        said.append(line)
        if (found := re.match(r"step (\d+)/", line)) and int(found[1]) >= step and not acted:
            acted = True
            act()
    return process.wait(timeout=120), said


def test_a_run_on_two_nodes_is_that_of_one_process_also_when_a_node_is_lost_and_when_it_is_interrupted(
    starter_model: Path, home: Any, cluster: Any
) -> None:
    """It ends as two ranks on this machine, which are forks and import nothing again."""
    settings = [*SMALL, "checkpoint_interval=2"]
    words = ("--model", str(starter_model), "--steps", "16")
    whole = home.run(*words, settings=settings)["run"]
    lost = next(iter(cluster.worker_nodes))
    process = _launched(home.command(*words, agn=LAUNCH, settings=settings))
    status, said = _follow(process, 5, lambda: cluster.remove_node(lost, allow_graceful=False))
    assert status == 1, said
    (complaint,) = (line for line in said if line.startswith("agn:"))
    # Who notices first: Ray, or the rank that waits for the lost one.
    assert "is lost with its node" in complaint or "another rank ended without an error message" in complaint
    cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    ((run,),) = home.query("select id from run where id != ?", whole)
    process = _launched(home.command("--resume", run, agn=LAUNCH, settings=[]))
    status, said = _follow(process, 1, lambda: process.send_signal(signal.SIGINT))
    assert status == 130, said
    assert home.query("select status from run where id = ?", run) == [("interrupted",)]
    end = preloaded.run(home.command("--resume", run, agn=RANKS_HERE, settings=[]), capture_output=True, timeout=300)
    assert end.returncode == 0, end.stderr
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
