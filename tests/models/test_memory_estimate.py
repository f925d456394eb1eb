"""The memory that a run is said to need is what its tensors take."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.loss import stack
from agnostics.models import token_logprobs
from agnostics.models.shape import shape_of
from agnostics.train.config import RolloutConfig, RunConfig, TrainConfig, load_config
from agnostics.train.memory import MemoryEstimate, estimate_memory, kept_per_token
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from model_configs import MODELS, PARAMETERS, config_folder
from torch._subclasses import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoModelForCausalLM

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("model", "parameters"), list(zip(MODELS, PARAMETERS, strict=True)), ids=MODELS)
def test_models_have_as_many_parameters_as_they_say(model: str, parameters: int, tmp_path: Path) -> None:
    assert shape_of(config_folder(model, tmp_path)).parameters == parameters


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*-*-*.toml")), ids=lambda path: path.stem)
def test_an_example_needs_the_memory_that_it_says(path: Path, tmp_path: Path) -> None:
    config = load_config(path, [], {})
    rollout = config.rollout
    shape, longest = (
        shape_of(config_folder(config.model, tmp_path)),
        rollout.max_prompt_tokens + rollout.max_completion_tokens,
    )
    said = re.findall(r"(\d+) GiB on (?:each of )?(\w+) device", path.read_text().replace("\n#", ""))
    assert said
    for gib, devices in said:
        count = {"one": 1}.get(devices) or int(devices)
        stage = config.train.zero_stage
        needed = estimate_memory(shape, config, longest, reference=False, stage=stage, devices=count).total
        assert int(gib) == round(needed / 2**30)


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """The objects of the libraries, among which `_held` need not look for what a test has made."""
    gc.collect()
    gc.freeze()


def _held() -> int:
    """Bytes of all tensors of floats; views and what shares memory count once, tensors without memory not at all."""
    gc.collect()
    tensors = [one for one in gc.get_objects() if isinstance(one, torch.Tensor) and one.is_floating_point()]
    floats = [one.untyped_storage() for one in tensors if not (one.is_meta or isinstance(one, FakeTensor))]
    storages = {storage.data_ptr(): storage.nbytes() for storage in floats}
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("stage", [1, 3])
def test_an_adapter_that_is_served_travels_alone(stage: Literal[1, 3], tiny_model: Callable[..., Path]) -> None:
    folder, train = tiny_model(tied=True), TrainConfig(zero_stage=stage, lora_rank=8)
    config = RunConfig(train=train, rollout=RolloutConfig(engine="vllm", serve_adapter=True))
    shape = shape_of(folder)
    memory = estimate_memory(shape, config, 64, reference=False, stage=stage, devices=1)
    with Policy(folder, train, 0.7) as policy:
        held = _held()
        travelling = list(policy.adapter())
        assert travelling
        assert _held() - held == memory.sync
        adapter = sum(weight.nbytes for _, weight in travelling)
    assert memory.engine_weights == shape.parameters * 4 + adapter  # vLLM reserves memory for rank 8, too


def test_recomputed_activations_and_weights_on_their_way_to_the_engine_are_planned(tmp_path: Path) -> None:
    shape = shape_of(config_folder("Qwen/Qwen3-4B", tmp_path))

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


def test_engines_with_devices_of_their_own_take_nothing_of_the_trainers(tmp_path: Path) -> None:
    shape = shape_of(config_folder("Qwen/Qwen3-4B", tmp_path))

    def planned(**rollout: Any) -> MemoryEstimate:
        config = RunConfig(rollout=RolloutConfig(engine="vllm", separate_process=True, **rollout))
        return estimate_memory(shape, config, 1024, reference=False, stage=1, devices=1)

    shared, own, divided = planned(), planned(engine_processes=2), planned(engine_processes=2, tensor_parallel_size=2)
    assert shared.total - own.total == own.engine_weights + own.kv_cache
    assert own.total == divided.total
    assert divided.engine_weights == own.engine_weights // 2


def test_transformers_keeps_prefixes_of_every_episode_up_to_the_bound_where_there_are_several_turns(
    tmp_path: Path,
) -> None:
    shape = shape_of(config_folder("Qwen/Qwen3-4B", tmp_path))

    def cached(max_turns: int, group_size: int) -> int:
        rollout = RolloutConfig(engine="transformers", prompts_per_step=1, group_size=group_size, max_num_seqs=4)
        config = RunConfig(rollout=rollout)
        return estimate_memory(shape, config, 512, reference=False, stage=1, devices=1, max_turns=max_turns).kv_cache

    assert cached(3, 4) == 2 * cached(1, 4)
    assert cached(3, 400) == cached(1, 400) + 2**30


def test_an_engine_that_sleeps_takes_nothing_of_an_update(tmp_path: Path) -> None:
    shape = shape_of(config_folder("Qwen/Qwen3-4B", tmp_path))

    def planned(*, sleep_mode: bool, **train: Any) -> MemoryEstimate:
        config = RunConfig(
            rollout=RolloutConfig(engine="vllm", sleep_mode=sleep_mode), train=TrainConfig(dtype="bfloat16", **train)
        )
        return estimate_memory(shape, config, 1024, reference=False, stage=3, devices=8)

    awake, asleep = (planned(sleep_mode=sleep_mode, micro_batch_tokens=30_000) for sleep_mode in (False, True))
    assert asleep.activations > asleep.engine_weights + asleep.sync  # the peak is in the backward pass
    assert awake.total - asleep.total == asleep.engine_weights + asleep.kv_cache
    short = planned(sleep_mode=True, activation_checkpointing=True)  # the peak is when the new weights are loaded
    assert short.total == short.weights + short.optimizer + short.gradients + short.sync + short.engine_weights


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
