"""A dry run of docs/releasing.md: what would be published is complete, consistent, and works where it is installed."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import agnostics
import pytest
from distributions import PROJECTS, ROOT

pytestmark = pytest.mark.slow

LICENSE = (ROOT / "LICENSE").read_bytes()
SERIES = ".".join(agnostics.__version__.split(".")[:2])
MACHINES = {"x86_64": 62, "aarch64": 183}
"""The number of a processor in the header of an ELF file."""
WITH_BINARIES = {"agnostics", "agnostics_lang_esolangs"}


def name_of(path: Path) -> str:
    return path.name.partition("-")[0]


def wheels(distributions: Path) -> list[Path]:
    return sorted(distributions.glob("*.whl"))


def sdists(distributions: Path) -> list[Path]:
    return sorted(distributions.glob("*.tar.gz"))


def files_of(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata_of(wheel: Path) -> Message:
    (text,) = [text for name, text in files_of(wheel).items() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(text.decode())


def binaries_of(wheel: Path) -> dict[str, bytes]:
    return {name: data for name, data in files_of(wheel).items() if data.startswith(b"\x7fELF")}


def test_there_is_one_sdist_of_each_project_and_a_wheel_for_each_platform(distributions: Path) -> None:
    names = {f"agnostics_{path.name.replace('-', '_')}" if path != ROOT else "agnostics" for path in PROJECTS}
    assert {name_of(path) for path in sdists(distributions)} == names
    assert len(sdists(distributions)) == len(names)
    by_name = {name: [path for path in wheels(distributions) if name_of(path) == name] for name in names}
    assert {name for name, paths in by_name.items() if len(paths) == len(MACHINES)} == WITH_BINARIES
    assert all(len(paths) == 1 for name, paths in by_name.items() if name not in WITH_BINARIES)


def test_every_distribution_has_one_version_and_packs_depend_on_its_series(distributions: Path) -> None:
    for wheel in wheels(distributions):
        metadata = metadata_of(wheel)
        assert metadata["Version"] == agnostics.__version__
        required = [line for line in metadata.get_all("Requires-Dist", []) if line.startswith("agnostics~")]
        assert required == ([] if name_of(wheel) == "agnostics" else [f"agnostics~={SERIES}"])
    assert all(path.name.endswith(f"-{agnostics.__version__}.tar.gz") for path in sdists(distributions))


def test_every_distribution_says_what_it_is_and_where_it_comes_from(distributions: Path) -> None:
    for metadata in map(metadata_of, wheels(distributions)):
        assert {url.partition(",")[0] for url in metadata.get_all("Project-URL", [])} == {
            "Homepage",
            "Documentation",
            "Source",
            "Issues",
            "Changelog",
        }
        assert metadata["License-Expression"] == "Apache-2.0"
        assert metadata["Keywords"]
        assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_every_distribution_carries_the_license_and_its_types(distributions: Path) -> None:
    for wheel in wheels(distributions):
        files = files_of(wheel)
        assert [text for name, text in files.items() if name.endswith(".dist-info/licenses/LICENSE")] == [LICENSE]
        assert f"{name_of(wheel)}/py.typed" in files
    for sdist in sdists(distributions):
        with tarfile.open(sdist) as archive:
            member = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/LICENSE")
            assert member is not None
            assert member.read() == LICENSE


def test_a_wheel_carries_the_binaries_of_the_processor_in_its_tag_and_no_others(distributions: Path) -> None:
    for wheel in wheels(distributions):
        binaries = binaries_of(wheel)
        if name_of(wheel) not in WITH_BINARIES:
            assert not binaries
            continue
        (processor,) = [name for name in MACHINES if wheel.name.endswith(f"{name}.whl")]
        assert f"manylinux_2_17_{processor}" in wheel.name
        assert f"musllinux_1_1_{processor}" in wheel.name
        assert binaries
        assert all(name.removesuffix(".so").endswith(f"-{processor}") for name in binaries)
        assert {struct.unpack_from("<H", data, 18)[0] for data in binaries.values()} == {MACHINES[processor]}


def test_an_sdist_holds_sources_only(distributions: Path) -> None:
    for sdist in sdists(distributions):
        with tarfile.open(sdist) as archive:
            assert all(member.isfile() for member in archive.getmembers())
            names = archive.getnames()
        assert not [name for name in names if re.search(r"/bin/|__pycache__|\.(db|pyc|whl)$", name)]


def test_a_wheel_of_an_sdist_holds_the_files_of_a_wheel_of_the_tree(built_wheels: list[Path], tmp_path: Path) -> None:
    for project in PROJECTS:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
        subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=900)
    assert sorted(path.name for path in tmp_path.iterdir()) == [wheel.name for wheel in built_wheels]
    for wheel in built_wheels:
        assert sorted(files_of(wheel)) == sorted(files_of(tmp_path / wheel.name))


def test_the_index_would_take_every_file(distributions: Path) -> None:
    files = map(str, [*wheels(distributions), *sdists(distributions)])
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stdout


def test_pip_builds_a_pack_from_its_sdist_alone(distributions: Path, tmp_path: Path) -> None:
    (sdist,) = distributions.glob("agnostics_lang_lua-*.tar.gz")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(sdist)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert [path.name for path in tmp_path.glob("*.whl")] == [
        path.name for path in distributions.glob("*lang_lua*.whl")
    ]


def test_what_builds_the_release_is_what_an_sdist_asks_for() -> None:
    release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["release"]
    for project in PROJECTS:
        assert set(tomllib.loads((project / "pyproject.toml").read_text())["build-system"]["requires"]) <= set(release)


def test_the_quick_start_of_the_verifier_works_in_a_fresh_environment(wheels_environment: Path, tmp_path: Path) -> None:
    """The README's command, word for word, with the sandbox that needs no container engine."""
    (command,) = re.findall(r"^\$ (echo .* \| agn verify)$", (ROOT / "README.md").read_text(), re.MULTILINE)

    def call(line: str) -> str:
        environment = {"PATH": f"{wheels_environment}:/usr/bin:/bin", "HOME": str(tmp_path)}
        answer = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    assert json.loads(call(f"{command} --sandbox bubblewrap"))["verdict"] == "accepted"
    assert "agnostics-lang-lua" in call("agn plugins")
    assert re.search(r"^lua\b", call("agn languages list"), re.MULTILINE)


def test_the_changelog_begins_with_what_is_not_yet_released() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in headings[1:])
