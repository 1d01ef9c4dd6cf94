"""``triton.tools.tensor_descriptor``: an array passed with a shape, strides and the block that a kernel moves."""

from __future__ import annotations

from typing import Any, List, Sequence

from ... import errors
from ...language._arguments import ArraySpec, spec_of


class TensorDescriptor:
    """An argument that a kernel uses as what :func:`tl.make_tensor_descriptor` gives: ``d.load([i, j])``.

    Attributes:
        base: the array. shape, strides: numbers, in elements. block_shape: may be set until the launch, by a
            configuration's hook too.
        padding: ``"zero"`` or ``"nan"``, what is read outside the shape.
    """

    def __init__(self,
                 base: Any,
                 shape: Sequence[int],
                 strides: Sequence[int],
                 block_shape: Sequence[int],
                 padding: str = "zero") -> None:
        if spec_of(base) is None:
            raise errors.InvalidArgument("a descriptor of %s; it describes an array" % type(base).__name__)
        if padding not in ("zero", "nan"):
            raise errors.InvalidArgument("padding is \"zero\" or \"nan\", not %r" % (padding,))
        self.base, self.shape, self.strides, self.block_shape, self.padding = base, list(shape), list(strides), list(
            block_shape), padding

    @staticmethod
    def from_tensor(tensor: Any, block_shape: Sequence[int], padding: str = "zero") -> "TensorDescriptor":
        """Of all of an array."""
        spec = spec_of(tensor)
        if spec is None:
            raise errors.InvalidArgument("a descriptor of %s; it describes an array" % type(tensor).__name__)
        pitch = 1
        strides: List[int] = []
        for n in reversed(spec.shape):
            strides.insert(0, pitch)
            pitch *= n
        return TensorDescriptor(tensor, spec.shape, spec.strides or strides, block_shape, padding)

    @property
    def kiln_array(self) -> Any:
        return self.base

    def kiln_spec(self) -> ArraySpec:
        spec = spec_of(self.base)
        assert spec is not None
        numbers = [tuple(int(n) for n in part) for part in (self.shape, self.strides, self.block_shape)]
        return ArraySpec(spec.dtype, spec.shape, spec.strides, (*numbers, self.padding))
