"""vLLM serves the adapter beside the starting model: log-probabilities, running requests, other kinds of layers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

import preloaded
import pytest
import torch
from agnostics.inference.engine import BUFFER_RANKS, AdapterSettings
from agnostics.train.config import RolloutConfig, RunConfig, TrainConfig
from agnostics.train.setup import check_served_adapter
from agnostics.types.errors import UsageError
from transformers import AutoConfig, AutoModelForCausalLM

pytestmark = pytest.mark.slow

SMALL = {
    "vocab_size": 300,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 96,
    "initializer_range": 0.2,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "pad_token_id": 0,
}


def _updated(folder: Path, workers: int = 0, **train: Any) -> dict[str, Any]:
    script = str(Path(__file__).with_name("served_adapter_updates.py"))
    command = [sys.executable, script, str(folder), str(workers), json.dumps(train)]
    answer = preloaded.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    measured: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return measured


def test_running_requests_continue_with_the_new_adapter_also_in_layers_that_the_model_has_fused(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = AutoConfig.for_model("phi3", **SMALL)  # queries, keys and values in one layer; gate and up in another
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    _check(_updated(tmp_path))


def test_the_same_in_two_processes_with_an_adapter_of_some_layers_in_zero_stage_3(
    tiny_model: Callable[..., Path],
) -> None:
    _check(_updated(tiny_model(tied=True), workers=2, zero_stage=3, lora_target_modules=["q_proj", "mlp.up_proj"]))


def _check(measured: dict[str, Any]) -> None:
    """Every token is sampled from the adapter of its version."""
    assert max(measured["fresh"], measured["after"]) < 1e-5
    assert measured["stale"] > 1e-2
    assert measured["mixed"]
    assert measured["own"] < 1e-4
    assert measured["other"] > 1e-3


@pytest.mark.parametrize("family", ["qwen3_moe", "mixtral", "phi3"])
def test_mixtures_of_experts_are_refused(family: str, tmp_path: Path) -> None:
    AutoConfig.for_model(family, **SMALL).save_pretrained(tmp_path)
    served = RunConfig(rollout=RolloutConfig(engine="vllm", serve_adapter=True), train=TrainConfig(lora_rank=4))
    refused = nullcontext() if family == "phi3" else pytest.raises(UsageError, match="mixture of experts")
    with refused:
        check_served_adapter(served, tmp_path, on_gpu=False)
    check_served_adapter(RunConfig(train=TrainConfig(lora_rank=4)), tmp_path, on_gpu=False)


def test_on_a_gpu_no_adapter_is_served_in_float32(tmp_path: Path) -> None:
    AutoConfig.for_model("phi3", **SMALL).save_pretrained(tmp_path)
    served = RunConfig(rollout=RolloutConfig(engine="vllm", serve_adapter=True), train=TrainConfig(lora_rank=4))
    with pytest.raises(UsageError, match="no adapter in float32"):
        check_served_adapter(served, tmp_path, on_gpu=True)
    in_bfloat16 = served.model_copy(update={"train": TrainConfig(lora_rank=4, dtype="bfloat16")})
    check_served_adapter(in_bfloat16, tmp_path, on_gpu=True)


def test_in_bfloat16_a_trained_adapter_is_as_close_as_the_starting_model(tiny_model: Callable[..., Path]) -> None:
    measured = _updated(tiny_model(tied=True), dtype="bfloat16")
    assert measured["stale"] > 20 * measured["fresh"]
    assert measured["after"] < 2 * measured["fresh"]


def test_memory_is_reserved_for_the_ranks_that_vllm_knows() -> None:
    from vllm.config.lora import MaxLoRARanks

    assert get_args(MaxLoRARanks) == BUFFER_RANKS
    assert [AdapterSettings(rank, 32, ()).buffer_rank for rank in (1, 4, 8, 300)] == [1, 8, 8, 320]
