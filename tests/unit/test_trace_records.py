"""Traces in files and on pages: what is written is read, and no text of a program becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from agnostics.traces.events import Trace, TraceEvent
from agnostics.traces.limits import TraceLimits
from agnostics.traces.make import open_partial
from agnostics.traces.page import render_page
from agnostics.traces.records import TraceRecord, TraceRequest, read_records, read_requests, record_of, to_line
from agnostics.traces.runner import TracedRun
from agnostics.traces.text import text_lines
from agnostics.types.errors import UsageError
from agnostics.types.verification import Verdict
from hypothesis import given
from hypothesis import strategies as st

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&lt;\u2028@data@\u202e\x1b[31m"
texts = st.text(st.characters(exclude_categories=["Cs"]))
events = st.builds(
    TraceEvent,
    kind=st.sampled_from(["call", "line", "return", "exception"]),
    line=st.integers(1, 9),
    depth=st.integers(0, 9),
    name=texts,
    source=texts,
    changed=st.dictionaries(texts, texts),
    gone=st.lists(texts).map(tuple),
    value=st.none() | texts,
    cut=st.lists(texts).map(tuple),
)


def recorded(program: str, trace: Trace | None, text: str = "") -> TraceRecord:
    request = TraceRequest(text or "a", program, text)
    run = TracedRun(Verdict.ACCEPTED, 0, None, text.encode(), text.encode(), trace, "" if trace else "gone")
    return record_of(request, request.key("python", TraceLimits()), "python", run)


@given(texts, st.none() | st.lists(events).map(tuple))
def test_what_is_written_to_a_file_is_read_again(program: str, made: tuple[TraceEvent, ...] | None) -> None:
    trace = None if made is None else Trace(program, made, "events")
    record = recorded(program, trace, program)
    line = to_line(record)
    assert line.count(b"\n") == 1
    assert json.loads(line)["program"] == program
    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(line * 2)
        file.flush()
        assert list(read_records(Path(file.name))) == [record, record]
    assert record.trace() == trace


def test_a_program_that_is_asked_for_twice_is_there_twice(tmp_path: Path) -> None:
    record = recorded("x", Trace("x", ()))
    with open_partial(tmp_path / "traces.jsonl", anew=False) as partial:
        assert not partial.has(record.key)
        partial.add(record)
        partial.add(record)
    with open_partial(tmp_path / "traces.jsonl", anew=False) as partial:
        assert [partial.has(record.key) for _ in range(3)] == [True, True, False]
        partial.finish(None)
    assert list(read_records(tmp_path / "traces.jsonl")) == [record, record]


@pytest.mark.parametrize("change", [{"program": 5}, {"id": None}, {"exit_code": "0"}, {"events": [{}]}, {"key": ...}])
def test_a_line_that_is_no_record_is_named(change: dict[str, object], tmp_path: Path) -> None:
    row = {**json.loads(to_line(recorded("x", Trace("x", ())))), **change}
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps({name: value for name, value in row.items() if value is not ...}))
    with pytest.raises(UsageError, match=r"traces\.jsonl:1: no record of a trace"):
        list(read_records(path))


def test_a_key_is_that_of_all_that_a_trace_depends_on() -> None:
    requests = [TraceRequest("1", "x"), TraceRequest("2", "x"), TraceRequest("1", "y"), TraceRequest("1", "x", "y")]
    keys = {request.key(language, limits) for request in requests for language in ("lua", "python")
            for limits in (TraceLimits(), TraceLimits(value=5))}  # fmt: skip
    assert len(keys) == 16


def test_programs_are_numbered_by_their_lines() -> None:
    lines = [b'{"program": "a"}', b'{"program": "b", "input": "1", "id": "x", "other": 1}']
    assert list(read_requests(lines, "f")) == [TraceRequest("1", "a"), TraceRequest("x", "b", "1")]
    with pytest.raises(UsageError, match="f:1"):
        list(read_requests([b'{"program": 1}'], "f"))


def test_no_text_of_a_program_is_markup_on_its_page() -> None:
    event = TraceEvent("exception", 1, 0, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, (HOSTILE,), HOSTILE, (HOSTILE,))
    page = render_page(recorded(HOSTILE, Trace(HOSTILE, (event,)), HOSTILE))
    plain = render_page(recorded("", Trace("", ())))
    tags = re.compile(r"<[a-z/!][^\s>]*", re.I)
    assert tags.findall(page) == tags.findall(plain)
    data = json.loads(page.split('id="trace">')[1].split("</script>")[0])
    assert data["stdout"] == HOSTILE
    assert data["events"][0]["changed"] == {HOSTILE: HOSTILE}
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_the_policy_of_a_page_allows_its_own_script_and_style_alone() -> None:
    page = render_page(recorded("x", Trace("x", ())))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    script, style = page.split("<script>")[1].split("</script>")[0], page.split("<style>")[1].split("</style>")[0]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy[1] == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"(src|href)=", page)


def test_a_trace_as_text_has_a_line_for_each_event_and_each_change() -> None:
    shown = [
        TraceEvent("call", 1, 0, "f", "def f(n):", {"n": "1\n2"}),
        TraceEvent("line", 2, 1, "g", "    x\r", {}, ("n",)),
        TraceEvent("return", 2, 0, "f", "  return n", value="1"),
    ]
    assert list(text_lines(Trace("", tuple(shown), "events"))) == [
        "        n = 1 2",
        "    1 call      def f(n):",
        "          n is gone",
        "    2   line      x",
        "    2 return    return n  → 1",
        "ended: events",
    ]
