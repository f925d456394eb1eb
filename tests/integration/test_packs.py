"""Every pack in `plugins/` keeps the contract of language packs, in every mode that its toolchain is there for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from agnostics.cli import call
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.toolchain import missing_tools
from agnostics.testing.contract import CASES, CONTRACT, contract_expectations
from agnostics.testing.languages import check_language
from agnostics.types.language import Language
from agnostics.verify import Verifier

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.name for path in (ROOT / "plugins").glob("lang-*"))
LANGUAGES = sorted(
    name for name in load_plugins().languages() if load_plugins().origin(name).startswith("agnostics-lang-")
)
"""What the packs in `plugins/` provide, in this repository."""
NO_TOOLCHAIN = {"julia"}
"""Debian 12 has no Julia; any other must run in both modes."""


@pytest.fixture(scope="module")
def verifier() -> Iterator[Callable[[str], Verifier]]:
    with ExitStack() as stack:
        open_ones: dict[str, Verifier] = {}

        def of(mode: str) -> Verifier:
            if mode not in open_ones:
                open_ones[mode] = stack.enter_context(Verifier(mode))
            return open_ones[mode]

        yield of


def skip_unless_here(language: Language, mode: str) -> None:
    if mode == "bubblewrap" and language.name in NO_TOOLCHAIN and missing_tools(language):
        pytest.skip(f"{language.name} is not on this machine")


def with_references(language: Language, count: int) -> Language:
    """`language` with some of its reference programs: R alone would take minutes over all of them."""
    return language.model_copy(update={"reference": dict(list(language.reference.items())[:count])})


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_of_plugins_provides_a_language(folder: str) -> None:
    """None is left out below: a pack that is not installed, or fails, provides nothing."""
    assert any(load_plugins().origin(name).startswith(f"agnostics-{folder} ") for name in LANGUAGES)


@pytest.mark.parametrize("mode", ["docker", "bubblewrap"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_keeps_the_contract(name: str, mode: str, verifier: Callable[[str], Verifier]) -> None:
    plugins = load_plugins()
    language = with_references(plugins.language(name), 15)
    skip_unless_here(language, mode)
    results = list(check_language(language, plugins.dataset("starter")[0].tasks("test"), verifier(mode)))
    assert len(results) > len(CASES)
    assert [f"{result.text}: {result.failure}" for result in results if not result.met] == []


def test_contract_catches_a_pack_whose_program_is_wrong(verifier: Callable[[str], Verifier]) -> None:
    plugins = load_plugins()
    lua = plugins.language("lua")
    family = sorted(lua.reference)[0]
    wrong = lua.model_copy(update={"reference": {family: "print('certainly wrong')"}})
    results = list(check_language(wrong, plugins.dataset("starter")[0].tasks("test"), verifier("bubblewrap")))
    (broken,) = [result for result in results if not result.met]
    assert broken.text == f"the reference program for {family} is accepted"
    assert "certainly" in broken.failure


def test_contract_catches_a_pack_that_accepts_anything(verifier: Callable[[str], Verifier]) -> None:
    plugins = load_plugins()
    lua = plugins.language("lua")
    deaf = lua.model_copy(update={"execute": "true"})
    results = list(check_language(deaf, plugins.dataset("starter")[0].tasks("test"), verifier("bubblewrap")))
    assert not all(result.met for result in results)


def test_contract_catches_a_pack_without_its_programs(verifier: Callable[[str], Verifier]) -> None:
    empty = load_plugins().language("lua").model_copy(update={"reference": {}, "contract": {}})
    results = list(check_language(empty, [], verifier("bubblewrap")))
    broken = {result.text.partition(":")[0] for result in results if not result.met}
    assert broken == {*CONTRACT, "no trace", "trace"}
    assert {result.failure for result in results if not result.met} == {"no_program: the pack brings no such program"}


def test_contract_catches_a_language_that_leaves_something(verifier: Callable[[str], Verifier]) -> None:
    """The listing that looks for traces sees a file in the work folder and one in the scratch folder."""
    lua = load_plugins().language("lua")
    traces = contract_expectations(lua, ("no trace",))
    (_, listing, *_) = traces
    assert listing.program
    for place in (".", "$TMPDIR"):
        left = verifier("bubblewrap").verify(listing.language, f'touch "{place}/left"\n{listing.program}', listing.task)
        assert (left.verdict, left.tests[0].stdout) == ("wrong_answer", "left\n" if place == "." else "left\nleft\n")


def test_list_names_every_pack_with_its_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["languages", "--json"]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(LANGUAGES) <= set(entries)
    assert entries["lua"]["origin"].startswith("agnostics-lang-lua ")
    assert entries["fortran"]["compiles"]
    assert entries["fortran"]["version"].count(".") == 2
    assert "bubblewrap" in entries["lua"]["modes"]
    assert entries["lua"]["prompt"] == "Use Lua 5.1, targeting LuaJIT."


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_show_prints_is_a_language_file(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call(["languages", "show", name]) == 0
    path = tmp_path / "copy.yaml"
    path.write_text(capsys.readouterr().out)
    language = load_plugins().language(name)
    assert Language.from_yaml(path) == Language(**language.model_dump(exclude={"reference", "contract"}))
    assert yaml.safe_load(path.read_text())["prompt"] == language.prompt


def test_check_of_a_language_that_cannot_run_here_is_one_line_and_status_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("prompt: p\nfilename: a.x\nexecute: no-such-toolchain a.x\nreference: {add: 'x'}\n")
    assert call(["languages", "check", str(path), "--sandbox", "bubblewrap"]) == 3
    assert "no-such-toolchain" in capsys.readouterr().err


def test_check_counts_rejected_reference_programs_and_accepted_shortcuts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(["languages", "check", "lua", "--sandbox", "bubblewrap", "--json"]) == 0
    (lua,) = json.loads(capsys.readouterr().out)["languages"]
    assert lua["reference"] == len(load_plugins().language("lua").reference)
    assert lua["shortcuts"] > 4 * lua["reference"]
    assert (lua["false_negatives"], lua["false_positives"], lua["failed"]) == (0, 0, [])
    assert call(["languages", "check", "lua", "--sandbox", "bubblewrap"]) == 0
    assert f"false negatives in bubblewrap mode: 0 of {lua['reference']} (0.00%)" in capsys.readouterr().out


def test_check_fails_if_a_reference_program_is_rejected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "parrot.yaml"
    path.write_text("prompt: p\nfilename: a.sh\nexecute: sh a.sh\nreference: {add: 'read a b; echo $((a + b + 1))'}\n")
    assert call(["languages", "check", str(path), "--sandbox", "bubblewrap"]) == 1
    assert "false negatives in bubblewrap mode: 1 of 1 (100.00%)" in capsys.readouterr().out
