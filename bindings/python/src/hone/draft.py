"""Guesses at what comes next, of which several are checked in one step: the same text, sooner."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, Mapping, Optional

from . import _c
from ._library import c
from ._object import Handle, Object, given_of
from .errors import check
from .model import Model, ids_of
from .session import sampling


def draft_options(draft: Mapping[str, Any]) -> tuple[Any, Optional[Handle]]:
    """Of hn_lm_draft_options' fields (hone/draft.h), `model` a Model and `sampling` what Sampler takes; and the model's
    handle, which is needed as long as what drafts is there."""
    given, handle = dict(draft), None
    model = given.pop("model", None)
    if model is not None:
        handle = model._holds()
        given["model"] = handle.get()
    if given.get("sampling") is not None:
        given["sampling"] = ctypes.pointer(sampling(**given["sampling"]))
    return given_of(_c.hn_lm_draft_options, given), handle


def drafted(call: Any, pointer: Any) -> tuple[int, int]:
    """Guesses that were right so far, and that were not."""
    accepted, rejected = ctypes.c_int64(), ctypes.c_int64()
    check(call(pointer, ctypes.byref(accepted), ctypes.byref(rejected)))
    return accepted.value, rejected.value


class Drafter(Object):
    """For one sequence of a batch: guess(), Batch.step() with what was guessed, Batch.settle()."""

    def __init__(self, model: Model, draft: Optional[Mapping[str, Any]] = None, *, context: int = 0) -> None:
        self.model = model
        options, also = draft_options(draft or {})
        parent = model._holds()
        self._make(lambda out: c.hn_lm_drafter_new(out, parent.get(), options, context), _c.hn_lm_drafter,
                   c.hn_lm_drafter_free, parent, model.engine._run, also=also)

    def guess(self, ids: Iterable[int], number: int = 0, most: int = 16) -> list[int]:
        """What may follow these ids, of which the first is generated token `number`; maybe nothing."""
        array, n = ids_of(ids)
        room, guessed, handle = (ctypes.c_int32 * most)(), ctypes.c_size_t(), self._holds()

        def guess() -> list[int]:
            with handle.use() as drafter:
                check(c.hn_lm_drafter_guess(drafter, array, n, number, room, most, ctypes.byref(guessed)))
            return list(room[: guessed.value])

        return self.model.engine._run(guess)

    @property
    def drafted(self) -> tuple[int, int]:
        """Guesses that were right so far, and that were not."""
        with self._use() as drafter:
            return drafted(c.hn_lm_drafter_counts, drafter)
