"""The pretraining of the starter model: a Qwen3 of two million weights, from scratch, in a few minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, takewhile
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from agnostics.models.accelerator import choose_accelerator
from agnostics.models.starter.corpus import Corpus, Example
from agnostics.models.starter.settings import StarterSettings
from agnostics.models.starter.tokenizer import END, train_tokenizer
from agnostics.models.token_logprobs import TokenLogprobModel

TOKENIZER_EXAMPLES = 4000
PROGRESS_INTERVAL = 40
BATCHES_PER_DRAW = 8
"""Batches that are filled from one draw of examples, sorted by length."""


Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The shared prefix of all examples, (P,); the tokens that follow it, and the mask of trained ones, (B, L)."""


@dataclass(frozen=True, slots=True)
class EncodedExample:
    """The tokens of an example; those from `completion_start` on are trained."""

    token_ids: list[int]
    completion_start: int


def pretrain(
    corpus: Corpus, settings: StarterSettings, seed: int, folder: Path, progress: Callable[[str], None]
) -> None:
    """Train tokenizer and model on `corpus`, and save both to `folder` in Hugging Face's format."""
    sample = islice(corpus.examples(Random(f"{seed}/tokenizer")), TOKENIZER_EXAMPLES)
    texts = [text for example in sample for text in (example.prompt, example.completion)]
    tokenizer = train_tokenizer(texts, settings.vocabulary)
    model = random_model(tokenizer, settings, seed)
    _train(TokenLogprobModel(model, temperature=1.0), _batches(corpus, tokenizer, settings, seed), settings, progress)
    save_model(model, tokenizer, folder)


def save_model(model: Any, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save a model and its tokenizer to `folder` in Hugging Face's format."""
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=True
    )
    choose_accelerator()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def random_model(tokenizer: PreTrainedTokenizerFast, settings: StarterSettings, seed: int) -> Any:
    """A Qwen3 of this size with the random weights of a seed."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden,
        intermediate_size=settings.intermediate,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        head_dim=settings.hidden // settings.heads,
        max_position_embeddings=2048,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    # A head that starts as the embedding makes copying a constant from the prompt easy to find.
    model.lm_head.weight.data.copy_(model.model.embed_tokens.weight.data)
    return model


def _train(
    scorer: TokenLogprobModel, batches: Iterator[Batch], settings: StarterSettings, progress: Callable[[str], None]
) -> None:
    optimizer = torch.optim.AdamW(scorer.parameters(), lr=settings.learning_rate, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, settings))
    for step, batch in enumerate(islice(batches, settings.steps), start=1):
        logprobs, _ = scorer(*batch)
        loss = -logprobs.mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(scorer.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if step % PROGRESS_INTERVAL == 0:
            progress(f"starter model: step {step} of {settings.steps}, loss {loss.item():.2f}")
    scorer.eval()


def _rate(step: int, settings: StarterSettings) -> float:
    """The factor of the learning rate: a linear rise over the first tenth, then a linear fall to a twentieth."""
    done = step / settings.steps
    return min(10 * (done + 1 / settings.steps), max(0.05, (1 - done) / 0.9))


def _batches(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast, settings: StarterSettings, seed: int
) -> Iterator[Batch]:
    """A batch for each step; examples of similar length share one, to save padding."""
    rng = Random(f"{seed}/examples")
    examples = corpus.examples(rng)
    for step in count(step=BATCHES_PER_DRAW):
        alone = step < settings.statement_steps
        drawn = [
            encode(example, tokenizer, alone=alone) for example in islice(examples, settings.batch * BATCHES_PER_DRAW)
        ]
        drawn.sort(key=lambda encoded: len(encoded.token_ids))
        batches = [drawn[start : start + settings.batch] for start in range(0, len(drawn), settings.batch)]
        rng.shuffle(batches)
        yield from (collate(batch, int(tokenizer.pad_token_id)) for batch in batches)


def encode(example: Example, tokenizer: PreTrainedTokenizerFast, *, alone: bool) -> EncodedExample:
    """The tokens of an example: prompt or statement alone, in the chat template, and the completion with its end."""
    messages = [{"role": "user", "content": example.statement if alone else example.prompt}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    before, after = tokenizer([prompt, example.completion + END], add_special_tokens=False)["input_ids"]
    return EncodedExample(before + after, len(before))


def collate(examples: Sequence[EncodedExample], pad: int) -> Batch:
    """The shared prefix of all prompts, and what follows it, padded on the right; only completions are trained."""
    columns = zip(*(encoded.token_ids[: encoded.completion_start] for encoded in examples), strict=False)
    shared = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]
    longest = max(len(encoded.token_ids) for encoded in examples) - len(shared)
    token_ids = torch.full((len(examples), longest), pad)
    mask = torch.zeros((len(examples), longest))
    for row, encoded in enumerate(examples):
        ids = encoded.token_ids[len(shared) :]
        token_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, encoded.completion_start - len(shared) : len(ids)] = 1
    return torch.tensor(shared), token_ids, mask
