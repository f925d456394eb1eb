"""The `kattis` adapter: problem packages of Kattis and the ICPC, with their output validators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from agnostics import Dataset, LimitOverrides, Task, UsageError, unknown_name_error

from agnostics_datasets.contest_prompt import WITH_HEADINGS, Sections, set_in
from agnostics_datasets.kattis.package import Package, packages
from agnostics_datasets.kattis.validator import comparison
from agnostics_datasets.records import complaining


class Kattis(Dataset):
    """Problem packages in the formats `legacy` and `2023-07` and later (problem-package-format.kattis.com).

    The source is a package (a folder with `problem.yaml`, or its .zip or .kpp) or a folder of them. The tests are the
    samples and the secret test cases in their order; the statement is the English one, in its LaTeX or Markdown source,
    with the samples.

    Flags of the default validator select the mode of comparison; the validator ignores case by default, `tokens` does
    not. An output validator becomes a checker in the language `kattis-validator` of this distribution: C++ or Python
    files, in folders too, or anything that its own script `build` produces. Left out are problems with scoring,
    interaction or several passes, those without tests or with a statement in PDF only, those whose test groups have
    flags of their own, and those with several validators or one of another language.

    A package has no split; all tasks are for training. The licence is each package's own, in `metadata.license`.
    """

    name: ClassVar[str] = "kattis"
    description: ClassVar[str] = "Problem packages of Kattis and the ICPC, with their output validators."
    license: ClassVar[str] = "that of each package, in its problem.yaml"
    splits: ClassVar[tuple[str, ...]] = ("train",)
    size: ClassVar[str] = "as many tasks as there are packages"
    fields: ClassVar[Mapping[str, str]] = {
        "name of the folder": "id",
        "problem_statement/problem.en.tex": "statement, with the samples",
        "data/sample, data/secret": "tests",
        "validation, validator_flags": "how outputs are compared",
        "output_validators": "compare.checker",
        "limits.memory, limits.output": "limits.memory_mb, limits.output_bytes",
        "limits.time_limit, .timelimit, domjudge-problem.ini": "limits.run_s",
        "keywords": "tags",
        "name, license, source": "metadata",
    }

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of the split "train", in the order of their names; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is None:
            raise UsageError("the data set 'kattis' needs a package, or a folder of them: kattis:FOLDER")
        return _tasks(packages(source))


def _tasks(found: Iterator[Package]) -> Iterator[Task]:
    for package in found:
        with complaining(package.where):
            task = _task(package)
        if task is not None:
            yield task


def _task(package: Package) -> Task | None:
    about = package.about
    statement, samples, secret = package.statement(), package.tests("sample"), package.tests("secret")
    compare = comparison(package)
    if not about.is_plain or statement is None or not [*samples, *secret] or compare is None:
        return None
    metadata = {"name": about.title, "license": about.license, "source": about.source}
    return Task(
        id=f"kattis/{package.name}",
        statement=set_in(WITH_HEADINGS, Sections(statement, None, None, samples, None)),
        tests=(*samples, *secret),
        compare=compare,
        limits=_limits(package),
        tags=tuple(about.keywords),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _limits(package: Package) -> LimitOverrides:
    memory, output = package.about.limits.memory, package.about.limits.output
    return LimitOverrides(
        run_s=package.time_limit(),
        memory_mb=max(16, int(memory)) if memory else None,
        output_bytes=int(output * (1 << 20)) if output else None,
    )
