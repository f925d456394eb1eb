"""Languages without a pack: a few lines of YAML each, verified like any other."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import preloaded
import pytest
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

PERL = "prompt: Use Perl 5.\ninstall: apt-get install -y perl\nfilename: snippet.pl\nexecute: perl snippet.pl\n"
TCL = "prompt: Use Tcl 8.6.\ninstall: apt-get install -y tcl\nfilename: snippet.tcl\nexecute: tclsh snippet.tcl\n"
SCHEME = "prompt: Use Guile Scheme.\ninstall: apt-get install -y guile-3.0\nfilename: snippet.scm\n"
SCHEME += "execute: guile --no-auto-compile snippet.scm\n"
PROGRAMS = {
    "perl": (PERL, "my ($a, $b) = split ' ', <STDIN>; print $a + $b;", "print 8", "die 'x'"),
    "tcl": (TCL, "lassign [gets stdin] a b\nputs [expr {$a + $b}]", "puts 8", "error x"),
    "scheme": (SCHEME, "(display (+ (read) (read)))", "(display 8)", "(error 'x)"),
}
SUM = Task(id="sum", tests=(Test(input="3 4\n", output="7"),) * 2, limits=LimitOverrides(run_s=10))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_language_of_a_few_lines_verifies_right_and_wrong_programs(name: str, tmp_path: Path) -> None:
    text, right, wrong, crash = PROGRAMS[name]
    (tmp_path / f"{name}.yaml").write_text(text)
    language = Language.from_yaml(tmp_path / f"{name}.yaml")
    with Verifier("bubblewrap", 1) as verifier:
        futures = [verifier.submit(language, program, SUM) for program in (right, wrong, crash, " ")]
        found = [str(future.result(timeout=120).verdict) for future in futures]
    assert found == ["accepted", "wrong_answer", "runtime_error", "no_program"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_language_of_a_few_lines_is_trained_on(name: str, starter_model: Path, tmp_path: Path) -> None:
    """The starter knows another language, so nothing passes; but its programs are run in this one."""
    (tmp_path / f"{name}.yaml").write_text(PROGRAMS[name][0])
    sums = [{"id": str(n), "statement": "Add.", "tests": [{"input": f"{n} 4", "output": f"{n + 4}"}]} for n in range(4)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, sums)))
    settings = {
        "rollout.engine": "transformers",
        "rollout.prompts_per_step": 2,
        "rollout.group_size": 4,
        "rollout.max_completion_tokens": 48,
        "evaluation.tasks": 0,
        "output": tmp_path / "runs",
    }
    command = [sys.executable, "-m", "agnostics", "run", "--language", f"{name}.yaml", "--model", str(starter_model)]
    command += ["--dataset", "tasks.jsonl", "--steps", "2", "--sandbox", "bubblewrap", "--store", "sqlite:///run.db"]
    command += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    answer = preloaded.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert answer.returncode == 0, answer.stderr
    with sqlite3.connect(tmp_path / "run.db") as store:
        counts = dict(store.execute("select language, count(*) from verifications group by language"))
    assert counts == {name: 16}
