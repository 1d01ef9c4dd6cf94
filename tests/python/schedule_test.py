"""Schedules in Python: what kernels ask of lowering, in the program, in explain, and without effect on results."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES
from tilelang_test import OTHERS, TileLangCase

import numpy

import kernels_scheduled as kernels
import kiln.language as tl


def launch_of(compiled):
    return compiled.program["launches"][0]


def loop_of(compiled):
    return [s for s in launch_of(compiled)["body"] if s["op"] == "for"][0]


def told(compiled):
    return "\n".join(d for d in compiled.explain()["decisions"] if d.startswith("schedule: "))


class Schedules(TileLangCase):
    def test_block_order(self):
        x = self.normals(100, 200)
        for along in ("x", "y"):
            for panel in (0, 1, 3, 50):
                compiled = tl.compile(kernels.double, (x, x), target="gfx942", panel=panel, along=along)
                order = {"panel": str(panel), "along": along}
                self.assertEqual(launch_of(compiled)["schedule"], {"block_order": order})
                for device in DEVICES:
                    y = numpy.empty_like(x)
                    kernels.double(x, y, panel=panel, along=along, device=device)
                    numpy.testing.assert_array_equal(y, x * 2)
        with self.assertRaises(tl.KernelError) as caught:
            tl.compile(kernels.double, (x, x), target="gfx942", panel=2, along="z")
        self.assertIn("'x' or 'y'", str(caught.exception))
        with self.assertRaises(tl.KernelError) as caught:
            tl.compile(kernels.double, (x, x), target="gfx942", panel=-1, along="x")
        self.assertIn("no number of rows or columns", str(caught.exception))

    def gemm(self, **options):
        return kernels.gemm(100, 130, 96, target="gfx942", **options).compiled

    def run_gemm(self, **options):
        a, b = self.halves(100, 96), self.halves(96, 130)
        for device in DEVICES:
            self.close(kernels.gemm(100, 130, 96, device=device, **options)(a, b), a.astype("f8") @ b, 1e-2)
        for target in OTHERS:
            kernels.gemm(100, 130, 96, target=target, **options)

    def test_swizzle(self):
        for order, along in (("row", "x"), ("column", "y")):
            options = dict(panel=3, blocks=order)
            self.assertEqual(launch_of(self.gemm(**options))["schedule"]["block_order"], {"panel": "3", "along": along})
            self.assertIn("walked along " + along, told(self.gemm(**options)))
            self.run_gemm(**options)

    def test_order_and_stage(self):
        self.assertNotIn("schedule", loop_of(self.gemm()))
        honoured = dict(order=[1, 0, 2], stage=[0, 0, 1])
        schedule = loop_of(self.gemm(**honoured))["schedule"]
        self.assertEqual((schedule["order"], schedule["stage"]), (["1", "0", "2"], ["0", "0", "1"]))
        self.assertIn("2 of its statements run an iteration ahead, as asked", told(self.gemm(**honoured)))
        self.run_gemm(**honoured)
        for left in (dict(order=[2, 1, 0], stage=[0, 0, 1]), dict(order=[0, 1, 2], stage=[0, 1, 2])):
            self.assertIn("hint not honoured", told(self.gemm(**left)))
            self.run_gemm(**left)
        unsaid = loop_of(self.gemm(order=[-1, 0, 1], stage=[-1, 0, 1]))["schedule"]
        self.assertEqual(unsaid["order"], [None, "0", "1"])

    def test_groups(self):
        schedule = loop_of(self.gemm(order=[0, 1], stage=[0, 1], group=[[0, 1], [2]]))["schedule"]
        self.assertEqual((schedule["order"], schedule["stage"]), (["0", "1", "2"], ["0", "0", "1"]))
        self.assertNotIn("schedule", loop_of(self.gemm(order=[0, 1], stage=[0, 1], group=[[0, 1], [2, 3]])))
        self.assertNotIn("schedule", loop_of(self.gemm(order=[0, 1], stage=[0, 1])))

    def test_statements_of_the_source_that_become_several(self):
        """An entry is for a statement as written."""
        compiled = kernels.scaled_gemm(64, 64, 96, [0, 1, 2, 3], [0, 0, 1, 1], target="gfx942").compiled
        loop = loop_of(compiled)
        self.assertGreater(len(loop["body"]), 4)
        self.assertEqual(len(loop["schedule"]["stage"]), len(loop["body"]))
        self.assertEqual(loop["schedule"]["stage"][:2], ["0", "0"])
        self.assertEqual(set(loop["schedule"]["stage"][2:]), {"1"})

    def test_policy_and_pack(self):
        def gemm_of(compiled):
            return [s for s in loop_of(compiled)["body"] if s["op"] == "gemm"][0]

        self.assertNotIn("schedule", gemm_of(self.gemm()))
        for policy, waves in (("FullRow", "waves 4x1"), ("FullCol", "waves 1x4")):
            compiled = self.gemm(policy=policy, pack=2)
            self.assertTrue(gemm_of(compiled)["schedule"]["hint"])
            decisions = compiled.explain()["decisions"]
            self.assertTrue(any(waves in d and "k-pack 2" in d for d in decisions), told(compiled))
            self.run_gemm(policy=policy, pack=2)
        self.assertIn("hint not honoured: k-pack 8", told(self.gemm(pack=8)))
        self.run_gemm(pack=8)


if __name__ == "__main__":
    unittest.main()
