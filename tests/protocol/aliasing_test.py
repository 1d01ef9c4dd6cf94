"""Parameters that may lie in one memory: what a launch writes through one of them it reads through the other, in the program's order."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ServiceCase

import numpy


def program(body, threads=64):
    tensors = [{"name": name, "dtype": "f32", "shape": ["N"], "access": access, "may_alias": True}
               for name, access in (("X", "read"), ("Y", "write"))]
    return {"kiln": "tile/1", "name": "aliased", "symbols": ["N"], "params": tensors,
            "launches": [{"grid": ["1"], "threads": threads, "body": body}]}


IN_PLACE = program([{"op": "map", "index": ["i"], "extent": ["N"], "body": [{"set": "Y[i]", "value": "X[i] * 2"}]}])

# The second statement reads what other threads wrote in the first.
REVERSED = program([
    {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["N"]},
    {"op": "map", "index": ["i"], "extent": ["N"], "body": [{"set": "Y[i]", "value": "cast(i, f32)"}]},
    {"op": "map", "index": ["i"], "extent": ["N"], "body": [{"set": "t[i]", "value": "X[N - 1 - i]"}]},
    {"op": "map", "index": ["i"], "extent": ["N"], "body": [{"set": "Y[i]", "value": "t[i] + 1"}]}], threads=256)


class Aliasing(ServiceCase):
    def test_one_memory_for_two_parameters(self):
        client = self.service.client()
        for text, sizes, wanted in ((IN_PLACE, (1, 8, 64, 300), lambda x: x * 2),
                                    (REVERSED, (8, 256, 1000), lambda x: numpy.arange(len(x), dtype="f4")[::-1] + 1)):
            for n in sizes:
                for device in ("host", "emu:gfx942", "emu:gfx1100"):
                    target = "host" if device == "host" else device[4:]
                    kernel = client.compile(text, target, N=n)
                    memory = client.empty((n,), "f32")
                    memory.numpy()[:] = numpy.arange(n) + 3
                    before = memory.numpy().copy()
                    kernel(X=memory, Y=memory, device=device)
                    numpy.testing.assert_array_equal(memory.numpy(), wanted(before), "%d on %s" % (n, device))
        client.close()


if __name__ == "__main__":
    unittest.main()
