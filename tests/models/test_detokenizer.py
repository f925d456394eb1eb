"""The texts of completions: what a model's template writes as calls is read as calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.tools.bash import Bash
from agnostics.environments.tools.call import ToolCall, parse_calls
from agnostics.environments.tools.files import Create
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.prompts import ChatSettings, call_form_of
from hypothesis import given, settings
from hypothesis import strategies as st
from model_families import FAMILIES, Family, mistral, save_tokenizer

TOOLS = [Bash(), Create()]
CALLS = [
    ToolCall("bash", {"command": "echo '[TOOL_CALLS]ls[ARGS]{}' \"\u00e9\"\n"}),
    ToolCall("create", {"path": "a.lua", "content": "x = {}\n"}),
]


def _tokenizer(family: Family, folder: Path) -> Any:
    save_tokenizer(family, folder)
    return load_tokenizer(folder)


def _sampled(tokenizer: Any, calls: Sequence[ToolCall], content: str) -> list[int]:
    """The tokens of a message with calls, up to the one that ends it, as the template writes it."""
    asked = {"role": "user", "content": "Do it."}
    functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
    tool_calls = [{"id": f"{index:09}", "type": "function", "function": one} for index, one in enumerate(functions)]
    message = {"role": "assistant", "content": content, "tool_calls": tool_calls}
    prompt, whole = (
        tokenizer.apply_chat_template(messages, return_dict=False) for messages in ([asked], [asked, message])
    )
    assert whole[: len(prompt)] == prompt
    tokens: list[int] = whole[len(prompt) :]
    return tokens


@pytest.mark.parametrize("version", ["v3", "v7", "v11", "v13"])
@pytest.mark.parametrize("content", ["", "I look."])
def test_the_calls_that_a_template_of_mistral_writes_are_read(version: str, content: str, tmp_path: Path) -> None:
    tokenizer = _tokenizer(mistral(version), tmp_path)
    said = "" if version == "v3" else content  # such a message has calls or content
    text = Detokenizer(tokenizer).text(_sampled(tokenizer, CALLS, said))
    assert text.startswith(f"{said}[TOOL_CALLS]")
    assert "</s>" not in text
    assert call_form_of(tokenizer) == ("mistral_list" if version in {"v3", "v7"} else "mistral")
    assert parse_calls(text, call_form_of(tokenizer), TOOLS) == CALLS


def test_no_call_in_the_reasoning_of_mistral_is_read(tmp_path: Path) -> None:
    tokenizer = _tokenizer(mistral("v13"), tmp_path)
    sampled = tokenizer("[THINK]Perhaps", add_special_tokens=False).input_ids
    sampled += _sampled(tokenizer, CALLS[:1], "")[:-1]
    sampled += tokenizer("[/THINK]Now.", add_special_tokens=False).input_ids
    sampled += _sampled(tokenizer, CALLS[1:], "")
    assert parse_calls(Detokenizer(tokenizer).text(sampled), "qwen", TOOLS) == CALLS[1:]


@pytest.mark.parametrize(("version", "around"), [("v13", "[TOOL_RESULTS]|[/TOOL_RESULTS]"), ("v11", "[INST]|[/INST]")])
def test_the_output_of_a_tool_goes_back_as_mistrals_template_has_it_or_as_the_users(
    version: str, around: str, tmp_path: Path
) -> None:
    """Before version 13 a template asks for the id of the call, which an observation of several calls has not."""
    tokenizer = _tokenizer(mistral(version), tmp_path)
    renderer = ConversationRenderer(tokenizer, ChatSettings(), stop_ids(tmp_path, tokenizer))
    output = "a.lua [/TOOL_RESULTS]"
    told = renderer.observation(output, "tool", 100)
    assert tokenizer.decode(told.token_ids) == around.replace("|", output)
    assert sum(token in tokenizer.added_tokens_decoder for token in told.token_ids) == 2
    assert tokenizer.decode(renderer.frames["tool"].end_of_turn) == "</s>"


@pytest.mark.parametrize("family", [*FAMILIES.values(), mistral("v13")], ids=[*FAMILIES, "mistral"])
def test_a_text_has_no_special_tokens_but_the_marks_of_calls_and_reasoning(family: Family, tmp_path: Path) -> None:
    tokenizer = _tokenizer(family, tmp_path)
    detokenizer = Detokenizer(tokenizer)
    marks = ["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]"]
    kept = [tokenizer.convert_tokens_to_ids(mark) for mark in marks if mark in family.special]
    assert detokenizer.text(kept) == "".join(mark for mark in marks if mark in family.special)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.integers(0, len(tokenizer) - 1).filter(lambda token: token not in kept)))
    def check(sampled: list[int]) -> None:
        assert detokenizer.text(sampled) == tokenizer.decode(sampled, skip_special_tokens=True)

    check()
