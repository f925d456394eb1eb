"""Sampling continues during updates if the configuration allows it, no more off-policy than it allows."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics.profiling.spans import intersection, total_s, union

pytestmark = pytest.mark.slow

SETTINGS = [
    *("rollout.prompts_per_step=4", "rollout.group_size=8", "rollout.max_completion_tokens=96", "evaluation.tasks=0"),
    *("rollout.temperature=1.0", "train.learning_rate=1e-4", "train.warmup_epochs=0", "train.max_off_policy_steps=2"),
]
STEPS = 6
PACK = """
import os
import torch
from agnostics import hookimpl
from agnostics.algorithms.algorithm import Algorithm


def noting_threads(logprobs, log_ratios, advantages):
    with open(os.environ["NOTED"], "a") as noted:
        print(torch.get_num_threads(), file=noted)
    return log_ratios.exp() * advantages


@hookimpl
def agn_algorithms():
    return [Algorithm(name="noting", source="this test", objective=noting_threads)]
"""
ON_TWO_THREADS = (
    sys.executable,
    "-c",
    "import torch; torch.set_num_threads(2); from agnostics.cli import main; main()",
)
"""As if `OMP_NUM_THREADS` were 2, which torch reads when it is imported: `preloaded` has imported it already."""
SHARES = ("idle_generation", "idle_verification", "idle_training", "verification_overlap")


def _intervals(events: list[dict[str, Any]], track: str) -> list[tuple[float, float]]:
    return union((event["ts"], event["ts"] + event["dur"]) for event in events if event.get("cat") == track)


def test_a_run_samples_while_it_learns_and_resumes_after_an_interrupt(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    command = home.command("--model", str(starter_model), "--steps", str(STEPS), settings=SETTINGS)
    process = preloaded.Popen(command, stderr=preloaded.PIPE, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("step 4/"):
            process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130, said
    ((run,),) = home.query("select id from run")
    answer = home.tried("--resume", run, settings=[])
    assert answer.returncode == 0, answer.stderr
    joined = "verification join completion on id = completion_id"
    ages = home.query(f"select step - 1 - policy_version, count(*) from {joined} group by 1")
    assert {age for age, _ in ages} <= {0, 1, 2}
    assert sum(count for age, count in ages if age) > 0
    assert sum(count for _, count in ages) == STEPS * 32
    query = "select value from step_metric where name = 'logprob_mismatch'"
    mismatches = [value for (value,) in home.query(query)]
    assert mismatches  # a batch that was sampled wholly by earlier versions has none
    assert max(mismatches) < 1e-4
    for name in SHARES:
        values = [value for (value,) in home.query(f"select value from step_metric where name = '{name}'")]
        assert len(values) == STEPS
        assert all(0 <= value <= 1 for value in values)
    events = json.loads((tmp_path / "runs" / run / "trace.json").read_text())
    learning = _intervals(events, "training")
    assert total_s(intersection(learning, _intervals(events, "generation"))) > 0
    verified = [event for event in events if event.get("cat") == "verification" and event["ph"] == "b"]
    # A program that several completions of a group hold runs once for all of them.
    ((programs,),) = home.query("select count(*) from (select distinct step, task_id, program_id from verification)")
    assert len(verified) >= programs


def _values(home: Any, run: str, name: str) -> dict[int, float]:
    """A metric by its step."""
    return dict(home.query("select step, value from step_metric where run_id = ? and name = ?", run, name))


def test_batches_by_tokens_are_sampled_ahead_only_as_far_as_their_updates_allow(starter_model: Path, home: Any) -> None:
    settings = [*SETTINGS, "algorithm=cwm", "train.max_off_policy_steps=4", "train.batch_tokens=600"]
    run = home.run("--model", str(starter_model), "--steps", "10", settings=settings)["run"]
    updates, ages = _values(home, run, "updates"), _values(home, run, "off_policy_steps_max")
    assert max(updates.values()) > 1
    assert 1 <= max(ages.values()) <= 4
    assert sum(_values(home, run, "stale_rollouts").values()) <= 0.05 * 10 * 32


def test_rollouts_that_wait_for_a_full_batch_are_trained_on_after_a_resume(starter_model: Path, home: Any) -> None:
    settings = [*SETTINGS, "rollout.engine=transformers", "train.batch_tokens=4000"]
    whole = home.run("--model", str(starter_model), "--steps", "5", settings=settings)["run"]
    first = next(step for step, count in sorted(_values(home, whole, "updates").items()) if count)
    assert first > 2  # until then there is one policy, so that both runs sample the same
    resumed = home.run("--model", str(starter_model), "--steps", "2", settings=settings)["run"]
    home.run("--resume", resumed, "--steps", "5", settings=[])
    for name in ("updates", "queued_tokens", "stale_rollouts"):
        one, other = (_values(home, run, name) for run in (whole, resumed))
        assert [one[step] for step in range(1, first + 1)] == [other[step] for step in range(1, first + 1)], name
    assert _values(home, resumed, "loss")[first] == pytest.approx(_values(home, whole, "loss")[first], abs=1e-5)


def test_learning_has_half_of_the_threads_beside_an_engine_that_samples_and_all_once_it_is_idle(
    starter_model: Path,
    home: Any,
    tmp_path: Path,
    install_pack: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_pack("noting", PACK)
    monkeypatch.setenv("NOTED", str(tmp_path / "noted"))
    settings = [*SETTINGS, "algorithm=noting", "train.micro_batch_tokens=256", "rollout.engine=transformers"]
    # The first three steps are submitted at once and may all be sampled before the first update; the fourth cannot.
    words = ("--model", str(starter_model), "--steps", str(STEPS))
    preloaded.run(home.command(*words, settings=settings, agn=ON_TWO_THREADS), timeout=300, check=True)
    assert set((tmp_path / "noted").read_text().split()) == {"1", "2"}
