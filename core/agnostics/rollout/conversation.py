"""Conversations as tokens: what stands between two actions, appended to an episode and never rendered again."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import TemplateError

from agnostics.environments.environment import Observation
from agnostics.rollout.prompts import ConversationSettings, conversation_text
from agnostics.types.errors import UsageError

_ACTION, _CONTENT = "Agnostics-action", 'Agnostics-"content"'
"""Marks that are found again in a rendered conversation; the quotes show whether a template writes a JSON string."""


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """The tokens of a chat template around the contents of messages that follow an action, up to the next action."""

    end_of_turn: tuple[int, ...]
    """The end of the action, with the token that ends it; empty if the template has none."""
    before: tuple[int, ...]
    after: tuple[int, ...]
    is_json: bool
    """Whether the content stands in a JSON string, as Llama 3's template writes the outputs of tools."""
    between: tuple[tuple[int, ...], ...] = ()
    """Between the contents of several messages."""


@dataclass(frozen=True)
class ConversationRenderer:
    """Makes observations for one model, from what its chat template puts between two answers.

    A template is rendered once for each role, with marks in place of the contents. Contents are tokenised by
    themselves, so that no text in them becomes an added token. `stop_ids` are the tokens that may end an action.
    """

    tokenizer: Any
    settings: ConversationSettings
    stop_ids: Sequence[int]

    def observation(self, text: str, role: str, max_tokens: int) -> Observation:
        """The observation with this content, which is cut in the middle so that all has at most `max_tokens`.

        All is the content, the tokens of the template around it, and the end of an answer that was truncated.
        """
        frame = self.frames[role]
        around = len(frame.end_of_turn) + len(frame.before) + len(frame.after)
        written = _in_json(text) if frame.is_json else text
        kept, content = self._cut(written, max(0, max_tokens - around))
        token_ids = (*frame.before, *content, *frame.after)
        return Observation(text if kept == written else kept, role, token_ids, frame.end_of_turn)

    def continuation(self, messages: Sequence[tuple[str, str]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The end of an action, and the tokens of messages after it, up to the next action.

        Each message is a role and its content. Raises TemplateError or UsageError if the template has no place.
        """
        frame = self._frame(*(role for role, _ in messages))
        tokens = list(frame.before)
        for (_, text), rest in zip(messages, (*frame.between, frame.after), strict=True):
            tokens += (*self._content(_in_json(text) if frame.is_json else text), *rest)
        return frame.end_of_turn, tuple(tokens)

    def check_template(self) -> None:
        """Raise UsageError if the template has no place for a second message of the user."""
        self._between("user")

    @cached_property
    def frames(self) -> Mapping[str, MessageFrame]:
        """The frames of `user` and `tool`; a template without the role of tools has the user's for it.

        Raises UsageError if the template has no place for a second message of the user.
        """
        user = self._frame("user")
        try:
            return {"user": user, "tool": self._frame("tool")}
        except (TemplateError, UsageError):
            return {"user": user, "tool": user}

    def _frame(self, *roles: str) -> MessageFrame:
        (before, *between, after), is_json = self._between(*roles)
        between_tokens = tuple(self._tokens(text) for text in between)
        return MessageFrame(*self._split(before), self._tokens(after), is_json, between_tokens)

    def _between(self, *roles: str) -> tuple[list[str], bool]:
        """The texts from an answer to the content of a message, between contents, and from there to the next answer.

        The messages have these roles. And whether the contents are written into JSON strings.
        """
        messages = [
            {"role": "user", "content": "."},
            {"role": "assistant", "content": _ACTION},
            *({"role": role, "content": _CONTENT} for role in roles),
        ]
        text = conversation_text(self.tokenizer, messages, self.settings)
        _, action, rest = text.rpartition(_ACTION)
        is_json = _in_json(_CONTENT) in rest
        texts = rest.split(_in_json(_CONTENT) if is_json else _CONTENT)
        if not action or len(texts) != len(roles) + 1:
            names = " and the ".join(roles)
            raise UsageError(f"the model's chat template has no place for a message of the {names} after an answer")
        return texts, is_json

    def _split(self, before: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tokens of the end of an answer, and those after it."""
        tokens = self._tokens(before)
        end = next((at for at, token in enumerate(tokens, 1) if token in self.stop_ids), 0)
        is_end = not self.tokenizer.decode(tokens[: max(0, end - 1)]).strip()  # a later one belongs to the next message
        return (tokens[:end], tokens[end:]) if is_end else ((), tokens)

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False).input_ids)

    def _cut(self, text: str, max_tokens: int) -> tuple[str, tuple[int, ...]]:
        """The text with its tokens, at most `max_tokens`: the first and the last ones, with a note between them."""
        tokens = self._content(text)
        if len(tokens) <= max_tokens:
            return text, tokens
        note = self._content(f"\n[{len(tokens)} tokens, cut to {max_tokens}]\n")
        room = max(0, max_tokens - len(note))
        head, tail = tokens[: room - room // 2], tokens[len(tokens) - room // 2 :]
        kept = (*head, *note, *tail)[:max_tokens]
        return self._content_tokenizer.decode(kept), kept

    def _content(self, text: str) -> tuple[int, ...]:
        """Tokens of a text whose added tokens are read as any other text: a program may have printed them."""
        return tuple(self._content_tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)

    @cached_property
    def _content_tokenizer(self) -> Any:
        """A copy, all of whose added tokens are special: `split_special_tokens` splits no others.

        What that changes in a tokenizer must not change while another thread uses it.
        """
        tokenizer = copy.deepcopy(self.tokenizer)
        tokenizer.add_tokens(list(tokenizer.added_tokens_decoder.values()), special_tokens=True)
        return tokenizer


def _in_json(text: str) -> str:
    """The text as it stands between the quotes of a JSON string, as templates write it with `tojson`."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
