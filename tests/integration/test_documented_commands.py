"""Every command that the README and docs/ show in a block is one that `agn` or `make` takes, and a test runs it.

Commands that need nothing but a database are run here as they stand in the document. For the others `ELSEWHERE` names
the tests that run them. If a document gains a command or an option, or one is renamed, this file says so.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from agnostics.cli import agn as agn_group
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import default_url
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from command_line import Agn

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "docs" / "plugins.md"
"""Run whole by test_third_party_pack.py; one of its commands comes from the package that the page builds."""
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted({*(ROOT / "docs").glob("*.md")} - {PLUGINS}))
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|\$ |\| |\$\(|&& )((?:agn|make)(?: .*)?)$")
DESCRIPTION = re.compile(r"\s+# .*$|\s{2,}\S.*$")
RUN_ID = re.compile(r"^\d{8}-[\w-]*$")

HERE = (
    "datasets show apps",
    "db",
    "languages list",
    "results",
    "results backup",
    "results diff",
    "results episodes",
    "results export",
    "results failures",
    "results list",
    "results plot",
    "results program",
    "results programs",
    "results prune",
    "results query",
    "results show",
    "results solved",
    "results suspicious",
)
"""Commands, by their first words, that `test_a_command_of_a_document_runs_as_it_stands_there` runs."""
NOT_HERE = ("results serve", "results themes", "results find-themes")

ELSEWHERE: dict[str, tuple[tuple[str, str], ...]] = {
    "complexity": (
        (
            "tests/integration/test_complexity.py::test_the_command_names_the_class_of_a_program_in_a_file",
            "--generator",
        ),
    ),
    "datasets decontaminate": (
        (
            "tests/unit/test_decontamination.py::test_the_command_writes_what_may_be_trained_on_and_why_the_rest_may_not",
            "--against -o",
        ),
    ),
    "datasets reformulate": (
        (
            "tests/integration/test_reformulate.py::test_good_answers_become_tasks_that_a_run_can_take",
            "--endpoint --model -o",
        ),
    ),
    "datasets show": (
        (
            "tests/integration/test_documented_commands.py::test_the_tasks_of_a_file_are_shown_by_adapter_and_split",
            "--split -n",
        ),
    ),
    "eval": (
        (
            "tests/models/test_eval_command.py::test_models_are_evaluated_and_compared_in_one_command",
            "--model --language --dataset --language-prompt --tasks --samples --temperature --k --set --plot",
        ),
        (
            "tests/integration/test_complexity.py::test_an_evaluation_of_a_constant_answer_scores_as_the_labels_are_balanced",
            "--environment --dataset --model",
        ),
    ),
    "languages advise": (
        (
            "tests/integration/test_languages_advise.py::test_programs_of_a_run_become_a_language_file_with_advice",
            "--endpoint --model --run",
        ),
    ),
    "languages check": (
        (
            "tests/integration/test_wheels.py::test_a_pack_made_by_new_is_built_installed_and_verifies_a_program",
            "--sandbox",
        ),
    ),
    "languages new": (
        ("tests/integration/test_wheels.py::test_a_pack_made_by_new_is_built_installed_and_verifies_a_program", ""),
    ),
    "launch": (
        (
            "tests/models/test_launch.py::test_a_run_on_two_nodes_is_that_of_one_process_also_when_a_node_is_lost_and_when_it_is_interrupted",
            "--ranks --sandbox",
        ),
    ),
    "model card": (
        ("tests/models/test_model_push.py::test_the_card_says_what_was_trained_and_nothing_of_this_machine", ""),
    ),
    "model check": (
        ("tests/models/test_gguf.py::test_a_real_model_is_converted_once_with_a_progress_bar_and_speaks", "--sha256"),
    ),
    "model convert": (
        ("tests/models/test_gguf.py::test_a_real_model_is_converted_once_with_a_progress_bar_and_speaks", ""),
    ),
    "model list": (
        ("tests/models/test_gguf.py::test_a_real_model_is_converted_once_with_a_progress_bar_and_speaks", ""),
    ),
    "model push": (
        (
            "tests/models/test_model_push.py::test_a_checkpoint_is_uploaded_in_one_commit_with_its_card_and_without_the_optimizer",
            "--private --checkpoint",
        ),
    ),
    "model remove": (("tests/models/test_gguf.py::test_a_model_is_removed_and_a_modified_one_is_noticed", ""),),
    "results serve": (
        (
            "tests/integration/test_documented_commands.py::test_the_pages_are_served_at_the_address_that_is_printed",
            "--host --port --store",
        ),
    ),
    "results find-themes": (
        ("tests/unit/test_themes.py::test_the_themes_that_a_model_finds_are_printed_as_plain_text", ""),
    ),
    "results themes": (("tests/unit/test_themes.py::test_two_phases_of_a_run_are_sorted_into_themes_and_drawn", ""),),
    "session players": (
        ("tests/integration/test_players.py::test_players_are_listed_and_their_agents_installed_by_name", ""),
    ),
    "session players install": (
        ("tests/integration/test_players.py::test_players_are_listed_and_their_agents_installed_by_name", ""),
    ),
    "session export": (
        ("tests/integration/test_session_command.py::test_an_export_is_written_to_a_file_that_is_not_there", "-o"),
    ),
    "session run": (
        (
            "tests/integration/test_session_command.py::test_a_replay_goes_through_the_whole_path",
            "--language --player --dataset --set --name --resume",
        ),
        (
            "tests/integration/test_session_command.py::test_a_replay_without_a_program_skips_a_problem_or_ends_there",
            "--protocol",
        ),
    ),
    "session status": (("tests/integration/test_session_command.py::test_a_replay_goes_through_the_whole_path", ""),),
    "run": (
        (
            "tests/models/test_run_command.py::test_a_short_run_stores_all_it_did_and_its_configuration_repeats_it",
            "--model --dataset --language --steps --set --sandbox",
        ),
        (
            "tests/models/test_run_command.py::test_an_interrupted_run_resumes_to_where_an_uninterrupted_one_gets",
            "--resume",
        ),
        (
            "tests/models/test_run_command.py::test_a_run_does_what_its_plan_says_and_writes_every_setting_down",
            "--dry-run",
        ),
        (
            "tests/models/test_environment_runs.py::test_the_environment_of_the_docs_is_trained_on_and_its_turns_are_learnt_from_exactly",
            "--environment",
        ),
    ),
    "scaling design": (("tests/unit/test_scaling.py::test_a_design_writes_a_configuration_for_each_run", "-o"),),
    "scaling fit": (
        (
            "tests/unit/test_scaling.py::test_the_command_fits_the_finished_runs_of_a_database_and_draws_them",
            "--store --plot",
        ),
    ),
    "session report": (
        (
            "tests/unit/test_agent_session_report.py::test_the_command_writes_a_report_with_its_charts",
            "--output --compare",
        ),
    ),
    "sft": (
        (
            "tests/models/test_sft_command.py::test_data_of_one_file_is_enough_and_the_plan_says_what_a_run_does",
            "--data --model --dry-run",
        ),
        (
            "tests/models/test_sft_command.py::test_an_interrupted_run_resumes_to_where_an_uninterrupted_one_gets",
            "--resume --set",
        ),
        ("tests/models/test_sft_command.py::test_two_ranks_train_as_one_does", "--steps"),
    ),
    "traces make": (
        (
            "tests/integration/test_traces_command.py::test_programs_in_a_file_are_traced_on_their_inputs",
            "--programs --language -o",
        ),
    ),
    "traces show": (
        (
            "tests/integration/test_traces_command.py::test_programs_in_a_file_are_traced_on_their_inputs",
            "--id --format --html",
        ),
    ),
    "verify": (
        ("tests/integration/test_verify_command.py::test_a_line_in_is_a_line_out_with_every_key_of_the_contract", ""),
        ("tests/integration/test_wheels.py::test_a_program_is_verified_without_torch", "--sandbox"),
        (
            "tests/integration/test_verify_service.py::test_what_would_be_unsafe_or_cannot_be_served_is_one_line_of_error",
            "--serve --token-file --language",
        ),
    ),
}
"""The tests that run the other commands, with the options that each of them gives."""
TUTORIAL = ROOT / "docs" / "languages.md"
"""Its blocks are run whole, in their order, by test_tutorial.py."""


@dataclass(frozen=True)
class Documented:
    """A command as a document shows it."""

    document: Path
    line: str

    def __str__(self) -> str:
        return f"{self.document.name}: {self.line}"

    @property
    def words(self) -> list[str]:
        """The words behind the name of the program."""
        return shlex.split(self.line)[1:]


def commands_of(document: Path) -> Iterator[Documented]:
    """The commands of the blocks of a document."""
    for block in BLOCK.findall(document.read_text()):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            if found := COMMAND.search(DESCRIPTION.sub("", line.strip())):
                yield Documented(document, found[1].removesuffix(" || true").removesuffix(")"))


EVERY = sorted({command for document in DOCUMENTS for command in commands_of(document)}, key=str)
OF_AGN = [command for command in EVERY if command.line.startswith("agn")]
OF_MAKE = [command for command in EVERY if command.line.startswith("make")]


def parsed(command: Documented) -> tuple[str, set[str]]:
    """The command's path (`results show`) and the options it is given; raises click's errors for what `agn` refuses."""
    context, words = click.Context(agn_group, info_name="agn"), [re.sub(r"[\[\]…]", "", word) for word in command.words]
    group: click.Command = agn_group
    path: list[str] = []
    while isinstance(group, click.Group) and words and not words[0].startswith("-"):
        name, found, words = group.resolve_command(context, words)
        assert found is not None, f"{command}: agn has no such command"
        path.append(str(name))
        group, context = found, click.Context(found, info_name=name, parent=context)
    known = {option for parameter in group.params for option in parameter.opts if option.startswith("-")}
    given = set() if group.context_settings.get("ignore_unknown_options") else known & set(words)
    unknown = {word for word in words if re.match(r"--?[a-z]", word)} - known
    if not group.context_settings.get("ignore_unknown_options"):
        assert not unknown, f"{command}: agn {' '.join(path)} has no {', '.join(sorted(unknown))}"
    return " ".join(path), given


def runs_here(command: Documented) -> bool:
    """Whether it needs nothing but a database."""
    words = " ".join(command.words)
    return command.document != TUTORIAL and words.startswith(HERE) and not words.startswith(NOT_HERE)


def functions_of(path: Path) -> list[str]:
    return [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]


def test_documents_show_commands() -> None:
    assert len(OF_AGN) > 50
    assert {command.words[0] for command in OF_MAKE} >= {"run", "test", "unit", "lint", "fmt", "dist", "release-check"}


@pytest.mark.parametrize("command", OF_AGN, ids=str)
def test_agn_takes_every_command_with_its_options_and_a_test_runs_it(command: Documented) -> None:
    path, given = parsed(command)
    if command.document == TUTORIAL or runs_here(command):
        return
    assert path in ELSEWHERE, f"{command}: no test is named that runs `agn {path}`"
    covered = {option for _, options in ELSEWHERE[path] for option in options.split()}
    short = given - covered
    assert not short, f"{command}: no test is named that runs `agn {path}` with {', '.join(sorted(short))}"


@pytest.mark.parametrize("path", ELSEWHERE)
def test_the_tests_that_are_named_exist_and_run_the_command_with_its_options(path: str) -> None:
    for node, options in ELSEWHERE[path]:
        file, _, name = node.partition("::")
        source = ROOT / file
        names = functions_of(source)
        assert name in names, f"{node} is no test; the nearest are {difflib.get_close_matches(name, names, 3, 0.3)}"
        helpers = [ROOT / "tests" / "conftest.py", source.parent / "conftest.py"]
        text = "\n".join(helper.read_text() for helper in [source, *helpers] if helper.exists())
        words = [*path.split(), *options.split()]
        missing = [word for word in words if not re.search(rf"[\"' ]{re.escape(word)}[\"' ]", text)]
        assert not missing, f"{file} does not run `agn {path}` with {', '.join(missing)}"


@pytest.mark.parametrize("command", OF_MAKE, ids=str)
def test_make_has_every_target(command: Documented) -> None:
    answer = subprocess.run(["make", "-n", *command.words], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert answer.returncode == 0, answer.stderr
    for script in re.findall(r"\bscripts/[\w.-]+", answer.stdout):
        assert (ROOT / script).exists()


@pytest.fixture
def two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lua: Language, record: Callable[..., CompletionRecord]
) -> tuple[str, str]:
    """The ids of two runs in the database of a user's own, and the folder with it as the current one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problems.jsonl").write_text(json.dumps({"id": 1}))
    with Store.open(default_url()) as store:
        first, second = (_finished_run(store, lua, record) for _ in range(2))
    return first, second


def _finished_run(store: Store, lua: Language, record: Callable[..., CompletionRecord]) -> str:
    run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
    with store.recorder(run) as recorder:
        for sample, verdict in enumerate([Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.NO_PROGRAM]):
            for phase, step in (("eval_before", 0), ("train", 1), ("eval_after", 1)):
                recorder.completion(record(verdict, phase=phase, step=step, sample=sample))
        recorder.step(1, {"completions": 3})
    store.finish_run(run, "finished", {})
    return run


def real_words(command: Documented, runs: tuple[str, str]) -> list[str]:
    """The words of a command with the runs, numbers and texts that its placeholders stand for."""
    words, ids = list[str](), iter(runs)
    for word in command.words:
        if word in {"[RUN]", "[RUN…]"}:
            continue
        word = word.strip("[]")
        if word == "RUN" or RUN_ID.match(word):
            word = next(ids)
        words.append({"NUMBER": "1", "ID": "1", "SQL": "select 1 as one", "FILE": "copy.db"}.get(word, word))
    return [*words, "--yes"] if "prune" in words else words


@pytest.mark.parametrize("command", [command for command in OF_AGN if runs_here(command)], ids=str)
def test_a_command_of_a_document_runs_as_it_stands_there(
    command: Documented, agn: Agn, two_runs: tuple[str, str]
) -> None:
    with contextlib.suppress(ImportError):
        import matplotlib as mpl

        mpl.use("agg")
    answer = agn(*real_words(command, two_runs))
    assert (answer.returncode, "Traceback" in answer.stderr) == (0, False), answer.stderr
    assert answer.stdout or answer.stderr


def test_the_tasks_of_a_file_are_shown_by_adapter_and_split(agn: Agn, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps({"id": "a", "statement": "Add.", "tests": [{"input": "1 1", "output": "2"}]}))
    answer = agn("datasets", "show", f"jsonl:{file}", "--split", "train", "-n", "1")
    assert answer.returncode == 0, answer.stderr
    assert "Add." in answer.stdout


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_pages_are_served_at_the_address_that_is_printed(host: str, two_runs: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "agnostics", "results", "serve", "--port", "0", "--host", host]
    with subprocess.Popen([*command, "--store", default_url()], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(address, timeout=30) as page:
                assert two_runs[0] in page.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(timeout=30) in {0, 130}


def test_each_entry_of_the_tables_is_in_a_document() -> None:
    paths = {parsed(command)[0] for command in OF_AGN}
    assert set(ELSEWHERE) <= paths
    lines = [" ".join(command.words) for command in OF_AGN]
    assert [entry for entry in HERE if not any(line.startswith(entry) for line in lines)] == []
