"""What a run is made of: read from TOML, changed by `--set`, written down in full."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from agnostics.algorithms.algorithm import LossNormalization
from agnostics.types.errors import UsageError, unknown
from agnostics.types.task import Frozen
from agnostics.util.paths import data_folder

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]
Settings = TypeVar("Settings", bound=BaseModel)


class RolloutConfig(Frozen):
    """How the policy is sampled."""

    engine: Literal["vllm", "transformers"] = "vllm"
    """Which engine samples: vLLM in the trainer's process, or plain transformers."""
    separate_process: bool = False
    """vLLM in a process of its own, on a GPU of its own where there are twice as many as ranks."""
    prompts_per_step: Positive = 4
    """Prompts in a batch."""
    group_size: Annotated[int, Field(ge=2)] = 32
    """Answers to each prompt, compared with each other."""
    temperature: Share = 0.7
    """The sampling temperature, in training."""
    max_completion_tokens: Positive = 1024
    """Where an answer is cut off."""
    max_prompt_tokens: Positive = 2048
    """Tasks with longer prompts are left out."""
    max_num_seqs: Positive = 256
    """Answers that are sampled at the same time."""
    kv_cache_gib: Positive = 1
    """Memory for vLLM's keys and values, in GiB."""
    dynamic_sampling_rounds: Count | None = None
    """How many times new prompts are sampled in place of groups without signal; the algorithm's own by default."""

    @model_validator(mode="after")
    def _only_vllm_has_a_separate_process(self) -> Self:
        if self.separate_process and self.engine != "vllm":
            raise ValueError('separate_process = true needs engine = "vllm"')
        return self


class TrainConfig(Frozen):
    """How the policy learns: the defaults are the paper's (section 3.3)."""

    learning_rate: Share = 5e-6
    """The highest learning rate, where the warm-up ends."""
    warmup_epochs: Annotated[float, Field(ge=0)] = 0.1
    """The part of an epoch in which the learning rate rises from zero; then it falls along a cosine to zero."""
    updates_per_batch: Positive = 1
    """Updates on each batch, each on all of it."""
    clip_low: Annotated[float | None, Field(gt=0, le=1)] = None
    """How far below 1 the importance ratio may fall before it is clipped. This and what follows, down to
    `max_off_policy_steps`, are the algorithm's own where they are not given."""
    clip_high: Share | None = None
    """How far above 1 the importance ratio may rise before it is clipped."""
    loss_normalization: LossNormalization | None = None
    """The mean over all tokens of the batch, over sequences of their means, or the sum divided by a constant."""
    normalize_by_std: bool | None = None
    """Divide advantages by the standard deviation of the group's rewards."""
    tis_cap: Weight | None = None
    """Above 0: the ratio is against the trainer before its first update on the batch, and each token weighs its ratio
    between trainer and engine then, up to this."""
    kl_coef: Weight | None = None
    """The weight of the divergence from the starting model, which is then kept in memory; or 0."""
    mask_truncated: bool | None = None
    """Leave answers that were cut off out of the loss."""
    batch_tokens: Count | None = None
    """The most sampled tokens in one update; 0 puts all of a step's into one."""
    max_off_policy_steps: Count | None = None
    """How many updates the policy may be ahead of what it learns from, so that sampling goes on meanwhile; answers
    that are older are skipped. 0 samples and updates in turn."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """AdamW's weight decay."""
    max_grad_norm: Annotated[float, Field(ge=0)] = 1.0
    """The largest norm of the gradient; 0 clips nothing."""
    micro_batch_tokens: Positive = 2048
    """Tokens, with padding, that go through the model at once."""
    zero_stage: Literal[1, 2, 3] = 1
    """DeepSpeed's ZeRO stage."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type of the weights in the forward pass, in trainer and engine."""
    lora_rank: Count = 0
    """Above 0: adapters of this rank are trained (LoRA) in place of the weights; 0 trains all weights."""
    lora_alpha: Positive = 32
    """What an adapter's output is multiplied by, times its rank."""
    lora_target_modules: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """The layers that get an adapter: all linear ones but the head, or those whose names end so."""
    activation_checkpointing: bool = False
    """Compute activations again in the backward pass in place of keeping them: less memory, more time."""
    max_logprob_mismatch: Share | None = None
    """Stop where the engine's log-probabilities are further from the trainer's than this, in the mean; 0.001 in
    float32 and 0.05 in bfloat16 where it is not given."""

    @property
    def logprob_mismatch_bound(self) -> float:
        """The largest gap that is no alarm."""
        return self.max_logprob_mismatch or (1e-3 if self.dtype == "float32" else 0.05)


class EvaluationConfig(Frozen):
    """How the policy is measured on held-out tasks: before, after, and if asked for during training."""

    split: str = "test"
    """The split of the data set that is held out; a data set without it is not evaluated."""
    tasks: Annotated[int, Field(ge=0)] = 100
    """Held-out tasks; 0 measures nothing."""
    samples: Positive = 4
    """Answers to each task."""
    temperature: Share = 0.7
    """The sampling temperature, in evaluation."""
    eval_interval: Count = 0
    """Steps between measurements during training; 0 measures before and after only."""


class RunConfig(Frozen):
    """A training run."""

    language: str = "lua"
    """A language's name, or a YAML file."""
    model: str = "starter"
    """A folder in Hugging Face's format, a name on its hub, or `starter`: a small model made on this machine."""
    dataset: str = "starter"
    """A data set: an adapter's name, `adapter:source`, or a file."""
    reward: str = "accepted"
    """The reward policy."""
    algorithm: str = "grpo"
    """How rewards become a gradient: grpo, dr_grpo, dapo, gspo, cwm, or one that a plugin brings."""
    steps: Positive | None = None
    """Training steps; one epoch where it is not given."""
    seed: int = 0
    """Decides the order of tasks and every token sampled."""
    sandbox: str = "auto"
    """The sandbox mode: auto, docker, bubblewrap or process"""
    store: str | None = None
    """The results database, as a SQLAlchemy URL; a SQLite file in the user's data folder where it is not given."""
    output: str | None = None
    """The folder of run folders; in the user's data folder where it is not given."""
    loggers: tuple[str, ...] = ()
    """Where the figures of each step go besides the store: tensorboard, wandb, or what a plugin brings."""
    checkpoint_interval: Positive = 20
    """Steps between checkpoints; the last step and an interrupted run leave one too."""
    keep_checkpoints: Positive = 1
    """How many checkpoints are kept, the last ones; the one that did best on held-out tasks stays beside them."""
    rollout: RolloutConfig = RolloutConfig()
    train: TrainConfig = TrainConfig()
    evaluation: EvaluationConfig = EvaluationConfig()


def load_config(path: Path | None, overrides: Iterable[str], options: Mapping[str, Any]) -> RunConfig:
    """The configuration of a training run; see `load_settings`."""
    return load_settings(RunConfig, path, overrides, options)


def load_settings(
    model: type[Settings], path: Path | None, overrides: Iterable[str], options: Mapping[str, Any]
) -> Settings:
    """The settings in the TOML file `path`, with `options` and then every `key=value` of `overrides` set.

    Raises UsageError for a file that cannot be read, an unknown key (with the nearest) or a value out of range.
    """
    data = _read(path) if path else {}
    data.update({key: value for key, value in options.items() if value is not None})
    for override in overrides:
        _set(data, override)
    _check_keys(data, model)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        if first["type"] == "value_error":  # about several settings together
            raise UsageError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from error
        raise UsageError(f"{place}: {first['msg']}, got {first['input']!r}") from error


def to_toml(config: RunConfig) -> str:
    """The whole configuration as TOML, but for the store's password; a key that is not set is left out."""
    from agnostics.store.database import without_password

    lines, tables = [], []
    kept = config.model_copy(update={"store": config.store and without_password(config.store)})
    for key, value in kept.model_dump(exclude_none=True).items():
        if isinstance(value, dict):
            tables += [f"\n[{key}]", *(f"{name} = {json.dumps(inner)}" for name, inner in value.items())]
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def output_folder(config: RunConfig) -> Path:
    """The folder of run folders."""
    if config.output:
        return Path(config.output).expanduser().resolve()
    return data_folder() / "runs"


def absolute(name: str) -> str:
    """A language's or a data set's name with its path made absolute: a file's, or that of `adapter:path`.

    A word without a suffix is no path, whatever lies in the current folder.
    """
    head, colon, tail = name.rpartition(":")
    return f"{head}{colon}{absolute_path(tail)}" if colon or Path(tail).suffix else name


def absolute_model(name: str) -> str:
    """A model's folder made absolute; `starter`, or a name on the hub, as it is."""
    return name if name == "starter" else absolute_path(name)


def absolute_path(path: str) -> str:
    """The path of what is there made absolute; any other text as it is."""
    return str(Path(path).expanduser().resolve()) if path and Path(path).expanduser().exists() else path


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such configuration file; try examples/starter-lua.toml") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error


def _set(data: dict[str, Any], override: str) -> None:
    """Set one `a.b=value`; the value is TOML where it reads as such, else a string."""
    dotted, equals, text = override.partition("=")
    if not equals:
        raise UsageError(f"--set {override}: expected key=value, as in --set train.learning_rate=1e-5")
    *tables, key = dotted.strip().split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise UsageError(f"--set {override}: {table!r} is a value, not a table")
    data[key] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check_keys(data: Mapping[str, Any], model: type[BaseModel], prefix: str = "") -> None:
    """Raise UsageError for the first key that `model` does not have."""
    for key, value in data.items():
        if key not in model.model_fields:
            raise unknown("key", prefix + key, (prefix + name for name in model.model_fields))
        inner = model.model_fields[key].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, dict):
            _check_keys(value, inner, f"{prefix}{key}.")
