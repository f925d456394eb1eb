"""GGUF files as models: with real weights, with the vocabulary of Qwen, and damaged ones."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from agnostics.models import gguf
from agnostics.models.cache import cached_models
from agnostics.models.loading import find_model, load_tokenizer, stop_ids
from agnostics.rollout.prompts import ChatSettings, render_prompt
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from command_line import Agn

pytestmark = pytest.mark.slow

LUA = Language(name="lua", prompt="Use Lua 5.1.", filename="main.lua", execute="luajit main.lua")
TASK = Task(id="sum", statement="Read two integers  and print their sum.", tests=(Test(input="1 2", output="3"),))
TEXT = "local n = io.read('*n')\n\tprint(n * 2)  -- zwölf 123 ünïcode 汉字 it's\n\n\n"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this file's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield Path()


@pytest.fixture(scope="module")
def qwen(wheel: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Qwen 2.5 with the vocabulary, special tokens and template of the real one, and an equal head."""
    ranks = wheel("dashscope==1.20.0", "dashscope/resources/qwen.tiktoken")
    path = tmp_path_factory.mktemp("qwen") / "tiny-qwen2.5.gguf"
    _write_qwen(path, ranks)
    return path


def test_a_real_model_is_converted_once_with_a_progress_bar_and_speaks(smollm: Path, agn: Agn, tmp_path: Path) -> None:
    answer = agn("model", "convert", str(smollm), "--json")
    assert "Loading weights: 100%" in answer.stderr
    folder = Path(answer.json["model"])
    prompt = _chat_ids(folder, "What is the capital of France?")
    assert "Paris" in _greedy(folder, prompt, 12)
    written = (folder / "model.safetensors").stat().st_mtime_ns
    moved = shutil.copy(smollm, tmp_path / "moved.gguf")
    assert agn("model", "convert", str(moved), "--json").json["model"] == str(folder)
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    (listed,) = (one for one in agn("model", "list", "--json").json if one["folder"] == str(folder))
    assert listed["made_of"] == str(moved)
    assert listed["bytes"] > 200e6
    assert agn("model", "check", listed["name"]).returncode == 0
    assert agn("model", "check", str(moved), "--sha256", "0" * 64).returncode == 1


def test_the_prompt_of_qwen_is_that_of_its_own_tokenizer(qwen: Path, wheel: Callable[[str, str], Path]) -> None:
    import tiktoken

    folder = gguf.convert(qwen)
    tokenizer = load_tokenizer(folder)
    reference = tiktoken.Encoding("qwen", **_tiktoken(wheel("dashscope==1.20.0", "dashscope/resources/qwen.tiktoken")))
    system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    rendered = (
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\nUse Lua 5.1.\n\n{TASK.statement}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    expected = tuple(reference.encode(rendered, allowed_special="all"))
    assert render_prompt(tokenizer, LUA, TASK, ChatSettings()).token_ids == expected
    assert tokenizer(TEXT).input_ids == reference.encode(TEXT)
    assert tokenizer.decode(reference.encode(TEXT)) == TEXT
    assert stop_ids(folder, tokenizer) == (151643, 151645)
    chat = ChatSettings(system="Be brief.", template="{language}: {statement}")
    asked = tokenizer.decode(render_prompt(tokenizer, LUA, TASK, chat).token_ids)
    assert asked.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nlua: Read two integers  and")


def test_a_head_that_equals_the_embeddings_is_tied_to_them(qwen: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    folder = gguf.convert(qwen)
    assert AutoConfig.from_pretrained(folder).tie_word_embeddings is True
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_a_gguf_file_is_trained_planned_and_evaluated_by_its_path(qwen: Path, home: Any) -> None:
    settings = ["rollout.prompts_per_step=2", "rollout.group_size=2", "rollout.max_completion_tokens=8"]
    settings += ["rollout.engine=transformers", "evaluation.tasks=0"]
    words = ("--model", str(qwen), "--steps", "1")
    plan = home.run(*words, "--dry-run", settings=settings)
    assert plan["parameters"] > 151_936 * 32
    assert home.run(*words, settings=settings)["completions"] == 4


def test_a_folder_or_a_name_with_several_files_says_which_there_are(qwen: Path, tmp_path: Path) -> None:
    shutil.copy(qwen, tmp_path / "one.gguf")
    assert find_model(str(tmp_path)) == gguf.convert(qwen)
    shutil.copy(qwen, tmp_path / "two.gguf")
    with pytest.raises(UsageError, match=r"several GGUF files; name one: one\.gguf, two\.gguf"):
        find_model(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"GGUX" + data[4:], "not a readable GGUF file"),
        (lambda data: data[: len(data) // 2], "ends before its last tensor|not a readable GGUF file"),
        (lambda data: data.replace(b"qwen2", b"qwxn2"), "transformers cannot read it"),
        (lambda data: data[:0], "not a readable GGUF file"),
    ],
    ids=["not GGUF", "cut", "unknown architecture", "empty"],
)
def test_a_file_that_cannot_be_read_is_one_error_and_leaves_nothing(
    change: Callable[[bytes], bytes], message: str, qwen: Path, tmp_path: Path
) -> None:
    before = {model.name for model in cached_models()}
    path = tmp_path / "bad.gguf"
    path.write_bytes(change(qwen.read_bytes()))
    with pytest.raises(UsageError, match=message) as raised:
        gguf.convert(path)
    assert "\n" not in str(raised.value)
    assert {model.name for model in cached_models()} == before


def test_a_model_is_removed_and_a_modified_one_is_noticed(qwen: Path, agn: Agn) -> None:
    folder = gguf.convert(qwen)
    config = folder / "config.json"
    config.write_text(config.read_text() + " ")
    answer = agn("model", "check", folder.name)
    assert (answer.returncode, "config.json is missing or modified" in answer.stdout) == (1, True)
    assert agn("model", "remove", folder.name).returncode == 0
    assert not folder.exists()
    assert agn("model", "remove", folder.name).returncode == 2


def _tiktoken(ranks: Path) -> dict[str, Any]:
    """The arguments of `tiktoken.Encoding` for Qwen's vocabulary."""
    pairs = (line.split() for line in ranks.read_text().splitlines())
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return {
        "pat_str": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
        r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
        "mergeable_ranks": {base64.b64decode(token): int(rank) for token, rank in pairs},
        "special_tokens": {name: 151643 + place for place, name in enumerate(special)},
    }


def _write_qwen(path: Path, ranks: Path) -> None:
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter, quantize
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    encoding = _tiktoken(ranks)
    letters = bytes_to_unicode()
    spelled = {rank: "".join(letters[byte] for byte in token) for token, rank in encoding["mergeable_ranks"].items()}
    tokens = [spelled[rank] for rank in range(len(spelled))] + list(encoding["special_tokens"])
    types = [1] * len(spelled) + [3] * 3
    padding = 151936 - len(tokens)
    tokens += [f"[PAD{place}]" for place in range(padding)]
    types += [5] * padding
    writer = GGUFWriter(path, "qwen2")
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(_merges(encoding["mergeable_ranks"], letters))
    writer.add_eos_token_id(151645)
    writer.add_pad_token_id(151643)
    writer.add_bos_token_id(151643)
    writer.add_add_bos_token(False)
    writer.add_chat_template((files("trl") / "chat_templates" / "qwen2_5.jinja").read_text(encoding="utf-8"))
    random = np.random.default_rng(0)
    embeddings = random.normal(size=(len(tokens), 32)).astype(np.float32)
    for name, kind in (
        ("token_embd.weight", GGMLQuantizationType.Q5_0),
        ("output.weight", GGMLQuantizationType.Q8_0),
    ):
        writer.add_tensor(name, quantize(embeddings, kind), raw_dtype=kind)
    shapes = {"attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32)}
    shapes |= {"ffn_gate": (32, 32), "ffn_up": (32, 32), "ffn_down": (32, 32)}
    for name, shape in shapes.items():
        writer.add_tensor(f"blk.0.{name}.weight", random.normal(size=shape).astype(np.float32))
    for name, size in {"attn_q": 32, "attn_k": 16, "attn_v": 16}.items():
        writer.add_tensor(f"blk.0.{name}.bias", np.zeros(size, np.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _merges(ranks: dict[bytes, int], letters: dict[int, str]) -> list[str]:
    """The merges of a byte-level BPE, in order: each token is made of the two that lower ranks leave of its bytes."""
    merges = []
    for token, rank in ranks.items():
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], rank))
            if ranks.get(parts[best] + parts[best + 1], rank) >= rank:
                break
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        if len(parts) == 2:
            merges.append(" ".join("".join(letters[byte] for byte in part) for part in parts))
    return merges


def _chat_ids(folder: Path, text: str) -> list[int]:
    tokenizer = load_tokenizer(folder)
    messages = [{"role": "user", "content": text}]
    ids: list[int] = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    return ids


def _greedy(folder: Path, prompt: list[int], tokens: int) -> str:
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    made = model.generate(torch.tensor([prompt]), max_new_tokens=tokens, do_sample=False)
    return str(load_tokenizer(folder).decode(made[0][len(prompt) :]))
