"""`agn verify --serve`: the verifier over HTTP, for trainers that are not ours."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from agnostics.sandbox.cgroups import find_parent_groups
from command_line import Agn
from verify_client import Client, Served, encoded, served

AGN = [sys.executable, "-m", "agnostics", "verify", "--sandbox", "bubblewrap", "--slots", "2"]
LUA_YAML = "prompt: Write Lua.\nfilename: a.lua\nexecute: luajit a.lua\n"
PAGE = Path(__file__).parents[2] / "docs" / "verify-service.md"
TOKEN = "correct-horse-battery-staple"
SLEEP = "local ffi = require('ffi') ffi.cdef('int usleep(unsigned);') ffi.C.usleep({us}) print(42)"
SPIN = "local e = os.clock() + 0.01 while os.clock() < e do end print(42)"
SMALL_LIMITS = """
from agnostics.web.verify import connection, outbox, stream, workers
connection.IDLE_S = 0.5
outbox.MAX_BYTES = 1 << 20
stream.STALL_S = stream.LONG_LINE_S = 2
stream.LONG_LINES = 1
stream.MAX_LINE_BYTES = workers.MAX_LINE_BYTES = 1 << 20
"""


@pytest.fixture(scope="module")
def lua_yaml(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Lua by a YAML file, so that no pack need be installed; requests call it `mylua`."""
    path = tmp_path_factory.mktemp("language") / "mylua.yaml"
    path.write_text(LUA_YAML)
    return str(path)


@pytest.fixture(scope="module")
def server(lua_yaml: str) -> Iterator[Served]:
    with served("--language", lua_yaml) as running:
        yield running


@pytest.fixture(scope="module")
def strict(lua_yaml: str) -> Iterator[Served]:
    """A server with small limits."""
    with served("--language", lua_yaml, before=SMALL_LIMITS) as running:
        yield running


def a_request(request_id: Any = 1, program: str = "print(42)", **changes: Any) -> dict[str, Any]:
    tests = [{"input": "", "output": "42"}]
    return {"id": request_id, "language": "mylua", "program": program, "tests": tests, **changes}


def without_times(reply: dict[str, Any]) -> str:
    """A reply without what differs from run to run."""
    return re.sub(r'"(wall_ms|cpu_ms|peak_mb|attempts)": [\d.e-]+', "", json.dumps(reply, sort_keys=True))


def test_replies_are_those_of_the_filter_for_the_same_lines(server: Served, lua_yaml: str) -> None:
    programs = ["print(42)", "print(41)", "io.stderr:write('no') os.exit(3)", "while true do end", " "]
    lines: list[Any] = [a_request(i, program, limits={"run_s": 0.3}) for i, program in enumerate(programs)]
    lines += [{**a_request([7, None]), "tests": [{"input": "", "output": "42"}] * 3, "stop_on_failure": True}]
    lines += [{**a_request("c"), "completion": "So:\n```lua\nprint(42)\n```\n"}]
    del lines[-1]["program"]
    lines += [{"id": 9, "language": "mylua"}, a_request(10, limits={"runs_s": 1})]
    lines += [b"{x\n", b"\xff\n", b"\n", b'{"id": NaN}\n']
    by_path = [{**line, "language": lua_yaml} if isinstance(line, dict) else line for line in lines]
    done = subprocess.run(AGN, input=encoded(*by_path), capture_output=True, timeout=60)
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    replies = server.verify(*lines)
    assert len(replies) == len(lines) - 1
    assert sorted(map(without_times, replies)) == sorted(map(without_times, expected))


def test_a_reply_comes_before_the_next_request_is_sent(server: Served) -> None:
    client = Client(server.url)
    for number in range(3):
        client.send(a_request(number))
        assert client.reply()["id"] == number
    client.end()
    assert client.replies() == []


def test_a_line_may_arrive_in_pieces_and_the_last_needs_no_end(server: Served) -> None:
    client, data = Client(server.url), encoded(a_request("a"), a_request("b")).removesuffix(b"\n")
    for start in range(0, len(data), 7):
        client.send(data[start : start + 7])
    client.end()
    assert {reply["id"] for reply in client.replies()} == {"a", "b"}


def test_one_program_may_be_posted_as_plain_json_on_a_kept_connection(server: Served) -> None:
    body = json.dumps(a_request()).encode()
    status, text = server.get("/verify", body, content_type="application/json; charset=utf-8")
    assert (status, json.loads(text)["verdict"]) == (200, "accepted")


def test_a_small_batch_is_not_held_up_by_a_large_one(server: Served) -> None:
    """200 programs of 10 ms for two slots take a second."""
    large = Client(server.url)
    large.send(*[a_request("large", SPIN)] * 200)
    large.end()
    large.reply()
    before = server.metrics()["programs_total"]
    assert [reply["verdict"] for reply in server.verify(*[a_request("small")] * 3)] == ["accepted"] * 3
    assert server.metrics()["programs_total"] - before < 130
    assert [reply["verdict"] for reply in large.replies()] == ["accepted"] * 199


def test_clients_at_once_get_their_own_replies(server: Served) -> None:
    def verify(name: str) -> list[dict[str, Any]]:
        return server.verify(*(a_request([name, number]) for number in range(20)))

    with ThreadPoolExecutor(16) as pool:
        for name, replies in zip("abcdefghijklmnop", pool.map(verify, "abcdefghijklmnop"), strict=True):
            assert sorted(reply["id"] for reply in replies) == [[name, number] for number in range(20)]
            assert {reply["verdict"] for reply in replies} == {"accepted"}


def test_programs_of_a_client_that_went_away_are_not_begun(server: Served) -> None:
    before = server.metrics()
    client = Client(server.url)
    client.send(*[a_request("gone", SPIN)] * 400)
    client.end()
    client.reply()
    client.close()
    after = server.wait_until(lambda now: now["clients"] == now["in_flight"] == 0)
    assert after["programs_total"] - before["programs_total"] < 200
    assert after["disconnects_total"] == before["disconnects_total"] + 1
    assert (after["in_flight_bytes"], after["unsent_bytes"]) == (0, 0)


def test_a_client_that_reads_nothing_is_slowed_down_and_holds_up_no_other(strict: Served) -> None:
    """Each reply takes 240 kB: 4,000 characters of each output, with six bytes for each."""
    strict.verify(a_request())
    before = strict.metrics()["programs_total"]
    client = Client(strict.url, receive_buffer=1 << 16)
    loud = a_request("loud", "io.write(('\\1'):rep(4000))", tests=[{"input": "", "output": "42"}] * 10)
    client.send(*[loud] * 60)
    client.end()
    stopped = strict.wait_until(lambda now: now["unsent_bytes"] > 1 << 20 and now["in_flight"] == 0)
    assert stopped["programs_total"] < before + 60
    assert stopped["unsent_bytes"] < 8 << 20
    assert strict.verify(a_request())[0]["verdict"] == "accepted"
    assert len(client.replies()) == 60
    assert strict.wait_until(lambda now: now["clients"] == 0)["unsent_bytes"] == 0


def test_clients_that_send_more_than_is_verified_are_not_read_and_take_bounded_memory(lua_yaml: str) -> None:
    """Thirty requests of 8 MB, of three clients and for two slots, whose programs take longer than to read them."""
    line = encoded(a_request(program=SLEEP.format(us=100_000), tests=[{"input": "x" * 8_000_000, "output": "42"}]))
    unverified = 0.0
    with served("--language", lua_yaml) as server, ThreadPoolExecutor(3) as pool:
        sent = [pool.submit(server.verify, line * 10) for _ in range(3)]
        while not all(future.done() for future in sent):
            now = server.metrics()
            verified = now.get("programs_total", 0) * len(line)
            unverified = max(unverified, now["received_bytes_total"] - verified)
            assert now["in_flight_bytes"] < (64 << 20) + 2 * len(line)
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    assert [reply["verdict"] for future in sent for reply in future.result()] == ["accepted"] * 30
    assert 32 << 20 < unverified < (64 << 20) + 6 * len(line)
    (peak_kib,) = re.findall(r"VmHWM:\s+(\d+)", status)
    assert int(peak_kib) < 500 << 10


def test_a_request_of_very_many_tests_is_one_error_and_the_stream_goes_on(server: Served) -> None:
    many = a_request("many", tests=[{"input": "", "output": ""}] * 10_001)
    many_others = b'{"id": "others", "tests": [' + b",".join([b"{}"] * 1_000_000) + b"]}\n"
    replies = {reply["id"]: reply for reply in server.verify(many, many_others, a_request("last"))}
    assert replies["last"]["verdict"] == "accepted"
    for name in ("many", "others"):
        assert replies[name]["error"] == "tests: there are more than 10000"


def test_a_line_that_is_too_long_is_one_error_and_the_stream_goes_on(strict: Served) -> None:
    long = a_request("long", tests=[{"input": "x" * (1 << 20), "output": "42"}])
    near = a_request("near", tests=[{"input": "x" * 900_000, "output": "42"}])
    replies = strict.verify(near, long, b" " * 300_000 + b"\n", near, a_request("last"))
    assert {reply["id"]: reply.get("verdict") for reply in replies} == {
        "near": "accepted",
        None: None,
        "last": "accepted",
    }
    assert [reply["error"] for reply in replies if "error" in reply] == ["the line is longer than 1048576 bytes"]


@pytest.mark.parametrize("sent", [b"", b"POST /verify HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_a_connection_without_a_whole_request_is_closed(strict: Served, sent: bytes) -> None:
    location = urlsplit(strict.url)
    with socket.create_connection((location.hostname, location.port), timeout=10) as connection:
        connection.sendall(sent)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""


def test_a_body_that_does_not_go_on_is_given_up_and_its_permit_with_it(strict: Served) -> None:
    clients = [Client(strict.url) for _ in range(3)]
    for client, size in zip(clients[1:], (10, 300_000), strict=True):
        client.send(b"x" * size)
    strict.wait_until(lambda now: now["clients"] == 3)
    long = a_request(tests=[{"input": "x" * 900_000, "output": "42"}])
    assert strict.verify(long)[0]["verdict"] == "accepted"
    for client in clients:
        with pytest.raises((IncompleteRead, ConnectionResetError)):
            client.replies()


def test_metrics_can_be_parsed_and_count_what_was_done(server: Served) -> None:
    before = server.metrics()
    server.verify(a_request(), a_request(2, "print(1)"), b"x\n")
    server.get("/verify", b"", content_type="text/plain")
    after = server.metrics()
    assert {name: after[name] - before[name] for name in after if after[name] != before.get(name)}.items() >= {
        "programs_total": 2,
        "line_errors_total": 1,
        "requests_total": 2,
        "latency_seconds_count": 2,
        "received_bytes_total": len(encoded(a_request(), a_request(2, "print(1)"), b"x\n")),
    }.items()
    assert (after["slots"], after["clients"], after["in_flight"]) == (2, 0, 0)
    assert after["process_resident_memory_bytes"] > 1 << 20
    text = server.get("/metrics")[1]
    assert 'agnostics_verify_programs_total{language="mylua",verdict="wrong_answer"}' in text
    assert 'agnostics_verify_requests_total{status="415"}' in text


def test_no_file_of_the_server_is_a_language(server: Served, lua_yaml: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")  # to open it would block
    paths = [lua_yaml, str(tmp_path / "fifo.yaml"), "/nowhere.yaml", "/etc/passwd", "../x.yml", "mylua.yaml"]
    replies = server.verify(*(a_request(path, language=path) for path in paths))
    assert {reply["id"] for reply in replies} == set(paths)
    assert {reply["error"] for reply in replies} == {
        "a language is named here, not its file; the server gets files with --language"
    }
    checker = {"mode": "checker", "checker": {"language": lua_yaml, "program": "os.exit(0)"}}
    assert "unknown language of a checker" in server.verify(a_request(compare=checker))[0]["error"]
    assert "did you mean 'mylua'" in server.verify(a_request(language="mylu"))[0]["error"]


def test_a_checker_may_be_in_a_language_of_the_command_line(server: Served) -> None:
    checker = {"mode": "checker", "checker": {"language": "mylua", "program": "os.exit(0)"}}
    assert server.verify(a_request(program="print(7)", compare=checker))[0]["verdict"] == "accepted"


def test_pages_of_other_sites_get_nothing(server: Served) -> None:
    """A page may send text to any address, but JSON and other names of this machine only to where it came from."""
    body = encoded(a_request())
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert server.get("/verify", body, content_type=media_type)[0] == 415
    for path, data in (("/verify", body), ("/metrics", None), ("/health", None)):
        assert server.get(path, data, content_type="application/x-ndjson", host="attacker.example")[0] == 400
    assert server.get("/verify", body, content_type="application/x-ndjson", content_encoding="gzip")[0] == 415
    assert server.get("/verify", content_type="application/x-ndjson")[0] == 405


@pytest.fixture(scope="module", params=["file", "environment"])
def guarded(request: pytest.FixtureRequest, lua_yaml: str, tmp_path_factory: Any) -> Iterator[Served]:
    """A server that needs a token."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(TOKEN + "\n")
    options = ["--token-file", str(file)] if request.param == "file" else []
    env = {} if request.param == "file" else {"AGN_VERIFY_TOKEN": TOKEN}
    with served("--language", lua_yaml, *options, env=env) as running:
        yield running


def test_only_those_with_the_token_verify_and_read_metrics(guarded: Served) -> None:
    body = encoded(a_request())
    for given in ("", "Bearer wrong", TOKEN, f"Basic {TOKEN}", "Bearer \xe9"):
        assert guarded.get("/verify", body, content_type="application/x-ndjson", authorization=given)[0] == 401
        assert guarded.get("/metrics", authorization=given)[0] == 401
    assert guarded.get("/metrics")[0] == 401
    right = {"content_type": "application/x-ndjson", "host": "any.example"}
    status, text = guarded.get("/verify", body, authorization=f"Bearer {TOKEN}", **right)
    assert (status, json.loads(text)["verdict"]) == (200, "accepted")
    assert 'requests_total{status="401"} 5.0' in guarded.get("/metrics", authorization=f"bearer {TOKEN}")[1]
    assert guarded.get("/health") == (200, "ok\n")
    assert TOKEN not in Path(f"/proc/{guarded.process.pid}/cmdline").read_text()


def test_what_would_be_unsafe_or_cannot_be_served_is_one_line_of_error(
    agn: Agn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGN_VERIFY_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("short").write_text("secret")
    Path("two").write_text(f"{TOKEN}\n{TOKEN}\n")
    Path("x.jsonl").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken, contextlib.ExitStack() as opened:
        with contextlib.suppress(OSError):  # then somebody else has taken it
            opened.enter_context(socket.create_server(("127.0.0.1", 8001)))
        cases = {
            ("--serve",): "cannot listen on 127.0.0.1 port 8001: it is in use",
            ("--serve", "0.0.0.0:0"): "others can reach it, so it needs a token",
            ("--serve", "[::]:0"): "others can reach it, so it needs a token",
            ("--serve", "0.0.0.0:0", "--token-file", "short"): "16 or more",
            ("--serve", "0.0.0.0:0", "--token-file", "two"): "on one line",
            ("--serve", "0.0.0.0:0", "--token-file", "none"): "cannot be read",
            ("--serve", f"127.0.0.1:{taken.getsockname()[1]}"): "it is in use",
            ("--serve", "nowhere.invalid:1", "--token-file", "token"): "cannot listen",
            ("--serve", "127.0.0.1"): "expected HOST:PORT",
            ("--serve", "127.0.0.1:99999"): "expected HOST:PORT",
            ("--serve", "127.0.0.1:0", "x.jsonl"): "either a file or --serve",
            ("--serve", "127.0.0.1:0", "--language", "none.yaml"): "not a readable YAML file",
            ("--language", "x.yaml"): "options of --serve",
        }
        Path("token").write_text(TOKEN)
        for options, reason in cases.items():
            answer = agn("verify", "--sandbox", "bubblewrap", *options)
            assert (answer.returncode, answer.stdout) == (2, ""), options
            assert re.fullmatch(rf"agn: .*{re.escape(reason)}.*\n", answer.stderr), (options, answer.stderr)


def groups_of(process: int) -> list[Path]:
    parents = find_parent_groups()
    folders = {parents.memory, parents.pids, parents.cpu} - {None}
    return [path for folder in folders if folder for path in folder.glob(f"agnostics-{process}-*")]


def test_a_signal_to_end_finishes_what_runs_and_leaves_nothing(lua_yaml: str) -> None:
    with served("--language", lua_yaml) as server:
        client = Client(server.url)
        client.send(*[a_request("in flight", SLEEP.format(us=500_000))] * 2)
        server.wait_until(lambda now: now["in_flight"] == 2)
        server.process.send_signal(signal.SIGTERM)
        assert [client.reply()["verdict"] for _ in range(2)] == ["accepted"] * 2
        assert "the server ends" in client.reply()["error"]
        with pytest.raises(IncompleteRead):
            client.replies()
        _, stderr = server.process.communicate(timeout=30)
        assert server.process.returncode == 0
        assert stderr.splitlines()[1:] == ["agn: ended after 2 programs"]
        with pytest.raises(ConnectionRefusedError):
            Client(server.url)
        assert groups_of(server.process.pid) == []


def test_an_idle_server_ends_at_once_on_ctrl_c(lua_yaml: str) -> None:
    with served("--language", lua_yaml) as server:
        assert server.verify(a_request())[0]["verdict"] == "accepted"
        server.process.send_signal(signal.SIGINT)
        _, stderr = server.process.communicate(timeout=10)
        assert (server.process.returncode, stderr.strip()) == (130, "agn: interrupted")
        assert groups_of(server.process.pid) == []


def test_a_program_that_runs_on_is_cut_off_by_the_limit_or_a_second_ctrl_c(lua_yaml: str) -> None:
    long = a_request("long", SLEEP.format(us=60_000_000), limits={"run_s": 60})
    short_drain = "from agnostics.web.verify import server\nserver.DRAIN_S = 0.3"
    with served("--language", lua_yaml, before=short_drain) as limited, served("--language", lua_yaml) as patient:
        clients = [Client(server.url) for server in (limited, patient)]
        for client, server in zip(clients, (limited, patient), strict=True):
            client.send(long)
            server.wait_until(lambda now: now["in_flight"] == 1)
            server.process.send_signal(signal.SIGINT)
            assert server.process.stderr
            assert "finishing 1 programs; a second Ctrl-C" in server.process.stderr.readline()
        time.sleep(1.1)  # an earlier signal counts as the first
        patient.process.send_signal(signal.SIGINT)
        for client, server in zip(clients, (limited, patient), strict=True):
            assert server.process.wait(timeout=10) == 130
            assert groups_of(server.process.pid) == []
            with pytest.raises((IncompleteRead, ConnectionResetError, json.JSONDecodeError)):
                client.replies()


def test_the_requests_of_the_page_are_taken_as_they_stand_there(
    server: Served, guarded: Served, tmp_path: Path
) -> None:
    (tmp_path / "programs.jsonl").write_bytes(encoded(a_request()))
    (tmp_path / "token").write_text(TOKEN)
    commands = re.findall(r"^\$ (curl .*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        here = command.replace("http://127.0.0.1:8001", server.url).replace("http://HOST:8001", guarded.url)
        done = subprocess.run(["bash", "-c", here], capture_output=True, cwd=tmp_path, timeout=60)
        assert json.loads(done.stdout)["verdict"] == "accepted", done.stderr


@pytest.fixture
def documented() -> Callable[[str, Served], dict[str, Any]]:
    """What a block of the page defines, by a line in it, with the address of a server."""

    def run(line: str, server: Served) -> dict[str, Any]:
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        (block,) = (block for block in blocks if line in block)
        names: dict[str, Any] = {}
        exec(block.replace("http://127.0.0.1:8001", server.url).replace('"lua"', '"mylua"'), names)
        return names

    return run


@pytest.mark.parametrize(("program", "reward"), [("print(42)", 1.0), ("print(41)", 0.0)])
def test_the_reward_functions_for_verl_and_prime_rl_give_rewards(
    server: Served, documented: Callable[[str, Served], dict[str, Any]], program: str, reward: float
) -> None:
    completion, tests = f"So:\n```lua\n{program}\n```", [{"input": "", "output": "42"}]
    score = documented("def compute_score", server)["compute_score"]
    assert score("any", completion, json.dumps(tests), {}) == reward
    passes_tests = documented("async def passes_tests", server)["passes_tests"]
    messages, info = [{"role": "assistant", "content": completion}], {"language": "mylua", "tests": tests}

    async def rewards() -> list[Any]:
        calls = [passes_tests(messages, info), passes_tests(messages, {**info, "language": "other"})]
        return await asyncio.gather(*calls, return_exceptions=True)

    given, refused = asyncio.run(rewards())
    assert given == reward
    assert "unknown language" in str(refused)
