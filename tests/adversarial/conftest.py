"""Checks after every attack: the slot is unchanged, it accepts the next honest program without delay, and the program
that ran at the same time was not disturbed.

The programs are in `programs/`, named after their attack, each in the languages in which it is possible. C is compiled
in the Fortran slot, which has its compiler.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agnostics.sandbox.modes import builtin_backends
from agnostics.sandbox.pool import available_cores
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier
from ordinary_user import OrdinaryUserBackend

PROGRAMS = Path(__file__).parent / "programs"
LANGUAGES = {".c": "c", ".lua": "lua", ".f90": "fortran"}
CLEAN = "2"
"""The output of `is_it_clean` in a clean slot."""
PROBE = Task(id="probe", tests=(Test(input="", output=CLEAN),) * 3)
PROBES = 3
"""Honest programs of which one has to be fast: other tests, too, take processors away."""
GROWTH_KB = 8 << 10
"""The memory by which a harness may grow in an attack."""

MODES = ["bubblewrap", "docker", *([OrdinaryUserBackend.name] if os.geteuid() == 0 else [])]
"""Bubblewrap mode has other means without root; as an ordinary user each attack is run in one language."""

Attack = Callable[..., Verification]
OpenVerifier = Callable[..., Verifier]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "programs(*names): run with each of these, in every language it is written in")
    config.addinivalue_line("markers", "not_as_user: not run as an ordinary user, who would show nothing else")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out repetitions in the third mode, which would make the tests half a minute longer."""
    left_out = {item for item in items if _is_repetition(item)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _is_repetition(item: pytest.Item) -> bool:
    """Whether it would show as an ordinary user what it shows as root, or in the first language of its attack."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    if parameters.get("mode") != OrdinaryUserBackend.name:
        return False
    attack, _, _ = str(parameters.get("program", "")).partition(".")
    first = next((f"{attack}{suffix}" for suffix in LANGUAGES if (PROGRAMS / f"{attack}{suffix}").exists()), "")
    return item.get_closest_marker("not_as_user") is not None or parameters.get("program", "") not in {"", first}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if marker := metafunc.definition.get_closest_marker("programs"):
        metafunc.parametrize("program", _files_of(*marker.args))


def _files_of(*names: str) -> list[str]:
    files = [path.name for name in names for path in sorted(PROGRAMS.glob(f"{name}.*"))]
    assert {file.partition(".")[0] for file in files} == set(names)
    return files


def _text_of(program: str) -> str:
    path = PROGRAMS / program
    library = PROGRAMS / f"libc{path.suffix}"
    return (library.read_text() if library.exists() else "") + path.read_text()


@pytest.fixture(scope="session", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Each isolation mode, and bubblewrap mode also as an ordinary user."""
    return str(request.param)


@pytest.fixture(scope="session")
def open_verifier(mode: str, languages: dict[str, Language]) -> OpenVerifier:
    """Opens verifiers with a number of slots."""
    backends = {**builtin_backends(), OrdinaryUserBackend.name: OrdinaryUserBackend()}
    return lambda slots, others=languages: Verifier(mode, slots, languages=others, backends=backends)


@pytest.fixture(scope="session")
def verifier(open_verifier: OpenVerifier) -> Iterator[Verifier]:
    """A verifier with two slots."""
    with open_verifier(2) as made:
        yield made


@pytest.fixture(scope="session")
def single(open_verifier: OpenVerifier) -> Iterator[Verifier]:
    """A verifier with one slot: what one program leaves, the next would find."""
    with open_verifier(1) as made:
        yield made


@pytest.fixture(scope="session")
def writing(languages: dict[str, Language]) -> dict[str, Language]:
    """The languages of the attacks by name; C shares slots with Fortran, so that each finds the other's files."""
    c = languages["c"].model_copy(update={"name": languages["fortran"].name})
    return {"lua": languages["lua"], "fortran": languages["fortran"], "c": c}


@dataclass(frozen=True)
class SlotState:
    """The descriptors, children, mounts and free space of a slot's harness, as seen from outside."""

    harness: int
    descriptors: int
    children: str
    mounts: str
    stored: tuple[int, ...]

    @classmethod
    def of(cls, harness: int) -> SlotState:
        folder = Path("/proc", str(harness))
        disks = [os.statvfs(folder / "root" / name) for name in ("w", "tmp")]
        return cls(
            harness,
            len(list((folder / "fd").iterdir())),
            "".join(children.read_text() for children in sorted(folder.glob("task/*/children"))),
            (folder / "mountinfo").read_text(),
            tuple(number for disk in disks for number in (disk.f_bfree, disk.f_ffree)),
        )


class AttackedSlot:
    """A verifier with one slot, and the state of the slot when it was new."""

    def __init__(self, verifier: Verifier, probe: Callable[[Verifier], Verification]) -> None:
        self.verifier = verifier
        self._probe = probe
        self._baseline = self._run_probe()
        self._state, self._memory_kb = self._inspect()

    def assert_as_new(self) -> None:
        """The next honest program is accepted and fast, and the slot holds nothing new."""
        assert any(self._is_fast(self._run_probe()) for _ in range(PROBES))
        before, before_kb = self._state, self._memory_kb
        self._state, self._memory_kb = self._inspect()
        if self._state and before:
            assert self._state.harness == before.harness, "the slot was replaced"
        assert self._state == before
        assert self._memory_kb < before_kb + GROWTH_KB

    def _is_fast(self, probe: Verification) -> bool:
        """Whether the probe and its fastest test took about as long as in the new slot."""
        usual_ms, now_ms = (min(test.wall_ms for test in one.tests) for one in (self._baseline, probe))
        return probe.wall_ms < 5 * self._baseline.wall_ms + 100 and now_ms < 5 * usual_ms + 50

    def _run_probe(self) -> Verification:
        result = self._probe(self.verifier)
        assert result.accepted, [test.stdout for test in result.tests] or result.error
        assert result.attempts == 1
        return result

    def _inspect(self) -> tuple[SlotState | None, int]:
        """The state of the slot and the memory of its harness (KiB); only root may read them."""
        if os.geteuid() != 0:
            return None, 0
        harness = _harness_of(self.verifier)
        return SlotState.of(harness), _resident_kb(harness)


def _harness_of(verifier: Verifier) -> int:
    """The process on this machine that is the harness of the one slot: its container's first, or bwrap's only child."""
    pool: Any = verifier._pool
    (worker,) = pool._workers
    slot = worker.slot
    if hasattr(slot, "container_id"):
        slot._container.reload()
        return int(slot._container.attrs["State"]["Pid"])
    outer = slot._process.pid
    return int(Path(f"/proc/{outer}/task/{outer}/children").read_text())


def _resident_kb(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") >> 10


@pytest.fixture(scope="session")
def harness_of() -> Callable[[Verifier], int]:
    """The harness of a verifier's only slot, for root: its process id on this machine."""
    return _harness_of


@pytest.fixture(scope="session")
def slots(open_verifier: OpenVerifier, writing: dict[str, Language]) -> Iterator[dict[str, AttackedSlot]]:
    """A slot for each language of attacks, so that the next program would find the files of the one before."""

    def probe(program: str) -> Callable[[Verifier], Verification]:
        language = writing[LANGUAGES[Path(program).suffix]]
        return lambda verifier: verifier.verify(language, _text_of(program), PROBE)

    with open_verifier(1) as lua, open_verifier(1) as fortran:
        compiled = AttackedSlot(fortran, probe("is_it_clean.c"))
        yield {"lua": AttackedSlot(lua, probe("is_it_clean.lua")), "fortran": compiled, "c": compiled}


@pytest.fixture(scope="session")
def slowness(pytestconfig: pytest.Config) -> float:
    """What time limits are multiplied with, for an emulated machine."""
    factor: float = pytestconfig.getoption("slowness")
    return factor


@pytest.fixture(scope="session")
def honest(slowness: float) -> Task:
    """The task of the program that runs beside attacks."""
    return Task(id="honest", tests=(Test(input="", output="42"),), limits=LimitOverrides(run_s=slowness))


@pytest.fixture(scope="session")
def neighbour(open_verifier: OpenVerifier, languages: dict[str, Language], honest: Task) -> Iterator[Verifier]:
    """A verifier with a slot for an honest program that runs at the same time."""
    with open_verifier(1) as verifier:
        verifier.verify(languages["lua"], _text_of("busy_neighbour.lua"), honest)
        yield verifier


@contextmanager
def _undisturbed(neighbour: Verifier, language: Language, honest: Task) -> Iterator[None]:
    """Run an honest program repeatedly during the block, and assert that it is accepted each time."""
    finished = threading.Event()

    def run() -> list[Verification]:
        results: list[Verification] = []
        while not (results and finished.is_set()):
            results.append(neighbour.verify(language, _text_of("busy_neighbour.lua"), honest))
        return results

    with ThreadPoolExecutor(1) as executor:
        results = executor.submit(run)
        try:
            yield
        finally:
            finished.set()
    assert {(result.verdict, result.attempts) for result in results.result()} == {("accepted", 1)}


@pytest.fixture(scope="session")
def files_of() -> Callable[..., list[str]]:
    """The files of the programs with these names, in every language."""
    return _files_of


@pytest.fixture(scope="session")
def text_of() -> Callable[[str], str]:
    """The text of a program of the folder, after the declarations with which its language calls the C library."""
    return _text_of


@pytest.fixture
def crowd(open_verifier: OpenVerifier) -> Iterator[Verifier]:
    """A verifier with four slots for each core."""
    with open_verifier(4 * available_cores()) as verifier:
        yield verifier


@pytest.fixture
def attack(
    slots: dict[str, AttackedSlot],
    neighbour: Verifier,
    writing: dict[str, Language],
    honest: Task,
    slowness: float,
) -> Iterator[Attack]:
    """Runs a program of the folder in its language's slot; `limits` override the defaults."""
    used: dict[str, AttackedSlot] = {}

    def run(program: str, output: str = "", given: str = "", tests: int = 1, **limits: float) -> Verification:
        name = LANGUAGES[Path(program).suffix]
        limits = {"memory_mb": 256, **limits, "run_s": slowness * limits.get("run_s", 1.0)}
        task = Task(
            id=program, tests=(Test(input=given, output=output),) * tests, limits=LimitOverrides.model_validate(limits)
        )
        used[name] = slots[name]
        with _undisturbed(neighbour, writing["lua"], honest):
            return used[name].verifier.verify(writing[name], _text_of(program), task, stop_on_failure=False)

    yield run
    for slot in used.values():
        slot.assert_as_new()
