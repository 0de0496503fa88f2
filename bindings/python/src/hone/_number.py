"""Numbers as the headers' kinds have them. ctypes itself cuts off what does not fit: 2**32 + 1 would be id 1."""
from __future__ import annotations

import ctypes
import math
from typing import Any, Iterable

WHOLE: tuple[Any, ...] = (ctypes.c_int8, ctypes.c_uint8, ctypes.c_int16, ctypes.c_uint16, ctypes.c_int32, ctypes.c_uint32,
                          ctypes.c_int64, ctypes.c_uint64)


def is_whole(kind: Any) -> bool:
    return kind in WHOLE  # of which the others, as c_int and c_size_t, are further names


def fitting(kind: Any, value: Any, name: str = "") -> Any:
    """The value, if the kind has it."""
    said = f"{name} {value}" if name else f"{value}"
    if is_whole(kind) and isinstance(value, int):
        bits = 8 * ctypes.sizeof(kind)
        low, high = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if kind(-1).value < 0 else (0, (1 << bits) - 1)
        if not low <= value <= high:
            raise OverflowError(f"{said}: expected {low} to {high}")
    if kind is ctypes.c_float and isinstance(value, (int, float)) and math.isfinite(value):
        given = kind(value).value
        if math.isinf(given) or (given == 0) != (value == 0):
            raise OverflowError(f"{said}: expected a number that f32 has")
    return value


def array_of(kind: Any, values: Iterable[Any]) -> Any:
    listed = [fitting(kind, value) for value in values]
    return (kind * len(listed))(*listed)


def checked(kind: Any) -> Any:
    """The kind of an argument, which refuses what does not fit."""
    if not is_whole(kind) and kind is not ctypes.c_float:
        return kind

    def from_param(cls: Any, value: Any) -> Any:
        return kind.from_param(fitting(kind, value))

    return type("Checked", (kind,), {"from_param": classmethod(from_param)})
