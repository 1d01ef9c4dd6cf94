"""What authors of TileLang's style write that is no operation: element types, sizes by name, annotations, policies."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

from ..language._types import Buffer, Symbol, as_dtype

_LANES: Dict[str, int] = {
    "float64": 64,
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "int64": 64,
    "int32": 32,
    "int16": 16,
    "int8": 8,
    "uint64": 64,
    "uint32": 32,
    "uint16": 16,
    "uint8": 8,
    "bool": 8,
    "tfloat32": 32,
    "float8_e4m3": 8,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
    "float4_e2m1_unpacked": 8,
    "int4": 4,
    "uint4": 4,
    "int2": 2,
    "uint2": 2,
    "uint1": 1,
    "int1": 1,
    "handle": 64,
}
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "uint": "uint32",
    "fp16": "float16",
    "fp32": "float32",
    "bf16": "bfloat16",
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
    "boolean": "bool",
}


def canonical(name: str) -> str:
    """The one long name of an element type that has several."""
    name = name.replace("torch.", "")
    known = as_dtype(name)
    return known.long_name if known is not None else _ALIASES.get(name, name)


class dtype(str):
    """An element type: its name, a string, that can be called in a kernel to convert: ``T.float32(x)``.

    Attributes:
        bits: of one element.
    """

    def __new__(cls, value: Any) -> "dtype":
        if not isinstance(value, str):
            found = as_dtype(value)
            if found is None:
                raise TypeError("%r is no element type" % (value,))
            value = found.long_name
        return super().__new__(cls, canonical(value))

    @property
    def bits(self) -> int:
        return _LANES[str(self)]

    @property
    def bytes(self) -> int:
        return (self.bits + 7) // 8

    itemsize = bytes

    def as_torch(self) -> Any:
        """PyTorch's type of that name."""
        import torch

        return getattr(torch, str(self))

    @property
    def lanes(self) -> int:
        return 1

    def __call__(self, value: Any = 0) -> Any:
        """Outside kernels: the number itself, as Python has it."""
        return float(value) if self.startswith(("float", "bfloat", "tfloat")) else value

    def __eq__(self, other: object) -> bool:
        return (
            str.__eq__(self, canonical(other))
            if isinstance(other, str)
            else as_dtype(other) is not None and as_dtype(other) == as_dtype(self)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return "T." + str(self)


class Size:
    """A size by name, or arithmetic on such sizes, in the Python code around a kernel; kernels know it as an index.

    Attributes:
        symbol: of a size by name.
        op, parts: of arithmetic: an operator of Python, ``ceildiv``, ``min`` or ``max``, and its operands.
    """

    __slots__ = ("symbol", "op", "parts")

    def __init__(self, symbol: Optional[Symbol] = None, op: str = "", parts: Tuple[Any, ...] = ()) -> None:
        self.symbol, self.op, self.parts = symbol, op, parts

    @property
    def name(self) -> str:
        return self.symbol.name if self.symbol is not None else ""

    def __bool__(self) -> bool:
        raise TypeError(
            "a size that is not known here cannot decide a condition; decide inside the kernel, or pass the number"
        )

    def __repr__(self) -> str:
        return self.name or "(%s)" % (" %s " % self.op).join(map(str, self.parts))


def _arithmetic(op: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def apply(self: Size, other: Any) -> Any:
        if not isinstance(other, (int, Size)):
            return NotImplemented
        return Size(op=op, parts=(other, self) if swapped else (self, other))

    return apply


for _method, _op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("floordiv", "//"), ("mod", "%")):
    setattr(Size, "__%s__" % _method, _arithmetic(_op, False))
    setattr(Size, "__r%s__" % _method, _arithmetic(_op, True))


def dynamic(name: str, dtype: Any = "int32") -> Any:  # noqa: A002 - TileLang's name
    """A size that is an argument of the kernel: one code object for all values. ``"m, n"`` gives two."""
    names = [part.strip() for part in name.split(",") if part.strip()]
    made = tuple(Size(Symbol(part, dynamic=True)) for part in names)
    return made[0] if len(made) == 1 else made


class Tensor(Buffer):
    """The annotation of a tensor parameter: ``T.Tensor((M, K), T.float16)``, also ``T.Tensor[(M, K), "float16"]``.

    Args:
        shape: an extent an axis: an integer, or a size by :func:`dynamic`.
        dtype: of an element.
        data: of another tensor, inside a kernel: this is that tensor seen with another shape.
        strides: in elements; without them row-major and contiguous.
    """

    __slots__ = ("given", "data")

    def __init__(self, shape: Any, dtype: Any = "float32", data: Any = None, strides: Any = None, **hints: Any) -> None:
        known = as_dtype(canonical(dtype)) if isinstance(dtype, str) else as_dtype(dtype)
        super().__init__(shape, known, strides)
        self.given, self.data = dtype, data

    def __class_getitem__(cls, items: Any) -> "Tensor":
        parts = items if isinstance(items, tuple) else (items,)
        if len(parts) == 2 and isinstance(parts[0], (tuple, list)):
            return cls(parts[0], parts[1])
        if len(parts) > 1 and isinstance(parts[-1], str):
            return cls(parts[:-1], parts[-1])
        return cls(parts)


def StridedTensor(shape: Any, strides: Any, dtype: Any = "float32") -> Tensor:
    """The annotation of a tensor parameter whose elements are ``strides`` elements apart."""
    return Tensor(shape, dtype, strides=strides)


class GemmWarpPolicy:
    """How a block's waves share a product: a hint. ``Square`` is lowering's choice."""

    Square, FullRow, FullCol = "square", "full_row", "full_col"


class PassConfigKey(str):
    """Names of TileLang's compiler settings: accepted, without effect here."""


class _PassConfigKeys(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return PassConfigKey(name.lower())


class PassConfigs(metaclass=_PassConfigKeys):
    """``tilelang.PassConfigKey.TL_…``: any name is a setting that has no effect here."""


class TensorSupplyType:
    """What a profiler fills arguments with; here all of them are seeded normals, and small integers for integer
    types.
    """

    Auto = Integer = Uniform = Normal = Randn = Zero = One = Unsigned = "auto"
