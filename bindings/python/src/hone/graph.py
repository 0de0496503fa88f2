"""Graphs of one's own: nodes, gradients, runs, and steps of an optimiser."""
from __future__ import annotations

import ctypes
import math
from typing import Any, Optional, Sequence

from . import _c
from ._library import c
from ._number import array_of
from ._object import Object, bytes_of, fill
from .engine import Engine
from .errors import check

_PLAIN = {"f32": "f", "i32": "i", "i64": "q", "u8": "B"}  # element types that Python has, too


def _int64s(values: Sequence[int]) -> Any:
    return array_of(ctypes.c_int64, values)


#: Of buffers: the formats of an element type's numbers, and their bytes.
_FORMATS = {"f32": ("f", 4), "f16": ("eHh", 2), "bf16": ("Hh", 2), "i32": ("il", 4), "i64": ("ql", 8), "u8": ("B", 1)}
_LISTED = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "u8": ctypes.c_uint8}


def _bytes(data: Any, type: str) -> bytes:
    """A buffer of the type's numbers, or of bytes as they lie in a tensor; or a list of numbers."""
    try:
        view = memoryview(data)
    except TypeError:
        if type != "f32" and type not in _LISTED:
            raise TypeError(f"{type}: expected a buffer of its bytes") from None
        return bytes(array_of(_LISTED[type], data) if type in _LISTED else (ctypes.c_float * len(data))(*data))
    formats, size = _FORMATS.get(type, ("", 1))
    if view.format not in ("B", "b", "c") and (view.format not in tuple(formats) or view.itemsize != size):
        raise TypeError(f"numbers of format {view.format!r} and {view.itemsize} bytes: expected those of {type}, or bytes")
    return view.tobytes()


class Node:
    """A value in a builder's graph, which dies with it."""

    def __init__(self, builder: "Builder", pointer: Any) -> None:
        self.builder = builder
        self._pointer = pointer

    @property
    def shape(self) -> tuple[int, ...]:
        shape = _c.hn_shape()
        with self.builder._use():
            check(c.hn_node_shape(self._pointer, shape, ctypes.sizeof(shape)))
        return tuple(shape.dim[: shape.rank])

    @property
    def type(self) -> str:
        with self.builder._use():
            return str(c.hn_node_type(self._pointer), "utf-8")

    def output(self, index: int) -> "Node":
        with self.builder._use():
            return Node(self.builder, c.hn_builder_output(self._pointer, index))


class Builder(Object):
    """Building is sticky: after a failure everything returns a node that may be passed on, and check() raises it."""

    def __init__(self, engine: Optional[Engine] = None) -> None:
        self.engine = engine or Engine()
        parent = self.engine._holds()
        self._make(lambda out: c.hn_builder_new(out, parent.get()), _c.hn_builder, c.hn_builder_free, parent)

    def check(self) -> None:
        with self._use() as builder:
            check(c.hn_builder_status(builder))

    def extent(self, name: str, most: int) -> int:
        """What a dimension of an input is that may be smaller in a run: given as -1 - extent."""
        with self._use() as builder:
            return int(c.hn_builder_extent(builder, bytes_of(name), most))

    def leaf(self, kind: str, name: str, shape: Sequence[int], type: str = "f32", device: Optional[int] = None) -> Node:
        """`kind`: "input", "step", "weight" or "state" (hone/graph.h)."""
        with self._use() as builder:
            node = c.hn_builder_leaf(builder, bytes_of(kind), bytes_of(name), bytes_of(type), len(shape), _int64s(shape))
            if device is not None:
                c.hn_builder_place(builder, node, device)
            return Node(self, node)

    def constant(self, shape: Sequence[int], data: Any, type: str = "f32") -> Node:
        given = _bytes(data, type)
        size = ctypes.c_size_t()
        check(c.hn_tensor_bytes(bytes_of(type), len(shape), _int64s(shape), ctypes.byref(size)))
        if len(given) != size.value:
            raise ValueError(f"{len(given)} bytes: {type} {list(shape)} has {size.value}")
        with self._use() as builder:
            return Node(self, c.hn_builder_constant(builder, bytes_of(type), len(shape), _int64s(shape), given))

    def op(self, name: str, *inputs: Optional[Node], **attributes: Any) -> Node:
        """An op as `hone op --list` shows it; optional inputs may be None."""
        nodes = self._nodes(inputs)
        named = [self._attribute(key, value) for key, value in attributes.items()]
        with self._use() as builder:
            return Node(self, c.hn_builder_apply(builder, bytes_of(name), len(named),
                                                 (_c.hn_attribute * len(named))(*named), len(inputs), nodes))

    @staticmethod
    def _attribute(name: str, value: Any) -> Any:
        kind, made = _c.hn_attribute_kind, _c.hn_attribute(size=ctypes.sizeof(_c.hn_attribute), name=bytes_of(name))
        if isinstance(value, str):
            made.kind, made.word = kind.WORD, bytes_of(value)
        elif isinstance(value, (list, tuple)):
            made.kind, made.integers, made.n_integers = kind.INTEGERS, _int64s(value), len(value)
        elif isinstance(value, int):
            made.kind, made.integer = kind.INTEGER, value
        else:
            made.kind, made.number = kind.NUMBER, value
        return made

    def scope(self, scope: str) -> None:
        with self._use() as builder:
            c.hn_builder_scope(builder, bytes_of(scope))

    def boundary(self, node: Node) -> Node:
        """Marks the end of a layer, for recomputation."""
        (one,) = self._nodes([node])
        with self._use() as builder:
            return Node(self, c.hn_builder_boundary(builder, one))

    def gradients(self, loss: Node, params: Sequence[Node], recompute_every: int = 0) -> list[Node]:
        out = self._nodes([None] * len(params))
        (of,) = self._nodes([loss])
        with self._use() as builder:
            check(c.hn_builder_gradients(builder, of, len(params), self._nodes(params), recompute_every, out))
        return [Node(self, pointer) for pointer in out]

    def _nodes(self, nodes: Sequence[Optional[Node]]) -> Any:
        for node in nodes:
            if node and node.builder.closed:
                node.builder._holds()  # raises: its memory is gone
        kind = ctypes.POINTER(_c.hn_node)
        return (kind * len(nodes))(*(node._pointer if node else kind() for node in nodes))


def types() -> list[str]:
    """The names of all element types."""
    found: list[str] = []
    while (name := c.hn_tensor_type(len(found))) is not None:
        found.append(name.decode())
    return found


def write_array(path: Any, type: str, shape: Sequence[int], data: Any, *, overwrite: bool = False) -> None:
    """In NumPy's .npy format, whole or not at all."""
    given, size = _bytes(data, type), ctypes.c_size_t()
    check(c.hn_tensor_bytes(bytes_of(type), len(shape), _int64s(shape), ctypes.byref(size)))
    if len(given) != size.value:
        raise ValueError(f"{len(given)} bytes: {type} {list(shape)} has {size.value}")
    check(c.hn_array_write(bytes_of(path), overwrite, bytes_of(type), len(shape), _int64s(shape), given))


def read_array(path: Any, *, engine: Optional[Engine] = None) -> memoryview[Any]:
    on, found, size = engine or Engine(), ctypes.POINTER(_c.hn_array)(), ctypes.c_size_t()
    with on._share() as pointer:
        check(c.hn_array_read(ctypes.byref(found), pointer, bytes_of(path)))
        try:
            shape = c.hn_array_shape(found).contents
            place = c.hn_array_data(found, ctypes.byref(size))
            data = ctypes.string_at(place, size.value) if size.value else b""
            return _viewed(data, c.hn_array_type(found).decode(), shape.dim[: shape.rank])
        finally:
            c.hn_array_free(found)


def encode(type: str, shape: Sequence[int], numbers: Any) -> bytes:
    """Floats as a tensor of an element type: cast, or in blocks."""
    given, size = _bytes(numbers, "f32"), ctypes.c_size_t()
    check(c.hn_tensor_bytes(bytes_of(type), len(shape), _int64s(shape), ctypes.byref(size)))
    if len(given) != 4 * math.prod(shape):
        raise ValueError(f"{len(given)} bytes: f32 {list(shape)} has {4 * math.prod(shape)}")
    floats = (ctypes.c_float * math.prod(shape)).from_buffer_copy(given)
    room = (ctypes.c_uint8 * size.value)()
    check(c.hn_tensor_encode(bytes_of(type), len(shape), _int64s(shape), floats, room))
    return bytes(room)


def decode(type: str, shape: Sequence[int], data: Any) -> memoryview[Any]:
    """The other way."""
    given, size = _bytes(data, type), ctypes.c_size_t()
    check(c.hn_tensor_bytes(bytes_of(type), len(shape), _int64s(shape), ctypes.byref(size)))
    if len(given) != size.value:
        raise ValueError(f"{len(given)} bytes: {type} {list(shape)} has {size.value}")
    floats = (ctypes.c_float * math.prod(shape))()
    check(c.hn_tensor_decode(bytes_of(type), len(shape), _int64s(shape), given, floats))
    return _viewed(floats, "f32", shape)


def _viewed(room: Any, type: str, shape: Sequence[int]) -> memoryview[Any]:
    """Numbers that Python has in their shape; bytes of other types."""
    view: Any = memoryview(room).cast("B")
    if type in _PLAIN and 0 not in shape:
        view = view.cast(_PLAIN[type], list(shape)) if shape else view.cast(_PLAIN[type])
    found: memoryview[Any] = view
    return found


class Exec(Object):
    """A plan with memory and kernels: computes wanted nodes, any number of times."""

    def __init__(self, builder: Builder, wanted: Sequence[Node], plan: Optional[str] = None) -> None:
        self.builder = builder
        self._types = [node.type for node in wanted]
        nodes, parent = builder._nodes(wanted), builder._holds()
        name = plan and bytes_of(plan)
        self._make(lambda out: c.hn_exec_new(out, parent.get(), len(wanted), nodes, name), _c.hn_exec, c.hn_exec_free,
                   parent, builder.engine._run)

    def write(self, leaf: Node, data: Any) -> None:
        given, nodes = _bytes(data, leaf.type), self.builder._nodes([leaf])
        with self._use() as exec:
            check(c.hn_exec_write(exec, nodes[0], given, len(given)))

    def extent(self, extent: int, size: int) -> None:
        with self._use() as exec:
            check(c.hn_exec_extent(exec, extent, size))

    def run(self) -> list[memoryview[Any]]:
        """Computes, and gives all that is wanted in its own type."""

        handle = self._holds()

        def compute() -> None:
            with handle.use() as exec:
                check(c.hn_exec_run(exec))

        self.builder.engine._run(compute)
        return [self.read(index) for index in range(len(self._types))]

    def read(self, index: int) -> memoryview[Any]:
        shape, size = _c.hn_shape(), ctypes.c_size_t()
        with self._use() as exec:
            check(c.hn_exec_shape(exec, index, shape, ctypes.sizeof(shape)))
            check(c.hn_tensor_bytes(bytes_of(self._types[index]), shape.rank, shape.dim, ctypes.byref(size)))
            room = (ctypes.c_uint8 * size.value)()
            check(c.hn_exec_read(exec, index, room, size.value))
        return _viewed(room, self._types[index], shape.dim[: shape.rank])

    def read_leaf(self, leaf: Node) -> memoryview[Any]:
        return _read_leaf(self, leaf, c.hn_exec_read_leaf)

    @property
    def workspace(self) -> int:
        with self._use() as exec:
            return int(c.hn_exec_workspace(exec))


def _read_leaf(of: Any, leaf: Node, read: Any) -> memoryview[Any]:
    type, dims, size = leaf.type, leaf.shape, ctypes.c_size_t()
    check(c.hn_tensor_bytes(bytes_of(type), len(dims), _int64s(dims), ctypes.byref(size)))
    room = (ctypes.c_uint8 * size.value)()
    nodes = of.builder._nodes([leaf])
    with of._use() as pointer:
        check(read(pointer, nodes[0], room, size.value))
    return _viewed(room, type, dims)


class Trainer(Object):
    """Steps of any number of micro-batches. It takes the builder's graph as it is: nothing is built on it afterwards.
    The options are the fields of hn_trainer_options (hone/train.h)."""

    def __init__(self, builder: Builder, loss: Node, params: Sequence[Node], **options: Any) -> None:
        self.builder = builder
        self._shapes = [param.shape for param in params]
        unknown = set(options) - {name for name, _ in _c.hn_trainer_options._fields_}
        if unknown:
            raise TypeError(f"{sorted(unknown)[0]}: expected a field of hn_trainer_options")
        nodes, parent, made = builder._nodes([loss, *params]), builder._holds(), fill(_c.hn_trainer_options, **options)
        params_of = (ctypes.POINTER(_c.hn_node) * len(params))(*nodes[1:])
        self._make(lambda out: c.hn_trainer_new(out, parent.get(), nodes[0], len(params), params_of, made),
                   _c.hn_trainer, c.hn_trainer_free, parent, builder.engine._run)

    def _long(self, call: Any) -> None:
        handle = self._holds()

        def run() -> None:
            with handle.use() as trainer:
                check(call(trainer))

        self.builder.engine._run(run)

    def write(self, leaf: Node, data: Any) -> None:
        given, nodes = _bytes(data, leaf.type), self.builder._nodes([leaf])
        with self._use() as trainer:
            check(c.hn_trainer_write(trainer, nodes[0], given, len(given)))

    def read(self, leaf: Node) -> memoryview[Any]:
        return _read_leaf(self, leaf, c.hn_trainer_read)

    def extent(self, extent: int, size: int) -> None:
        with self._use() as trainer:
            check(c.hn_trainer_extent(trainer, extent, size))

    def begin(self) -> None:
        with self._use() as trainer:
            check(c.hn_trainer_begin(trainer))

    def micro(self) -> None:
        self._long(c.hn_trainer_micro)

    def scan(self) -> None:
        """After a micro-batch whose outcome was not finite: names the first bad tensor and op."""
        self._long(c.hn_trainer_scan)

    def finish(self, learning_rate: float) -> tuple[float, float]:
        """(loss, norm of the gradient before clipping)."""
        loss, norm = ctypes.c_double(), ctypes.c_double()
        self._long(lambda trainer: c.hn_trainer_finish(trainer, learning_rate, ctypes.byref(loss), ctypes.byref(norm)))
        return loss.value, norm.value

    def gradient(self, index: int) -> memoryview[Any]:
        """Of parameter `index`, before finish()."""
        room = (ctypes.c_float * math.prod(self._shapes[index]))()
        with self._use() as trainer:
            check(c.hn_trainer_gradient(trainer, index, room, 4 * len(room)))
        return _viewed(room, "f32", self._shapes[index])
