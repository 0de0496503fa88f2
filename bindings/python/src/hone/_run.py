"""A run of fine-tuning step by step: planned, taken up again, trained, finished, reported on."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional

from . import _c
from ._finetune import Evaluation, Result, Step, record_of, telling
from ._library import c
from ._object import Object, fill, found_by
from ._record import Record
from .errors import check
from .examples import Examples, Settings, words_of


class Run(Object):
    """On examples that are open, which nothing else uses until it is closed. Without `out` it is planned, and no more.

        run = hone.Run(hone.Examples(model, data), "run", settings={"rank": 8})
        run.layout.estimate.total_bytes
        run.go()
        run.finish().path

    Ctrl-C, or an exception in a callback, lets the step of go() finish; the run is saved, and another Run of the same
    folder goes on after resume(), to the same bits."""

    def __init__(self, examples: Examples, out: Any = None, *, settings: Optional[Settings] = None, overwrite: bool = False,
                 samples: int = 0, command: Optional[str] = None, on_step: Optional[Callable[[Step], object]] = None,
                 on_evaluation: Optional[Callable[[Evaluation], object]] = None,
                 on_saved: Optional[Callable[[str], object]] = None) -> None:
        options = fill(_c.hn_finetune_run_options, settings=words_of(settings), out=out, overwrite=overwrite,
                       samples=samples, command=command, **telling(on_step, on_evaluation, on_saved))
        self.examples = examples
        parent = examples._holds()
        turn = parent.take()

        def free(pointer: Any) -> None:
            c.hn_finetune_run_free(pointer)
            turn.give_back()
            options  # whose callbacks are the library's until here

        try:
            self._make(lambda out: c.hn_finetune_run_new(out, parent.get(), options), _c.hn_finetune_run, free, parent,
                       examples.engine._run)
        finally:
            if not hasattr(self, "_handle"):
                turn.give_back()

    @property
    def layout(self) -> Record:
        """What it would take, and what it would train."""
        with self._use() as run:
            return Record(c.hn_finetune_run_get_layout(run).contents)

    def resume(self) -> int:
        """Takes up the run in the folder: the last step that was saved; 0: none was, and it begins."""
        step, handle = ctypes.c_int64(), self._holds()

        def resume() -> int:
            with handle.use() as run:
                check(c.hn_finetune_run_resume(run, ctypes.byref(step), None))
            return step.value

        return self.examples.engine._run(resume)

    def go(self) -> None:
        """Trains to the end."""
        handle = self._holds()

        def go() -> None:
            with handle.use() as run:
                check(c.hn_finetune_run_go(run))

        self.examples.engine._run(go)

    def finish(self) -> Result:
        """Writes what was trained, and tries it."""
        made: Result = record_of(Result, self._give(_c.hn_finetune_result, c.hn_finetune_run_finish))
        return made

    def report(self) -> Record:
        """After finish(): makes the samples and the page of the run, whose name it gives."""
        return Record(self._give(_c.hn_finetune_page, c.hn_finetune_run_report))

    def _give(self, kind: Any, call: Any) -> Any:
        handle = self._holds()

        def give() -> Any:
            with handle.use() as run:
                return found_by(kind, lambda *to: call(run, *to))

        return self.examples.engine._run(give)
