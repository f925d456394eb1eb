"""The Kattis adapter: packages of each version of the format, their validators, and what is left out."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from agnostics.types.errors import UsageError
from agnostics.types.task import Comparison, LimitOverrides, Task, Test
from agnostics_datasets.kattis import Kattis

SUM = {
    "problem.yaml": "name: Sum\nlicense: cc by-sa\nkeywords: math easy\nlimits:\n  memory: 512\n  output: 2\n",
    "problem_statement/problem.en.tex": "\\problemname{Sum}\n\nAdd.\n",
    "data/sample/1.in": "1 2\n",
    "data/sample/1.ans": "3\n",
    "data/secret/02-big.in": "5 5\n",
    "data/secret/02-big.ans": "10\n",
    "data/secret/01-group/1.in": "0 0\n",
    "data/secret/01-group/1.ans": "0\n",
    ".timelimit": "2\n",
}
VALIDATOR = "import sys\nsys.exit(42)\n"


def written(folder: Path, name: str, changes: dict[str, str | None] | None = None) -> Path:
    for path, text in ({**SUM, **(changes or {})}).items():
        if text is not None:
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text)
    return folder / name


def tasks(source: Path) -> list[Task]:
    return list(Kattis().tasks("train", source=str(source)))


def about(**keys: Any) -> dict[str, str | None]:
    return {"problem.yaml": yaml.safe_dump({"name": "Sum", **keys})}


def test_a_legacy_package_becomes_a_task(tmp_path: Path) -> None:
    (task,) = tasks(written(tmp_path, "sum"))
    assert task.id == "kattis/sum"
    assert task.tests == (
        Test(input="1 2\n", output="3\n"),
        Test(input="0 0\n", output="0\n"),
        Test(input="5 5\n", output="10\n"),
    )
    assert task.statement == (
        "# Problem\n\n\\problemname{Sum}\n\nAdd.\n\n# Examples\n\nInput 1:\n```\n1 2\n```\n\nOutput 1:\n```\n3\n```"
    )
    assert task.limits == LimitOverrides(run_s=2, memory_mb=512, output_bytes=2 << 20)
    assert (task.tags, task.metadata) == (("math", "easy"), {"name": "Sum", "license": "cc by-sa"})
    assert task.compare.mode == "tokens"


def test_a_package_of_the_newer_format_becomes_the_same_task(tmp_path: Path) -> None:
    newer = {
        "problem_format_version": "2023-07-draft",
        "type": "pass-fail",
        "name": {"sv": "Summa", "en": "Sum"},
        "license": "cc by-sa",
        "keywords": ["math", "easy"],
        "limits": {"memory": 512, "output": 2, "time_limit": 2.0},
    }
    moved = {
        "problem_statement/problem.en.tex": None,
        "statement/problem.en.md": SUM["problem_statement/problem.en.tex"],
    }
    old = written(tmp_path / "old", "sum")
    new = written(tmp_path / "new", "sum", {**about(**newer), **moved, ".timelimit": None})
    assert tasks(new) == tasks(old)


def test_a_folder_of_packages_and_an_archive_are_read(tmp_path: Path) -> None:
    first, second = written(tmp_path, "a"), written(tmp_path, "b")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        for path in first.rglob("*"):
            archive.write(path, Path("c") / path.relative_to(first))
    with zipfile.ZipFile(tmp_path / "d.kpp", "w") as archive:
        for path in second.rglob("*"):
            archive.write(path, path.relative_to(second))
    found = tasks(tmp_path)
    assert [task.id for task in found] == ["kattis/a", "kattis/b", "kattis/c", "kattis/d"]
    assert len({task.model_dump_json(exclude={"id"}) for task in found}) == 1


@pytest.mark.parametrize(
    ("flags", "compare"),
    [
        ("", Comparison()),
        ("case_sensitive", Comparison()),
        ("case_sensitive space_change_sensitive", Comparison(mode="exact")),
        ("float_tolerance 1e-4", Comparison(mode="floats", absolute=1e-4, relative=1e-4)),
        ("float_absolute_tolerance 1e-4", Comparison(mode="floats", absolute=1e-4, relative=0)),
        (
            "float_relative_tolerance 1e-3 float_absolute_tolerance 1e-9",
            Comparison(mode="floats", absolute=1e-9, relative=1e-3),
        ),
    ],
)
def test_flags_of_the_default_validator_become_the_mode(flags: str, compare: Comparison, tmp_path: Path) -> None:
    (task,) = tasks(written(tmp_path, "sum", about(validator_flags=flags)))
    assert task.compare == compare
    (task,) = tasks(written(tmp_path, "group", {"data/testdata.yaml": f"output_validator_flags: {flags}\n"}))
    assert task.compare == compare
    (task,) = tasks(
        written(
            tmp_path, "newer", {"data/secret/test_group.yaml": f"output_validator_args: [{', '.join(flags.split())}]\n"}
        )
    )
    assert task.compare == compare


@pytest.mark.parametrize(
    ("names", "script", "command"),
    [
        (["check.py"], "run", 'exec python3 check.py "$@"'),
        (["check/a.py", "check/Main.py"], "run", 'exec python3 Main.py "$@"'),
        (["check/b.py", "check/a.py", "check/a.cc", "check/data.txt"], "run", 'exec python3 a.py "$@"'),
        (["check.cpp"], "build", "exec g++ -O2 -std=gnu++23 -o run check.cpp -lpthread"),
        (["check/b.cc", "check/a.cc", "check/a.h"], "build", "exec g++ -O2 -std=gnu++23 -o run a.cc b.cc -lpthread"),
        (["check/build", "check/Check.java"], "build", VALIDATOR.strip()),
    ],
)
def test_validators_become_checkers(names: list[str], script: str, command: str, tmp_path: Path) -> None:
    custom = about(validation="custom", validator_flags="deep it's")
    (task,) = tasks(written(tmp_path, "old", {**custom, **{f"output_validators/{name}": VALIDATOR for name in names}}))
    checker = task.compare.checker
    assert checker
    assert checker.language == "kattis-validator"
    assert """./run "$1" "$3" "$feedback/" deep 'it'"'"'s' < "$2\"""" in checker.program
    assert {name.rpartition("/")[2] for name in names} | {script} == set(checker.files)
    assert command in checker.files[script]


def test_folders_of_a_validator_are_made_before_it_is_built(tmp_path: Path) -> None:
    names = ("check/a.cc", "check/lib/b.cc", "check/lib/deep/c.h")
    changes = {**about(validation="custom"), **{f"output_validators/{name}": name for name in names}}
    (task,) = tasks(written(tmp_path, "old", changes))
    assert task.compare.checker
    assert task.compare.checker.files == {
        "a.cc": "check/a.cc",
        "agn_file.1": "check/lib/b.cc",
        "agn_file.2": "check/lib/deep/c.h",
        "agn_folders.sh": "mkdir -p lib && cp agn_file.1 lib/b.cc || exit 1\n"
        "mkdir -p lib/deep && cp agn_file.2 lib/deep/c.h || exit 1\n",
        "build": "#!/bin/sh\nexec g++ -O2 -std=gnu++23 -o run a.cc lib/b.cc -lpthread\n",
    }


def test_a_validator_of_the_newer_format_becomes_a_checker(tmp_path: Path) -> None:
    (task,) = tasks(written(tmp_path, "newer", {**about(), "output_validator/check.py": VALIDATOR}))
    assert task.compare.checker
    assert set(task.compare.checker.files) == {"check.py", "run"}


@pytest.mark.parametrize(
    "changes",
    [
        about(type="scoring"),
        about(type=["pass-fail", "multi-pass"]),
        {**about(validation="custom interactive"), "output_validators/check.py": VALIDATOR},
        {
            **about(validation="custom"),
            "output_validators/check.py": VALIDATOR,
            "output_validators/second.py": VALIDATOR,
        },
        {**about(validation="custom"), "output_validators/check/Check.java": "class Check {}"},
        {**about(validation="custom"), "output_validators/c/a.cc": "", "output_validators/c/b b/b.h": ""},
        about(validation="custom"),
        {
            **about(validator_flags="float_tolerance 1e-4"),
            "data/secret/testdata.yaml": "output_validator_flags: case_sensitive",
        },
        about(validator_flags="float_tolerance 1e-4 space_change_sensitive"),
        {"problem_statement/problem.en.tex": None, "problem_statement/problem.en.pdf": "%PDF"},
        {path: None for path in SUM if path.startswith("data/")},
    ],
)
def test_unsupported_packages_are_left_out(changes: dict[str, str | None], tmp_path: Path) -> None:
    assert not tasks(written(tmp_path, "sum", changes))


def test_a_validator_that_the_package_does_not_ask_for_is_passed_over(tmp_path: Path) -> None:
    (task,) = tasks(written(tmp_path, "sum", {"output_validators/check.py": VALIDATOR}))
    assert task.compare == Comparison()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"problem.yaml": "name: [\n"}, r"sum: problem\.yaml: while parsing"),
        ({"problem.yaml": "- a\n"}, r"sum: problem\.yaml: expected keys and values"),
        ({"problem.yaml": "limits: 3\n"}, "sum: limits: Input should be"),
        ({"data/secret/02-big.ans": None}, r"sum: 02-big\.in: has no answer 02-big\.ans"),
        (about(validator_flags="float_tolerance much"), "sum: could not convert"),
        (about(validator_flags="sloppy"), "sum: validator_flags: 'sloppy' is no flag"),
        ({".timelimit": "soon"}, "sum: could not convert"),
    ],
)
def test_a_malformed_package_is_refused_with_its_name(
    changes: dict[str, str | None], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=complaint) as error:
        tasks(written(tmp_path, "sum", changes))
    assert "\n" not in str(error.value)


def test_what_holds_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "")
    for source, complaint in {
        None: "needs a package",
        "none": "no such file or folder",
        "empty": "neither a problem package",
        "broken.zip": "not a .zip archive",
        "other.zip": r"holds no problem\.yaml",
    }.items():
        with pytest.raises(UsageError, match=complaint):
            list(Kattis().tasks("train", source=str(tmp_path / source) if source else None))
