"""`agn run --dry-run`: its numbers are those of the real run, and it leaves nothing behind."""

from __future__ import annotations

import gc
import json
import math
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.loss import stack
from agnostics.cli import call as agn
from agnostics.models import token_logprobs
from agnostics.models.shape import shape_of
from agnostics.train.config import RunConfig, TrainConfig, load_config
from agnostics.train.memory import MemoryEstimate, estimate_memory, kept_per_token
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from huggingface_hub import constants
from safetensors import safe_open
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoModelForCausalLM

EXAMPLES = Path(__file__).parents[2] / "examples"
NOWHERE = "http://127.0.0.1:9"
MODELS = {
    "Qwen/Qwen3-4B": {
        "model_type": "qwen3",
        "hidden_size": 2560,
        "intermediate_size": 9728,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    },
    "Qwen/Qwen3-8B": {
        "model_type": "qwen3",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": False,
    },
    "deepseek-ai/deepseek-coder-6.7b-instruct": {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "vocab_size": 32256,
        "tie_word_embeddings": False,
    },
    "microsoft/Phi-4-mini-instruct": {
        "model_type": "phi3",
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 32,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "vocab_size": 200064,
        "tie_word_embeddings": True,
        "pad_token_id": 199999,
    },
}
"""What decides the memory of the paper's models, from the config.json of each on the hub."""
PARAMETERS = [4_022_468_096, 8_190_735_360, 6_740_512_768, 3_836_021_760]


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


def _config_of(model: str, folder: Path) -> Path:
    (folder / "config.json").write_text(json.dumps(MODELS[model]))
    return folder


@pytest.mark.parametrize(("model", "parameters"), list(zip(MODELS, PARAMETERS, strict=True)), ids=MODELS)
def test_the_papers_models_have_as_many_parameters_as_they_say(model: str, parameters: int, tmp_path: Path) -> None:
    assert shape_of(_config_of(model, tmp_path)).parameters == parameters


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*-*-*.toml")), ids=lambda path: path.stem)
def test_an_example_needs_the_memory_that_it_says(path: Path, tmp_path: Path) -> None:
    config = load_config(path, [], {})
    shape, longest = shape_of(_config_of(config.model, tmp_path)), 2048 + 1024
    said = re.findall(r"(\d+) GiB on (?:each of )?(\w+) device", path.read_text().replace("\n#", ""))
    assert said
    for gib, devices in said:
        count = {"one": 1}.get(devices) or int(devices)
        stage = config.train.zero_stage
        needed = estimate_memory(shape, config, longest, reference=False, stage=stage, devices=count).total
        assert int(gib) == round(needed / 2**30)


def _held() -> int:
    """Bytes of all tensors of floats; views and what shares memory count once."""
    gc.collect()
    tensors = [one for one in gc.get_objects() if isinstance(one, torch.Tensor) and one.is_floating_point()]
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}
    return sum(storages.values())


def _rollout(prompt_tokens: int, tokens: int) -> Rollout:
    return Rollout(
        task=Task(id="t", tests=(Test(input="", output=""),)),
        sample=0,
        prompt_ids=tuple(range(5, 5 + prompt_tokens)),
        segments=(Segment.sampled([7 + place for place in range(tokens)], [-6.0] * tokens, [0] * tokens),),
        advantage=1.0,
        loss_weight=0.01,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rank", [0, 8], ids=["all weights", "adapters"])
def test_weights_gradients_and_optimizer_take_what_the_plan_says(
    rank: int, dtype: Literal["float32", "bfloat16"], stage: Literal[1, 2, 3], tiny_model: Callable[..., Path]
) -> None:
    folder, train = tiny_model(tied=True), TrainConfig(dtype=dtype, zero_stage=stage, lora_rank=rank)
    memory = estimate_memory(shape_of(folder), RunConfig(train=train), 64, reference=False, stage=stage, devices=1)
    states, gradients = memory.weights + memory.optimizer, memory.gradients + memory.bucket
    before = _held()
    with Policy(folder, train, 0.7) as policy:
        policy.update([_rollout(8, 8)], GRPO.loss, 1e-3)
        kept = gradients if stage == 3 else 0  # DeepSpeed frees them in the other stages
        held = _held()
        assert held - before == pytest.approx(states + kept, rel=3e-3)
        gathered = list(policy.weights())  # as the engine's loop takes them
        assert gathered
        assert _held() - held == pytest.approx(memory.sync, rel=3e-3)


def test_recomputed_activations_and_weights_on_their_way_to_the_engine_are_planned(tmp_path: Path) -> None:
    shape = shape_of(_config_of("Qwen/Qwen3-4B", tmp_path))

    def planned(stage: Literal[1, 3], **train: Any) -> MemoryEstimate:
        config = RunConfig(train=TrainConfig(dtype="bfloat16", **train))
        return estimate_memory(shape, config, 34_816, reference=False, stage=stage, devices=8)

    kept, recomputed = planned(1), planned(1, activation_checkpointing=True)
    assert recomputed.activations < kept.activations / 15
    assert kept.total - recomputed.total == kept.activations - recomputed.activations
    assert (kept.sync, planned(3).sync) == (0, kept.engine_weights)
    assert kept.engine_weights / 2 < planned(1, lora_rank=8).sync < kept.engine_weights
    # In stage 3 nothing outweighs the gathered weights once activations are recomputed and prompts are short.
    config = RunConfig(train=TrainConfig(dtype="bfloat16", activation_checkpointing=True))
    short = estimate_memory(shape, config, 1024, reference=False, stage=3, devices=8)
    parts = (short.weights, short.optimizer, short.gradients, short.sync, short.engine_weights, short.kv_cache)
    assert short.total == sum(parts)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_activations_take_about_what_the_plan_says(
    dtype: Literal["float32", "bfloat16"], tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        token_logprobs, "LOGITS_PER_CHUNK", 768 * 64
    )  # so that logits are not kept, as with a large vocabulary
    folder, rollout = tiny_model(tied=True), _rollout(8, 120)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    batch, saved = stack([rollout] * 4), dict[int, torch.Tensor]()

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        logprobs, _ = token_logprobs.TokenLogprobModel(model, 0.7)(batch.prompt_ids, batch.token_ids, batch.mask)
    assert logprobs.requires_grad
    kept = sum(one.untyped_storage().nbytes() for place, one in saved.items() if place not in weights)
    planned = (8 + 4 * 120) * kept_per_token(shape_of(folder), 4 if dtype == "float32" else 2, recomputed=False)
    assert planned == pytest.approx(kept, rel=0.1)


@pytest.mark.slow
def test_recomputed_activations_take_about_what_the_plan_says_at_their_peak(
    tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_logprobs, "LOGITS_PER_CHUNK", 768 * 8)
    folder = tiny_model(tied=True)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    module, batch = token_logprobs.TokenLogprobModel(model, 0.7, recompute=True), stack([_rollout(8, 120)] * 4)
    with _PeakMemory() as memory:
        module(batch.prompt_ids, batch.token_ids, batch.mask)[0].sum().backward()
    planned = 4 * (8 + 120) * kept_per_token(shape_of(folder), 2, recomputed=True)
    assert planned == pytest.approx(memory.peak, rel=0.15)


class _PeakMemory(TorchDispatchMode):
    """Adds up what is allocated and not yet freed, in bytes, and keeps the most."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._held = 0
        self._known = set[int]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        existing = [one.untyped_storage().data_ptr() for one in tree_leaves(args) if isinstance(one, torch.Tensor)]
        result = func(*args, **(kwargs or {}))
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor) and one.untyped_storage().data_ptr() not in {*existing, *self._known}:
                self._allocated(one.untyped_storage())
        return result

    def _allocated(self, storage: torch.UntypedStorage) -> None:
        place, size = storage.data_ptr(), storage.nbytes()
        self._known.add(place)
        self._held += size
        self.peak = max(self.peak, self._held)
        weakref.finalize(storage, self._freed, place, size)

    def _freed(self, place: int, size: int) -> None:
        self._known.discard(place)
        self._held -= size


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
    if config.dataset == "starter":
        assert (status, err, plan["work"]["steps"]) == (0, "", 60)
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
