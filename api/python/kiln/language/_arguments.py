"""Arguments of a call: NumPy arrays, PyTorch tensors, anything with DLPack, Kiln's own arrays, numbers."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

from .. import errors
from .._arrays import Array, numpy_dtype_name
from ._types import DTYPES, as_dtype, plain


class ArraySpec:
    """What a kernel needs to know of an array.

    Attributes:
        dtype: of its elements, a DType's name. shape: extents, numbers or names.
        strides: in elements, None when it is row-major and contiguous.
        described: of a tensor descriptor: (shape, strides, block, padding), else None.
        owner: of an argument over the memory of others: the one whose parameter stands for all; this one begins ``offset``
            elements into it.
    """

    __slots__ = ("dtype", "shape", "strides", "described", "owner", "offset")

    def __init__(self, dtype: str, shape: Tuple[Any, ...], strides: Optional[Tuple[int, ...]] = None, described: Any = None) -> None:
        self.dtype, self.shape, self.strides, self.described = dtype, tuple(shape), strides, described
        self.owner: Optional[str] = None
        self.offset = 0

    def shared(self, owner: str, offset: int) -> "ArraySpec":
        """The same array, over memory that the parameter ``owner`` stands for."""
        made = ArraySpec(self.dtype, self.shape, self.strides, self.described)
        made.owner, made.offset = owner, offset
        return made

    @property
    def memory(self) -> Optional[int]:
        """Elements from the first to the last in memory, None where they are the shape's, or an axis runs backwards."""
        return None if self.strides is None or min(self.strides) < 0 else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))

    def __repr__(self) -> str:
        return "%s[%s]" % (self.dtype, ", ".join(map(str, self.shape)))


def spec_of(value: Any) -> Optional[ArraySpec]:
    """The array that a value is, None if it is none. A spec stands for itself, and so does ``"f16[64, 128]"``."""
    if isinstance(value, ArraySpec):
        return value
    if isinstance(value, str):
        return parse_spec(value)
    if isinstance(value, Array):
        return ArraySpec(value.dtype, value.shape)
    told = getattr(value, "kiln_spec", None)
    if told is not None:
        return told()
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None or isinstance(shape, property):
        return None
    name = numpy_dtype_name(dtype)
    if name is None:
        found = as_dtype(dtype)
        if found is None:
            raise errors.InvalidArgument("arrays of %s have no equal here; there are %s" % (dtype, ", ".join(d.long_name for d in DTYPES.values())))
        name = found.name
    return ArraySpec(name, tuple(int(n) for n in shape), _strides(value))


def _strides(value: Any) -> Optional[Tuple[int, ...]]:
    """Strides in elements of a NumPy array or a tensor that is not row-major and contiguous; empty ones are."""
    if 0 in tuple(value.shape):
        return None
    if hasattr(value, "is_contiguous"):
        return None if value.is_contiguous() else tuple(int(s) for s in value.stride())
    flags, strides = getattr(value, "flags", None), getattr(value, "strides", None)
    if strides is None or getattr(flags, "c_contiguous", True):
        return None
    return tuple(int(s) // value.itemsize for s in strides)


def memory_of(name: str, value: Any) -> Any:
    """The memory that an array's elements lie in, as one axis: what a kernel sees that addresses it by pointer and strides.

    Raises:
        errors.InvalidArgument: an axis runs backwards.
    """
    spec = spec_of(value)
    if spec is None or spec.strides is None:
        return value
    if min(spec.strides) < 0:
        raise errors.InvalidArgument("%s: an axis of this array runs backwards; numpy.ascontiguousarray(%s) makes it run forwards" % (name, name))
    import numpy

    view = to_numpy(value)
    return numpy.lib.stride_tricks.as_strided(view, (spec.memory,), (view.itemsize,), writeable=view.flags.writeable)


def parse_spec(text: str) -> Optional[ArraySpec]:
    """``f16[64, seq]`` as a spec; extents are numbers or names. None if the text is something else."""
    head, bracket, rest = text.partition("[")
    dtype = as_dtype(head.strip())
    if dtype is None or not bracket or not rest.rstrip().endswith("]"):
        return None
    extents: List[Any] = []
    for part in rest.rstrip()[:-1].split(","):
        word = part.strip()
        if word.isdigit():
            extents.append(int(word))
        elif word.isidentifier():
            extents.append(word)
        else:
            return None
    return ArraySpec(dtype.name, tuple(extents))


def to_numpy(value: Any) -> Any:
    """A NumPy view of an array's memory (bf16 as its 16 bits), None where there is none.

    Raises:
        errors.InvalidArgument: it lies on a card, or its elements are not readable in place.
    """
    import numpy

    if isinstance(value, numpy.ndarray):
        return value
    if type(value).__module__.split(".")[0] == "torch":
        import torch

        if value.device.type != "cpu":
            raise errors.InvalidArgument("a tensor on %s; move it with .cpu(), or hand its memory over by IPC handle" % value.device)
        if value.layout != torch.strided:
            raise errors.InvalidArgument("a tensor of layout %s; .to_dense() gives its elements in rows" % value.layout)
        plain = value.detach().resolve_conj().resolve_neg()
        return (plain.view(torch.int16).numpy().view("uint16")) if plain.dtype == torch.bfloat16 else plain.numpy()
    if hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    return None


def scalar_of(name: str, value: Any, dtype: str) -> Any:
    """A number argument of this type as JSON has it.

    Raises:
        errors.InvalidArgument: no number, one that the type does not hold, infinite or not a number.
    """
    given = plain(value)
    if not isinstance(given, (bool, int, float)):
        raise errors.InvalidArgument("%s: expected a number of type %s, found %s" % (name, dtype, type(given).__name__))
    if dtype == "bool":
        return bool(given)
    if not DTYPES[dtype].is_float:
        low = 0 if dtype.startswith("u") else -(2 ** (8 * DTYPES[dtype].bytes - 1))
        if given != given or given in (math.inf, -math.inf) or given != int(given) or not low <= given < low + 2 ** (8 * DTYPES[dtype].bytes):
            raise errors.InvalidArgument("%s: %r is no value of type %s" % (name, given, dtype))
        return int(given)
    if not math.isfinite(given):
        raise errors.InvalidArgument("%s: %r cannot be passed at a launch: compile the kernel with it, or put it into an array" % (name, given))
    return float(given)


class Staged:
    """The arrays of one call in memory that the daemon shares; results are copied back by :meth:`finish`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._back: List[Tuple[Any, Any, Any]] = []  # where to, from where, what it was where only changes go back
        self._own: List[Array] = []

    @staticmethod
    def itemsize(dtype: str) -> int:
        return DTYPES[dtype].bytes

    def span(self, memory: Any, dtype: Any) -> Any:
        """A copy of a piece of memory, bytes, that the daemon shares, as a NumPy array of ``dtype``; changes go back."""
        made = Array(self._client, memory.shape, "u8")
        self._own.append(made)
        copy = made.numpy()
        copy[...] = memory
        self._back.append((memory, copy, memory.copy()))
        return copy.view(dtype)

    def array(self, name: str, value: Any, dtype: str, shape: Tuple[int, ...], written: bool, by_axes: bool = True,
              gaps: bool = False) -> Array:
        """The argument for a tensor parameter of this type and shape; one that is addressed by pointer, not ``by_axes``, may have
        its elements under any shape. With ``gaps`` there is memory of others between its elements: only what changes goes back.

        Raises:
            errors.InvalidArgument: another type or shape, not contiguous and written, read-only and written.
        """
        spec = spec_of(value)
        if spec is None:
            raise errors.InvalidArgument("%s: expected an array of %s%s, found %s" % (name, dtype, list(shape), type(value).__name__))
        if spec.dtype != dtype and not (dtype == "bf16" and spec.dtype == "u16"):
            raise errors.InvalidArgument("%s: expected elements of %s, found %s; convert it: %s.astype(…)" % (name, dtype, spec.dtype, name))
        if spec.shape != shape and (by_axes or math.prod(spec.shape) != math.prod(shape)):
            raise errors.InvalidArgument("%s: expected shape %s, found %s" % (name, list(shape), list(spec.shape)))
        if isinstance(value, Array):
            return value
        import numpy

        view = to_numpy(value)
        if view is None:
            raise errors.InvalidArgument("%s: %s is neither a NumPy array nor has it DLPack" % (name, type(value).__name__))
        if written and not view.flags.writeable:
            raise errors.InvalidArgument("%s is written, and this array is read-only" % name)
        shared = Array.over(self._client, view, dtype)
        if shared is not None:
            return shared
        if written and not view.flags.c_contiguous and spec.shape != shape:
            raise errors.InvalidArgument("%s is written and is not contiguous; numpy.ascontiguousarray(…) makes it so" % name)
        made = Array(self._client, view.shape, dtype)
        self._own.append(made)
        made.numpy()[...] = view
        if written:
            self._back.append((view, made.numpy(), numpy.array(view) if gaps else None))
        return made

    def finish(self) -> None:
        for view, result, before in self._back:
            if before is None:
                view[...] = result
                continue
            import numpy

            bits = "u%d" % result.itemsize
            numpy.copyto(view, result, where=result.view(bits) != before.view(bits))
        self.free()

    def free(self) -> None:
        for array in self._own:
            array.free()
        self._own, self._back = [], []
