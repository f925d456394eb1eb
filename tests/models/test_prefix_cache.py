"""The transformers engine keeps keys and values between the turns of a conversation, and computes what is new."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams
from agnostics.inference.prefix_cache import Prefix, PrefixCache
from agnostics.inference.transformers import TransformersEngine
from model_families import FAMILIES, save_model, save_tokenizer
from transformers import AutoModelForCausalLM

pytestmark = pytest.mark.slow

TURNS = 4
PARAMS = SamplingParams(temperature=0.7, max_completion_tokens=12)
VOCABULARY = 288


def _model(folder: Path, family: str, **changes: Any) -> Path:
    """A small random model of a family, with other settings in its configuration."""
    changed = replace(FAMILIES[family], config={**FAMILIES[family].config, **changes})
    save_model(changed, folder, save_tokenizer(changed, folder))
    return folder


def _open(folder: Path, **changes: Any) -> TransformersEngine:
    return TransformersEngine(EngineSettings(folder, (7,), max_length=512, max_num_seqs=8, **changes))


@pytest.fixture(scope="module", params=["qwen3", "llama3.2", "deepseek-coder", "phi4-mini"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TransformersEngine]:
    """An engine that tests share if they leave its weights as they are."""
    with _open(_model(tmp_path_factory.mktemp("model"), request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of tests that any family does for."""
    return _model(tmp_path_factory.mktemp("model"), "qwen3")


@dataclass
class Conversation:
    """The tokens so far, how many of them no turn has computed, the seed of the next turn, and the turns before."""

    token_ids: tuple[int, ...]
    seed: int
    num_new: int
    completions: tuple[Completion, ...] = ()


def _tokens(seed: int, count: int) -> tuple[int, ...]:
    return tuple(Random(seed).choices(range(8, VOCABULARY), k=count))


def _conversations(lengths: Sequence[int]) -> list[Conversation]:
    return [Conversation(_tokens(seed, length), seed, length) for seed, length in enumerate(lengths)]


def _complete(
    engine: TransformersEngine, conversations: Sequence[Conversation], *, may_be_continued: bool
) -> list[Completion]:
    """The next completions of conversations that are sampled side by side."""
    for index, one in enumerate(conversations):
        engine.add_request(index, CompletionRequest(one.token_ids, one.seed, may_be_continued), PARAMS)
    finished = dict[int, Completion]()
    while engine.has_unfinished_requests:
        finished.update(engine.step())
    return [finished[index] for index in range(len(conversations))]


def _take_turn(
    engine: TransformersEngine, conversations: Sequence[Conversation], *, may_be_continued: bool = True
) -> None:
    """Complete conversations, and append an observation of a length of its own to each."""
    completions = _complete(engine, conversations, may_be_continued=may_be_continued)
    for one, completion in zip(conversations, completions, strict=True):
        one.completions += (completion,)
        one.seed += 1000
        observation = _tokens(one.seed, 3 + one.seed % 9)
        one.token_ids += completion.token_ids + observation
        one.num_new = len(observation) + 1  # the last token that was sampled is not read by the turn that sampled it


def _play(engine: TransformersEngine, *, may_be_continued: bool) -> list[Conversation]:
    """Five conversations of four turns; two of them begin when the others have had turns."""
    conversations = _conversations([20, 5, 33, 60, 1])
    for turn in range(TURNS + 1):
        running = conversations[:3] if turn == 0 else conversations if turn < TURNS else conversations[3:]
        _take_turn(engine, running, may_be_continued=may_be_continued)
    engine.abort_all()
    return conversations


def _cached(conversations: Sequence[Conversation]) -> list[list[int]]:
    return [[completion.num_cached_tokens for completion in one.completions] for one in conversations]


def test_four_turns_have_the_same_tokens_and_log_probabilities_whether_prefixes_are_kept_or_not(
    engine: TransformersEngine,
) -> None:
    kept, computed = (_play(engine, may_be_continued=kept) for kept in (True, False))
    for one, other in zip(kept, computed, strict=True):
        assert one.token_ids == other.token_ids
        assert len(one.completions) == TURNS
        for completion, whole in zip(one.completions, other.completions, strict=True):
            assert completion.logprobs == pytest.approx(whole.logprobs, abs=1e-5)
    assert _cached(computed) == [[0] * TURNS] * 5
    assert all(cached[0] == 0 and min(cached[1:]) > 0 for cached in _cached(kept))


@pytest.mark.parametrize("lengths", [[40], [20, 5, 33]], ids=["one", "three"])
def test_a_later_turn_computes_what_was_added_to_one_of_the_conversations_beside_it(
    lengths: list[int], engine: TransformersEngine
) -> None:
    conversations = _conversations(lengths)
    expected = list[list[int]]()
    for _ in range(TURNS):
        computed = max(one.num_new for one in conversations)
        expected.append([max(0, len(one.token_ids) - computed) for one in conversations])
        _take_turn(engine, conversations)
    assert _cached(conversations) == [list(cached) for cached in zip(*expected, strict=True)]


def test_a_prompt_that_several_requests_share_is_computed_once(one: Path) -> None:
    with _open(one) as engine:
        completions = _complete(engine, _conversations([9]) * 3, may_be_continued=False)
    assert [completion.num_cached_tokens for completion in completions] == [0, 9, 9]


def test_nothing_is_held_of_what_nobody_may_continue(one: Path) -> None:
    with _open(one) as engine:
        conversations = _conversations([20])
        _take_turn(engine, conversations, may_be_continued=False)
        assert engine._prefixes.num_bytes == 0
        _take_turn(engine, conversations, may_be_continued=True)
        assert engine._prefixes.num_bytes > 0


@pytest.mark.parametrize("end", ["new weights", "abort"])
def test_nothing_is_continued_after_new_weights_or_an_abort(end: str, one: Path) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(one)
    with _open(one) as engine:
        conversations = _conversations([20, 5])
        _take_turn(engine, conversations)
        if end == "abort":
            engine.abort_all()
        else:
            engine.load_weights(((name, weight.detach()) for name, weight in model.named_parameters()), version=1)
        assert engine._prefixes.num_bytes == 0
        _take_turn(engine, conversations)
    assert _cached(conversations) == [[0, 0], [0, 0]]


@torch.no_grad()
def test_a_completion_that_new_weights_overtook_is_continued_with_their_keys_and_values(one: Path) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(one, dtype=torch.float32)
    for weight in model.parameters():
        weight.add_(0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)))
    prompt = _tokens(0, 30)
    with _open(one) as engine:
        engine.add_request(0, CompletionRequest(prompt, 0, may_be_continued=True), PARAMS)
        assert engine.step() == []
        engine.load_weights(((name, weight.detach()) for name, weight in model.named_parameters()), version=1)
        ((_, first),) = next(filter(None, (engine.step() for _ in range(PARAMS.max_completion_tokens))))
        later = (*prompt, *first.token_ids, 9, 9)
        (second,) = _complete(engine, [Conversation(later, 1, 3)], may_be_continued=False)
    assert set(first.policy_versions) == {0, 1}
    assert second.num_cached_tokens == len(later) - 3
    logits = model(torch.tensor([later + second.token_ids])).logits[0, len(later) - 1 : -1]
    logprobs = (logits / PARAMS.temperature).log_softmax(-1).gather(-1, torch.tensor(second.token_ids)[:, None])
    assert logprobs.squeeze(-1).tolist() == pytest.approx(second.logprobs, abs=1e-4)


def test_a_sequence_longer_than_an_attention_window_is_computed_again_and_a_shorter_one_is_not(
    tmp_path: Path,
) -> None:
    windows = {"layer_types": ["sliding_attention", "full_attention"], "use_sliding_window": True, "sliding_window": 48}
    folder = _model(tmp_path, "qwen3", **windows)
    assert json.loads((folder / "config.json").read_text())["sliding_window"] == 48
    with _open(folder) as engine:
        kept, computed = _conversations([10, 70]), _conversations([10, 70])
        for turn in range(TURNS):
            _take_turn(engine, kept[:1])
            _take_turn(engine, kept if turn == 0 else kept[1:])  # at first beside the shorter one that goes on
        engine.abort_all()
        for turn in range(TURNS):
            _take_turn(engine, computed if turn else computed[:1], may_be_continued=False)
        _take_turn(engine, computed, may_be_continued=False)
    for one, other in zip(kept, computed, strict=True):
        assert one.token_ids == other.token_ids
    short, long = _cached(kept)
    assert short[1] > 0
    assert long == [0] * TURNS


def test_what_does_not_fit_is_not_held(one: Path) -> None:
    with _open(one, kv_cache_gib=0) as engine:
        conversations = _conversations([20])
        for _ in range(2):
            _take_turn(engine, conversations)
        assert engine._prefixes.num_bytes == 0
    assert _cached(conversations) == [[0, 0]]


def _prefix(*token_ids: int) -> Prefix:
    """A prefix of one layer, with eight bytes for each token."""
    return Prefix(token_ids, ((torch.zeros(1, len(token_ids), 1), torch.zeros(1, len(token_ids), 1)),))


def test_prefixes_stay_within_their_bytes_and_the_oldest_ones_go_first() -> None:
    cache = PrefixCache(max_bytes=80)
    for first in range(5):
        cache.add(_prefix(first, 7, 7, 7))
        assert cache.num_bytes == min(2, first + 1) * 32
    assert cache.take((2, 7, 7, 7, 7)) is None
    assert [cache.take((first, 7, 7, 7, 7)) is None for first in (3, 4)] == [False, False]
    assert cache.num_bytes == 0


def test_the_longest_prefix_is_taken_once_and_never_a_whole_prompt() -> None:
    cache = PrefixCache(max_bytes=1000)
    for prefix in (_prefix(1), _prefix(1, 2, 3), _prefix(1, 2), _prefix(1, 2, 3, 9), _prefix(1, 2, 3)):
        cache.add(prefix)
    taken = [cache.take((1, 2, 3, 4)) for _ in range(4)]
    assert [prefix and prefix.token_ids for prefix in taken] == [(1, 2, 3), (1, 2), (1,), None]
    assert cache.take((1, 2, 3, 9)) is None
    assert cache.take((1, 2, 3, 9, 9)) is not None
    assert cache.num_bytes == 0
