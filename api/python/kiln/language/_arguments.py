"""Arguments of a call: NumPy arrays, PyTorch tensors, anything with DLPack, Kiln's own arrays, numbers."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

from .. import errors
from .._arrays import Array, numpy_dtype_name
from ._types import DTYPES, as_dtype


class ArraySpec:
    """What a kernel needs to know of an array.

    Attributes:
        dtype: of its elements, a DType's name. shape: extents, numbers or names.
        strides: in elements, None when it is row-major and contiguous.
        described: of a tensor descriptor: (shape, strides, block, padding), else None.
    """

    __slots__ = ("dtype", "shape", "strides", "described")

    def __init__(self, dtype: str, shape: Tuple[Any, ...], strides: Optional[Tuple[int, ...]] = None, described: Any = None) -> None:
        self.dtype, self.shape, self.strides, self.described = dtype, tuple(shape), strides, described

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


class Staged:
    """The arrays of one call in memory that the daemon shares; results are copied back by :meth:`finish`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._back: List[Tuple[Any, Array]] = []
        self._own: List[Array] = []

    def array(self, name: str, value: Any, dtype: str, shape: Tuple[int, ...], written: bool, by_axes: bool = True) -> Array:
        """The argument for a tensor parameter of this type and shape; one that is addressed by pointer, not ``by_axes``, may have
        its elements under any shape.

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
            self._back.append((view, made))
        return made

    def finish(self) -> None:
        for view, array in self._back:
            view[...] = array.numpy()
        self.free()

    def free(self) -> None:
        for array in self._own:
            array.free()
        self._own, self._back = [], []
