"""What goes wrong: libhone's status and its sentence."""
from __future__ import annotations

from . import _c, _library

Status = _c.hn_status


class Error(Exception):
    """A call that failed: `status` says what to do about it, `sentence` what it is about."""

    def __init__(self, status: Status, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.status, self.sentence)


class Cancelled(Error):
    """Stopped by Engine.cancel."""


class Busy(Error):
    """The object is used at this moment, by another thread or by the call that this one is made from."""


class Closed(Error):
    """The object was closed."""


KINDS = {Status.ERR_CANCELLED: Cancelled, Status.ERR_BUSY: Busy}


def last(status: int) -> Error:
    """Of this thread's last call."""
    kind = Status(status)
    sentence = _library.c.hn_error_message().decode("utf-8", "replace")
    return KINDS.get(kind, Error)(kind, sentence or str(_library.c.hn_status_text(status), "utf-8"))


def check(status: int) -> None:
    if status:
        raise last(status)
