"""Adapters in place of all weights: which weights move, what the engine and a checkpoint get, and resumed runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from agnostics.algorithms.grpo import GRPO
from agnostics.inference.engine import CompletionRequest, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from agnostics.train import checkpoint, lora
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.types.errors import UsageError
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from checkpoints import held_checkpoint
from safetensors.torch import load_file
from torch import nn

pytestmark = pytest.mark.slow

RATE, TEMPERATURE = 1e-2, 0.7
REQUESTS = [CompletionRequest(tuple(range(5, 15)), seed) for seed in range(6)]
TASK = Task(id="t", tests=(Test(input="", output=""),))
ROLLOUTS = [
    Rollout(
        task=TASK,
        sample=0,
        prompt_ids=(5, 6, place % 3),
        segments=(Segment.sampled([9, place], [-6.0] * 2, [0] * 2),),
        advantage=1.0,
        loss_weight=0.1,
    )
    for place in range(20, 40)
]


@contextmanager
def _policy(folder: Path, **settings: Any) -> Iterator[Policy]:
    config = TrainConfig(lora_rank=4, **settings)
    with Policy(folder, config, TEMPERATURE, folder) as policy:
        yield policy


def _parameters(policy: Policy) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in policy._engine.module.model.named_parameters()}


def _weights(policy: Policy) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in policy.weights()}


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_only_adapters_move_and_the_engine_gets_them_merged(tied: bool, tiny_model: Callable[..., Path]) -> None:
    folder = tiny_model(tied=tied)
    settings = EngineSettings(folder, (1,), max_length=128, max_num_seqs=8)
    with open_engine("transformers", settings) as engine, _policy(folder) as policy:
        before, folder_weights = _parameters(policy), load_file(folder / "model.safetensors")
        assert _weights(policy).keys() == folder_weights.keys()
        for _ in range(3):
            policy.update(ROLLOUTS, GRPO.loss, RATE)
        moved = {name for name, weight in _parameters(policy).items() if not torch.equal(weight, before[name])}
        assert moved == {name for name in before if "lora_" in name}
        assert len(moved) == 2 * 2 * 7  # A and B in each of seven linear layers of both blocks
        assert _mismatch(policy, engine) > 1e-2
        engine.load_weights(policy.weights(), policy.version)
        assert _mismatch(policy, engine) < 1e-4
        merged = _weights(policy)
    changed = {name for name, weight in folder_weights.items() if not torch.equal(weight, merged[name])}
    assert changed == {name for name in folder_weights if "_proj." in name}


def _mismatch(policy: Policy, engine: Any) -> float:
    completions = dict(generate(engine, REQUESTS, SamplingParams(TEMPERATURE, 16)))
    return policy.logprob_mismatch(
        [
            Rollout(task=TASK, sample=0, prompt_ids=request.prompt_ids, segments=(completions[index].segment,))
            for index, request in enumerate(REQUESTS)
        ]
    )


def _adapted_layer(dtype: torch.dtype) -> tuple[Any, torch.Tensor]:
    """A layer with an adapter after its first step, and its input."""
    torch.manual_seed(0)
    model = nn.Module()
    model.proj = nn.Linear(256, 192)
    model.to(dtype)
    lora.adapt(model, TrainConfig(lora_rank=16, lora_target_modules=("proj",)))
    layer: Any = model.proj
    with torch.no_grad():
        layer.lora_B["default"].weight.copy_(1e-4 * torch.randn(192, 16).sign())
    return layer, torch.randn(8, 32, 256, dtype=dtype)


def _exact_sum(layer: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """W x + bias and s B A x."""
    low = x @ layer.lora_A["default"].weight.T.to(x.dtype)
    step = layer.scaling["default"] * low @ layer.lora_B["default"].weight.T.to(x.dtype)
    return x @ layer.base_layer.weight.T.to(x.dtype) + layer.base_layer.bias.to(x.dtype), step


def test_the_first_step_of_an_adapter_is_seen_in_the_bfloat16_output_of_its_layer() -> None:
    layer, x = _adapted_layer(torch.bfloat16)
    with torch.no_grad():
        without, step = _exact_sum(layer, x.float())
        seen = (layer(x).float() - without).flatten()
    assert 0.9 < (seen @ step.flatten() / step.square().sum()).item() < 1.1


def test_the_gradients_of_an_adapted_layer_are_those_of_the_sum() -> None:
    layer, x = _adapted_layer(torch.float32)
    x.requires_grad_()
    wanted = [x, layer.lora_A["default"].weight, layer.lora_B["default"].weight]
    product, total = layer(x), sum(_exact_sum(layer, x))
    torch.testing.assert_close(product, total)
    weights = torch.randn_like(product)
    ours, theirs = (torch.autograd.grad((output * weights).sum(), wanted) for output in (product, total))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stage", [1, 3])
def test_the_first_step_of_an_adapter_reaches_merged_bfloat16_weights(
    stage: Literal[1, 3], tiny_model: Callable[..., Path]
) -> None:
    """To the nearest, a third of the step would be left: most of it is below the distance of two neighbours."""
    folder = tiny_model(tied=True)
    before = load_file(folder / "model.safetensors")
    with _policy(folder, dtype="bfloat16", zero_stage=stage) as policy, _policy(folder, zero_stage=stage) as exact:
        for each in (policy, exact):
            each.update(ROLLOUTS, GRPO.loss, 1e-4)
        merged, same, wanted = _weights(policy), _weights(policy), _weights(exact)
    assert all(torch.equal(weight, same[name]) for name, weight in merged.items())
    names = [name for name in before if "_proj." in name]
    start = torch.cat([before[name].bfloat16().float().flatten() for name in names])
    arrived = torch.cat([merged[name].float().flatten() for name in names]) - start
    step = torch.cat([(wanted[name] - before[name]).flatten() for name in names])
    assert 0.9 < (arrived @ step / (step @ step)).item() < 1.1


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_checkpoint_is_a_plain_model_and_goes_on_exactly(
    stage: Literal[1, 2, 3], tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tiny_model(tied=True)
    with _policy(folder, zero_stage=stage) as policy:
        policy.update(ROLLOUTS, GRPO.loss, RATE)
        with held_checkpoint(tmp_path, policy, TrainerState(step=1), folder) as writer:
            merged, mismatch = _weights(policy), policy.logprob_mismatch(ROLLOUTS)
            policy.update(ROLLOUTS[:7], GRPO.loss, RATE)
            expected = _weights(policy)
        saved = writer.last
    assert saved
    written = load_file(saved / "model.safetensors")
    assert written.keys() == merged.keys()
    assert all(torch.equal(written[name], merged[name]) for name in merged)
    with Policy(saved, TrainConfig(), TEMPERATURE) as plain:  # through transformers
        assert plain.logprob_mismatch(ROLLOUTS) == pytest.approx(mismatch, abs=1e-5)
    with _policy(folder, zero_stage=stage) as policy:
        assert checkpoint.restore(saved, policy) == TrainerState(step=1)
        assert all(torch.equal(weight, merged[name]) for name, weight in _weights(policy).items())
        policy.update(ROLLOUTS[:7], GRPO.loss, RATE)
        assert all(torch.equal(weight, expected[name]) for name, weight in _weights(policy).items())
    state = sum(path.stat().st_size for path in (saved / "trainer" / "state").iterdir())
    assert state < (saved / "model.safetensors").stat().st_size  # nothing but adapters


def test_the_reference_is_the_model_with_its_adapters_disabled(tiny_model: Callable[..., Path]) -> None:
    folder, diverging = tiny_model(tied=True), replace(GRPO, kl_coef=0.1)
    with Policy(folder, TrainConfig(), TEMPERATURE, folder) as whole:
        expected = [rollout.reference_logprobs for rollout in whole.with_reference_logprobs(ROLLOUTS)]
    with _policy(folder) as policy:
        for _ in range(2):
            policy.update(policy.with_reference_logprobs(ROLLOUTS), diverging.loss, RATE)
        assert policy._reference is None
        scored = policy.with_reference_logprobs(ROLLOUTS)
        assert policy.update(scored, diverging.loss, RATE).kl > 1e-4
    for rollout, logprobs in zip(scored, expected, strict=True):
        assert rollout.reference_logprobs == pytest.approx(logprobs, abs=1e-6)


def test_layers_that_the_model_does_not_have_are_refused(tiny_model: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match=r"train.lora_target_modules = \('proj_q',\)"):
        Policy(tiny_model(tied=True), TrainConfig(lora_rank=4, lora_target_modules=("proj_q",)), TEMPERATURE)


@pytest.mark.parametrize(
    "engine",
    [("rollout.engine=transformers",), ("rollout.engine=vllm", "rollout.serve_adapter=true")],
    ids=["merged", "served by vLLM"],
)
def test_a_run_with_adapters_resumes_to_the_same_losses(
    engine: tuple[str, ...], starter_model: Path, home: Any
) -> None:
    settings = [
        *engine,
        "rollout.prompts_per_step=2",
        "rollout.group_size=8",
        "rollout.max_completion_tokens=48",
    ]
    settings += ["rollout.temperature=1.0", "train.learning_rate=1e-2", "train.warmup_epochs=0", "evaluation.tasks=0"]
    settings += ["train.lora_rank=8", "train.kl_coef=0.01", "checkpoint_interval=1", "keep_checkpoints=3"]
    run = home.run("--model", str(starter_model), "--steps", "3", settings=settings)["run"]
    metrics = _metrics(home, run)
    assert max(value for _, name, value in metrics if name == "kl") > 1e-6
    for step in (2, 3):
        shutil.rmtree(home.folder / "runs" / run / "checkpoints" / f"step-{step:06}")
    assert home.run("--resume", run, settings=[])["steps"] == 3
    assert _metrics(home, run) == metrics
    assert max(value for _, name, value in metrics if name == "logprob_mismatch") < 1e-4


def _metrics(home: Any, run: str) -> list[Any]:
    names = (
        "name in ('loss', 'kl', 'importance_ratio', 'logprob_mismatch', 'grad_norm', 'policy_entropy', 'reward_mean')"
    )
    return home.query(f"select step, name, value from step_metric where run_id = ? and {names} order by 1, 2", run)
