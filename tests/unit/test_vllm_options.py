"""The options that vLLM gets on a GPU and on a CPU."""

from __future__ import annotations

from pathlib import Path

from agnostics.inference.engine import EngineSettings
from agnostics.inference.vllm import device_options


def _settings(*, cuda_graphs: bool = True, chunked_prefill: bool = True) -> EngineSettings:
    return EngineSettings(
        Path("model"), (0,), max_length=64, max_num_seqs=8, cuda_graphs=cuda_graphs, chunked_prefill=chunked_prefill
    )


def test_cuda_graphs_and_chunked_prefill_are_on_by_default_on_a_gpu_and_can_be_switched_off() -> None:
    assert device_options(_settings(), on_gpu=True) == {"enforce_eager": False, "enable_chunked_prefill": True}
    off = _settings(cuda_graphs=False, chunked_prefill=False)
    assert device_options(off, on_gpu=True) == {"enforce_eager": True, "enable_chunked_prefill": False}


def test_a_cpu_samples_eagerly_with_whole_prompts_in_short_blocks() -> None:
    assert device_options(_settings(), on_gpu=False) == {
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        "block_size": 32,
    }
