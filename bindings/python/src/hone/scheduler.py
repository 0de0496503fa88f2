"""Requests to a model, from as many as ask, that share a batch: each says what it would say alone."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

from . import _c
from ._library import c
from ._number import fitting
from ._object import Key, Object, bytes_of, fill, found_by
from ._record import Record
from .batch import Batch
from .draft import draft_options
from .engine import Engine
from .errors import Error, check, last
from .grammar import Grammar
from .model import ids_of
from .session import sampling as sampling_of

End = _c.hn_lm_end
_FIELDS = dict(_c.hn_lm_request._fields_)


class Drawn(NamedTuple):
    """A token of a request, `number` from 0; its log-probability and those of the likeliest, where they were asked for."""

    request: int
    number: int
    id: int
    log_probability: float
    likeliest: list[tuple[int, float]]


class Scored(NamedTuple):
    """Id `number` of a request's prompt, from 1 on, and what it was given those before it."""

    request: int
    number: int
    id: int
    log_probability: float
    likeliest: list[tuple[int, float]]


class Ended(NamedTuple):
    """A request has ended: with an error, or as `end` says."""

    request: int
    end: Optional[End]
    error: Optional[Error]
    n_prompt: int
    n_reused: int
    n_drawn: int
    n_returned: int


class Disk(Object):
    """A folder for what schedulers on an engine keep beyond memory: `most` bytes of files, of which the oldest go. What may
    not be used of it is removed and counted. `waiting` bytes are yet to be written at a time; what would be more is not kept."""

    def __init__(self, engine: Engine, folder: str, *, most: int = 0, waiting: int = 0) -> None:
        self.engine = engine
        parent, path, options = engine._holds(), bytes_of(folder), fill(_c.hn_lm_disk_options, most=most, waiting=waiting)
        self._make(lambda out: c.hn_lm_disk_open(out, parent.get(), path, options), _c.hn_lm_disk, c.hn_lm_disk_close, parent)

    @property
    def counts(self) -> Record:
        with self._use() as disk:
            return Record(found_by(_c.hn_lm_disk_counts, lambda *to: c.hn_lm_disk_count(disk, *to)))


class Scheduler(Object):
    """Drives a batch, which nobody else steps until it is closed (hone/scheduler.h). What is 0 is the library's default.

        scheduler = hone.Scheduler(hone.Batch(model))
        number = scheduler.ask(model.encode("Once upon a time"), most=20)
        while scheduler.left:
            for event in scheduler.step():
                ..."""

    def __init__(self, batch: Batch, *, running: int = 0, waiting: int = 0, kept: int = 0, piece: int = 0,
                 keeps_none: bool = False, draft: Optional[Mapping[str, Any]] = None,
                 disk: Optional[Disk] = None) -> None:
        guesses, also = draft_options(draft) if draft is not None else (None, None)
        beyond, key = disk._holds() if disk is not None else None, Key()
        options = fill(_c.hn_lm_scheduler_options, disk=beyond.get() if beyond is not None else None, running=running, waiting=waiting, kept=kept, piece=piece,
                       keeps_none=keeps_none, draft=ctypes.pointer(guesses) if guesses is not None else None)
        self.batch, self.left = batch, 0
        events: list[Union[Scored, Drawn, Ended]] = []
        self._events = events
        parent = batch._holds()

        def told(t: Any, kind: Any) -> None:
            likeliest = [(t.likeliest[i].id, t.likeliest[i].log_probability) for i in range(t.n_likeliest)]
            events.append(kind(t.request, t.number, t.id, t.log_probability, likeliest))

        def on_token(context: Any, token: Any) -> None:
            told(token.contents, Drawn)

        def on_scored(context: Any, token: Any) -> None:
            told(token.contents, Scored)

        def on_end(context: Any, ended: Any) -> None:
            e = ended.contents
            error = last(e.status) if e.status else None
            events.append(Ended(e.request, None if error else End(e.end), error, e.n_prompt, e.n_reused, e.n_drawn,
                                e.n_returned))

        heard = self._heard = (_FIELDS["on_token"](on_token), _FIELDS["on_end"](on_end),
                               _FIELDS["on_scored"](on_scored))

        def free(pointer: Any) -> None:
            c.hn_lm_scheduler_free(pointer)
            heard  # which are the library's until here
            if beyond is not None:
                beyond.let_go(key)

        if beyond is not None:
            beyond.hold(key)
        try:
            self._make(lambda out: c.hn_lm_scheduler_new(out, parent.get(), options), _c.hn_lm_scheduler, free, parent,
                       batch.model.engine._run, also=also)
        finally:
            if beyond is not None and not hasattr(self, "_handle"):
                beyond.let_go(key)

    def ask(self, ids: Iterable[int], *, sampling: Optional[Mapping[str, Any]] = None, adapter: Optional[int] = None,
            owner: int = 0, most: int = 0, goes_on: bool = False, scores: bool = False, likeliest: int = 0,
            grammar: Optional[Grammar] = None, scores_prompt: bool = False, draws_none: bool = False,
            asker: int = 0, scores_drawn: bool = False) -> int:
        """A request's number. `sampling` is what Sampler takes; beginnings are shared within an `owner` alone; those who ask (`asker`, or else the owner) have turns; a prompt that is
        scored is told as Scored; with draws_none nothing follows it; with scores_drawn scores and likeliest are as Sampler.foretell has them."""
        array, n = ids_of(ids)
        number = ctypes.c_int64()
        request = fill(_c.hn_lm_request, ids=array, n=n, owner=owner, asker=asker, most=most, goes_on=goes_on, scores=scores,
                       likeliest=likeliest, on_token=self._heard[0], on_end=self._heard[1],
                       on_scored=self._heard[2] if scores_prompt else _FIELDS["on_scored"](), draws_none=draws_none, scores_drawn=scores_drawn,
                       sampling=ctypes.pointer(sampling_of(**sampling)) if sampling is not None else None,
                       adapter=ctypes.pointer(ctypes.c_int32(fitting(ctypes.c_int32, adapter, "adapter"))) if adapter is not None else None,
                       grammar=grammar._holds().get() if grammar is not None else None)
        with self.batch._use(), self._use() as scheduler:
            check(c.hn_lm_scheduler_ask(scheduler, request, ctypes.byref(number)))
        self.left += 1
        return number.value

    def cancel(self, number: int) -> None:
        """It ends in the next step."""
        with self._use() as scheduler:
            check(c.hn_lm_scheduler_cancel(scheduler, number))

    def step(self) -> list[Union[Scored, Drawn, Ended]]:
        """One step of all that run: what was scored, what was drawn, and who ended, in their order. `left` is how many have not."""
        handle, of, left = self._holds(), self.batch._holds(), ctypes.c_int64()

        def step() -> None:
            with of.use(), handle.use() as scheduler:
                check(c.hn_lm_scheduler_step(scheduler, ctypes.byref(left)))

        self.batch.model.engine._run(step)
        self.left = left.value
        told = self._events[:]
        del self._events[: len(told)]
        return told

    def forget(self, adapter: Optional[int] = None) -> None:
        """Drops the beginnings that are kept with this adapter, or all."""
        with self.batch._use(), self._use() as scheduler:
            check(c.hn_lm_scheduler_forget(scheduler, None if adapter is None else ctypes.byref(ctypes.c_int32(fitting(ctypes.c_int32, adapter, "adapter")))))

    @property
    def counts(self) -> Record:
        with self._use() as scheduler:
            return Record(found_by(_c.hn_lm_scheduler_counts, lambda *to: c.hn_lm_scheduler_count(scheduler, *to)))

    @property
    def running(self) -> list[Record]:
        """How far each is that runs, in the order in which they came in."""
        with self._use() as scheduler:
            n = found_by(_c.hn_lm_scheduler_counts, lambda *to: c.hn_lm_scheduler_count(scheduler, *to)).running
            return [Record(found_by(_c.hn_lm_scheduler_place, lambda *to, i=i: c.hn_lm_scheduler_running(scheduler, i, *to)))
                    for i in range(n)]
