"""The choice among sandbox backends, with backends of one's own."""

from __future__ import annotations

from typing import NoReturn

import pytest
from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.modes import builtin_backends, candidates, choose_backend
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.verify import Verifier


class Firecracker(SandboxBackend):
    """A backend of a plugin; it works if `missing` is None."""

    description = "a virtual machine for each slot"

    def __init__(self, name: str, priority: int | None, missing: str | None = None) -> None:
        self.name, self.priority, self._missing = name, priority, missing

    def check(self) -> str:
        if self._missing:
            raise MissingRequirement(self._missing)
        return "1.0"

    def open(self) -> NoReturn:
        raise MissingRequirement(f"{self.name} was opened")


def by_name(*backends: SandboxBackend) -> dict[str, SandboxBackend]:
    return {backend.name: backend for backend in backends}


def test_a_backend_of_ones_own_is_chosen_by_its_name() -> None:
    own = Firecracker("firecracker", None)
    backends = {**builtin_backends(), **by_name(own)}
    assert choose_backend("firecracker", backends) is own
    with pytest.raises(MissingRequirement, match="firecracker was opened"):
        Verifier("firecracker", 1, backends=backends)


def test_auto_takes_the_highest_priority_that_works_and_none_without_priority() -> None:
    low, high, named = Firecracker("low", 1), Firecracker("high", 30), Firecracker("named", None)
    absent = Firecracker("absent", 99, missing="install it")
    assert choose_backend("auto", by_name(low, named, high, absent)) is high
    order = candidates("auto", {**builtin_backends(), **by_name(low, named, high)})
    assert [backend.name for backend in order] == ["high", "docker", "bubblewrap", "low"]


def test_a_backend_that_does_not_work_is_never_replaced_by_another() -> None:
    backends = by_name(Firecracker("broken", 2, missing="run: apt-get install it"), Firecracker("works", 1))
    with pytest.raises(MissingRequirement, match=r"^run: apt-get install it$"):
        choose_backend("broken", backends)


def test_auto_says_what_each_backend_lacks_if_none_works() -> None:
    backends = by_name(Firecracker("a", 2, missing="install a"), Firecracker("b", 1, missing="install b"))
    with pytest.raises(MissingRequirement, match="no sandbox works here: install a; or install b"):
        choose_backend("auto", backends)


def test_an_unknown_name_is_refused_with_the_nearest_one_also_for_a_cluster() -> None:
    backends = by_name(Firecracker("firecracker", 1))
    for sandbox in ("firecraker", "ray://auto/firecraker"):
        with pytest.raises(UsageError, match="did you mean 'firecracker'"):
            Verifier(sandbox, backends=backends)
