"""The libraries that some protocols give players: what they generate and simulate is what the interpreters run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from agnostics_lang_esolangs import LANGUAGES, agn_languages
from agnostics_lang_esolangs.interpreter import interpreter_path

Load = Callable[[str, str], Any]
OutputOf = Callable[[str, str, str], str]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a module of a library as a generator does."""

    def load_(language: str, name: str) -> Any:
        monkeypatch.syspath_prepend(LANGUAGES / language / "library")
        return import_module(name)

    return load_


@pytest.fixture
def output_of(tmp_path: Path) -> OutputOf:
    """Runs a program on an input, and gives what it prints; it may not fail."""

    def run(language: str, program: str, given: str) -> str:
        (tmp_path / "program").write_text(program)
        command = [str(interpreter_path(language)), str(tmp_path / "program")]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=True).stdout

    return run


def test_the_languages_of_the_paper_and_whitespace_have_a_library() -> None:
    having = {language.name: set(language.library) for language in agn_languages() if language.library}
    assert having == {
        "brainfuck": {"README.md", "bflib.py"},
        "befunge98": {"README.md", "befunge.py"},
        "whitespace": {"README.md", "assembler.py"},
    }


NUMBERS = [("0", "0"), ("12", "7"), ("99", "1"), ("-5", "100"), ("000", "-0"), ("1000", "999"), ("54321", "54322")]


@pytest.mark.parametrize("separated", ["{} {}", "  {}\n{}\n"])
def test_numbers_of_the_brainfuck_library_are_those_of_arithmetic(
    separated: str, load: Load, output_of: OutputOf
) -> None:
    bf = load("brainfuck", "bflib").Builder()
    a, b = bf.number("a", 6), bf.number("b", 6)
    bf.read_number(a)
    bf.read_number(b)
    is_less, is_not = bf.cell("is less"), bf.cell("is not")
    bf.less_digits(a, b, is_less)
    bf.is_zero(is_less, is_not)
    bf.write_number(a)
    bf.text(",")
    with bf.if_(is_less):
        bf.text("<,")
    with bf.if_(is_not):
        bf.subtract_digits(a, b)
        bf.write_number(a)
        bf.text(",")
        bf.add_digits(a, b)
    bf.add_digits(a, b)
    bf.write_number(a)
    for left, right in NUMBERS:
        x, y = int(left), abs(int(right))
        sum_ = f"-{abs(x) + y}" if x < 0 else f"{x + y}"
        expected = f"{x},{'<' if abs(x) < y else abs(x) - y},{sum_}"
        assert output_of("brainfuck", bf.code, separated.format(left, right)) == expected


def test_conditions_of_the_brainfuck_library_leave_no_cell_behind(load: Load, output_of: OutputOf) -> None:
    bf = load("brainfuck", "bflib").Builder()
    char, flag = bf.cell("char"), bf.cell("flag")
    bf.read(char)
    with bf.while_(char):
        bf.less_than(char, ord("a"), flag)
        with bf.if_(flag):
            bf.text("!")
        bf.equals(char, ord("b"), flag)
        with bf.if_(flag):
            bf.text("B")
        bf.write(char)
        bf.read(char)
    for cell in range(bf.size):
        with bf.if_(cell):
            bf.text("a cell is left")
    assert output_of("brainfuck", bf.code, "aAbz\x01") == "a!ABbz!\x01"


@pytest.mark.parametrize(
    "program",
    [
        "&&+.a,@",
        "&&-.@",
        "&&/.@",
        "&&%.@",
        '"!dlroW olleH">:#,_@',
        "~:1+!#v_,\n      @ <\n",
        '>"a"0 9p0 9g,@\n',
        "&&`!.@",
        "1#2.3.@",
        "'a,2j..12.@",
        ";skipped;7.@",
        "12\\.:..n5.@",
        "v\n5 @\n>.^\n",
        "0!|\n  7\n  .\n  @\n",
    ],
)
@pytest.mark.parametrize("given", ["12 5\nhi", "-7 2", "7 -2"])
def test_the_simulator_of_befunge_prints_what_the_interpreter_does(
    program: str, given: str, load: Load, output_of: OutputOf
) -> None:
    printed = load("befunge98", "befunge").simulate(program, given, steps=10_000)
    assert printed == output_of("befunge98", program, given)


def test_a_grid_of_befunge_refuses_instructions_that_meet(load: Load) -> None:
    grid = load("befunge98", "befunge").Grid()
    grid.right(0, 0, "12v")
    grid.down(2, 0, "v+.@")
    assert str(grid) == "12v\n  +\n  .\n  @\n"
    with pytest.raises(ValueError, match=r"\(1, 0\) holds '2'; it cannot hold '3'"):
        grid.down(1, 0, "3")


def test_the_assembler_of_whitespace_makes_programs(load: Load, output_of: OutputOf) -> None:
    program = load("whitespace", "assembler").Assembler()
    program.read(0, "read_num")
    program.push(-10)
    program.keep(1)
    program.branch("label", "again")
    for address in (0, 1):
        program.load(address)
    program.op("add", "dup", "dup", "out_num")
    program.keep(0)
    program.text(" ")
    program.branch("jump_if_negative", "done")
    program.branch("jump", "again")
    program.branch("label", "done")
    program.op("end")
    assert output_of("whitespace", str(program), "25\n") == "15 5 -5 "
