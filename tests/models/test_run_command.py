"""`agn run` as people use it: a short real run, its store, its repetition, Ctrl-C and resume, and bad input."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics.train.metrics import describe_metric

FRESH = (sys.executable, "-c", "from agnostics.cli import main; main()")
"""An interpreter of its own: everything that it prints while it imports is captured."""
AGN = (sys.executable, "-m", "agnostics")
Metrics = dict[tuple[int, str], float]
TINY = [
    "rollout.prompts_per_step=2",
    "rollout.group_size=4",
    "rollout.max_completion_tokens=48",
    "train.learning_rate=1e-3",
]
HELD_OUT = ["evaluation.tasks=4", "evaluation.samples=2"]


def _texts(home: Any, run: str) -> list[Any]:
    """All completions of a run, in order."""
    columns = "phase, step, task, sample, completion"
    return home.query(f"select {columns} from verifications where run = ? order by 1, 2, 3, 4", run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "agn", "changed"),
    [("vllm", FRESH, ["rollout.separate_process=true"]), ("transformers", AGN, [])],
    ids=["vllm, repeated in a process of its own", "transformers"],
)
def test_a_short_run_stores_all_it_did_and_its_configuration_repeats_it(
    engine: str, agn: Sequence[str], changed: list[str], starter_model: Path, home: Any, tmp_path: Path
) -> None:
    settings = [*TINY, *HELD_OUT, f"rollout.engine={engine}"]
    words = ("--model", str(starter_model), "--steps", "3")
    summary = home.run(*words, settings=settings, agn=agn)
    assert summary.keys() == {
        *("run", "language", "steps", "completions", "pass_at_1_before", "pass_at_1_after"),
        *("interval_before", "interval_after", "checkpoint", "store", "seconds"),
    }
    run = summary["run"]
    assert (summary["language"], summary["steps"], summary["completions"]) == ("lua", 3, 3 * 8 + 2 * 8)
    verdicts = dict(home.query("select verdict, count(*) from verification where run_id = ? group by 1", run))
    counted = home.query("select sum(value) from step_metric where run_id = ? and name like '%completions'", run)
    assert sum(verdicts.values()) == counted[0][0] == summary["completions"]
    per_step = home.query(
        "select name, sum(value) from step_metric where run_id = ? and name like 'verdict_%' group by 1",
        run,
    )
    trained = "select 'verdict_' || verdict, count(*) from verification where run_id = ? and phase = 'train' group by 1"
    assert sorted(per_step) == sorted(home.query(trained, run))
    mismatches = home.query("select value from step_metric where run_id = ? and name = 'logprob_mismatch'", run)
    assert len(mismatches) == 3
    assert all(0 <= mismatch < 1e-4 for (mismatch,) in mismatches)
    again = home.run(str(tmp_path / "runs" / run / "config.toml"), settings=changed)
    assert _texts(home, again["run"]) == _texts(home, run)
    assert _losses(home, again["run"]) == _losses(home, run)
    assert again["run"] != run


@pytest.mark.slow
def test_checkers_decide_verdicts_in_training(starter_model: Path, home: Any, tmp_path: Path) -> None:
    checker = {"language": "lua", "program": "os.exit(io.open(arg[3]):read() == 'anything' and 0 or 1)"}
    tasks = [json.loads(line) for line in home.tasks.read_text().splitlines()[:8]]
    for task in tasks:
        task["compare"] = {"mode": "checker", "checker": checker}
        task["tests"] = [{"input": test["input"], "output": "anything"} for test in task["tests"]]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    words = ("--model", str(starter_model), "--dataset", str(tmp_path / "tasks.jsonl"), "--steps", "1")
    home.run(
        *words, settings=[*TINY, "rollout.prompts_per_step=8", "evaluation.tasks=0", "rollout.engine=transformers"]
    )
    verdicts = dict(home.query("select verdict, count(*) from verification group by verdict"))
    assert verdicts["accepted"] > 0
    assert "sandbox_error" not in verdicts


@pytest.mark.slow
def test_an_interrupted_run_resumes_to_where_an_uninterrupted_one_gets(
    starter_model: Path,
    home: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tensorboard_metrics: Callable[[Path], Metrics],
    wandb_metrics: Callable[[Path], Metrics],
) -> None:
    """It has loggers, too: TensorBoard and Weights & Biases show in the end the metrics that the store holds."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    words = ("--model", str(starter_model), "--steps", "5")
    settings = [*TINY, *HELD_OUT, "rollout.engine=transformers"]
    whole = home.run(*words, settings=settings)
    command = home.command(*words, settings=[*settings, 'loggers=["tensorboard", "wandb"]'])
    process = preloaded.Popen(command, stderr=preloaded.PIPE)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("step 2/5"):
            process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130, said
    ((run, status),) = home.query("select id, status from run where id != ?", whole["run"])
    assert status == "interrupted"
    _, _, resume = said[-1].partition("to resume: agn ")
    assert resume.split() == ["run", "--resume", str(tmp_path / "runs" / run)]
    steps = home.query("select distinct step from verification where run_id = ? and phase = 'train'", run)
    (checkpoint,) = (tmp_path / "runs" / run / "checkpoints").iterdir()
    assert checkpoint.name == f"step-{max(step for (step,) in steps):06}"
    answer = preloaded.run([*AGN, *resume.split(), "--json"], capture_output=True, timeout=300)
    resumed = json.loads(answer.stdout)
    assert (resumed["run"], resumed["steps"], resumed["completions"]) == (run, 5, whole["completions"])
    assert _texts(home, run) == _texts(home, whole["run"])
    assert resumed["pass_at_1_before"] == whole["pass_at_1_before"]
    stored = _metrics(home, run)
    assert {step for step, _ in stored} == set(range(6))
    assert [name for _, name in stored if not describe_metric(name)] == []
    assert wandb_metrics(tmp_path / "runs" / run / "wandb" / "latest-run") == stored
    assert tensorboard_metrics(tmp_path / "runs" / run / "tensorboard") == pytest.approx(stored, rel=1e-6)  # float32


def _metrics(home: Any, run: str) -> Metrics:
    """The metrics in the store, by step and the name that loggers get."""
    rows = home.query("select step, name, value from step_metric where run_id = ? and value is not null", run)
    return {(step, re.sub("^eval_[a-z]+_|^", _group, name, count=1)): value for step, name, value in rows}


def _group(prefix: re.Match[str]) -> str:
    return {"": "train/", "eval_during_": "validation/"}.get(prefix[0], "eval/")


KILLS = 10
LOSSES = (
    *("loss", "logprob_mismatch", "importance_ratio", "grad_norm"),
    *("reward_mean", "policy_version", "learning_rate"),
)


def _rewards(home: Any, run: str) -> list[Any]:
    """The reward and advantage of all completions of a run, in order."""
    order = "order by phase, step, task, sample"
    return home.query(f"select reward, advantage from verifications where run = ? {order}", run)


def _losses(home: Any, run: str) -> list[Any]:
    names = ", ".join(f"'{name}'" for name in LOSSES)
    return home.query(
        f"select step, name, value from step_metric where run_id = ? and name in ({names}) order by 1, 2", run
    )


@pytest.mark.slow
def test_a_run_killed_ten_times_at_random_ends_as_one_that_was_not(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    """Its prompts depend on its rollouts, too: six tasks that do not come equally often."""
    settings = [*TINY, *HELD_OUT, "rollout.engine=transformers", "checkpoint_interval=3", "evaluation.eval_interval=4"]
    settings += ["rollout.online_difficulty_filtering=true"]
    lines = home.tasks.read_text().splitlines(keepends=True)
    tasks = tmp_path / "few.jsonl"
    validation = [line.replace('"split": "train"', '"split": "validation"') for line in lines[6:10]]
    tasks.write_text("".join([*lines[:6], *validation, *(line for line in lines if '"split": "test"' in line)]))
    words = ("--model", str(starter_model), "--dataset", str(tasks), "--steps", "10")
    started = time.monotonic()
    whole = home.run(*words, settings=settings)["run"]
    lasted, rng = time.monotonic() - started, random.Random(0)
    command = home.command(*words, settings=settings)
    for _ in range(KILLS):
        process = preloaded.Popen(command, stdout=preloaded.DEVNULL, stderr=preloaded.DEVNULL)
        with suppress(preloaded.TimeoutExpired):
            process.wait(timeout=rng.uniform(0.3, 1.0) * lasted)
        process.kill()
        process.wait(timeout=60)
        made = home.query("select id from run where id != ?", whole)
        command = home.command("--resume", made[0][0], settings=[]) if made else command
    assert len(made) == 1
    (run,) = made[0]
    home.run("--resume", run, settings=[])
    assert _texts(home, run) == _texts(home, whole)
    assert _rewards(home, run) == _rewards(home, whole)
    assert _losses(home, run) == _losses(home, whole)
    turns = "select count(distinct step) from verifications where run = ? and phase = 'train' group by task"
    counts = [count for (count,) in home.query(turns, run)]
    assert max(counts) - min(counts) > 1  # in the shuffled order each comes three or four times
    measured = "select distinct step from verification where run_id = ? and phase = 'eval_during' order by step"
    assert home.query(measured, run) == [(0,), (4,), (8,), (10,)]
    both = "select distinct task from verifications where run = ? and phase {} 'eval_during'"
    validated, others = ({task for (task,) in home.query(both.format(sign), run)} for sign in ("=", "<>"))
    assert validated
    assert validated.isdisjoint(others)


@pytest.mark.slow
def test_the_best_checkpoint_is_kept_beside_the_last(starter_model: Path, home: Any, tmp_path: Path) -> None:
    """The learning rate is so high that the last is hardly the best."""
    settings = [*TINY, "rollout.engine=transformers", "rollout.temperature=1.0", "train.learning_rate=0.05"]
    settings += [
        "evaluation.tasks=12",
        "evaluation.samples=4",
        "evaluation.eval_interval=1",
        "train.max_logprob_mismatch=1",
    ]
    words = ("--model", str(starter_model), "--dataset", "starter", "--steps", "4")
    run = home.run(*words, settings=settings)["run"]
    rates = dict(
        home.query(
            "select step, value from step_metric where run_id = ? and name = 'eval_during_pass_at_1' and step > 0",
            run,
        )
    )
    assert list(rates) == [1, 2, 3, 4]
    checkpoints = tmp_path / "runs" / run / "checkpoints"
    best = max(rates, key=lambda step: (rates[step], -step))
    assert rates[best] > 0
    assert (checkpoints / "best").resolve().name == f"step-{best:06}"
    assert (checkpoints / "step-000004").is_dir()
    assert len([path for path in checkpoints.iterdir() if not path.is_symlink()]) <= 2


@pytest.mark.slow
def test_a_checkpoint_that_changed_or_is_another_runs_is_refused(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    settings = [
        *TINY,
        "rollout.engine=transformers",
        "evaluation.tasks=0",
        "checkpoint_interval=1",
        "keep_checkpoints=2",
    ]
    run = home.run("--model", str(starter_model), "--steps", "3", settings=settings)["run"]
    folder = tmp_path / "runs" / run
    assert [path.name for path in sorted((folder / "checkpoints").iterdir())] == ["step-000002", "step-000003"]
    weights = folder / "checkpoints" / "step-000003" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    answer = home.tried("--resume", run, settings=[])
    assert answer.returncode == 2
    complaint = f"{weights}: checksum mismatch: modified since it was saved; remove {weights.parent} to resume"
    assert complaint in answer.stderr.splitlines()[-1]
    shutil.rmtree(weights.parent)
    assert home.run("--resume", run, settings=[])["steps"] == 3
    other = tmp_path / "runs" / "other"
    shutil.copytree(folder, other)
    answer = home.tried("--resume", "other", settings=[])
    assert (answer.returncode, f"is a checkpoint of the run {run}" in answer.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--language", "luaa"), "unknown language 'luaa'; did you mean 'lua'?"),
        (("--dataset", "startr"), "unknown dataset 'startr'; did you mean 'starter'?"),
        (("--model", "startr"), "unknown model 'startr'; did you mean 'starter'?"),
        (("--model", "/"), "/ is not a model folder: it has no config.json"),
        (("--set", 'loggers=["tensorbord"]'), "unknown logger 'tensorbord'; did you mean 'tensorboard'?"),
        (("--set", "train.clip=1"), "unknown key 'train.clip'; did you mean 'train.clip_"),
        (("--resume", "20200101-000000-aaaa"), "unknown run '20200101-000000-aaaa'"),
        (("nowhere.toml",), "nowhere.toml: no such configuration file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    words: tuple[str, ...], message: str, home: Any, tmp_path: Path
) -> None:
    command = home.command(*words, settings=[])
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_logger_without_its_package_is_reported_before_anything_is_done(name: str, home: Any, tmp_path: Path) -> None:
    without = f"import sys; sys.modules[{name!r}] = None; from agnostics.cli import main; main()"
    answer = home.tried(settings=[f'loggers=["{name}"]'], agn=[sys.executable, "-c", without])
    assert answer.returncode == 3
    assert answer.stderr == f"agn: {name} is not installed; run: pip install 'agnostics[watch]'\n"
    assert list(tmp_path.iterdir()) == []


def test_a_model_folder_is_checked_before_anything_is_loaded(home: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    answer = home.tried("--model", str(folder), settings=[])
    assert answer.returncode == 2
    assert "it has no weights" in answer.stderr


@pytest.mark.slow
def test_a_run_does_what_its_plan_says_and_writes_every_setting_down(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    settings = [*TINY, *HELD_OUT, "rollout.engine=transformers", "evaluation.eval_interval=1"]
    words = ("--model", str(starter_model), "--steps", "2")
    plan = home.run(*words, "--dry-run", settings=settings)
    assert list(tmp_path.iterdir()) == []
    summary = home.run(*words, settings=settings)
    validation = plan["work"]["validation"]
    assert validation == 4
    assert plan["work"]["programs"] == summary["completions"] == 2 * 8 + 2 * 8 + 3 * 2 * validation
    written = tomllib.loads((tmp_path / "runs" / summary["run"] / "config.toml").read_text())
    assert written["model"] == str(starter_model)
    assert written["train"]["clip_low"] == 0.2
    assert written["rollout"]["group_size"] == 4
