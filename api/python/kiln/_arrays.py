"""Memory that client and daemon share: one sealed memfd an array."""

from __future__ import annotations

import math
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

    from . import Client
    from ._connection import Connection

#: Bytes of an element, and the struct format where the standard library has one.
DTYPES = {"f64": (8, "d"), "f32": (4, "f"), "f16": (2, "e"), "bf16": (2, None), "i64": (8, "q"), "i32": (4, "i"), "i16": (2, "h"),
          "i8": (1, "b"), "f8e4m3fn": (1, None), "f8e4m3fnuz": (1, None), "f8e5m2": (1, None), "f8e5m2fnuz": (1, None),
          "u64": (8, "Q"), "u32": (4, "I"), "u16": (2, "H"), "u8": (1, "B"), "bool": (1, "?")}
_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "uint16", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}
_FROM_NUMPY = {v: k for k, v in _NUMPY.items() if k != "bf16"}
_NUMPY.update((name, "uint8") for name in DTYPES if name.startswith("f8"))
_ALIGNMENT = 16  # bytes: the most that a kernel expects of a tensor's first element
_F_ADD_SEALS, _F_SEAL_SHRINK, _F_SEAL_GROW = 1033, 2, 4


def _new_memory(connection: Connection, nbytes: int) -> Any:
    """A registered mapping, with its ``registration``, that is given back when the last view of it is gone."""
    import fcntl
    import mmap
    import weakref

    global _Memory
    if _Memory is None:
        _Memory = type("Memory", (mmap.mmap,), {"__module__": __name__})
    size = max(nbytes, 1)
    fd = os.memfd_create("kiln-array", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_GROW)
        memory = _Memory(fd, size)
        memory.registration = connection.register(fd)
    except BaseException:
        os.close(fd)
        raise
    weakref.finalize(memory, connection.drop, memory.registration).atexit = False
    return memory


_Memory: Optional[type] = None  # made with the first array: mmap is not needed before


class Array:
    """A row-major tensor in shared memory, registered with the daemon. Both sides see the same bytes; nothing is copied.

    The memory is given back by :meth:`free`, or when the array and every view of it (``numpy()``, ``memory``) are gone.

    Attributes:
        shape, dtype: as given; ``dtype`` is one of the protocol's type names (``f16``, ``bf16``, ``f32`` …).
        buffer: the daemon's id of the memory, 0 when it was given back. Another one after the daemon was started again.
        offset: the first element's place in that memory, in bytes.
        memory: a writable ``memoryview`` of the bytes.
    """

    def __init__(self, client: "Client", shape: Sequence[int], dtype: str) -> None:
        self._describe(client, shape, dtype)
        self._map = _new_memory(client.connection, self.nbytes)
        self._held = True
        self.memory = memoryview(self._map)[: self.nbytes]

    def _describe(self, client: "Client", shape: Sequence[int], dtype: str) -> None:
        if dtype not in DTYPES:
            raise ValueError("unknown dtype %r; there are %s" % (dtype, ", ".join(DTYPES)))
        self.shape: Tuple[int, ...] = tuple(int(n) for n in shape)
        if any(n < 0 for n in self.shape):
            raise ValueError("negative extent in shape %r" % (self.shape,))
        self.dtype = dtype
        self.size = math.prod(self.shape)
        self.nbytes = self.size * DTYPES[dtype][0]
        self.offset = 0
        self._client = client

    @classmethod
    def over(cls, client: "Client", view: Any, dtype: str) -> Optional["Array"]:
        """An array on the memory of a NumPy view of another array; None when the view's memory has to be copied: it is not this
        client's, not contiguous, not writable, of another type, or not aligned as kernels expect."""
        import numpy

        memory = _memory_under(view)
        alike = view.flags.c_contiguous and view.flags.writeable and view.size > 0 and str(view.dtype) == _NUMPY.get(dtype)
        if memory is None or not alike:
            return None
        start = numpy.frombuffer(memory, dtype="uint8").__array_interface__["data"][0]
        offset = view.__array_interface__["data"][0] - start
        if offset % _ALIGNMENT != 0 or not client.connection.share(memory.registration):
            return None
        made = cls.__new__(cls)
        made._describe(client, view.shape, dtype)
        made.offset, made._map, made._held = offset, memory, True
        made.memory = memoryview(memory)[offset : offset + made.nbytes]
        return made

    @property
    def buffer(self) -> int:
        return self._map.registration.id if self._held else 0

    def to_wire(self) -> Dict[str, int]:
        """The array as a launch's argument."""
        return {"buffer": self.buffer, "offset": self.offset} if self.offset else {"buffer": self.buffer}

    def numpy(self) -> Any:
        """A NumPy view of the same memory (bf16 as ``uint16`` bits, floats of 8 bits as ``uint8``)."""
        import numpy

        return numpy.frombuffer(self.memory, dtype=_NUMPY[self.dtype]).reshape(self.shape)

    def tolist(self) -> List[Any]:
        """The elements, flat and row-major, as Python numbers."""
        if self.dtype == "bf16":
            return [struct.unpack("<f", b"\0\0" + self.memory[i : i + 2].tobytes())[0] for i in range(0, self.nbytes, 2)]
        if self.dtype.startswith("f8"):
            from ._float8 import values

            table = values(self.dtype)
            return [table[code] for code in self.memory]
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
        elif self.dtype.startswith("f8"):
            from ._float8 import code

            self.memory[:] = bytes(code(self.dtype, v) for v in items)
        else:
            self.memory[:] = struct.pack("<%d%s" % (self.size, DTYPES[self.dtype][1]), *items)
        return self

    def free(self) -> None:
        """Gives the memory back, unless other arrays lie on it; the daemon answers when launches in flight are done."""
        if self._held:
            self._client.connection.release(self._map.registration)
            self._held = False

    def __repr__(self) -> str:
        return "kiln.Array(shape=%r, dtype=%r, buffer=%d)" % (self.shape, self.dtype, self.buffer)


def numpy_dtype_name(dtype: Any) -> Optional[str]:
    """The protocol's name of a NumPy dtype."""
    return _FROM_NUMPY.get(str(dtype))


def _memory_under(view: Any) -> Any:
    """The mapping that a NumPy view lies on, where that is one of ours."""
    base = view
    while base is not None and not isinstance(base, memoryview):
        base = getattr(base, "base", None)
    return base.obj if base is not None and hasattr(base.obj, "registration") else None
