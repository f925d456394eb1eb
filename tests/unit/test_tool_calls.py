"""Calls of tools in what models write."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from agnostics.environments.tools.announcement import announcement
from agnostics.environments.tools.bash import Bash
from agnostics.environments.tools.call import MalformedCall, ToolCall, parse_calls
from agnostics.environments.tools.files import Create, Edit, Submit
from agnostics.environments.tools.form import CallForm, form_of
from agnostics.environments.tools.python import Python
from agnostics.environments.tools.tool import Tool
from hypothesis import example, given
from hypothesis import strategies as st
from processor_time import processor_time_limit

TOOLS: list[Tool] = [Bash(), Edit(), Create(), Submit()]
MEGABYTE = 1_000_000
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
LINES = TEXTS.filter(lambda text: "\n" not in text and text.strip() == text != "")
TAGS = ["</tool>", "<tool: bash>", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"]


def plain(text: str) -> bool:
    """Whether no line of a text is a tag."""
    return not any(line.rstrip() in TAGS for line in text.split("\n"))


def reason(text: str, form: CallForm) -> str:
    """The reason why a text with one call is malformed."""
    (call,) = parse_calls(text, form, TOOLS)
    assert isinstance(call, MalformedCall)
    return call.reason


def as_text(tool: str, content: str) -> str:
    return f"<tool: {tool}>\n{content}\n</tool>"


def as_json(name: str, arguments: Mapping[str, object]) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def test_a_call_in_the_text_form_has_its_content_as_it_stands() -> None:
    call = as_text("bash", "  ls -l\n\ncat <<'E'\n</tools>\nE\n")
    assert parse_calls(f"I look.\n{call}\nThen.", "text", TOOLS) == [
        ToolCall("bash", {"command": "  ls -l\n\ncat <<'E'\n</tools>\nE\n"})
    ]


def test_the_content_of_a_call_is_split_into_arguments() -> None:
    edit = "a.py\n<<<<<<< SEARCH\n  x\n=======\n  y\n  z\n>>>>>>> REPLACE"
    more = edit + "\n\n<<<<<<< SEARCH\nold\n=======\n>>>>>>> REPLACE"
    assert [
        parse_calls(as_text(tool, content), "text", TOOLS)
        for tool, content in [("create", "a b.py\nx = 1"), ("create", "empty"), ("edit", edit), ("edit", more)]
    ] == [
        [ToolCall("create", {"path": "a b.py", "content": "x = 1\n"})],
        [ToolCall("create", {"path": "empty", "content": ""})],
        [ToolCall("edit", {"path": "a.py", "old": "  x\n", "new": "  y\n  z\n"})],
        [ToolCall("edit", {"path": "a.py", "old": "  x\n", "new": "  y\n  z\n", "old_2": "old\n", "new_2": ""})],
    ]


@pytest.mark.parametrize(
    "text",
    [
        as_json("bash", {"command": "ls"}),
        'I look.\n\n  <tool_call>{"arguments": {"command": "ls"}, "name": "bash"}</tool_call>  \nThen.',
        'I look. <tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
        'I look: <tool_call> {"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
        '{"name": "bash", "parameters": {"command": "ls"}}',
        '\n<|python_tag|>{"type": "function", "name": "bash", "parameters": {"command": "ls"}}\n',
        '{"type": "function", "name": "bash", "parameters": {"command": "ls"}}',
        '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls"}}]',
        ' [TOOL_CALLS] [ {"name": "bash", "arguments": {"command": "ls"}, "id": "a1b2c3d4e"}]',
        'I look.[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "ls"}}]',
        '[{"name": "bash", "arguments": {"command": "ls"}}]',
        '[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
        '\n[TOOL_CALLS] bash [ARGS] {"command": "ls"}\n',
        '[TOOL_CALLS]bash[CALL_ID]a1b2c3d4e[ARGS]{"command": "ls"}',
        'I look.[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
        'I look.\n\n[TOOL_CALLS]bash[CALL_ID]a1b2c3d4e[ARGS]{"command": "ls"}',
        '<think>\n{"name": "submit"}\n</think>\n\n{"name": "bash", "arguments": {"command": "ls"}}',
        '[THINK][TOOL_CALLS]submit[ARGS]{}[/THINK]I look.[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
    ],
)
def test_calls_in_json_are_read_as_qwen_llama_and_mistral_write_them(text: str) -> None:
    assert parse_calls(text, "qwen", TOOLS) == [ToolCall("bash", {"command": "ls"})]


@pytest.mark.parametrize("between", ["; ", ";", "\n", " ;\n ", ""])
@pytest.mark.parametrize("tag", ["", "<|python_tag|>", "<|python_tag|>\n"])
def test_several_calls_of_llama_follow_each_other(between: str, tag: str) -> None:
    calls = [json.dumps({"name": "bash", "parameters": {"command": text}}) for text in ("ls; pwd", '}; {"name"')]
    calls.append(json.dumps({"name": "submit", "parameters": {"path": "a"}}))
    assert parse_calls(tag + between.join(calls), "qwen", TOOLS) == [
        ToolCall("bash", {"command": "ls; pwd"}),
        ToolCall("bash", {"command": '}; {"name"'}),
        ToolCall("submit", {"path": "a"}),
    ]


def test_the_calls_of_mistral_are_a_list() -> None:
    calls = [{"name": "bash", "arguments": {"command": "ls"}}, {"name": "shell"}, 1, {"name": "x", "arguments": {}}]
    found = parse_calls(f"[TOOL_CALLS] {json.dumps(calls)}", "qwen", TOOLS)
    assert [type(call) for call in found] == [ToolCall, MalformedCall, MalformedCall, MalformedCall]
    assert parse_calls("[TOOL_CALLS] []", "qwen", TOOLS) == []


@given(st.lists(st.tuples(LINES, TEXTS, st.booleans()), min_size=1, max_size=4), TEXTS)
@example([("[TOOL_CALLS]submit[ARGS]{", "[ARGS]{}}", True), ("<tool_call>", "</think", False)], "Use `[TOOL_CALLS]`.")
def test_several_calls_of_mistral_each_have_a_mark(calls: list[tuple[str, str, bool]], before: str) -> None:
    text = before.replace("<", "").replace("{", "")
    for path, content, has_id in calls:
        call_id = "[CALL_ID]a1b2c3d4e" if has_id else ""
        text += f"[TOOL_CALLS]create{call_id}[ARGS]{json.dumps({'path': path, 'content': content})}"
    assert parse_calls(text, "qwen", TOOLS) == [
        ToolCall("create", {"path": path, "content": content}) for path, content, _ in calls
    ]


def test_what_follows_a_malformed_call_of_mistral_is_read_where_its_arguments_end() -> None:
    bad = ['shell[ARGS]{"a": 1}', 'bash[ARGS]["ls"]', "bash[ARGS]null", "bash[ARGS]{}"]
    marked = [f"[TOOL_CALLS]{call}" for call in (*bad, 'submit[ARGS]{"path": "a"}')]
    *malformed, last = parse_calls("".join(marked), "qwen", TOOLS)
    assert [call.reason for call in malformed if isinstance(call, MalformedCall)] == [
        "there is no tool 'shell'; the tools are: bash, create, edit, submit",
        "bash: the arguments are not a JSON object",
        "bash: the arguments are not a JSON object",
        "bash: the argument 'command' is missing",
    ]
    assert last == ToolCall("submit", {"path": "a"})


def test_what_follows_a_call_of_mistral_and_is_none_is_malformed() -> None:
    call = '[TOOL_CALLS]submit[ARGS]{"path": "a"}'
    for rest in ("}", " I am done.", " I am done.[TOOL_CALLS]bash[ARGS]{}"):
        assert parse_calls(call + rest, "qwen", TOOLS) == [
            ToolCall("submit", {"path": "a"}),
            MalformedCall("after a call there may be other calls only, as [TOOL_CALLS]NAME[ARGS]{...}"),
        ]


def test_a_call_in_a_string_of_another_familys_call_is_none() -> None:
    mistral, qwen = '[TOOL_CALLS]bash[ARGS]{"command": "ls"}', as_json("bash", {"command": "ls"}).replace("\n", "")
    llama = '{"name": "bash", "parameters": {"command": "ls"}}'
    for command in (mistral, qwen, llama):
        arguments = json.dumps({"command": command})
        for text in (
            f"[TOOL_CALLS]bash[ARGS]{arguments}",
            as_json("bash", {"command": command}),
            f'{{"name": "bash", "parameters": {arguments}}}',
        ):
            assert parse_calls(text, "qwen", TOOLS) == [ToolCall("bash", {"command": command})]


def test_what_follows_a_call_of_llama_and_is_none_is_malformed() -> None:
    call = json.dumps({"name": "submit", "parameters": {"path": "a"}})
    ran, said = parse_calls(f"{call}; I am done; {call}", "qwen", TOOLS)
    assert ran == ToolCall("submit", {"path": "a"})
    assert said == MalformedCall("the call is not valid JSON: Expecting value (character 49)")


def test_a_string_of_json_may_hold_a_closing_tag() -> None:
    arguments = {"command": "echo '<tool_call>\n</tool_call>\n'"}
    assert parse_calls(as_json("bash", arguments), "qwen", TOOLS) == [ToolCall("bash", arguments)]


@pytest.mark.parametrize("form", ["text", "qwen"])
def test_calls_are_in_order_and_those_in_the_reasoning_do_not_count(form: CallForm) -> None:
    call = {"text": as_text("submit", "a"), "qwen": as_json("submit", {"path": "a"})}[form]
    other = call.replace("submit", "shell")
    text = f"<think>\n{call}\n</think>\n{call}\n{other}\n{call}"
    assert [type(found) for found in parse_calls(text, form, TOOLS)] == [ToolCall, MalformedCall, ToolCall]
    assert parse_calls(f"<think>\n{call}", form, TOOLS) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (as_text("shell", "ls"), "there is no tool 'shell'; the tools are: bash, create, edit, submit"),
        ("<tool: bash>\nls", "the call is not closed; end it with a line '</tool>'"),
        ("<tool: bash>ls</tool>", "write '<tool: NAME>', the content and '</tool>' on lines of their own"),
        ("ls\n</tool>", "there is a line '</tool>' without a '<tool: NAME>' before it"),
        (as_text("bash", " "), "bash: the command is empty"),
        (as_text("bash", "a\0b"), "bash: the argument 'command' holds a NUL or half of a surrogate pair"),
        (as_text("bash", "a\ud800b"), "bash: the argument 'command' holds a NUL or half of a surrogate pair"),
        (as_text("create", ""), "create: the first line must be a path"),
        (as_text("submit", "a\nb"), "submit: it takes one line, the path of a file"),
        (as_text("edit", "a"), "edit: there is no SEARCH/REPLACE block after the path"),
        (
            as_text("edit", "a\nx\n<<<<<<< SEARCH"),
            "edit: there is a line outside of the blocks; a block begins with '<<<<<<< SEARCH'",
        ),
        (
            as_text("edit", "a\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE"),
            "edit: the line '>>>>>>> REPLACE' stands in a block before its '======='; "
            "such a line can be neither searched for nor written",
        ),
        (
            as_text("edit", "a\n<<<<<<< SEARCH\nTitle\n=======\n\n=======\nName\n>>>>>>> REPLACE"),
            "edit: the line '=======' stands in a block before its '>>>>>>> REPLACE'; "
            "such a line can be neither searched for nor written",
        ),
        (
            as_text("edit", "a\n<<<<<<< SEARCH\nx\n=======\ny\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE"),
            "edit: the line '<<<<<<< SEARCH' stands in a block before its '>>>>>>> REPLACE'; "
            "such a line can be neither searched for nor written",
        ),
        (
            as_text("edit", "a\n<<<<<<< SEARCH\nx\n=======\ny"),
            "edit: a block is not complete; the line '>>>>>>> REPLACE' is missing",
        ),
        (as_text("edit", "a\n<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE"), "edit: a SEARCH section is empty"),
        (
            as_text("edit", "a" + "\n<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE" * 101),
            "edit: there are more than 100 blocks",
        ),
    ],
)
def test_a_malformed_call_in_the_text_form_says_what_to_do(text: str, expected: str) -> None:
    assert reason(text, "text") == expected


FORM = 'write {"name": "...", "arguments": {...}}'
NO_ARGS = "the call has no '[ARGS]' after its name; write [TOOL_CALLS]NAME[ARGS]{...}"
UNTERMINATED = "the call is not valid JSON: Unterminated string starting at (character 23)"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('{"name": "shell", "arguments": {}}', "there is no tool 'shell'; the tools are: bash, create, edit, submit"),
        ('{"name": "bash", "arguments": {}}', "bash: the argument 'command' is missing"),
        (
            '{"name": "bash", "arguments": {"command": "ls", "timeout": 1}}',
            "bash: there is no argument 'timeout'; the arguments are: command",
        ),
        ('{"name": "bash", "arguments": {"command": 1}}', "bash: the argument 'command' is not a string"),
        ('{"name": "bash", "arguments": {"command": ["ls"]}}', "bash: the argument 'command' is not a string"),
        (
            '{"name": "bash", "arguments": {"command": "\\u0000"}}',
            "bash: the argument 'command' holds a NUL or half of a surrogate pair",
        ),
        (
            '{"name": "bash", "arguments": {"command": "\\ud800"}}',
            "bash: the argument 'command' holds a NUL or half of a surrogate pair",
        ),
        ('{"name": "bash", "arguments": "ls"}', "bash: the arguments are not a JSON object"),
        ('{"name": "bash"}', f"the call needs a name and arguments; {FORM}"),
        ('{"name": 1, "arguments": {}}', f"the call needs a name and arguments; {FORM}"),
        ('{"name": "bash", "arguments": {}, "parameters": {}}', f"the call needs a name and arguments; {FORM}"),
        ('["bash"]', f"the call is not a JSON object; {FORM}"),
        ("ls -l", "the call is not valid JSON: Expecting value (character 1)"),
        ('{"name": "bash"} {}', "the call is not valid JSON: Extra data (character 18)"),
        (
            '{"name": "bash", "arguments": {"command": "a\nb"}}',
            "the call is not valid JSON: Invalid control character at (character 45)",
        ),
        ('{"name": "bash", "arguments": {"command": NaN}}', "the call is not valid JSON: it holds NaN"),
        ('{"name": "bash", "name": "edit"}', "the call has the key 'name' twice"),
        ("[" * MEGABYTE, "the call is nested too deeply"),
        ('{"name": "bash", "arguments": ' * 2000, "the call is nested too deeply"),
    ],
)
def test_a_malformed_call_in_json_says_what_to_do(call: str, expected: str) -> None:
    assert reason(f"<tool_call>\n{call}\n</tool_call>", "qwen") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>\n{"name": "bash"', "the call is not closed; end it with '</tool_call>'"),
        ("</tool_call>", "there is a '</tool_call>' without a '<tool_call>' before it"),
        ('{"name": "bash", "parameters"', "the call is not valid JSON: Expecting ':' delimiter (character 29)"),
        ("<|python_tag|>print(1)", "the call is not valid JSON: Expecting value (character 0)"),
        ('[TOOL_CALLS]bash[ARGS]{"path"', "the call is not valid JSON: Expecting ':' delimiter (character 29)"),
        ('I look.[TOOL_CALLS]bash[ARGS]{"command', UNTERMINATED),
        ("[TOOL_CALLS]bash[ARGS]", "the call is not valid JSON: Expecting value (character 22)"),
        ("[TOOL_CALLS]bash[ARGS]ls -l", "the call is not valid JSON: Expecting value (character 22)"),
        ("[TOOL_CALLS]bash[ARGS]" + "[" * MEGABYTE, "the call is nested too deeply"),
        ('[TOOL_CALLS]bash{"command": "ls"}', NO_ARGS),
        ('[TOOL_CALLS]bash[CALL_ID]a1b2c3d4e{"command": "ls"}', NO_ARGS),
        ("I look.[TOOL_CALLS]bash", NO_ARGS),
        ("[TOOL_CALLS]bash ls -l", NO_ARGS),
        ("[TOOL_CALLS]", NO_ARGS),
        ('[TOOL_CALLS]bash[TOOL_CALLS]bash[ARGS]{"command": "ls"}', NO_ARGS),
    ],
)
def test_a_call_that_is_not_whole_is_malformed(text: str, expected: str) -> None:
    assert reason(text, "qwen") == expected


@pytest.mark.parametrize("fence", ["```json", "```"])
def test_a_message_may_begin_with_a_call_in_a_block_of_code(fence: str) -> None:
    call = '{"name": "bash", "arguments": {"command": "ls"}}'
    text = f"{fence}\n{call}\n```\n\nThis lists the files.\n{fence}\n{call}\n```"
    assert parse_calls(text, "qwen", TOOLS) == [ToolCall("bash", {"command": "ls"})]
    assert parse_calls(f"I could write:\n{text}", "qwen", TOOLS) == []
    assert parse_calls('```json\n{"answer": 42}\n```', "qwen", TOOLS) == []
    assert reason('```json\n{"name": "bash"}\n```', "qwen").startswith("the call needs a name and arguments")


def test_a_number_is_read_as_long_as_it_is_short() -> None:
    assert reason(as_json("bash", {"command": "."}).replace('"."', "1" * 41), "qwen").endswith("of more than 40 digits")
    assert reason(as_json("bash", {"command": "."}).replace('"."', "1e999"), "qwen").endswith("that is too large")


def test_a_reason_is_short_whatever_the_model_wrote() -> None:
    assert len(reason(as_text("x" * MEGABYTE, "ls"), "text")) < 200
    assert len(reason(as_json("x" * MEGABYTE, {}), "qwen")) < 200
    assert len(reason(as_json("bash", {"command": "", "x" * MEGABYTE: ""}), "qwen")) < 200
    assert len(reason(f"[TOOL_CALLS]{'x' * MEGABYTE}[ARGS]{{}}", "qwen")) < 200


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ls",
        "Use `<tool: bash>` and </tool>.",
        "Use `<tool_call>` and </tool_call>.",
        "Use `[TOOL_CALLS]`, [TOOL_CALLS] and [ARGS]{}.",
        '{"answer": 42}',
        '{"type": "int", "name": "x"}',
        "{}",
        "[1]",
    ],
)
@pytest.mark.parametrize("form", ["text", "qwen"])
def test_a_text_that_is_no_call_gives_none(text: str, form: CallForm) -> None:
    assert parse_calls(text, form, TOOLS) == []


@given(TEXTS)
@example("{")
def test_a_text_without_tags_gives_no_call(text: str) -> None:
    if "<" not in text:
        assert parse_calls(text, "text", TOOLS) == []
    if "<" not in text and "{" not in text:
        assert parse_calls(text, "qwen", TOOLS) == []


PIECES = ["<tool: ", "bash", ">", "\n", "</tool>", "<tool_call>", "</tool_call>", '{"name": ', '"bash"', '"', "}", "{"]
MARKS = ["<|python_tag|>", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"]


@given(st.lists(st.sampled_from([*PIECES, *MARKS, "\\", "\0", "1e999", "Infinity", "\ud800"])).map("".join))
def test_no_text_raises(text: str) -> None:
    for form in ("text", "qwen"):
        parse_calls(text, form, TOOLS)


@given(LINES, TEXTS.filter(plain), TEXTS)
def test_a_call_is_read_as_it_was_written_as_text(path: str, content: str, around: str) -> None:
    around = around.replace("<", "")
    for call, text in [
        (ToolCall("bash", {"command": f"x{content}"}), as_text("bash", f"x{content}")),
        (ToolCall("create", {"path": path, "content": f"{content}x\n"}), as_text("create", f"{path}\n{content}x")),
        (
            ToolCall("edit", {"path": path, "old": f"x{content}\n", "new": f"{content}x\n"}),
            as_text("edit", f"{path}\n<<<<<<< SEARCH\nx{content}\n=======\n{content}x\n>>>>>>> REPLACE"),
        ),
    ]:
        assert parse_calls(f"{around}\n{text}\n{around}", "text", TOOLS) == [call]


@given(TEXTS, TEXTS, TEXTS)
def test_a_call_is_read_as_it_was_written_as_json(path: str, old: str, new: str) -> None:
    arguments = {"path": path, "old": old, "new": new}
    assert parse_calls(as_json("edit", arguments), "qwen", TOOLS) == [ToolCall("edit", arguments)]


@pytest.mark.parametrize(
    "text",
    [
        "<tool: bash>\n" * (MEGABYTE // 13),
        "<tool:" * (MEGABYTE // 6),
        "<tool: bash>\nls\n</tool>\n" * (MEGABYTE // 24),
        "</tool>\n" * (MEGABYTE // 8),
        as_text("edit", "a\n<<<<<<< SEARCH\n" + "=======\n" * (MEGABYTE // 8)),
        "<tool_call>\n" * (MEGABYTE // 12),
        "<tool_call>{</tool_call>\n" * (MEGABYTE // 25),
        '<tool_call>{"a": "</tool_call>\n' * (MEGABYTE // 31),
        "<tool_call>" + " " * MEGABYTE + "x",
        "{" + " " * MEGABYTE + '"name"',
        '{"name"' + " " * MEGABYTE,
        as_json("bash", {}).replace("{}", "1" * MEGABYTE),
        as_json("bash", {}).replace("{}", "1" * MEGABYTE + ".0e9"),
        as_json("bash", {str(number): "" for number in range(MEGABYTE // 10)}),
        "<|python_tag|>" + "{" * MEGABYTE,
        '{"name": "bash"};' * (MEGABYTE // 17),
        "[TOOL_CALLS]" * (MEGABYTE // 12),
        "x" + "[TOOL_CALLS] " * (MEGABYTE // 13),
        "[TOOL_CALLS]a[ARGS]{}" * (MEGABYTE // 21),
        '[TOOL_CALLS]a[ARGS]{"' * (MEGABYTE // 21),
        "[TOOL_CALLS]a[CALL_ID]" * (MEGABYTE // 22),
        "[TOOL_CALLS]" + "a" * MEGABYTE,
        "[TOOL_CALLS]" + " " * MEGABYTE + "a",
        "[TOOL_CALLS]a[ARGS]" + " " * MEGABYTE + "a",
        "[TOOL_CALLS]a[ARGS]{}" + " " * MEGABYTE + "a",
        "[" + " " * MEGABYTE + '{"name"',
        '{"name": "bash"}' + " " * MEGABYTE + "x",
        '```json\n{"name"' + "\n   " * (MEGABYTE // 4),
        "```" + " " * MEGABYTE + '\n{"name"',
    ],
)
@pytest.mark.parametrize("form", ["text", "qwen"])
def test_a_megabyte_is_parsed_without_taking_quadratic_time(text: str, form: CallForm) -> None:
    with processor_time_limit(5):
        parse_calls(text, form, TOOLS)


def test_the_form_is_that_which_the_chat_template_knows() -> None:
    assert form_of("{{ '<tool: bash>' }}<tool_call>") == form_of("{% for m in messages %}{% endfor %}") == "text"
    assert form_of("{{- '<tool_call>\\n' }}") == "qwen"
    assert form_of("'<|start_header_id|>ipython<|end_header_id|>'") == form_of("<|python_tag|>") == "llama"
    assert form_of("{{- '[TOOL_CALLS] [' }}") == "mistral_list"
    assert form_of("{{- '[TOOL_CALLS]' + name + '[ARGS]' }}") == "mistral"


def test_the_announcement_as_text_is_that_of_section_17() -> None:
    assert announcement([Create(), Submit()], "text") == (
        "You have access to the following tools:\n\n<tool: create>\n[path]\n[content]\n</tool>\n"
        f"{Create.description}\n\n<tool: submit>\n[path]\n</tool>\n{Submit.description}"
    )


@pytest.mark.parametrize("form", ["mistral", "mistral_list"])
def test_the_form_that_is_announced_to_mistral_is_read_as_a_call(form: CallForm) -> None:
    announced = announcement([Bash()], form)
    assert announced.startswith(f"[AVAILABLE_TOOLS]{json.dumps([Bash().schema], ensure_ascii=False)}[/AVAILABLE_TOOLS]")
    _, call = announced.split("end your message with ")
    called = call.replace("NAME", "bash" if form == "mistral" else '"bash"').replace("ARGUMENTS", '"command": "ls"')
    assert parse_calls(f"I look.\n{called}", form, TOOLS) == [ToolCall("bash", {"command": "ls"})]


def test_what_is_announced_as_usage_is_read_as_a_call() -> None:
    for tool in [*TOOLS, Python()]:
        (call,) = parse_calls(announcement([tool], "text"), "text", [tool])
        assert isinstance(call, ToolCall)
        assert call.arguments.keys() == tool.parameters.keys()
