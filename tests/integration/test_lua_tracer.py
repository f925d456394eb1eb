"""The tracer of Lua: its events, and that a program cannot tell it from LuaJIT."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import agnostics_lang_lua
import pytest
import trace_lines
from agnostics.plugins.manager import load_plugins
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics_datasets.starter import FAMILIES, Starter
from trace_lines import Traced

FOLDER = Path(agnostics_lang_lua.__file__).parent
Trace = Callable[..., Traced]


@pytest.fixture(scope="module")
def lua() -> Language:
    return load_plugins().language("lua")


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    for file in (FOLDER / "trace").iterdir():
        shutil.copy(file, tmp_path)

    def run(program: str, given: str = "", **limits: int) -> Traced:
        (tmp_path / "snippet.lua").write_text(program, encoding="utf-8")
        return trace_lines.run(["luajit", "trace.lua", "snippet.lua"], tmp_path, given.encode(), limits)

    return run


def _untraced(folder: Path, given: str) -> subprocess.CompletedProcess[bytes]:
    command = ["luajit", "snippet.lua"]
    return subprocess.run(command, cwd=folder, input=given.encode(), capture_output=True, timeout=60, check=False)


def _without_address(text: bytes) -> bytes:
    return re.sub(rb"0x[0-9a-f]+", b"0x", text)


def assert_same(traced: Traced, folder: Path, given: str = "") -> None:
    plain = _untraced(folder, given)
    assert traced.process.returncode == plain.returncode
    assert _without_address(traced.process.stdout) == _without_address(plain.stdout)
    assert _without_address(traced.process.stderr) == _without_address(plain.stderr)


def test_a_function_is_called_runs_lines_and_returns(trace: Trace) -> None:
    traced = trace("local function f(n)\n  local m = n * 2\n  return m, 'x'\nend\nlocal a = f(3)\nprint(a)\n")
    assert traced.shown() == [
        "call 1",
        "line 4",
        "line 5 f=function: snippet.lua:1",
        "call 1 f n=3",
        "line 2",
        "line 3 m=6",
        'return 3 -> 6, "x"',
        "line 6 a=6",
        "return 6",
    ]
    assert traced.end == "complete"
    assert traced.process.stdout == b"6\n"


def test_each_of_several_returns_in_a_line_has_its_value(trace: Trace) -> None:
    program = "local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end\nprint(f(3))\n"
    assert [event.get("r") for event in trace(program).of("return")] == ["1", "0", "1", "1", "2", ""]


def test_globals_of_the_program_are_variables_of_the_main_chunk(trace: Trace) -> None:
    traced = trace("x = 1\nlocal function f()\n  x = x + 1\nend\nf()\nx = nil\nprint(_G.print ~= nil)\n")
    lines = [line for line in traced.shown() if line.startswith("line") and "x" in line.split("f=")[0]]
    assert lines == ["line 4 x=1", "line 6 x=2", "line 7 -x"]


def test_variables_that_leave_their_block_are_gone_and_inner_ones_hide_outer_ones(trace: Trace) -> None:
    program = "local x = 1\nfor i = 1, 2 do\n  local x = 'in'\n  print(x)\nend\nprint(x)\n"
    assert trace(program).shown()[1:] == [
        "line 1",
        "line 2 x=1",
        "line 3 i=1",
        'line 4 x="in"',
        "line 2 x=1 -i",
        "line 3 i=2",
        'line 4 x="in"',
        "line 2 x=1 -i",
        "line 6",
        "return 6",
    ]


def test_upvalues_and_variable_arguments_are_shown(trace: Trace) -> None:
    program = "local n = 0\nlocal function f(a, ...)\n  n = n + select('#', ...)\nend\nf(1, 'b', nil)\n"
    shown = trace(program).shown()
    assert 'call 2 f a=1 n=0 ...="b", nil' in shown
    assert "return 4" in shown
    assert "return 5 n=2" not in shown


def test_an_error_ends_the_scopes_that_it_leaves(trace: Trace) -> None:
    program = "local function g() local x; return x.y end\nlocal function f() return 1 + g() end\nprint(pcall(f))\n"
    traced = trace(program)
    message = "snippet.lua:1: attempt to index local 'x' (a nil value)"
    assert [(event["l"], event["d"], event["r"]) for event in traced.of("exception")] == [
        (1, 2, message),
        (2, 1, message),
    ]
    assert traced.process.stdout == f"false\t{message}\n".encode()
    assert traced.end == "complete"


def test_an_uncaught_error_is_the_last_event_and_reported_as_by_luajit(trace: Trace, tmp_path: Path) -> None:
    traced = trace("local function f() error('on purpose') end\nf()\n")
    assert traced.shown()[-2:] == [
        "exception 1 -> snippet.lua:1: on purpose",
        "exception 2 -> snippet.lua:1: on purpose",
    ]
    assert traced.end == "complete"
    assert_same(traced, tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        "print(debug.traceback('here'))",
        "print(xpcall(function() error('a') end, debug.traceback))",
        "print(pcall(error, 'a', 2)) print(pcall(error)) print(pcall()) ",
        "local function f() error('a', 2) end\nlocal function g() f() end\nprint(pcall(g))",
        "local function f() error('a', 2) end\nprint(pcall(f))",
        "return pcall(error, {})",
        "error({code = 3})",
        "error(setmetatable({}, {__tostring = function() return 'mine' end}))",
        "error()",
        "local x = = 1",
        "print(arg[0], arg[1], arg[-1], ...)",
        "print(debug.getinfo(1, 'S').short_src, debug.getinfo(1, 'l').currentline, debug.gethook())",
        "io.write('no newline') os.exit(3)",
        "print(package.loaded.ffi, package.loaded['jit.util'], coroutine.running())",
        "print(coroutine.resume(coroutine.create(function() error('x') end)))",
        "print(coroutine.resume(1))",
        "coroutine.wrap(function() error('x') end)()",
        "print(pcall(coroutine.yield, 1))",
        "string.format, table.concat, string.gsub = nil, nil, nil\nlocal t = {1}\nprint(#t)",
        "getmetatable(io.stdout).__index.write = nil\nprint('still')",
        "for line in io.lines() do print(line) end print(io.read())",
        "print(load('return 1 +')) print(loadstring('error(1)', '=x')) print(pcall(loadstring('error(1)')))",
        "local t = setmetatable({}, {__index = function(t, k) return k .. '!' end})\nprint(t.x, t.y)",
        "print(select('#', pcall(function() return nil, nil end)))",
        "goto done\nprint('skipped')\n::done::\nprint(('x'):rep(3))",
    ],
)
def test_a_program_behaves_as_without_the_tracer(program: str, trace: Trace, tmp_path: Path) -> None:
    given = "one\ntwo\n"
    assert_same(trace(program, given), tmp_path, given)


@pytest.mark.parametrize("name", ["hello", "echo", "sum", "crash"])
def test_contract_programs_behave_as_without_the_tracer(name: str, trace: Trace, tmp_path: Path, lua: Language) -> None:
    given = "3 4\n"
    traced = trace(lua.contract[name], given)
    assert traced.end == "complete"
    assert {event["e"] for event in traced.events} >= {"call", "line"}
    assert_same(traced, tmp_path, given)


def test_reference_programs_behave_as_without_the_tracer(trace: Trace, tmp_path: Path, lua: Language) -> None:
    tasks: dict[str | None, Task] = {}
    for task in islice(Starter().tasks("test"), len(FAMILIES)):
        tasks.setdefault(task.family, task)
    for task in tasks.values():
        given = task.tests[0].input
        traced = trace(lua.reference_for(task) or "", given)
        assert traced.end == "complete", task.family
        assert_same(traced, tmp_path, given)
    assert len(tasks) > 50


def test_a_coroutine_that_yields_returns_and_is_called_again(trace: Trace) -> None:
    program = (
        "local f = coroutine.wrap(function(a)\n  local b = coroutine.yield(a + 1)\n  return b\nend)\nf(1)\nf('x')\n"
    )
    assert trace(program).shown()[5:] == [
        "call 1 anonymous a=1",
        "line 2",
        "return 2 -> 2",
        "line 6",
        "call 2 anonymous a=1",
        'line 3 b="x"',
        'return 3 -> "x"',
        "return 6",
    ]


def test_an_error_in_a_coroutine_ends_its_scopes(trace: Trace) -> None:
    traced = trace("local c = coroutine.create(function()\n  error({code = 1})\nend)\nprint(coroutine.resume(c))\n")
    assert [(event["l"], event["r"]) for event in traced.of("exception")] == [(2, "{code=1}")]


def test_a_tail_call_leaves_its_scope_first(trace: Trace) -> None:
    program = "local function f(n)\n  if n == 0 then return 'end' end\n  return f(n - 1)\nend\nprint(f(2))\n"
    shown = [line for line in trace(program).shown() if not line.startswith("line")]
    assert shown == [
        "call 1",
        "call 1 f n=2",
        "return 3 -> (tail call)",
        "call 1 f n=1",
        "return 3 -> (tail call)",
        "call 1 f n=0",
        'return 2 -> "end"',
        "return 5",
    ]


HOSTILE = """
local t = {10, 20}
t.self = t
local lying = setmetatable({x = 1}, {__tostring = error, __index = error, __len = error, __eq = error, __lt = error})
local long = ('x'):rep(100000)
local deep = {}
local inner = deep
for i = 1, 100 do inner[1] = {} inner = inner[1] end
local bytes = '\\0\\255\\n"'
local many = {}
for i = 1, 2000 do many['k' .. i] = i end
local order = {z = 1, a = 2, [3.5] = 3, [true] = 4, ['a b'] = 5, [10] = 6}
local nan, big = 0 / 0, 2 ^ 53
print('end')
"""


def test_hostile_values_are_cut_and_none_of_their_code_runs(trace: Trace) -> None:
    traced = trace(HOSTILE, EVENTS=100000)
    texts: dict[str, str] = {}
    cut = set()
    for event in traced.events:
        texts |= event.get("v", {})
        cut |= set(event.get("c", ()))
    assert texts["t"] == "{10, 20, self=<cycle>}"
    assert texts["lying"] == "{x=1}"
    assert texts["bytes"] == r'"\000\255\n\""'
    assert texts["order"] == '{[3.5]=3, [10]=6, ["a b"]=5, [true]=4, a=2, z=1}'
    assert (texts["nan"], texts["big"]) == ("nan", "9.007199254741e+15")
    assert len(texts["long"]) == 1001
    assert {"long", "deep", "many"} <= cut
    assert traced.process.stdout == b"end\n"


def test_traces_are_the_same_in_every_run(trace: Trace) -> None:
    program = (
        "local t = {}\nfor w in ('a b c d e f'):gmatch('%a') do t[w] = {print, coroutine.create(print)} end\nx = t\n"
    )
    assert trace(program).events == trace(program).events


def test_a_limit_ends_the_trace_and_not_the_program(trace: Trace) -> None:
    program = "local s = 0\nfor i = 1, 1000 do\n  s = s + i\nend\nprint(s)\n"
    events, few_bytes = trace(program, EVENTS=10), trace(program, BYTES=500)
    assert (len(events.events), events.end, events.process.stdout) == (10, "events", b"500500\n")
    assert (few_bytes.end, few_bytes.process.stdout) == ("bytes", b"500500\n")


def test_deeper_scopes_are_not_traced(trace: Trace) -> None:
    program = "local function f(n)\n  if n > 0 then\n    f(n - 1)\n  end\nend\nf(50)\nprint('end')\n"
    traced = trace(program, DEPTH=3)
    assert max(event["d"] for event in traced.events) == 3
    assert (traced.end, traced.shown()[-1]) == ("complete", "return 7")


def test_a_stack_overflow_is_an_error_as_without_the_tracer(trace: Trace) -> None:
    traced = trace("local function f(n)\n  return 1 + f(n + 1)\nend\nprint(pcall(f, 1))\n", EVENTS=10**6)
    assert (traced.process.stdout, traced.end) == (b"false\tsnippet.lua:1: stack overflow\n", "depth")


def test_a_program_that_sets_a_hook_ends_the_trace(trace: Trace) -> None:
    program = "local n = 0\ndebug.sethook(function() n = n + 1 end, 'l')\nlocal a = 1\nprint(n > 0)\n"
    traced = trace(program)
    assert (traced.end, traced.process.stdout) == ("removed", b"true\n")
