"""What an evaluation is made of: the settings of `agn eval`, by default as the paper measures (section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from agnostics.train.config import Count, Positive, Share, absolute, absolute_model, absolute_path
from agnostics.types.language import Language
from agnostics.types.task import Frozen


class EvaluationSettings(Frozen):
    """An evaluation of one model."""

    language: str = "lua"
    """A language's name, or a YAML file."""
    model: str = "starter"
    """A folder in Hugging Face's format, a training run (its last checkpoint), a name on the hub, or `starter`; with
    `endpoint`, the name by which that knows the model."""
    dataset: str = "starter"
    """A data set: an adapter's name, `adapter:source`, or a file."""
    split: str = "test"
    """The split of the data set."""
    tasks: Count = 0
    """How many tasks, drawn as a training run draws its held-out ones; 0 takes all, as they come."""
    samples: Positive = 20
    """Answers to each task."""
    temperature: Share = 0.2
    """The sampling temperature."""
    language_prompt: bool = False
    """Begin each prompt with the language's, as training does; else it names the language and gives no advice."""
    vote: bool = False
    """Run every test of every program, for majority vote, short-m@k and best@k."""
    written_tests: Count = 0
    """In how many answers the model is asked for tests of its own to each task, by which best@k then chooses."""
    endpoint: str | None = None
    """Sample behind this OpenAI-compatible URL, in place of a model on this machine."""
    key_from: str = "OPENAI_API_KEY"
    """The environment variable that holds the endpoint's key, if it wants one."""
    requests: Positive = 16
    """Requests to the endpoint at the same time."""
    completions: str | None = None
    """Verify the completions in this file of JSON lines, and sample none."""
    seed: int = 0
    """Decides which tasks are drawn and every token that is sampled here."""
    engine: Literal["vllm", "transformers"] = "vllm"
    """Which engine samples on this machine."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type of the weights."""
    max_completion_tokens: Positive = 1024
    """Where an answer is cut off."""
    max_prompt_tokens: Positive = 2048
    """Tasks with longer prompts are left out."""
    max_num_seqs: Positive = 256
    """Answers that are sampled at the same time."""
    kv_cache_gib: Positive = 1
    """Memory for vLLM's keys and values, in GiB."""
    sandbox: str = "auto"
    """The sandbox mode: auto, docker, bubblewrap or process"""
    store: str | None = None
    """The results database, as a SQLAlchemy URL; a SQLite file in the user's data folder where it is not given."""

    def resolved(self) -> Self:
        """These settings with paths that hold wherever the evaluation goes on.

        Recorded completions are told of by the name of their file, unless a model is named.
        """
        names = {"language": absolute(self.language), "dataset": absolute(self.dataset)}
        if self.completions:
            names["completions"] = absolute_path(self.completions)
        if self.completions and "model" not in self.model_fields_set:
            names["model"] = Path(self.completions).name
        elif not self.endpoint:
            names["model"] = absolute_model(self.model)
        return self.model_copy(update=names)

    def spoken(self, language: Language) -> Language:
        """`language` with the prompt that this evaluation begins with."""
        if self.language_prompt:
            return language
        return language.model_copy(update={"prompt": f"Write a program in {language.name}."})
