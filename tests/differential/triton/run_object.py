"""Runs one case's code object on the emulated card of this process and compares; started by triton_objects_test.py.

    KILN_EMULATOR_TARGETS=gfx942 python3 run_object.py LIBRARY OBJECT CASE RECORD SEED

LIBRARY: the emulated libamdhip64. RECORD: what kernels.py noted of the object, as JSON. Each array gets an allocation
of its own, so that one element too far is a fault. Prints nothing and ends with 0 when all launches gave what they
have to.
"""

import ctypes
import json
import sys
import zlib

import numpy as np

import cases


class Card:
    def __init__(self, library):
        self.hip = ctypes.CDLL(library)

    def call(self, name, *arguments):
        status = getattr(self.hip, name)(*arguments)
        if status != 0:
            text = ctypes.create_string_buffer(1 << 16)
            words = []
            for source in ("kiln_emulator_message", "kiln_emulator_report"):
                getattr(self.hip, source)(text, ctypes.c_size_t(len(text)))
                words.append(text.value.decode(errors="replace"))
            sys.exit(f"{name}: status {status}: {' '.join(words)}")

    def upload(self, array):
        pointer = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        self.call("hipMemcpyHtoD", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return pointer

    def download(self, pointer, array):
        copy = np.empty_like(array)
        self.call("hipMemcpyDtoH", ctypes.c_void_p(copy.ctypes.data), pointer, ctypes.c_size_t(copy.nbytes))
        self.call("hipFree", pointer)
        return copy

    def launch(self, function, record, grid, values):
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        grid = [*grid, 1, 1][:3]
        shape = map(ctypes.c_uint, (*grid, record["threads"], 1, 1, record["lds_bytes"]))
        self.call("hipModuleLaunchKernel", function, *shape, None, pointers, None)
        self.call("hipDeviceSynchronize")


def run(card, function, record, launch):
    grid, arguments, check = launch
    held = [card.upload(np.ascontiguousarray(one)) if isinstance(one, np.ndarray) else None for one in arguments]
    values = []
    for one, pointer in zip(arguments, held):
        number = ctypes.c_float(one) if isinstance(one, float) else ctypes.c_int32(one) if pointer is None else pointer
        values.append(number)
    # Triton's convention: behind the kernel's own arguments, memory for the launch and memory for a profiler.
    scratch = record["scratch_bytes"] * int(np.prod(grid))
    room = card.upload(np.zeros(scratch, np.uint8)) if scratch else ctypes.c_void_p()
    card.launch(function, record, grid, [*values, room, ctypes.c_void_p()])
    check([one if pointer is None else card.download(pointer, one) for one, pointer in zip(arguments, held)])


def main():
    library, path, name, record, seed = sys.argv[1:]
    record = json.loads(record)
    case = next(one for one in cases.CASES if one.name == name)
    card = Card(library)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with open(path, "rb") as file:
        data = file.read()
    card.call("hipModuleLoadData", ctypes.byref(module), data)
    card.call("hipModuleGetFunction", ctypes.byref(function), module, record["name"].encode())
    random = np.random.default_rng([int(seed), zlib.crc32(name.encode())])
    launches = 0
    for launch in case.runs(record["target"], random):
        run(card, function, record, launch)
        launches += 1
    if launches == 0:
        sys.exit("no launch")


main()
