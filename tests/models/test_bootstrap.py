"""The starter model: it knows something but not too much, the same seed makes the same model, a poor one is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import pytest
import torch
from agnostics.models.loading import load_tokenizer
from agnostics.models.starter.bootstrap import bootstrap
from agnostics.models.starter.corpus import Corpus, Example
from agnostics.models.starter.settings import DEFAULTS, StarterSettings
from agnostics.models.starter.tokenizer import END, PAD, START
from agnostics.models.starter.training import collate, encode, pretrain
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.verify import Verifier
from agnostics_datasets.starter import FAMILIES, Starter
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

pytestmark = pytest.mark.slow

TINY = StarterSettings(hidden=48, layers=1, heads=2, intermediate=64, steps=2, batch=8)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    tasks = list(islice(Starter().tasks("train"), 10 * len(FAMILIES)))
    return Corpus(load_plugins().language("lua"), tasks, right_share=DEFAULTS.right_share, wrong=DEFAULTS.wrong, seed=0)


@pytest.fixture
def make(corpus: Corpus, tmp_path: Path) -> Callable[[int], Path]:
    def made(seed: int) -> Path:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        pretrain(corpus, TINY, seed, folder, lambda _: None)
        return folder

    return made


def test_the_starter_model_starts_where_there_is_something_to_learn(starter_model: Path) -> None:
    start = json.loads((starter_model / "starter.json").read_text())["pass_at_1"]
    assert 0.05 <= start <= 0.40


def test_transformers_loads_the_starter_model_and_its_completions_end(starter_model: Path) -> None:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(starter_model), load_tokenizer(starter_model)
    assert 1.5e6 < model.num_parameters() < 3e6
    task = next(Starter().tasks("test"))
    message = {"role": "user", "content": load_plugins().language("lua").prompt_for(task)}
    prompt = tokenizer.apply_chat_template([message], add_generation_prompt=True, return_tensors="pt")
    completion = model.generate(**prompt, do_sample=False, max_new_tokens=200)[0, prompt["input_ids"].shape[1] :]
    assert completion[-1] == model.generation_config.eos_token_id == tokenizer.eos_token_id
    assert tokenizer.decode(completion).startswith("```lua\n")


def test_a_model_in_the_cache_is_not_made_again(starter_model: Path) -> None:
    def never(text: str) -> None:
        raise AssertionError(text)

    plugins = load_plugins()
    folder = bootstrap(plugins.language("lua"), plugins.dataset("starter")[0], progress=never)
    assert folder == starter_model


def test_a_model_that_learnt_too_little_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(AgnosticsError, match=r"solves 0\.0\d+ of held-out tasks, too few to learn from"):
        bootstrap(load_plugins().language("lua"), Starter(), sandbox="bubblewrap", settings=TINY)
    assert list((tmp_path / "agnostics" / "models").iterdir()) == []


def test_a_language_with_too_few_references_is_refused() -> None:
    lua = load_plugins().language("lua")
    poor = lua.model_copy(update={"reference": dict(islice(lua.reference.items(), 14))})
    with pytest.raises(UsageError, match="'lua' has reference programs for 14 task families"):
        bootstrap(poor, Starter())


def test_a_seed_decides_the_weights_and_disturbs_no_other_randomness(make: Callable[[int], Path]) -> None:
    state = torch.get_rng_state()
    first, again, other = (load_file(make(seed) / "model.safetensors") for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("alone", [False, True])
def test_the_model_is_trained_on_the_completion_and_reads_the_shared_prefix_once(
    starter_model: Path, *, alone: bool
) -> None:
    tokenizer = load_tokenizer(starter_model)
    hint = "Use Lua. "
    texts = [("Print é.", "```lua\nprint('é')\n```"), ("Print nothing at all.", "```lua\n```")]
    examples = [Example(hint + statement, statement, completion) for statement, completion in texts]
    encoded = [encode(example, tokenizer, alone=alone) for example in examples]
    shared, token_ids, mask = collate(encoded, tokenizer.pad_token_id)
    taught = [tokenizer.decode(row[learnt.bool()]) for row, learnt in zip(token_ids, mask, strict=True)]
    assert taught == [example.completion + END for example in examples]
    begin = tokenizer.decode(shared)
    assert begin.startswith(f"{START}user\n{'Print' if alone else hint + 'Print'}")
    for row, (statement, completion) in zip(token_ids, texts, strict=True):
        read = f"{START}user\n{'' if alone else hint}{statement}{END}\n{START}assistant\n{completion}{END}"
        assert (begin + tokenizer.decode(row)).replace(PAD, "") == read


def test_most_of_what_the_model_is_shown_is_wrong_but_not_all(corpus: Corpus) -> None:
    lua = load_plugins().language("lua")
    tasks = {lua.prompt_for(task): task for task in Starter().tasks("train")}
    with Verifier("bubblewrap", 2) as verifier:
        shown = list(islice(corpus.examples(Random(0)), 600))
        programs = [
            (example.completion.split("\n", 1)[1].removesuffix("```"), tasks[example.prompt]) for example in shown
        ]
        futures = [verifier.submit(lua, program, task) for program, task in programs]
        right = sum(future.result(timeout=300).accepted for future in futures) / len(futures)
    assert 0.08 < right < 0.25
