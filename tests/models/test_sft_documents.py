"""Documents of training examples: prompts as `agn run` renders them, answers with their end, and what is trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.prompts import ChatSettings, ConversationSettings, render_prompt
from agnostics.train.sft.documents import Document, DocumentEncoder, end_of_message
from agnostics.train.sft.records import Conversation, PlainText, PromptCompletion
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task, Test

QWEN = """{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"""
FORGETFUL = """{%- for message in messages -%}
{%- set content = message.content.split('</think>')[-1] if not loop.last else message.content -%}
{{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"""
REFUSING = "{{ raise_exception('only one user') }}"


@pytest.fixture(scope="module")
def folder(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model(tied=True)


@pytest.fixture
def encoder(folder: Path) -> Callable[..., DocumentEncoder]:
    """Makes encoders with a chat template."""

    def make(template: str | None = None, max_tokens: int = 500, **settings: Any) -> DocumentEncoder:
        tokenizer = load_tokenizer(folder)
        if template:
            tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
            tokenizer.chat_template = template
        chat, stops = ConversationSettings(**settings), {*stop_ids(folder, tokenizer)}
        if template:
            stops.add(tokenizer.convert_tokens_to_ids("<|im_end|>"))
        end_id = tokenizer.eos_token_id if template == REFUSING else end_of_message(tokenizer, stops, chat)
        return DocumentEncoder(ConversationRenderer(tokenizer, chat, sorted(stops)), end_id, max_tokens)

    return make


def parts(encoder: DocumentEncoder, document: Document) -> list[tuple[int, str]]:
    """The text of each stretch of tokens that are all trained, 1, or all not, 0."""
    stretches: list[tuple[int, list[int]]] = []
    for token, bit in zip(document.token_ids, document.mask, strict=True):
        if not stretches or stretches[-1][0] != bit:
            stretches.append((bit, []))
        stretches[-1][1].append(token)
    return [(bit, encoder.tokenizer.decode(ids)) for bit, ids in stretches]


def test_a_prompt_has_the_tokens_that_a_run_samples_from(
    encoder: Callable[..., DocumentEncoder], lua: Language
) -> None:
    task = Task(id="t", statement="Add two numbers.", tests=(Test(input="1 1", output="2"),))
    cases: list[dict[str, Any]] = [{}, {"system": "Be short."}]
    for settings in cases:
        made = encoder(**settings)
        prompt = render_prompt(made.tokenizer, lua, task, ChatSettings(**settings))
        (document,) = made.encode(PromptCompletion(prompt.text, "print(1)"), "x:1")
        size = len(prompt.token_ids)
        assert tuple(document.token_ids[:size]) == prompt.token_ids
        assert document.mask == bytes(size) + b"\1" * (len(document) - size)
        trained = list(document.token_ids[size:])
        assert trained == [*made.tokenizer("print(1)", add_special_tokens=False).input_ids, made.end_id]
        assert made.end_id in stop_ids(Path(made.tokenizer.name_or_path), made.tokenizer)


def test_a_system_prompt_of_an_example_goes_over_the_configured_one(encoder: Callable[..., DocumentEncoder]) -> None:
    made = encoder(QWEN, system="Be long.")
    (document,) = made.encode(PromptCompletion("Add.", "print(1)", "Be short."), "x:1")
    assert "Be short." in parts(made, document)[0][1]
    assert "Be long." not in parts(made, document)[0][1]


def test_every_message_of_the_assistant_is_trained_with_its_end_and_nothing_else(
    encoder: Callable[..., DocumentEncoder],
) -> None:
    made = encoder(QWEN)
    messages = (
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "four"},
        {"role": "user", "content": "five"},
    )
    (document,) = made.encode(Conversation(messages), "x:1")
    assert parts(made, document) == [
        (0, "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\n"),
        (1, "two<|im_end|>"),
        (0, "\n<|im_start|>user\nthree<|im_end|>\n<|im_start|>assistant\n"),
        (1, "four<|im_end|>"),
    ]


def test_a_conversation_whose_earlier_answers_are_changed_by_the_template_makes_several_documents(
    encoder: Callable[..., DocumentEncoder],
) -> None:
    made = encoder(FORGETFUL)
    messages = (
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "hm</think>two"},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "four"},
    )
    first, second = made.encode(Conversation(messages), "x:1")
    assert parts(made, first)[1:] == [(1, "hm</think>two<|im_end|>")]
    assert [bit for bit, _ in parts(made, second)] == [0, 1]
    assert "hm" not in parts(made, second)[0][1]
    assert parts(made, second)[1] == (1, "four<|im_end|>")


def test_a_text_is_trained_whole_and_cut_where_it_is_too_long(encoder: Callable[..., DocumentEncoder]) -> None:
    made, text = encoder(max_tokens=10), "one two three four five six seven eight nine ten eleven twelve"
    token_ids = [*made.tokenizer(text).input_ids, made.tokenizer.eos_token_id]
    pieces = made.encode(PlainText(text), "x:1")
    assert len(pieces) > 1
    assert [token for piece in pieces for token in piece.token_ids] == token_ids
    assert all(piece.mask == b"\0" + b"\1" * (len(piece) - 1) for piece in pieces)


def test_an_example_that_is_too_long_is_left_out(encoder: Callable[..., DocumentEncoder]) -> None:
    assert encoder(max_tokens=10).encode(PromptCompletion("one " * 20, "two"), "x:1") == []


def test_a_conversation_is_trained_up_to_the_answer_that_makes_it_too_long(
    encoder: Callable[..., DocumentEncoder],
) -> None:
    made = encoder(QWEN, max_tokens=60)
    turn = ({"role": "user", "content": "one"}, {"role": "assistant", "content": "two"})
    longer = ({"role": "user", "content": "one"}, {"role": "assistant", "content": "two " * 60})
    assert made.encode(Conversation((*turn, *longer)), "x:1") == made.encode(Conversation(turn), "x:1")


def test_what_the_template_refuses_is_named_with_its_place(encoder: Callable[..., DocumentEncoder]) -> None:
    with pytest.raises(UsageError, match=r"^x:1: the model's chat template refuses it: only one user$"):
        encoder(REFUSING).encode(PromptCompletion("one", "two"), "x:1")
