"""Memory that client and daemon share: one sealed memfd an array."""

from __future__ import annotations

import math
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, List, Optional, Sequence, Tuple

    from . import Client

#: Bytes of an element, and the struct format where the standard library has one.
DTYPES = {"f64": (8, "d"), "f32": (4, "f"), "f16": (2, "e"), "bf16": (2, None), "i64": (8, "q"), "i32": (4, "i"), "i16": (2, "h"),
          "i8": (1, "b"), "u64": (8, "Q"), "u32": (4, "I"), "u16": (2, "H"), "u8": (1, "B"), "bool": (1, "?")}
_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "uint16", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}
_FROM_NUMPY = {v: k for k, v in _NUMPY.items() if k != "bf16"}
_F_ADD_SEALS, _F_SEAL_SHRINK, _F_SEAL_GROW = 1033, 2, 4


class Array:
    """A row-major tensor in shared memory, registered with the daemon. Both sides see the same bytes; nothing is copied.

    Attributes:
        shape, dtype: as given; ``dtype`` is one of the protocol's type names (``f16``, ``bf16``, ``f32`` …).
        buffer: the daemon's id of the memory.
        memory: a writable ``memoryview`` of the bytes.
    """

    def __init__(self, client: "Client", shape: Sequence[int], dtype: str) -> None:
        import fcntl
        import mmap

        if dtype not in DTYPES:
            raise ValueError("unknown dtype %r; there are %s" % (dtype, ", ".join(DTYPES)))
        self.shape: Tuple[int, ...] = tuple(int(n) for n in shape)
        if any(n < 0 for n in self.shape):
            raise ValueError("negative extent in shape %r" % (self.shape,))
        self.dtype = dtype
        self.size = math.prod(self.shape)
        self.nbytes = self.size * DTYPES[dtype][0]
        self._client = client
        fd = os.memfd_create("kiln-array", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, max(self.nbytes, 1))
            fcntl.fcntl(fd, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_GROW)
            self._map = mmap.mmap(fd, max(self.nbytes, 1))
            answer, _ = client.connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])
        finally:
            os.close(fd)
        self.buffer: int = answer["buffer"]
        self.memory = memoryview(self._map)[: self.nbytes]

    def numpy(self) -> Any:
        """A NumPy view of the same memory (bf16 as ``uint16`` bits)."""
        import numpy

        return numpy.frombuffer(self.memory, dtype=_NUMPY[self.dtype]).reshape(self.shape)

    def tolist(self) -> List[Any]:
        """The elements, flat and row-major, as Python numbers."""
        if self.dtype == "bf16":
            return [struct.unpack("<f", b"\0\0" + self.memory[i : i + 2].tobytes())[0] for i in range(0, self.nbytes, 2)]
        return list(struct.unpack("<%d%s" % (self.size, DTYPES[self.dtype][1]), self.memory))

    def fill_from(self, values: Iterable[float]) -> "Array":
        """Writes elements, flat and row-major; as many as the array has."""
        items = list(values)
        if len(items) != self.size:
            raise ValueError("%d values for an array of %d elements" % (len(items), self.size))
        if self.dtype == "bf16":
            for i, v in enumerate(items):
                bits = struct.unpack("<I", struct.pack("<f", v))[0]
                if v == v:
                    bits += 0x7FFF + ((bits >> 16) & 1)
                self.memory[2 * i : 2 * i + 2] = struct.pack("<H", (bits >> 16) & 0xFFFF)
        else:
            self.memory[:] = struct.pack("<%d%s" % (self.size, DTYPES[self.dtype][1]), *items)
        return self

    def free(self) -> None:
        """Gives the memory back; the daemon answers when launches in flight are done."""
        if self.buffer:
            self._client.connection.call("buffer.unregister", {"buffer": self.buffer})
            self.buffer = 0

    def __repr__(self) -> str:
        return "kiln.Array(shape=%r, dtype=%r, buffer=%d)" % (self.shape, self.dtype, self.buffer)


def numpy_dtype_name(dtype: Any) -> Optional[str]:
    """The protocol's name of a NumPy dtype."""
    return _FROM_NUMPY.get(str(dtype))
