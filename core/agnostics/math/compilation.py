"""The program that compiles the archive of packages with the Python of the sandbox, which then imports it faster.

It writes an archive to its standard output in which the modules that a comparison imports are compiled.
"""

from __future__ import annotations

import importlib.util
import io
import marshal
import sys
from zipfile import ZIP_DEFLATED, ZipFile
from zipimport import zipimporter

from agnostics.math.slot import warm_up

_UNCHECKED = (1).to_bytes(4, "little") + bytes(8)
"""The rest of the header of compiled code that is never compared with its source (PEP 552)."""


def main(source: str) -> None:
    """Import what a comparison does, and write the archive `source` with that compiled."""
    warm_up()
    importer = zipimporter(source)
    result = io.BytesIO()
    with ZipFile(source) as given, ZipFile(result, "w", ZIP_DEFLATED) as made:
        for name in given.namelist():
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if module in sys.modules:
                made.writestr(f"{name}c", importlib.util.MAGIC_NUMBER + _UNCHECKED + _code(importer, module))
            else:
                made.writestr(name, given.read(name))
    sys.stdout.buffer.write(result.getvalue())


def _code(importer: zipimporter, module: str) -> bytes:
    package, _, name = module.rpartition(".")
    inner = zipimporter(f"{importer.archive}/{package.replace('.', '/')}") if package else importer
    return marshal.dumps(inner.get_code(name))
