"""Updates of a policy whose adapter vLLM serves, in a process of their own: the log-probability mismatches, as JSON.

vLLM ends the process group that DeepSpeed holds on to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from agnostics.algorithms.grpo import GRPO
from agnostics.inference.engine import (
    Completion,
    CompletionRequest,
    Engine,
    EngineSettings,
    SamplingParams,
    generate,
)
from agnostics.inference.provider import open_engine
from agnostics.models.shape import shape_of
from agnostics.train.config import TrainConfig
from agnostics.train.memory import served_adapter
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
from transformers import AutoModelForCausalLM

TASK = Task(id="t", tests=(Test(input="", output=""),))
PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=24)
REQUESTS = [CompletionRequest(tuple(range(5, 12 + index % 4)), seed=index) for index in range(8)]
RATE = 1e-2
LENGTHS = (5, 40, 150, 500, 500, *(1900,) * 35)
"""Tokens of the requests in flight: an engine in other processes does not wait for new weights, and long completions
without end, one after the other, are there for any delay."""


def main(folder: Path, train: TrainConfig, workers: int) -> dict[str, Any]:
    """With vLLM in this process, or divided among `workers` processes: see the keys of the result."""
    settings = EngineSettings(
        folder,
        (),  # no token ends a completion before the update in flight
        max_length=2000,
        max_num_seqs=8,
        dtype=train.dtype,
        tensor_parallel_size=workers or 1,
        adapter=served_adapter(shape_of(folder), train),
    )
    with (
        open_engine("vllm", settings, separate_process=workers > 0) as engine,
        Policy(folder, train, PARAMS.temperature) as policy,
    ):
        engine.load_weights(policy.adapter(), policy.version)
        rollouts = _sampled(engine)
        fresh = policy.logprob_mismatch(rollouts)
        for _ in range(2):
            policy.update(rollouts, GRPO.loss, RATE)
        stale = policy.logprob_mismatch(_sampled(engine))
        engine.load_weights(policy.adapter(), policy.version)
        after = policy.logprob_mismatch(_sampled(engine))
        in_flight = _in_flight(engine, policy, rollouts, folder)
    return {"fresh": fresh, "stale": stale, "after": after, **in_flight}


def _sampled(engine: Engine) -> list[Rollout]:
    """A rollout of each request; every other one is better than the rest."""
    completions = dict(generate(engine, REQUESTS, PARAMS))
    return [_rollout(index, completions[index]) for index in range(len(REQUESTS))]


def _request(index: int) -> CompletionRequest:
    return REQUESTS[index % len(REQUESTS)]


def _rollout(index: int, completion: Completion) -> Rollout:
    return Rollout(
        task=TASK,
        sample=0,
        prompt_ids=_request(index).prompt_ids,
        segments=(completion.segment,),
        advantage=1.0 - 2 * (index % 2),
        loss_weight=0.02,
    )


def _in_flight(engine: Engine, policy: Policy, rollouts: Sequence[Rollout], folder: Path) -> dict[str, Any]:
    """Load an update while requests run: see `_by_version`."""
    models = {policy.version: _merged(folder, policy)}
    policy.update(rollouts, GRPO.loss, RATE)
    models[policy.version] = _merged(folder, policy)
    for index, length in enumerate(LENGTHS):
        engine.add_request(index, _request(index), replace(PARAMS, max_completion_tokens=length))
    finished = dict[int, Completion]()
    while not finished:
        finished.update(engine.step())
    engine.load_weights(policy.adapter(), policy.version)
    while engine.has_unfinished_requests and not any(len(set(one.policy_versions)) > 1 for one in finished.values()):
        finished.update(engine.step())
    engine.abort_all()
    return _by_version([_rollout(index, completion) for index, completion in finished.items()], models)


def _merged(folder: Path, policy: Policy) -> Any:
    """The policy as a plain model."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.load_state_dict({name: weight.float() for name, weight in policy.weights()}, strict=False)  # a head is tied
    return model


def _by_version(rollouts: Sequence[Rollout], models: dict[int, Any]) -> dict[str, Any]:
    """`mixed` completions have tokens of both versions; `own` is the largest mismatch with the model of a token's
    version, and `other` the mean mismatch with the other model."""
    versions = torch.cat([torch.tensor(rollout.sampled_versions) for rollout in rollouts])
    own, other = list[torch.Tensor](), list[torch.Tensor]()
    for version, model in models.items():
        distances = torch.cat([_distances(model, rollout) for rollout in rollouts])
        own.append(distances[versions == version])
        other.append(distances[versions != version])
    mixed = sum(len(set(rollout.sampled_versions)) > 1 for rollout in rollouts)
    return {"mixed": mixed, "own": torch.cat(own).max().item(), "other": torch.cat(other).mean().item()}


@torch.no_grad()
def _distances(model: Any, rollout: Rollout) -> torch.Tensor:
    """|log-probability under `model` - in the engine| of each token: (N,)."""
    tokens = rollout.segments[0].token_ids
    logits = model(torch.tensor([rollout.prompt_ids + tokens])).logits[0, len(rollout.prompt_ids) - 1 : -1]
    logprobs = (logits / PARAMS.temperature).log_softmax(-1).gather(-1, torch.tensor(tokens)[:, None]).squeeze(-1)
    return (logprobs - torch.tensor(rollout.sampled_logprobs)).abs()


if __name__ == "__main__":
    changed = json.loads(sys.argv[3])
    print(json.dumps(main(Path(sys.argv[1]), TrainConfig(lora_rank=4, **changed), int(sys.argv[2]))))
