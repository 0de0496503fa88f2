"""Files of models and adapters: looked into, converted, quantised, made up, merged. The options are the fields of the
structs in hone/files.h and hone/adapter.h."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional, Sequence

from . import _c, _call
from ._library import c
from ._object import Object, bytes_of, found_by, given_of
from ._record import Record
from .engine import Engine
from .errors import Error, check, last


class File(Object):
    """A GGUF file or a Hugging Face directory, whatever it holds. Its weights are not read."""

    def __init__(self, path: Any, *, engine: Optional[Engine] = None, ignored_keys: Sequence[str] = ()) -> None:
        self.engine = Engine() if engine is None else engine
        keys, parent, name = _texts(ignored_keys), self.engine._holds(), bytes_of(path)
        self._make(lambda out: c.hn_lm_file_open(out, parent.get(), name, keys, len(keys)), _c.hn_lm_file,
                   c.hn_lm_file_close, parent, self.engine._run)

    @property
    def about(self) -> Record:
        with self._use() as file:
            return Record(c.hn_lm_file_about(file).contents)

    @property
    def tensors(self) -> list[Record]:
        return self._all("n_tensors", _c.hn_lm_tensor, c.hn_lm_file_tensor)

    @property
    def keys(self) -> list[Record]:
        return self._all("n_keys", _c.hn_lm_key, c.hn_lm_file_key)

    def _all(self, count: str, kind: Any, get: Any) -> list[Record]:
        found = []
        with self._use() as file:
            for i in range(getattr(c.hn_lm_file_about(file).contents, count)):
                found.append(Record(found_by(kind, lambda *to: get(file, i, *to))))
        return found

    def value(self, key: str) -> Any:
        """A number, a truth, a text, or a list of them; KeyError: there is no such key."""
        name = bytes_of(key)
        with self._use() as file:
            at = c.hn_lm_file_find(file, name)
            if at == c.hn_lm_file_about(file).contents.n_keys:
                raise KeyError(key)
            about = found_by(_c.hn_lm_key, lambda *to: c.hn_lm_file_key(file, at, *to))
            found = []
            for i in range(about.n):
                item = found_by(_c.hn_lm_item, lambda *to: c.hn_lm_file_item(file, at, i, *to))
                found.append(_item(_c.hn_lm_kind(about.kind), item))
        return found if about.is_array else found[0]


def _item(kind: Any, item: Any) -> Any:
    if kind is _c.hn_lm_kind.TEXT:  # which may hold NULs: not as ctypes gives a text
        place: Any = ctypes.c_void_p.from_address(_c.hn_lm_item.text.offset + ctypes.addressof(item))
        return ctypes.string_at(place.value, item.bytes).decode("utf-8", "surrogateescape") if item.bytes else ""
    if kind is _c.hn_lm_kind.BOOL:
        return bool(item.integer)
    return item.integer if kind is _c.hn_lm_kind.INT else item.real


def _texts(texts: Sequence[Any]) -> Any:
    return (ctypes.c_char_p * len(texts))(*map(bytes_of, texts))


def _work(engine: Optional[Engine], call: Callable[[Any], int]) -> None:
    on = Engine() if engine is None else engine
    handle = on._holds()
    on._run(lambda: check(call(handle.get())))


def convert(directory: Any, out: Any, *, engine: Optional[Engine] = None, **options: Any) -> None:
    """A Hugging Face directory as a GGUF file."""
    given, names = given_of(_c.hn_lm_convert_options, options), (bytes_of(directory), bytes_of(out))
    _work(engine, lambda pointer: c.hn_lm_convert(pointer, *names, given))


def quantize(model: Any, out: Any, recipe: str, *, engine: Optional[Engine] = None,
             on_tensor: Optional[Callable[[Record], object]] = None, **options: Any) -> None:
    """A GGUF file with its weights as a recipe has them: a type, or a mix."""
    given, names = given_of(_c.hn_lm_quantize_options, options), (bytes_of(model), bytes_of(out), bytes_of(recipe))

    def told(context: Any, tensor: Any) -> None:
        record = Record(tensor.contents)

        def tell() -> None:
            if on_tensor:
                on_tensor(record)

        _call.current().ask(tell)

    if on_tensor:
        given.on_tensor = dict(_c.hn_lm_quantize_options._fields_)["on_tensor"](told)
    _work(engine, lambda pointer: c.hn_lm_quantize(pointer, *names, given))


def recipe_type(recipe: str) -> str:
    """The type that most weights get by a recipe."""
    found = ctypes.c_void_p()
    check(c.hn_lm_recipe_type(bytes_of(recipe), ctypes.byref(found)))
    return ctypes.string_at(found).decode()


def use_name(use: int) -> str:
    """What a tensor is for, in words."""
    return str(c.hn_lm_use_name(use), "utf-8")


def numerics_name(numerics: int) -> str:
    return str(c.hn_lm_numerics_name(numerics), "utf-8")


def make(architecture: str, out: Any, *, engine: Optional[Engine] = None, **options: Any) -> None:
    """A random model of any architecture and size."""
    given, names = given_of(_c.hn_lm_make_options, options), (bytes_of(architecture), bytes_of(out))
    _work(engine, lambda pointer: c.hn_lm_make(pointer, *names, given))


def make_tokenizer(texts: Sequence[Any], out: Any, *, engine: Optional[Engine] = None, **options: Any) -> int:
    """A tokenizer of files of text, in a GGUF file without tensors; how many tokens it has."""
    given, name, n = given_of(_c.hn_lm_tokenizer_options, options), bytes_of(out), ctypes.c_int64()
    listed = _texts(texts)
    _work(engine, lambda pointer: c.hn_lm_make_tokenizer(pointer, listed, len(listed), name, given, ctypes.byref(n)))
    return n.value


def import_adapter(peft: Any, base: Any, out: Any, *, engine: Optional[Engine] = None, **options: Any) -> None:
    given, names = given_of(_c.hn_lm_import_options, options), tuple(map(bytes_of, (peft, base, out)))
    _work(engine, lambda pointer: c.hn_lm_import_adapter(pointer, *names, given))


def export_peft(adapter: Any, folder: Any, *, engine: Optional[Engine] = None, **options: Any) -> None:
    given, names = given_of(_c.hn_lm_export_options, options), (bytes_of(adapter), bytes_of(folder))
    _work(engine, lambda pointer: c.hn_lm_export_peft(pointer, *names, given))


def export_gguf(adapter: Any, out: Any, *, engine: Optional[Engine] = None, **options: Any) -> None:
    given, names = given_of(_c.hn_lm_export_options, options), (bytes_of(adapter), bytes_of(out))
    _work(engine, lambda pointer: c.hn_lm_export_gguf(pointer, *names, given))


class Merge:
    """What a merge lost: of the whole, and of each changed tensor."""

    def __init__(self, report: Any) -> None:
        self.sum = Record(c.hn_lm_merge_report_sum(report).contents)
        self.tensors = [Record(c.hn_lm_merge_report_tensor(report, i).contents) for i in range(self.sum.n_tensors)]


class MergeError(Error):
    """The budgets do not hold, and nothing was written: `merge` is what was measured."""

    merge: Merge


def merge(model: Any, adapter: Any, out: Any, *, engine: Optional[Engine] = None, **options: Any) -> Merge:
    """A GGUF model with an adapter's changes in its weights."""
    given, names = given_of(_c.hn_lm_merge_options, options), tuple(map(bytes_of, (model, adapter, out)))
    on = Engine() if engine is None else engine
    handle = on._holds()

    def run() -> Merge:
        report = ctypes.POINTER(_c.hn_lm_merge_report)()
        status = c.hn_lm_merge(handle.get(), *names, given, ctypes.byref(report))
        error = last(status) if status else None
        try:
            found = Merge(report) if report else None
        finally:
            c.hn_lm_merge_report_free(report)
        if error and found:
            told = MergeError(error.status, error.sentence)
            told.merge = found
            raise told
        if error:
            raise error
        assert found
        return found

    return on._run(run)


def texts(path: Any, *, engine: Optional[Engine] = None) -> list[str]:
    """The texts of a file of examples, in order, as `hone train` takes texts."""
    found: list[str] = []
    name, on = bytes_of(path), Engine() if engine is None else engine

    def told(context: Any, number: int, text: int, size: int) -> int:
        found.append(ctypes.string_at(text, size).decode("utf-8", "surrogateescape"))
        return 0

    call = _c.FUNCTIONS["hn_texts_each"][1][2](told)
    _work(on, lambda pointer: c.hn_texts_each(pointer, name, call, None))
    return found
