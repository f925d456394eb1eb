"""`agn verify`: the contract that other tools rely on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AGN = [sys.executable, "-c", "from agnostics.cli import main; main()", "verify", "--sandbox", "bubblewrap"]
TESTS = [{"input": "41", "output": "42"}]
RIGHT = "print(io.read('n') + 1)"
LUA_YAML = "prompt: Write Lua.\nfilename: a.lua\nexecute: luajit a.lua\n"


@pytest.fixture
def lua(tmp_path: Path) -> str:
    """Lua by a YAML file, so that no pack need be installed."""
    path = tmp_path / "mylua.yaml"
    path.write_text(LUA_YAML)
    return str(path)


def verify(lines: list[Any], *options: str) -> tuple[int, list[dict[str, Any]]]:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = subprocess.run([*AGN, *options], input=text.encode(), capture_output=True, timeout=120)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_line_in_is_a_line_out_with_every_key_of_the_contract(lua: str) -> None:
    code, (answer,) = verify([{"id": "a", "language": lua, "program": RIGHT, "tests": TESTS}])
    assert code == 0
    assert set(answer) == {"id", "verdict", "tests", "compile", "language", "sandbox", "attempts", "wall_ms"}
    assert (answer["id"], answer["verdict"], answer["compile"], answer["language"]) == ("a", "accepted", None, "mylua")
    assert (answer["sandbox"], answer["attempts"]) == ("bubblewrap", 1)
    (test,) = answer["tests"]
    keys = {"verdict", "wall_ms", "cpu_ms", "peak_mb", "exit_code", "signal", "stdout", "stderr", "difference"}
    assert set(test) == keys
    assert (test["exit_code"], test["signal"], test["stdout"], test["difference"]) == (0, None, "42\n", None)


def test_ids_of_any_type_are_carried_over(lua: str) -> None:
    ids: list[Any] = [1, "x", None, 1.5, True, [1, {"a": None}], {"b": 2}]
    code, answers = verify([{"id": i, "language": lua, "program": RIGHT, "tests": TESTS} for i in ids])
    assert code == 0
    assert sorted(json.dumps(a["id"]) for a in answers) == sorted(json.dumps(i) for i in ids)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"language": "fortrn"}, "unknown language 'fortrn'"),
        ({"language": "/nowhere.yaml"}, "not a readable YAML file"),
        ({"language": None}, "language"),
        ({"tests": []}, "tests"),
        ({"tests": "x"}, "tests"),
        ({"tests": [{"input": "1"}]}, "'tests.0.output' is missing"),
        ({"limits": {"run_s": 0}}, "limits.run_s"),
        ({"limits": {"memory_mb": 10**12}}, "limits.memory_mb"),
        ({"limits": {"runs_s": 1}}, "did you mean 'run_s'"),
        ({"compare": {"mode": "fuzzy"}}, "compare.mode"),
        ({"compare": {"mode": "checker"}}, "checker"),
        ({"progam": "x"}, "did you mean 'program'"),
        ({"completion": "x"}, "either `program` or `completion`"),
    ],
)
def test_a_line_that_is_no_request_says_why_and_the_stream_goes_on(lua: str, change: Any, reason: str) -> None:
    good = {"id": 1, "language": lua, "program": RIGHT, "tests": TESTS}
    code, answers = verify([{**good, "id": 7, **change}, good])
    assert code == 1
    bad = next(answer for answer in answers if answer["id"] == 7)
    assert set(bad) == {"id", "error"}
    assert reason in bad["error"]
    assert [answer["verdict"] for answer in answers if answer["id"] == 1] == ["accepted"]


@pytest.mark.parametrize("line", ["nonsense", "[1]", '"x"', "{", "\\udcff"])
def test_a_line_that_is_no_json_object_has_no_id(lua: str, line: str) -> None:
    code, answers = verify([line, {"id": 1, "language": lua, "program": RIGHT, "tests": TESTS}])
    assert code == 1
    assert [answer["id"] for answer in answers if "error" in answer] == [None]
    assert [answer["id"] for answer in answers if "verdict" in answer] == [1]


def test_the_program_is_extracted_from_a_completion(lua: str) -> None:
    lines = [
        {"id": 1, "language": lua, "completion": f"So:\n```lua\n{RIGHT}\n```\n", "tests": TESTS},
        {"id": 2, "language": lua, "completion": "I cannot.", "tests": TESTS},
        {"id": 3, "language": lua, "program": None, "tests": TESTS},
    ]
    code, answers = verify(lines)
    assert code == 0
    assert {a["id"]: a["verdict"] for a in answers} == {1: "accepted", 2: "no_program", 3: "no_program"}


def test_every_test_runs_unless_told_to_stop(lua: str) -> None:
    request = {
        "language": lua,
        "program": "print(42)",
        "tests": [{"input": "", "output": o} for o in ("42", "1", "42")],
    }
    _, answers = verify([{"id": 1, **request}, {"id": 2, **request, "stop_on_failure": True}])
    by_id = {a["id"]: [t["verdict"] for t in a["tests"]] for a in answers}
    assert by_id == {
        1: ["accepted", "wrong_answer", "accepted"],
        2: ["accepted", "wrong_answer", "skipped"],
    }


def test_outputs_that_were_cut_are_marked(lua: str) -> None:
    _, (answer,) = verify(
        [{"id": 1, "language": lua, "program": "io.write(('x'):rep(9000))", "tests": [{"input": "", "output": "y"}]}]
    )
    assert answer["tests"][0]["truncated"] is True
    assert len(answer["tests"][0]["stdout"]) == 4096


def test_a_reply_comes_while_the_stream_is_still_open(lua: str) -> None:
    with subprocess.Popen([*AGN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stream:
        assert stream.stdin
        assert stream.stdout
        for number in range(3):
            line = {"id": number, "language": lua, "program": RIGHT, "tests": TESTS}
            stream.stdin.write(json.dumps(line).encode() + b"\n")
            stream.stdin.flush()
            assert json.loads(stream.stdout.readline())["id"] == number


def test_the_same_stream_gets_the_same_verdicts_again(lua: str) -> None:
    programs = [RIGHT, "print(1)", "error('x')", "while true do end", "while true do io.write('x') end", ""]
    limits = {"run_s": 0.5}
    lines = [
        {"id": i, "language": lua, "program": p, "tests": TESTS, "limits": limits} for i, p in enumerate(programs * 2)
    ]
    first, second = ({a["id"]: a["verdict"] for a in verify(lines)[1]} for _ in range(2))
    assert first == second
    expected = ["accepted", "wrong_answer", "runtime_error", "time_limit", "output_limit", "no_program"]
    assert [first[i] for i in range(12)] == expected * 2


def test_an_unknown_mode_is_wrong_use() -> None:
    done = subprocess.run([*AGN[:-1], "dokcer"], input=b"", capture_output=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.decode().strip() == "agn: unknown sandbox 'dokcer'; did you mean 'docker'?"
