"""The programs of `agn traces make`: reference programs of a data set, those in a file, or those of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agnostics.plugins.manager import PluginManager
from agnostics.traces.python import PYTHON, traceable
from agnostics.traces.records import TraceRequest, read_requests
from agnostics.types.errors import UsageError
from agnostics.types.language import Language

if TYPE_CHECKING:
    from agnostics.store.filters import VerificationFilter


@dataclass(frozen=True)
class Programs:
    """Programs of one language, and how many there are with their inputs, if that is known."""

    language: Language
    total: int | None
    requests: Iterator[TraceRequest]


@dataclass(frozen=True)
class ProgramSource:
    """A run with filters on its programs, a data set, or a file, as the options of the command name them."""

    run: str | None
    store: str | None
    filters: dict[str, Any]
    dataset: str | None
    split: str
    programs: Path | None

    def __post_init__(self) -> None:
        if [self.run, self.dataset, self.programs].count(None) != 2:
            raise UsageError("name the programs: RUN, --dataset NAME, or --programs FILE")


@contextmanager
def open_programs(plugins: PluginManager, source: ProgramSource) -> Iterator[Programs]:
    """The programs of a source. Raises UsageError for options that do not go together."""
    if source.run is not None:
        with _of_run(plugins, source.run, source.filters, source.store) as found:
            yield found
        return
    filters = source.filters
    if beside := [name for name, value in filters.items() if value and name != "language"]:
        raise UsageError(f"--{beside[0].removesuffix('s')} selects programs of a RUN; name one")
    if not filters["language"]:
        raise UsageError("name the language of the programs with --language")
    language = find_language(plugins, filters["language"])
    if source.programs is not None:
        yield _of_file(source.programs, language)
    else:
        yield Programs(language, None, _of_dataset(plugins, str(source.dataset), source.split, language))


def find_language(plugins: PluginManager, name: str) -> Language:
    """The language called `name`: of a plugin, in a YAML file, or our own Python, if no other can be traced."""
    if name == PYTHON.name and name not in plugins.languages():
        return PYTHON
    return traceable(plugins.language(name))


def _of_file(path: Path, language: Language) -> Programs:
    with path.open("rb") as file:
        total = sum(1 for _ in file)
    return Programs(language, total, _requests_in(path))


def _requests_in(path: Path) -> Iterator[TraceRequest]:
    with path.open("rb") as file:
        yield from read_requests(file, str(path))


def _of_dataset(plugins: PluginManager, name: str, split: str, language: Language) -> Iterator[TraceRequest]:
    """Raises UsageError if there is no reference program for any task."""
    adapter, source = plugins.dataset(name)
    are_there = False
    for task in adapter.tasks(split, source=source):
        program = language.reference_for(task)
        if program is None:
            continue
        are_there = True
        program = language.with_tests(task, program)
        for number, test in enumerate(task.tests, 1):
            yield TraceRequest(f"{task.id}/{number}", program, test.input)
    if not are_there:
        raise UsageError(
            f"{language.name} has no reference program for a task of {name}; bring programs with --programs FILE"
        )


@contextmanager
def _of_run(plugins: PluginManager, run: str, filters: dict[str, Any], store: str | None) -> Iterator[Programs]:
    from agnostics.cli.results.filters import filter_of
    from agnostics.cli.results.reading import reading
    from agnostics.store.queries.distinct_programs import count_inputs, languages_of

    given = str(filters["language"] or "")
    language = find_language(plugins, given) if given.endswith((".yaml", ".yml")) else None
    if language:
        filters = {**filters, "language": language.name}
    with reading(store) as connection:
        where = filter_of(connection, run, filters)
        names = languages_of(connection, where)
        if not names:
            raise UsageError(f"no program of {run} matches; `agn results programs {run}` lists them")
        language = language or find_language(plugins, names[0])
        yield Programs(language, count_inputs(connection, where), _requests_of(connection, where))


def _requests_of(connection: Any, where: VerificationFilter) -> Iterator[TraceRequest]:
    from agnostics.store.queries.distinct_programs import distinct_programs

    for found in distinct_programs(connection, where):
        for number, stdin in enumerate(found.inputs, 1):
            yield TraceRequest(f"{found.completion_id}/{found.task}/{number}", found.program, stdin)
