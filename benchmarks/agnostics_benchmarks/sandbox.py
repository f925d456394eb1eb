"""The sandbox against the bare machine, and against a container per program."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agnostics.sandbox.pool import available_cores
from agnostics.sandbox.toolchain import missing_tools
from agnostics.toolchain_versions import toolchain_versions
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.types.task import Task

from agnostics_benchmarks.contenders import Bare, ContainerPerProgram, Contender, Stream
from agnostics_benchmarks.latency import latencies
from agnostics_benchmarks.measure import Rates, measure
from agnostics_benchmarks.workload import make_workload

MODES = ("docker", "bubblewrap")
IN_IMAGE = "bare_in_image"
NAMES = ("bare", IN_IMAGE, *MODES, "docker_run")


@dataclass(frozen=True)
class Ring:
    """Modes that work here for the language, and the name of its image, if there is one."""

    modes: tuple[str, ...]
    image: str | None
    here: bool
    """Whether the toolchain is on this machine; where not, the bare limit runs in the image."""
    differs: bool
    """Whether the image's toolchain is another version than this machine's, as fast or slow as that may be."""

    def contenders(self, slots: int) -> list[Contender]:
        """The bare limit and the modes; where the image's toolchain differs, the bare limit with that one too."""
        in_image = [Bare(slots, self.image, IN_IMAGE)] if self.differs else []
        return [Bare(slots, self.bare_image), *in_image, *(Stream(mode, slots) for mode in self.modes)]

    def all_contenders(self, slots: int) -> list[Contender]:
        """The same, and a container per program where there can be one."""
        return [*self.contenders(slots), *([ContainerPerProgram(self.image, slots)] if self.image else [])]

    @property
    def bare_image(self) -> str | None:
        """The image that the bare limit runs in, where it has to."""
        return None if self.here else self.image


def compare_sandbox(language: Language, tasks: Sequence[Task], slots: int) -> dict[str, Any]:
    """The report of `agn bench sandbox`. Rates are programs per second; ratios are of rates in the same round.

    A mode is held against the bare limit with the same toolchain.

    Raises MissingRequirement where programs of `language` cannot be run here in either mode.
    """
    ring = _ring(language)
    one, ten = make_workload(language, tasks, tests=1), make_workload(language, tasks, tests=10)
    cores = available_cores()
    single = measure(one, ring.all_contenders(slots), slots)
    tenfold = measure(ten, ring.all_contenders(slots), slots)
    growth = {count: measure(ten, ring.contenders(count), count) for count in _sizes(cores) if count != slots}
    growth[slots] = tenfold
    return {
        "language": language.name,
        "slots": slots,
        "cores": cores,
        **{f"{name}_per_s": _rounded(tenfold.per_s(name)) for name in NAMES},
        **{f"{mode}_over_bare": _rounded(_over_bare(tenfold, mode)) for mode in MODES},
        "docker_over_docker_run": _rounded(single.over("docker", "docker_run")),
        "one_test": _table(single, 1, min(slots, cores)),
        "ten_tests": _table(tenfold, 10, min(slots, cores)),
        "by_slots": [{"slots": count, **_table(growth[count], 10, min(count, cores))} for count in sorted(growth)],
        "latency_ms": latencies(one, ring.modes, ring.bare_image),
    }


def working_modes(language: Language) -> tuple[str, ...]:
    """The modes in which programs of `language` can be run here. Raises MissingRequirement if there is none."""
    return _modes(language, _image(language))


def _modes(language: Language, image: str | None) -> tuple[str, ...]:
    here = not missing_tools(language)
    modes = (*(["docker"] if image else []), *(["bubblewrap"] if here and shutil.which("bwrap") else []))
    if not modes:
        raise MissingRequirement(f"no sandbox can run {language.name} here; run: agn doctor")
    return modes


def _ring(language: Language) -> Ring:
    image, here = _image(language), not missing_tools(language)
    modes = _modes(language, image)
    image = image if shutil.which("docker") else None
    return Ring(modes, image, here, differs=bool(image and here) and _differs(language, modes))


def _differs(language: Language, modes: Sequence[str]) -> bool:
    """Whether the modes have different versions of the toolchain."""
    return len({toolchain_versions([language], mode)[language.name] for mode in modes}) > 1


def _image(language: Language) -> str | None:
    from agnostics.sandbox.docker_client import connect
    from agnostics.sandbox.images.language_image import ensure_image

    try:
        return ensure_image(connect(), language, lambda _: None)
    except MissingRequirement:
        return None


def _sizes(cores: int) -> Iterable[int]:
    """One slot, as many as there are cores, and twice as many."""
    return sorted({1, cores, 2 * cores})


def _over_bare(rates: Rates, name: str) -> float | None:
    """Speed of a contender relative to the bare limit with its toolchain."""
    with_image = name in {"docker", "docker_run"} and rates.per_s(IN_IMAGE)
    return rates.over(name, IN_IMAGE if with_image else "bare")


def _table(rates: Rates, tests: int, cores: int) -> dict[str, dict[str, float | None]]:
    return {name: _row(rates, name, tests, cores) for name in NAMES if rates.per_s(name)}


def _row(rates: Rates, name: str, tests: int, cores: int) -> dict[str, float | None]:
    per_s = rates.per_s(name) or 0.0
    return {
        "programs_per_s": _rounded(per_s),
        "programs_per_s_per_core": _rounded(per_s / cores),
        "tests_per_s_per_core": _rounded(per_s * tests / cores),
        "over_bare": _rounded(_over_bare(rates, name)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
