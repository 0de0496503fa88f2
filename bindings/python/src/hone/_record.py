"""Structs that libhone fills, as values: by the fields that the headers give them."""
from __future__ import annotations

import ctypes
from typing import Any


class Record:
    """The fields of a struct of the headers, by name: texts, numbers, other records; None for NULL. rank and dim are `shape`."""

    def __init__(self, struct: Any) -> None:
        names = names_of(struct)
        if "rank" in names and "dim" in names:
            names = [name for name in names if name not in ("rank", "dim")]
            self.__dict__["shape"] = tuple(struct.dim[: struct.rank])
        for name in names:
            self.__dict__[name] = value_of(getattr(struct, name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no field {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a record of what was found is not changed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return "Record(" + ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items()) + ")"


def names_of(struct: Any) -> list[str]:
    return [name for name, _ in struct._fields_]


def value_of(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, ctypes.Structure):
        return Record(value)
    if isinstance(value, ctypes.Array):
        return list(value)
    if isinstance(value, ctypes.POINTER(ctypes.c_char_p)):  # a list that NULL ends
        found: list[str] = []
        while value and value[len(found)] is not None:
            found.append(value_of(value[len(found)]))
        return found
    if hasattr(value, "contents"):
        return value_of(value.contents) if value else None
    return value
