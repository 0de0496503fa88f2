"""What running and training a model would compute and take, before any of it is asked for."""
from __future__ import annotations

import ctypes
from typing import Any, Iterator, NamedTuple

from . import _c
from ._library import c
from ._object import Object, given_of, found_by, text_of
from ._record import Record
from .model import Model


class Planned(NamedTuple):
    """A token, a prompt, a training step or a text: of the whole, on each device, and by each op, those first that
    compute most. The fields are those of hn_lm_planned, hn_lm_planned_device and hn_lm_planned_op (hone/plan.h)."""

    sum: Record
    devices: list[Record]
    ops: list[Record]


class Plan(Object):
    """Plans of what a model can do, one after another. The options are hn_lm_plan_options' (hone/plan.h)."""

    def __init__(self, model: Model, **options: Any) -> None:
        given, parent, self._engine = given_of(_c.hn_lm_plan_options, options), model._holds(), model.engine
        self._make(lambda out: c.hn_lm_plan_new(out, parent.get(), given), _c.hn_lm_plan, c.hn_lm_plan_free, parent,
                   model.engine._run)

    @property
    def refused(self) -> str:
        """Why training is not among them: "" if it is, or was not asked for."""
        with self._use() as plan:
            return str(c.hn_lm_plan_refused(plan), "utf-8", "replace")

    @property
    def model(self) -> Record:
        with self._use() as plan:
            return Record(found_by(_c.hn_lm_planned_model, lambda *to: c.hn_lm_plan_model(plan, *to)))

    def __len__(self) -> int:
        with self._use() as plan:
            return int(c.hn_lm_plan_count(plan))

    def __getitem__(self, i: int) -> Planned:
        with self._use() as plan:
            i = self._index(plan, i)
            sum = Record(found_by(_c.hn_lm_planned, lambda *to: c.hn_lm_plan_at(plan, i, *to)))
            devices = [Record(found_by(_c.hn_lm_planned_device, lambda *to: c.hn_lm_plan_device(plan, i, k, *to)))
                       for k in range(sum.n_devices)]
            ops = [Record(found_by(_c.hn_lm_planned_op, lambda *to: c.hn_lm_plan_op(plan, i, k, *to)))
                   for k in range(sum.n_ops)]
            return Planned(sum, devices, ops)

    def __iter__(self) -> Iterator[Planned]:
        return (self[i] for i in range(len(self)))

    def steps(self, i: int) -> str:
        """Every step with its types, places and what it takes over."""
        return self._text(c.hn_lm_plan_steps, i)

    def svg(self, i: int) -> str:
        """A picture of its memory: bytes against time, a box a tensor."""
        return self._text(c.hn_lm_plan_svg, i)

    def _text(self, call: Any, i: int) -> str:
        handle = self._holds()

        def run() -> str:
            with handle.use() as plan:
                at = self._index(plan, i)
                return text_of(lambda *to: call(plan, at, *to)).decode("utf-8", "replace")

        return self._engine._run(run)

    @staticmethod
    def _index(plan: Any, i: int) -> int:
        n = int(c.hn_lm_plan_count(plan))
        if not -n <= i < n:
            raise IndexError(i)
        return i % n
