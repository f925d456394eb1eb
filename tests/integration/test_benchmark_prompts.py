"""The examples in each prompt of the real model's table are programs that do what the prompt says."""

from __future__ import annotations

from pathlib import Path

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.code_extraction import code_blocks
from agnostics.types.errors import MissingRequirement
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

PROMPTS = sorted((Path(__file__).parents[2] / "benchmarks" / "prompts").glob("*.txt"))
EXAMPLES = (("abc\n3\n4 5 6\n", "abc 6"), ("4\n", "14"), ("red green blue\n", "3 r,g,b"))
"""Input and output of the first, second and third example."""
LETTERS = ("abc\n", "3 a b c")
"""The third one in Fortran, which cannot split a line."""


def _task(language: str, number: int) -> Task:
    given, printed = LETTERS if (language, number) == ("fortran", 2) else EXAMPLES[number]
    limits = LimitOverrides(run_s=20, memory_mb=2048)
    return Task(id=f"example {number}", tests=(Test(input=given, output=printed),), limits=limits)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda path: path.stem)
def test_the_examples_of_a_prompt_are_accepted(prompt: Path) -> None:
    language, blocks = prompt.stem, [*code_blocks(prompt.read_text())]
    assert len(blocks) == (1 if language == "lua" else len(EXAMPLES))
    with Verifier("bubblewrap", 1) as verifier:
        for number, (_, program) in enumerate(blocks):
            try:
                running = verifier.submit(load_plugins().language(language), program, _task(language, number))
                verification = running.result(timeout=120)
            except MissingRequirement as error:
                pytest.skip(str(error))
            assert verification.accepted, verification


def test_there_is_a_prompt_for_each_language_of_the_table() -> None:
    assert [path.stem for path in PROMPTS] == ["fortran", "julia", "lua", "ocaml", "r"]
