"""`agn run --dry-run`: its numbers are those of the real run, and it leaves nothing behind."""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from agnostics.cli import call as agn
from agnostics.train.config import load_config
from huggingface_hub import constants
from model_configs import MODELS, PARAMETERS
from safetensors import safe_open

EXAMPLES = Path(__file__).parents[2] / "examples"
NOWHERE = "http://127.0.0.1:9"
Dry = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Dry:
    """Runs `agn run --dry-run` in an empty home; gives the status, and what it says on stdout and stderr."""
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str, hub: str = NOWHERE, sandbox: str = "bubblewrap") -> tuple[int, str, str]:
        monkeypatch.setattr(constants, "ENDPOINT", hub)
        status = agn(["run", *words, "--sandbox", sandbox, "--dry-run"])
        return (status, *capsys.readouterr())

    return run


def _files(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def _tasks(count: int) -> str:
    """A file of tasks, every fourth of them held out."""
    test = {"input": "1", "output": "2"}
    tasks = [
        {
            "id": f"t{place}",
            "statement": "Add one. " * (1 + place),
            "tests": [test],
            "split": ["train", "test"][place % 4 == 3],
        }
        for place in range(count)
    ]
    return "".join(json.dumps(task) + "\n" for task in tasks)


def test_a_plan_of_a_model_that_is_here_is_whole_and_leaves_nothing(
    starter_model: Path, tmp_path: Path, dry: Dry
) -> None:
    (tmp_path / "tasks.jsonl").write_text(_tasks(400))
    settings = [
        "rollout.prompts_per_step=2",
        "rollout.group_size=4",
        "rollout.max_completion_tokens=48",
        "rollout.max_prompt_tokens=1000",
    ]
    sets = [part for setting in [*settings, "evaluation.samples=3"] for part in ("--set", setting)]
    store = ("--store", "postgresql://me:secret@host/results")
    words = ("--model", str(starter_model), "--dataset", "tasks.jsonl", *store, *sets)
    status, out, err = dry(*words, "--json")
    assert (status, err) == (0, "")
    plan = json.loads(out)
    with safe_open(starter_model / "model.safetensors", "pt") as weights:
        assert plan["parameters"] == sum(weights.get_tensor(name).numel() for name in weights.keys())  # noqa: SIM118
    work = plan["work"]
    assert work["tasks"] + work["left_out"] == 300
    assert work["left_out"] > 0
    assert 900 < work["longest_prompt"] <= 1000
    assert work["steps"] == work["steps_per_epoch"] == math.ceil(work["tasks"] / 2)
    assert (work["programs_per_step"], work["tokens_per_step"]) == (8, 8 * 48)
    assert work["programs"] == work["steps"] * 8 + 2 * work["held_out"] * 3
    assert (plan["downloads"], plan["missing"], plan["sandbox"]) == ([], [], "bubblewrap")
    assert plan["memory"]["total"] == plan["memory_by_stage_and_devices"]["1"]["1"]
    assert _files(tmp_path) == [tmp_path / "tasks.jsonl"]
    _, shown, _ = dry(*words)
    assert "secret" not in out + shown
    assert f"{plan['parameters']:,} parameters in float32" in shown
    assert f"{work['programs']:,} programs" in shown


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_an_example_is_planned_as_far_as_it_can_be_and_says_what_is_missing(
    path: Path, tmp_path: Path, dry: Dry
) -> None:
    config = load_config(path, [], {})
    status, out, err = dry(str(path), "--json")
    plan = json.loads(out)
    assert (plan["model"], plan["parameters"]) == (config.model, None)
    assert plan["downloads"][0]["item"] == "model"
    if not config.dataset.endswith(".jsonl"):  # generated
        assert (status, err, plan["work"]["steps"]) == (0, "", config.steps)
    else:
        assert (status, err, plan["work"]) == (2, f"agn: {config.dataset}: no such file\n", None)
        assert "without network" in dry(str(path))[1]
    assert _files(tmp_path) == []


class _Hub(BaseHTTPRequestHandler):
    """The Hugging Face hub, with one model in three files: its answers are those of the real one, made short."""

    config = json.dumps(MODELS["Qwen/Qwen3-4B"]).encode()
    sizes: Mapping[str, int] = {"config.json": len(config), "model.safetensors": 8_044_982_000, "model.bin": 1 << 40}

    def do_GET(self) -> None:
        files = [{"rfilename": name, "size": size} for name, size in self.sizes.items()]
        answers = {
            "/api/models/Qwen/Qwen3-4B?blobs=true": json.dumps({"id": "Qwen/Qwen3-4B", "siblings": files}).encode(),
            "/Qwen/Qwen3-4B/resolve/main/config.json": self.config,
        }
        body = answers.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"Repository not found")

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(timeout=10)


def test_a_plan_asks_the_hub_what_a_model_is_and_downloads_nothing_of_it(hub: str, tmp_path: Path, dry: Dry) -> None:
    (tmp_path / "tasks.jsonl").write_text(_tasks(8))
    words = ("--dataset", "tasks.jsonl", "--set", "train.dtype=bfloat16", "--json")
    _, out, _ = dry("--model", "Qwen/Qwen3-4B", *words, hub=hub)
    plan = json.loads(out)
    assert plan["parameters"] == PARAMETERS[0]
    assert plan["downloads"][0]["size"] == _Hub.sizes["config.json"] + _Hub.sizes["model.safetensors"]
    assert plan["memory"]["engine_weights"] == 2 * PARAMETERS[0]
    assert (plan["work"]["tasks"], plan["work"]["left_out"]) == (6, None)
    assert _files(tmp_path) == [tmp_path / "tasks.jsonl"]
    status, _, err = dry("--model", "Qwen/Qwen3-4C", *words, hub=hub)
    assert (status, len(err.splitlines())) == (2, 1)
    assert "model 'Qwen/Qwen3-4C': not a local folder, and the hub refuses it" in err


def test_an_engine_apart_is_said_to_leave_the_trainers_gpu_where_there_are_enough(
    hub: str, tmp_path: Path, dry: Dry
) -> None:
    (tmp_path / "tasks.jsonl").write_text(_tasks(8))
    words = ("--model", "Qwen/Qwen3-4B", "--dataset", "tasks.jsonl")
    said = "With twice as many GPUs as ranks, each engine has a GPU of its own."
    assert said in dry(*words, "--set", "rollout.separate_process=true", hub=hub)[1]
    two = ("rollout.separate_process=true", "rollout.engine_processes=2")
    out = dry(*words, *(part for setting in two for part in ("--set", setting)), hub=hub)[1]
    assert "each rank needs one device for training and 2 for its engines" in out
    assert re.search(r"concurrent sequences +2 of", out)
    assert said not in dry(*words, hub=hub)[1]


def test_a_cache_that_holds_no_completion_is_reported_before_the_run(
    starter_model: Path, tmp_path: Path, dry: Dry
) -> None:
    config = json.loads((starter_model / "config.json").read_text())
    folder = tmp_path / "wide"
    shutil.copytree(starter_model, folder)
    heads = {"num_attention_heads": 4096, "num_key_value_heads": 4096}
    (folder / "config.json").write_text(json.dumps({**config, **heads}))
    (tmp_path / "tasks.jsonl").write_text(_tasks(8))
    status, _, err = dry("--model", str(folder), "--dataset", "tasks.jsonl")
    assert status == 2
    assert "rollout.kv_cache_gib = 1 does not hold a prompt and its completion" in err


def test_a_batch_that_the_run_cannot_fill_is_reported_before_it(tmp_path: Path, dry: Dry) -> None:
    (tmp_path / "tasks.jsonl").write_text(_tasks(8))
    words = ("--dataset", "tasks.jsonl", "--set", "algorithm=cwm")
    assert dry(*words)[0] == 0
    status, _, err = dry(*words, "--set", "rollout.group_size=2")
    assert "agn: train.batch_tokens = 131072 is more than the 16384 tokens that 2 steps can sample" in err
    assert status == 2


def test_an_image_that_is_not_built_and_a_toolchain_that_is_not_here_are_said(tmp_path: Path, dry: Dry) -> None:
    language = {"prompt": "Use Q.", "install": "apt-get install -y qi", "filename": "a.q", "execute": "qi-nowhere a.q"}
    (tmp_path / "q.yaml").write_text(json.dumps(language))
    (tmp_path / "tasks.jsonl").write_text(_tasks(8))
    words = ("--model", "a/b", "--dataset", "tasks.jsonl", "--language", "q.yaml", "--json")
    status, out, _ = dry(*words, sandbox="docker")
    image = json.loads(out)["downloads"][1]
    assert (status, image["item"], image["size"]) == (0, "image", None)
    assert re.fullmatch(r"agnostics/q:\w+, built on debian:trixie", image["source"])
    status, out, err = dry(*words)
    assert (status, json.loads(out)["sandbox"]) == (3, "bubblewrap")
    assert err.startswith("agn: q needs qi-nowhere, which is not on this machine")
