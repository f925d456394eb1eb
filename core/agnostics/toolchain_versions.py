"""The versions of languages' toolchains, read inside the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import Future

from agnostics.sandbox.modes import Backends
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
TASK = Task(id="version", tests=(Test(input="", output=""),), limits=LimitOverrides(run_s=10.0))
TIMEOUT_S = 60


def toolchain_versions(
    languages: Iterable[Language], mode: str, backends: Backends | None = None
) -> dict[str, str | None]:
    """The version of each language's toolchain in the sandbox `mode` by its name; None if it reports none."""
    with Verifier(mode, backends=backends) as verifier:
        runs = {language.name: _run_version_command(language, verifier) for language in languages}
        return {name: _version(run) for name, run in runs.items()}


def _run_version_command(language: Language, verifier: Verifier) -> Future[Verification] | None:
    command = language.version_command()
    if command is None:
        return None
    version_only = language.model_copy(update={"compile": None, "execute": command, "fork_server": None})
    return verifier.submit(version_only, "version", TASK)


def _version(run: Future[Verification] | None) -> str | None:
    """The last number with a point on the first line that has one: compilers print their builder's version before."""
    if run is None:
        return None
    try:
        tests = run.result(timeout=TIMEOUT_S).tests
    except AgnosticsError:
        return None
    lines = [line for test in tests for line in f"{test.stdout}\n{test.stderr}".splitlines()]
    return next((numbers[-1] for line in lines if (numbers := VERSION.findall(line))), None)
