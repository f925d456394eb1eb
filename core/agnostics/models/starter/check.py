"""How much the starter model knows: pass@1 on held-out tasks, judged in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agnostics.evaluate.metrics import score
from agnostics.inference.engine import EngineSettings, Sampling, open_engine
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.rollout.collector import open_workshop
from agnostics.rollout.task_sampler import ask
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier

TEMPERATURE = 0.7
LONGEST_ANSWER = 384


def pass_at_1(folder: Path, language: Language, tasks: Sequence[Task], samples: int, sandbox: str) -> float:
    """The share of accepted programs among `samples` answers to each task, at temperature 0.7.

    Raises AgnosticsError where the sandbox judged none of them.
    """
    tokenizer = load_tokenizer(folder)
    questions = [ask(tokenizer, language, task) for task in tasks]
    longest = max(len(question.prompt) for question in questions) + LONGEST_ANSWER
    settings = EngineSettings(folder, stop_ids(folder, tokenizer), max_length=longest, max_num_seqs=256)
    with (
        Verifier(sandbox=sandbox) as verifier,
        open_engine("transformers", settings) as engine,
        open_workshop(engine, tokenizer, language, verifier) as workshop,
    ):
        attempts = workshop.attempt(questions, samples, Sampling(TEMPERATURE, LONGEST_ANSWER), seed="starter")
    outcome = score(attempts.groups, seed=0)
    if outcome is None:
        raise AgnosticsError("the sandbox judged no program of the starter model; run: agn doctor")
    return outcome.pass_at_1
