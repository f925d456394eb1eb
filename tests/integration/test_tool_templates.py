"""The form of tool calls, and the chat templates of real models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from agnostics.environments.tools.bash import Bash
from agnostics.environments.tools.files import Create, Edit, Submit
from agnostics.environments.tools.form import form_of
from agnostics.environments.tools.tool import Tool, announcement

TOOLS: list[Tool] = [Bash(), Edit(), Create(), Submit()]


def template(name: str) -> str:
    """A chat template that comes with TRL."""
    found = find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("TRL is not installed")
    return (Path(found.origin).parent / "chat_templates" / name).read_text(encoding="utf-8")


def test_the_templates_of_qwen_and_llama_know_json() -> None:
    forms = {
        name: form_of(template(f"{name}.jinja")) for name in ("qwen2_5", "qwen3", "llama3", "llama3_1", "llama3_2")
    }
    assert forms == {"qwen2_5": "json", "qwen3": "json", "llama3": "text", "llama3_1": "json", "llama3_2": "json"}


@pytest.mark.parametrize("name", ["qwen2_5", "qwen3"])
def test_the_announcement_is_what_the_template_makes_of_the_schemas(name: str) -> None:
    from transformers.utils.chat_template_utils import render_jinja_template

    user, system = {"role": "user", "content": "Go."}, {"role": "system", "content": "Be brief."}
    announced = {**system, "content": f"Be brief.\n\n{announcement(TOOLS, 'json')}"}
    text = template(f"{name}.jinja")
    ((by_template,), _) = render_jinja_template(
        conversations=[[system, user]], tools=[tool.schema for tool in TOOLS], chat_template=text
    )
    ((by_text,), _) = render_jinja_template(conversations=[[announced, user]], chat_template=text)
    assert by_text == by_template
