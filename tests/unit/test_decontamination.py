"""What a benchmark gives away is found, and nothing else; the command's files say what was removed and why."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics import cli
from agnostics.task_prep.decontamination import BenchmarkIndex, ContaminationMatch, TaskDocument, find_matches
from agnostics.task_prep.loaders import load_problems
from agnostics.types.errors import UsageError
from agnostics.util.minhash import SimilarityIndex, jaccard, shingles
from agnostics.util.ngrams import NgramIndex, ngrams

DATA = Path(__file__).parents[3] / "shared" / "data"
PRIMES = "Write a function that counts the prime numbers below a given number n and prints them."


def test_eight_words_in_a_row_are_the_least_that_counts() -> None:
    assert ngrams("A b c d e f g") == []
    assert ngrams(" A  b c\nd e f g H i") == ["a b c d e f g h", "b c d e f g h i"]
    index = NgramIndex(["one two three four five six seven eight", "zero one two three four five six seven eight nine"])
    assert index.closest("ONE two three four five six seven; eight") is None
    assert index.closest("nine one two three\tfour five six seven Eight") == (
        0,
        "one two three four five six seven eight",
    )
    assert index.closest("one two three four five six seven eight nine")[0] == 1  # type: ignore[index]


def test_likeness_is_the_exact_share_of_shingles_and_ignores_case_and_punctuation() -> None:
    assert shingles("Ab, c!", by_words=False) == {"ab c"}
    assert shingles("a b c d", by_words=True) == {"a b c", "b c d"}
    one, other = shingles("abcdefgh", by_words=False), shingles("abcdefgx", by_words=False)
    assert jaccard(one, other) == 3 / 5
    index = SimilarityIndex(["something else altogether", PRIMES], 0.5)
    assert index.closest(PRIMES.upper()) == (1, 1.0)
    changed = PRIMES.replace("counts the", "counts all the").replace("prints them", "shows them")
    assert NgramIndex([PRIMES]).closest(changed.replace("below a", "under any")) is None
    place, similarity = index.closest(changed) or (None, 0.0)
    assert (place, similarity) == (1, jaccard(shingles(changed, by_words=False), shingles(PRIMES, by_words=False)))
    assert SimilarityIndex([PRIMES], 0.95).closest(changed) is None


def test_a_long_text_is_compared_by_words_with_benchmarks_of_any_length() -> None:
    long = " ".join(f"word{number} and" for number in range(40))
    moved = " ".join(long.split()[20:] + long.split()[:20])
    place, similarity = SimilarityIndex(["short", long], 0.5).closest(moved) or (None, 0.0)
    assert (place, similarity) == (1, jaccard(shingles(moved, by_words=True), shingles(long, by_words=True)))
    assert similarity > 0.9


def test_every_match_names_the_benchmark_the_task_and_the_test() -> None:
    benchmarks = [BenchmarkIndex("one", [TaskDocument("x", "nothing of the kind"), TaskDocument("y", PRIMES)], 0.5)]
    (clean, none), (dirty, found) = find_matches(
        [TaskDocument("a", "Sort some words."), TaskDocument("b", PRIMES)], benchmarks
    )
    assert (clean.id, none, dirty.id) == ("a", [], "b")
    first = "write a function that counts the prime numbers"
    assert found == [
        ContaminationMatch("b", "one", "y", "8-gram", shared=first),
        ContaminationMatch("b", "one", "y", "minhash", similarity=1.0),
    ]


# Real data

real = pytest.mark.skipif(not (DATA / "mbpp").is_dir(), reason="MBPP is not beside this checkout (../shared/data)")


@real
def test_problems_are_read_in_every_format_they_come_in(tmp_path: Path) -> None:
    files = ("mbpp/mbpp.jsonl", "mbpp/sanitized-mbpp.427.json", "humaneval/HumanEval.jsonl.gz")
    mbpp, sanitized, humaneval = (load_problems(DATA / name) or [] for name in files)
    assert [len(found) for found in (mbpp, sanitized, humaneval)] == [974, 427, 164]
    assert all(problem.entry for problem in (*mbpp, *sanitized, *humaneval))
    exercism = load_problems(DATA / "exercism" / "canonical_cases.jsonl") or []
    assert sum(len(problem.records) for problem in exercism) > 2000
    case = {"property": "add", "input": {"a": 1, "b": [2]}, "expected": 3}
    refused = {**case, "expected": {"error": "no"}}
    nested: dict[str, Any] = {"exercise": "sums", "cases": [{"description": "group", "cases": [case, refused]}]}
    (tmp_path / "canonical-data.json").write_text(json.dumps(nested, indent=2))
    (problem,) = load_problems(tmp_path / "canonical-data.json") or []
    assert (problem.id, problem.cases) == ("exercism/sums/add", "assert add(a=1, b=[2]) == 3")


@real
def test_mbpp_and_its_sanitized_version_overlap_and_humaneval_hardly_does() -> None:
    def documents(name: str) -> list[TaskDocument]:
        return [TaskDocument(problem.id, problem.description) for problem in load_problems(DATA / name) or []]

    mbpp = documents("mbpp/mbpp.jsonl")
    sanitized = find_matches(documents("mbpp/sanitized-mbpp.427.json"), [BenchmarkIndex("mbpp", mbpp, 0.5)])
    found = [matches for _, matches in sanitized if matches]
    same = [any(match.task == match.match for match in matches) for matches in found]
    assert (len(found), sum(same)) == (370, 348)  # the others were written anew, or are closest to another problem
    humaneval = BenchmarkIndex("humaneval", documents("humaneval/HumanEval.jsonl.gz"), 0.5)
    hits = [match for _, matches in find_matches(mbpp, [humaneval]) for match in matches]
    assert [(hit.task, hit.match, hit.shared) for hit in hits] == [
        ("mbpp/12", "HumanEval/145", "in ascending order according to the sum of")
    ]


# The command

Decontaminate = Callable[..., tuple[int, str, str]]


@pytest.fixture
def decontaminate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Decontaminate:
    """Runs the command on a file of three tasks, in the folder that holds it."""
    monkeypatch.chdir(tmp_path)
    statements = {"a": PRIMES, "b": "Sort some words.", "c": PRIMES.replace("prints", "then prints")}
    _write("train.jsonl", [{"id": id_, "statement": text, "tests": [TEST]} for id_, text in statements.items()])
    _write("tested.jsonl", [{"id": "t", "split": "test", "statement": PRIMES, "tests": [TEST]}])

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return cli.call(["datasets", "decontaminate", "train.jsonl", *arguments]), *capsys.readouterr()

    return call


TEST = {"input": "7\n", "output": "3\n"}


def _write(name: str, records: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_the_command_writes_what_may_be_trained_on_and_why_the_rest_may_not(decontaminate: Decontaminate) -> None:
    status, said, _ = decontaminate("--against", "tested.jsonl", "-o", "clean.jsonl", "--json")
    told = json.loads(said)
    assert (status, told["kept"], told["removed"]) == (0, 1, 2)
    assert told["against"] == [{"against": "tested.jsonl", "tasks": 1, "8-gram": 2, "minhash": 2, "either": 2}]
    assert [json.loads(line)["id"] for line in Path("clean.jsonl").read_text().splitlines()] == ["b"]
    removed = [json.loads(line) for line in Path("clean.removed.jsonl").read_text().splitlines()]
    assert [(line["task"], line["match"], line["test"]) for line in removed] == [
        *(("a", "t", test) for test in ("8-gram", "minhash")),
        *(("c", "t", test) for test in ("8-gram", "minhash")),
    ]
    assert (removed[0]["against"], removed[1]["similarity"]) == ("tested.jsonl", 1.0)
    assert cli.call(["datasets", "show", "clean.jsonl"]) == 0


def test_files_that_are_there_are_kept_unless_forced(decontaminate: Decontaminate) -> None:
    Path("clean.removed.jsonl").write_text("mine")
    status, _, said = decontaminate("--against", "tested.jsonl", "-o", "clean.jsonl")
    assert (status, "already there" in said, Path("clean.jsonl").exists()) == (2, True, False)
    assert decontaminate("--against", "tested.jsonl", "-o", "clean.jsonl", "--force")[0] == 0
    assert sorted(path.name for path in Path().iterdir()) == [
        *("clean.jsonl", "clean.removed.jsonl", "tested.jsonl", "train.jsonl"),
    ]


@pytest.mark.parametrize("content", [b'[{"task_id": 1, "code": "", "test_list": []}]', b"[1, {", b"\x1f\x8b"])
def test_a_malformed_file_of_problems_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mbpp.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"mbpp\.json: "):
        load_problems(path)
    for lines in ('{"exercise": "a", "cases": ["b"]}', '{"exercise": 1, "property": 2, "input": 3, "expected": 4}\n5'):
        path.write_text(lines)
        with pytest.raises(UsageError, match=r"mbpp\.json: "):
            load_problems(path)
    broken = tmp_path / "mbpp.jsonl.gz"
    broken.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(UsageError, match="not readable"):
        load_problems(broken)
