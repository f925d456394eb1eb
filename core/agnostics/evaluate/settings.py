"""The settings of an evaluation: those of `agn eval`, by default as in the paper (section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from agnostics.environments.settings import EnvironmentOptions, EpisodeSettings
from agnostics.inference.provider import default_engine
from agnostics.plugins.python_file import absolute_python_name
from agnostics.rollout.prompts import ChatSettings
from agnostics.types.language import Language
from agnostics.types.task import Frozen
from agnostics.util.settings import (
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    absolute_model,
    absolute_name,
    absolute_path,
)


class EvaluationSettings(Frozen):
    """An evaluation of one model."""

    language: str = "lua"
    """A language's name, or a YAML file."""
    model: str = "starter"
    """A folder in Hugging Face's format, a GGUF file, a training run (its last checkpoint), a name on the hub, or
    `starter`; with `endpoint`, the endpoint's name of the model."""
    dataset: str = "starter"
    """A data set: an adapter's name, `adapter:source`, or a file."""
    split: str = "test"
    """The split of the data set."""
    tasks: NonNegativeInt = 0
    """The number of tasks, drawn as a training run draws its held-out ones; 0 takes all, in their order."""
    samples: PositiveInt = 20
    """Completions of each task."""
    temperature: PositiveFloat = 0.2
    """The sampling temperature."""
    environment: str = "answer"
    """The environment: answer, code-feedback, agentic-code, math, math-python, trace-prediction, termination,
    complexity-prediction, complexity-generation, session, one of a plugin, or `path.py:NAME`: a class in a file."""
    environment_options: EnvironmentOptions = Field(default={})
    """Values of the environment's own fields, by name; docs/environments.md has those of each."""
    episode: EpisodeSettings = EpisodeSettings()
    chat: ChatSettings = ChatSettings()
    language_prompt: bool = False
    """Begin each prompt with the language's, as training does; else it names the language and gives no advice."""
    vote: bool = False
    """Run every test of every program, for majority vote, short-m@k and best@k."""
    generated_tests: NonNegativeInt = 0
    """The number of completions in which the model writes tests for each task, by which best@k then chooses."""
    endpoint: str | None = None
    """Sample from this OpenAI-compatible URL instead of a model on this machine."""
    key_from: str = "OPENAI_API_KEY"
    """The environment variable that holds the endpoint's key, if it needs one."""
    max_concurrency: PositiveInt = 16
    """Requests to the endpoint at the same time."""
    completions: str | None = None
    """Verify the completions in this file of JSON lines, and sample none."""
    seed: int = 0
    """Decides which tasks are drawn and every token that is sampled on this machine."""
    engine: str = Field(default_factory=default_engine)
    """The inference engine on this machine; vllm by default where it is installed, else transformers."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type of the weights."""
    max_completion_tokens: PositiveInt = 1024
    """The length at which completions, and each action of an episode, are truncated."""
    max_prompt_tokens: PositiveInt = 2048
    """Tasks with longer prompts are left out."""
    max_num_seqs: PositiveInt = 256
    """Completions sampled at the same time."""
    kv_cache_gib: PositiveInt = 1
    """Memory for vLLM's keys and values, or for those that transformers keeps between turns, in GiB."""
    tensor_parallel_size: PositiveInt = 1
    """GPUs among which vLLM divides the model (processes, on a CPU)."""
    engine_processes: PositiveInt = 1
    """vLLM processes that divide the requests, each with GPUs of its own."""
    cuda_graphs: bool = True
    """On a GPU, replay vLLM's decoding steps as CUDA graphs: faster, with more memory and a slower start."""
    chunked_prefill: bool = True
    """On a GPU, prefill long prompts in chunks, beside the decoding of other sequences."""
    sandbox: str = "auto"
    """The sandbox: auto, docker, bubblewrap, process, ray://…, or one of a plugin."""
    store: str | None = None
    """The results database, as a SQLAlchemy URL; a SQLite file in the user's data folder by default."""

    @model_validator(mode="after")
    def _only_vllm_has_processes(self) -> Self:
        if self.engine_processes > 1 and self.engine != "vllm":
            raise ValueError('engine_processes > 1 needs engine = "vllm"')
        return self

    def resolved(self) -> Self:
        """These settings with paths that are valid from any folder.

        Recorded completions are named after their file, unless a model is named.
        """
        names = {"language": absolute_name(self.language), "dataset": absolute_name(self.dataset)}
        names["environment"] = absolute_python_name(self.environment)
        if self.completions:
            names["completions"] = absolute_path(self.completions)
        if self.completions and "model" not in self.model_fields_set:
            names["model"] = Path(self.completions).name
        elif not self.endpoint:
            names["model"] = absolute_model(self.model)
        return self.model_copy(update=names)

    def with_prompt(self, language: Language) -> Language:
        """`language` with the prompt that this evaluation begins with."""
        if self.language_prompt:
            return language
        return language.model_copy(update={"prompt": f"Write a program in {language.name}."})
