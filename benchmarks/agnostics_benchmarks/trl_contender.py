"""TRL's GRPOTrainer on a configuration of ours: `python -m agnostics_benchmarks.trl_contender CONFIG`.

It trains on the prompts that `agn run CONFIG` would, in the same order, and leaves what a run leaves: a trace, and the
figures of its steps in the store.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import wraps
from pathlib import Path
from statistics import fmean
from typing import Any

from agnostics.models.loading import stop_ids
from agnostics.plugins.manager import load_plugins
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span, Timeline
from agnostics.rollout.task_sampler import Question
from agnostics.store import Store
from agnostics.train.config import RunConfig, load_config, output_folder
from agnostics.train.setup import Ingredients, prepare
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

MICRO_BATCH = 8
"""Answers that go through the model at once when it learns."""
PATIENCE_S = 300.0
UNUSED = ("vllm", "deepspeed")
"""What TRL would import because it is there, and need memory for, but not use."""
NEVER = -1
"""The stop token of answers that have none."""


def main(path: Path) -> None:
    """Train as the configuration in the file `path` says."""
    for name in UNUSED:
        sys.modules[name] = None  # type: ignore[assignment]
    config = load_config(path, [], {})
    found = prepare(config, load_plugins(), lambda _: None)
    questions = [question for step in range(1, found.steps + 1) for question in found.curriculum.at(step)]
    timeline = Timeline()
    with Verifier(config.sandbox) as verifier:
        reward = Reward(found, questions, config.rollout.group_size, verifier, timeline)
        trainer = _trainer(config, found, questions, reward)
        _insist_on_prompts(trainer, questions)
        _take_times(trainer, timeline)
        trainer.train()
    _leave(config, found, timeline, reward.figures)


class Reward:
    """The reward function: our verifier and reward policy, on a whole batch at once."""

    __name__ = "reward"

    def __init__(
        self, found: Ingredients, questions: Sequence[Question], group: int, verifier: Verifier, timeline: Timeline
    ) -> None:
        self.figures: list[dict[str, float]] = []
        self._found, self._questions, self._group = found, questions, group
        self._verifier, self._timeline = verifier, timeline

    def __call__(
        self, *, completions: Sequence[Any], completion_ids: Sequence[Any], place: Sequence[int], **_: Any
    ) -> list[float | None]:
        """The rewards of one step's completions; `place` says which question each answers."""
        with self._timeline.during("verification", "verify"):
            verdicts = [self._submit(*pair) for pair in zip(completions, place, strict=True)]
            done = [verdict.result(timeout=PATIENCE_S) for verdict in verdicts]
        groups = [done[first : first + self._group] for first in range(0, len(done), self._group)]
        rewards = [reward for group in groups for reward in self._found.reward.rewards(group)]
        earned = [reward for reward in rewards if reward is not None]
        self.figures.append(
            {
                "completions": len(done),
                "reward_mean": fmean(earned) if earned else 0.0,
                "tokens_mean": fmean(map(len, completion_ids)),
            }
        )
        return rewards

    def _submit(self, completion: Sequence[dict[str, str]], place: int) -> Future[Verification]:
        language, task = self._found.language, self._questions[place].task
        return self._verifier.submit(language, language.program_in(completion[0]["content"]), task)


def _trainer(config: RunConfig, found: Ingredients, questions: Iterable[Question], reward: Reward) -> Any:
    """A GRPOTrainer that learns as `config` says."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import GRPOTrainer

    stops = list(stop_ids(found.folder, found.tokenizer))
    rows = [
        {"prompt": [{"role": "user", "content": found.language.prompt_for(question.task)}], "place": place}
        for place, question in enumerate(questions)
    ]
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(found.folder, dtype=getattr(torch, config.train.dtype)),
        reward_funcs=reward,
        args=_arguments(config, found, stops),
        train_dataset=Dataset.from_list(rows),
        processing_class=found.tokenizer,
    )
    trainer.eos_token_ids = stops or [NEVER]
    return trainer


def _arguments(config: RunConfig, found: Ingredients, stops: Sequence[int]) -> Any:
    """The same algorithm, everything sampled in one batch, and nothing logged, saved or kept for later.

    TRL's loss `dapo` is ours over all tokens of a batch. Activations are kept, not computed twice: that is faster.
    """
    import torch
    from trl import GRPOConfig

    rollout, train, algorithm = config.rollout, config.train, found.algorithm
    answers = rollout.prompts_per_step * rollout.group_size
    at_once = min(MICRO_BATCH, answers)
    return GRPOConfig(
        output_dir=str(output_folder(config)),
        max_steps=found.steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=answers // at_once,
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
        scale_rewards="group",
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


def _insist_on_prompts(trainer: Any, questions: Sequence[Question]) -> None:
    """Raise AgnosticsError where TRL makes other tokens of the first prompts."""
    rows = [trainer.train_dataset[place]["prompt"] for place in range(min(8, len(questions)))]
    theirs = [tuple(token_ids) for token_ids in trainer._tokenize_prompts(rows)[0]]
    if theirs != [question.prompt for question in questions[: len(rows)]]:
        raise AgnosticsError("TRL makes other tokens of the prompts: no time of it counts")


def _take_times(trainer: Any, timeline: Timeline) -> None:
    """Have generation and updates taken down: an update lasts from the advantages to the end of the step."""
    from transformers import TrainerCallback

    generate, score = trainer._generate_single_turn, trainer._generate_and_score_completions
    updates: list[Span] = []

    @wraps(generate)
    def timed_generate(*arguments: Any, **named: Any) -> Any:
        with timeline.during("generation", "generate"):
            return generate(*arguments, **named)

    @wraps(score)
    def timed_score(*arguments: Any, **named: Any) -> Any:
        scored = score(*arguments, **named)
        updates.append(timeline.begin("training", f"update {trainer.state.global_step + 1}"))
        return scored

    class EndOfStep(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            timeline.end(updates.pop())

    trainer._generate_single_turn, trainer._generate_and_score_completions = timed_generate, timed_score
    trainer.add_callback(EndOfStep())


def _leave(config: RunConfig, found: Ingredients, timeline: Timeline, figures: Sequence[dict[str, float]]) -> None:
    """Write the trace, and the figures into the store."""
    folder = output_folder(config) / "trl"
    folder.mkdir(parents=True)
    with TraceFile(folder / "trace.json") as trace:
        trace.add(timeline.close_window()[0])
    with Store.open(str(config.store)) as store:
        run = store.start_run(
            kind="train",
            config=config.model_dump(),
            language=found.language,
            model=config.model,
            dataset=config.dataset,
            seed=config.seed,
        )
        with store.recorder(run) as recorder:
            for step, values in enumerate(figures, 1):
                recorder.step(step, values)
        store.finish_run(run, "finished", {})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
