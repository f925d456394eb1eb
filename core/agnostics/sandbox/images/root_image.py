"""Images of folders that hold all that is in a slot's root (`SlotOptions.root`)."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from docker import DockerClient
from docker.errors import ImageNotFound

from agnostics.util.locks import exclusive_lock

_REPOSITORY = "agnostics/root"


def ensure_root_image(client: DockerClient, root: Path) -> str:
    """The name of the image of the folder `root`, made of it if it is missing; the tag is the folder's name."""
    name = f"{_REPOSITORY}:{root.name}"
    with exclusive_lock("images"):
        try:
            client.images.get(name)
        except ImageNotFound:
            _import(client, root)
    return name


def _import(client: DockerClient, root: Path) -> None:
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for path in sorted(root.iterdir()):
                archive.add(path, path.name)
        file.seek(0)
        client.api.import_image_from_data(file, repository=_REPOSITORY, tag=root.name)
