"""Many sequences on a model, run together: each says what it would say alone."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, Mapping, Optional, Union

from . import _c
from ._library import c
from ._number import array_of, fitting
from ._object import Object, bytes_of, fill, found_by
from ._record import Record
from .errors import check
from .model import Model, ids_of
from .session import Sampler, _view

Asked = tuple[Iterable[int], Union[int, Iterable[int]]]


class Batch(Object):
    """Sequences are numbers, from begin() to end(). What is 0 is the library's default (hone/batch.h)."""

    def __init__(self, model: Model, *, sequences: int = 0, context: int = 0, tokens: int = 0, rows: int = 0,
                 blocks: int = 0, cache: Optional[str] = None, keeps_all: bool = False, mapped: bool = False,
                 adapters: int = 0, max_rank: int = 0, adapts_experts: bool = False, adapts_head: bool = False,
                 apart: int = 0) -> None:
        self.model, self._vocabulary = model, model.vocabulary
        options = fill(_c.hn_lm_batch_options, sequences=sequences, context=context, tokens=tokens, rows=rows,
                       blocks=blocks, cache=cache, keeps_all=keeps_all, mapped=mapped, adapters=adapters,
                       max_rank=max_rank, adapts_experts=adapts_experts, adapts_head=adapts_head, apart=apart)
        parent = model._holds()
        self._make(lambda out: c.hn_lm_batch_new(out, parent.get(), options), _c.hn_lm_batch,
                   c.hn_lm_batch_free, parent, model.engine._run)

    def _long(self, call: Any) -> None:
        handle = self._holds()

        def run() -> None:
            with handle.use() as batch:
                check(call(batch))

        self.model.engine._run(run)

    def add_adapter(self, path: Any, *, scale: float = 1.0, force: bool = False) -> int:
        """Held to what it was trained on, and copied: the number that begin() takes."""
        if not scale:
            raise ValueError("scale 0: leave the adapter out")
        name, options = bytes_of(path), fill(_c.hn_lm_adapter_options, scale=scale, is_forced=force)
        number = ctypes.c_int32()
        self._long(lambda batch: c.hn_lm_batch_add_adapter(batch, name, options, ctypes.byref(number)))
        return number.value

    def apply_adapter(self, path: Any, *, scale: float = 1.0, force: bool = False) -> tuple[int, Record]:
        """The same, and what it was held to (hone/adapter.h)."""
        if not scale:
            raise ValueError("scale 0: leave the adapter out")
        name, options = bytes_of(path), fill(_c.hn_lm_adapter_options, scale=scale, is_forced=force)
        number, handle = ctypes.c_int32(), self._holds()

        def add() -> Record:
            with handle.use() as batch:
                return Record(found_by(_c.hn_lm_adapter_trial, lambda *to: c.hn_lm_batch_apply_adapter(
                    batch, name, options, ctypes.byref(number), *to)))

        found = self.model.engine._run(add)
        return number.value, found

    def remove_adapter(self, adapter: int) -> None:
        with self._use() as batch:
            check(c.hn_lm_batch_remove_adapter(batch, adapter))

    def begin(self, adapter: Optional[int] = None) -> int:
        """A sequence without ids, with this adapter or none."""
        number = ctypes.c_int32()
        with self._use() as batch:
            check(c.hn_lm_batch_open(batch, -1 if adapter is None else adapter, ctypes.byref(number)))
        return number.value

    def end(self, sequence: int) -> None:
        with self._use() as batch:
            check(c.hn_lm_batch_close(batch, sequence))

    def fork(self, sequence: int, length: Optional[int] = None) -> int:
        """One more, of its first `length` ids (all), which are neither copied nor computed again."""
        number = ctypes.c_int32()
        at = len(self.ids(sequence)) if length is None else length
        if at < 0:
            raise ValueError(f"fork of {at} ids")
        with self._use() as batch:
            check(c.hn_lm_batch_fork(batch, sequence, at, ctypes.byref(number)))
        return number.value

    def trim(self, sequence: int, length: int) -> None:
        """Cuts it back to its first `length` ids."""
        if length < 0:
            raise ValueError(f"trim to {length} ids")
        with self._use() as batch:
            check(c.hn_lm_batch_trim(batch, sequence, length))

    def usable(self, sequence: int, length: int) -> int:
        """How many of the first `length` ids a fork or a trim can keep: all or none."""
        with self._use() as batch:
            return int(c.hn_lm_batch_usable(batch, sequence, max(length, 0)))

    def ids(self, sequence: int) -> list[int]:
        n = ctypes.c_size_t()
        with self._use() as batch:
            found = c.hn_lm_batch_ids(batch, sequence, ctypes.byref(n))
            if not found:
                raise ValueError(f"sequence {sequence} is not open")
            return list(found[: n.value])

    @property
    def context(self) -> int:
        with self._use() as batch:
            return int(c.hn_lm_batch_context(batch))

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks of 64 keys that are free, and that there are."""
        of = ctypes.c_int64()
        with self._use() as batch:
            return int(c.hn_lm_batch_blocks(batch, ctypes.byref(of))), of.value

    def _pieces(self, pieces: Mapping[int, Union[Iterable[int], Asked]]) -> tuple[Any, list[int], Any]:
        made: Any = (_c.hn_lm_batch_piece * len(pieces))()
        wanted: list[int] = []
        chosen: list[int] = []
        chooses = False
        for piece, (sequence, given) in zip(made, pieces.items()):
            ids, rows = given if isinstance(given, tuple) else (given, 1)
            array, piece.n = ids_of(ids)
            piece.size = ctypes.sizeof(piece)
            which = range(piece.n - rows, piece.n) if isinstance(rows, int) else list(rows)
            chooses = chooses or not isinstance(rows, int)
            piece.sequence, piece.ids = fitting(ctypes.c_int32, sequence, "sequence"), array
            piece.wanted = fitting(ctypes.c_int32, rows, "rows") if isinstance(rows, int) else len(which)
            wanted.append(piece.wanted)
            chosen.extend(which)
        return made, wanted, array_of(ctypes.c_int32, chosen or [0]) if chooses else None

    def needs(self, pieces: Mapping[int, Union[Iterable[int], Asked]]) -> int:
        """Blocks that a step of these takes at most."""
        made, wanted, _ = self._pieces(pieces)
        with self._use() as batch:
            return int(c.hn_lm_batch_needs(batch, made, len(wanted)))

    def step(self, pieces: Mapping[int, Union[Iterable[int], Asked]]) -> dict[int, list[memoryview[float]]]:
        """Feeds each sequence its ids, or none of them: {sequence: ids} asks for the logits after the last id,
        {sequence: (ids, n)} for those after each of the last n, {sequence: (ids, [0, 5])} for those after ids[0] and
        ids[5]. Views of the batch's memory, whose numbers are these until the next step."""
        made, wanted, rows = self._pieces(pieces)
        if rows is None:
            self._long(lambda batch: c.hn_lm_batch_step(batch, made, len(wanted)))
        else:
            self._long(lambda batch: c.hn_lm_batch_step_rows(batch, made, len(wanted), rows))
        out: dict[int, list[memoryview[float]]] = {}
        row = 0
        with self._use() as batch:
            for sequence, n in zip(pieces, wanted):
                out[sequence] = [_view(c.hn_lm_batch_logits(batch, row + i), self._vocabulary, self._holds())
                                 for i in range(n)]
                row += n
        return out

    def settle(self, sequence: int, sampler: Sampler, rows: int, row: int = 0) -> list[int]:
        """After a step whose last ids of the sequence were guesses, with `rows` rows of logits, the first number `row` of
        all: draws until what is drawn is not what follows, and cuts back to it. What was drawn; all but the last are in
        the sequence."""
        drawn, n = (ctypes.c_int32 * max(rows, 1))(), ctypes.c_size_t()
        with self._use() as batch, sampler._use() as by:
            check(c.hn_lm_batch_settle(batch, sequence, by, row, rows, drawn, ctypes.byref(n)))
        return list(drawn[: n.value])

    def save(self, sequence: int, path: Any) -> None:
        """As Session.save: sessions and batches take each other's files."""
        name = bytes_of(path)
        self._long(lambda batch: c.hn_lm_batch_save(batch, sequence, name))

    def load(self, sequence: int, path: Any) -> None:
        name = bytes_of(path)
        self._long(lambda batch: c.hn_lm_batch_load(batch, sequence, name))
