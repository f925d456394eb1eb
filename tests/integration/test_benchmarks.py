"""Benchmarks with tests of their own: real records, and verdicts as the benchmarks' own rules have them."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agnostics import cli
from agnostics.plugins.manager import load_plugins
from agnostics.train.config import RunConfig
from agnostics.train.setup import check_names
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.verify import Verifier
from agnostics_datasets.humaneval import HumanEval
from agnostics_datasets.mbpp import Mbpp
from agnostics_datasets.mceval import McEval
from agnostics_datasets.multipl_e import MultiplE

DATA = Path(__file__).parents[3] / "shared" / "data"
real = pytest.mark.skipif(not DATA.is_dir(), reason="the real records are not beside this checkout")
LUA = DATA / "multipl_e" / "humaneval-lua.jsonl"


@pytest.fixture(scope="module")
def bubblewrap() -> Iterator[Verifier]:
    with Verifier("bubblewrap") as made:
        yield made


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _completion(record: dict[str, Any]) -> str:
    """What follows the prompt's last line in a recorded completion, without the end of its block."""
    block = re.findall(r"```\w*\n(.*?)```", record["gpt_solution"], re.DOTALL)
    signature = record["prompt"].rstrip().splitlines()[-1]
    return str(block[0] if block else record["gpt_solution"]).rpartition(signature)[2].removeprefix("\n")


def _stopped(text: str, stop_tokens: list[str]) -> str:
    """`stop_at_stop_token` of MultiPL-E: the prefix before the first stop token, wherever it stands."""
    return text[: min([len(text), *(text.find(stop) for stop in stop_tokens if stop in text)])]


def _passes_as_multipl_e_has_it(record: dict[str, Any], completion: str, folder: Path) -> bool:
    """MultiPL-E's evaluation, on this machine: a file of prompt, completion and tests, and the exit status."""
    program = record["prompt"] + _stopped(completion, record["stop_tokens"]) + "\n" + record["tests"]
    (folder / "program.lua").write_text(program)
    ran = subprocess.run(["lua5.3", "program.lua"], cwd=folder, capture_output=True, timeout=30, check=False)
    return ran.returncode == 0


@real
def test_verdicts_of_recorded_completions_agree_with_multipl_es_own_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = _records(LUA)[:50]
    wrong = ["  return nil\nend", "  os.exit(0)\nend\nlocal x", "  return 1"]
    completions = {record["name"]: [_completion(record), wrong[n % 3]] for n, record in enumerate(records)}
    lines = [{"task": name, "completion": text} for name, texts in completions.items() for text in texts]
    recorded = tmp_path / "completions.jsonl"
    recorded.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--language", "lua-multipl-e", "--dataset", f"multipl-e:{LUA}", "--completions", str(recorded), "--json"]
    store = tmp_path / "results.db"
    assert cli.call(["eval", *words, "--sandbox", "bubblewrap", "--store", str(store)]) == 0, capsys.readouterr().err
    with sqlite3.connect(store) as database:
        found = database.execute("select task, sample, verdict from verifications").fetchall()
    ours = {(task, sample): verdict == "accepted" for task, sample, verdict in found}
    theirs = {
        (record["name"], sample): _passes_as_multipl_e_has_it(record, completions[record["name"]][sample], tmp_path)
        for record in records
        for sample in (0, 1)
    }
    assert ours == theirs
    assert 20 < sum(theirs.values()) < 80
    (evaluation,) = json.loads(capsys.readouterr().out)["evaluations"]
    assert (evaluation["programs"], list(evaluation["by_tag"])) == (100, ["humaneval"])


@real
@pytest.mark.parametrize(
    ("dataset", "source", "solution", "wrong"),
    [
        (HumanEval(), "humaneval/HumanEval.jsonl.gz", "canonical_solution", "    return None\n"),
        (Mbpp(), "mbpp/mbpp.jsonl", "code", "```python\ndef f(): pass\n```"),
        (Mbpp(), "mbpp/sanitized-mbpp.427.json", "code", "No program."),
    ],
)
def test_the_solutions_of_benchmarks_in_python_pass_and_wrong_ones_do_not(
    bubblewrap: Verifier, dataset: Any, source: str, solution: str, wrong: str
) -> None:
    python = load_plugins().language("python")
    rows = [row for _, row in dataset.rows("test", str(DATA / source))]
    tasks = list(dataset.tasks("test", source=str(DATA / source)))[::25]
    key = "task_id"
    solutions = {f"mbpp/{row[key]}" if dataset.name == "mbpp" else row[key]: row[solution] for row in rows}
    for task in tasks:
        right = solutions[task.id] if dataset.name == "humaneval" else f"```python\n{solutions[task.id]}\n```"
        for completion, accepted in ((right, True), (wrong, False)):
            program = python.program_for(task, completion)
            assert bubblewrap.verify(python, program, task).accepted is accepted, (task.id, program)


def test_a_completion_of_mceval_stands_between_its_imports_and_its_tests(bubblewrap: Verifier, tmp_path: Path) -> None:
    record = {
        "task_id": "Python/1",
        "prompt": '"""\nfrom 1 to 3\n"""\nfrom typing import List\n\n\ndef total(numbers: List[int]) -> int:\n',
        "instruction": "Write a Python function `total`.",
        "test": "def test():\n    assert total([1, 2]) == 3\n\n\ntest()",
        "level": "easy",
    }
    path = tmp_path / "Python.jsonl"
    path.write_text(json.dumps(record) + "\n")
    (task,) = McEval().tasks("test", source=str(path))
    python = load_plugins().language("python")
    assert (python.prompt_for(task), task.difficulty) == ("Write a Python function `total`.", "easy")
    for body, accepted in (("return sum(numbers)", True), ("return 0", False)):
        completion = f"Sure:\n```python\ndef total(numbers: List[int]) -> int:\n    {body}\n```"
        assert bubblewrap.verify(python, python.program_for(task, completion), task).accepted is accepted
    path.write_text(json.dumps({**record, "task_id": "Scala/1"}) + "\n")
    with pytest.raises(UsageError, match="unknown language of McEval 'Scala'"):
        list(McEval().tasks("test", source=str(path)))


MCEVAL = {
    "Fortran": (
        "! Add one.\nfunction inc(x) result(y)",
        """program main
    implicit none
    call assert(inc(1) == 2)
contains
subroutine assert(condition)
    logical, intent(in) :: condition
    if (.not. condition) then
        write(*, *) 'Assertion failed!'
        stop
    end if
end subroutine assert""",
        "function inc(x) result(y)\n    integer, intent(in) :: x\n    integer :: y\n    y = x + 1\nend function inc",
    ),
    "Perl": (
        "use strict;\nuse warnings;\n\nsub inc {\n# Add one, and use it.",
        'sub check {\nmy $f = shift;\ndie "Test failed!" unless &$f(1) == 2;\n}\n\ncheck(\\&inc);',
        "sub inc {\n    my ($x) = @_;\n    return $x + 1;\n}",
    ),
    "Tcl": (
        "proc inc {x} {\n# Add one.",
        'proc check {inc} {\nif {[inc 1] == 2} {\nputs "Passed"\n} else {\nerror "Failed"\n}\n}\n\ncheck inc',
        "proc inc {x} {\n    return [expr {$x + 1}]\n}",
    ),
}


@pytest.mark.parametrize("name", MCEVAL)
def test_completions_of_mceval_in_other_languages_get_its_verdicts(
    name: str, bubblewrap: Verifier, tmp_path: Path
) -> None:
    prompt, test, block = MCEVAL[name]
    record = {"task_id": f"{name}/1", "prompt": prompt, "instruction": "Add one.", "test": test, "level": "easy"}
    path = tmp_path / f"{name}.jsonl"
    path.write_text(json.dumps(record) + "\n")
    (task,) = McEval().tasks("test", source=str(path))
    tcl = Language(name="tcl", prompt="", filename="snippet.tcl", execute="tclsh snippet.tcl")
    language = tcl if name == "Tcl" else load_plugins().language({"Perl": "perl-multipl-e", "Fortran": "fortran"}[name])
    for code, accepted in ((block, True), (block.replace("+ 1", "+ 2"), False)):
        program = language.program_for(task, f"So:\n```{name.lower()}\n{code}\n```")
        assert bubblewrap.verify(language, program, task).accepted is accepted, program


@pytest.mark.parametrize("name", ["multipl-e", "humaneval", "mbpp", "mceval"])
def test_training_on_a_benchmark_is_refused_with_the_reason(name: str) -> None:
    refusal = rf"data set '{name}' is for evaluation only \(.+\): training on it is not allowed"
    with pytest.raises(UsageError, match=refusal):
        check_names(RunConfig(dataset=f"{name}:anything.jsonl"), load_plugins())


PERL = {
    "name": "HumanEval_0_inc",
    "language": "pl",
    "prompt": "sub inc {\n    my($x) = @_;\n",
    "tests": """use Test::Deep;


sub testhumaneval {
    my $candidate = \\&inc;
        if(eq_deeply($candidate->(1),2)) {
        print "ok!" }else{
        exit 1;
        }
}

testhumaneval();""",
    "stop_tokens": ["\nsub", "\n#", "\n\n"],
}
PERL_COMPLETIONS = {
    "    return $x + 1;\n}\nsub more": True,
    "    warn 'odd'; return $x + 1;\n}": True,
    "    return $x;\n}": False,
    "    print 'no ERROR'; return $x + 1;\n}": False,
    "    warn 'ERROR'; return $x + 1;\n}": False,
    "    return $x +": False,
}


def _passes_in_perl_as_multipl_e_has_it(program: str) -> bool:
    """`eval_pl.py` of MultiPL-E."""
    ran = subprocess.run(["perl", "-"], input=program, text=True, capture_output=True, timeout=30, check=False)
    return ran.returncode == 0 and "ERROR" not in ran.stdout and "ERROR" not in ran.stderr


def test_perl_is_verified_by_what_it_prints_too(bubblewrap: Verifier, tmp_path: Path) -> None:
    if subprocess.run(["perl", "-MTest::Deep", "-e", "1"], capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("no Perl with Test::Deep here: apt-get install libtest-deep-perl")
    path = tmp_path / "humaneval-pl.jsonl"
    path.write_text(json.dumps(PERL) + "\n")
    (task,) = MultiplE().tasks("test", source=str(path))
    perl = load_plugins().language("perl-multipl-e")
    for completion, passes in PERL_COMPLETIONS.items():
        program = perl.program_for(task, completion)
        assert program is not None
        assert _passes_in_perl_as_multipl_e_has_it(program) is passes
        assert bubblewrap.verify(perl, program, task).accepted is passes, completion


@real
def test_another_lua_than_multipl_es_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = tmp_path / "completions.jsonl"
    recorded.write_text(json.dumps({"task": "HumanEval_0_has_close_elements", "completion": ""}) + "\n")
    words = ["--language", "lua", "--dataset", f"multipl-e:{LUA}", "--completions", str(recorded)]
    store = ["--sandbox", "bubblewrap", "--store", str(tmp_path / "results.db")]
    assert cli.call(["eval", *words, *store]) == 2
    assert "has its tests in 'lua-multipl-e', which is no name or tag of 'lua'" in capsys.readouterr().err
