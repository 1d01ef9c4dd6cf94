"""Client.tune and what compiles make of it."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ServiceCase

COPY = {"kiln": "tile/1", "name": "copy_row", "symbols": ["N"],
        "params": [{"name": "X", "dtype": "f32", "shape": ["N"], "access": "read"}, {"name": "Y", "dtype": "f32", "shape": ["N"], "access": "write"}],
        "tunables": {"B": {"default": "64", "candidates": [16, 32]}},
        "launches": [{"grid": ["ceildiv(N, B)"], "threads": "64", "body": [
            {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["B"]},
            {"op": "copy", "from": "X[bid.x * B:]", "to": "t"}, {"op": "copy", "from": "t", "to": "Y[bid.x * B:]"}]}]}


class Tune(ServiceCase):
    def test_the_best_is_what_later_compiles_take(self):
        client = self.service.client()
        self.assertEqual(client.compile(COPY, N=100).tuning, "default")
        stages = []
        tuned = client.tune(COPY, N=100, candidates=[{"name": "small", "set": {"B": 16}}], rounds_max=1, progress=lambda p: stages.append(p["stage"]))
        self.assertEqual((tuned["winner"], tuned["ranked_by"]), ("small", "time"))
        kernel = client.compile(COPY, N=100)
        self.assertEqual(kernel.tuning["set"], {"B": "16"})
        self.assertEqual(kernel.key, client.compile(COPY, N=100, B=16).key)
        self.assertEqual(client.compile(COPY, N=100, tuned=False).tuning, "default")
        x, y = client.empty((100,), "f32"), client.empty((100,), "f32")
        self.assertTrue(kernel.verify(X=x, Y=y)["passed"])
        self.assertEqual(client.tune(COPY, N=100, rounds_max=1, arguments={"X": x}, force=True)["baseline"], "default")
        client.close()


if __name__ == "__main__":
    unittest.main()
