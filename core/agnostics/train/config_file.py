"""The configuration file in a run's folder, from which the run can be repeated or resumed."""

from __future__ import annotations

from agnostics.callbacks.callback import RunCallback, RunInfo
from agnostics.types.errors import AgnosticsError


class ConfigFile(RunCallback):
    """Makes the run's folder and writes the resolved configuration, `toml`, into it, as `config.toml`."""

    def __init__(self, toml: str) -> None:
        self._toml = toml

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`. Raises AgnosticsError if the file cannot be written."""
        if run.folder is None:
            raise ValueError("a training run needs a folder")
        try:
            run.folder.mkdir(parents=True, exist_ok=True)
            (run.folder / "config.toml").write_text(self._toml, encoding="utf-8")
        except OSError as error:
            raise AgnosticsError(
                f"{run.folder}: {error.strerror}; make room there, or choose --set output=FOLDER"
            ) from error
