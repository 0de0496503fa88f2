"""Objects of libhone, freed once, after all that is made on them, whatever goes first."""
from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from typing import Any, Callable, ContextManager, Iterator, Mapping, Optional, TypeVar

from ._library import c
from ._number import fitting
from .errors import Busy, Closed, Status, check

T = TypeVar("T")
S = TypeVar("S", bound="Object")


class Handle:
    """A pointer, and who needs it. When nobody does any more it is freed, and lets its parent go. What a call
    needs is this and not the object around it, so that an object is garbage though its call goes on.

    The garbage collector ends what lies in a cycle in any order, and at any line of this: so there are no
    counts here, only sets and lists, which change in one step."""

    def __init__(self, name: str, pointer: Any, free: Callable[[Any], None], parent: Optional["Handle"]) -> None:
        self.name = name
        self.parent = parent
        self._free = free
        self._users: set[object] = {self}
        if parent:
            parent.hold(self)
        self._pointer = [pointer]
        self._turn = threading.Lock()

    @property
    def is_closed(self) -> bool:
        return self not in self._users

    def hold(self, who: object) -> None:
        self._users.add(who)

    def let_go(self, who: object) -> None:
        self._users.discard(who)
        if self._users:
            return
        try:
            pointer = self._pointer.pop()
        except IndexError:
            return
        self._free(pointer)
        if self.parent:
            self.parent.let_go(self)

    def get(self) -> Any:
        return self._pointer[0]

    def check(self) -> "Handle":
        if self.is_closed:
            raise Closed(Status.ERR_ARGUMENT, f"{self.name}: it was closed")
        return self

    @contextmanager
    def share(self) -> Iterator[Any]:
        """The pointer, which other threads may use as well."""
        key = Key()
        try:
            self.hold(key)
            self.check()
            yield self.get()
        finally:
            self.let_go(key)

    @contextmanager
    def use(self) -> Iterator[Any]:
        """The pointer, to be used by this thread alone."""
        with self.share() as pointer:
            if not self._turn.acquire(blocking=False):
                raise Busy(Status.ERR_BUSY, f"{self.name}: used by another call or object at this moment")
            try:
                yield pointer
            finally:
                self._turn.release()


    def take(self) -> "Turn":
        """For what is made on it and uses it as long as it is there: until then all else is Busy."""
        self.check()
        if not self._turn.acquire(blocking=False):
            raise Busy(Status.ERR_BUSY, f"{self.name}: used by another call or object at this moment")
        return Turn(self._turn)


class Turn:
    """A handle's, given back once."""

    def __init__(self, lock: threading.Lock) -> None:
        self._locks = [lock]

    def give_back(self) -> None:
        try:
            lock = self._locks.pop()
        except IndexError:
            return
        lock.release()


class Key:
    """One use of a handle. Handles compare these by what they are."""


class Single:
    """What there is one of: a copy would end, with itself, what the other goes on using."""

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"{type(self).__name__}: expected no copy of it, and no pickle: it is memory of this process")


class Object(Single):
    """What is closed by close(), by the end of a `with`, or when nothing refers to it. Used by one thread at a
    time, and not by what its own calls call back: that is Busy."""

    _handle: Handle

    def _make(self, new: Callable[[Any], int], kind: Any, free: Callable[[Any], None], parent: Optional[Handle],
              run: Callable[[Callable[[], Handle]], Handle] = lambda make: make(),
              also: Optional[Handle] = None) -> None:
        """new(out) makes it; `run` is an engine's where that takes long; `also` is what it needs beside its parent."""
        name, key = type(self).__name__, Key()

        def freed(pointer: Any) -> None:
            free(pointer)
            if also:
                also.let_go(key)

        def make() -> Handle:
            pointer = ctypes.POINTER(kind)()
            check(new(ctypes.byref(pointer)))
            return Handle(name, pointer, freed, parent)

        if also:
            also.hold(key)
        try:
            self._handle = run(make)
        finally:
            if also and not hasattr(self, "_handle"):
                also.let_go(key)

    def close(self) -> None:
        """Frees it when nothing that is made on it, and no view of its memory, is left. Twice is once."""
        if hasattr(self, "_handle"):
            self._handle.let_go(self._handle)

    @property
    def closed(self) -> bool:
        return self._handle.is_closed

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _holds(self) -> Handle:
        """For what is made on it."""
        return self._handle.check()

    def _use(self) -> ContextManager[Any]:
        return self._handle.use()

    def _share(self) -> ContextManager[Any]:
        return self._handle.share()


def text_of(call: Callable[[Any, int, Any], int]) -> bytes:
    """What call(to, room, bytes) gives: measured, then taken."""
    size = ctypes.c_size_t()
    check(call(None, 0, ctypes.byref(size)))
    to = ctypes.create_string_buffer(size.value + 1)
    check(call(to, size.value + 1, ctypes.byref(size)))
    return to.raw[: size.value]


def found_by(struct: Any, call: Callable[[Any, int], int]) -> Any:
    """A struct of the headers that call(to, size) fills."""
    made = struct()
    check(call(ctypes.byref(made), ctypes.sizeof(made)))
    return made


def fill(struct: Any, **values: Any) -> Any:
    """A struct of the headers by the names of its fields: texts, paths, truths, lists of texts with their count.
    None is what the header says of zero."""
    if struct._fields_[0][0] == "size":
        values["size"] = ctypes.sizeof(struct)
    made = struct()
    put(made, values)
    return made


def put(made: Any, values: Mapping[str, Any]) -> None:
    """Values into a struct's fields. ctypes would take a name that is none of them, and do nothing with it."""
    kinds = dict(made._fields_)
    for name, value in values.items():
        if name not in kinds:
            raise TypeError(f"{name}: expected a field of {type(made).__name__}")
        if value is None:
            continue
        if isinstance(value, (list, tuple)) and f"n_{name}" in kinds and kinds[name] is ctypes.POINTER(ctypes.c_char_p):
            setattr(made, f"n_{name}", len(value))
            value = (ctypes.c_char_p * len(value))(*map(bytes_of, value))
        elif kinds[name] is ctypes.c_char_p:
            value = bytes_of(value)
        setattr(made, name, fitting(kinds[name], value, name))


def given_of(struct: Any, options: dict[str, Any]) -> Any:
    """Options by the names that the headers give them."""
    known = {name for name, _ in struct._fields_ if name != "size" and not name.startswith("n_")}
    for name in options:
        if name not in known:
            raise TypeError(f"{name}: expected a field of {struct.__name__}")
    return fill(struct, **options)


def bytes_of(text: Any) -> bytes:
    """A text or a path, as libhone has them: in UTF-8, without NULs."""
    import os

    data = text if isinstance(text, bytes) else os.fspath(text)
    data = data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("a text that ends at a NUL")
    return data
