"""What a kernel's author writes that is no operation: element types, annotations, layouts."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union


class DType:
    """An element type. ``name`` is the program format's; calling one inside a kernel converts: ``tl.float16(x)``.

    Attributes:
        name: such as ``"f16"``.
        bytes: of one element in memory.
    """

    __slots__ = ("name", "bytes", "long_name")

    def __init__(self, name: str, nbytes: int, long_name: str) -> None:
        self.name, self.bytes, self.long_name = name, nbytes, long_name

    @property
    def is_float(self) -> bool:
        return self.name in ("f16", "bf16", "f32", "f64")

    @property
    def primitive_bitwidth(self) -> int:
        return 8 * self.bytes

    @property
    def bits(self) -> int:
        return 8 * self.bytes

    @property
    def element_ty(self) -> "DType":
        """Itself: a buffer's ``dtype`` serves as Triton's pointer type."""
        return self

    def is_fp16(self) -> bool:
        return self.name == "f16"

    def is_bf16(self) -> bool:
        return self.name == "bf16"

    def is_fp32(self) -> bool:
        return self.name == "f32"

    def __call__(self, value: Any) -> Any:
        raise RuntimeError("tl.%s(x) works inside a kernel" % self.long_name)

    def __eq__(self, other: object) -> bool:
        found = as_dtype(other)
        return found is not None and found.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return "tl." + self.long_name

    def __str__(self) -> str:
        return self.long_name


_TABLE = [("f64", 8, "float64"), ("f32", 4, "float32"), ("f16", 2, "float16"), ("bf16", 2, "bfloat16"), ("i64", 8, "int64"),
          ("i32", 4, "int32"), ("i16", 2, "int16"), ("i8", 1, "int8"), ("u64", 8, "uint64"), ("u32", 4, "uint32"),
          ("u16", 2, "uint16"), ("u8", 1, "uint8"), ("bool", 1, "bool")]
DTYPES = {name: DType(name, nbytes, long_name) for name, nbytes, long_name in _TABLE}
_BY_WORD = {word: dtype for dtype in DTYPES.values() for word in (dtype.name, dtype.long_name)}
_BY_WORD.update({"fp16": DTYPES["f16"], "fp32": DTYPES["f32"], "fp64": DTYPES["f64"], "half": DTYPES["f16"],
                 "float": DTYPES["f32"], "double": DTYPES["f64"], "int": DTYPES["i32"], "int1": DTYPES["bool"], "i1": DTYPES["bool"]})


def as_dtype(value: Any) -> Optional[DType]:
    """The element type that a DType, a word (``"float16"``, ``"f16"``, ``"fp16"``), a NumPy or a PyTorch type means."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        return _BY_WORD.get(value.replace("torch.", ""))
    if value is bool or value is float or value is int:
        return DTYPES[{"bool": "bool", "float": "f32", "int": "i32"}[value.__name__]]
    name = getattr(value, "name", None)
    if isinstance(name, str) and name in _BY_WORD:
        return _BY_WORD[name]
    if type(value).__module__.split(".")[0] in ("torch", "numpy"):
        return _BY_WORD.get(str(value).replace("torch.", ""))
    if isinstance(value, type) and value.__module__ == "numpy":
        return _BY_WORD.get(value.__name__)
    return None


class Symbol:
    """A size by name, bound when the kernel is compiled, or, if ``dynamic``, a kernel argument: one object for all values.

    Arithmetic on it is for kernels and annotations only.
    """

    __slots__ = ("name", "dynamic", "multiple_of", "min", "max")

    def __init__(self, name: str, dynamic: bool = False, multiple_of: int = 1, min: int = 0, max: Optional[int] = None) -> None:
        if not name.isidentifier():
            raise ValueError("a symbol's name is an identifier, not %r" % name)
        self.name, self.dynamic, self.multiple_of, self.min, self.max = name, dynamic, multiple_of, min, max

    def __repr__(self) -> str:
        return "tl.%s(%r)" % ("dynamic" if self.dynamic else "symbol", self.name)


class Buffer:
    """The annotation of a tensor parameter: ``tl.Buffer[M, K]``, ``tl.Buffer[M, K, tl.float16]``, ``tl.Buffer(("M", 64), "f16")``.

    Args:
        shape: an extent an axis: an integer, a name (a symbol of that name) or a symbol.
        dtype: of an element; without it the one of the first call's array, or of ``tl.compile(…, args=…)``.
        strides: in elements, without them row-major and contiguous.
    """

    __slots__ = ("shape", "dtype", "strides")

    def __init__(self, shape: Sequence[Any], dtype: Any = None, strides: Optional[Sequence[Any]] = None) -> None:
        self.shape: Tuple[Any, ...] = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.dtype = as_dtype(dtype) if dtype is not None else None
        if dtype is not None and self.dtype is None:
            raise TypeError("%r is no element type; there are %s" % (dtype, ", ".join(d.long_name for d in DTYPES.values())))
        self.strides = None if strides is None else tuple(strides)

    def __class_getitem__(cls, items: Any) -> "Buffer":
        parts = items if isinstance(items, tuple) else (items,)
        if parts and (isinstance(parts[-1], DType) or (isinstance(parts[-1], str) and len(parts) > 1 and as_dtype(parts[-1]))):
            return cls(parts[:-1], parts[-1])
        return cls(parts)

    def __repr__(self) -> str:
        return "tl.Buffer[%s]" % ", ".join([str(e) for e in self.shape] + ([repr(self.dtype)] if self.dtype else []))


class constexpr:
    """Marks a parameter as known when the kernel is compiled: ``BLOCK: tl.constexpr``; as a module-level value its ``value``."""

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, constexpr) else value

    def __index__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return "tl.constexpr(%r)" % (self.value,)


def plain(value: Any) -> Any:
    """A constexpr's value, a NumPy number as Python's; anything else as it is."""
    if isinstance(value, constexpr):
        return value.value
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value


class BlockLayout:
    """Where an element of a shared tile lies: ``shape`` with the axes in ``order`` (the fastest first), from ``origin`` on.

    ``layout(i, j)`` is the offset, in elements. A shape wider than the tile is padding.

    Attributes:
        shape: extents in memory, an axis each; at least the tile's.
        order: axes, the one whose neighbours are adjacent in memory first.
        origin: coordinates of the tile's first element.
    """

    __slots__ = ("shape", "order", "origin")

    def __init__(self, shape: Sequence[int], order: Optional[Sequence[int]] = None, origin: Optional[Sequence[int]] = None) -> None:
        self.shape = tuple(int(n) for n in shape)
        rank = len(self.shape)
        self.order = tuple(int(n) for n in order) if order is not None else tuple(reversed(range(rank)))
        self.origin = tuple(int(n) for n in origin) if origin is not None else (0,) * rank
        if sorted(self.order) != list(range(rank)):
            raise ValueError("order %r is no permutation of the %d axes of shape %r" % (self.order, rank, self.shape))
        if len(self.origin) != rank:
            raise ValueError("origin %r has not as many coordinates as shape %r" % (self.origin, self.shape))
        if any(n < 1 for n in self.shape) or any(n < 0 for n in self.origin):
            raise ValueError("extents are at least 1, coordinates at least 0: shape %r, origin %r" % (self.shape, self.origin))

    @property
    def strides(self) -> Tuple[int, ...]:
        """Elements between neighbours along each axis."""
        strides, step = [0] * len(self.shape), 1
        for axis in self.order:
            strides[axis] = step
            step *= self.shape[axis]
        return tuple(strides)

    def __call__(self, *index: int) -> int:
        if len(index) != len(self.shape):
            raise ValueError("%d coordinates for a layout of %d axes" % (len(index), len(self.shape)))
        return sum((i + o) * s for i, o, s in zip(index, self.origin, self.strides))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockLayout) and (self.shape, self.order, self.origin) == (other.shape, other.order, other.origin)

    def __hash__(self) -> int:
        return hash((self.shape, self.order, self.origin))

    def __repr__(self) -> str:
        return "tl.make_block_layout(shape=%r, order=%r, origin=%r)" % (self.shape, self.order, self.origin)


class Swizzle:
    """A shared tile's chunks of ``chunk_bytes`` exchanged by row: chunk index XOR (row // row_divisor) % rows_mod."""

    __slots__ = ("chunk_bytes", "row_divisor", "rows_mod")

    def __init__(self, chunk_bytes: int = 16, row_divisor: int = 1, rows_mod: int = 8) -> None:
        self.chunk_bytes, self.row_divisor, self.rows_mod = chunk_bytes, row_divisor, rows_mod


class Builtin:
    """An operation of the kernel language: read by the front end, never run.

    Attributes:
        name: as in the language's table of operations, such as ``"load"``; ``T.`` in front for TileLang's.
    """

    def __init__(self, function: Any, name: str) -> None:
        import functools

        functools.update_wrapper(self, function)
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("%s works inside a kernel: functions marked as kernels are read, not run" % self.name)

    def __repr__(self) -> str:
        return "<kiln operation %s>" % self.name


class Value:
    """An attribute-like built-in, such as ``tl.sequence_length``: its ``name`` is looked up when a kernel is read."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __repr__(self) -> str:
        return "<kiln value %s>" % self.name


class Tensor:
    """What a kernel computes with, for type checkers and readers: a tile, or one number of it. None is ever made.

    Attributes:
        shape: an extent an axis; () for one number.
        dtype: of an element.
        T: with its two axes exchanged.
    """

    shape: Tuple[Any, ...]
    dtype: DType
    T: "Tensor"

    def to(self, dtype: Any, bitcast: bool = False) -> "Tensor":
        """Converted to ``dtype``; with ``bitcast`` the same bits."""
        raise NotImplementedError

    def _operator(self, *_: Any) -> "Tensor":
        raise NotImplementedError

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = _operator
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __neg__ = __invert__ = __matmul__ = __pow__ = __getitem__ = _operator
    __lt__ = __le__ = __gt__ = __ge__ = _operator


Operand = Union[Tensor, int, float, bool]
Shape = Union[int, Sequence[Any]]
DTypeLike = Union[DType, str]
LayoutLike = Union[BlockLayout, Swizzle, str]
