"""Certificates: of a model and its data, and of this build on this machine."""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import _c, _call
from ._library import c
from ._object import Object, bytes_of, given_of, text_of
from ._record import Record
from .engine import Engine
from .errors import Error, Status, check, last
from .examples import Examples

Check = Callable[[Record], object]


class Certificate(Object):
    """What was checked, and what came of it: `sum`, and a row for each kind of check of each subject. The fields are those of
    hn_certificate_sum and hn_certificate_row (hone/prove.h)."""

    def __init__(self, engine: Engine, prove: Callable[[Any], int]) -> None:
        failed: list[Error] = []

        def new(out: Any) -> int:
            status = prove(out)
            if status == Status.ERR_PROOF:
                failed.append(last(status))
                return 0  # it is there, and says what did not hold
            return status

        parent = engine._holds()
        self._make(new, _c.hn_certificate, c.hn_certificate_free, parent, engine._run)
        with self._share() as pointer:
            self.sum = Record(c.hn_certificate_get_sum(pointer).contents)
            self.rows = [Record(c.hn_certificate_get_row(pointer, i).contents) for i in range(self.sum.n_rows)]
        if failed:
            told = ProofError(failed[0].status, failed[0].sentence)
            told.certificate = self
            raise told

    @property
    def table(self) -> str:
        """As `hone prove` prints it."""
        with self._share() as pointer:
            return text_of(lambda *to: c.hn_certificate_table(pointer, *to)).decode("utf-8", "replace")

    @property
    def json(self) -> str:
        """As `hone prove --json` writes it."""
        with self._share() as pointer:
            return text_of(lambda *to: c.hn_certificate_json(pointer, *to)).decode("utf-8", "replace")

    def write(self, path: Any, *, overwrite: bool = False) -> None:
        with self._share() as pointer:
            check(c.hn_certificate_write(pointer, bytes_of(path), overwrite))


class ProofError(Error):
    """A check did not hold, or was due and could not be made: `certificate` says which."""

    certificate: Certificate


def prove(examples: Optional[Examples] = None, *, engine: Optional[Engine] = None, on_check: Optional[Check] = None,
          threads: int = 0, **options: Any) -> Certificate:
    """Of the model of examples, or without them of this build. The options are hn_examples_prove_options', or
    hn_engine_prove_options' (hone/prove.h), `threads` their n_threads. `on_check` is told of each check."""
    struct = _c.hn_engine_prove_options if examples is None else _c.hn_examples_prove_options
    if examples is not None and engine is not None:
        raise TypeError("engine: expected none beside examples, which have one")
    given = given_of(struct, options)
    given.n_threads = threads

    def told(context: Any, one: Any) -> None:
        found = Record(one.contents)

        def tell() -> None:
            if on_check:
                on_check(found)

        _call.current().ask(tell)

    if on_check:
        given.on_check = dict(struct._fields_)["on_check"](told)
    if examples is None:
        on = Engine() if engine is None else engine
        handle = on._holds()
        return Certificate(on, lambda out: c.hn_engine_prove(handle.get(), given, out))
    of = examples._holds()

    def prove_examples(out: Any) -> int:
        with of.use() as pointer:
            return int(c.hn_examples_prove(pointer, given, out))

    return Certificate(examples.engine, prove_examples)
