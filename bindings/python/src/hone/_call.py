"""Long calls: on a thread of their own, so that the caller's is free for signals.

    the caller's thread                         a worker
    Call.advance: waits, runs callbacks   <-    libhone, which calls back
                  Ctrl-C: hn_cancel_set   ->    ends in HN_ERR_CANCELLED

A callback runs on the caller's thread while the worker waits for it: it may raise, and what it raises comes
out of the call, after libhone has stopped. An interrupt may come between any two lines of advance(): so it
acts on what the state is, which each line leaves whole, and not on what it did last."""
from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
import weakref
from typing import Any, Callable, Optional

from ._library import c
from ._object import Handle

_idle: list["_Worker"] = []
_here = threading.local()
_open: "weakref.WeakSet[Call]" = weakref.WeakSet()

ANSWER_SECONDS = 0.05  # how long an answer that an interrupt lost may take to be seen


class _Worker(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="hone", daemon=True)
        self.inbox: "queue.SimpleQueue[Call]" = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            call = self.inbox.get()
            call.run()
            del call  # what it holds is not held until the next
            _idle.append(self)


def _worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


class Call:
    """`function` on a worker; `stop` is the handle of the hn_cancel that it heeds."""

    def __init__(self, function: Callable[[], Any], stop: Handle, progress: Optional[Callable[[float], object]],
                 work: Optional[Callable[[float, str], object]]) -> None:
        self.progress, self.work = progress, work
        self._ticket = [function]
        self._stop = stop
        self._wake: "queue.SimpleQueue[None]" = queue.SimpleQueue()
        self._answers: "queue.SimpleQueue[None]" = queue.SimpleQueue()
        self._asked = False
        self._question: list[Callable[[], Any]] = []
        self._result: Any = None
        self._error: Optional[BaseException] = None
        self.failure: Optional[BaseException] = None  # on the caller's side: comes out of the call
        self.is_begun = self.is_done = self.is_abandoned = self._is_stopped = False
        _open.add(self)

    # ---- on the worker ----

    def run(self) -> None:
        try:
            function = self._ticket.pop()
        except IndexError:
            return  # begun twice: an interrupt came between
        _here.call = self
        try:
            self._result = function()
        except BaseException as error:
            self._error = error
        del function
        _here.call = None
        self.is_done = True
        self._wake.put(None)

    def ask(self, question: Callable[[], Any]) -> None:
        """Has it run on the caller's thread. After a failure there nothing is run any more."""
        if self.failure is not None:
            return
        self._question.append(question)
        self._asked = True
        self._wake.put(None)
        while self._asked:
            try:
                self._answers.get(timeout=ANSWER_SECONDS)
            except queue.Empty:
                pass

    # ---- on the caller's thread ----

    def advance(self) -> Any:
        """Until a callback returns something, which it is, or to the end: None."""
        while not self.is_done:
            try:
                if self.failure is not None and not self._is_stopped:
                    with self._stop.share() as cancel:
                        c.hn_cancel_set(cancel)
                    self._is_stopped = True
                if not self.is_begun:
                    _worker().inbox.put(self)
                    self.is_begun = True
                elif not self._asked:
                    self._wake.get()
                elif self._question:
                    given = self._question.pop()()
                    if given is not None:
                        return given
                else:
                    self._asked = False
                    self._answers.put(None)
            except BaseException as error:  # where another interrupt finds nothing to come between
                self.failure = self.failure or error
        return None

    def end(self) -> Any:
        """What the function returned, or what came of it."""
        while self.advance() is not None:
            pass
        self._finish()
        failure = self.failure or self._error
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # a traceback that holds itself would hold all that is in it
        return self._result

    def abandon(self) -> None:
        """To the end, soon, whatever comes of it."""
        self.is_abandoned = True
        if not self.is_done and not sys.is_finalizing():
            self.failure = self.failure or GeneratorExit()
            while self.advance() is not None:
                pass
        self._finish()

    def __del__(self) -> None:
        self._stop.let_go(self._stop)  # an interrupt may have come before _finish

    def _finish(self) -> None:
        _open.discard(self)
        self._stop.let_go(self._stop)


def current() -> Call:
    """That this thread runs, in a callback."""
    call: Call = _here.call
    return call


@atexit.register
def _stop_all() -> None:
    for call in list(_open):
        call.abandon()


def _forget() -> None:
    """A child of fork has no thread but the one that made it."""
    _idle.clear()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
