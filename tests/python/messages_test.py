"""print and assert in running kernels, in the three styles: lines on standard output, errors at the kernel's line."""

import contextlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import Service

import numpy

import kernels_messages as kernels
import kiln
import kiln.language

DEVICES = ("host", "emu:gfx942")


def shown(act):
    """The lines that `act` writes to standard output."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        act()
    return out.getvalue().splitlines()


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()
        kiln.language.use_client(cls.client)

    @classmethod
    def tearDownClass(cls):
        kiln.language.use_client(None)
        cls.client.close()
        cls.service.__exit__()

    def test_statements_of_a_block(self):
        for device in DEVICES:
            with self.subTest(device=device):
                x = numpy.arange(24, dtype="f4").reshape(3, 8) + 0.5
                y = numpy.zeros_like(x)
                lines = shown(lambda: kernels.rows(x, y, device=device))
                self.assertEqual(lines, ["pid (%d, 0, 0) row first: %d, %g" % (i, i, 8 * i + 0.5) for i in range(3)])
                self.assertTrue((y == x + x).all())

    def test_assert_names_the_line(self):
        x = numpy.zeros((5, 8), "f4")
        with self.assertRaises(kiln.errors.AssertionFailed) as caught:
            shown(lambda: kernels.rows(x, numpy.zeros_like(x)))
        with open(kernels.__file__) as file:
            line = next(n for n, text in enumerate(file, 1) if "few rows" in text)
        self.assertIn("kernels_messages.py:%d:" % line, str(caught.exception))
        self.assertEqual([r["block"][0] for r in caught.exception.failed], [3, 4])
        self.assertIsInstance(caught.exception, AssertionError)

    def test_elements_of_tiles_as_triton_shows_them(self):
        for device in DEVICES:
            with self.subTest(device=device):
                x = numpy.arange(20, dtype="f4") / 4
                y = numpy.zeros_like(x)
                lines = shown(lambda: kernels.elements[(2,)](x, y, 20, BLOCK=16, device=device))
                self.assertEqual(lines[3], "pid (0, 0, 0) idx (3) x is: 0.75, 3")
                self.assertEqual(lines[19], "pid (1, 0, 0) idx (3) x is: 4.75, 19")
                self.assertEqual(len(lines), 32)
                x[17] = 200
                with self.assertRaises(kiln.errors.AssertionFailed) as caught:
                    shown(lambda: kernels.elements[(2,)](x, y, 20, BLOCK=16, device=device))
                self.assertEqual([(r["text"], r["block"], r["index"]) for r in caught.exception.failed],
                                 [("large", [1, 0, 0], [1])])

    def test_tilelang(self):
        a = numpy.arange(16, dtype="f4").reshape(2, 8)
        b = numpy.zeros_like(a)
        kernel = kernels.tiles(2)
        lines = shown(lambda: kernel(a, b))
        self.assertEqual(lines, ["pid (0, 0, 0) block: 0", "pid (1, 0, 0) block: 1",
                                 "pid (1, 0, 0) idx (6) over: 14.0", "pid (1, 0, 0) idx (7) over: 15.0"])
        self.assertTrue((b == a + 1).all())


if __name__ == "__main__":
    unittest.main()
