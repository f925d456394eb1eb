"""The configuration of a training run: read from TOML, changed by `--set`, stored in full."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from agnostics.algorithms.scoring import LossNormalization
from agnostics.environments.settings import EnvironmentOptions, EpisodeSettings
from agnostics.inference.engine import BUFFER_RANKS
from agnostics.inference.provider import default_engine
from agnostics.rollout.prompts import ChatSettings
from agnostics.types.task import Frozen
from agnostics.util.paths import data_folder
from agnostics.util.settings import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, load_settings


class RolloutConfig(Frozen):
    """Settings of sampling completions from the policy."""

    engine: str = Field(default_factory=default_engine)
    """The inference engine: vllm (in the trainer's process), transformers, or one of a plugin; vllm by default where it
    is installed, else transformers."""
    separate_process: bool = False
    """Run vLLM in a process of its own, on a GPU of its own if there are twice as many as ranks."""
    tensor_parallel_size: PositiveInt = 1
    """GPUs among which vLLM divides the model (processes, on a CPU); more than one needs `separate_process`."""
    engine_processes: PositiveInt = 1
    """vLLM processes of each rank, which divide its requests; more than one needs `separate_process`, and GPUs of their
    own."""
    serve_adapter: bool = False
    """With `train.lora_rank`: vLLM serves the adapter beside the starting model's weights, instead of loading merged
    weights after each update."""
    prompts_per_step: PositiveInt = 4
    """Prompts in a step."""
    group_size: Annotated[int, Field(ge=2)] = 32
    """Completions of each prompt, compared with each other."""
    temperature: PositiveFloat = 0.7
    """The sampling temperature, in training."""
    max_completion_tokens: PositiveInt = 1024
    """The length at which completions, and each action of an episode, are truncated."""
    max_prompt_tokens: PositiveInt = 2048
    """Tasks with longer prompts are left out."""
    max_num_seqs: PositiveInt = 256
    """Completions sampled at the same time."""
    kv_cache_gib: PositiveInt = 1
    """Memory for vLLM's keys and values, or for those that transformers keeps between turns, in GiB."""
    cuda_graphs: bool = True
    """On a GPU, replay vLLM's decoding steps as CUDA graphs: faster, with more memory and a slower start."""
    chunked_prefill: bool = True
    """On a GPU, prefill long prompts in chunks, beside the decoding of other sequences."""
    sleep_mode: bool = False
    """On a GPU, free vLLM's memory during updates: its weights go to the host's memory, its KV cache is dropped. Needs
    an engine in the trainer's process and `train.max_off_policy_steps = 0`."""
    dynamic_sampling_rounds: NonNegativeInt | None = None
    """Maximum number of times that new prompts are sampled to replace groups with equal rewards; the algorithm's own by
    default."""

    online_difficulty_filtering: bool = False
    """Sample prompts less often if nearly all of their programs are accepted or nearly none, as estimated from the
    run's rollouts."""

    @model_validator(mode="after")
    def _only_vllm_serves_adapters_and_has_a_separate_process(self) -> Self:
        if self.separate_process and self.engine != "vllm":
            raise ValueError('separate_process = true needs engine = "vllm"')
        if self.serve_adapter and self.engine != "vllm":
            raise ValueError('serve_adapter = true needs engine = "vllm"')
        if self.tensor_parallel_size > 1 and not self.separate_process:
            raise ValueError("tensor_parallel_size > 1 needs separate_process = true")
        if self.engine_processes > 1 and not self.separate_process:
            raise ValueError("engine_processes > 1 needs separate_process = true")
        if self.sleep_mode and (self.separate_process or self.engine == "transformers"):
            raise ValueError('sleep_mode = true needs separate_process = false and an engine that can sleep: "vllm"')
        return self


class TrainConfig(Frozen):
    """Settings of updating the policy; the defaults are the paper's (section 3.3)."""

    learning_rate: PositiveFloat = 5e-6
    """The highest learning rate, at the end of the warm-up."""
    warmup_epochs: NonNegativeFloat = 0.1
    """The part of an epoch in which the learning rate rises from zero; then it falls along a cosine to zero."""
    updates_per_batch: PositiveInt = 1
    """Updates on each batch, each on all of it."""
    clip_low: Annotated[float | None, Field(gt=0, le=1)] = None
    """The distance below 1 beyond which the importance ratio is clipped. The default of this key and of the next, down
    to `max_off_policy_steps`, is the algorithm's."""
    clip_high: PositiveFloat | None = None
    """The distance above 1 beyond which the importance ratio is clipped."""
    loss_normalization: LossNormalization | None = None
    """The mean over all tokens of the batch, over sequences of their means, or the sum divided by a constant."""
    normalize_by_std: bool | None = None
    """Divide advantages by the standard deviation of the group's rewards."""
    turn_rewards: bool | None = None
    """Give the tokens of each turn an advantage of their own, with the environment's rewards for turns."""
    turn_discount: Annotated[float | None, Field(gt=0, le=1)] = None
    """With `turn_rewards`, the factor of what follows a turn in its return: below 1, a program that fails is worth less
    than the one that it leads to."""
    tis_cap: NonNegativeFloat | None = None
    """Above 0: truncated importance sampling. The importance ratio is against the trainer before its first update on
    the batch, and each token is weighted by its ratio between trainer and engine at that time, up to this cap."""
    mis_high: NonNegativeFloat | None = None
    """Above 0: masked importance sampling. As `tis_cap`, but a token whose ratio between trainer and engine is above
    this, or below `mis_low`, is left out of the loss."""
    mis_low: NonNegativeFloat | None = None
    """The lowest ratio between trainer and engine that `mis_high` leaves in the loss."""
    kl_coef: NonNegativeFloat | None = None
    """The coefficient of the KL divergence from the starting model, which is then kept in memory; or 0."""
    entropy_coef: NonNegativeFloat | None = None
    """The coefficient of the policy's entropy, which is added to the objective; or 0."""
    mask_truncated: bool | None = None
    """Leave truncated completions out of the loss."""
    batch_tokens: NonNegativeInt | None = None
    """The most sampled tokens in one update; 0 puts all of a step's tokens into one. With sampling ahead, what fills no
    batch waits for the next step."""
    max_off_policy_steps: NonNegativeInt | None = None
    """Maximum number of updates between sampling a token and training on it, so that sampling continues during updates;
    older rollouts are dropped. 0 samples and updates in turn, whatever the number of updates."""
    weight_decay: NonNegativeFloat = 0.01
    """AdamW's weight decay."""
    max_grad_norm: NonNegativeFloat = 1.0
    """The largest norm of the gradient; 0 clips nothing."""
    micro_batch_tokens: PositiveInt = 2048
    """Tokens that pass through the model at once."""
    zero_stage: Literal[1, 2, 3] = 1
    """DeepSpeed's ZeRO stage."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type of the weights in the forward pass, in trainer and engine."""
    lora_rank: NonNegativeInt = 0
    """Above 0: train adapters of this rank (LoRA) instead of the weights; 0 trains all weights."""
    lora_alpha: PositiveInt = 32
    """The factor of an adapter's output, times its rank."""
    lora_target_modules: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """The layers that get an adapter: all linear ones but the head, or those whose names end so."""
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass instead of keeping them: less memory, more time."""
    max_logprob_mismatch: PositiveFloat | None = None
    """Stop if the engine's log-probabilities are further from the trainer's than this, in the mean, or than three times
    what they were before the first update; 0.001 in float32 and 0.05 in bfloat16 by default."""

    @property
    def logprob_mismatch_bound(self) -> float:
        """The largest mismatch that is tolerated, whatever that of a fresh engine was."""
        return self.max_logprob_mismatch or (1e-3 if self.dtype == "float32" else 0.05)


class EvaluationConfig(Frozen):
    """Settings of evaluating the policy: on held-out tasks before and after training, on validation tasks during it."""

    split: str = "test"
    """The held-out split of the data set; a data set without it is not evaluated before and after training."""
    validation_split: str = "validation"
    """The split that is evaluated during training and chooses the best checkpoint. If the data set has no task in it, a
    tenth of the training tasks are held back, at most `tasks`."""
    tasks: NonNegativeInt = 100
    """Held-out tasks, and validation tasks; 0 disables evaluation."""
    samples: PositiveInt = 4
    """Completions of each task."""
    temperature: PositiveFloat = 0.7
    """The sampling temperature, in evaluation."""
    eval_interval: NonNegativeInt = 0
    """Steps between evaluations on validation tasks, which come before the first step and after the last one too; 0
    evaluates before and after training only."""

    @model_validator(mode="after")
    def _validation_tasks_are_not_held_out_ones(self) -> Self:
        if self.eval_interval and self.validation_split in ("train", self.split):
            raise ValueError(
                f"validation_split = {self.validation_split!r} must be a split of its own: the best checkpoint is "
                "chosen by it"
            )
        return self


class RunConfig(Frozen):
    """A training run."""

    language: str = "lua"
    """A language's name, or a YAML file."""
    model: str = "starter"
    """A folder in Hugging Face's format, a GGUF file, a training run (its last checkpoint), a name on the hub, or
    `starter`: a small model pretrained on this machine."""
    dataset: str = "starter"
    """A data set: an adapter's name, `adapter:source`, or a file."""
    reward: str = "accepted"
    """The reward policy: accepted, tests_passed, steps, format, one of a plugin, or `path.py:NAME`: a function or a
    class in a file."""
    environment: str = "answer"
    """The environment: answer, code-feedback, agentic-code, math, math-python, trace-prediction, termination,
    complexity-prediction, complexity-generation, session, one of a plugin, or `path.py:NAME`: a class in a file."""
    environment_options: EnvironmentOptions = Field(default={})
    """Values of the environment's own fields, by name; docs/environments.md has those of each."""
    episode: EpisodeSettings = EpisodeSettings()
    algorithm: str = "grpo"
    """The algorithm: grpo, dr_grpo, dapo, gspo, cwm, cispo, rloo, reinforce++, reinforce++-baseline, or one of a
    plugin."""
    steps: PositiveInt | None = None
    """Training steps; one epoch by default."""
    seed: int = 0
    """Decides the order of tasks and every sampled token."""
    sandbox: str = "auto"
    """The sandbox: auto, docker, bubblewrap, process, ray://…, or one of a plugin."""
    store: str | None = None
    """The results database, as a SQLAlchemy URL; a SQLite file in the user's data folder by default."""
    output: str | None = None
    """The folder of run folders; in the user's data folder by default."""
    loggers: tuple[str, ...] = ()
    """Receivers of the metrics of each step besides the store: tensorboard, wandb, or a callback of a plugin."""
    checkpoint_interval: PositiveInt = 20
    """Steps between checkpoints; the last step and an interrupted run leave one too."""
    keep_checkpoints: PositiveInt = 1
    """The number of most recent checkpoints that are kept; the best on validation tasks is kept besides."""
    chat: ChatSettings = ChatSettings()
    rollout: RolloutConfig = RolloutConfig()
    train: TrainConfig = TrainConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _a_served_adapter_has_a_rank(self) -> Self:
        if self.rollout.serve_adapter and not 0 < self.train.lora_rank <= BUFFER_RANKS[-1]:
            raise ValueError(f"rollout.serve_adapter = true needs train.lora_rank from 1 to {BUFFER_RANKS[-1]}")
        return self


def load_config(path: Path | None, overrides: Iterable[str], options: Mapping[str, Any]) -> RunConfig:
    """The configuration of a training run; see `load_settings`."""
    return load_settings(RunConfig, path, overrides, options)


def to_toml(config: RunConfig) -> str:
    """The whole configuration as TOML, without the store's password; a key that is not set is left out."""
    return toml_tables(config)


def toml_tables(config: Frozen, exclude: set[str] | None = None) -> str:
    """As `to_toml`, for settings with a key `store` whose values are plain or tables of plain ones."""
    from agnostics.store.database import without_password

    lines, tables = [], []
    for key, value in config.model_dump(exclude_none=True, exclude=exclude).items():
        if isinstance(value, dict):
            tables += [f"\n[{key}]", *(f"{name} = {json.dumps(inner)}" for name, inner in value.items())]
        else:
            lines.append(f"{key} = {json.dumps(without_password(value) if key == 'store' else value)}")
    return "\n".join([*lines, *tables]) + "\n"


def output_folder(output: str | None) -> Path:
    """The folder of run folders that the key `output` names; one in the user's data folder by default."""
    return Path(output).expanduser().resolve() if output else data_folder() / "runs"


def resume_argument(folder: Path) -> str:
    """The word after `--resume` for the run in `folder`: its name where that is looked for, else its path, quoted."""
    return shlex.quote(folder.name if folder.parent == output_folder(None) else str(folder))
