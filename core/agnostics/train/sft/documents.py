"""Documents: training examples as the token ids of a model, with a mask of those that are trained."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.prompts import ConversationSettings, render_conversation, user_message
from agnostics.train.sft.records import Conversation, PlainText, PromptCompletion, TrainingRecord
from agnostics.types.errors import UsageError
from agnostics.util.text import first_line


@dataclass(frozen=True, slots=True)
class Document:
    """Tokens that attend to each other: `token_ids`, (L,), and `mask`, (L,), 1 where the token is trained.

    The first token is never trained: nothing predicts it.
    """

    token_ids: array[int]
    mask: bytes

    @property
    def num_trained(self) -> int:
        """The number of trained tokens."""
        return sum(self.mask)

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class DocumentEncoder:
    """Makes documents of at most `max_tokens` tokens; `end_id` ends an assistant's message.

    A prompt has the token ids that it has in `agn run`, and the answer is encoded apart from it, as it is sampled.
    """

    renderer: ConversationRenderer
    end_id: int
    max_tokens: int

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.renderer.tokenizer

    @property
    def settings(self) -> ConversationSettings:
        """The settings of prompts."""
        return self.renderer.settings

    def encode(self, record: TrainingRecord, place: str) -> list[Document]:
        """The documents of a record, none if it is too long. Raises UsageError if the chat template refuses it."""
        if isinstance(record, PlainText):
            return list(self._pieces(record.text))
        if isinstance(record, Conversation) and record.append_only:
            return self._episode(record, place)
        return self._turns(record, place)

    def _episode(self, record: Conversation, place: str) -> list[Document]:
        """The document of an append-only conversation, up to the last answer for which there is room.

        Its tokens are those of an episode of `agn run`: nothing that the policy has read is rendered again.
        """
        answers = list(self._answers(record))
        token_ids = self._prompt(answers[0][0], place)
        mask, documents = bytes(len(token_ids)), list[Document]()
        for (_, answer), told in zip_longest(answers, (messages[-1] for messages, _ in answers[1:])):
            end_id, observation = self._observation(told)
            trained = [*self._token_ids(answer), end_id]
            token_ids, mask = [*token_ids, *trained], mask + b"\1" * len(trained)
            if len(token_ids) > self.max_tokens:
                break
            documents = [Document(array("i", token_ids), mask)]
            token_ids, mask = [*token_ids, *observation], mask + bytes(len(observation))
        return documents

    def _observation(self, message: Mapping[str, Any] | None) -> tuple[int, Sequence[int]]:
        """The token that ends the answer before `message`, and those up to the next answer; None is the last answer's.

        An answer ends with the token that the template has before such a message, as a policy samples it.
        """
        if message is None:
            return self.end_id, ()
        told = self.renderer.observation(message["content"], message["role"], self.max_tokens)
        return (told.end_of_turn[-1] if told.end_of_turn else self.end_id), told.token_ids

    def _turns(self, record: PromptCompletion | Conversation, place: str) -> list[Document]:
        """A document for each answer, joined with the document before if its prompt continues that one.

        It does not if the template renders an earlier answer otherwise than it was given (thoughts are removed). An
        answer that ends beyond the longest document is left out.
        """
        documents = list[Document]()
        for messages, answer in self._answers(record):
            prompt, trained = self._prompt(messages, place), [*self._token_ids(answer), self.end_id]
            if len(prompt) + len(trained) > self.max_tokens:
                continue
            mask = bytes(len(prompt))
            if documents and _continues(prompt, documents[-1].token_ids):
                before = documents.pop()
                mask = before.mask + bytes(len(prompt) - len(before))
            documents.append(Document(array("i", [*prompt, *trained]), mask + b"\1" * len(trained)))
        return documents

    def _answers(self, record: PromptCompletion | Conversation) -> Iterator[tuple[Sequence[Mapping[str, Any]], str]]:
        """Each answer, after the messages before it."""
        if isinstance(record, PromptCompletion):
            system = self.settings.system if record.system is None else record.system
            yield user_message(record.prompt, system), record.completion
            return
        messages = list(record.messages)
        if self.settings.system is not None and messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": self.settings.system})
        for number, message in enumerate(messages):
            if message["role"] == "assistant":
                yield messages[:number], message["content"]

    def _prompt(self, messages: Sequence[Mapping[str, Any]], place: str) -> list[int]:
        from jinja2 import TemplateError

        try:
            return render_conversation(self.tokenizer, messages, self.settings)
        except (TemplateError, TypeError) as error:
            raise UsageError(f"{place}: the model's chat template refuses it: {first_line(error)}") from error

    def _token_ids(self, text: str) -> list[int]:
        token_ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return token_ids

    def _pieces(self, text: str) -> Iterator[Document]:
        """The text and its end; one that is too long in pieces, each without the others."""
        token_ids = [*self.tokenizer(text).input_ids, self.tokenizer.eos_token_id]
        for start in range(0, len(token_ids), self.max_tokens):
            piece = token_ids[start : start + self.max_tokens]
            if len(piece) > 1:
                yield Document(array("i", piece), b"\0" + b"\1" * (len(piece) - 1))


def end_of_message(tokenizer: Any, stop_ids: Collection[int], settings: ConversationSettings) -> int:
    """The stop token with which the chat template ends an assistant's message, or else the end of a text."""
    question = user_message("?", None)
    answered = [*question, {"role": "assistant", "content": "!"}]
    prompt = render_conversation(tokenizer, question, settings)
    whole = render_conversation(tokenizer, answered, settings, prompt=False)
    shared = next((place for place, pair in enumerate(zip(prompt, whole, strict=False)) if pair[0] != pair[1]), None)
    after = whole[len(prompt) if shared is None else shared :]
    end: int = next((token for token in after if token in stop_ids), tokenizer.eos_token_id)
    return end


def _continues(longer: Sequence[int], shorter: array[int]) -> bool:
    return len(longer) >= len(shorter) and array("i", longer[: len(shorter)]) == shorter
