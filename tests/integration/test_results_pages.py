"""The results pages as a browser without JavaScript gets them, from both databases."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from urllib.parse import urljoin

import pytest
from agnostics import cli
from agnostics.store import CompletionRecord, Store
from agnostics.store.read_only import QueryTimeout, ReadOnlyStore
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import CompileResult, Difference, TestResult, Verdict
from agnostics.web.app import application
from agnostics.web.auth import HEADERS
from agnostics.web.queries import search
from agnostics.web.server import ResultsServer
from msgspec.structs import replace
from sqlalchemy import text
from starlette.testclient import TestClient

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>'\"\u202e\x1b[31m"
LARGE = "-- long\n" * 20_000
STEPS, GROUPS, TASKS = 60, 2, 60
Record = Callable[..., CompletionRecord]
Runs = tuple[str, str, str]
"""The URL of a database, and the ids of its runs."""


@pytest.fixture(scope="module")
def runs(databases: Callable[[], str], lua: Language, record: Record, episode: Record) -> Runs:
    """A database with a run of 60 steps and one whose every text is hostile, for the tests that only read."""
    return _filled(databases(), lua, record, episode)


@pytest.fixture
def own_runs(database: str, lua: Language, record: Record, episode: Record) -> Runs:
    """The same in a database of the test's own, which it may write to."""
    return _filled(database, lua, record, episode)


def _filled(database: str, lua: Language, record: Record, episode: Record) -> Runs:
    with Store.open(database) as store:
        config = {"train": {"max_off_policy_steps": 0}}
        plain, hostile = (
            store.start_run(kind="train", config=made, language=lua, model=model, dataset="starter", seed=0)
            for model, made in (("small", config), (HOSTILE, {"model": HOSTILE}))
        )
        with store.recorder(plain) as recorder:
            for step in range(1, STEPS + 1):
                for sample in range(2 * GROUPS):
                    task = f"starter/{(GROUPS * step + sample // 2) % TASKS}"
                    verdict = Verdict.ACCEPTED if step + sample > 30 else Verdict.WRONG_ANSWER
                    program = f"print({step % 7})"
                    recorder.completion(record(verdict, step=step, task=task, sample=sample % 2, program=program))
                fractions = {"fraction_accepted": step / STEPS, "fraction_wrong_answer": 1 - step / STEPS}
                seconds = {"generation_s": 1.5, "update_s": 0.5, "step_s": 2.0, "idle_training": 0.75}
                recorder.step(step, {"pass_rate": step / STEPS, **fractions, **seconds})
            recorder.step(0, {"eval_before_pass_at_1": 0.1, "eval_before_pass_at_1_low": 0.05})
        with store.recorder(hostile) as recorder:
            recorder.completion(hostile_record(record(Verdict.WRONG_ANSWER)))
            recorder.completion(replace(record(program=LARGE), step=2, sample=1))
            recorder.completion(episode(hostile=HOSTILE, step=2, sample=2))
        store.finish_run(plain, "finished", {})
    return database, plain, hostile


def hostile_record(ordinary: CompletionRecord) -> CompletionRecord:
    difference = Difference(1, 2, "HERE", HOSTILE)
    test = TestResult(Verdict.WRONG_ANSWER, 1, 1, 1, 0, None, f"2 {HOSTILE}", HOSTILE, difference=difference)
    compiled = CompileResult(True, 1, 1, 1, 0, None, HOSTILE)
    outcome = replace(ordinary.verification, program=HOSTILE, tests=(test,), compile=compiled)
    task = Task(id=HOSTILE, statement=HOSTILE, family=HOSTILE, tests=(Test(input=HOSTILE, output="2 HERE"),))
    return replace(ordinary, task=task, text=HOSTILE, finish_reason=HOSTILE, verification=outcome)


@pytest.fixture
def browser(runs: Runs) -> Iterator[TestClient]:
    with _browser(runs) as made:
        yield made


@pytest.fixture
def own_browser(own_runs: Runs) -> Iterator[TestClient]:
    with _browser(own_runs) as made:
        yield made


@contextmanager
def _browser(runs: Runs) -> Iterator[TestClient]:
    with ReadOnlyStore.open(runs[0]) as reader:
        yield TestClient(application(reader, token=None), base_url="http://localhost:8000")


def page(browser: TestClient, path: str, status: int = 200) -> str:
    answer = browser.get(path)
    assert answer.status_code == status, (path, answer.text)
    return str(answer.text)


def walk(browser: TestClient, path: str, row: str) -> list[str]:
    """What `row` finds on `path` and on the pages after it."""
    found: list[str] = []
    while True:
        shown = page(browser, path)
        found += re.findall(row, shown)
        following = re.search(r'rel="next" href="(\?[^"]+)"', shown)
        if following is None:
            return found
        path = urljoin(path, unescape(following[1]))


def links(shown: str) -> set[str]:
    return {unescape(link) for link in re.findall(r'href="(/[^"#]*)"', shown)}


def test_every_link_leads_to_a_page_and_no_text_of_a_model_becomes_markup(browser: TestClient, runs: Runs) -> None:
    seen, to_see = set[str](), {"/", "/search?q=script", "/search?q=script&in=tasks", "/search?q=script&in=runs"}
    while to_see - seen:
        path = min(to_see - seen)
        seen.add(path)
        # Of the plain run one page of each kind is enough.
        if runs[1] in path and len([one for one in seen if runs[1] in one and one.count("/") == path.count("/")]) > 3:
            continue
        answer = browser.get(path)
        assert answer.status_code == 200, path
        assert HEADERS.items() <= answer.headers.items()
        if answer.headers["content-type"].startswith("text/html"):
            shown = re.sub(r' value="[^"]*"', "", answer.text)  # what a form sends back is not shown
            assert not re.search(r"<script>|<img src=x|onerror=alert\(1\)>|\u202e|\x1b|style=", shown), path
            to_see |= links(answer.text) - seen if runs[2] in path or path.startswith("/search") else links(answer.text)
    kinds = {re.sub(r"\d{8}-\d{6}-\w+|\d+|\?.*", "N", path) for path in seen}
    assert {"/runs/N", "/runs/N/tasks", "/runs/N/programs", "/runs/N/steps/NN", "/tasks/NN", "/programs/N"} <= kinds
    assert any(path.endswith("/program") for path in seen)


def test_pages_of_rows_hold_each_row_once(browser: TestClient, runs: Runs) -> None:
    _, run, _ = runs
    steps = walk(browser, f"/runs/{run}/steps", r"/steps/(\d+)\"")
    assert steps == [str(step) for step in range(STEPS, 0, -1)]
    for order in ("hardest", "easiest", "most"):
        tasks = walk(browser, f"/runs/{run}/tasks?order={order}", r"/tasks/(\d+)\?")
        assert (len(tasks), len(set(tasks))) == (TASKS, TASKS)
    rates = walk(browser, f"/runs/{run}/tasks?order=hardest", r'<td class="n">(\d\.\d{3})</td>')
    assert rates == sorted(rates)
    found = walk(browser, "/search?q=PRINT(", r'href="(/programs/\d+)"')
    assert len(found) == len(set(found)) == 7


def test_runs_are_chosen_by_language_status_and_model(browser: TestClient, runs: Runs) -> None:
    def listed(**wanted: str) -> set[str]:
        answer = browser.get("/", params=wanted)
        return set(re.findall(r'href="/runs/([^"]+)"', answer.text))

    _, plain, hostile = runs
    assert listed() == listed(language="lua") == {plain, hostile}
    assert listed(status="finished") == listed(model="small") == {plain}
    assert listed(model=HOSTILE, status="running") == {hostile}
    assert listed(language="cobol") == listed(before=min(plain, hostile)) == set()


def test_a_program_is_shown_with_its_tests_and_the_difference_marked(browser: TestClient) -> None:
    found = walk(browser, "/search?q=onerror", r'href="(/programs/\d+)"')
    shown = page(browser, found[0])
    expected, actual = re.findall(r"<pre[^>]*>\n2 <mark>(.*?)</mark>", shown, re.S)
    assert expected == "HERE"
    assert actual.startswith("&lt;script&gt;alert(1)&lt;/script&gt;")
    assert "Compiler message" in shown
    assert "RIGHT-TO-LEFT OVERRIDE" in shown


def test_a_long_text_is_cut_and_whole_as_a_file(browser: TestClient) -> None:
    (found,) = walk(browser, "/search?q=--%20long", r'href="(/programs/\d+)"')
    shown = page(browser, found)
    assert len(shown) < 150_000
    assert f'href="{found}/program" download' in shown
    whole = browser.get(f"{found}/program")
    assert whole.text == LARGE
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["content-disposition"].startswith("attachment")


def _program_of(browser: TestClient, run: str, text: str) -> str:
    """The path of the program whose row on the page of the run's programs matches `text`."""
    shown = page(browser, f"/runs/{run}/programs")
    (row,) = [row for row in re.findall(r"<tr.*?</tr>", shown, re.S) if re.search(text, row)]
    return re.findall(r'href="(/programs/\d+)"', row)[0]


def test_an_episode_is_shown_as_a_conversation(browser: TestClient, runs: Runs) -> None:
    path = _program_of(browser, runs[2], "1 failed")
    shown = page(browser, path)
    assert re.findall(r'href="#turn-(\d)"', shown) == ["1", "2"]
    facts = re.findall(r'href="#turn-\d">Turn \d</a> <span class="quiet">(.*?)</span>', shown)
    assert facts == ["4 tokens · sampled in 1.5 s · policy 1", "5 tokens, truncated · sampled in 2.5 s · policy 1, 2"]
    (told,) = re.findall(r'observation">\n<header><span>Environment</span> (.*?)</header>', shown, re.S)
    assert "wrong_answer" in told
    assert "reward 0.250 · 3 tokens · 20 ms" in told
    assert re.findall(r'class="call( failed)?"( open)?', shown) == [("", ""), (" failed", " open")]
    assert "2 spans of policy versions" in shown
    assert "Verdict of the episode" in shown
    assert "<h2>Program" not in shown
    for own, whole in (
        ("/turns/1/action", HOSTILE),
        ("/turns/1/observation", f"Wrong.{HOSTILE}"),
        ("/turns/1/calls/2/output", HOSTILE),
    ):
        answer = browser.get(path + own)
        assert answer.text == whole
        assert answer.headers["content-disposition"].startswith("attachment")
    assert browser.get(f"{path}/turns/1/calls/1/arguments").json() == {f"command{HOSTILE}": HOSTILE}
    for missing in ("/turns/3/action", "/turns/2/observation", "/turns/1/nope", "/turns/1/calls/3/output"):
        page(browser, path + missing, 404)


def test_an_observation_that_the_policy_did_not_read_is_marked(
    own_browser: TestClient, own_runs: Runs, episode: Record
) -> None:
    url, _, run = own_runs
    first, last = episode().turns
    with Store.open(url) as store, store.recorder(run) as recorder:
        turns = (first, replace(last, observation="Too long.", observation_tokens=0))
        recorder.completion(replace(episode(step=4), turns=turns))
    shown = page(own_browser, _program_of(own_browser, run, "train 4"))
    assert re.findall(r"(\d tokens|not read: the episode had ended) · \d", shown) == [
        "3 tokens",
        "not read: the episode had ended",
    ]


def test_a_submitted_program_is_shown_beside_the_conversation_that_does_not_hold_it(
    own_browser: TestClient, own_runs: Runs, episode: Record
) -> None:
    url, _, run = own_runs
    with Store.open(url) as store, store.recorder(run) as recorder:
        made = episode(step=5, program="print('<submitted>')")
        recorder.completion(replace(made, text="submit main.lua", turns=(made.turns[0], made.turns[1])))
    path = _program_of(own_browser, run, "train 5")
    shown = page(own_browser, path)
    assert "<h2>Program" in shown
    assert "print(&#39;&lt;submitted&gt;&#39;)" in shown


def test_a_single_answer_is_shown_without_a_conversation(browser: TestClient, runs: Runs) -> None:
    for row in re.findall(r"<tr.*?</tr>", page(browser, f"/runs/{runs[1]}/programs"), re.S)[1:3]:
        shown = page(browser, re.findall(r'href="(/programs/\d+)"', row)[0])
        assert "<h2>Program" in shown
        assert "Conversation" not in shown
        assert "spans of policy versions" not in shown


def test_programs_of_a_run_are_listed_once_each_and_filtered(browser: TestClient, runs: Runs) -> None:
    _, plain, hostile = runs
    listed = walk(browser, f"/runs/{plain}/programs", r'href="/programs/(\d+)"')
    assert listed == sorted(set(listed), key=int, reverse=True)
    assert len(listed) == 2 * GROUPS * STEPS
    accepted = walk(browser, f"/runs/{plain}/programs?verdict=accepted", r'class="verdict v-(\w+)"')
    assert set(accepted) == {"accepted"}
    assert walk(browser, f"/runs/{plain}/programs?tools=failed", r'href="/programs/(\d+)"') == []
    assert walk(browser, f"/runs/{plain}/programs?phase=eval_after", r'href="/programs/(\d+)"') == []
    failed = walk(browser, f"/runs/{hostile}/programs?tools=failed", r'href="(/programs/\d+)"')
    assert failed == [_program_of(browser, hostile, "1 failed")]
    page(browser, f"/runs/{hostile}/programs?tools=nope", 400)


def test_the_programs_of_a_task_are_filtered_by_failed_tools(browser: TestClient, runs: Runs) -> None:
    path = _program_of(browser, runs[2], "1 failed")
    (task,) = re.findall(r'rel="up" href="/tasks/(\d+)\?', page(browser, path))
    shown = page(browser, f"/tasks/{task}?tools=failed")
    assert set(re.findall(r'href="(/programs/\d+)"', shown)) == {path}
    assert "9 tokens · 2 turns · 1 failed tool call" in shown


def test_long_conversations_are_shown_in_parts(own_browser: TestClient, own_runs: Runs, episode: Record) -> None:
    url, _, run = own_runs
    (first, last), long = episode().turns, "-- long\n" * 5000
    turns = (*(replace(first, text=f"{number} {long}") for number in range(39)), last)
    with Store.open(url) as store, store.recorder(run) as recorder:
        recorder.completion(replace(episode(step=3, program="print(40)"), turns=turns))
    path = _program_of(own_browser, run, ">40<")
    assert walk(own_browser, path, r'href="#turn-(\d+)"') == [str(number) for number in range(1, 41)]
    assert len(page(own_browser, path)) < 500_000
    assert own_browser.get(f"{path}/turns/39/action").text == f"38 {long}"
    assert re.findall(r"sampled in 2.5 s · policy (\S+)<", page(own_browser, f"{path}?turn=40")) != []
    assert walk(own_browser, f"{path}?turn={(1 << 31) - 1}", r'href="#turn-(\d+)"') == []
    page(own_browser, f"{path}/turns/{(1 << 31) - 1}/action", 404)
    page(own_browser, f"{path}/turns/1/calls/{(1 << 63) - 1}/output", 404)


def test_curves_are_sent_once_for_each_state_of_a_run(browser: TestClient, runs: Runs) -> None:
    _, run, hostile = runs
    curves = browser.get(f"/runs/{run}/curves").json()
    assert curves["steps"] == list(range(1, STEPS + 1))
    assert curves["values"]["pass_rate"][-1] == 1
    assert (curves["live"], curves["held_out"][0]["pass_at_1"]) == (False, 0.1)
    assert browser.get(f"/runs/{run}/curves", params={"seen": curves["seen"]}).status_code == 204
    assert browser.get(f"/runs/{hostile}/curves").json()["live"]


def test_a_missing_row_or_a_malformed_request_is_one_line(browser: TestClient, runs: Runs) -> None:
    _, run, _ = runs
    for path in ("/runs/nope", "/tasks/999999", "/programs/999999", f"/runs/{run}/steps/99", "/x", "/tasks/1/nope"):
        assert "There is no" in page(browser, path, 404) or path == "/x"
    for path in ("/programs/99999999999999999999", "/tasks/x", f"/runs/{run}/tasks?order=nope", "/?status=%00"):
        page(browser, path, 400)
    for path in (f"/runs/{run}/tasks?after=a,1", f"/runs/{run}/tasks?after=1,a", f"/runs/{run}/steps?before=x"):
        page(browser, path, 400)
    for path in ("/programs/1?turn=", "/programs/1/turns/", f"/runs/{run}/steps/", f"/runs/{run}/steps?before="):
        for beyond in (str(1 << 31), "9" * 5000):
            page(browser, f"{path}{beyond}{'/action' if 'turns' in path else ''}", 400)
    page(browser, f"/programs/1?test={'9' * 5000}", 400)
    assert browser.post("/").status_code == 405


def test_pages_are_for_this_machine_only_unless_a_token_is_shown(runs: Runs) -> None:
    with ReadOnlyStore.open(runs[0]) as reader:
        local = TestClient(application(reader, token=None), base_url="http://evil.example")
        assert local.get("/").status_code == 400
        assert local.get("/", headers={"host": "[::1]:8000"}).status_code == 200
        away = TestClient(application(reader, token="secret"), base_url="http://box:8000", follow_redirects=False)
        assert away.get("/").status_code == away.get("/?token=wrong").status_code == 401
        assert "Token" in away.get("/").text
        welcome = away.get("http://box:8000//evil.example/?token=secret&status=finished")
        assert (welcome.status_code, welcome.headers["location"]) == (303, "/evil.example/?status=finished")
        cookie = welcome.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert away.get("/").status_code == 200
        assert TestClient(away.app, cookies={"agn": "wrong"}).get("/").status_code == 401


def test_nothing_can_be_written_and_no_query_takes_for_ever(runs: Runs) -> None:
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000000) select count(*) from n"
    with ReadOnlyStore.open(runs[0]) as reader:
        with pytest.raises(Exception, match=r"read-only|readonly|cannot be written"), reader.reading() as connection:
            connection.execute(text("delete from run"))
        with pytest.raises(QueryTimeout, match=r"within 0\.05 s"), reader.reading(0.05) as connection:
            connection.execute(text(slow))
        with reader.reading() as connection:
            assert connection.execute(text("select count(*) from run")).scalar_one() == 2


def test_a_search_stops_when_its_time_is_up_and_goes_on_where_it_stopped(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "RANGE_ROWS", 3)
    with ReadOnlyStore.open(runs[0]) as reader, reader.reading() as connection:
        monkeypatch.setattr(search, "SEARCH_SECONDS", 0)
        assert search.find_programs(connection, "print(6)", 5) == search.SearchResult(
            [], rest=search.find_programs(connection, "x", 5).rest
        )
        monkeypatch.setattr(search, "SEARCH_SECONDS", 60)
        found = search.find_programs(connection, "print(6)", 1)
        assert [one.program for one in found.hits] == ["print(6)"]
        assert search.find_programs(connection, "print(6)", 1, found.rest).hits == []


def test_a_server_has_a_url_and_requires_a_token_if_others_have_access(runs: Runs) -> None:
    with ReadOnlyStore.open(runs[0]) as reader:
        local, open_ = ResultsServer(reader, "127.0.0.1", 0), ResultsServer(reader, "0.0.0.0", 0)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", local.url)
        assert re.fullmatch(r"http://[^/]+:\d+/\?token=[\w-]{32}", open_.url)
        local.close()
        open_.close()


def test_a_reason_why_pages_cannot_be_served_is_one_line(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.call(["results", "serve", "--port", str(port), "--store", runs[0]]) == 2
    assert (
        capsys.readouterr().err
        == f"agn: cannot listen on 127.0.0.1 port {port}: it is in use; name another with --port\n"
    )
    assert cli.call(["results", "serve", "--store", "sqlite:////nowhere/to/be/found.db"]) == 2
    assert "agn run creates one" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "agnostics.web.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert cli.call(["results", "serve", "--store", runs[0]]) == 3
    assert capsys.readouterr().err == "agn: uvicorn is not installed; run: pip install 'agnostics[serve]'\n"
