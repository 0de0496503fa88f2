"""Texts to vectors."""
from __future__ import annotations

import array
import ctypes
from typing import Any, Callable, Iterable, NamedTuple, Optional

from . import _c
from ._library import c
from ._object import Object, fill
from .errors import check
from .model import Model, Text, ids_of


class Embedding(NamedTuple):
    """Floats, which numpy.asarray takes as they are; and the tokens of the text: more than the longest where it was
    cut."""

    vector: "array.array[float]"
    n_tokens: int


class Embedder(Object):
    """Of any model and its adapters: one that generates needs a pooling, if its files say none. `context`: the longest
    text, in tokens."""

    def __init__(self, model: Model, *, pooling: Optional[str] = None, normalize: bool = False,
                 refuses_long: bool = False, context: int = 0) -> None:
        self.model = model
        options = fill(_c.hn_lm_embed_options, pooling=pooling, normalize=normalize, refuses_long=refuses_long,
                       context=context)
        parent = model._holds()
        self._make(lambda out: c.hn_lm_embedder_new(out, parent.get(), options), _c.hn_lm_embedder,
                   c.hn_lm_embedder_free, parent, model.engine._run)

    @property
    def width(self) -> int:
        with self._use() as embedder:
            return int(c.hn_lm_embedder_width(embedder))

    @property
    def longest(self) -> int:
        with self._use() as embedder:
            return int(c.hn_lm_embedder_longest(embedder))

    def run(self, text: Text) -> Embedding:
        data = text if isinstance(text, bytes) else text.encode()
        n = ctypes.c_int64()
        vector = self._vector(lambda embedder, room: c.hn_lm_embedder_run(embedder, data, len(data), room, ctypes.byref(n)))
        return Embedding(vector, n.value)

    def run_ids(self, ids: Iterable[int]) -> Embedding:
        """Of ids as they stand: nothing is put around them as around a text, and nothing is cut."""
        given, n = ids_of(ids)
        return Embedding(self._vector(lambda embedder, room: c.hn_lm_embedder_run_ids(embedder, given, n, room)), n)

    def _vector(self, run: Callable[[Any, Any], int]) -> "array.array[float]":
        handle = self._holds()

        def embed() -> "array.array[float]":
            with handle.use() as embedder:
                vector = array.array("f", bytes(4 * c.hn_lm_embedder_width(embedder)))
                check(run(embedder, (ctypes.c_float * len(vector)).from_buffer(vector)))
            return vector

        return self.model.engine._run(embed)
