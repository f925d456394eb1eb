"""Base images from a registry: the test's own, on this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import docker
import pytest
from agnostics import cli
from agnostics.sandbox.docker_client import connect
from agnostics.sandbox.images.base_image import fetch_base, local_base
from agnostics.types.language import Container, Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier
from docker.errors import ImageNotFound

pytestmark = pytest.mark.slow
START_S = 30
SUM = Task(id="sum", tests=(Test(input="3 4\n", output="7"),))
CONFIG = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
PERL = """
container:
  base-image: "{image}"
  type: debian
filename: snippet.pl
execute: perl snippet.pl
prompt: Use Perl 5.
"""


class Registry:
    """A registry of images, which may be stopped. `image` is what it calls the one that it holds."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        (folder / "config.yml").write_text(CONFIG.format(folder=folder / "images", port=port))
        self.image = f"localhost:{port}/perl:5"
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                ["docker-registry", "serve", str(folder / "config.yml")], stdout=log, stderr=log
            )
        self._await(f"http://127.0.0.1:{port}/v2/")

    def _await(self, url: str) -> None:
        deadline = time.monotonic() + START_S
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except OSError:
                assert time.monotonic() < deadline
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """A registry that holds nothing yet."""
    if shutil.which("docker-registry") is None:
        pytest.skip("no registry here: apt-get install docker-registry")
    made = Registry(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def pushed(engine: docker.DockerClient, registry: Registry) -> Iterator[None]:
    """The registry holds a Debian with Perl, which the engine has not."""
    base = Container().base_image
    engine.images.get(local_base(engine, base) or fetch_base(engine, base, print)).tag(registry.image)
    said = engine.images.push(registry.image)
    assert "error" not in said, said
    engine.images.remove(registry.image)
    yield
    for image in engine.images.list(name="agnostics/from-registry"):
        for tag in image.tags:
            engine.images.remove(tag, force=True)  # the engine may still be removing the last container of it
    with suppress(ImageNotFound):
        engine.images.remove(registry.image)


@pytest.fixture
def language(registry: Registry, tmp_path: Path) -> Path:
    """The file of a language that stands on the registry's image."""
    path = tmp_path / "from-registry.yaml"
    path.write_text(PERL.format(image=registry.image))
    return path


@pytest.mark.usefixtures("pushed")
def test_a_base_image_is_pulled_once_and_programs_run_on_it(
    registry: Registry, language: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["languages", "build", str(language)]) == 0
    assert f"pulling {registry.image}" in capsys.readouterr().err
    registry.stop()  # nobody needs it any more
    assert cli.call(["languages", "build", str(language)]) == 0
    assert "pulling" not in capsys.readouterr().err
    made = Language.from_yaml(language)
    with Verifier("docker", 1) as verifier:
        programs = ("my ($a, $b) = split ' ', <STDIN>; print $a + $b;", "print 8", "die 'x'")
        assert [str(verifier.verify(made, program, SUM).verdict) for program in programs] == [
            "accepted",
            "wrong_answer",
            "runtime_error",
        ]


def test_an_image_that_the_registry_does_not_hold_is_one_line(
    registry: Registry, language: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = registry.image.replace("perl:5", "perl:99")
    language.write_text(PERL.format(image=other))
    assert cli.call(["languages", "build", str(language)]) == 3
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith(f"agn: the base image {other} is not here and no registry gives it")
    assert "unknown" in complaint


def test_a_registry_that_does_not_answer_is_one_line(
    registry: Registry, language: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.stop()
    assert cli.call(["languages", "build", str(language)]) == 3
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith(f"agn: the base image {registry.image} is not here and no registry gives it")
    assert "connection refused" in complaint
