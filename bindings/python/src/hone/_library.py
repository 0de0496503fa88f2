"""The shared library, as the headers declare it."""
from __future__ import annotations

import ctypes
import os
import sys
from types import SimpleNamespace
from typing import Any

from . import _c
from ._number import checked


def _load() -> Any:
    name = "libhone.dylib" if sys.platform == "darwin" else "libhone.so"
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), name))
    found = SimpleNamespace()
    for function, (result, kinds) in _c.FUNCTIONS.items():
        call = getattr(library, function)
        call.restype, call.argtypes = result, [checked(kind) for kind in kinds]
        setattr(found, function, call)
    return found


c: Any = _load()
