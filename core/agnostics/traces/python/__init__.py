"""The language Python, with a tracer in C."""

from __future__ import annotations

from pathlib import Path

from agnostics.types.language import Language, Tracer
from agnostics.types.task import LimitOverrides

_FOLDER = Path(__file__).parent
_BUILD = (
    "gcc -O2 -shared -fPIC -fvisibility=hidden -std=gnu11 -D_GNU_SOURCE -DNDEBUG -w -o agn_trace.so *.c "
    """-I"$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')" && rm *.c *.h"""
)
"""For the interpreter that runs the programs, whatever its version is."""
_RUN = "import agn_trace\n\nraise SystemExit(not agn_trace.run('solution.py'))\n"


def _tracer_files() -> dict[str, str]:
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.[ch]"))}
    return {**sources, "agn_trace_run.py": _RUN}


PYTHON = Language(
    name="python",
    prompt="Use Python 3.",
    install="apt-get install -y --no-install-recommends python3",
    filename="solution.py",
    execute="python3 -s -B solution.py",
    environment={"PYTHONHASHSEED": "0"},
    limits=LimitOverrides(run_s=10.0),
    trace=Tracer(
        execute="python3 -s -B agn_trace_run.py",
        build=_BUILD,
        install="apt-get install -y --no-install-recommends gcc libc6-dev python3-dev",
        files=_tracer_files(),
    ),
)
"""Python 3 without packages. It is in no pack: it is there for traces and for the reference solutions of data sets."""


def traceable(language: Language) -> Language:
    """The language; ours in place of another one called python that has no tracer, such as that of benchmarks."""
    return PYTHON if language.trace is None and language.name == PYTHON.name else language
