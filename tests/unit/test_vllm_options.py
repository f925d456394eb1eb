"""The options that vLLM gets on a GPU and on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agnostics.inference.engine import EngineSettings
from agnostics.inference.vllm import device_options


def _settings(**changes: Any) -> EngineSettings:
    return EngineSettings(Path("model"), (0,), max_length=64, max_num_seqs=8, **changes)


def test_cuda_graphs_and_chunked_prefill_are_on_by_default_on_a_gpu_and_can_be_switched_off() -> None:
    on = device_options(_settings(), on_gpu=True)
    assert (on["enforce_eager"], on["enable_chunked_prefill"]) == (False, True)
    off = device_options(_settings(cuda_graphs=False, chunked_prefill=False), on_gpu=True)
    assert (off["enforce_eager"], off["enable_chunked_prefill"]) == (True, False)


def test_memory_that_can_be_freed_is_allocated_on_a_gpu_and_on_demand_only() -> None:
    assert device_options(_settings(), on_gpu=True)["enable_sleep_mode"] is False
    assert device_options(_settings(sleep_mode=True), on_gpu=True)["enable_sleep_mode"] is True


def test_an_engine_starts_on_a_gpu_whose_memory_a_trainer_has_taken() -> None:
    assert device_options(_settings(), on_gpu=True)["gpu_memory_utilization"] <= 0.05


def test_a_cpu_samples_eagerly_with_whole_prompts_in_short_blocks() -> None:
    assert device_options(_settings(sleep_mode=True), on_gpu=False) == {
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        "block_size": 32,
    }
