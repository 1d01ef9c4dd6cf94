"""A HIP program in Python: the emulated card's library through ctypes, as a process of its own uses it. Run as a script it is a
second process that owns memory and an event: it prints their handles and lives until its input ends, or it is killed."""

import ctypes
import os
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("KILN_BIN", os.path.join(ROOT, "build", "bin"))
LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
CORPUS = os.path.join(ROOT, "tests", "unit", "emulator", "corpus", "launch_gfx942.co")
INTERPROCESS = 2 | 4  # hipEventDisableTiming | hipEventInterprocess
DMA_BUF = 1           # hipMemRangeHandleTypeDmaBufFd


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]

    def hex(self):
        return bytes(self.bytes).hex()

    @classmethod
    def of(cls, text):
        return cls.from_buffer_copy(bytes.fromhex(text))


class HipError(Exception):
    pass


class Hip:
    """The library, on one card; calls by name raise HipError."""

    def __init__(self, targets="gfx942"):
        os.environ["KILN_EMULATOR_TARGETS"] = targets
        self.library = ctypes.CDLL(LIBRARY)
        self.library.hipGetErrorString.restype = ctypes.c_char_p
        self.call("hipSetDevice", 0)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise HipError("%s: %s" % (name, self.library.hipGetErrorString(code).decode()))

    def alloc(self, size):
        pointer = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def floats(self, values):
        """Memory of the card that holds f32 values."""
        data = struct.pack("<%df" % len(values), *values)
        pointer = self.alloc(len(data))
        self.call("hipMemcpyHtoD", pointer, data, ctypes.c_size_t(len(data)))
        return pointer

    def read_floats(self, pointer, count):
        data = ctypes.create_string_buffer(count * 4)
        self.call("hipMemcpyDtoH", data, pointer, ctypes.c_size_t(count * 4))
        return list(struct.unpack("<%df" % count, data.raw))

    def memory_handle(self, pointer):
        handle = Handle()
        self.call("hipIpcGetMemHandle", ctypes.byref(handle), pointer)
        return handle.hex()

    def open_memory(self, text):
        pointer = ctypes.c_void_p()
        self.call("hipIpcOpenMemHandle", ctypes.byref(pointer), Handle.of(text), ctypes.c_uint(1))
        return pointer

    def descriptor(self, pointer, size):
        fd = ctypes.c_int(-1)
        self.call("hipMemGetHandleForAddressRange", ctypes.byref(fd), pointer, ctypes.c_size_t(size), DMA_BUF, ctypes.c_ulonglong(0))
        return fd.value

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("hipStreamCreateWithFlags", ctypes.byref(stream), ctypes.c_uint(1))
        return stream

    def event(self):
        event = ctypes.c_void_p()
        self.call("hipEventCreateWithFlags", ctypes.byref(event), ctypes.c_uint(INTERPROCESS))
        return event

    def event_handle(self, event):
        handle = Handle()
        self.call("hipIpcGetEventHandle", ctypes.byref(handle), event)
        return handle.hex()

    def record(self, event, stream):
        self.call("hipEventRecord", event, stream)

    def busy(self):
        """A stream whose kernel runs until the flag that comes with it is set."""
        flag = ctypes.c_void_p()
        self.call("hipHostMalloc", ctypes.byref(flag), ctypes.c_size_t(4), ctypes.c_uint(0))
        word = ctypes.c_uint32.from_address(flag.value)
        word.value = 0
        with open(CORPUS, "rb") as file:
            image = file.read()
        module, function, stream = ctypes.c_void_p(), ctypes.c_void_p(), self.stream()
        self.call("hipModuleLoadData", ctypes.byref(module), image)
        self.call("hipModuleGetFunction", ctypes.byref(function), module, b"endless")
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(flag))
        one, none = ctypes.c_uint(1), ctypes.c_uint(0)
        self.call("hipModuleLaunchKernel", function, one, one, one, ctypes.c_uint(64), one, one, none, stream, parameters, None)
        return stream, word


def main():
    hip = Hip()
    memory = hip.floats([1.0] * int(sys.argv[1]))
    stream, _ = hip.busy()
    event = hip.event()
    hip.record(event, stream)
    print(hip.memory_handle(memory), hip.event_handle(event), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
