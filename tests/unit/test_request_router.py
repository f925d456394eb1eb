"""Which of several engines a request goes to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from agnostics.inference.engine import CompletionRequest
from agnostics.inference.remote import request_router
from agnostics.inference.remote.request_router import RequestRouter


def _turns(conversations: Sequence[int], prompts: Sequence[int], *, last: bool = False) -> list[CompletionRequest]:
    pairs = zip(conversations, prompts, strict=True)
    return [CompletionRequest((prompt,), 0, not last, conversation) for conversation, prompt in pairs]


def test_first_turns_are_divided_evenly_and_those_of_a_prompt_stay_together_as_far_as_that_allows() -> None:
    prompts = [0] * 4 + [1] * 4 + [2] * 4
    assert RequestRouter(8).route(_turns(range(12), prompts), [0, 0]) == [0] * 4 + [1] * 4 + [0, 0, 1, 1]
    assert RequestRouter(8).route(_turns(range(6), [0, 0, 1, 1, 1, 1]), [4, 0]) == [1] * 5 + [0]


def test_requests_of_no_conversation_are_divided_alike_every_time() -> None:
    router, requests = RequestRouter(8), [CompletionRequest((0,), 0), CompletionRequest((1,), 1)]
    assert [router.route(requests, [0, 0]), router.route(requests, [1, 0])] == [[0, 1], [1, 0]]


def test_a_later_turn_goes_to_the_engine_of_the_turn_before_in_any_order() -> None:
    router = RequestRouter(8)
    first = dict(enumerate(router.route(_turns(range(6), [0, 0, 0, 1, 1, 1]), [0, 0, 0])))
    order = [3, 5, 0, 2, 4, 1]
    for turn in range(1, 4):
        routes = router.route(_turns(order, [10 * turn + one for one in order]), [0, 0, 0])
        assert routes == [first[one] for one in order]
    assert [router.route(_turns([one], [50 + one]), [1, 1, 1]) for one in range(6)] == [
        [first[one]] for one in range(6)
    ]


def test_first_turns_fill_the_engines_that_later_ones_leave_empty() -> None:
    router = RequestRouter(100)
    router.route(_turns(range(4), range(4)), [0, 9])
    assert router.route(_turns([0, 1, 2, 3, 4, 5, 6, 7], [*range(10, 14), *[20] * 4]), [0, 0]) == [0] * 4 + [1] * 4


def test_a_turn_leaves_an_engine_with_half_of_max_num_seqs_more_than_another_and_stays_where_it_went() -> None:
    router = RequestRouter(8)
    assert router.route(_turns(range(3), range(3)), [0, 90]) == [0] * 3
    assert router.route(_turns([0], [10]), [8, 5]) == [0]
    assert router.route(_turns([0, 1], [10, 11]), [8, 5]) == [1, 0]
    assert router.route(_turns([0], [20]), [0, 0]) == [1]


def test_engines_of_one_sequence_keep_a_conversation_unless_they_are_busy() -> None:
    router = RequestRouter(1)
    assert router.route(_turns([0], [0]), [0, 0]) == [0]
    assert router.route(_turns([0], [10]), [0, 0]) == [0]
    assert router.route(_turns([0], [20]), [1, 0]) == [1]


def test_turns_of_both_engines_stay_in_them_when_they_come_together() -> None:
    router = RequestRouter(2)
    assert router.route(_turns(range(20), [0] * 10 + [1] * 10), [0, 0]) == [0] * 10 + [1] * 10
    assert router.route(_turns(range(20), range(20)), [0, 0]) == [0] * 10 + [1] * 10


def test_a_conversation_is_forgotten_after_its_last_turn_and_the_least_recent_ones_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_router, "_MAX_CONVERSATIONS", 2)
    router = RequestRouter(8)
    assert router.route(_turns([0, 1], [0, 1]), [0, 9]) == [0, 0]
    assert router.route(_turns([0], [10]), [0, 0]) == [0]
    assert router.route(_turns([2], [2]), [0, 9]) == [0]
    assert router.route(_turns([1], [11], last=True), [1, 0]) == [1]
    assert router.route(_turns([0], [20], last=True), [1, 0]) == [0]
    assert router.route(_turns([0], [30]), [1, 0]) == [1]
    assert router.route(_turns([2], [12]), [2, 0]) == [0]
