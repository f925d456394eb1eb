"""The policy under DeepSpeed, against the same step in plain torch, and through sync, checkpoint and resume."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import preloaded
import pytest
import torch
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.loss import clipped_objective
from agnostics.models import token_logprobs
from agnostics.train import checkpoint
from agnostics.train.config import TrainConfig
from agnostics.train.logprob_mismatch import check_logprob_mismatch
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.types.errors import AgnosticsError
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from checkpoints import held_checkpoint, write_checkpoint
from transformers import AutoModelForCausalLM

pytestmark = pytest.mark.slow

TEMPERATURE, RATE = 0.7, 1e-3


def _rollouts(count: int = 9) -> list[Rollout]:
    """Rollouts of many lengths, three to a prompt, with a turn of a tool, and advantages of both signs."""
    generator = torch.Generator().manual_seed(3)

    def tokens(size: int) -> list[int]:
        return torch.randint(3, 700, (size,), generator=generator).tolist()

    def rollout(index: int) -> Rollout:
        size = 3 + 2 * index
        first = Segment.sampled(tokens(size), [-6.5] * size, [0] * size)
        last = Segment.sampled(tokens(2), [-6.0] * 2, [0] * 2)
        tool = Segment(tuple(tokens(3)), (0,) * 3, (0.0,) * 3, (0,) * 3)
        return Rollout(
            task=Task(id="t", tests=(Test(input="", output=""),)),
            sample=index % 3,
            prompt_ids=prompts[index // 3],
            segments=(first, tool, last),
            advantage=1.5 - index % 3,
            loss_weight=1 / (7 + index),
        )

    prompts = [tuple(tokens(5 + size)) for size in range(count)]
    return [rollout(index) for index in range(count)]


def _step_in_plain_torch(folder: Path, rollouts: list[Rollout], settings: TrainConfig) -> dict[str, torch.Tensor]:
    """One update, one rollout at a time, with all logits and torch's own AdamW."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=settings.weight_decay)
    for rollout in rollouts:
        prompt, mask = rollout.prompt_ids, torch.tensor(rollout.mask)
        logits = model(torch.tensor([prompt + rollout.token_ids])).logits[0, len(prompt) - 1 : -1]
        targets = torch.tensor(rollout.token_ids)[:, None]
        distribution = (logits / TEMPERATURE).log_softmax(-1)
        logprobs, entropies = distribution.gather(-1, targets).squeeze(-1), -(distribution.exp() * distribution).sum(-1)
        sampled = torch.tensor([logprob for segment in rollout.segments for logprob in segment.logprobs])
        assert rollout.advantage is not None
        advantage = torch.tensor(rollout.advantage)
        objective = clipped_objective(logprobs - sampled, advantage, clip_low=0.2, clip_high=0.2)
        value = objective.value + (settings.entropy_coef or 0.0) * entropies
        torch.autograd.backward(-(value * mask).sum() * rollout.loss_weight)
    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
    optimizer.step()
    return {name: weight.detach() for name, weight in model.named_parameters()}


@contextmanager
def _policy(folder: Path, **settings: Any) -> Iterator[Policy]:
    with Policy(folder, TrainConfig(learning_rate=RATE, **settings), TEMPERATURE) as policy:
        yield policy


def _weights(policy: Policy) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in policy.weights()}


def _distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    return max((one[name] - other[name]).abs().max().item() for name in one)


def _mean_distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    distances = [(one[name] - other[name]).abs().flatten() for name in one]
    return torch.cat(distances).mean().item()


@pytest.mark.parametrize(("stage", "entropy"), [(1, 0.0), (2, 0.0), (3, 0.0), (1, 0.5), (3, 0.5)])
def test_an_update_is_the_same_step_as_in_plain_torch(
    stage: Literal[1, 2, 3], entropy: float, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_logprobs, "LOGITS_PER_CHUNK", 768 * 7)  # chunks of seven tokens
    changes: dict[str, Any] = {"zero_stage": stage, "micro_batch_tokens": 64, "entropy_coef": entropy}
    folder, settings = tiny_model(tied=True), TrainConfig(**changes)
    before = _weights_of(folder)
    expected = _step_in_plain_torch(folder, _rollouts(), settings)
    with _policy(folder, **changes) as policy:
        policy.update(_rollouts(), replace(GRPO, entropy_coef=entropy).loss, RATE)
        # Adam's first step is the gradient's sign: where a gradient is all rounding, so is a part of the step.
        assert _mean_distance(_weights(policy), expected) < 1e-3 * _mean_distance(before, expected)


def _weights_of(folder: Path) -> dict[str, torch.Tensor]:
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return {name: weight.detach() for name, weight in model.named_parameters()}


FOLLOW = """
import sys
from pathlib import Path
from agnostics.algorithms.grpo import GRPO
from agnostics.inference.engine import CompletionRequest, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
name, folder = sys.argv[1], Path(sys.argv[2])
task = Task(id="t", tests=(Test(input="", output=""),))
def rollout(prompt_ids, segment, **fields):
    return Rollout(task=task, sample=0, prompt_ids=prompt_ids, segments=(segment,), **fields)
requests = [CompletionRequest(tuple(range(5, 15)), seed) for seed in range(6)]
rollouts = [
    rollout((5, 6, i), Segment.sampled([9, i], [-6.0] * 2, [0] * 2), advantage=1.0, loss_weight=0.1)
    for i in range(20, 40)
]
with open_engine(name, EngineSettings(folder, (1,), max_length=128, max_num_seqs=8)) as engine:
    with Policy(folder, TrainConfig(), 0.7) as policy:
        def mismatch():
            completions = dict(generate(engine, requests, SamplingParams(0.7, 16)))
            sampled = [rollout(requests[i].prompt_ids, completions[i].segment) for i in range(6)]
            return policy.logprob_mismatch(sampled), sampled[0].policy_version
        for _ in range(3):
            policy.update(rollouts, GRPO.loss, 1e-2)
            stale = mismatch()[0]
            engine.load_weights(policy.weights(), policy.version)
            print(*mismatch(), stale)
"""


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_engine_follows_the_policy_through_updates(name: str, tied: bool, tiny_model: Callable[..., Path]) -> None:
    lines = _run_alone(FOLLOW, name, str(tiny_model(tied=tied)))
    mismatches, versions, stale = zip(*(map(float, line.split()) for line in lines), strict=True)
    assert versions == (1, 2, 3)
    assert max(mismatches) < 1e-4
    for mismatch in stale:  # weights that did not reach the engine raise the alarm
        with pytest.raises(AgnosticsError, match="does not sample from the policy"):
            check_logprob_mismatch(mismatch, None, TrainConfig().logprob_mismatch_bound)


@pytest.mark.parametrize(
    ("dtype", "fresh", "mismatch", "tolerated"),
    [
        ("bfloat16", 0.004, 0.011, True),
        ("bfloat16", 0.004, 0.03, False),  # experts that did not reach the engine: below the bound of 0.05
        ("bfloat16", 1e-5, 0.004, True),  # a fresh engine that was sure of its tokens
        ("bfloat16", 0.03, 0.06, False),
        ("bfloat16", None, 0.03, True),  # of a run whose fresh engine was not measured
        ("float32", 2e-7, 5e-5, True),
        ("float32", 2e-7, 2e-4, False),
        ("float32", 2e-7, float("nan"), False),
    ],
)
def test_a_mismatch_is_compared_with_that_of_the_engine_before_it_was_sent_weights(
    dtype: Literal["float32", "bfloat16"], fresh: float | None, mismatch: float, tolerated: bool
) -> None:
    bound = TrainConfig(dtype=dtype).logprob_mismatch_bound
    with nullcontext() if tolerated else pytest.raises(AgnosticsError, match="does not sample from the policy"):
        check_logprob_mismatch(mismatch, fresh, bound)


LONG = """
import sys
from dataclasses import replace
from pathlib import Path
from agnostics.algorithms.grpo import GRPO
from agnostics.inference.engine import CompletionRequest, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
folder, prompt = Path(sys.argv[1]), tuple(range(5, 15))
task = Task(id="t", tests=(Test(input="", output=""),))
with open_engine("vllm", EngineSettings(folder, (1,), max_length=128, max_num_seqs=8)) as engine:
    with Policy(folder, TrainConfig(), 0.7) as policy:
        for update in range(101):
            requests = [CompletionRequest(prompt, 4 * update + place) for place in range(4)]
            completions = dict(generate(engine, requests, SamplingParams(0.7, 8)))
            segments = [completions[place].segment for place in range(4)]
            rollouts = [Rollout(task=task, sample=0, prompt_ids=prompt, segments=(segment,)) for segment in segments]
            low = [sum(token < 300 for token in rollout.token_ids) / 4 - 1 for rollout in rollouts]
            largest = max(policy.logprob_mismatch([rollout]) for rollout in rollouts)
            print(policy.logprob_mismatch(rollouts), largest, sum(low) / 4)
            scored = [replace(rollout, advantage=a, loss_weight=0.01) for rollout, a in zip(rollouts, low)]
            policy.update(scored, GRPO.loss, 1e-3)
            engine.load_weights(policy.weights(), policy.version)
"""


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_mismatch_with_the_engine_stays_under_a_thousandth_over_100_updates(
    tied: bool, tiny_model: Callable[..., Path]
) -> None:
    lines = [tuple(map(float, line.split())) for line in _run_alone(LONG, str(tiny_model(tied=tied)))]
    mismatches, largest, rewards = zip(*lines, strict=True)
    print(f"mismatch over 100 updates: mean {max(mismatches):.1e} at most, of a completion {max(largest):.1e} at most")
    assert len(mismatches) == 101
    assert max(largest) < 1e-3
    assert sum(rewards[-10:]) > sum(rewards[:10]) + 3  # it was another policy at the end


@pytest.mark.parametrize("stage", [1, 3])
def test_a_restored_checkpoint_continues_to_the_same_weights_though_training_went_on_while_it_was_written(
    stage: Literal[1, 3], tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tiny_model(tied=True)
    with _policy(folder, zero_stage=stage) as policy:
        policy.update(_rollouts(), GRPO.loss, RATE)
        with held_checkpoint(tmp_path, policy, TrainerState(step=1), folder) as writer:
            saved = _weights(policy)
            policy.update(_rollouts(5), GRPO.loss, RATE)
            expected = _weights(policy)
            assert (writer.check(), writer.last, checkpoint.last(tmp_path)) == (False, None, None)
        first = checkpoint.last(tmp_path)
    assert first
    assert first == writer.last
    assert _distance(_weights_of(first), saved) == 0.0
    with _policy(first, zero_stage=stage) as policy:
        assert checkpoint.restore(first, policy) == TrainerState(step=1)
        assert policy.version == 1
        policy.update(_rollouts(5), GRPO.loss, RATE)
        assert _distance(_weights(policy), expected) == 0.0
        second = write_checkpoint(tmp_path, policy, TrainerState(step=2), folder)
    assert checkpoint.last(tmp_path) == second
    assert not first.exists()


LOAD = """
import sys
from pathlib import Path
from agnostics.inference.engine import CompletionRequest, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
folder, prompt = Path(sys.argv[1]), tuple(range(5, 15))
task = Task(id="t", tests=(Test(input="", output=""),))
with open_engine("vllm", EngineSettings(folder, (1,), max_length=128, max_num_seqs=8)) as engine:
    ((_, completion),) = generate(engine, [CompletionRequest(prompt, seed=0)], SamplingParams(0.7, 16))
    with Policy(folder, TrainConfig(), 0.7) as policy:
        rollout = Rollout(task=task, sample=0, prompt_ids=prompt, segments=(completion.segment,))
        print(policy.logprob_mismatch([rollout]))
"""


def test_a_checkpoint_loads_in_vllm(tiny_model: Callable[..., Path], tmp_path: Path) -> None:
    folder = tiny_model(tied=True)
    with _policy(folder) as policy:
        policy.update(_rollouts(), GRPO.loss, RATE)
        saved = write_checkpoint(tmp_path, policy, TrainerState(step=1), folder)
    (mismatch,) = _run_alone(LOAD, str(saved))
    assert float(mismatch) < 1e-4


FULL_DISK = """
import resource, sys
from pathlib import Path
from agnostics.algorithms.loss import clipped_objective
from agnostics.types.errors import AgnosticsError
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import TrainConfig
from agnostics.train.state import TrainerState
from agnostics.models.loading import load_tokenizer
from agnostics.train.policy import Policy
folder, run = Path(sys.argv[1]), Path(sys.argv[2])
policy = Policy(folder, TrainConfig(), 1.0)
writer = CheckpointWriter(policy, load_tokenizer(folder))
writer.save(run, TrainerState(step=1))
writer.wait()
first = writer.last
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
writer.save(run, TrainerState(step=2))
try:
    writer.wait()
except AgnosticsError as error:
    print(error)
writer.wait()
assert checkpoint.last(run) == writer.last == first and (first / "trainer" / "state.json").exists()
assert [path.name for path in (run / "checkpoints").iterdir()] == [first.name]
"""


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(
    tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    (line,) = _run_alone(FULL_DISK, str(tiny_model(tied=False)), str(tmp_path))
    assert "could not be written" in line
    assert f"agn run --resume {tmp_path}" in line


WIDE = """
import resource, sys
from pathlib import Path
from agnostics.algorithms.grpo import GRPO
from agnostics.train.config import TrainConfig
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
policy = Policy(Path(sys.argv[1]), TrainConfig(micro_batch_tokens=4096), 1.0)
task = Task(id="t", tests=(Test(input="", output=""),))
segment = Segment.sampled([7] * 510, [-11.9] * 510, [0] * 510)
rollout = Rollout(task=task, sample=0, prompt_ids=(5, 6), segments=(segment,), advantage=1.0, loss_weight=1e-3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
policy.update([rollout] * 2, GRPO.loss, 1e-3)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20)
"""


def test_the_vocabulary_of_qwen_trains_without_its_logits_in_memory(tiny_model: Callable[..., Path]) -> None:
    (grown,) = _run_alone(WIDE, str(tiny_model(tied=True, vocabulary=151_936)))
    all_logits_gib = 2 * 512 * 151_936 * 4 / 2**30
    assert float(grown) < 2 * all_logits_gib  # which, with their softmax and gradient, would be needed three times


def _run_alone(script: str, *arguments: str) -> list[str]:
    """What `script` prints, in a process of its own: vLLM ends the process group that DeepSpeed holds on to."""
    command = [sys.executable, "-c", script, *arguments]
    answer = preloaded.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()
