"""tl.autotune: measured once, recorded, used by the next process for the same class of sizes only."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import LanguageCase
from service import ROOT

import kiln.language as tl
import kernels_tuned

HERE = os.path.dirname(os.path.abspath(__file__))


class Autotune(LanguageCase):
    def process(self, *sizes):
        """What a new Python process chooses for products of these sizes."""
        environment = dict(os.environ, KILN_SOCKET=self.service.socket, PYTHONPATH=os.path.join(ROOT, "api", "python"))
        done = subprocess.run([sys.executable, os.path.join(HERE, "kernels_tuned.py"), *map(str, sizes)], env=environment, capture_output=True,
                              text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_skinny_product(self):
        first, = self.process(8, 1024, 512)
        self.assertFalse(first["found"])
        self.assertEqual(first["ranked_by"], "time")
        self.assertNotEqual(first["winner"], str(kernels_tuned.CONFIGS[0]), "blocks of 128 rows for 8 win over blocks of 16: %r" % first)
        self.assertLess(first["ratio"], 1)
        again, neighbour, other = self.process(8, 1024, 512, 8, 1008, 512, 9, 1024, 512)
        self.assertTrue(again["found"])
        self.assertEqual((again["winner"], again["record"]), (first["winner"], first["record"]))
        self.assertTrue(neighbour["found"])  # of the same class: up to 1024, a multiple of 16
        self.assertEqual(neighbour["record"], first["record"])
        self.assertFalse(other["found"])     # sizes up to 32 stand alone
        self.assertNotEqual(other["record"], first["record"])

    def test_counted_on_the_emulated_card(self):
        answer = kernels_tuned.run(16, 128, 128, device="emu:gfx942")
        self.assertEqual(answer["ranked_by"], "counted work")

    def test_constants_that_are_given_are_not_tuned(self):
        import numpy

        before = dict(kernels_tuned.product.tuning.best)
        a, b, c = self.normals(20, 30), self.normals(30, 40), numpy.zeros((20, 40), "f4")
        kernels_tuned.product(a, b, c, BM=16, BN=16, BK=16)
        numpy.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
        self.assertEqual(kernels_tuned.product.tuning.best, before)

    def test_a_configuration_that_cannot_be_read_is_left_out(self):
        import numpy

        @tl.autotune(configs=[tl.Config(B=0), tl.Config(B=32), tl.Config(B=64)])
        @tl.kernel
        def twice(X, Y, B: tl.constexpr):
            i = tl.program_id(0)
            Y[i * B:(i + 1) * B] = X[i * B:(i + 1) * B] * 2

        x, y = self.normals(200), numpy.zeros(200, "f4")
        twice(x, y)
        numpy.testing.assert_allclose(y, 2 * x)
        self.assertNotIn("B=0", [row["name"] for row in twice.tuning.last["candidates"]])
        with self.assertRaises(tl.KernelError):
            tl.autotune(configs=[tl.Config(B=0), tl.Config(B=-1)])(tl.kernel(twice.kernel_function))(x, y)


if __name__ == "__main__":
    unittest.main()
