"""Broken plugins are installed for real beside good ones: `agn` stays alive and lists each with its reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

IMPORTS = "from agnostics import Language, hookimpl\n\n"
HOOKS = IMPORTS + "AGN_CONTRACT = 2\n\n\n"
NONE = "@hookimpl\ndef agn_languages():\n    return []\n"
LUA_AGAIN = HOOKS + "@hookimpl\ndef agn_languages():\n    return [{}]\n".format(
    "Language(name='twin', prompt='p', filename='a.x', execute='cat a.x')"
)
PACKS = {
    "good": HOOKS
    + "@hookimpl\ndef agn_languages():\n    yield Language(name='good', prompt='p', filename='a', execute='cat a')\n",
    "import-error": "import a_module_that_is_not_there\n",
    "exits": "raise SystemExit(7)\n",
    "unknown-hook": HOOKS + "@hookimpl\ndef agn_langages():\n    return []\n",
    "wrong-argument": HOOKS + "@hookimpl\ndef agn_commands(gruop):\n    return None\n",
    "half-wrong": HOOKS
    + "@hookimpl\ndef agn_languages():\n    return [Language(name='half', prompt='p', filename='a', execute='a')]\n\n\n"
    + "@hookimpl\ndef agn_commands(gruop):\n    return None\n",
    "raises": HOOKS + "@hookimpl\ndef agn_languages():\n    raise KeyError('tables')\n",
    "raises-late": HOOKS + "@hookimpl\ndef agn_languages():\n    yield 1 / 0\n",
    "wrong-type": HOOKS + "@hookimpl\ndef agn_languages():\n    return ['lua']\n",
    "unmarked": "def agn_languages():\n    return []\n",
    "wrong-name": HOOKS
    + "@hookimpl\ndef agn_languages():\n"
    + "    return [Language.model_construct(name='Not a name', prompt='p', filename='a', execute='a')]\n",
    "no-contract": IMPORTS + NONE,
    "version-1": IMPORTS + "AGN_CONTRACT = 1\n\n\n" + NONE,
    "of-version-1": IMPORTS + "AGN_HOOK_CONTRACT = range(1, 2)\n\n\n" + NONE,
    "both-versions": IMPORTS + "AGN_CONTRACT = range(1, 3)\n\n\n" + NONE,
    "from-the-future": IMPORTS + "AGN_CONTRACT = range(9, 10)\n\n\n" + NONE,
    "wrong-contract": IMPORTS + "AGN_CONTRACT = '2'\n\n\n" + NONE,
    "twin-a": LUA_AGAIN,
    "twin-b": LUA_AGAIN,
    "command": HOOKS
    + "import click\n\n\n@hookimpl\ndef agn_commands(group):\n"
    + "    group.add_command(click.Command('sing', callback=lambda: click.echo('la')))\n",
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which every pack of PACKS is installed; two distributions share the plugin name `namesake`."""
    root = tmp_path_factory.mktemp("packs")
    sources = [_source(root, name, name, code) for name, code in PACKS.items()]
    sources += [_source(root, f"namesake-{x}", "namesake", HOOKS) for x in "ab"]
    target = root / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *map(str, sources)], check=True, timeout=120)
    return target


def _source(root: Path, distribution: str, entry: str, code: str) -> Path:
    module = f"pack_{distribution.replace('-', '_')}"
    folder = root / distribution
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(code)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        f'[project]\nname = "pack-{distribution}"\nversion = "1.0"\n'
        f'[project.entry-points.agnostics]\n{entry} = "{module}"\n'
        f'[tool.hatch.build.targets.wheel]\npackages = ["{module}"]\n'
    )
    return folder


def agn(installed: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-c", "from agnostics.cli import main; main()", *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def records(installed: Path, **environment: str) -> dict[str, dict[str, Any]]:
    answer = agn(installed, "plugins", "--json", **environment)
    assert answer.returncode == 0, answer.stderr
    return {record["distribution"]: record for record in json.loads(answer.stdout)}


@pytest.fixture(scope="module")
def all_listed(installed: Path) -> dict[str, dict[str, Any]]:
    """What is listed with every pack installed."""
    return records(installed)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("import-error", "No module named 'a_module_that_is_not_there'"),
        ("exits", "SystemExit: 7"),
        ("unknown-hook", "unknown hook 'agn_langages'; did you mean 'agn_languages'?"),
        ("wrong-argument", "gruop"),
        ("half-wrong", "gruop"),
        ("raises", "agn_languages raised KeyError: 'tables'"),
        ("raises-late", "agn_languages raised ZeroDivisionError"),
        ("wrong-type", "agn_languages must return Language objects, got ['lua']"),
        ("unmarked", "not marked with @hookimpl"),
        ("wrong-name", "agn_languages returned the language name 'Not a name'"),
        ("version-1", "supports contract version 1, this agnostics has 2: in 2, reward policies get rollouts"),
        ("of-version-1", "see docs/plugins.md#the-contract-version"),
        ("from-the-future", "needs contract version 9, this agnostics has version 2; run: pip install --upgrade"),
        ("wrong-contract", "AGN_CONTRACT must be a version or a range of versions, got '2'"),
    ],
)
def test_a_broken_pack_is_listed_with_its_reason_and_costs_nobody_else_anything(
    all_listed: dict[str, dict[str, Any]], name: str, reason: str
) -> None:
    assert all_listed[f"pack-{name}"]["status"] == "failed"
    assert reason in all_listed[f"pack-{name}"]["reason"]
    assert all_listed["pack-good"]["status"] == "active"
    assert all_listed["pack-good"]["hooks"] == ["agn_languages"]


def test_a_pack_that_declares_no_contract_is_loaded_with_the_line_to_add_as_a_warning(installed: Path) -> None:
    line = "declares no contract version; add this line to pack_no_contract: AGN_CONTRACT = 2"
    answer = agn(installed, "plugins", "--json", AGN_PLUGINS="no-contract,good", AGN_STRICT_PLUGINS="1")
    assert answer.stderr.splitlines() == [f"agn: plugin no-contract (pack-no-contract 1.0): {line}"]
    active = {r["name"]: r["warning"] for r in json.loads(answer.stdout) if r["status"] == "active"}
    assert active == {"agnostics": None, "good": None, "no-contract": line}
    assert line in agn(installed, "plugins", AGN_PLUGINS="no-contract").stdout
    assert line in agn(installed, "plugins", "check", "no-contract").stdout


def test_a_pack_that_declares_a_range_with_this_contract_is_active(installed: Path) -> None:
    listed = records(installed, AGN_PLUGINS="both-versions")["pack-both-versions"]
    assert (listed["status"], listed["warning"]) == ("active", None)


def test_a_failure_is_one_line_on_stderr(installed: Path) -> None:
    answer = agn(installed, "plugins", AGN_PLUGINS="exits,good")
    assert [line for line in answer.stderr.splitlines() if "exits" in line] == [
        "agn: plugin exits (pack-exits 1.0): importing pack_exits failed: SystemExit: 7"
    ]


def test_a_pack_that_fails_in_one_hook_registers_none(installed: Path) -> None:
    answer = agn(installed, "languages", "show", "half", AGN_PLUGINS="half-wrong")
    assert answer.returncode == 2
    assert "unknown language 'half'" in answer.stderr


def test_two_packs_that_claim_one_language_are_both_named(installed: Path) -> None:
    listed = records(installed, AGN_PLUGINS="twin-a,twin-b,good")
    for name in ("pack-twin-a", "pack-twin-b"):
        assert listed[name]["status"] == "failed"
        assert "language 'twin' is registered by pack-twin-a and pack-twin-b" in listed[name]["reason"]
    answer = agn(installed, "languages", "show", "twin", AGN_PLUGINS="twin-a,twin-b")
    assert answer.returncode == 2
    assert "pack-twin-a and pack-twin-b" in answer.stderr.splitlines()[-1]


def test_disabling_one_of_two_claimants_gives_the_name_to_the_other(installed: Path) -> None:
    listed = records(installed, AGN_PLUGINS="twin-a,twin-b", AGN_DISABLE_PLUGINS="twin-b")
    assert listed["pack-twin-a"]["status"] == "active"
    assert listed["pack-twin-b"]["reason"] == "named in AGN_DISABLE_PLUGINS"


def test_two_packs_with_one_plugin_name_are_both_named(installed: Path) -> None:
    listed = records(installed, AGN_PLUGINS="namesake")
    for name in ("pack-namesake-a", "pack-namesake-b"):
        assert listed[name]["status"] == "failed"
        assert "pack-namesake-a and pack-namesake-b" in listed[name]["reason"]


def test_strict_mode_turns_a_failure_into_an_exit(installed: Path) -> None:
    answer = agn(installed, "plugins", AGN_PLUGINS="exits", AGN_STRICT_PLUGINS="1")
    assert answer.returncode == 3
    assert "SystemExit: 7" in answer.stderr


def test_no_plugins_loads_nothing_but_our_own(installed: Path) -> None:
    answer = agn(installed, "--no-plugins", "plugins", "--json")
    active = [record["name"] for record in json.loads(answer.stdout) if record["status"] == "active"]
    assert active == ["agnostics"]


def test_check_says_what_is_wrong_and_fails(installed: Path) -> None:
    good, bad, missing = (agn(installed, "plugins", "check", name) for name in ("pack-good", "raises", "goood"))
    assert (good.returncode, bad.returncode, missing.returncode) == (0, 1, 2)
    assert "implements agn_languages" in good.stdout
    assert "KeyError: 'tables'" in bad.stdout
    assert "did you mean 'good'?" in missing.stderr


def test_a_plugin_adds_a_command(installed: Path) -> None:
    answer = agn(installed, "sing", AGN_PLUGINS="command")
    assert (answer.returncode, answer.stdout) == (0, "la\n")


def test_hook_calls_can_be_traced(installed: Path) -> None:
    answer = agn(installed, "plugins", AGN_PLUGINS="good", AGN_TRACE_HOOKS="1")
    assert "agn_languages" in answer.stderr
