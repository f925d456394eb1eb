"""The form of tool calls, and the chat templates of real models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.tools.announcement import announcement
from agnostics.environments.tools.bash import Bash
from agnostics.environments.tools.files import Create, Edit, Submit
from agnostics.environments.tools.form import form_of
from agnostics.environments.tools.tool import Tool

TOOLS: list[Tool] = [Bash(), Edit(), Create(), Submit()]


def template(name: str) -> str:
    """A chat template that comes with TRL."""
    found = find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("TRL is not installed")
    return (Path(found.origin).parent / "chat_templates" / name).read_text(encoding="utf-8")


def test_the_templates_of_qwen_and_llama_are_known_by_their_marks() -> None:
    names = ("qwen2_5", "qwen3", "llama3", "llama3_1", "llama3_2")
    forms = {name: form_of(template(f"{name}.jinja")) for name in names}
    assert forms == {"qwen2_5": "qwen", "qwen3": "qwen", "llama3": "text", "llama3_1": "llama", "llama3_2": "llama"}


@pytest.mark.parametrize(
    ("name", "announced"),
    [
        ("qwen2_5", "Be brief.\n\n{tools}"),
        ("qwen3", "Be brief.\n\n{tools}"),
        ("llama3_1", "{tools}\n\nBe brief."),
        ("llama3_2", "{tools}\n\nBe brief."),
    ],
)
def test_the_announcement_is_what_the_template_makes_of_the_schemas(name: str, announced: str) -> None:
    text = template(f"{name}.jinja")
    user, system = {"role": "user", "content": "Go."}, {"role": "system", "content": "Be brief."}
    told = {**system, "content": announced.format(tools=announcement(TOOLS, form_of(text)))}
    by_template = rendered([system, user], text, tools=[tool.schema for tool in TOOLS])
    assert rendered([told, user], text) == by_template.replace("Environment: ipython\n", "")


def rendered(messages: list[dict[str, str]], chat_template: str, tools: list[dict[str, Any]] | None = None) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    in_system_prompt = {"tools_in_user_message": False} if tools else {}  # as Llama's template asks for
    ((text,), _) = render_jinja_template([messages], tools=tools, chat_template=chat_template, **in_system_prompt)
    return str(text)
