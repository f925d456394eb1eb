"""The contract suite for pytest, in three lines of a pack's tests:

from agnostics.testing.suite import contract_test

test_contract = contract_test("tcl")
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache

import pytest

from agnostics.plugins.manager import load_plugins
from agnostics.testing.contract import CASES, contract_cases
from agnostics.testing.expectations import try_all
from agnostics.types.language import Language
from agnostics.verify import Verifier


def contract_test(*languages: str | Language, sandbox: str = "auto") -> Callable[..., None]:
    """A test function with one test for each case of the contract and each of `languages`: names or YAML files.

    Programs run in the mode `sandbox`, in slots that stay warm until the tests end. Raises UsageError for a language
    that no installed pack provides.
    """
    known = [one if isinstance(one, Language) else load_plugins().language(one) for one in languages]

    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("language", known, ids=lambda language: language.name)
    def test(language: Language, case: str) -> None:
        claims = try_all(contract_cases(language, (case,)), _verifier(sandbox))
        assert [f"{claim.text}: {claim.found}" for claim in claims if not claim.holds] == []

    return test


@cache
def _verifier(sandbox: str) -> Verifier:
    """One for all tests of a process: slots are dear to start."""
    verifier = Verifier(sandbox)
    atexit.register(verifier.close)
    return verifier
