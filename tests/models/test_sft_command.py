"""`agn sft` as people use it: a short run, its store, its repetition, Ctrl-C and resume, ranks, and bad data."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics.models.flop import training_flop
from agnostics.train.sft.metrics import SFT_METRICS
from command_line import Agn

Metrics = dict[tuple[int, str], float]


@pytest.fixture(scope="module")
def model(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model(tied=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sixteen prompts with completions, conversations and texts in a file."""
    path = tmp_path / "data.jsonl"
    rows: list[dict[str, Any]] = []
    for number in range(16):
        question, answer = f"Print {number}.", f"```lua\nprint({number})\n```"
        messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        forms = ({"prompt": question, "completion": answer}, {"messages": messages}, {"text": f"{question}\n{answer}"})
        rows.append(forms[number % 3])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def config(tmp_path: Path, data: Path, model: Path) -> Path:
    """A configuration: two epochs of the file, and rehearsal of a text."""
    other = tmp_path / "old.jsonl"
    other.write_text(json.dumps({"text": "What was known before. " * 3}) + "\n")
    path = tmp_path / "sft.toml"
    path.write_text(
        f'model = "{model}"\n'
        f'[[sources]]\npath = "{data}"\nepochs = 2\n'
        f'[[sources]]\npath = "{other}"\nrehearsal = 0.2\n'
        f'[validation]\npath = "{data}"\neval_interval = 2\n'
        "[train]\nlearning_rate = 1e-2\nbatch_tokens = 250\nmicro_batch_tokens = 200\n"
    )
    return path


def command(home: Any, *words: str) -> list[str]:
    places = ("--store", home.url, "--json", "--set", f"output={home.folder / 'runs'}")
    return [sys.executable, "-m", "agnostics", "sft", *words, *places]


def tried(home: Any, *words: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run(command(home, *words), capture_output=True, timeout=300)


def sft(home: Any, *words: str) -> dict[str, Any]:
    """The summary of a run that ends well; nothing else is said on stdout."""
    answer = tried(home, *words)
    assert answer.returncode == 0, answer.stderr
    (line,) = answer.stdout.splitlines()
    summary: dict[str, Any] = json.loads(line)
    return summary


def metrics(home: Any, run: str, *without: str) -> Metrics:
    rows = home.query("select step, name, value from step_metric where run_id = ?", run)
    return {(step, name): value for step, name, value in rows if name not in without}


def losses(home: Any, run: str) -> list[float]:
    return [value for (_, name), value in sorted(metrics(home, run).items()) if name == "loss"]


def weights(summary: dict[str, Any]) -> bytes:
    return (Path(summary["checkpoint"]) / "model.safetensors").read_bytes()


def _total(stored: Metrics) -> float:
    return sum(value for (_, name), value in stored.items() if name == "tokens")


TIMES = ("step_s", "tokens_per_s")
VALIDATED = "eval_during_loss"


@pytest.mark.slow
def test_a_short_run_learns_stores_all_it_did_and_its_configuration_repeats_it(home: Any, config: Path) -> None:
    summary = sft(home, str(config))
    assert summary.keys() == {"run", "steps", "loss", "validation_loss", "checkpoint", "store", "seconds"}
    run, found = summary["run"], losses(home, summary["run"])
    assert len(found) == summary["steps"] > 3
    assert found[-1] == summary["loss"] < 0.7 * found[0]
    stored = metrics(home, run)
    assert {name for _, name in stored} == {*SFT_METRICS, VALIDATED}
    validated = {step: value for (step, name), value in stored.items() if name == VALIDATED}
    assert validated.keys() == {*range(2, summary["steps"], 2), summary["steps"]}
    assert min(validated.values()) == validated[summary["steps"]] == summary["validation_loss"]
    cost = training_flop(Path(summary["checkpoint"]))
    assert (
        1
        < sum(stored[step, "flop"] for step in range(1, len(found) + 1)) / (6 * cost.parameters * _total(stored))
        < 1.2
    )
    rehearsed = sum(stored[step, "rehearsal_fraction"] * stored[step, "tokens"] for step in range(1, len(found) + 1))
    total = _total(stored)
    assert rehearsed / total == pytest.approx(0.2, abs=0.03)
    assert sum(stored[step, "trained_tokens"] for step in range(1, len(found) + 1)) < total
    assert home.query("select kind, status, dataset from run") == [("sft", "finished", "data.jsonl, old.jsonl")]
    again = sft(home, str(home.folder / "runs" / run / "config.toml"))
    assert metrics(home, again["run"], *TIMES) == metrics(home, run, *TIMES)
    assert weights(again) == weights(summary)


@pytest.mark.slow
@pytest.mark.parametrize("changed", [(), ("--set", "train.lora_rank=4")], ids=["weights", "adapters"])
def test_an_interrupted_run_resumes_to_where_an_uninterrupted_one_gets(
    changed: Sequence[str],
    home: Any,
    config: Path,
    data: Path,
    tensorboard_metrics: Callable[[Path], Metrics],
) -> None:
    words = (str(config), "--steps", "4", *changed)
    whole = sft(home, *words)
    with preloaded.Popen(command(home, *words, "--set", 'loggers=["tensorboard"]'), stderr=preloaded.PIPE) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("step 2/"):
                process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130, said
    ((run, status),) = home.query("select id, status from run where id != ?", whole["run"])
    assert status == "interrupted"
    assert f"agn sft --resume {home.folder / 'runs' / run}" in said[-1]
    (checkpoint,) = (home.folder / "runs" / run / "checkpoints").iterdir()
    assert 2 <= int(checkpoint.name.removeprefix("step-")) < whole["steps"]
    text = data.read_text()
    data.write_text(text.replace("Print 3", "Print 4"))
    refused = tried(home, "--resume", run)
    assert refused.returncode == 2
    assert f"{data}: modified since the run began" in refused.stderr
    data.write_text(text)
    resumed = sft(home, "--resume", run)
    assert (resumed["run"], resumed["steps"]) == (run, whole["steps"])
    assert metrics(home, run, *TIMES) == metrics(home, whole["run"], *TIMES)
    assert weights(resumed) == weights(whole)
    logged = tensorboard_metrics(home.folder / "runs" / run / "tensorboard")
    stored = {
        (step, "validation/loss" if name == VALIDATED else f"train/{name}"): value
        for (step, name), value in metrics(home, run).items()
    }
    assert logged == pytest.approx(stored, rel=1e-6)  # float32


@pytest.mark.slow
def test_two_ranks_train_as_one_does(home: Any, config: Path) -> None:
    words = (str(config), "--steps", "3", "--set", "train.zero_stage=3")
    alone = sft(home, *words)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    environments = [{**os.environ, **group, "RANK": rank, "LOCAL_RANK": rank} for rank in "01"]
    pipe = preloaded.PIPE
    processes = [preloaded.Popen(command(home, *words), stdout=pipe, stderr=pipe, env=each) for each in environments]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    together = json.loads(outputs[0][0] or "")
    assert outputs[1][0] == ""
    for name in ("loss", "grad_norm", "tokens", "learning_rate", "flop", VALIDATED):
        found, expected = (
            [value for (_, key), value in sorted(metrics(home, run["run"]).items()) if key == name]
            for run in (together, alone)
        )
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5), name


@pytest.mark.slow
def test_data_of_one_file_is_enough_and_the_plan_says_what_a_run_does(home: Any, data: Path, model: Path) -> None:
    words = ("--data", str(data), "--model", str(model), "--language", "lua", "--set", "train.batch_tokens=200")
    answer = tried(home, *words, "--dry-run")
    assert answer.returncode == 0, answer.stderr
    plan = json.loads(answer.stdout)
    (source,) = plan["sources"]
    assert (source["examples"], source["documents"], source["epochs"], source["share"]) == (16, 16, 1.0, 1.0)
    assert not (home.folder / "runs").exists()
    summary = sft(home, *words)
    assert summary["steps"] == plan["steps"]
    total = sum(value for (_, name), value in metrics(home, summary["run"]).items() if name == "tokens")
    assert total == source["tokens"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"text": "a"}\n{"prompt": "a"}\n', ':2: expected "prompt" and "completion", "messages", or "text"'),
        ('{"text": \n', ":1: not a line of JSON"),
        ("\n\n", ": holds no example"),
        (None, ": no such file"),
    ],
)
def test_damaged_or_empty_data_is_one_line(text: str | None, complaint: str, agn: Agn, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    if text is not None:
        path.write_text(text)
    answer = agn("sft", "--data", str(path))
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert answer.stderr.startswith(f"agn: {path}{complaint}")


def test_a_run_without_data_says_how_to_name_it(agn: Agn) -> None:
    answer = agn("sft")
    assert answer.returncode == 2
    assert "name a file with --data" in answer.stderr
