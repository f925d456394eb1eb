"""Advice from failed programs, requested from a capable model."""

from __future__ import annotations

from collections.abc import Callable

from agnostics.analysis.advice.prompts import AdvicePrompts
from agnostics.analysis.advice.sentences import MIN_SENTENCES, extract_sentences
from agnostics.inference.openai_client import EndpointCompletion
from agnostics.types.code_extraction import strip_reasoning

Complete = Callable[[str], EndpointCompletion]
"""Sends a prompt to a model and returns its completion."""


def request_advice(prompts: AdvicePrompts, complete: Complete) -> list[str]:
    """The advice of a capable model on the failed programs of `prompts`: at most 20 sentences, possibly none.

    Programs that fit into one prompt take one request. Else the model notes the mistakes in each batch, and a last
    request turns these notes into advice.
    """
    if len(prompts.batches) == 1:
        return _request_sentences(prompts, prompts.advice(prompts.batches[0]), complete)
    completions = [strip_reasoning(complete(prompts.observations(batch)).text) for batch in prompts.batches]
    observations = [text for text in completions if text.strip()]
    return _request_sentences(prompts, prompts.digest(observations), complete) if observations else []


def _request_sentences(prompts: AdvicePrompts, prompt: str, complete: Complete) -> list[str]:
    """The sentences of the completion; if there are too few, the better of two attempts."""
    completion = complete(prompt)
    first = extract_sentences(completion.text, truncated=completion.truncated)
    if len(first) >= MIN_SENTENCES:
        return first
    completion = complete(prompts.retry(prompt, len(first)))
    second = extract_sentences(completion.text, truncated=completion.truncated)
    return max(first, second, key=len)
