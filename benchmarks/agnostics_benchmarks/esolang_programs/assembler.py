"""The instructions of Whitespace, and their encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

CODES = {
    "push": "SS",
    "copy": "SLS",
    "swap": "SLT",
    "discard": "SLL",
    "add": "TSSS",
    "subtract": "TSST",
    "multiply": "TSSL",
    "divide": "TSTS",
    "modulo": "TSTT",
    "store": "TTS",
    "retrieve": "TTT",
    "put_character": "TLSS",
    "put_number": "TLST",
    "get_character": "TLTS",
    "get_number": "TLTT",
    "label": "LSS",
    "call": "LST",
    "jump": "LSL",
    "jump_if_zero": "LTS",
    "jump_if_negative": "LTT",
    "return": "LTL",
    "end": "LLL",
}
"""The code of each instruction, from the letters S (space), T (tab) and L (line feed)."""
SIGNS = str.maketrans("STL", " \t\n")


class Instruction(NamedTuple):
    """An instruction with its number or label, if it has one."""

    operation: str
    operand: int | str | None = None


def assemble(instructions: Sequence[Instruction]) -> str:
    """The program; its labels are numbered in the order of their first use."""
    numbers = dict[str, int]()
    return "".join(_encode(each, numbers) for each in instructions).translate(SIGNS)


def _encode(instruction: Instruction, numbers: dict[str, int]) -> str:
    code = CODES[instruction.operation]
    if isinstance(instruction.operand, str):
        return f"{code}{_binary(numbers.setdefault(instruction.operand, len(numbers)))}L"
    if isinstance(instruction.operand, int):
        sign = "T" if instruction.operand < 0 else "S"
        return f"{code}{sign}{_binary(abs(instruction.operand))}L"
    return code


def _binary(number: int) -> str:
    return f"{number:b}".replace("0", "S").replace("1", "T")
