"""Several ranks on this machine: the same losses as one rank, the same run, and one rank that prints and stores."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import agnostics
import preloaded
import pytest
from agnostics.util.distributed import ProcessGroup
from torch.distributed import TCPStore  # type: ignore[attr-defined]

pytestmark = pytest.mark.slow

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node"]
AGN = str(Path(agnostics.__file__).with_name("__main__.py"))
AGN_ON_TWO = [*TORCHRUN, "2", "--start-method", "fork", "--run-path", AGN]
"""`torchrun -m agnostics` whose ranks are forks of the launcher: none imports torch and vLLM again."""
SMALL = [
    *(
        "rollout.prompts_per_step=2",
        "rollout.group_size=8",
        "rollout.max_completion_tokens=48",
        "rollout.temperature=1.0",
    ),
    *("train.learning_rate=1e-3", "train.warmup_epochs=0", "evaluation.tasks=4", "evaluation.samples=2"),
]
LOSSES = (
    *("loss", "logprob_mismatch", "importance_ratio", "kl", "policy_entropy", "grad_norm"),
    *("reward_mean", "policy_version"),
)


@pytest.fixture(scope="module")
def model(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model(tied=True)


@pytest.fixture(scope="module")
def alone(model: Path) -> dict[str, Any]:
    """The updates of one rank, for each case."""
    return _updates(1, model)


@pytest.mark.parametrize(("ranks", "every"), [(2, 1), (4, 2)])
def test_updates_on_several_ranks_are_those_of_one(ranks: int, every: int, model: Path, alone: dict[str, Any]) -> None:
    """On four ranks, half of the cases: what sets the others apart does not depend on the number of ranks."""
    found = _updates(ranks, model, every)
    assert list(found) == list(alone)[::every]
    for name, metrics in found.items():
        tolerance = 0.05 if "bfloat16" in name else 1e-5
        for key, values in metrics.items():
            assert values == pytest.approx(alone[name][key], rel=tolerance, abs=tolerance), (name, key)
        assert min(alone[name]["norms"][:2]) > 1e-3, name


def _updates(ranks: int, model: Path, every: int = 1) -> dict[str, Any]:
    processes = _started([str(Path(__file__).with_name("ranks_updates.py")), str(model), str(every)], ranks)
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, outputs
    found: dict[str, Any] = json.loads((outputs[0][0] or "").splitlines()[-1])
    return found


def _started(arguments: list[str], ranks: int) -> list[preloaded.Popen]:
    """A process of this Python for each rank. There is no launcher, which would end the others with one that fails."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    here |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    environments = [{**os.environ, **here, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)]
    command, pipe = [sys.executable, *arguments], preloaded.PIPE
    return [preloaded.Popen(command, stdout=pipe, stderr=pipe, env=each) for each in environments]


def test_a_run_on_two_ranks_is_that_of_one_also_when_it_is_interrupted(starter_model: Path, home: Any) -> None:
    words = ("--model", str(starter_model), "--steps", "4")
    settings = [*SMALL, "rollout.dynamic_sampling_rounds=1"]
    whole = home.run(*words, settings=settings)["run"]
    command = home.command(*words, agn=AGN_ON_TWO, settings=settings)
    process = preloaded.Popen(command, stderr=preloaded.PIPE)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("step 2/4"):
            process.send_signal(signal.SIGINT)  # which the launcher hands on
    process.wait(timeout=60)
    ((run, status),) = home.query("select id, status from run where id != ?", whole)
    assert status == "interrupted", said
    assert sum("interrupted after step" in line for line in said) == 1
    assert sum(line.startswith("step 1/4") for line in said) == 1
    refused = home.tried("--resume", run, settings=[])
    assert refused.returncode == 2
    resume = f"--resume {home.folder / 'runs' / run}"
    assert f"torchrun --nproc-per-node 2 -m agnostics run {resume}" in refused.stderr.splitlines()[-1]
    status, said = _on_two(home.command("--resume", run, agn=[], settings=[]))
    assert status == [0, 0], said
    assert _completions(home, run) == _completions(home, whole)
    losses = _losses(home, run)
    assert losses.keys() == _losses(home, whole).keys()
    assert losses == pytest.approx(_losses(home, whole), rel=1e-5, abs=1e-5)
    assert any(value > 2 for value in _metric(home, run, "groups"))
    assert any(abs(value) > 1e-3 for (_, name), value in losses.items() if name == "loss")


def test_an_error_of_all_ranks_is_printed_once(starter_model: Path, home: Any) -> None:
    settings = [*SMALL, "rollout.engine=transformers", "evaluation.tasks=0", "train.max_logprob_mismatch=1e-12"]
    status, errors = _on_two(home.command("--model", str(starter_model), agn=[], settings=settings))
    assert 0 not in status
    (said,) = (line for line in errors if line.startswith("agn:"))
    assert "does not sample from the policy that is trained" in said
    assert home.query("select status from run") == [("failed",)]


def _on_two(run: list[str]) -> tuple[list[int | None], list[str]]:
    """The exit status of each of two ranks of `agn`, and what they say on stderr."""
    processes = _started(["-m", "agnostics", *run], 2)
    said = [process.communicate(timeout=240)[1] or "" for process in processes]
    return [process.returncode for process in processes], "".join(said).splitlines()


GATHERED = """
import numpy as np
from agnostics.types.rollout import Segment
from agnostics.util.distributed import join_process_group
def segments_of(rank):
    return [Segment.sampled(range(n), [-0.1 / 3] * n, [n] * n) for n in range(5, 400 * rank + 7)] * (rank + 1)
with join_process_group() as group:
    for _ in range(3):
        assert group.all_gather(segments_of(group.rank)) == [segments_of(0), segments_of(1), segments_of(2)]
    assert group.all_gather(None if group.is_main else [()]) == [None, [()], [()]]
    rows = group.gather_shards([np.float32([place, -0.0]) for place in group.shard(range(7))])
    assert [row.tolist() for row in rows] == [[place, 0.0] for place in range(7)]
    assert all(np.signbit(row[1]) and row.dtype == np.float32 for row in rows)
"""


def test_every_rank_gets_the_segments_and_arrays_of_the_others_whatever_their_sizes() -> None:
    processes = _started(["-c", GATHERED], 3)
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs


LOST = """
import os, sys
from pathlib import Path
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import TrainConfig
from agnostics.models.loading import load_tokenizer
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.util.distributed import join_process_group
folder, run = Path(sys.argv[1]), Path(sys.argv[2])
with join_process_group() as group, Policy(folder, TrainConfig(), 1.0, process_group=group) as policy:
    writer = CheckpointWriter(policy, load_tokenizer(folder))
    writer.save(run, TrainerState(step=1))
    writer.wait()
    if not group.is_main:
        os._exit(9)
    writer.save(run, TrainerState(step=2))
"""


def test_a_rank_that_is_lost_while_a_checkpoint_is_written_is_no_full_disk(model: Path, tmp_path: Path) -> None:
    both = _started(["-c", LOST, str(model), str(tmp_path)], 2)
    try:
        said = (both[0].communicate(timeout=120)[1] or "").splitlines()[-1]
    finally:
        for process in both:
            process.kill()
            process.communicate()
    assert "another rank ended without an error message" in said
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000001"]


RANKS = """
import resource, sys
from pathlib import Path
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import TrainConfig
from agnostics.models.loading import load_tokenizer
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.util.distributed import join_process_group
folder, run = Path(sys.argv[1]), Path(sys.argv[2])
with (
    join_process_group() as group,
    Policy(folder, TrainConfig(zero_stage=int(sys.argv[3])), 1.0, process_group=group) as policy,
    CheckpointWriter(policy, load_tokenizer(folder)) as writer,
):
    for step in (1, 2):
        writer.save(run, TrainerState(step=step))  # the second one waits for the first
    assert (run / "checkpoints" / "step-000001").exists() or checkpoint.exists(run, 2)
    writer.wait()
    assert group.run_on_main(lambda: checkpoint.last(run, 2)) == writer.last
    assert checkpoint.restore(writer.last, policy) == TrainerState(step=2)
    if not group.is_main:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    writer.save(run, TrainerState(step=3))
    writer.wait()
"""


@pytest.mark.parametrize("stage", [1, 3])
def test_a_checkpoint_of_two_ranks_has_its_name_once_both_have_written(stage: int, model: Path, tmp_path: Path) -> None:
    both = _started(["-c", RANKS, str(model), str(tmp_path), str(stage)], 2)
    said = [(process.communicate(timeout=120)[1] or "").splitlines() for process in both]
    assert [process.returncode for process in both] == [1, 1]
    assert "step-000003 could not be written" in said[1][-1]
    assert "another rank has failed" in said[0][-1]
    (folder,) = (tmp_path / "checkpoints").iterdir()
    assert folder.name == "step-000002"
    files = json.loads((folder / "trainer" / "manifest.json").read_text())["files"]
    assert len([name for name in files if name.endswith("_optim_states.pt")]) == 2


def test_the_rank_that_reports_an_error_does_so_also_once_the_rank_with_the_store_is_gone() -> None:
    held = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    reached = TCPStore("localhost", held.port, is_master=False, timeout=timedelta(seconds=20))
    main, other = (ProcessGroup(rank=rank, world_size=2, store=store) for rank, store in enumerate((held, reached)))
    assert other.reports_error()
    assert not main.reports_error()
    del main, held
    gc.collect()
    with pytest.raises(RuntimeError):
        reached.get("agnostics/reporter")
    assert other.reports_error()


def _completions(home: Any, run: str) -> list[Any]:
    """The completions of a run with their rewards and advantages, in order."""
    columns = "phase, step, task, sample, completion, reward, advantage"
    return home.query(f"select {columns} from verifications where run = ? order by 1, 2, 3, 4", run)


def _losses(home: Any, run: str) -> dict[tuple[int, str], float]:
    rows = home.query("select step, name, value from step_metric where run_id = ? order by 1, 2", run)
    return {(step, name): value for step, name, value in rows if name in LOSSES}


def _metric(home: Any, run: str, name: str) -> list[float]:
    return [value for (value,) in home.query("select value from step_metric where run_id = ? and name = ?", run, name)]
