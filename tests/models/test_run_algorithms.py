"""Every algorithm trains for real: its weights move, its metrics and programs are stored, and it resumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

pytestmark = pytest.mark.slow

SMALL = [
    *(
        "rollout.engine=transformers",
        "rollout.prompts_per_step=2",
        "rollout.group_size=6",
        "rollout.max_completion_tokens=48",
    ),
    *("rollout.temperature=1.0", "train.learning_rate=1e-3", "train.warmup_epochs=0", "evaluation.tasks=0"),
]
SIGNAL = f"reward={Path(__file__).parents[1] / 'support' / 'length_reward.py'}:length"
PACK = """
from agnostics import hookimpl
from agnostics.algorithms.algorithm import Algorithm


def best_only(rewards, lengths):
    return [float(reward == max(rewards) > 0) for reward in rewards]


@hookimpl
def agn_algorithms():
    return [Algorithm(name="raft", source="arXiv:2304.06767", advantage_function=best_only)]
"""


def _values(home: Any, run: str, name: str) -> list[float]:
    rows = home.query("select value from step_metric where run_id = ? and name = ? order by step", run, name)
    return [value for (value,) in rows]


def _texts(home: Any, run: str) -> list[Any]:
    query = "select step, task, sample, completion from verifications where run = ? order by 1, 2, 3"
    return home.query(query, run)


def _furthest(one: Path, other: Path) -> float:
    ours, theirs = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    return max((ours[name] - theirs[name]).abs().max().item() for name in ours)


STUCK = """
from agnostics import EngineProvider, hookimpl
from agnostics.inference.transformers import TransformersEngine


class StuckEngine(TransformersEngine):
    def load_weights(self, weights, version):
        self.version = version


class Stuck(EngineProvider):
    name = "stuck"

    def open(self, settings):
        return StuckEngine(settings)


@hookimpl
def agn_engines():
    return [Stuck()]
"""
"""An engine that new weights do not reach."""


@pytest.mark.parametrize(
    "algorithm", ["grpo", "dr_grpo", "dapo", "gspo", "cwm", "cispo", "rloo", "reinforce++", "raft"]
)
def test_an_algorithm_moves_the_weights_and_stores_what_it_did(
    algorithm: str, starter_model: Path, home: Any, install_pack: Callable[[str, str], None]
) -> None:
    if algorithm == "raft":
        install_pack("raft", PACK)
    settings = [*SMALL, SIGNAL, f"algorithm={algorithm}"]
    if algorithm == "cwm":
        settings += ["train.batch_tokens=100", "train.updates_per_batch=2"]
    if algorithm == "reinforce++":
        settings += ["train.mis_low=0.5", "train.mis_high=5", "train.entropy_coef=0.01"]
    summary = home.run("--model", str(starter_model), "--steps", "2", settings=settings)
    run = summary["run"]
    updates, versions = _values(home, run, "updates"), _values(home, run, "policy_version")
    assert versions[-1] == sum(updates) > 0
    assert 1e-6 < _furthest(Path(summary["checkpoint"]), starter_model) < 1.0
    groups = sum(_values(home, run, "groups"))
    stored = home.query("select count(*) from verification where run_id = ?", run)
    assert stored == [(summary["completions"],)] == [(groups * 6,)]
    assert groups == 4 or algorithm in {"dapo", "cispo"}
    assert (max(updates) > 2) is (algorithm == "cwm")
    names = ("loss", "importance_ratio", "clip_fraction", "kl", "grad_norm", "logprob_mismatch")
    for name in (*names, "filtered", "stale_rollouts"):
        assert _values(home, run, name), name


def test_groups_of_dynamic_sampling_are_stored_and_repeat(starter_model: Path, home: Any) -> None:
    settings = [*SMALL, "algorithm=dapo", "rollout.group_size=2", "rollout.dynamic_sampling_rounds=2"]
    runs = [home.run("--model", str(starter_model), "--steps", "2", settings=settings) for _ in range(2)]
    groups = _values(home, runs[0]["run"], "groups")
    zero_variance = _values(home, runs[0]["run"], "zero_variance_groups")
    assert max(groups) > 2
    assert all(sampled - dropped <= 2 for sampled, dropped in zip(groups, zero_variance, strict=True))
    assert _texts(home, runs[0]["run"]) == _texts(home, runs[1]["run"])
    assert len(_texts(home, runs[0]["run"])) == 2 * sum(groups)


def test_a_run_with_a_kl_term_resumes_with_the_model_it_started_with(starter_model: Path, home: Any) -> None:
    settings = [*SMALL, SIGNAL, "rollout.group_size=12", "train.kl_coef=0.05", "train.tis_cap=2.0"]
    summary = home.run("--model", str(starter_model), "--steps", "2", settings=settings)
    resumed = home.run("--resume", summary["run"], "--steps", "3", settings=[])
    assert resumed["steps"] == 3
    kl = _values(home, summary["run"], "kl")
    assert len(kl) == 3
    assert kl[0] < 1e-9
    assert kl[2] > 1e-5  # before its only update: from the model of step 1, not that of the resume


def test_a_logprob_mismatch_with_the_engine_stops_the_run_with_a_message(starter_model: Path, home: Any) -> None:
    settings = [*SMALL, "train.max_logprob_mismatch=1e-12"]
    answer = home.tried("--model", str(starter_model), "--steps", "1", settings=settings)
    assert answer.returncode == 1
    assert "the engine does not sample from the policy that is trained" in answer.stderr.splitlines()[-1]
    assert home.query("select status from run") == [("failed",)]


def test_weights_that_do_not_reach_the_engine_stop_the_run_below_the_bound_of_the_mismatch(
    starter_model: Path, home: Any, install_pack: Callable[[str, str], None]
) -> None:
    install_pack("stuck", STUCK)
    settings = [*SMALL, SIGNAL, "rollout.engine=stuck", "train.learning_rate=5e-3", "train.max_logprob_mismatch=1"]
    answer = home.tried("--model", str(starter_model), "--steps", "3", settings=settings)
    assert answer.returncode == 1
    assert "more than 0.1 (train.max_logprob_mismatch = 1; before the first update it was" in answer.stderr
    (mismatches,) = home.query("select value from step_metric where step = 1 and name = 'logprob_mismatch'")
    assert mismatches[0] < 1e-4


def test_an_unknown_algorithm_is_one_line(home: Any) -> None:
    answer = home.tried(settings=["algorithm=gropo"])
    assert answer.returncode == 2
    assert "unknown algorithm 'gropo'; did you mean 'grpo'?" in answer.stderr
