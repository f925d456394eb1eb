"""What the processes of `preloaded` begin with."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from agnostics.inference import vllm
from agnostics.util.imports import without_garbage_collection

vllm.configure()
MODULES = [
    *("torch._inductor.compile_fx", "torch._functorch.compile_utils", "deepspeed.runtime.engine", "peft"),
    *("transformers.models.qwen3.modeling_qwen3", "transformers.models.auto.tokenization_auto"),
    *("agnostics_datasets.adapters", "agnostics.environments.builtin", "agnostics.referee.environment"),
    *("deepspeed.runtime.zero.muon.muon_optimizer", "deepspeed.module_inject.auto_ep_layer"),
    *("agnostics.cli.run", "agnostics.train.run", "agnostics.train.policy", "agnostics.train.checkpoint"),
    *("agnostics.inference.transformers", "agnostics_benchmarks", "alembic.command", "preloaded"),
    *("vllm.entrypoints.llm", "vllm.v1.worker.cpu_worker", "vllm.model_executor.models.qwen3"),
    *("vllm.model_executor.layers.quantization.online.base", "vllm.entrypoints.launchers.cli_args"),
    *("torch.distributed.tensor.experimental._func_map", "agnostics.sandbox.backends.bubblewrap_slots"),
]
with without_garbage_collection():  # a fork neither searches nor copies what is here
    for module in MODULES:
        with suppress(ImportError):
            import_module(module)

    with suppress(ImportError):
        # It compiles a small program for each set of instructions to learn which work.
        import_module("torch._inductor.cpu_vec_isa").pick_vec_isa()
