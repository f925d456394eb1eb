"""The paper's model families: their prompts, the tokens that end completions, and small random models of each at work.

Configurations and tokenizers are as the hub has them, made small; special tokens have their real names.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import preloaded
import pytest
from agnostics.environments.environment import EpisodeLimits
from agnostics.models.loading import context_length, load_tokenizer, stop_ids
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.prompts import ChatSettings, ConversationSettings, render_prompt
from agnostics.train.config import RunConfig, TrainConfig
from agnostics.train.setup import prompt_limit
from agnostics.train.sft.documents import DocumentEncoder, end_of_message
from agnostics.train.sft.records import PlainText
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from model_families import FAMILIES, TEXT, save_model, save_tokenizer


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small random model of each family."""
    made = {}
    for name, family in FAMILIES.items():
        folder = made[name] = tmp_path_factory.mktemp(name.replace(".", "-"))
        save_model(family, folder, save_tokenizer(family, folder))
    return made


@pytest.fixture(params=FAMILIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


LUA = Language(name="lua", prompt=TEXT.partition("\n\n")[0], filename="main.lua", execute="luajit main.lua")
TASK = Task(id="sum", statement=TEXT.partition("\n\n")[2], tests=(Test(input="1 2", output="3"),))


def test_a_prompt_is_what_the_familys_template_makes_of_it_on_every_day(name: str, folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders[name])
    prompt = render_prompt(tokenizer, LUA, TASK, ChatSettings()).token_ids
    assert tokenizer.decode(prompt) == FAMILIES[name].prompt
    begin = FAMILIES[name].begin
    assert begin is None or prompt.count(tokenizer.convert_tokens_to_ids(begin)) == 1


def test_text_survives_the_tokenizer_byte_for_byte(name: str, folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders[name])
    assert tokenizer.decode(tokenizer.encode(TEXT, add_special_tokens=False)) == TEXT


def test_completions_end_where_the_family_ends_them(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    tokenizer = load_tokenizer(folders[name])
    ends = sorted(tokenizer.convert_tokens_to_ids(list(FAMILIES[name].ends)))
    assert list(stop_ids(folders[name], tokenizer)) == ends
    (tmp_path / "config.json").write_text(json.dumps({"model_type": FAMILIES[name].config["model_type"]}))
    assert list(stop_ids(tmp_path, tokenizer)) == ends  # a fine-tuned model may come without generation_config.json


def test_a_token_between_the_parts_of_a_completion_does_not_end_it_in_other_families(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    tokenizer = load_tokenizer(folders["phi4-mini"])
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt_oss"}))
    assert stop_ids(tmp_path, tokenizer) == (tokenizer.eos_token_id,)


def test_the_answer_of_an_example_ends_as_the_family_ends_its_turns(name: str, folders: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(folders[name])
    end = end_of_message(tokenizer, stop_ids(folders[name], tokenizer), ConversationSettings())
    ends = {"qwen3": "<|im_end|>", "llama3.2": "<|eot_id|>", "deepseek-coder": "<|EOT|>", "phi4-mini": "<|end|>"}
    assert tokenizer.decode([end]) == ends[name]


@pytest.mark.slow
def test_documents_of_one_row_do_not_attend_to_each_other(name: str, folders: dict[str, Path]) -> None:
    """The row is longer than the context after which Phi 4 Mini has other frequencies; its documents are not."""
    from agnostics.train.sft.policy import SupervisedPolicy

    renderer = ConversationRenderer(load_tokenizer(folders[name]), ConversationSettings(), [1])
    encoder = DocumentEncoder(renderer, 1, max_tokens=60)
    documents = encoder.encode(PlainText(TEXT * 6), "x:1")
    assert sum(map(len, documents)) > 256
    with SupervisedPolicy(folders[name], TrainConfig(), 1.0) as policy:
        assert policy.separates(documents)


def test_prompt_and_completion_stay_where_longrope_has_one_set_of_frequencies(folders: dict[str, Path]) -> None:
    lengths = {name: context_length(folder) for name, folder in folders.items()}
    assert lengths == {"qwen3": 40960, "llama3.2": 131072, "deepseek-coder": 16384, "phi4-mini": 256}
    config = RunConfig.model_validate({"rollout": {"max_completion_tokens": 250}})
    limits = EpisodeLimits()
    assert prompt_limit(config, folders["phi4-mini"], limits) == 6
    assert prompt_limit(config, folders["phi4-mini"], EpisodeLimits(max_context_tokens=5)) == 4
    with pytest.raises(UsageError, match="leaves no room for a prompt"):
        prompt_limit(RunConfig(), folders["phi4-mini"], limits)


TRAIN = """
import json, sys
from dataclasses import replace
from pathlib import Path
from agnostics.algorithms.grpo import GRPO
from agnostics.inference.engine import CompletionRequest, EngineSettings, SamplingParams, generate
from agnostics.inference.provider import open_engine
from agnostics.train.config import TrainConfig
from agnostics.train.state import TrainerState
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.train.policy import Policy
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
from model_families import BEGIN, END, FAMILIES, SMALL, TEXT, Family, save_model, save_tokenizer
from checkpoints import write_checkpoint
folder, run, tokens = Path(sys.argv[1]), Path(sys.argv[2]), tuple(json.loads(sys.argv[3]))
tokenizer = load_tokenizer(folder)
settings = EngineSettings(folder, stop_ids(folder, tokenizer), max_length=250, max_num_seqs=8)
requests = [CompletionRequest(tokens[: 1 + (len(tokens) - 1) // (1 + seed % 3)], seed) for seed in range(9)]
task = Task(id="t", tests=(Test(input="", output=""),))
def rollout(request, completion):
    return Rollout(task=task, sample=0, prompt_ids=request.prompt_ids, segments=(completion.segment,))
with open_engine("vllm", settings) as vllm, open_engine("transformers", settings) as plain:
    with Policy(folder, TrainConfig(), 0.7) as policy:
        def sampled(engine):
            completions = dict(generate(engine, requests, SamplingParams(0.7, 48)))
            return [rollout(request, completions[index]) for index, request in enumerate(requests)]
        def mismatches():
            return [policy.logprob_mismatch(sampled(engine)) for engine in (vllm, plain)]
        before = mismatches()
        rollouts = [
            replace(rollout, advantage=1.0 - index % 2 * 2, loss_weight=0.01)
            for index, rollout in enumerate(sampled(vllm))
        ]
        policy.update(rollouts, GRPO.loss, 1e-2)
        stale = mismatches()
        for engine in (vllm, plain):
            engine.load_weights(policy.weights(), policy.version)
        saved = write_checkpoint(run, policy, TrainerState(step=1), folder)
        print(json.dumps([before, stale, mismatches(), str(saved)]))
"""


@pytest.mark.slow
def test_both_engines_follow_a_small_model_of_the_family_through_an_update_to_a_checkpoint_like_it(
    name: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = folders[name]
    prompt = render_prompt(load_tokenizer(folder), LUA, TASK, ChatSettings()).token_ids
    command = [sys.executable, "-c", TRAIN, str(folder), str(tmp_path), json.dumps(prompt)]
    answer = preloaded.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    before, stale, after, path = json.loads(answer.stdout.splitlines()[-1])
    assert max(before + after) < 1e-4
    assert min(stale) > 1e-2
    saved = Path(path)
    tokenizer = load_tokenizer(saved)
    assert render_prompt(tokenizer, LUA, TASK, ChatSettings()).token_ids == prompt
    assert stop_ids(saved, tokenizer) == stop_ids(folder, load_tokenizer(folder))
    assert context_length(saved) == context_length(folder)
