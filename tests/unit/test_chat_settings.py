"""The conversation in which a model gets a task."""

from __future__ import annotations

import pytest
from agnostics.rollout.prompts import ChatSettings, RenderedPrompt
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from pydantic import ValidationError

LUA = Language(name="lua", prompt="Use Lua 5.1.\n", filename="main.lua", execute="luajit main.lua")
TASK = Task(id="braces", statement="Print {prompt} and {}.\n", tests=(Test(input="", output=""),))


def test_the_message_is_the_languages_prompt_and_the_statement() -> None:
    assert ChatSettings().message(LUA, TASK) == LUA.prompt_for(TASK) == "Use Lua 5.1.\n\nPrint {prompt} and {}."


def test_a_template_places_its_parts_and_leaves_braces_of_a_statement_alone() -> None:
    chat = ChatSettings(template="In {language} ({prompt}) {x}: {statement}")
    assert chat.message(LUA, TASK) == "In lua (Use Lua 5.1.) {x}: Print {prompt} and {}."


def test_a_template_without_the_statement_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"a template holds \{statement\}"):
        ChatSettings(template="{prompt}")


def test_a_system_prompt_comes_first_also_an_empty_one() -> None:
    user = {"role": "user", "content": "Add."}
    assert RenderedPrompt(TASK, "Add.").messages == [user]
    for system in ("Be brief.", ""):
        assert RenderedPrompt(TASK, "Add.", system=system).messages == [{"role": "system", "content": system}, user]
