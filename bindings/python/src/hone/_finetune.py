"""Fine-tuning of a model file: what `hone train` does, in this process."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from . import _c, _call
from ._library import c
from ._object import bytes_of, fill, found_by, text_of
from .engine import Engine
from .errors import check
from .examples import words_of
from .model import Json, settings_of


class Step(NamedTuple):
    step: int
    n_steps: int
    loss: float
    grad_norm: float
    rate: float
    epoch: float
    tokens: int
    supervised: int
    seconds: float
    resident_bytes: int


class Evaluation(NamedTuple):
    step: int
    loss: float
    accuracy: float
    n: int
    is_best: bool


class Result(NamedTuple):
    path: str
    sha256: str
    n_steps: int
    last_loss: float
    verdict: str


class Estimate(NamedTuple):
    n_steps: int
    n_examples: int
    n_trained: int
    n_tensors: int
    micro_tokens: int
    recompute: int
    total_bytes: int
    weights_bytes: int
    workspace_bytes: int
    trained_bytes: int
    evaluation_bytes: int
    step_operations: float


RECORDS = {Step: _c.hn_finetune_step, Evaluation: _c.hn_finetune_evaluation, Result: _c.hn_finetune_result,
           Estimate: _c.hn_finetune_estimate}


def record_of(kind: Any, struct: Any) -> Any:
    values = (getattr(struct, name) for name in kind._fields)
    return kind(*(value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value for value in values))


def telling(on_step: Optional[Callable[[Step], object]], on_evaluation: Optional[Callable[[Evaluation], object]],
            on_saved: Optional[Callable[[str], object]]) -> dict[str, Any]:
    """The callbacks of a run, as fields."""
    return {"on_step": _telling("on_step", on_step, lambda p: record_of(Step, p.contents)),
            "on_evaluation": _telling("on_evaluation", on_evaluation, lambda p: record_of(Evaluation, p.contents)),
            "on_saved": _telling("on_saved", on_saved,
                                 lambda p: ctypes.string_at(p).decode("utf-8", "surrogateescape"))}


def _telling(field: str, call: Optional[Callable[[Any], object]], record: Callable[[Any], Any]) -> Any:
    """A callback of a run, told on the caller's thread."""
    kind = dict(_c.hn_finetune_spec._fields_)[field]
    if not call:
        return kind()

    def told(context: Any, what: Any) -> None:
        value = record(what)

        def tell() -> None:
            call(value)

        _call.current().ask(tell)

    return kind(told)


def _spec(given: Mapping[str, Any]) -> Any:
    values = dict(given)
    values["settings"] = words_of(values["settings"])
    values["variables"] = settings_of(values["variables"])
    for name in ("data", "held", "ignored_fields", "ignored_keys"):
        one = values[name]
        values[name] = [one] if isinstance(one, (str, bytes)) or hasattr(one, "__fspath__") else list(one)
    return fill(_c.hn_finetune_spec, **values)


def finetune(model: Any = None, data: Any = (), out: Any = None, *, engine: Optional[Engine] = None,
             settings: Optional[Mapping[str, Any]] = None, format: Optional[str] = None, loss: Optional[str] = None,
             too_long: Optional[str] = None, template_file: Any = None, template_name: Optional[str] = None,
             max_length: int = 0, variables: Optional[Mapping[str, Json]] = None, plain: bool = False,
             drop_empty: bool = False, allow_unended: bool = False, drop_unread: bool = False,
             ignored_fields: Sequence[str] = (), ignored_keys: Sequence[str] = (), held: Any = (),
             held_fraction: float = 0, resume: bool = False, overwrite: bool = False,
             on_step: Optional[Callable[[Step], object]] = None,
             on_evaluation: Optional[Callable[[Evaluation], object]] = None,
             on_saved: Optional[Callable[[str], object]] = None) -> Result:
    """Trains to the end and writes what was trained. `settings` are the options of `hone train`: {"rank": 8}.

    Ctrl-C, or an exception in a callback, lets the step finish; the run is saved, and resume=True goes on with the
    one in `out` to the same bits."""
    given = {name: value for name, value in locals().items() if name not in ("engine", "on_step", "on_evaluation",
                                                                             "on_saved")}
    spec = _spec({**given, **telling(on_step, on_evaluation, on_saved)})
    on = engine or Engine()
    pointer = on._holds()

    def run() -> Result:
        made: Result = record_of(Result, found_by(_c.hn_finetune_result,
                                                  lambda *to: c.hn_finetune(pointer.get(), spec, *to)))
        return made

    return on._run(run)


def plan(model: Any, data: Any, *, engine: Optional[Engine] = None, settings: Optional[Mapping[str, Any]] = None,
         format: Optional[str] = None, loss: Optional[str] = None, too_long: Optional[str] = None,
         template_file: Any = None, template_name: Optional[str] = None, max_length: int = 0,
         variables: Optional[Mapping[str, Json]] = None, plain: bool = False, drop_empty: bool = False,
         allow_unended: bool = False, drop_unread: bool = False, ignored_fields: Sequence[str] = (),
         ignored_keys: Sequence[str] = (), held: Any = (), held_fraction: float = 0) -> Estimate:
    """What such a run would take: all is opened and checked, nothing is written."""
    spec = _spec({name: value for name, value in locals().items() if name != "engine"})
    on = engine or Engine()
    pointer = on._holds()

    def run() -> Estimate:
        made: Estimate = record_of(Estimate, found_by(_c.hn_finetune_estimate,
                                                      lambda *to: c.hn_finetune_plan(pointer.get(), spec, *to)))
        return made

    return on._run(run)


def report(folder: Any, *, engine: Optional[Engine] = None) -> str:
    """One page of a run's folder, also of one that has not ended: its name."""
    on, name = Engine() if engine is None else engine, bytes_of(folder)
    pointer = on._holds()
    return on._run(lambda: text_of(lambda *to: c.hn_finetune_report(pointer.get(), name, *to)).decode())


def told(path: Any, *, engine: Optional[Engine] = None) -> list[tuple[str, Any]]:
    """What a run is told: of a file like run.toml, or of a run's folder. An array is a pair for each of its values."""
    on, name, found = Engine() if engine is None else engine, bytes_of(path), ctypes.POINTER(_c.hn_finetune_file)()
    values = {_c.hn_finetune_value.TRUE: True, _c.hn_finetune_value.FALSE: False, _c.hn_finetune_value.NONE: None}
    opens = c.hn_finetune_file_of_run if os.path.isdir(name) else c.hn_finetune_file_open
    lines: list[tuple[str, Any]] = []
    with on._share() as pointer:
        check(opens(ctypes.byref(found), pointer, name))
        try:
            while line := c.hn_finetune_file_line(found, len(lines)):
                one = line.contents
                is_text = one.value == _c.hn_finetune_value.TEXT
                lines.append((one.key.decode(), one.text.decode() if is_text else values[one.value]))
        finally:
            c.hn_finetune_file_close(found)
    return lines
