"""Answers, thoughts and calls of tools, told apart while they come."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, NamedTuple, Optional

from . import _c
from ._library import c
from ._object import Object, bytes_of, fill
from .errors import check
from .model import Json, Model, ids_of, json_of

_FIELDS = dict(_c.hn_lm_reader_options._fields_)


class Said(NamedTuple):
    """A piece: of "text", of "thought", or of a "call", whose number, id and name it then has; its text is of the arguments."""

    kind: str
    text: str
    index: Optional[int] = None  # type: ignore[assignment]  # in the place of tuple's
    id: Optional[str] = None
    name: Optional[str] = None


def _text(at: Any, n: int) -> str:
    return ctypes.string_at(at, n).decode("utf-8", "replace") if n else ""


class Reader(Object):
    """`tools` as render() takes them: without them calls are text. `prompt` is what the model goes on with."""

    def __init__(self, model: Model, *, tools: Json = None, family: Optional[str] = None, prompt: Iterable[int] = ()) -> None:
        said: list[Said] = []
        self._said = said
        array, n = ids_of(prompt)

        def on_text(context: Any, text: Any, size: int) -> None:
            said.append(Said("text", _text(text, size)))

        def on_thought(context: Any, text: Any, size: int) -> None:
            said.append(Said("thought", _text(text, size)))

        def on_call(context: Any, call: Any) -> None:
            one = call.contents
            said.append(Said("call", _text(one.arguments, one.bytes), one.index, (one.id or b"").decode(), (one.name or b"").decode()))

        heard = self._heard = (_FIELDS["on_text"](on_text), _FIELDS["on_thought"](on_thought), _FIELDS["on_call"](on_call))
        options = fill(_c.hn_lm_reader_options, tools=json_of(tools), family=family, prompt=array, n_prompt=n, on_text=heard[0],
                       on_thought=heard[1], on_call=heard[2])
        parent = model._holds()

        def free(pointer: Any) -> None:
            c.hn_lm_reader_free(pointer)
            heard  # which are the library's until here

        self._make(lambda out: c.hn_lm_reader_new(out, parent.get(), options), _c.hn_lm_reader, free, parent)

    def _take(self) -> list[Said]:
        said = self._said[:]
        self._said.clear()
        return said

    def add(self, id: int) -> list[Said]:
        with self._use() as reader:
            check(c.hn_lm_reader_add(reader, id))
        return self._take()

    def add_text(self, text: str) -> list[Said]:
        """Where there are no ids; not both with one reader."""
        data = text.encode()
        with self._use() as reader:
            check(c.hn_lm_reader_add_text(reader, data, len(data)))
        return self._take()

    def finish(self) -> tuple[list[Said], bool]:
        """What was held back, and whether a call was begun and not ended."""
        cut = ctypes.c_int32()
        with self._use() as reader:
            check(c.hn_lm_reader_finish(reader, ctypes.byref(cut)))
        return self._take(), bool(cut.value)
