"""What a text is held to: a JSON schema, a regular expression, or rules in GBNF."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, NamedTuple, Optional

from . import _c
from ._library import c
from ._object import Object, bytes_of, fill, found_by
from .engine import Engine
from .errors import check
from .model import Json, Model, choice, ids_of, json_of


class Grammar(Object):
    """Knows no model: samplers and requests of any model on the engine take it. `kind` is "json_schema", "regex" or "gbnf"; a
    schema may be given as JSON is read. With triggers any text comes before one of them, and it holds from there on."""

    def __init__(self, engine: Engine, kind: str, text: Json, *, triggers: Iterable[str] = (), trigger_tokens: Iterable[str] = (),
                 bytes: int = 0, depth: int = 0, references: int = 0, repetition: int = 0, states: int = 0, steps: int = 0,
                 nesting: int = 0, ways: int = 0) -> None:
        self.engine = engine
        what, rules = choice(_c.hn_lm_grammar_kind, kind), bytes_of(json_of(text))
        options = fill(_c.hn_lm_grammar_options, bytes=bytes, depth=depth, references=references, repetition=repetition,
                       states=states, steps=steps, nesting=nesting, ways=ways, triggers=list(triggers) or None,
                       trigger_tokens=list(trigger_tokens) or None)
        parent = engine._holds()
        self._make(lambda out: c.hn_lm_grammar_new(out, parent.get(), what, rules, len(rules),
                                                   options),
                   _c.hn_lm_grammar, c.hn_lm_grammar_free, parent)


class Mask(NamedTuple):
    """What may come next: ids; the one of them if there is but one; whether the text may end."""

    allowed: list[int]
    only: Optional[int]
    may_end: bool


class Matcher(Object):
    """Where one sequence is in a grammar."""

    def __init__(self, model: Model, grammar: Grammar) -> None:
        parent, of = model._holds(), grammar._holds()
        self._make(lambda out: c.hn_lm_matcher_new(out, parent.get(), of.get()), _c.hn_lm_matcher, c.hn_lm_matcher_free, parent,
                   also=of)

    def advance(self, ids: Iterable[int]) -> int:
        """How many of them are allowed, each after those before it: it stands after these."""
        array, n = ids_of(ids)
        taken = ctypes.c_size_t()
        with self._use() as matcher:
            check(c.hn_lm_matcher_advance(matcher, array, n, ctypes.byref(taken)))
        return taken.value

    def rollback(self, n: int) -> None:
        with self._use() as matcher:
            check(c.hn_lm_matcher_rollback(matcher, n))

    @property
    def ids(self) -> list[int]:
        n = ctypes.c_size_t()
        with self._use() as matcher:
            ids = c.hn_lm_matcher_ids(matcher, ctypes.byref(n))
            return list(ids[: n.value]) if n.value else []

    @property
    def mask(self) -> Mask:
        with self._use() as matcher:
            found = found_by(_c.hn_lm_mask, lambda to, size: c.hn_lm_matcher_mask(matcher, to, size))
            words = found.bits[: found.words]
        ids = [64 * i + bit for i, word in enumerate(words) if word for bit in range(64) if word >> bit & 1]
        return Mask(ids, found.only if found.only >= 0 else None, bool(found.may_end))
