"""The results pages in a real browser: headless Chromium, as Debian has it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest
from agnostics.store import CompletionRecord, Recorder, Store
from agnostics.store.read_only import ReadOnlyStore
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import CompileResult, Difference, TestResult, Verdict
from agnostics.web.server import ResultsServer
from msgspec.structs import replace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

HOSTILE = (
    "</pre></script><script>window.hit=1;alert(1)</script><img src=x onerror='window.hit=1'><svg onload=window.hit=1>"
    "<a href='javascript:window.hit=1' autofocus onfocus=window.hit=1>x</a>\u202e\" onmouseover=window.hit=1"
    "{{ 9 * 'q' }}"
)
LONG = "W" * 3000
PIXELS = """() => [...document.querySelectorAll("canvas")].map((canvas) => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, place) => place % 4 == 3 && value).length;
})"""
LAST_STEP = ".u-legend .u-series:first-child .u-value"
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = (name) => {
    canvas.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    canvas.fillRect(0, 0, 1, 1);
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255);
    const [r, g, b] = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = ["ink", "quiet", "accent"].flatMap((text) => [[text, "ground"], [text, "raised"]]);
  return [...pairs, ["mark-ink", "mark"]].map(([a, b]) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  });
}"""


@dataclass(frozen=True)
class Served:
    """A server, its store and its runs: a finished run, a hostile one, one that goes on, and an evaluation."""

    url: str
    reader: ReadOnlyStore
    store: Store
    finished: str
    hostile: str
    running: str
    evaluated: str
    record: Callable[..., CompletionRecord]

    def pages(self, run: str) -> list[str]:
        with self.reader.reading() as connection:
            query = "select task_id, completion_id from verification where run_id = ? order by completion_id limit 1"
            ((task, program),) = connection.exec_driver_sql(query, (run,))
            newest = "select max(completion_id) from verification where run_id = ?"
            ((last,),) = connection.exec_driver_sql(newest, (run,))
        of_run = [f"runs/{run}", f"runs/{run}/tasks", f"runs/{run}/steps", f"runs/{run}/steps/1"]
        of_rows = [f"tasks/{task}", f"programs/{program}", f"programs/{last}", f"runs/{run}/programs"]
        return ["", *of_run, *of_rows, "search?q=print", "search?q=t&in=tasks"]


def write_step(recorder: Recorder, record: Callable[..., CompletionRecord], step: int) -> None:
    for sample in range(4):
        verdict = Verdict.ACCEPTED if sample < step else Verdict.WRONG_ANSWER
        recorder.completion(record(verdict, step=step, task=f"starter/{sample // 2}", sample=sample, reward=1.0))
    fractions = {"fraction_accepted": step / 40, "fraction_wrong_answer": 1 - step / 40}
    seconds = {"generation_s": 1.0, "update_s": 0.5, "step_s": 1.6, "idle_training": 0.7, "idle_generation": 0.4}
    recorder.step(step, {"pass_rate": step / 40, "reward_mean": 0.5, "tokens_mean": 40.0, **fractions, **seconds})


def hostile_record(ordinary: CompletionRecord) -> CompletionRecord:
    difference = Difference(0, 0, "HERE", HOSTILE)
    test = TestResult(Verdict.WRONG_ANSWER, 1, 1, 1, 0, None, HOSTILE + LONG, HOSTILE, difference=difference)
    compiled = CompileResult(True, 1, 1, 1, 0, None, HOSTILE)
    outcome = replace(ordinary.verification, program=f"print{HOSTILE}{LONG}", tests=(test,), compile=compiled)
    hostile = Test(input=HOSTILE, output="HERE" + LONG)
    task = Task(id=HOSTILE + LONG, statement=HOSTILE + LONG, family=HOSTILE, tests=(hostile,))
    return replace(ordinary, task=task, text=HOSTILE, verification=outcome)


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory,
    lua: Language,
    record: Callable[..., CompletionRecord],
    episode: Callable[..., CompletionRecord],
) -> Iterator[Served]:
    database = str(tmp_path_factory.mktemp("browser") / "results.db")
    with Store.open(database) as store:
        settings: list[tuple[str, dict[str, Any]]] = [("small", {"steps": 40}), (HOSTILE + LONG, {HOSTILE: HOSTILE})]
        finished, hostile, running = (
            store.start_run(kind="train", config=config, language=lua, model=model, dataset="starter", seed=0)
            for model, config in [*settings, ("small", {})]
        )
        with store.recorder(finished) as recorder:
            for step in range(1, 41):
                write_step(recorder, record, step)
            for step, phase in ((0, "eval_before"), (40, "eval_after")):
                recorder.step(step, {f"{phase}_pass_at_1{end}": 0.4 + step / 100 for end in ("", "_low", "_high")})
        store.finish_run(finished, "finished", {})
        with store.recorder(hostile) as recorder:
            recorder.completion(hostile_record(record(Verdict.WRONG_ANSWER)))
            recorder.completion(hostile_record(episode(hostile=f"{HOSTILE}{LONG}\n```{HOSTILE}\n{HOSTILE}{LONG}\n```")))
            recorder.step(1, {"pass_rate": 0.0})
        evaluated = store.start_run(kind="eval", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(evaluated) as recorder:
            recorder.completion(record(phase="eval", step=0))
        with ReadOnlyStore.open(database) as reader, serving(ResultsServer(reader, "127.0.0.1", 0)) as url:
            yield Served(url, reader, store, finished, hostile, running, evaluated, record)


@contextmanager
def serving(site: ResultsServer) -> Iterator[str]:
    """The address of `site`, which answers inside the block."""
    thread = threading.Thread(target=site.serve, daemon=True)
    thread.start()
    try:
        yield site.url
    finally:
        site.server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    """A page that must stay silent: an error, a breach of the policy, a message or a new window fails the test."""
    faults: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        faults.append(dialog.message)
        dialog.dismiss()

    page = chromium.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", dismiss)
    page.on("popup", lambda window: faults.append(window.url))
    yield page
    page.close()
    assert faults == []


def test_every_page_loads_and_the_charts_draw(served: Served, tab: Page) -> None:
    for path in (*served.pages(served.finished), f"runs/{served.evaluated}"):
        answer = tab.goto(served.url + path)
        assert answer is not None
        assert answer.status == 200, path
        assert tab.locator("h1").count() == 1
    tab.goto(f"{served.url}runs/{served.finished}")
    tab.wait_for_selector(".u-legend")
    pixels = tab.evaluate(PIXELS)
    assert len(pixels) == 6
    assert min(pixels) > 300
    assert tab.locator(LAST_STEP).first.inner_text() == "40"


def test_the_losses_of_a_supervised_run_are_drawn(served: Served, tab: Page, lua: Language) -> None:
    run = served.store.start_run(kind="sft", config={}, language=lua, model="m", dataset="a.jsonl", seed=0)
    with served.store.recorder(run) as recorder:
        for step in range(1, 31):
            recorder.step(step, {"loss": 3 / step, "grad_norm": 1.0 / step, "tokens_per_s": 900.0 + step})
            if step % 10 == 0:
                recorder.step(step, {"eval_during_loss": 4 / step})
    served.store.finish_run(run, "finished", {})
    tab.goto(f"{served.url}runs/{run}")
    tab.wait_for_selector(".u-legend")
    assert tab.locator("figcaption").all_inner_texts() == ["Loss, nats per token", "Gradient norm", "Tokens per second"]
    assert min(tab.evaluate(PIXELS)) > 300
    assert "validation" in tab.locator(".u-legend").first.inner_text()


def test_a_run_that_is_written_grows_on_its_page_without_a_reload(served: Served, tab: Page) -> None:
    with served.store.recorder(served.running) as recorder:
        write_step(recorder, served.record, 1)
        recorder.flush()
        tab.goto(f"{served.url}runs/{served.running}")
        tab.wait_for_selector(".u-legend")
        assert "Live" in tab.locator(".news").inner_text()
        tab.evaluate("window.kept = true")
        for step in range(2, 9):
            write_step(recorder, served.record, step)
        recorder.flush()
        tab.wait_for_selector("#tables .list tbody tr:first-child th >> text=8")
        assert tab.locator(LAST_STEP).first.inner_text() == "8"
        served.store.finish_run(served.running, "finished", {})
        tab.wait_for_selector("#tiles .s-finished")
        tab.wait_for_selector(".news:empty", state="attached")
    assert tab.evaluate("window.kept")


def test_hostile_texts_do_nothing_on_any_page(served: Served, tab: Page) -> None:
    for path in served.pages(served.hostile):
        tab.goto(served.url + path)
        tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        if path.startswith("runs/"):
            tab.wait_for_load_state("networkidle")
        assert tab.evaluate("[...document.scripts].every((one) => one.src.startsWith(location.origin + '/static/'))")
        assert tab.evaluate("document.querySelectorAll('img[src=x], svg[onload], [onmouseover]').length") == 0
        assert "\u202e" not in tab.inner_text("main")
        assert "qqq" not in tab.inner_text("main")
        assert tab.evaluate("window.hit") is None
    tab.goto(f"{served.url}programs/{served.pages(served.hostile)[6].partition('/')[2]}")
    assert "U+202E" in tab.inner_text(".code")
    tab.goto(served.url + served.pages(served.hostile)[7])
    assert "U+202E" in tab.inner_text(".action .code")
    assert tab.locator(".call.failed").count() == 1


def test_a_phone_shows_every_page_without_scrolling_sideways(served: Served, tab: Page) -> None:
    tab.set_viewport_size({"width": 360, "height": 740})
    for path in (f"runs/{served.finished}", *served.pages(served.hostile)):
        tab.goto(served.url + path)
        tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        if path == f"runs/{served.finished}":
            tab.wait_for_selector(".u-legend")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_the_keyboard_is_enough(served: Served, tab: Page) -> None:
    tab.goto(f"{served.url}runs/{served.finished}/tasks")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.innerText") == "Skip to the content"
    assert tab.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    rows = tab.locator(".row a").all_inner_texts()
    focused = "document.activeElement.innerText"
    for key, row in (("j", 0), ("j", 1), ("ArrowUp", 0), ("k", 0), ("ArrowDown", 1)):
        tab.keyboard.press(key)
        assert tab.evaluate(focused) == rows[row]
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    assert rows[1] in tab.inner_text("h1")
    with tab.expect_navigation():
        tab.keyboard.press("u")
    assert tab.url.partition("?")[0].endswith("/tasks")
    tab.keyboard.press("/")
    with tab.expect_navigation():
        tab.keyboard.type("print(2)\n")
    assert tab.locator(".completion mark").first.inner_text() == "print(2)"


def test_texts_can_be_read_in_light_and_in_darkness(served: Served, tab: Page) -> None:
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        tab.emulate_media(color_scheme=scheme)
        tab.goto(served.url)
        assert min(tab.evaluate(CONTRASTS)) >= 4.5, scheme


def test_others_are_asked_for_the_token_and_then_see_the_pages(served: Served, tab: Page) -> None:
    with serving(ResultsServer(served.reader, "0.0.0.0", 0)) as url:
        here, token = f"http://127.0.0.1:{url.split(':')[2].partition('/')[0]}/", url.partition("token=")[2]
        answer = tab.request.get(here)
        assert answer.status == 401
        tab.goto(f"{here}?status=finished&token={token}")
        assert tab.url == f"{here}?status=finished"
        assert tab.evaluate("document.cookie") == ""
        tab.goto(f"{here}runs/{served.finished}")
        assert served.finished in tab.inner_text("h1")
