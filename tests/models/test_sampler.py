"""The sampler answers in order on a thread of its own, takes new weights in between, and passes on what goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
import torch
from agnostics.inference.engine import Answer, Engine, EngineSettings, Prompt, Sampling, generate, open_engine
from agnostics.profiling.spans import Timeline
from agnostics.rollout.engine_loop import Sampler
from agnostics.train.cpu_threads import divided_threads

pytestmark = pytest.mark.slow

Name = Literal["vllm", "transformers"]
SAMPLING = Sampling(temperature=0.7, max_completion_tokens=12)
PROMPTS = [Prompt(tuple(range(5, 12)), seed=index) for index in range(10)]


@pytest.fixture
def engine(tiny_model: Callable[..., Path]) -> Iterator[Engine]:
    with _open("transformers", tiny_model) as engine:
        yield engine


def _open(name: Name, tiny_model: Callable[..., Path]) -> Engine:
    return open_engine(name, EngineSettings(tiny_model(tied=True), (1,), max_length=64, max_num_seqs=4))


def test_what_is_asked_together_or_apart_is_answered_like_in_one_go(engine: Engine) -> None:
    expected = dict(generate(engine, PROMPTS, SAMPLING))
    first, second = dict[int, Answer](), dict[int, Answer]()
    timeline = Timeline()
    with Sampler(engine, timeline) as sampler:
        begun = sampler.ask(PROMPTS[:6], SAMPLING, first.__setitem__)
        sampler.wait(sampler.ask(PROMPTS[6:], SAMPLING, second.__setitem__), "answer")
        assert begun.done()
    found = {**first, **{index + 6: answer for index, answer in second.items()}}
    assert {index: answer.token_ids for index, answer in found.items()} == {
        index: answer.token_ids for index, answer in expected.items()
    }
    spans, _ = timeline.close_window()
    assert {span.track for span in spans} == {"generation"}


def test_new_weights_are_taken_up_while_answers_are_half_sampled(engine: Engine) -> None:
    weights = [(name, weight.detach().clone()) for name, weight in engine._model.named_parameters()]  # type: ignore[attr-defined]
    ended = dict[int, Answer]()
    begun = threading.Event()

    def note(index: int, answer: Answer) -> None:
        ended[index] = answer
        begun.set()

    with Sampler(engine, Timeline()) as sampler:
        done = sampler.ask(PROMPTS, SAMPLING, note)
        assert begun.wait(timeout=60)
        sampler.load_weights(iter(weights), version=7)
        assert not done.done()
        sampler.wait(done, "answer")
    versions = [answer.versions for answer in ended.values()]
    assert {0, 7} == {version for answer in versions for version in answer}
    assert engine.version == 7


def test_what_goes_wrong_with_an_answer_reaches_whoever_waits_and_the_sampler_goes_on(engine: Engine) -> None:
    ended = dict[int, Answer]()

    def refuse(*_: object) -> None:
        raise ValueError("no room")

    with Sampler(engine, Timeline()) as sampler:
        with pytest.raises(ValueError, match="no room"):
            sampler.wait(sampler.ask(PROMPTS, SAMPLING, refuse), "answer")
        with pytest.raises(RuntimeError):
            sampler.load_weights(iter([("model.norm.weight", engine._model.model.norm.weight[:3])]), version=1)  # type: ignore[attr-defined]
        sampler.wait(sampler.ask(PROMPTS, SAMPLING, ended.__setitem__), "answer")
    assert len(ended) == len(PROMPTS)


def test_what_is_dropped_is_not_answered(engine: Engine) -> None:
    begun, ended = threading.Event(), list[int]()

    def note(index: int, _: Answer) -> None:
        ended.append(index)
        begun.set()

    with Sampler(engine, Timeline()) as sampler:
        sampler.ask(PROMPTS, SAMPLING, note)
        assert begun.wait(timeout=60)
        sampler.drop()
        seen = len(ended)
        assert not engine.busy
        sampler.wait(sampler.ask(PROMPTS[:1], SAMPLING, note), "answer")
    assert len(ended) == seen + 1 < len(PROMPTS)


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_where_both_go_on_at_once_sampling_and_learning_have_half_of_the_threads_each(
    name: Name, tiny_model: Callable[..., Path]
) -> None:
    def threads_of(sampler: Sampler) -> tuple[set[int], int]:
        seen = set[int]()
        asked = sampler.ask(PROMPTS[:2], SAMPLING, lambda _index, _answer: seen.add(torch.get_num_threads()))
        sampler.wait(asked, "answer")
        return seen, torch.get_num_threads()

    with _open(name, tiny_model) as engine, Sampler(engine, Timeline()) as sampler:
        sampler.use_threads(4)
        assert threads_of(sampler) == ({4}, 4)
        with divided_threads(sampler):
            assert threads_of(sampler) == ({2}, 2)
        assert threads_of(sampler) == ({4}, 4)


@pytest.mark.usefixtures("four_threads")
def test_learning_has_all_threads_once_nothing_is_left_to_sample(engine: Engine) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hold(_index: int, _answer: Answer) -> None:
        begun.set()
        go_on.wait(timeout=60)

    with Sampler(engine, Timeline()) as sampler, divided_threads(sampler) as take_what_is_free:
        asked = sampler.ask(PROMPTS[:2], SAMPLING, hold)
        assert begun.wait(timeout=60)
        take_what_is_free()
        assert torch.get_num_threads() == 2
        go_on.set()
        sampler.wait(asked, "answer")
        take_what_is_free()
        assert torch.get_num_threads() == 4
