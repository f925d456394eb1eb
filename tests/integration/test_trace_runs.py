"""Programs are traced in the sandbox, in both modes; one that is hostile to its tracer spoils its own trace alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from agnostics.traces.cwm_format import parse_text, render_text, render_trace
from agnostics.traces.events import TraceEvent, scope_locals
from agnostics.traces.limits import TraceLimits
from agnostics.traces.python import PYTHON
from agnostics.traces.runner import TracedRun, TraceRunner
from agnostics.types.errors import MissingRequirement
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict
from traced_programs import PROGRAMS

CRUXEVAL = Path(__file__).parents[3] / "shared" / "data" / "cruxeval" / "cruxeval.jsonl"
MARK = "  # << START_OF_TRACE"
SMALL = TraceLimits(events=500, depth=20, value=100, bytes=100_000)
HOSTILE = """
class Meta(type):
    def __getattribute__(cls, name):
        print("meta"); return type.__getattribute__(cls, name)
    def __repr__(cls):
        print("meta"); return "lie"
class Evil(metaclass=Meta):
    def __init__(self): self.x = 1
    def __repr__(self): raise SystemError
    def __str__(self): print("str")
    def __eq__(self, other): print("eq"); return True
    def __hash__(self): print("hash"); return 1
    def __getattr__(self, name): print("getattr"); raise OSError
    def __getattribute__(self, name):
        print("getattribute")
        return object.__getattribute__(self, name)
    __class__ = property(lambda self: print("class"))
class Number(int):
    def __repr__(self): print("int"); return "lie"
class Text(str):
    def __str__(self): print("str"); return "lie"
class Items(list):
    def __iter__(self): print("iter"); return iter([])
    def __len__(self): print("len"); return 1
class Bad(Exception):
    def __str__(self): print("exc"); return "lie"
e = Evil()
kept = [e, {"k": Number(3)}, Text("t"), Items([1])]
try:
    raise Bad("text")
except Bad as caught:
    error = caught
last = 1
"""


@pytest.fixture(scope="module")
def runner(mode: str) -> Iterator[TraceRunner]:
    with TraceRunner(PYTHON, mode, Limits(run_s=1.0), SMALL) as runner:
        yield runner


def traced(runner: TraceRunner, program: str, stdin: str = "") -> TracedRun:
    return runner.run(program, stdin)


def events_of(run: TracedRun) -> tuple[TraceEvent, ...]:
    assert run.trace, run
    return run.trace.events


def last_locals(run: TracedRun) -> dict[str, str]:
    return list(scope_locals(events_of(run)[:-1]))[-1]


def test_a_program_reads_and_prints_as_without_its_tracer(runner: TraceRunner) -> None:
    program = "import sys\nn = int(input())\nprint(n + 1, sys.argv, __name__)\nsys.stderr.write('e')\nsys.exit(n)\n"
    run = traced(runner, program, "7\n")
    assert (run.exit_code, run.verdict) == (7, Verdict.RUNTIME_ERROR)
    assert (run.stdout, run.stderr) == (b"8 ['solution.py'] __main__\n", b"e")
    kinds = [(event.kind, event.line, dict(event.changed), event.value) for event in events_of(run)]
    assert kinds == [
        ("line", 1, {}, None),
        ("line", 2, {"sys": "<module 'sys'>"}, None),
        ("line", 3, {"n": "7"}, None),
        ("line", 4, {}, None),
        ("line", 5, {}, None),
        ("exception", 5, {}, "SystemExit: 7"),
        ("return", 5, {}, "None"),
    ]
    assert run.trace
    assert run.trace.ended == "complete"


def test_a_marked_function_is_traced_when_it_is_first_called(runner: TraceRunner) -> None:
    program = (
        f"import functools\n@functools.cache\ndef f(n):{MARK}\n    del n\n    return g()\n"
        "def g():\n    return [1]\nx = 3\nf(x)\nf(x + 1)\n"
    )
    run = traced(runner, program)
    assert [(event.kind, event.line, event.depth, event.source) for event in events_of(run)] == [
        ("call", 3, 0, "def f(n):"),
        ("line", 4, 0, "    del n"),
        ("line", 5, 0, "    return g()"),
        ("call", 6, 1, "def g():"),
        ("line", 7, 1, "    return [1]"),
        ("return", 7, 1, "    return [1]"),
        ("return", 5, 0, "    return g()"),
    ]
    assert events_of(run)[2].gone == ("n",)
    assert run.trace
    text = render_trace(run.trace)
    assert render_text(parse_text(text)) == text
    assert text.startswith("<|trace_context_start|>import functools\n")
    assert text.endswith('<|return_sep|><|action_sep|>    return g()\n<|arg_sep|>"[1]"<|frame_sep|><|end_of_text|>')


def test_uncaught_exceptions_are_traced_through_every_scope(runner: TraceRunner) -> None:
    run = traced(runner, "def f():\n    return {}['k']\ntry:\n    f()\nexcept KeyError:\n    pass\nf()\n")
    raised = [(event.line, event.depth, event.value) for event in events_of(run) if event.kind == "exception"]
    assert raised == [
        (2, 1, "KeyError: 'k'"),
        (4, 0, "KeyError: 'k'"),
        (2, 1, "KeyError: 'k'"),
        (7, 0, "KeyError: 'k'"),
    ]
    assert run.stderr.decode().splitlines()[0] == "Traceback (most recent call last):"
    assert b"agn_trace" not in run.stderr


def test_no_code_of_the_program_is_run_for_a_value(runner: TraceRunner) -> None:
    run = traced(runner, HOSTILE)
    assert (run.stdout, run.stderr, run.exit_code) == (b"", b"", 0)
    values = last_locals(run)
    assert values["kept"] == "[<Evil x=1>, {'k': <Number 3>}, <Text 't'>, <Items [1]>]"
    assert values["error"] == "Bad('text')"
    assert values["Evil"] == "<class '__main__.Evil'>"
    assert [event.value for event in events_of(run) if event.kind == "exception"] == ["Bad: text"]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("[1, 2.5, True, None, ..., 'it\\'s', b'x', 1j]", """[1, 2.5, True, None, Ellipsis, "it's", b'x', 1j]"""),
        ("{1: (2,), 'k': {3}}, frozenset(), set(), {}", "({1: (2,), 'k': {3}}, frozenset(), set(), {})"),
        ("range(3), range(1, 9, 2), slice(1)", "(range(0, 3), range(1, 9, 2), slice(None, 1, None))"),
        ("'\\ud800\\u00e9\\u2028\\U0001f600\\n\\x7f'", "'\\ud800é\\u2028😀\\n\\x7f'"),
        ("(lambda a: a), len, [].append, int",
         "(<function f.<locals>.<lambda>>, <built-in function len>, <built-in method append>, <class 'int'>)"),
        ("__import__('collections').Counter('abb')", "Counter({'b': 2, 'a': 1})"),
        ("__import__('collections').deque([1], 2)", "deque([1], maxlen=2)"),
        ("__import__('collections').namedtuple('P', 'a b')(1, [2])", "P(a=1, b=[2])"),
        ("__import__('decimal').Decimal('1.5')", "Decimal('1.5')"),
        ("__import__('datetime').date(2026, 1, 2)", "datetime.date(2026, 1, 2)"),
        ("(n for n in ()), iter([])", "(<generator f.<locals>.<genexpr>>, <list_iterator object>)"),
        ("{'a': 1}.items()", "dict_items([('a', 1)])"),
    ],
)  # fmt: skip
def test_values_of_python_s_types_are_their_reprs_without_addresses(
    runner: TraceRunner, expression: str, text: str
) -> None:
    run = traced(runner, f"def f():{MARK}\n    return {expression}\nf()\n")
    assert events_of(run)[-1].value == text
    assert run.stderr == b""


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        ("'x' * 10**7", "'xxx"),
        ("'\\'' + '\"' + 'x' * 10**6", "'\\'\"xxx"),
        ("list(range(10**6))", "[0, 1, 2"),
        ("10 ** 100000", "<int of 332193 bits>…"),
        ("7 ** 200", "104618"),
        ("dict.fromkeys(range(10**5), 0)", "{0: 0, 1: 0"),
        ("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "[[[["),
        ("bytes(10**6)", "b'\\x00"),
    ],
)
def test_a_value_that_is_huge_or_deep_is_cut_and_says_so(runner: TraceRunner, expression: str, start: str) -> None:
    run = traced(runner, f"def f():{MARK}\n    x = {expression}\n    return x\nf()\n")
    *_, line, returned = events_of(run)
    assert (line.cut, returned.cut) == (("x",), ("value",))
    for text in (line.changed["x"], returned.value or ""):
        assert text.startswith(start)
        assert text.endswith("…")
        assert len(text) <= 101


def test_cyclic_values_are_shown_as_their_reprs_are(runner: TraceRunner) -> None:
    program = "a = [1]\na.append(a)\nd = {}\nd['d'] = (d,)\nclass C: pass\nc = C()\nc.me = [c]\nlast = 1\n"
    values = last_locals(traced(runner, program))
    assert {name: values[name] for name in "adc"} == {
        "a": "[1, [...]]",
        "d": "{'d': ({...},)}",
        "c": "<C me=[<C ...>]>",
    }


def test_a_slot_that_a_class_has_from_another_one_is_no_attribute(runner: TraceRunner) -> None:
    program = """
class Large:
    __slots__ = [*map("at{}".format, range(20000))]
class Small:
    __slots__ = ["own"]
    far = Large.at19999
objects = [Small(), Small()]
objects[0].own = 5
last = 1
"""
    run = traced(runner, program)
    assert run.verdict is Verdict.ACCEPTED
    assert last_locals(run)["objects"] == "[<Small own=5>, <Small>]"


def test_a_change_within_a_value_is_seen(runner: TraceRunner) -> None:
    run = traced(runner, "a = [1]\nb = a\nb.append(2)\nc = 1\n")
    assert [dict(event.changed) for event in events_of(run)] == [
        *({}, {"a": "[1]"}, {"b": "[1]"}),
        *({"a": "[1, 2]", "b": "[1, 2]"}, {}),
    ]


@pytest.mark.parametrize(
    ("program", "ended"),
    [
        ("n = 0\nwhile n < 10**4:\n    n += 1\nprint('done')\n", "events"),
        ("for n in range(99):\n    a = b = c = d = str(n) * 200\nprint('done')\n", "bytes"),
    ],
)  # fmt: skip
def test_a_limit_ends_the_trace_and_not_the_program(mode: str, program: str, ended: str) -> None:
    with TraceRunner(PYTHON, mode, Limits(run_s=5.0), TraceLimits(events=1000, bytes=50_000)) as runner:
        run = traced(runner, program)
    assert run.trace
    assert (run.trace.ended, run.stdout) == (ended, b"done\n")
    if ended == "events":
        assert len(run.trace.events) == 1000


def test_deep_scopes_are_left_out(runner: TraceRunner) -> None:
    run = traced(runner, "def f(n):\n    return f(n - 1) + 1 if n else 0\nprint(f(100))\n")
    assert run.stdout == b"100\n"
    assert max(event.depth for event in events_of(run)) == SMALL.depth
    assert run.trace
    assert run.trace.ended == "complete"


def test_an_endless_loop_leaves_its_first_events(runner: TraceRunner) -> None:
    run = traced(runner, "def f():\n    while True:\n        pass\nf()\n")
    assert run.verdict is Verdict.TIME_LIMIT
    assert run.trace
    assert (run.trace.ended, len(run.trace.events)) == ("events", SMALL.events)
    run = traced(runner, "n = 1\nwhile True: __import__('time').sleep(0.1)\n")
    assert run.verdict is Verdict.TIME_LIMIT
    assert run.trace
    assert run.trace.ended == "killed"
    assert events_of(run)[1].changed == {"n": "1"}


def test_endless_recursion_ends_as_without_a_tracer(runner: TraceRunner) -> None:
    run = traced(runner, "def f(n):\n    return f(n + 1)\nf(0)\n")
    assert run.stderr.decode().splitlines()[-1].startswith("RecursionError: maximum recursion depth exceeded")
    assert run.exit_code == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_whatever_python_has_runs_as_without_a_tracer(runner: TraceRunner, name: str) -> None:
    program, stdout = PROGRAMS[name]
    run = traced(runner, program)
    assert (run.stdout.decode(), run.stderr.decode(), run.exit_code) == (stdout, "", 0)
    assert run.trace, run.error
    assert run.trace.ended == "complete"
    assert render_text(parse_text(render_trace(run.trace))) == render_trace(run.trace)


def test_the_events_of_a_fork_are_not_those_of_its_parent(runner: TraceRunner) -> None:
    program = "import os\npid = os.fork()\nif pid == 0:\n    x = 1\nelse:\n    os.waitpid(pid, 0)\n    y = 2\nz = 3\n"
    assert "x" not in {name for event in events_of(traced(runner, program)) for name in event.changed}


@pytest.mark.parametrize("program", ["import sys\nsys.settrace(None)\nx = 1\n", "import sys\nsys.settrace(print)\n"])
def test_a_program_that_removes_its_tracer_is_told_of(runner: TraceRunner, program: str) -> None:
    run = traced(runner, program)
    assert run.exit_code == 0
    assert run.trace
    assert (run.trace.ended, len(run.trace.events)) == ("removed", 2)


def test_os_exit_leaves_the_events_before_it(runner: TraceRunner) -> None:
    run = traced(runner, "import os\nx = 1\nos._exit(3)\n")
    assert run.exit_code == 3
    assert run.trace
    assert (run.trace.ended, len(run.trace.events)) == ("killed", 3)


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ("os.unlink(t)", "cannot read"),
        ("os.unlink(t); os.mkfifo(t)", ""),
        ("os.unlink(t); os.symlink('/dev/zero', t)", "larger than"),
        ('os.unlink(t); open(t, \'w\').write(\'{"e":"line","l":99,"d":0}\\n\')', "line 1 of the trace"),
        ("open(t, 'r+').write('nonsense\\n')", "line 1 of the trace"),
        ("open(t, 'w')", ""),
        ("os.closerange(3, 99)", ""),
        ("os.chmod(t, 0)", ""),
    ],
)
def test_a_program_that_meddles_with_its_trace_spoils_its_own_alone(
    runner: TraceRunner, action: str, error: str
) -> None:
    run = traced(runner, f"import os\nt = os.environ['AGN_TRACE']\n{action}\nx = 1\n")
    assert run.trace is None if error else run.verdict
    assert error in run.error
    after = traced(runner, "x = 1\n")
    assert after.trace
    assert after.trace.ended == "complete"


def test_a_syntax_error_is_the_program_s(runner: TraceRunner) -> None:
    run = traced(runner, "x = 1\nif x\n")
    assert (run.exit_code, run.verdict) == (1, Verdict.RUNTIME_ERROR)
    assert run.stderr.decode().splitlines()[-1].startswith("SyntaxError")
    assert events_of(run) == ()


def test_traces_of_several_threads_are_the_same_as_one_after_the_other(runner: TraceRunner) -> None:
    programs = [
        f"import random\nrandom.seed({n})\nx = [set('abcdef'), random.random(), object()]\ny = {n}\n" for n in range(6)
    ]
    with ThreadPoolExecutor(3) as threads:
        at_once = list(threads.map(lambda program: traced(runner, program), programs))
    assert at_once == [traced(runner, program) for program in programs]


def test_a_tracer_that_cannot_be_compiled_is_one_line_with_what_to_install(mode: str) -> None:
    assert PYTHON.trace
    broken = PYTHON.model_copy(update={"trace": PYTHON.trace.model_copy(update={"build": "gcc -c missing.c"})})
    with TraceRunner(broken, mode) as runner, pytest.raises(MissingRequirement) as error:
        runner.run("x = 1\n")
    assert "missing.c" in str(error.value)
    assert "apt-get install" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(not CRUXEVAL.is_file(), reason="CruxEval is not beside this checkout (../shared/data)")
def test_each_trace_of_cruxeval_ends_in_the_recorded_output(mode: str) -> None:
    records = [json.loads(line) for line in CRUXEVAL.read_text(encoding="utf-8").splitlines()]
    programs = [f"{_marked(record['code'])}\nf({record['input']})\n" for record in records]
    with TraceRunner(PYTHON, mode, trace_limits=TraceLimits(value=10_000)) as runner, ThreadPoolExecutor(2) as threads:
        runs = list(threads.map(runner.run, programs))
    wrong = {}
    for record, run in zip(records, runs, strict=True):
        last = events_of(run)[-1]
        if (last.kind, last.depth, run.trace and run.trace.ended) != ("return", 0, "complete") or not _same(
            last.value, record["output"]
        ):
            wrong[record["id"]] = (last, record["output"], run.error)
    assert wrong == {}
    assert len(runs) == 800


def _same(value: str | None, output: str) -> bool:
    """The recorded outputs are expressions, of which some are no reprs."""
    return value == output or value == repr(eval(output))


def _marked(code: str) -> str:
    lines = code.split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith("def f("))
    lines[place] += MARK
    return "\n".join(lines)
