"""What hone knows: architectures and their keys, devices and what they have kernels for, the words of options."""
from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any, Optional

from . import _c
from ._library import c
from ._object import bytes_of, found_by, text_of
from ._record import Record
from .engine import Engine
from .errors import check


def archs() -> list[Record]:
    return [Record(found_by(_c.hn_lm_arch, lambda *to: c.hn_lm_arch_at(i, *to))) for i in range(c.hn_lm_archs())]


def arch(name: str) -> Record:
    return Record(found_by(_c.hn_lm_arch, lambda *to: c.hn_lm_arch_named(bytes_of(name), *to)))


def arch_keys(name: str) -> list[Record]:
    """Every key of its files that hone knows, and what becomes of it."""
    found: list[Record] = []

    def told(context: Any, key: Any) -> None:
        found.append(Record(key.contents))

    check(c.hn_lm_arch_keys(bytes_of(name), _c.FUNCTIONS["hn_lm_arch_keys"][1][1](told), None))
    return found


def levels() -> list[str]:
    """This processor's levels of instructions."""
    return _all(c.hn_engine_level)


def devices(engine: Optional[Engine] = None) -> list[tuple[str, str]]:
    """Name, and what it is in words."""
    on = Engine() if engine is None else engine
    with on._share() as pointer:
        names = _all(lambda i: c.hn_engine_device(pointer, i))
        return [(name, text_of(lambda *to: c.hn_engine_device_about(pointer, i, *to)).decode())
                for i, name in enumerate(names)]


def device_ops(engine: Optional[Engine] = None, device: int = 0) -> list[Record]:
    """The types that a device has kernels for, and has not, of each op."""
    on = Engine() if engine is None else engine
    with on._share() as pointer:
        return [Record(found_by(_c.hn_device_op, lambda *to: c.hn_device_op_at(pointer, device, i, *to)))
                for i in range(c.hn_device_ops())]


def call_families() -> list[str]:
    """Families of models that write calls of tools alike."""
    return _all(c.hn_lm_call_family)


def file_kinds() -> list[str]:
    """Kinds of files that examples are read from."""
    return _all(c.hn_examples_file_kind)


def recipes() -> list[str]:
    """Which type each weight gets: what hone.quantize takes."""
    return _all(c.hn_lm_recipe)


def choices() -> dict[str, list[str]]:
    """The words of each option that takes one of some, in the order of their numbers, by the name of their enumeration in the
    headers: "hn_lm_cache"."""
    found: dict[str, list[str]] = {}
    for name in _c.FUNCTIONS:
        kind = getattr(_c, name[: -len("_named")], None) if name.endswith("_named") else None
        if isinstance(kind, type) and issubclass(kind, IntEnum):
            found[kind.__name__] = [getattr(c, f"{kind.__name__}_name")(number).decode() for number in kind]
    return found


def choice_number(kind: str, word: Optional[str]) -> int:
    """The number of one of these words; None is the default, where there is one."""
    number = ctypes.c_int()
    check(getattr(c, f"{kind}_named")(None if word is None else bytes_of(word), ctypes.byref(number)))
    return number.value


def _all(get: Any) -> list[str]:
    found: list[str] = []
    while (name := get(len(found))) is not None:
        found.append(name.decode())
    return found


__all__ = ["arch", "arch_keys", "archs", "call_families", "choice_number", "choices", "device_ops", "devices", "file_kinds",
           "levels", "recipes"]
