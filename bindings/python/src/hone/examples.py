"""Files of examples, as a model is trained on them: token by token, counted, judged, differentiated."""
from __future__ import annotations

import array
import ctypes
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from . import _c
from ._library import c
from ._object import Object, bytes_of, fill, found_by, given_of
from ._record import Record
from .engine import Engine
from .errors import check

Settings = Mapping[str, Any]


class Token(NamedTuple):
    id: int
    text: bytes  # that it covers; of one that covers none, what the tokenizer calls it
    role: str
    weight: float  # of foretelling it; 0: it is not supervised


class Example(NamedTuple):
    path: str
    line: int
    sequences: list[list[Token]]  # one; of a pair two, the chosen one first


class Gradients(NamedTuple):
    sum: Record
    tensors: dict[str, memoryview[float]]  # float32, in their shapes


def words_of(settings: Optional[Settings]) -> list[str]:
    """{"rank": 8, "in_order": True, "held": ["a.jsonl"]} as the library takes settings."""
    words: list[str] = []
    for name, value in (settings or {}).items():
        name = name.replace("_", "-")
        if isinstance(value, (list, tuple)) and len(value) > 1 and name not in _repeated():
            raise TypeError(f"{name}: expected one value, found {len(value)}")  # of which the library takes the last
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(name)
            elif one is not None and one is not False:
                words.append(f"{name}={bytes_of(one).decode('utf-8', 'surrogateescape') if hasattr(one, '__fspath__') else one}")
    return words


def _repeated() -> set[str]:
    """Settings that may be given again."""
    return {one.name for get in (c.hn_finetune_setting, c.hn_examples_setting) for one in _table(get)
            if one.kind in (_c.hn_setting_kind.TEXTS, _c.hn_setting_kind.PATHS)}


def _table(get: Any) -> list[Record]:
    found: list[Record] = []
    while line := get(len(found)):
        found.append(Record(line.contents))
    return found


def run_settings() -> list[Record]:
    """What `finetune` and `Examples.judge` take as settings: names, kinds, ranges, defaults."""
    return _table(c.hn_finetune_setting)


def check_settings(settings: Settings) -> None:
    """Refuses settings of a run that no run can mean, before anything is opened."""
    words = [bytes_of(word) for word in words_of(settings)]
    check(c.hn_finetune_check_settings((ctypes.c_char_p * len(words))(*words), len(words)))


def goals() -> list[Record]:
    """The losses: names, the kind of examples that each takes, the settings that it reads and others do not."""
    return _table(c.hn_finetune_goal_at)


def goal_settings() -> list[Record]:
    """Those of run_settings() that some losses read and others do not."""
    return _table(c.hn_finetune_goal_setting)


def data_settings() -> list[Record]:
    """What `Examples` takes as settings."""
    return _table(c.hn_examples_setting)


class Examples(Object):
    """Every example of every file is found when it is made, and read when it is wanted."""

    def __init__(self, model: Any, data: Any, *, engine: Optional[Engine] = None, settings: Optional[Settings] = None,
                 digests: Any = None) -> None:
        self.engine = Engine() if engine is None else engine
        files: Sequence[Any] = [data] if isinstance(data, (str, bytes)) or hasattr(data, "__fspath__") else list(data)
        spec = fill(_c.hn_examples_spec, model=model, data=files, settings=words_of(settings), digests=digests)
        parent = self.engine._holds()
        self._make(lambda out: c.hn_examples_open(out, parent.get(), spec), _c.hn_examples, c.hn_examples_close, parent,
                   self.engine._run)

    def __len__(self) -> int:
        with self._use() as pointer:
            return int(c.hn_examples_count(pointer))

    def __getitem__(self, i: int) -> Example:
        with self._use() as pointer:
            n = c.hn_examples_count(pointer)
            if not -n <= i < n:
                raise IndexError(i)
            place = found_by(_c.hn_examples_place, lambda *to: c.hn_examples_read(pointer, i % n, *to))
            return Example(place.path.decode("utf-8", "surrogateescape"), place.line,
                           [_sequence(pointer, k) for k in range(place.n_sequences)])

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))

    @property
    def kind(self) -> str:
        """What all of them are: "single", "pair" or "labelled"."""
        with self._use() as pointer:
            return _c.hn_examples_kind(c.hn_examples_kind_of(pointer)).name.lower()

    @property
    def files(self) -> list[Record]:
        with self._use() as pointer:
            return _table(lambda i: c.hn_examples_get_file(pointer, i))

    def check(self) -> Record:
        """Reads all of them and counts; what may not be trained is refused, and `found` says what it is."""
        handle = self._holds()

        def run() -> Record:
            with handle.use() as pointer:
                check(c.hn_examples_check(pointer))
                return Record(c.hn_examples_get_sum(pointer).contents)

        return self.engine._run(run)

    @property
    def found(self) -> list[Record]:
        """What was looked for, with how many there are and where the first is; empty before check() came to its end."""
        with self._use() as pointer:
            return _table(lambda i: c.hn_examples_get_found(pointer, i))

    def judge(self, adapter: Any = None, *, settings: Optional[Settings] = None, **options: Any) -> Record:
        """Loss and accuracy of those held out, or of all, with an adapter or without."""
        given = given_of(_c.hn_examples_judge_options, {"adapter": adapter, "settings": words_of(settings), **options})
        handle = self._holds()

        def run() -> Record:
            with handle.use() as pointer:
                return Record(found_by(_c.hn_examples_judgement,
                                       lambda *to: c.hn_examples_judge(pointer, given, *to, None, 0)))

        return self.engine._run(run)

    def gradients(self, *, settings: Optional[Settings] = None, adapter: Any = None, most: int = 0, out: Any = None,
                  overwrite: bool = False) -> Gradients:
        """Of every trained tensor on one batch; of an adapter's tensors at its values where one is given."""
        given = fill(_c.hn_examples_gradients_options, settings=words_of(settings), most=most, out=out, overwrite=overwrite)
        setattr(given, "from", None if adapter is None else bytes_of(adapter))
        tensors: dict[str, memoryview[float]] = {}
        handle = self._holds()

        def told(context: Any, gradient: Any) -> int:
            one = gradient.contents
            values = array.array("f", bytes(ctypes.string_at(one.values, 4 * one.n)))
            shape = list(one.dim[: one.rank])
            tensors[one.name.decode()] = memoryview(values).cast("B").cast("f", shape)
            return 0

        given.on_gradient = dict(_c.hn_examples_gradients_options._fields_)["on_gradient"](told)

        def run() -> Gradients:
            with handle.use() as pointer:
                found = found_by(_c.hn_examples_gradients,
                                 lambda *to: c.hn_examples_differentiate(pointer, given, *to))
                return Gradients(Record(found), tensors)

        return self.engine._run(run)


def _sequence(pointer: Any, k: int) -> list[Token]:
    one = c.hn_examples_get_sequence(pointer, k).contents
    # which may hold NULs: not as ctypes gives a text
    place: Any = ctypes.c_void_p.from_address(_c.hn_examples_sequence.text.offset + ctypes.addressof(one))
    text, tokens = ctypes.string_at(place.value, one.bytes), []
    for t in range(one.n):
        covered = text[one.begin[t] : one.end[t]] or c.hn_examples_get_token(pointer, k, t, None)
        tokens.append(Token(one.ids[t], covered, c.hn_examples_role_name(one.roles[t]).decode(), one.weights[t]))
    return tokens
