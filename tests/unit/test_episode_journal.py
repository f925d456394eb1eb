"""The journal of episodes: which turns of a killed run count."""

from __future__ import annotations

from pathlib import Path

from agnostics.rollout.episode_journal import EpisodeJournal
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.sources import SampleRequest
from agnostics.types.rollout import Action, Segment
from agnostics.types.task import Task, Test

PROMPT = RenderedPrompt(Task(id="t\u2028\n", tests=(Test(input="", output=""),)), "p", (1,))


def _request(sample: int = 0, step: int = 2) -> SampleRequest:
    return SampleRequest(PROMPT, sample, 5, step)


def _action(version: int = 0) -> Action:
    return Action("said\u2028\n", "stop", 2, Segment.sampled((3, 4), (-0.1, -1 / 3), (version, version)))


def test_the_turns_of_a_killed_run_are_read_as_they_were_written(tmp_path: Path) -> None:
    with EpisodeJournal(tmp_path) as journal:
        journal.append(_request(), _action(), (7, 8))
        journal.append(_request(1), _action(), None)
        journal.append(_request(), _action(), None)
    with EpisodeJournal(tmp_path) as journal:
        first, second = journal.turns(_request())
        assert (first.action, first.observation) == (_action(), (7, 8))
        assert (second.action, second.observation) == (_action(), None)
        assert len(journal.turns(_request(1))) == 1
        assert journal.turns(_request(1)) == journal.turns(_request(step=3)) == []


def test_turns_of_a_policy_newer_than_the_checkpoint_do_not_count_and_never_will(tmp_path: Path) -> None:
    with EpisodeJournal(tmp_path) as journal:
        journal.append(_request(), _action(version=4), (7,))
        journal.append(_request(), _action(version=5), None)
    with EpisodeJournal(tmp_path, policy_version=4) as journal:
        assert [turn.action for turn in journal.turns(_request())] == [_action(version=4)]
    with EpisodeJournal(tmp_path, policy_version=9) as journal:
        assert len(journal.turns(_request())) == 1


def test_an_episode_that_started_anew_has_the_turns_after_that(tmp_path: Path) -> None:
    with EpisodeJournal(tmp_path) as journal:
        journal.append(_request(), _action(), (7,))
        journal.append(_request(1), _action(), (7,))
        journal.start_anew(_request())
        journal.append(_request(), _action(), (8,))
    for _ in range(2):
        with EpisodeJournal(tmp_path) as journal:
            assert [turn.observation for turn in journal.turns(_request())] == [(8,)]
            assert [turn.observation for turn in journal.turns(_request(1))] == [(7,)]


def test_a_line_that_a_kill_cut_off_is_the_end(tmp_path: Path) -> None:
    with EpisodeJournal(tmp_path) as journal:
        journal.append(_request(), _action(), (7,))
        journal.append(_request(), _action(), None)
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text()[:-20])
    with EpisodeJournal(tmp_path) as journal:
        assert len(journal.turns(_request())) == 1


def test_steps_that_a_checkpoint_holds_are_forgotten(tmp_path: Path) -> None:
    with EpisodeJournal(tmp_path, rank=1) as journal:
        for step in (1, 2, 10):
            journal.append(_request(step=step), _action(), None)
        journal.forget(2)
        journal.append(_request(step=10), _action(), None)
    assert [path.name for path in tmp_path.iterdir()] == ["rank-1-step-10.jsonl"]
    assert len(next(tmp_path.iterdir()).read_text().splitlines()) == 2


def test_each_rank_has_a_journal_of_its_own(tmp_path: Path) -> None:
    with EpisodeJournal(tmp_path, rank=0) as journal:
        journal.append(_request(), _action(), None)
    with EpisodeJournal(tmp_path, rank=1) as journal:
        assert journal.turns(_request()) == []
