"""Arguments of parameters with strides: memory in which elements lie as far apart as the parameter says."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

from .. import errors
from .._arrays import Array
from ..language._arguments import to_numpy


class Strided(Array):
    """Memory of a tensor of ``shape`` whose neighbours are ``strides`` elements apart.

    Attributes:
        elements: a NumPy view of the tensor.
    """

    def __init__(self, client: Any, shape: Sequence[int], strides: Sequence[int], dtype: str) -> None:
        import numpy

        super().__init__(client, (1 + sum((n - 1) * s for n, s in zip(shape, strides)),), dtype)
        flat = super().numpy()
        steps = tuple(s * flat.itemsize for s in strides)
        self.elements = numpy.lib.stride_tricks.as_strided(flat, tuple(shape), steps)
        self.shape: Tuple[int, ...] = tuple(shape)

    def numpy(self) -> Any:
        """A NumPy view of the tensor."""
        return self.elements


def strided(client: Any, name: str, value: Any, shape: Sequence[int], strides: Sequence[int], dtype: str) -> Strided:
    """A copy of an array in memory with strides.

    Raises:
        errors.InvalidArgument: not an array in this process's memory, or of another shape.
    """
    source = value.numpy() if isinstance(value, Array) else to_numpy(value)
    if source is None or tuple(source.shape) != tuple(shape):
        raise errors.InvalidArgument("%s: expected an array of shape %s" % (name, list(shape)))
    made = Strided(client, shape, strides, dtype)
    made.elements[...] = source
    return made
