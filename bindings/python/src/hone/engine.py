"""What everything else is made on: memory, devices, cancellation, progress."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, NamedTuple, Optional, TypeVar

from . import _c, _call
from ._library import c
from ._object import Handle, Key, Object, fill
from .errors import check

T = TypeVar("T")
Progress = Callable[[float], object]
Work = Callable[[float, str], object]


class Memory(NamedTuple):
    """Bytes on the heap now, at most so far, and allocations so far."""

    live: int
    peak: int
    allocations: int


def _on_progress(context: Any, done: float) -> None:
    call = _call.current()

    def tell() -> None:
        if call.progress:
            call.progress(done)

    call.ask(tell)


def _on_work(context: Any, done: float, what: int) -> None:
    call = _call.current()
    name = ctypes.string_at(what).decode("utf-8", "replace") if what else ""

    def tell() -> None:
        if call.work:
            call.work(done, name)

    call.ask(tell)


_ON_PROGRESS, _ON_WORK = _c.hn_progress_fn(_on_progress), _c.hn_work_fn(_on_work)


class Engine(Object):
    """Engines share nothing. What is made on one holds it: closing it first is allowed.

    `devices` is a list, "cpu"; what lies where of a model is said by `experts`, `fit` and `stream` (hone/engine.h). With
    `leaves_process` it sets no handler of signals and asks nothing of the system.

    Calls that take long run on a thread of their own: Ctrl-C, and whatever else a handler of signals raises, ends
    that call alone, and comes out of it."""

    def __init__(self, *, devices: Optional[str] = None, isa: Optional[str] = None, memory_limit: int = 0,
                 threads: int = 0, experts: Optional[str] = None, fit: bool = False, stream: bool = False,
                 leaves_process: bool = False) -> None:
        self._progress: Optional[Progress] = None
        self._work: Optional[Work] = None
        options = fill(_c.hn_engine_options, devices=devices, isa=isa, memory_limit=memory_limit, n_threads=threads,
                       experts=experts, fit=fit, stream=stream, leaves_process=leaves_process)
        self._make(lambda out: c.hn_engine_new(out, options), _c.hn_engine, c.hn_engine_free, None)

    def cancel(self) -> None:
        """Ends what runs on the engine, from any thread, and what is begun until resume(): in Cancelled."""
        with self._share() as pointer:
            c.hn_engine_cancel(pointer)

    def resume(self) -> None:
        with self._share() as pointer:
            c.hn_engine_resume(pointer)

    def on_progress(self, call: Optional[Progress]) -> None:
        """Told the share done, between steps of long calls, on the thread that makes them. Set while none runs."""
        with self._share() as pointer:
            self._progress = call
            c.hn_engine_on_progress(pointer, _ON_PROGRESS if call else _c.hn_progress_fn(), None)

    def on_work(self, call: Optional[Work]) -> None:
        """Told the share done of work on files and texts, and what is at hand. Set while none runs."""
        with self._share() as pointer:
            self._work = call
            c.hn_engine_on_work(pointer, _ON_WORK if call else _c.hn_work_fn(), None)

    @property
    def memory(self) -> Memory:
        numbers = [ctypes.c_int64() for _ in range(3)]
        with self._share() as pointer:
            c.hn_engine_memory(pointer, *map(ctypes.byref, numbers))
        return Memory(*(number.value for number in numbers))

    def fail_allocation(self, nth: int) -> None:
        """For tests: allocation number `nth` from now fails; 0 ends it."""
        with self._share() as pointer:
            c.hn_engine_fail_allocation(pointer, nth)

    def cancel_at(self, nth: int) -> int:
        """For tests: look number `nth` from now at whether to stop, and each after it, finds cancel() said; 0 ends it. What is
        left of the number that was said before: 1 if that look was made."""
        with self._share() as pointer:
            return int(c.hn_engine_cancel_at(pointer, nth))

    def _begin(self, function: Callable[[], T]) -> _call.Call:
        """A long call, of this engine or of what is made on it, which may be used when this is closed."""
        handle, told = self._handle, (self._progress, self._work)
        cancel = ctypes.POINTER(_c.hn_cancel)()
        key = Key()
        handle.hold(key)
        try:
            check(c.hn_cancel_new(ctypes.byref(cancel), handle.get()))
        except BaseException:
            handle.let_go(key)
            raise
        stop = Handle("a call", cancel, c.hn_cancel_free, handle)
        handle.let_go(key)

        def heeding() -> T:
            with stop.share() as own:
                c.hn_cancel_heed(own)
                try:
                    return function()
                finally:
                    c.hn_cancel_heed(None)

        return _call.Call(heeding, stop, *told)

    def _run(self, function: Callable[[], T]) -> T:
        result: T = self._begin(function).end()
        return result
