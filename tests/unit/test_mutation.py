"""Slips: seeded, unlike the right program and each other, and still made for every constant of the task."""

from __future__ import annotations

from random import Random

import pytest
from agnostics.models.starter.mutation import wrong_programs
from agnostics.plugins.manager import load_plugins

LANGUAGES = ["lua", "fortran", "r", "julia", "ocaml"]
COUNT = 6


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_reference_has_slips_that_differ_from_it_and_from_each_other(name: str) -> None:
    reference = load_plugins().language(name).reference
    for kind, program in reference.items():
        others = [reference[other] for other in sorted(reference) if other != kind]
        wrong = wrong_programs(program, others, COUNT, Random(kind))
        assert program not in wrong
        assert len(set(wrong)) == len(wrong) >= COUNT - 1, kind


def test_a_seed_gives_the_same_slips() -> None:
    program = 'local n = io.read("*n")\nprint(n + @k@)\n'
    first, again, other = (wrong_programs(program, [], COUNT, Random(seed)) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_most_slips_keep_the_placeholders() -> None:
    reference = load_plugins().language("lua").reference
    wrong = [w for k, p in reference.items() if "@k@" in p for w in wrong_programs(p, [], COUNT, Random(k))]
    assert 0.6 < sum("@k@" in program for program in wrong) / len(wrong) < 0.95


def test_a_program_of_one_blank_line_has_no_slips() -> None:
    assert wrong_programs("\n", [], COUNT, Random(0)) == []
