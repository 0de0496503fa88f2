"""Conversations, by a model's own chat template."""
from __future__ import annotations

import ctypes
import json
import weakref
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional

from . import _c, _call
from ._library import c
from ._object import Object, Single, bytes_of, fill, text_of
from .draft import draft_options, drafted
from .errors import Busy, Cancelled, Status, check
from .model import Json, Model, json_of, settings_of
from .session import sampling, session_options

End = _c.hn_lm_end


class Turn(NamedTuple):
    """How an answer ended, how many tokens were read (of which some were known) and said, and the time it took."""

    end: End
    n_prompt: int
    n_reused: int
    n_answer: int
    prompt_seconds: float
    answer_seconds: float


class Piece(str):
    """A part of an answer as it comes: of what is said, or of what the model thinks."""

    is_thought: bool = False


class Answer(str):
    """What was said; and what was thought before."""

    thought: str
    turn: Turn


def _hear(is_thought: bool) -> Any:
    def heard(context: Any, text: int, size: int) -> None:
        piece = Piece(ctypes.string_at(text, size).decode("utf-8", "replace"))
        piece.is_thought = is_thought
        _call.current().ask(lambda: piece)

    return dict(_c.hn_lm_chat_options._fields_)["on_text"](heard)


_ON_TEXT = _hear(False)
_ON_THOUGHT = dict(_c.hn_lm_chat_options._fields_)["on_thought"](_hear(True))


class Stream(Single, Iterator[Piece]):
    """An answer piece by piece. The model is as far as what was taken; close() ends the answer there, and the chat
    keeps what was heard. `turn` is there when it has ended."""

    def __init__(self, chat: "Chat", ask: Callable[[Any, Any], int]) -> None:
        found, handle = _c.hn_lm_turn(), chat._holds()

        def run() -> None:  # which does not refer to stream and chat: they are garbage when nobody else does
            with handle.use() as pointer:
                check(ask(pointer, found))

        self._found, self._chat, self._is_asked = found, chat, False
        self._call = chat.model.engine._begin(run)

    @property
    def turn(self) -> Optional[Turn]:
        if not self._call.is_done:
            return None
        return Turn(End(self._found.end), *(getattr(self._found, name) for name in Turn._fields[1:]))

    def __next__(self) -> Piece:
        piece: Optional[Piece] = None if self._call.is_abandoned else self._call.advance()
        if piece is not None:
            return piece
        if not self._call.is_abandoned:
            self._call.end()
        raise StopIteration

    def close(self) -> None:
        self._call.abandon()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_call"):
            self.close()


class Chat(Object):
    """A conversation with a model, or with the one that is part of the library. `sampling` is what Sampler takes,
    `session` and `draft` what Session takes."""

    def __init__(self, model: Optional[Model] = None, *, system: Optional[str] = None, tools: Json = None,
                 variables: Optional[Mapping[str, Json]] = None, max_answer: int = 0,
                 sampling: Optional[Mapping[str, Any]] = None, session: Optional[Mapping[str, Any]] = None,
                 draft: Optional[Mapping[str, Any]] = None) -> None:
        self.model = Model() if model is None else model
        self._stream: Optional["weakref.ref[Stream]"] = None
        parts = [_session_options(**(session or {})), _sampling(**(sampling or {}))]
        options = fill(_c.hn_lm_chat_options, system=system, tools=json_of(tools), variables=settings_of(variables),
                       max_answer=max_answer, session=ctypes.pointer(parts[0]), sampling=ctypes.pointer(parts[1]),
                       on_text=_ON_TEXT, on_thought=_ON_THOUGHT)
        parent = self.model._holds()
        given, also = (None, None) if draft is None else draft_options(draft)

        def new(out: Any) -> int:
            if given is None:
                return int(c.hn_lm_chat_new(out, parent.get(), options))
            return int(c.hn_lm_chat_new_drafting(out, parent.get(), options, given))

        self._make(new, _c.hn_lm_chat, c.hn_lm_chat_free, parent, self.model.engine._run, also=also)

    @property
    def drafted(self) -> tuple[int, int]:
        """Guesses that were right so far, and that were not."""
        with self._use() as chat:
            return drafted(c.hn_lm_chat_drafted, chat)

    def _begin(self, ask: Callable[[Any, Any], int]) -> Stream:
        before = self._stream and self._stream()
        if before and before._is_asked and not before._call.is_done:  # whoever waits for its answer would get a part of it
            raise Busy(Status.ERR_BUSY, "Chat: used by another call or object at this moment")
        if before:
            before.close()
        stream = Stream(self, ask)
        self._stream = weakref.ref(stream)
        return stream

    @staticmethod
    def _take(stream: Stream, on_text: Optional[Callable[[str], object]],
              on_thought: Optional[Callable[[str], object]]) -> Answer:
        said: dict[bool, list[str]] = {False: [], True: []}
        stream._is_asked = True
        with stream:
            for piece in stream:
                said[piece.is_thought].append(piece)
                tell = on_thought if piece.is_thought else on_text
                if tell:
                    tell(piece)
        answer = Answer("".join(said[False]))
        answer.thought, answer.turn = "".join(said[True]), stream.turn  # type: ignore[assignment]
        return answer

    def stream(self, text: str) -> Stream:
        """Adds a message of the user and the model's answer, which is given piece by piece. A stream that was not
        taken to its end ends when the next one begins."""
        question = bytes_of(text)
        return self._begin(lambda chat, turn: c.hn_lm_chat_ask(chat, question, turn, ctypes.sizeof(turn)))

    def ask(self, text: str, on_text: Optional[Callable[[str], object]] = None,
            on_thought: Optional[Callable[[str], object]] = None) -> Answer:
        return self._take(self.stream(text), on_text, on_thought)

    def stream_answer(self, messages: Json) -> Stream:
        """The answer to messages from elsewhere: the chat's own are neither read nor changed."""
        given = bytes_of(json_of(messages))
        return self._begin(lambda chat, turn: c.hn_lm_chat_answer(chat, given, turn, ctypes.sizeof(turn)))

    def answer(self, messages: Json, on_text: Optional[Callable[[str], object]] = None,
               on_thought: Optional[Callable[[str], object]] = None) -> Answer:
        return self._take(self.stream_answer(messages), on_text, on_thought)

    def set_system(self, text: Optional[str]) -> None:
        with self._use() as chat:
            check(c.hn_lm_chat_set_system(chat, None if text is None else bytes_of(text)))

    def reset(self) -> None:
        """Forgets the messages, not the system's."""
        with self._use() as chat:
            check(c.hn_lm_chat_reset(chat))

    @property
    def context(self) -> int:
        """Tokens that the conversation and an answer may have together."""
        with self._use() as chat:
            return int(c.hn_lm_chat_context(chat))

    def save_keys(self, path: Any) -> None:
        """What was computed, for load_keys; the messages are not in it."""
        self._long(c.hn_lm_chat_save_keys, bytes_of(path))

    def load_keys(self, path: Any) -> None:
        self._long(c.hn_lm_chat_load_keys, bytes_of(path))

    def _long(self, call: Any, name: bytes) -> None:
        handle = self._holds()

        def run() -> None:
            with handle.use() as chat:
                check(call(chat, name))

        self.model.engine._run(run)

    @property
    def messages(self) -> list[Any]:
        with self._use() as chat:
            found: list[Any] = json.loads(text_of(lambda *to: c.hn_lm_chat_messages(chat, *to)))
            return found


_session_options, _sampling = session_options, sampling  # which the options of a chat are called as well
__all__ = ["Answer", "Cancelled", "Chat", "End", "Piece", "Stream", "Turn"]
