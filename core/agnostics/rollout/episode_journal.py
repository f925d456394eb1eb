"""The journal of episodes: their turns as they end, so that a killed run goes on in the middle of an episode."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TextIO

from agnostics.rollout.sources import SampleRequest
from agnostics.types.rollout import Action, Segment
from agnostics.util.files import atomic_write_text

_FILE = "rank-{rank}-step-{step}.jsonl"


@dataclass(frozen=True, slots=True)
class JournalTurn:
    """A turn of the journal: the action, and the tokens of the observation that followed, None for the last turn."""

    action: Action
    observation: tuple[int, ...] | None


@dataclass
class EpisodeJournal:
    """The turns of a run's episodes of several turns, a file of JSON lines for each step and rank. A context manager.

    Of the turns that are there from before, those count whose tokens were all sampled by a policy of at most
    `policy_version` updates: the checkpoint that a run resumes from, since newer weights are gone.
    """

    folder: Path
    policy_version: int = 0
    rank: int = 0
    resumed: int = 0
    """Turns of the journal that were played again."""
    _turns: dict[tuple[int, str], list[JournalTurn]] = field(default_factory=lambda: defaultdict(list))
    _files: dict[int, TextIO] = field(default_factory=dict)

    def __enter__(self) -> Self:
        for step, path in self._paths():
            kept = self._kept(step, _lines(path))
            atomic_write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files.values():
            file.close()

    def turns(self, request: SampleRequest) -> list[JournalTurn]:
        """The turns of an episode that a killed run played, in order."""
        return self._turns.pop((request.step, _key(request)), [])

    def append(self, request: SampleRequest, action: Action, observation: Sequence[int] | None) -> None:
        """Note a turn."""
        self._write(request, _line(action, observation))

    def start_anew(self, request: SampleRequest) -> None:
        """Note that the episode's turns so far do not count."""
        self._write(request, {"anew": True})

    def forget(self, step: int) -> None:
        """Remove the turns of all steps up to `step`, which a checkpoint holds."""
        for number, path in self._paths():
            if number <= step:
                if file := self._files.pop(number, None):
                    file.close()
                path.unlink(missing_ok=True)

    def _paths(self) -> list[tuple[int, Path]]:
        """The files of this rank with their steps."""
        paths = self.folder.glob(_FILE.format(rank=self.rank, step="*"))
        return [(int(path.stem.rpartition("-")[2]), path) for path in paths]

    def _kept(self, step: int, lines: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        """The lines whose turns count, which are taken over."""
        kept = list[dict[str, Any]]()
        for line in lines:
            if line.get("anew"):
                self._turns.pop((step, line["episode"]), None)
                kept = [other for other in kept if other["episode"] != line["episode"]]
            elif max(line["policy_versions"], default=0) <= self.policy_version:
                self._turns[step, line["episode"]].append(_turn(line))
                kept.append(line)
        return kept

    def _write(self, request: SampleRequest, line: dict[str, Any]) -> None:
        """Append a line, which a killed process does not lose."""
        if request.step not in self._files:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / _FILE.format(rank=self.rank, step=request.step)
            self._files[request.step] = path.open("a", encoding="utf-8", buffering=1)
        self._files[request.step].write(json.dumps({"episode": _key(request), **line}) + "\n")


def _key(request: SampleRequest) -> str:
    return f"{request.prompt.task.id}/{request.sample}/{request.seed}"


def _line(action: Action, observation: Sequence[int] | None) -> dict[str, Any]:
    assert action.segment
    return {
        "text": action.text,
        "finish_reason": action.finish_reason,
        "token_ids": action.segment.token_ids,
        "logprobs": action.segment.logprobs,
        "policy_versions": action.segment.policy_versions,
        "observation": observation,
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file; one that was cut off is the end."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _turn(fields: dict[str, Any]) -> JournalTurn:
    segment = Segment.sampled(fields["token_ids"], fields["logprobs"], fields["policy_versions"])
    action = Action(fields["text"], fields["finish_reason"], len(segment.token_ids), segment)
    observation = fields["observation"]
    return JournalTurn(action, None if observation is None else tuple(observation))
