"""The configuration of supervised fine-tuning: read from TOML, changed by `--set`, stored in full."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from agnostics.rollout.prompts import ConversationSettings
from agnostics.train.config import TrainConfig, toml_tables
from agnostics.types.task import Frozen
from agnostics.util.settings import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, load_settings

_SHARES = ("epochs", "weight", "rehearsal")


class SourceConfig(Frozen):
    """A file of training examples, and its part of the mixture."""

    path: str
    """A file of JSON Lines, or a Parquet file."""
    epochs: PositiveFloat | None = None
    """The times that its examples are read, 1 by default. If `steps` is given, sources keep these proportions."""
    weight: PositiveFloat | None = None
    """Its part of the tokens, relative to the other sources' weights; in place of `epochs`, for all sources or none."""
    rehearsal: Annotated[float | None, Field(gt=0, lt=1)] = None
    """Its share of all tokens, in place of `epochs`: examples of what the model can do already, to keep it."""
    sha256: str | None = None
    """The checksum that the file must have; a run writes it into its `config.toml`."""

    @model_validator(mode="after")
    def _has_one_share(self) -> Self:
        given = [name for name in _SHARES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{self.path}: give one of {' and '.join(given)}")
        return self


class ValidationConfig(Frozen):
    """Examples that are not trained, on which the loss is measured."""

    path: str
    """A file of JSON Lines, or a Parquet file, of examples that are not trained: the loss on them is measured."""
    eval_interval: PositiveInt | None = None
    """Steps between measurements; the last step always has one."""
    sha256: str | None = None
    """The checksum that the file must have; a run writes it into its `config.toml`."""


class SftTrainConfig(Frozen):
    """Settings of updating the model."""

    learning_rate: PositiveFloat = 1e-5
    """The highest learning rate, at the end of the warm-up."""
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] = 0.03
    """The part of the run in which the learning rate rises from zero; then it falls along a cosine to zero."""
    batch_tokens: PositiveInt = 16384
    """The most tokens in a step, of prompts and completions."""
    micro_batch_tokens: PositiveInt = 2048
    """The most tokens that pass through the model at once: examples of one source, without padding."""
    max_example_tokens: PositiveInt = 2048
    """Longer examples are left out; longer texts are cut into pieces of this length."""
    weight_decay: NonNegativeFloat = 0.01
    """AdamW's weight decay."""
    max_grad_norm: NonNegativeFloat = 1.0
    """The largest norm of the gradient; 0 clips nothing."""
    zero_stage: Literal[1, 2, 3] = 1
    """DeepSpeed's ZeRO stage."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type of the weights in the forward pass."""
    lora_rank: NonNegativeInt = 0
    """Above 0: train adapters of this rank (LoRA) instead of the weights; 0 trains all weights."""
    lora_alpha: PositiveInt = 32
    """The factor of an adapter's output, times its rank."""
    lora_target_modules: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    """The layers that get an adapter: all linear ones but the head, or those whose names end so."""
    activation_checkpointing: bool = False
    """Recompute activations in the backward pass instead of keeping them: less memory, more time."""

    def policy_settings(self) -> TrainConfig:
        """The settings of the model and its optimizer."""
        shared = TrainConfig.model_fields.keys() & SftTrainConfig.model_fields.keys() - {"batch_tokens"}
        return TrainConfig(**{key: getattr(self, key) for key in shared})


class SftConfig(Frozen):
    """A run of supervised fine-tuning."""

    language: str = "lua"
    """The language that the run is listed under, and that of the starter model: a language's name, or a YAML file."""
    model: str = "starter"
    """A folder in Hugging Face's format, a GGUF file, a training run (its last checkpoint), a name on the hub, or
    `starter`: a small model pretrained on this machine."""
    sources: tuple[SourceConfig, ...] = ()
    """The files of training examples."""
    steps: PositiveInt | None = None
    """Training steps; by default as many as the epochs of the sources take."""
    tokens: PositiveInt | None = None
    """Tokens of the run in place of `steps`: it ends with the step that reaches them."""
    seed: int = 0
    """Decides the order of examples."""
    store: str | None = None
    """The results database, as a SQLAlchemy URL; a SQLite file in the user's data folder by default."""
    output: str | None = None
    """The folder of run folders; in the user's data folder by default."""
    loggers: tuple[str, ...] = ()
    """Receivers of the metrics of each step besides the store: tensorboard, wandb, or a callback of a plugin."""
    checkpoint_interval: PositiveInt = 100
    """Steps between checkpoints; the last step and an interrupted run leave one too."""
    keep_checkpoints: PositiveInt = 1
    """The number of most recent checkpoints that are kept."""
    chat: ConversationSettings = ConversationSettings()
    train: SftTrainConfig = SftTrainConfig()
    validation: ValidationConfig | None = None
    """Examples that are not trained, on which the loss is measured."""

    @property
    def dataset(self) -> str:
        """The names of the sources' files, as the results database lists them."""
        return ", ".join(Path(source.path).name for source in self.sources)

    @model_validator(mode="after")
    def _sources_make_a_mixture(self) -> Self:
        trained = [source for source in self.sources if source.rehearsal is None]
        if self.sources and not trained:
            raise ValueError("sources: each is for rehearsal; give at least one without it")
        if len({source.weight is None for source in trained}) > 1:
            raise ValueError("sources: give every source a weight, or none")
        if sum(source.rehearsal or 0.0 for source in self.sources) >= 1:
            raise ValueError("sources: the shares of rehearsal leave nothing of the tokens")
        if self.steps and self.tokens:
            raise ValueError("give steps or tokens, not both")
        return self


def load_sft_config(path: Path | None, overrides: Iterable[str], options: Mapping[str, Any]) -> SftConfig:
    """The configuration of supervised fine-tuning; see `load_settings`."""
    return load_settings(SftConfig, path, overrides, options)


def to_toml(config: SftConfig) -> str:
    """The whole configuration as TOML, without the store's password; a key that is not set is left out."""
    return "\n\n".join([toml_tables(config, exclude={"sources"}).rstrip(), *_source_tables(config)]) + "\n"


def _source_tables(config: SftConfig) -> Iterator[str]:
    for source in config.sources:
        keys = source.model_dump(exclude_none=True)
        yield "\n".join(["[[sources]]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())])
