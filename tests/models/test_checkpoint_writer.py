"""Checkpoints in the background: what a kill, an error or another checkpoint finds while one is being written."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics.models.loading import load_tokenizer
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from checkpoints import HeldTokenizer

pytestmark = pytest.mark.slow

KILLED = """
import os, signal, sys
from pathlib import Path
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from checkpoints import HeldTokenizer, write_checkpoint
folder, run = Path(sys.argv[1]), Path(sys.argv[2])
policy = Policy(folder, TrainConfig(), 1.0)
write_checkpoint(run, policy, TrainerState(step=1), folder)
CheckpointWriter(policy, HeldTokenizer(folder)).save(run, TrainerState(step=3))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_killed_while_a_checkpoint_is_written_resumes_from_the_one_before_it(
    tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tiny_model(tied=True)
    killed = preloaded.run([sys.executable, "-c", KILLED, str(folder), str(tmp_path)], timeout=120)
    assert killed.returncode == -9
    names = ["step-000001", ".step-000003.part"]
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == set(names)
    start = checkpoint.last(tmp_path)
    assert start
    assert start.name == names[0]
    with Policy(start, TrainConfig(), 1.0) as policy, CheckpointWriter(policy, load_tokenizer(start)) as writer:
        assert checkpoint.restore(start, policy) == TrainerState(step=1)
        writer.save(tmp_path, TrainerState(step=2))
        writer.wait()
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000002"]


def test_one_checkpoint_is_written_at_a_time_and_none_twice(policy: Policy, model: Path, tmp_path: Path) -> None:
    tokenizer = HeldTokenizer(model)
    with CheckpointWriter(policy, tokenizer, keep=2) as writer:
        writer.save(tmp_path, TrainerState(step=1, seconds=1.0))
        writer.save(tmp_path, TrainerState(step=1, seconds=2.0))  # as an interrupt does
        assert not writer.check()
        threading.Timer(0.2, tokenizer.released.set).start()
        writer.save(tmp_path, TrainerState(step=2))
        assert checkpoint.exists(tmp_path, 1)
        writer.wait()
        assert writer.last == checkpoint.last(tmp_path)
    assert [path.name for path in checkpoint.all_of(tmp_path)] == ["step-000001", "step-000002"]
    assert '"seconds": 1.0' in (tmp_path / "checkpoints" / "step-000001" / "trainer" / "state.json").read_text()


def test_an_error_of_the_next_step_leaves_the_checkpoint_complete(policy: Policy, model: Path, tmp_path: Path) -> None:
    tokenizer = HeldTokenizer(model)
    with suppress(ZeroDivisionError), CheckpointWriter(policy, tokenizer) as writer:
        writer.save(tmp_path, TrainerState(step=1))
        threading.Timer(0.2, tokenizer.released.set).start()
        raise ZeroDivisionError
    assert checkpoint.last(tmp_path) == tmp_path / "checkpoints" / "step-000001"


def test_a_checkpoint_that_is_given_up_leaves_nothing(policy: Policy, model: Path, tmp_path: Path) -> None:
    tokenizer = HeldTokenizer(model)
    with CheckpointWriter(policy, tokenizer) as writer:
        writer.save(tmp_path, TrainerState(step=1))
        threading.Timer(0.2, tokenizer.released.set).start()
        writer.abandon()
        assert writer.last is None
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_checkpoint_that_was_to_be_replaced_when_the_run_was_killed_is_put_back(tmp_path: Path) -> None:
    partial, folder = tmp_path / "checkpoints" / ".step-000001.part", tmp_path / "checkpoints" / "step-000001"
    for _ in range(2):
        checkpoint.make_empty(partial)
        checkpoint.publish(partial, folder, 1, {})
    assert list((tmp_path / "checkpoints").iterdir()) == [folder]
    folder.rename(tmp_path / "checkpoints" / ".step-000001.replaced")
    assert checkpoint.last(tmp_path) == folder


LIMITED = """
import resource, runpy
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
runpy.run_module("agnostics", run_name="__main__")
"""


def test_a_run_says_once_that_a_checkpoint_could_not_be_written_at_the_end_of_the_next_step(
    starter_model: Path, home: Any
) -> None:
    settings = ["rollout.engine=transformers", "rollout.prompts_per_step=1", "rollout.group_size=2"]
    settings += ["rollout.max_completion_tokens=16", "evaluation.tasks=0", "checkpoint_interval=1"]
    command = home.command("--model", str(starter_model), "--steps", "5", agn=[], settings=settings)
    answer = preloaded.run([sys.executable, "-c", LIMITED, *command], capture_output=True, timeout=120)
    assert answer.returncode == 1, answer.stderr
    (said,) = (line for line in answer.stderr.splitlines() if "could not be written" in line)
    ((run, status),) = home.query("select id, status from run")
    assert status == "failed"
    assert said.startswith("agn: the checkpoint ")
    assert f"there is no earlier checkpoint; make room, then: agn run --resume {home.folder / 'runs' / run}" in said
    assert home.query("select max(step) from step_metric") <= [(2,)]


@pytest.fixture
def model(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model(tied=True)


@pytest.fixture
def policy(model: Path) -> Any:
    with Policy(model, TrainConfig(), 1.0) as policy:
        yield policy
