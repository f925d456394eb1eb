"""Which version of its toolchain each language runs with, asked inside the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import Future

from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
TASK = Task(id="version", tests=(Test(input="", output=""),), limits=LimitOverrides(run_s=10.0))
ANSWER_S = 60


def toolchain_versions(languages: Iterable[Language], mode: str) -> dict[str, str | None]:
    """The version of each language's toolchain by its name, as it is in `mode`; None where it does not tell."""
    with Verifier(mode) as verifier:
        answers = {language.name: _ask(language, verifier) for language in languages}
        return {name: _version(answer) for name, answer in answers.items()}


def _ask(language: Language, verifier: Verifier) -> Future[Verification] | None:
    command = language.version_command()
    if command is None:
        return None
    asking = language.model_copy(update={"compile": None, "execute": command})
    return verifier.submit(asking, "version", TASK)


def _version(answer: Future[Verification] | None) -> str | None:
    """The last number with a point on the first line that has one: compilers tell their builder's version before."""
    if answer is None:
        return None
    try:
        tests = answer.result(timeout=ANSWER_S).tests
    except AgnosticsError:
        return None
    lines = [line for test in tests for line in f"{test.stdout}\n{test.stderr}".splitlines()]
    return next((found[-1] for line in lines if (found := NUMBER.findall(line))), None)
