"""Runs whose episodes have several turns: trained, killed in the middle of an episode, and resumed."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import preloaded
import pytest

pytestmark = pytest.mark.slow

SETTINGS = [
    *("rollout.prompts_per_step=2", "rollout.group_size=8", "rollout.max_completion_tokens=64", "evaluation.tasks=0"),
    *("rollout.temperature=1.0", "train.learning_rate=1e-4", "train.warmup_epochs=0", "rollout.engine=transformers"),
]
FEEDBACK = [*SETTINGS, "environment=code-feedback", "environment_options.feedback=verdict", "checkpoint_interval=1"]
DOCS = Path(__file__).parents[2] / "docs"


def _turns(journal: Path) -> int:
    return len(journal.read_text().splitlines()) if journal.exists() else 0


def _first_checkpoint(journal: Path) -> Path:
    return journal.parents[1] / "checkpoints" / "step-000001"


def _results(home: Any, run: str) -> list[Any]:
    """Everything that was sampled and decided, by step, task and sample."""
    query = (
        "select step, key, sample, before, after, tokens, verdict, value from verification join completion c"
        " on c.id = verification.completion_id join task on task.id = task_id join reward r"
        " on r.completion_id = c.id where run_id = ? order by 1, 2, 3"
    )
    return list(home.query(query, run))


def test_a_run_killed_in_the_middle_of_an_episode_goes_on_there_and_ends_as_if_it_had_not_been_killed(
    starter_model: Path, home: Any
) -> None:
    words = ("--model", str(starter_model), "--steps", "2")
    whole = home.run(*words, settings=FEEDBACK)["run"]
    process = preloaded.Popen(home.command(*words, settings=FEEDBACK), stderr=preloaded.PIPE)
    deadline = time.monotonic() + 120
    journal = home.folder / "none.jsonl"
    while _turns(journal) < 5 or not _first_checkpoint(journal).exists():  # it is written beside the next step
        assert time.monotonic() < deadline
        assert process.poll() is None
        found = [path for path in home.folder.glob("runs/*/episodes/rank-0-step-2.jsonl") if whole not in str(path)]
        journal = found[0] if found else journal
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=60)
    run = journal.parents[1].name
    kept = journal.read_text()
    home.run("--resume", run, settings=[])
    assert journal.read_text().startswith(kept[: kept.rindex("\n")])
    assert _turns(journal) == _turns(home.folder / "runs" / whole / "episodes" / journal.name)  # none is sampled again
    assert _results(home, run) == _results(home, whole)


def test_an_episode_whose_environment_answers_otherwise_after_a_kill_starts_anew(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    fickle = tmp_path / "fickle.py"
    fickle.write_text(
        "from agnostics.environments.code_feedback import CodeFeedback\n"
        "class Fickle(CodeFeedback):\n"
        "    def feedback_on(self, task, verification):\n"
        "        return 'ONE'\n"
    )
    settings = [*FEEDBACK, f"environment={fickle}:Fickle"]
    words = ("--model", str(starter_model), "--steps", "1")
    run = home.run(*words, settings=settings)["run"]
    journal = home.folder / "runs" / run / "episodes" / "rank-0-step-1.jsonl"
    before = journal.read_text()
    lines = [json.loads(line) for line in before.splitlines()]
    assert {len(lines) > 16, any(line["observation"] for line in lines)} == {True}
    for path in (home.folder / "runs" / run / "checkpoints").glob("*"):
        path.rename(tmp_path / path.name)  # as if it had been killed before its first checkpoint
    fickle.write_text(fickle.read_text().replace("ONE", "ANOTHER"))
    home.run("--resume", run, settings=[])
    anew = [line for line in map(json.loads, journal.read_text().splitlines()) if line.get("anew")]
    began = {line["episode"] for line in lines if line["observation"]}
    assert {line["episode"] for line in anew} == began


def test_the_environment_of_the_docs_is_trained_on_and_its_turns_are_learnt_from_exactly(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    page = (DOCS / "environments.md").read_text()
    name, code = re.findall(r"`(\w+\.py)`\n\n```python\n(.*?)```", page, re.DOTALL)[0]
    assert len(code.splitlines()) <= 40
    (tmp_path / name).write_text(code)
    (environment,) = re.findall(r"^class (\w+)\(Environment\)", code, re.MULTILINE)
    words = ("--model", str(starter_model), "--steps", "2", "--environment", f"{tmp_path / name}:{environment}")
    run = home.run(*words, settings=[*SETTINGS, "train.turn_rewards=true"])["run"]
    metrics = dict(home.query("select name, max(value) from step_metric where run_id = ? group by 1", run))
    assert metrics["tokens_mean"] > 0
    assert metrics["logprob_mismatch"] < 1e-5
    assert metrics["grad_norm"] > 0


def test_episodes_are_played_while_the_policy_is_updated_within_the_bound_on_their_age(
    starter_model: Path, home: Any
) -> None:
    settings = [*SETTINGS, "environment=code-feedback", "train.max_off_policy_steps=2"]
    run = home.run("--model", str(starter_model), "--steps", "5", settings=settings)["run"]
    of_step = "select value from step_metric where run_id = ? and name = ?"
    ages = [value for (value,) in home.query(of_step, run, "off_policy_steps_max")]
    assert 1 <= max(ages) <= 2
    assert sum(value for (value,) in home.query(of_step, run, "stale_rollouts")) <= 0.1 * 5 * 16
    assert max(value for (value,) in home.query(of_step, run, "logprob_mismatch")) < 1e-5
    assert home.query("select max(turns) from episodes where run = ?", run) == [(3,)]


def test_a_run_trains_on_the_problems_of_a_session_and_its_turns_are_learnt_from_exactly(
    starter_model: Path, home: Any
) -> None:
    settings = [*SETTINGS, "environment=session", "episode.max_turns=3"]
    run = home.run("--model", str(starter_model), "--steps", "2", settings=settings)["run"]
    metrics = dict(home.query("select name, max(value) from step_metric where run_id = ? group by 1", run))
    assert metrics["logprob_mismatch"] < 1e-5
    assert metrics["tokens_mean"] > 0
    told = home.query("select observation from turns where run = ? and observation is not null", run)
    assert {text for (text,) in told} & {"There is no program in the message."}
    (most,) = home.query("select max(turns) from episodes where run = ?", run)[0]
    assert most == 3
