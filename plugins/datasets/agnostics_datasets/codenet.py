"""The `codenet` adapter: the problems of IBM's CodeNet, tested on the samples of their statements."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import ClassVar

from agnostics import Dataset, LimitOverrides, Task, UsageError, unknown_name_error

from agnostics_datasets.files import file_rows
from agnostics_datasets.records import Fields, complaining
from agnostics_datasets.statement_html import StatementParser
from agnostics_datasets.statement_rules import comparison_of

_LIST = Path("metadata") / "problem_list.csv"


class _Listed(Fields):
    """A row of the list of problems: time in ms, memory in KB."""

    id: str
    dataset: str | None = None
    time_limit: float | None = None
    memory_limit: float | None = None


class CodeNet(Dataset):
    """The problems of CodeNet (Puri et al., 2021, arXiv 2105.12655), of AIZU and AtCoder.

    The source is `problem_descriptions.tar.gz`, or the folder `Project_CodeNet` with `problem_descriptions/*.html` and
    `metadata/problem_list.csv`, which has the limits. The tests are the samples of the statement, which is truncated
    before the last sample, so that one test is hidden. Left out are statements without samples, and those with several
    correct outputs according to `comparison_of`. A third of the statements is in Japanese. CodeNet has no splits; all
    tasks are for training. Apache-2.0; the statements belong to the sites.
    """

    name: ClassVar[str] = "codenet"
    description: ClassVar[str] = "CodeNet: problems of AIZU and AtCoder with the samples of their statements."
    license: ClassVar[str] = "Apache-2.0"
    splits: ClassVar[tuple[str, ...]] = ("train",)
    size: ClassVar[str] = "3,999 statements, of which 3,815 become tasks, with two samples each on average"
    fields: ClassVar[Mapping[str, str]] = {
        "name of the file": "id",
        "text of the page, up to the last sample": "statement, and how outputs are compared",
        "samples": "tests",
        "problem_list.csv: time_limit, memory_limit": "limits.run_s, limits.memory_mb",
        "problem_list.csv: dataset": "tags",
    }

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of the split "train", in the order of the source; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is None:
            raise UsageError("the data set 'codenet' needs its statements: codenet:problem_descriptions.tar.gz")
        path = Path(source)
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        return _tasks(_pages(path), _listed(path))


def _tasks(pages: Iterator[tuple[str, bytes]], listed: Mapping[str, _Listed]) -> Iterator[Task]:
    for name, html in pages:
        page = StatementParser(html.decode(errors="replace"))
        compare = comparison_of(page.statement)
        if page.samples and compare is not None:
            about = listed.get(name, _Listed(id=name))
            yield Task(
                id=f"codenet/{name}",
                statement=page.statement,
                tests=page.samples,
                compare=compare,
                limits=_limits(about),
                tags=(about.dataset,) if about.dataset else (),
            )


def _pages(path: Path) -> Iterator[tuple[str, bytes]]:
    """The statements by name; those of an archive are read one at a time."""
    if path.is_dir():
        pages = sorted((path / "problem_descriptions").glob("*.html"))
        if not pages:
            raise UsageError(f"{path}: holds no problem_descriptions/*.html")
        yield from ((page.stem, page.read_bytes()) for page in pages)
        return
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".html") else None
                if file is not None:
                    yield PurePosixPath(member.name).stem, file.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UsageError(f"{path}: not an archive of statements: {error}") from error


def _listed(path: Path) -> dict[str, _Listed]:
    """The rows of CodeNet's list of problems by name; empty if there is no list. Cells may be empty."""
    found: dict[str, _Listed] = {}
    if (path / _LIST).is_file():
        for where, row in file_rows(str(path / _LIST), "train", ("train",)):
            with complaining(where):
                about = _Listed.model_validate({key: cell for key, cell in row.items() if cell})
            found[about.id] = about
    return found


def _limits(about: _Listed) -> LimitOverrides:
    time, memory = about.time_limit, about.memory_limit
    return LimitOverrides(
        run_s=time / 1000 if time else None, memory_mb=max(16, int(memory / 1024)) if memory else None
    )
