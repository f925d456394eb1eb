"""The packages of a checker's slot as one archive, from which its Python imports them in every sandbox mode."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from agnostics.types.errors import MissingRequirement

_PACKAGES = ("antlr4", "latex2sympy2_extended", "math_verify", "mpmath", "sympy")
_LEFT_OUT = frozenset({"benchmarks", "tests", "tasks.py"})
_ANTLR = "antlr4-python3-runtime"
_OURS = ("compilation", "equivalence", "evaluation", "normaliser", "numbers", "slot", "structure", "units")
_COMPRESSION = 1
"""Of zlib: twice as fast as the default, and a fifth larger."""


def check_packages() -> None:
    """Raise MissingRequirement if a package is not installed here."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise _missing(package)


@cache
def archive() -> bytes:
    """A ZIP archive of the pure-Python packages that are installed here, with our modules for the slot.

    It holds no times, so that it is the same whenever it is made. Raises MissingRequirement if one of the packages is
    not installed.
    """
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as file:
        for name, data in _files():
            file.writestr(ZipInfo(name), data, ZIP_DEFLATED, _COMPRESSION)
    return buffer.getvalue()


def antlr_version() -> str:
    """The version of ANTLR's runtime, by which latex2sympy2_extended chooses its parser. Raises MissingRequirement."""
    try:
        return version(_ANTLR)
    except PackageNotFoundError:
        raise _missing(_ANTLR) from None


def _files() -> Iterator[tuple[str, bytes]]:
    yield from ((f"agnostics/{folder}__init__.py", b"") for folder in ("", "math/"))
    for module in _OURS:
        yield f"agnostics/math/{module}.py", Path(__file__).with_name(f"{module}.py").read_bytes()
    for package in _PACKAGES:
        yield from _files_of(package)


def _files_of(package: str) -> Iterator[tuple[str, bytes]]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise _missing(package)
    folder = Path(spec.origin).parent
    for path in sorted(folder.rglob("*.py")):
        inner = path.relative_to(folder)
        if _LEFT_OUT.isdisjoint(inner.parts):
            yield f"{package}/{inner.as_posix()}", path.read_bytes()


def _missing(package: str) -> MissingRequirement:
    return MissingRequirement(f"to compare mathematical answers {package} is needed: pip install 'agnostics[math]'")
