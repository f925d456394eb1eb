"""TRL's GRPOTrainer on a configuration of ours: `python -m agnostics_benchmarks.trl_contender CONFIG`.

It trains on the prompts that `agn run CONFIG` would, in the same order, and leaves what a run leaves: a trace, and the
metrics of its steps in the store.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from statistics import fmean
from typing import Any

from agnostics.models.loading import stop_ids
from agnostics.plugins.manager import load_plugins
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span, SpanRecorder
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.store import Store
from agnostics.train.config import RunConfig, TrainConfig, load_config, output_folder
from agnostics.train.setup import RunInputs, prepare
from agnostics.types.errors import AgnosticsError
from agnostics.types.reward import RewardPolicy
from agnostics.types.rollout import Rollout
from agnostics.verify import Verifier

MICRO_BATCH = 8
"""Completions that pass through the model at once in an update."""
VERDICT_TIMEOUT_S = 300.0
UNUSED = ("vllm", "deepspeed")
"""Packages that TRL would import because they are installed, and need memory for, but not use."""
NO_STOP_TOKEN = -1
"""The stop token where completions have none."""


def main(path: Path) -> None:
    """Train as the configuration in the file `path` says."""
    for name in UNUSED:
        sys.modules[name] = None  # type: ignore[assignment]
    config = load_config(path, [], {})
    inputs = prepare(config, load_plugins(), lambda _: None)
    prompts = [prompt for step in range(1, inputs.steps + 1) for prompt in inputs.task_sampler.at(step)]
    spans = SpanRecorder()
    with Verifier(config.sandbox) as verifier:
        rollout_verifier = RolloutVerifier(inputs.language, verifier, spans)
        reward = Reward(inputs.reward, prompts, config.rollout.group_size, rollout_verifier)
        trainer = _trainer(config, inputs, prompts, reward)
        _check_prompts(trainer, prompts)
        _record_spans(trainer, spans)
        trainer.train()
    _store_results(config, inputs, spans, reward.metrics)


class Reward:
    """The reward function: our verifier and reward policy, on a whole batch at once."""

    __name__ = "reward"

    def __init__(
        self, policy: RewardPolicy, prompts: Sequence[RenderedPrompt], group_size: int, verifier: RolloutVerifier
    ) -> None:
        self.metrics: list[dict[str, float]] = []
        self._policy, self._prompts, self._group_size, self._verifier = policy, prompts, group_size, verifier

    def __call__(
        self, *, completions: Sequence[Any], completion_ids: Sequence[Any], place: Sequence[int], **_: Any
    ) -> list[float | None]:
        """The rewards of one step's completions; `place` is the index of each one's prompt."""
        rollouts = [
            Rollout(
                task=self._prompts[prompt].task,
                sample=number % self._group_size,
                text=completion[0]["content"],
                num_tokens=len(token_ids),
            )
            for number, (completion, token_ids, prompt) in enumerate(
                zip(completions, completion_ids, place, strict=True)
            )
        ]
        verified = self._verify(rollouts)
        groups = [verified[first : first + self._group_size] for first in range(0, len(verified), self._group_size)]
        rewards = [reward for group in groups for reward in self._policy.rewards(group)]
        given = [reward for reward in rewards if reward is not None]
        self.metrics.append(
            {
                "completions": len(rollouts),
                "reward_mean": fmean(given) if given else 0.0,
                "tokens_mean": fmean(rollout.num_tokens for rollout in rollouts),
            }
        )
        return rewards

    def _verify(self, rollouts: Sequence[Rollout]) -> list[Rollout]:
        """The rollouts, verified, all at the same time."""
        pending = [
            self._verifier.submit(self._verifier.program_in(rollout.task, rollout.text), rollout.task)
            for rollout in rollouts
        ]
        return [
            replace(rollout, verification=verified.result(timeout=VERDICT_TIMEOUT_S))
            for rollout, verified in zip(rollouts, pending, strict=True)
        ]


def _trainer(config: RunConfig, inputs: RunInputs, prompts: Iterable[RenderedPrompt], reward: Reward) -> Any:
    """A GRPOTrainer that trains as `config` says."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import GRPOTrainer

    stops = list(stop_ids(inputs.folder, inputs.tokenizer))
    rows = [
        {"prompt": [{"role": "user", "content": prompt.text}], "place": place} for place, prompt in enumerate(prompts)
    ]
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(inputs.folder, dtype=getattr(torch, config.train.dtype)),
        reward_funcs=reward,
        args=_arguments(config, inputs, stops),
        train_dataset=Dataset.from_list(rows),
        processing_class=inputs.tokenizer,
        peft_config=_adapters(config.train),
    )
    trainer.eos_token_ids = stops or [NO_STOP_TOKEN]
    return trainer


def _adapters(train: TrainConfig) -> Any:
    """peft's configuration of the same adapters; None if all weights are trained."""
    if not train.lora_rank:
        return None
    from peft import LoraConfig

    modules = train.lora_target_modules
    return LoraConfig(
        r=train.lora_rank,
        lora_alpha=train.lora_alpha,
        target_modules=modules if isinstance(modules, str) else list(modules),
        task_type="CAUSAL_LM",
    )


def _arguments(config: RunConfig, inputs: RunInputs, stops: Sequence[int]) -> Any:
    """The same algorithm, everything sampled in one batch, and nothing logged, saved or kept for later.

    TRL's loss `dapo` is ours over all tokens of a batch. Activations are kept, not recomputed: that is faster.
    """
    import torch
    from trl import GRPOConfig

    rollout, train, algorithm = config.rollout, config.train, inputs.algorithm
    completions = rollout.prompts_per_step * rollout.group_size
    at_once = min(MICRO_BATCH, completions)
    return GRPOConfig(
        output_dir=str(output_folder(config.output)),
        max_steps=inputs.steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=completions // at_once,
        num_generations=rollout.group_size,
        max_completion_length=rollout.max_completion_tokens,
        temperature=rollout.temperature,
        generation_kwargs={"eos_token_id": list(stops) or None},
        chat_template_kwargs={"enable_thinking": False},
        shuffle_dataset=False,
        learning_rate=train.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=0,
        weight_decay=train.weight_decay,
        max_grad_norm=train.max_grad_norm,
        beta=algorithm.kl_coef,
        epsilon=algorithm.clip_low,
        epsilon_high=algorithm.clip_high,
        loss_type="dapo",
        scale_rewards="group" if algorithm.normalize_by_std else "none",
        num_iterations=1,
        gradient_checkpointing=False,
        bf16=train.dtype == "bfloat16",
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
        seed=config.seed,
        report_to="none",
        logging_strategy="no",
        save_strategy="no",
        disable_tqdm=True,
    )


def _check_prompts(trainer: Any, prompts: Sequence[RenderedPrompt]) -> None:
    """Raise AgnosticsError where TRL makes other tokens of the first prompts."""
    rows = [trainer.train_dataset[place]["prompt"] for place in range(min(8, len(prompts)))]
    theirs = [tuple(token_ids) for token_ids in trainer._tokenize_prompts(rows)[0]]
    if theirs != [prompt.token_ids for prompt in prompts[: len(rows)]]:
        raise AgnosticsError("TRL makes other tokens of the prompts: its times do not count")


def _record_spans(trainer: Any, spans: SpanRecorder) -> None:
    """Record generation and updates; an update lasts from the advantages to the end of the step."""
    from transformers import TrainerCallback

    generate, score = trainer._generate_single_turn, trainer._generate_and_score_completions
    updates: list[Span] = []

    @wraps(generate)
    def timed_generate(*arguments: Any, **named: Any) -> Any:
        with spans.during("generation", "generate"):
            return generate(*arguments, **named)

    @wraps(score)
    def timed_score(*arguments: Any, **named: Any) -> Any:
        scored = score(*arguments, **named)
        updates.append(spans.begin("training", f"update {trainer.state.global_step + 1}"))
        return scored

    class EndOfStep(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            spans.end(updates.pop())

    trainer._generate_single_turn, trainer._generate_and_score_completions = timed_generate, timed_score
    trainer.add_callback(EndOfStep())


def _store_results(
    config: RunConfig, inputs: RunInputs, spans: SpanRecorder, metrics: Sequence[dict[str, float]]
) -> None:
    """Write the trace, and the metrics into the store."""
    folder = output_folder(config.output) / "trl"
    folder.mkdir(parents=True)
    with TraceFile(folder / "trace.json") as trace:
        trace.add(spans.close_window()[0])
    with Store.open(str(config.store)) as store:
        run = store.start_run(
            kind="train",
            config=config.model_dump(),
            language=inputs.language,
            model=config.model,
            dataset=config.dataset,
            seed=config.seed,
        )
        with store.recorder(run) as recorder:
            for step, values in enumerate(metrics, 1):
                recorder.step(step, values)
        store.finish_run(run, "finished", {})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
