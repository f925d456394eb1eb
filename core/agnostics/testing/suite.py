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
from agnostics.testing.contract import CASES, contract_expectations
from agnostics.testing.expectations import check_all
from agnostics.testing.traces import check_trace
from agnostics.types.language import Language
from agnostics.verify import Verifier

TRACE = "trace"
"""The case of a language's tracer, if it has one."""


def contract_test(*languages: str | Language, sandbox: str = "auto") -> Callable[..., None]:
    """A test function, parametrized by the cases of the contract and by `languages`: names or YAML files.

    Programs run in the mode `sandbox`, in workers that are kept until the tests end. Raises UsageError for a language
    that no installed pack provides.
    """
    resolved = [one if isinstance(one, Language) else load_plugins().language(one) for one in languages]

    @pytest.mark.parametrize("case", [*CASES, TRACE])
    @pytest.mark.parametrize("language", resolved, ids=lambda language: language.name)
    def test(language: Language, case: str) -> None:
        if case != TRACE:
            results = list(check_all(contract_expectations(language, (case,)), _verifier(sandbox)))
        elif language.trace:
            results = [check_trace(language, sandbox, load_plugins().sandboxes())]
        else:
            pytest.skip("the language has no tracer")
        assert [f"{result.text}: {result.failure}" for result in results if not result.met] == []

    return test


@cache
def _verifier(sandbox: str) -> Verifier:
    """One verifier for all tests of a process, because workers are expensive to start."""
    verifier = Verifier(sandbox, backends=load_plugins().sandboxes())
    atexit.register(verifier.close)
    return verifier
