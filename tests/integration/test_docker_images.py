"""A language's image is built once, its name is a digest of its contents, and a failed build says why."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from agnostics.sandbox.docker_client import connect
from agnostics.sandbox.images.base_image import BaseImages, fetch_base, local_base
from agnostics.sandbox.images.language_image import bases_of, built_image, ensure_image, image_base, rebuild_image
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Container, Fallback, Install, Language


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture
def language(engine: docker.DockerClient) -> Iterator[Language]:
    """A language of its own for each test, upon the base image of the packs, and quick to install."""
    if local_base(engine, Container().base_image) is None:
        fetch_base(engine, Container().base_image, print)
    made = language_with(f"RUN echo {uuid.uuid4()} > /installed")
    yield made
    for image in engine.images.list(name=f"agnostics/{made.name}"):
        for tag in image.tags:
            engine.images.remove(tag)


def language_with(instructions: str) -> Language:
    install = Install(container_instructions=instructions)
    return Language(name="image-test", prompt="p", filename="a.sh", execute="sh a.sh", install=install)


def test_image_is_built_once(engine: docker.DockerClient, language: Language) -> None:
    told: list[str] = []
    assert built_image(engine, language) is None
    image = ensure_image(engine, language, told.append)
    assert any("RUN echo" in line for line in told)
    told.clear()
    assert ensure_image(engine, language, told.append) == image == built_image(engine, language)
    assert told == []


def test_changed_install_gives_another_image(engine: docker.DockerClient, language: Language) -> None:
    first = ensure_image(engine, language, print)
    changed = language_with("RUN true")
    assert built_image(engine, changed) is None
    assert ensure_image(engine, changed, print) != first


MAKER = """
import sys
from agnostics.types.language import Language
from agnostics.sandbox.docker_client import connect
from agnostics.sandbox.images.language_image import ensure_image
language = Language.model_validate_json(sys.argv[1])
lines = []
print(ensure_image(connect(), language, lines.append), len(lines))
"""


def test_two_processes_that_need_one_image_build_it_once(language: Language) -> None:
    command = [sys.executable, "-c", MAKER, language.model_dump_json()]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [maker.communicate(timeout=120)[0].split() for maker in makers]
    assert answers[0][0] == answers[1][0]
    assert sorted(int(lines) > 0 for _, lines in answers) == [False, True]


def test_failed_install_is_reported_with_its_last_line(engine: docker.DockerClient, language: Language) -> None:
    del language
    broken = language_with("RUN echo the mirror burned down >&2; exit 7")
    with pytest.raises(MissingRequirement, match=r"image-test could not be built: .*7.*the mirror burned down"):
        ensure_image(engine, broken, print)


def test_image_on_another_base_replaces_the_first(engine: docker.DockerClient, language: Language) -> None:
    name = ensure_image(engine, language, print)
    first = engine.images.get(name).id
    assert image_base(engine, name) == Container().base_image
    other = f"agnostics/other:{language.name}"
    engine.images.get(str(local_base(engine, Container().base_image))).tag(other)
    assert rebuild_image(engine, language, BaseImages((other,)), print) == name == built_image(engine, language)
    assert (image_base(engine, name), engine.images.get(name).id != first) == (other, True)
    told: list[str] = []
    second = engine.images.get(name).id
    assert rebuild_image(engine, language, BaseImages((other,)), told.append) == name
    assert (told, engine.images.get(name).id) == ([], second)
    engine.images.remove(other)


def test_fallback_replaces_a_base_that_no_registry_has(
    engine: docker.DockerClient, language: Language, caplog: pytest.LogCaptureFixture
) -> None:
    fallback = Fallback(base_image="debian:trixie", install=f"true {uuid.uuid4()}")
    nowhere = Container(base_image="registry.invalid/nothing:1", fallback=fallback)
    name = ensure_image(engine, language.model_copy(update={"container": nowhere}), print)
    assert image_base(engine, name) == "debian:trixie"
    assert "stands on debian:trixie, not on registry.invalid/nothing:1" in caplog.text


def test_build_fails_if_a_tool_is_missing_in_the_image(engine: docker.DockerClient, language: Language) -> None:
    lost = language.model_copy(update={"execute": "no-such-tool a.sh"})
    with pytest.raises(MissingRequirement, match="command -v no-such-tool"):
        rebuild_image(engine, lost, bases_of(lost), print)


def test_only_debian_releases_are_built_from_packages(engine: docker.DockerClient, language: Language) -> None:
    with pytest.raises(MissingRequirement, match="fedora:41 is no Debian release"):
        rebuild_image(engine, language, BaseImages(("fedora:41",), from_packages=True), print)


def test_base_image_that_no_registry_has_is_reported_with_a_remedy(engine: docker.DockerClient) -> None:
    nowhere = Container(base_image="registry.invalid/nothing:1")
    with pytest.raises(MissingRequirement, match=r"docker pull registry\.invalid/nothing:1") as raised:
        ensure_image(engine, language_with("RUN true").model_copy(update={"container": nowhere}), print)
    assert "docker load" in str(raised.value)


def test_missing_engine_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(MissingRequirement, match=r"no container engine answers .*--sandbox bubblewrap"):
        connect()
