"""The page of a trace in a real browser: headless Chromium, as Debian has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from agnostics.traces.events import Trace
from agnostics.traces.limits import TraceLimits
from agnostics.traces.page import render_page
from agnostics.traces.records import TraceRequest, record_of
from agnostics.traces.runner import TracedRun
from agnostics.traces.wire import read_trace
from agnostics.types.verification import Verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>\u202e"
PROGRAM = "def f(n):\n    m = n\n    return m\nx = f(1)\nf(2)\n1 / 0\n" + "\n" * 80 + f"# {HOSTILE}"
EVENTS = (
    '{"e":"line","l":1,"d":0}\n{"e":"line","l":4,"d":0,"v":{"f":"<function f>"}}\n'
    '{"e":"call","l":1,"d":1,"f":"f","v":{"n":"1"}}\n{"e":"line","l":2,"d":1}\n'
    '{"e":"line","l":3,"d":1,"v":{"m":"1"},"g":["n"]}\n{"e":"return","l":3,"d":1,"r":"1"}\n'
    '{"e":"line","l":5,"d":0,"v":{"x":"<b>1\\u2026"},"c":["x"]}\n'
    '{"e":"exception","l":6,"d":0,"r":"ZeroDivisionError: division by zero"}\n{"e":"line","l":87,"d":0}\n'
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not here")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


def page_of(trace: Trace | None) -> str:
    run = TracedRun(Verdict.RUNTIME_ERROR, 1, None, HOSTILE.encode(), b"", trace, "" if trace else "it left none")
    return render_page(record_of(TraceRequest(HOSTILE, PROGRAM, "in"), "k", "python", run))


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "trace.html"
    path.write_text(page_of(read_trace(PROGRAM, EVENTS.encode(), TraceLimits())), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 700})
    opened, errors = context.new_page(), list[str]()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text))
    opened.goto(f"file://{path}")
    yield opened
    assert opened.evaluate("window.hit") is None
    assert opened.locator("img").count() == 0
    assert errors == []
    context.close()


def state(page: Page) -> tuple[str, str, str, list[str], list[str]]:
    """The place, the current line, the step, the locals with those that changed marked, and the call stack."""
    rows = page.locator("#locals tr").evaluate_all(
        "rows => rows.map(row => row.className + ':' + row.cells[0].textContent + '=' + row.cells[1].textContent)"
    )
    here = page.locator("#code .here").get_attribute("data-n") or ""
    step = " ".join(page.inner_text("#event").split())
    return page.inner_text("#place"), here, step, rows, page.locator("#stack li span:first-child").all_inner_texts()


def test_keys_step_through_the_program_with_its_locals_and_call_stack(page: Page) -> None:
    assert state(page) == ("event 1 of 9", "1", "line def f(n):", [], ["<module>"])
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert state(page) == ("event 5 of 9", "3", "line return m", ["changed:m=1", "gone:n="], ["<module>", "f"])
    assert page.locator("#code .caller").get_attribute("data-n") == "4"
    page.keyboard.press("ArrowLeft")
    assert state(page)[3] == [":n=1"]
    page.keyboard.press("o")
    assert state(page)[:2] == ("event 7 of 9", "5")
    assert state(page)[3] == [":f=<function f>", "changed:x=<b>1…"]
    page.keyboard.press("ArrowUp")
    assert state(page)[:2] == ("event 2 of 9", "4")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    assert state(page)[2] == "exception 1 / 0 → ZeroDivisionError: division by zero"
    assert "failed" in (page.locator("#code .here").get_attribute("class") or "")
    page.keyboard.press("End")
    assert state(page)[1] == "87"
    assert page.locator("#code .here").is_visible()
    assert page.locator("#code").evaluate("code => code.scrollTop") > 0
    page.keyboard.press("Home")
    assert state(page)[0] == "event 1 of 9"


def test_scopes_without_a_name_are_told_apart(browser: Browser, tmp_path: Path) -> None:
    events = (
        '{"e":"call","l":1,"d":0,"f":""}\n{"e":"call","l":2,"d":1,"f":""}\n{"e":"line","l":3,"d":3,"f":"g"}\n'
        '{"e":"line","l":4,"d":0}\n'
    )
    path = tmp_path / "trace.html"
    path.write_text(page_of(read_trace(PROGRAM, events.encode(), TraceLimits())), encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{path}")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert state(page)[4] == ["main program", "(anonymous)", "(not traced)", "g"]


def test_the_slider_and_the_buttons_step_too(page: Page) -> None:
    page.locator("#slider").fill("6")
    assert state(page)[0] == "event 7 of 9"
    page.get_by_role("button", name="back").click()
    assert state(page)[2] == "return return m → 1"
    page.get_by_role("button", name="last event").click()
    assert state(page)[0] == "event 9 of 9"


def test_invisible_characters_are_shown(page: Page) -> None:
    assert "U+202E" in page.inner_text("#stdout pre")
    assert page.inner_text("h1").startswith("</script>")


def test_a_program_without_a_trace_has_a_page_that_says_so(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "trace.html"
    path.write_text(page_of(None), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(f"file://{path}")
    assert opened.is_visible("#empty")
    assert "no trace: it left none" in opened.inner_text("header")
    opened.keyboard.press("ArrowRight")
    assert opened.is_disabled("#slider")
    opened.close()
