"""A sequence on a model, what it says comes next, and which token that is."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, Mapping, Optional

from . import _c
from ._library import c
from ._number import fitting
from ._object import Handle, Key, Object, bytes_of, fill, given_of, put
from .errors import check
from .grammar import Grammar
from .model import Model, ids_of


def session_options(**given: Any) -> Any:
    return given_of(_c.hn_lm_session_options, given)


class Session(Object):
    """Feeding, cutting back and feeding again gives the bits of running the sequence at once. `draft`, {} or fields of
    hn_lm_draft_options (hone/draft.h): what comes next is guessed, and computed where that is as good as free."""

    def __init__(self, model: Model, *, context: int = 0, batch: int = 0, cache: Optional[str] = None,
                 keeps_all: bool = False, mapped: bool = False, draft: Optional[Mapping[str, Any]] = None,
                 keeps_state: bool = False) -> None:
        from .draft import draft_options

        self.model, self._vocabulary, self._width = model, model.vocabulary, model.width
        given, also = (None, None) if draft is None else draft_options(draft)
        options = session_options(context=context, batch=batch, cache=cache, keeps_all=keeps_all, mapped=mapped,
                                  keeps_state=keeps_state)
        parent = model._holds()

        def new(out: Any) -> int:
            if given is None:
                return int(c.hn_lm_session_new(out, parent.get(), options))
            return int(c.hn_lm_session_new_drafting(out, parent.get(), options, given))

        self._make(new, _c.hn_lm_session, c.hn_lm_session_free, parent, model.engine._run, also=also)

    @property
    def drafted(self) -> tuple[int, int]:
        """Guesses that were right so far, and that were not."""
        from .draft import drafted

        with self._use() as session:
            return drafted(c.hn_lm_session_drafted, session)

    def _long(self, call: Any) -> None:
        handle = self._holds()

        def run() -> None:
            with handle.use() as session:
                check(call(session))

        self.model.engine._run(run)

    def feed(self, ids: Iterable[int] = ()) -> None:
        """Adds ids and computes them; without any, what is not computed yet, after a trim or a load."""
        array, n = ids_of(ids)
        self._long(lambda session: c.hn_lm_session_feed(session, array, n))

    @property
    def logits(self) -> memoryview[float]:
        """Of the token after the last: a view of the session's own memory, of floats; numpy.asarray takes it as it
        is. Its numbers are these until the session is fed, trimmed or loaded; its memory is there as long as
        the view, close() or not."""
        with self._use() as session:
            found = c.hn_lm_session_logits(session)
            if not found:
                raise ValueError("no logits: the last that changed the session was not a feed that did well")
            return _view(found, self._vocabulary, self._holds())

    @property
    def state(self) -> memoryview[float]:
        """Of the last token, after the model's last norm, with keeps_state: what an Embedder that pools by "lasttoken"
        gives of the same ids. A view, as `logits` is."""
        with self._use() as session:
            found = c.hn_lm_session_state(session)
            if not found:
                raise ValueError("no state: without keeps_state, or what last changed the session was not a feed that did well")
            return _view(found, self._width, self._holds())

    @property
    def ids(self) -> list[int]:
        n = ctypes.c_size_t()
        with self._use() as session:
            found = c.hn_lm_session_ids(session, ctypes.byref(n))
            return list(found[: n.value])

    def __len__(self) -> int:
        with self._use() as session:
            return int(c.hn_lm_session_length(session))

    @property
    def context(self) -> int:
        with self._use() as session:
            return int(c.hn_lm_session_context(session))

    def trim(self, length: int) -> None:
        """Cuts the sequence back to its first `length` ids."""
        if length < 0:
            raise ValueError(f"trim to {length} ids")
        with self._use() as session:
            check(c.hn_lm_session_trim(session, length))

    def score(self, ids: Iterable[int]) -> list[float]:
        """Feeds ids; of each the logarithm of its probability after those before it, in nats."""
        array, n = ids_of(ids)
        out = (ctypes.c_double * n)()
        self._long(lambda session: c.hn_lm_session_score(session, array, n, out))
        return list(out)

    def foretell(self, token: int) -> float:
        """The same of one id that may come next, and is not fed."""
        out = ctypes.c_double()
        with self._use() as session:
            check(c.hn_lm_session_foretell(session, token, ctypes.byref(out)))
        return out.value

    def likeliest(self, n: int) -> list[tuple[int, float]]:
        """Of those that may come next the n likeliest, each with the logarithm of its probability."""
        found, told = ctypes.c_int32(fitting(ctypes.c_int32, n)), (_c.hn_lm_likely * max(n, 1))()
        with self._use() as session:
            check(c.hn_lm_session_likeliest(session, told, ctypes.byref(found)))
        return [(one.id, one.log_probability) for one in told[: found.value]]

    def save(self, path: Any) -> None:
        name = bytes_of(path)
        self._long(lambda session: c.hn_lm_session_save(session, name))

    def save_known(self, path: Any) -> int:
        """What is computed, also of ids whose feed was cancelled: how many; with none no file is written."""
        name, n = bytes_of(path), ctypes.c_size_t()
        self._long(lambda session: c.hn_lm_session_save_known(session, name, ctypes.byref(n)))
        return n.value

    def load(self, path: Any) -> None:
        name = bytes_of(path)
        self._long(lambda session: c.hn_lm_session_load(session, name))


class _Lease:
    """Keeps memory of an object's while a view of it is there."""

    def __init__(self, handle: Handle) -> None:
        self._handle, self._key = handle, Key()
        handle.hold(self._key)

    def __del__(self) -> None:
        self._handle.let_go(self._key)


def _view(pointer: Any, n: int, handle: Handle) -> memoryview[float]:
    floats: Any = (ctypes.c_float * n).from_address(ctypes.addressof(pointer.contents))
    floats._lease = _Lease(handle)
    return memoryview(floats).cast("B").cast("f").toreadonly()


def sampling(**given: Any) -> Any:
    """What the program has when nothing is said, and what is said. Keeps the list of biases."""
    made = _c.hn_lm_sampling()
    check(c.hn_lm_sampling_default(made, ctypes.sizeof(made)))
    bias: Mapping[int, float] = given.pop("bias", None) or {}
    if "n_bias" in given:
        raise TypeError("n_bias: bias says it")
    put(made, given)
    made.n_bias = len(bias)
    made.bias = (_c.hn_lm_bias * len(bias))(*(fill(_c.hn_lm_bias, id=id, bias=added) for id, added in bias.items()))
    return made


class Sampler(Object):
    """Which token comes next: a function of logits, options, seed and the token's number among those that are
    generated. What is not given is the program's default; temperature 0 takes the likeliest."""

    def __init__(self, model: Model, *, seed: int = 0, temperature: Optional[float] = None, top_k: Optional[int] = None,
                 top_p: Optional[float] = None, min_p: Optional[float] = None, repetition: Optional[float] = None,
                 frequency: Optional[float] = None, presence: Optional[float] = None, last: Optional[int] = None,
                 bias: Optional[Mapping[int, float]] = None, grammar: Optional[Grammar] = None) -> None:
        self.model, self._vocabulary = model, model.vocabulary
        options = sampling(seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                           repetition=repetition, frequency=frequency, presence=presence, last=last, bias=bias,
                           grammar=grammar._holds().get() if grammar is not None else None)
        #: What a draw of these options means, as recipes record it.
        self.definition: str = (c.hn_lm_sampling_definition(ctypes.byref(options)) or b"").decode()
        parent = model._holds()
        self._make(lambda out: c.hn_lm_sampler_new(out, parent.get(), options), _c.hn_lm_sampler,
                   c.hn_lm_sampler_free, parent)

    def begin(self, n: int, number: int = 0) -> None:
        """Where generating begins: after n ids, with generated token `number`. Without it, at the first draw."""
        with self._use() as sampler:
            check(c.hn_lm_sampler_begin(sampler, n, number))

    def draw(self, session: Session) -> int:
        """After the session's sequence, which is not fed with it."""
        id = ctypes.c_int32()
        with self._use() as sampler, session._use() as of:
            check(c.hn_lm_sampler_draw(sampler, of, ctypes.byref(id)))
        return id.value

    def next(self, logits: Any, ids: Iterable[int] = ()) -> int:
        """After these ids, which penalties look at; as many logits as the model's vocabulary, of 32-bit floats."""
        numbers = self._numbers(logits)
        array, n = ids_of(ids)
        id = ctypes.c_int32()
        with self._use() as sampler:
            check(c.hn_lm_sampler_next(sampler, numbers, array, n, ctypes.byref(id)))
        return id.value

    def foretell(self, logits: Any, ids: Iterable[int], token: int, likeliest: int = 0) -> tuple[float, list[tuple[int, float]]]:
        """What a draw there is of, after all that is applied: the logarithm of the token's probability, and so many of the likeliest."""
        numbers = self._numbers(logits)
        array, n = ids_of(ids)
        out, found, told = ctypes.c_double(), ctypes.c_int32(fitting(ctypes.c_int32, likeliest)), (_c.hn_lm_likely * max(likeliest, 1))()
        with self._use() as sampler:
            check(c.hn_lm_sampler_foretell(sampler, numbers, array, n, token, ctypes.byref(out), told, ctypes.byref(found)))
        return out.value, [(t.id, t.log_probability) for t in told[: found.value]]

    def _numbers(self, logits: Any) -> Any:
        view = memoryview(logits)
        if view.format != "f" or view.shape != (self._vocabulary,) or not view.contiguous:
            raise TypeError(f"logits {view.format!r} {view.shape}: expected 'f' ({self._vocabulary},)")
        return (ctypes.c_float * len(view)).from_buffer_copy(view)
