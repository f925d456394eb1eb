"""The traces that the interpreters of the esoteric languages write."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import trace_lines
from agnostics_lang_esolangs.interpreter import INTERPRETERS, interpreter_path
from esolang import as_bytes, contract, play, signs
from trace_lines import Traced


def trace(
    folder: Path, language: str, program: str | bytes, given: bytes = b"", dialect: str = "benchmark", **limits: int
) -> Traced:
    (folder / "program").write_bytes(as_bytes(program))
    return trace_lines.run(_command(language, dialect), folder, given, limits)


def _command(language: str, dialect: str = "benchmark") -> list[str | Path]:
    return [interpreter_path(language), "--dialect", dialect, "--steps", "100000", "program"]


@pytest.mark.parametrize("name", ["hello", "echo", "sum", "crash", "invalid", "flood"])
@pytest.mark.parametrize("language", INTERPRETERS)
def test_a_program_behaves_as_without_a_trace(language: str, name: str, tmp_path: Path) -> None:
    given = b"3 4\n"
    (file,) = contract(language).glob(f"{name}.*")
    traced = trace(tmp_path, language, file.read_bytes(), given)
    plain = subprocess.run(_command(language), cwd=tmp_path, input=given, capture_output=True, timeout=60, check=False)
    assert traced.process.returncode == plain.returncode
    assert traced.process.stdout == plain.stdout
    assert traced.process.stderr == plain.stderr
    assert traced.end in {"complete", "events", "bytes"}
    is_none = name == "invalid" or (language, name) == ("unlambda", "crash")
    assert {event["e"] for event in traced.events} >= (set() if is_none else {"call", "line"})


@pytest.mark.parametrize("language", INTERPRETERS)
def test_a_program_that_is_none_has_no_events(language: str, tmp_path: Path) -> None:
    traced = trace(tmp_path, language, b"\x01" if language == "befunge98" else b"[\n")
    assert (traced.process.returncode, traced.events, traced.end) == (1, [], "complete")


def test_brainfuck_has_an_event_for_each_command(tmp_path: Path) -> None:
    assert trace(tmp_path, "brainfuck", ",+.\n>[x]", b"a").shown() == [
        "call 1",
        'line 1 , pointer=0 output=""',
        "line 1 + cell 0=97",
        "line 1 . cell 0=98",
        'line 2 > output="b"',
        "line 2 [ pointer=1",
        "return 2",
    ]


def test_befunge_has_an_event_for_each_instruction_and_character_of_a_string(tmp_path: Path) -> None:
    assert trace(tmp_path, "befunge98", '"a" v\n  @.<').shown() == [
        "call 1",
        'line 1 " position=(0, 0) direction=> stack=[] string=false output=""',
        "line 1 a position=(1, 0) string=true",
        'line 1 " position=(2, 0) stack=[97]',
        "line 1 v position=(4, 0) string=false",
        "line 2 < position=(4, 1) direction=v",
        "line 2 . position=(3, 1) direction=<",
        'line 2 @ position=(2, 1) stack=[] output="97 "',
        "return 2",
    ]


def test_befunge_tells_of_cells_that_change_and_of_instructions_that_k_repeats(tmp_path: Path) -> None:
    shown = trace(tmp_path, "befunge98", "500p2k1@", dialect="standard").shown()
    assert shown[5:] == [
        "line 1 2 position=(4, 0) stack=[] cell (0, 0)=5",
        "line 1 k position=(5, 0) stack=[2]",
        "line 1 1 stack=[]",
        "line 1 1 stack=[1]",
        "line 1 1 position=(6, 0) stack=[1, 1]",
        "line 1 @ position=(7, 0) stack=[1, 1, 1]",
        "return 1",
    ]


def test_whitespace_has_calls_and_changes_of_the_heap(tmp_path: Path) -> None:
    push, subroutine = "SSSTL", "LSSTSL SSSTSTL TTS LTL"
    program = signs(f"{push} {push} LSTTSL TTT TLST LLL {subroutine}")
    assert trace(tmp_path, "whitespace", program).shown() == [
        "call 1",
        'line 1 push 1 stack=[] output=""',
        "line 2 push 1 stack=[1]",
        "line 3 call TS stack=[1, 1]",
        "call 9 TS stack=[1, 1]",
        "line 9 label TS",
        "line 11 push 5",
        "line 12 store stack=[5, 1, 1]",
        "line 12 return stack=[1] heap 1=5",
        "return 12",
        "line 5 retrieve stack=[1] heap 1=5",
        "line 5 put number stack=[5]",
        'line 6 end stack=[] output="5"',
        "return 6",
    ]


def test_a_large_number_is_only_measured(tmp_path: Path) -> None:
    program = signs(f"SSS{'T' * 20000}L LLL")
    traced = trace(tmp_path, "whitespace", program)
    assert traced.events[-2]["v"] == {"stack": "[<number of 20000 bits>]"}


def test_unlambda_has_an_event_for_each_application(tmp_path: Path) -> None:
    assert trace(tmp_path, "unlambda", "```s.a\nri", b"").shown() == [
        "call 1",
        'line 1 `s.a continuation=[`_r, `_i] output=""',
        "line 1 ``s.ar continuation=[`_i]",
        "line 1 ```s.ari continuation=[]",
        "line 1 `.ai continuation=[`_`ri]",
        'line 1 `ri continuation=[`i_] output="a"',
        'line 1 `ii continuation=[] output="a\\n"',
        "return 1",
    ]


def test_unlambda_tells_of_the_character_that_was_read(tmp_path: Path) -> None:
    shown = trace(tmp_path, "unlambda", "``@d`@i", b"x").shown()
    told = [line.partition("character=")[2] for line in shown if "character=" in line]
    assert (told[0], told[-1]) == ('"x"', "none")


def test_shakespeare_has_an_event_for_each_sentence_and_stage_direction(tmp_path: Path) -> None:
    lines = "You are a\n big cat. Remember me. Am I better than you?\nIf so, open your heart. If not, open your heart."
    assert trace(tmp_path, "shakespeare", play(lines, more="[Exeunt]")).shown() == [
        "call 1",
        'line 7 Enter Romeo and Juliet scene=Act 1, Scene 1 stage=[] Romeo=0 Juliet=0 The Ghost=0 output=""',
        "line 8 You are a big cat. stage=[Romeo, Juliet] speaker=Juliet",
        "line 9 Remember me. Romeo=2",
        "line 9 Am I better than you? Romeo's memories=[0]",
        "line 10 If so, open your heart. answer=no",
        "line 10 If not, open your heart.",
        'line 11 Exeunt output="2"',
        "return 11",
    ]


@pytest.mark.parametrize(
    ("language", "program", "message"),
    [
        ("brainfuck", "<", "the pointer moved below cell 0"),
        ("befunge98", "+", "the stack is empty at (0, 0)"),
        ("whitespace", signs("SLL"), "the stack is empty"),
        ("shakespeare", play("Recall."), "line 8, column 9: nothing to recall"),
        ("unlambda", "```sii``sii", "step limit of 100000 reached"),
        ("brainfuck", "+[]", "step limit of 100000 reached"),
    ],
)
def test_an_error_is_the_last_event(language: str, program: str, message: str, tmp_path: Path) -> None:
    traced = trace(tmp_path, language, program, EVENTS=10**7, BYTES=10**9)
    assert (traced.events[-1]["e"], traced.events[-1]["r"]) == ("exception", message)
    assert traced.end == "complete"


def test_an_error_in_a_subroutine_ends_all_scopes(tmp_path: Path) -> None:
    traced = trace(tmp_path, "whitespace", signs("LSTL LSSL SLL"))
    assert [(event["d"], event["r"]) for event in traced.of("exception")] == [
        (1, "the stack is empty"),
        (0, "the stack is empty"),
    ]


def test_a_limit_ends_the_trace_and_not_the_program(tmp_path: Path) -> None:
    events = trace(tmp_path, "brainfuck", "+" * 65 + ".", EVENTS=10)
    few_bytes = trace(tmp_path, "brainfuck", "+" * 65 + ".", BYTES=500)
    assert (len(events.events), events.end, events.process.stdout) == (10, "events", b"A")
    assert (few_bytes.end, few_bytes.process.stdout) == ("bytes", b"A")


def test_deeper_subroutines_are_not_traced(tmp_path: Path) -> None:
    program = signs("SSSTTTL LSTL LLL LSSL SLS LTSTL SSSTL TSST LSTL LSSTL LTL")
    traced = trace(tmp_path, "whitespace", program, DEPTH=2)
    assert max(event["d"] for event in traced.events) == 2
    assert traced.end == "complete"


def test_long_values_are_cut_and_bytes_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    printed = trace(tmp_path, "brainfuck", ",.,.,.,.,.", 'é\n\xff"'.encode("latin-1").replace(b"\xe9", "é".encode()))
    assert printed.process.stdout == b'\xc3\xa9\n\xff"'
    outputs = [event["v"]["output"] for event in printed.of("line") if "output" in event.get("v", {})]
    assert outputs == ['""', r'"\xc3"', '"é"', r'"é\n"', r'"é\n\xff"']
    long = trace(tmp_path, "befunge98", '"abcdefghij"@', VALUE=10)
    assert [event["v"]["stack"] for event in long.of("line") if "stack" in event.get("v", {})][-1] == "[106, 105,\u2026"
