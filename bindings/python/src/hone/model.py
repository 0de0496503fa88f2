"""A language model: its weights, its tokenizer, its chat template, its adapters."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _c
from ._library import c
from ._number import array_of
from ._object import Object, bytes_of, fill, found_by, given_of, text_of
from .engine import Engine
from ._record import Record
from .errors import check

Text = Union[str, bytes]
Json = Any

BUILTIN: str = c.hn_lm_builtin().decode()
"""The path of the model that is part of the library."""


def choice(kind: Any, word: str) -> int:
    """A value of an enumeration of the headers by its name in small letters."""
    names = {name.lower(): value for name, value in kind.__members__.items()}
    if word not in names:
        raise ValueError(f"{word!r}: expected one of {', '.join(names)}")
    return int(names[word])


def ids_of(ids: Iterable[int]) -> tuple[Any, int]:
    """Ids as an array of the library's; what is one already (numpy's int32, array('i')) is not copied."""
    try:
        view = memoryview(ids)  # type: ignore[arg-type]
    except TypeError:
        made = array_of(ctypes.c_int32, ids)
        return made, len(made)
    if view.ndim != 1 or view.itemsize != 4 or view.format not in ("i", "l") or not view.contiguous:
        raise TypeError(f"ids of format {view.format!r} in {view.ndim} dimensions: expected a row of 32-bit integers")
    if view.readonly:
        return (ctypes.c_int32 * len(view)).from_buffer_copy(view), len(view)
    return (ctypes.c_int32 * len(view)).from_buffer(view), len(view)


def settings_of(variables: Optional[Mapping[str, Json]]) -> Optional[list[str]]:
    return [f"{key}={json.dumps(value)}" for key, value in variables.items()] if variables else None


def json_of(value: Json) -> Optional[str]:
    """JSON as it is, if it is a text."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


class Model(Object):
    """Any number of threads may use one. `path` is a GGUF file or a directory as Hugging Face has them; without one
    it is the model that is part of the library. Without an engine it has its own. `part`: "words", the tokenizer and
    the templates alone; "weights", without them."""

    def __init__(self, path: Any = None, *, engine: Optional[Engine] = None, numerics: str = "f32",
                 ignored_keys: Sequence[str] = (), template_file: Any = None,
                 template_name: Optional[str] = None, part: str = "all") -> None:
        opens = {"all": c.hn_lm_open, "words": c.hn_lm_open_words, "weights": c.hn_lm_open_weights}
        if part not in opens:
            raise ValueError(f"part {part!r}: expected one of {', '.join(opens)}")
        self.engine = Engine() if engine is None else engine
        self.path = BUILTIN if path is None else path
        name = bytes_of(self.path)
        kind = ctypes.c_int()
        check(c.hn_lm_numerics_named(bytes_of(numerics), ctypes.byref(kind)))
        options = fill(_c.hn_lm_options, numerics=kind.value,
                       ignored_keys=list(ignored_keys), template_file=template_file, template_name=template_name)
        parent = self.engine._holds()
        self._make(lambda out: opens[part](out, parent.get(), name, options), _c.hn_lm, c.hn_lm_close, parent,
                   self.engine._run)

    def add_adapter(self, path: Any, *, scale: float = 1.0, force: bool = False) -> Record:
        """Applies an adapter to all that is made on the model afterwards; what it was held to (hone/adapter.h)."""
        if not scale:
            raise ValueError("scale 0: leave the adapter out")
        name, options = bytes_of(path), fill(_c.hn_lm_adapter_options, scale=scale, is_forced=force)
        handle = self._holds()

        def add() -> Record:
            with handle.use() as lm:
                return Record(found_by(_c.hn_lm_adapter_trial,
                                       lambda *to: c.hn_lm_apply_adapter(lm, name, options, *to)))

        return self.engine._run(add)

    def keep_digests(self, folder: Any) -> None:
        """Where what takes long to compute of the file is kept for the next time."""
        with self._use() as lm:
            check(c.hn_lm_keep_digests(lm, bytes_of(folder)))

    @property
    def fingerprint(self) -> str:
        """What tells its weights from others, in 64 hexadecimal digits."""
        text = ctypes.create_string_buffer(65)
        with self._use() as lm:
            check(c.hn_lm_fingerprint(lm, text))
        return text.value.decode()

    @property
    def numerics_definition(self) -> str:
        """What its numerics mean in this release, as files record it."""
        return self._text(c.hn_lm_numerics_definition)

    @property
    def architecture(self) -> str:
        return self._text(c.hn_lm_architecture)

    @property
    def name(self) -> str:
        return self._text(c.hn_lm_name)

    def _text(self, function: Any) -> str:
        with self._share() as lm:
            return str(function(lm), "utf-8", "replace")

    def _number(self, function: Any, *more: int) -> int:
        with self._share() as lm:
            return int(function(lm, *more))

    @property
    def context(self) -> int:
        """Tokens that it was made for; 0: it does not say."""
        return self._number(c.hn_lm_context)

    @property
    def vocabulary(self) -> int:
        """How many logits there are: as many as tokens, or more."""
        return self._number(c.hn_lm_vocabulary)

    @property
    def tokens(self) -> int:
        """How many tokens the tokenizer has."""
        return self._number(c.hn_lm_tokens)

    @property
    def width(self) -> int:
        """How many numbers a token's state has."""
        return self._number(c.hn_lm_width)

    @property
    def embeds(self) -> bool:
        """It embeds texts, and generates none; one that generates embeds too (Embedder)."""
        return bool(self._number(c.hn_lm_embeds))

    def meta(self, key: str) -> str:
        """A value by its key, of GGUF's metadata or of config.json, as text."""
        name = bytes_of(key)
        with self._share() as lm:
            return text_of(lambda *to: c.hn_lm_meta(lm, name, *to)).decode("utf-8", "replace")

    def chat_template(self, what: str = "text") -> str:
        """Its template: the "text", the "digest", or a special token by its name."""
        word = bytes_of(what)
        with self._share() as lm:
            return text_of(lambda *to: c.hn_lm_chat_template(lm, word, *to)).decode("utf-8", "replace")

    # ---- its tokenizer ----

    def encode(self, text: Text, kind: str = "plain") -> list[int]:
        """`kind`: "plain", "marked", "rendered" or "bare" (hone/tokenizer.h)."""
        data, what, n = text if isinstance(text, bytes) else text.encode(), choice(_c.hn_lm_text, kind), ctypes.c_size_t()
        with self._share() as lm:
            check(c.hn_lm_encode(lm, data, len(data), what, None, 0, ctypes.byref(n)))
            ids = (ctypes.c_int32 * n.value)()
            check(c.hn_lm_encode(lm, data, len(data), what, ids, n.value, ctypes.byref(n)))
        return list(ids)

    def encode_by(self, text: Text, *, bos: bool = True, eos: bool = True, special: bool = False) -> list[int]:
        """What the model puts before and after the text, or not; `special`: <|special|> tokens are meant as such."""
        data, n = text if isinstance(text, bytes) else text.encode(), ctypes.c_size_t()
        options = fill(_c.hn_lm_encode_options, no_bos=not bos, no_eos=not eos, special=special)
        with self._share() as lm:
            check(c.hn_lm_encode_by(lm, data, len(data), options, None, 0, ctypes.byref(n)))
            ids = (ctypes.c_int32 * n.value)()
            check(c.hn_lm_encode_by(lm, data, len(data), options, ids, n.value, ctypes.byref(n)))
        return list(ids)

    def piece(self, id: int) -> bytes:
        """A token's own bytes."""
        text, n = ctypes.c_void_p(), ctypes.c_size_t()
        with self._share() as lm:
            check(c.hn_lm_piece(lm, id, ctypes.byref(text), ctypes.byref(n)))
            return ctypes.string_at(text, n.value) if n.value else b""

    def decode_bytes(self, ids: Iterable[int], *, special: bool = False) -> bytes:
        """Ids need not be whole characters."""
        array, n = ids_of(ids)
        with self._share() as lm:
            return text_of(lambda *to: c.hn_lm_decode(lm, array, n, special, *to))

    def decode(self, ids: Iterable[int], *, special: bool = False, errors: str = "replace") -> str:
        return self.decode_bytes(ids, special=special).decode("utf-8", errors)

    def decoder(self, *, follows: bool = False) -> "Decoder":
        return Decoder(self, follows=follows)

    def special(self, role: str) -> Optional[int]:
        """The id of "bos", "eos", "eot", "eom", "unk", "sep", "pad", "cls" or "mask"."""
        found = self._number(c.hn_lm_special, choice(_c.hn_lm_role, role))
        return None if found < 0 else found

    def ends(self, id: int) -> bool:
        """Whether a model that gives this id is done."""
        return bool(self._number(c.hn_lm_ends, id))

    # ---- its template ----

    def render(self, messages: Json, *, tools: Json = None, documents: Json = None,
               variables: Optional[Mapping[str, Json]] = None, generation_prompt: bool = True,
               goes_on_last: bool = False, clock: int = 0) -> str:
        """Messages as the text that the model is given, for reading: render_ids() gives the ids."""
        options = fill(_c.hn_lm_render_options, tools=json_of(tools), documents=json_of(documents),
                       variables=settings_of(variables), no_generation_prompt=not generation_prompt,
                       goes_on_last=goes_on_last, clock=clock)
        text = bytes_of(json_of(messages))
        with self._share() as lm:
            return text_of(lambda *to: c.hn_lm_render(lm, text, options, *to)).decode("utf-8", "replace")

    def render_ids(self, messages: Json, *, tools: Json = None, documents: Json = None,
                   variables: Optional[Mapping[str, Json]] = None, generation_prompt: bool = True,
                   goes_on_last: bool = False, clock: int = 0) -> list[int]:
        """Messages as the ids that the model is given: nobody's words become a special token."""
        options = fill(_c.hn_lm_render_options, tools=json_of(tools), documents=json_of(documents),
                       variables=settings_of(variables), no_generation_prompt=not generation_prompt,
                       goes_on_last=goes_on_last, clock=clock)
        text, n = bytes_of(json_of(messages)), ctypes.c_size_t()
        with self._share() as lm:
            check(c.hn_lm_render_ids(lm, text, options, None, 0, ctypes.byref(n)))
            ids = (ctypes.c_int32 * n.value)()
            check(c.hn_lm_render_ids(lm, text, options, ids, n.value, ctypes.byref(n)))
        return list(ids)

    def answer_rules(self, *, tools: Json = None, family: Optional[str] = None, only: Optional[str] = None, must_call: bool = False,
                     once: bool = False, thought: int = 0, schema: Json = None, prompt: Iterable[int] = ()) -> str:
        """What an answer may be, in GBNF for Grammar(): "" where nothing is held."""
        array, n = ids_of(prompt)
        options = fill(_c.hn_lm_rules_options, tools=json_of(tools), family=family, only=only, must_call=must_call, once=once, thought=thought,
                       schema=json_of(schema), prompt=array, n_prompt=n)
        with self._share() as lm:
            return text_of(lambda *to: c.hn_lm_answer_rules(lm, options, *to)).decode("utf-8", "replace")

    def call_style(self, family: Optional[str] = None) -> Record:
        """How it writes calls of tools: by its template, or as a family does."""
        name = None if family is None else bytes_of(family)
        with self._share() as lm:
            return Record(found_by(_c.hn_lm_call_style, lambda to, size: c.hn_lm_call_style_of(lm, name, to, size)))


    # ---- how good it is, and what it takes ----

    def _of_ids(self, ids: Iterable[int], call: Any) -> None:
        array, n = ids_of(ids)
        handle = self._holds()

        def run() -> None:
            with handle.share() as lm:
                check(call(lm, array, n))

        self.engine._run(run)

    def perplexity(self, ids: Iterable[int], **options: Any) -> Record:
        """Of a text's ids without a BOS. The options are hn_lm_perplexity_options' (hone/eval.h)."""
        given, out = given_of(_c.hn_lm_perplexity_options, options), _c.hn_lm_perplexity()
        self._of_ids(ids, lambda lm, array, n: c.hn_lm_perplexity_of(lm, array, n, given, out, ctypes.sizeof(out)))
        return Record(out)

    def logits_of(self, ids: Sequence[int], **options: Any) -> memoryview[float]:
        """What the model gives after each id of a sequence: rows of floats."""
        given = given_of(_c.hn_lm_logits_options, options)
        room = (ctypes.c_float * (len(ids) * self.vocabulary))()
        self._of_ids(ids, lambda lm, array, n: c.hn_lm_logits_of(lm, array, n, given, room, len(room)))
        return memoryview(room).cast("B").cast("f", [len(ids), self.vocabulary])

    def write_imatrix(self, ids: Iterable[int], out: Any, **options: Any) -> None:
        given, name = given_of(_c.hn_lm_imatrix_options, options), bytes_of(out)
        self._of_ids(ids, lambda lm, array, n: c.hn_lm_write_imatrix(lm, array, n, name, given))

    def parity(self, reference: Any, *, judge: bool = True) -> tuple[Record, list[Record]]:
        """How near it is to what Transformers computed: of the whole, and of each part. `judge`: a part that is beyond
        its bound is an Error."""
        name, handle = bytes_of(reference), self._holds()

        def run() -> tuple[Record, list[Record]]:
            found = ctypes.POINTER(_c.hn_lm_parity)()
            with handle.share() as lm:
                check(c.hn_lm_parity_run(ctypes.byref(found), lm, name, None))
            try:
                whole = Record(c.hn_lm_parity_get_sum(found).contents)
                parts = [Record(c.hn_lm_parity_get_part(found, i).contents) for i in range(whole.n_parts)]
                if judge:
                    check(c.hn_lm_parity_judge(found))
            finally:
                c.hn_lm_parity_free(found)
            return whole, parts

        return self.engine._run(run)

    def measure(self, **session: Any) -> Record:
        """What a session so made would take, in bytes; nothing of it is allocated."""
        given, handle = given_of(_c.hn_lm_session_options, session), self._holds()

        def run() -> Record:
            with handle.share() as lm:
                return Record(found_by(_c.hn_lm_sizes, lambda *to: c.hn_lm_measure(lm, given, *to)))

        return self.engine._run(run)

    def worth_copying(self, tokens: int) -> bool:
        """Whether Session(mapped=False) is worth it for so many tokens."""
        return bool(self._number(c.hn_lm_worth_copying, tokens))


class Decoder(Object):
    """Ids to text as they come."""

    def __init__(self, model: Model, *, follows: bool = False) -> None:
        parent = model._holds()
        self._make(lambda out: c.hn_lm_decoder_new(out, parent.get(), follows), _c.hn_lm_decoder,
                   c.hn_lm_decoder_free, parent)

    def _give(self, call: Any) -> str:
        text, n = ctypes.c_void_p(), ctypes.c_size_t()
        with self._use() as decoder:
            check(call(decoder, ctypes.byref(text), ctypes.byref(n)))
            return ctypes.string_at(text, n.value).decode("utf-8", "replace") if n.value else ""

    def add(self, id: int) -> str:
        """Whole characters; "" while one is not whole."""
        return self._give(lambda decoder, text, n: c.hn_lm_decoder_add(decoder, id, text, n))

    def finish(self) -> str:
        """What was held back; it begins anew."""
        return self._give(c.hn_lm_decoder_finish)


class Template(Object):
    """A chat template apart from a model: of a file or directory, its default or the one of a name, or a file's own."""

    def __init__(self, path: Any, *, engine: Optional[Engine] = None, file: Any = None, name: Optional[str] = None) -> None:
        self.engine = Engine() if engine is None else engine
        parent = self.engine._holds()
        texts = [None if text is None else bytes_of(text) for text in (path, file, name)]
        self._make(lambda out: c.hn_lm_template_open(out, parent.get(), *texts), _c.hn_lm_template,
                   c.hn_lm_template_free, parent)

    def render(self, messages: Json, *, tools: Json = None, documents: Json = None,
               variables: Optional[Mapping[str, Json]] = None,
               generation_prompt: bool = True, goes_on_last: bool = False, clock: int = 0) -> tuple[str, list[tuple[int, int]]]:
        """The text, and which of its bytes the template marks as the model's own."""
        options = fill(_c.hn_lm_render_options, tools=json_of(tools), documents=json_of(documents),
                       variables=settings_of(variables), no_generation_prompt=not generation_prompt,
                       goes_on_last=goes_on_last, clock=clock)
        text, found = bytes_of(json_of(messages)), ctypes.POINTER(_c.hn_lm_rendered)()
        with self._use() as template:
            check(c.hn_lm_template_render(template, text, options, ctypes.byref(found)))
            said = found.contents
            spans = [(span.begin, span.end) for span in said.generated[: said.n_generated]] if said.n_generated else []
            return said.text.decode("utf-8", "replace"), spans
