"""The example in each prompt of the real model's table is a program that does what the prompt says."""

from __future__ import annotations

from pathlib import Path

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.code_extraction import code_blocks
from agnostics.types.errors import MissingRequirement
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

PROMPTS = sorted((Path(__file__).parents[2] / "benchmarks" / "prompts").glob("*.txt"))
TASK = Task(
    id="example",
    tests=(Test(input="abc\n3\n4 5 6\n", output="abc 6\n"),),
    limits=LimitOverrides(run_s=20, memory_mb=2048),
)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda path: path.stem)
def test_the_example_of_a_prompt_is_accepted(prompt: Path) -> None:
    ((_, program),) = code_blocks(prompt.read_text())
    with Verifier("bubblewrap", 1) as verifier:
        try:
            verification = verifier.submit(load_plugins().language(prompt.stem), program, TASK).result(timeout=120)
        except MissingRequirement as error:
            pytest.skip(str(error))
    assert verification.accepted, verification


def test_there_is_a_prompt_for_each_language_of_the_table() -> None:
    assert [path.stem for path in PROMPTS] == ["fortran", "julia", "lua", "ocaml", "r"]
