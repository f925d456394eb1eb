"""Mixtures of experts: new weights reach vLLM, whatever form they have in transformers and in the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from agnostics.inference.engine import CompletionRequest, Engine, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from transformers import AutoConfig, AutoModelForCausalLM

pytestmark = pytest.mark.slow

SMALL = {
    "vocab_size": 300,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "num_experts_per_tok": 2,
    "initializer_range": 0.2,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
}
EXPERTS: dict[str, dict[str, Any]] = {
    # 48 is no multiple of 32, to which vLLM pads experts on a CPU
    "qwen3_moe": {"head_dim": 32, "intermediate_size": 96, "moe_intermediate_size": 48, "num_experts": 4},
    "mixtral": {"intermediate_size": 64, "num_local_experts": 4},
}
REQUESTS = [CompletionRequest(tuple(range(5, 25)), seed) for seed in range(6)]
PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=12)
MakeModel = Callable[[str], tuple[Path, Any]]


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    """Makes a small random model of a family: its folder, and the model as transformers loads it."""

    def make(family: str) -> tuple[Path, Any]:
        torch.manual_seed(0)
        model: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **SMALL, **EXPERTS[family]))
        model.save_pretrained(tmp_path)
        return tmp_path, AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)

    return make


@torch.no_grad()
def _mismatch(model: Any, engine: Engine) -> float:
    """The mean distance of the engine's log-probabilities from the model's."""
    distances = list[float]()
    for index, completion in generate(engine, REQUESTS, PARAMS):
        prompt = REQUESTS[index].prompt_ids
        logits = model(torch.tensor([prompt + completion.token_ids])).logits[0, len(prompt) - 1 : -1]
        logprobs = (logits / PARAMS.temperature).log_softmax(-1)
        chosen = logprobs.gather(-1, torch.tensor(completion.token_ids)[:, None]).squeeze(-1)
        distances += (chosen - torch.tensor(completion.logprobs)).abs().tolist()
    return sum(distances) / len(distances)


@torch.no_grad()
def _disturb(model: Any) -> None:
    for weight in model.parameters():
        weight.add_(0.05 * torch.randn(weight.shape))


@pytest.mark.parametrize(
    ("family", "separate_process"), [("qwen3_moe", False), ("mixtral", False), ("qwen3_moe", True)]
)
def test_after_new_weights_vllm_is_as_close_to_the_model_as_before(
    family: str, separate_process: bool, make_model: MakeModel
) -> None:
    folder, model = make_model(family)
    settings = EngineSettings(folder, (1,), max_length=64, max_num_seqs=8)
    with open_engine("vllm", settings, separate_process=separate_process) as engine:
        fresh = _mismatch(model, engine)
        assert fresh < 1e-5
        for version in (1, 2):
            _disturb(model)
            assert _mismatch(model, engine) > 0.1
            engine.load_weights([(name, weight.detach()) for name, weight in model.named_parameters()], version)
            assert _mismatch(model, engine) < 1e-5
