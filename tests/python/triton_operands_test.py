"""What Triton's operations cannot be applied to is told at its place, with what to do: nothing is silently dropped."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from triton_style_test import TritonCase

import inspect

import numpy

import kernels_triton_operands as kernels
import kiln.language


class Operands(TritonCase):
    def test_every_mistake_is_located_and_hinted(self):
        for name, (kernel, message, hint, column) in kernels.EXPECTED.items():
            with self.subTest(kernel=name):
                lines, first = inspect.getsourcelines(kernel.kernel_function)
                with self.assertRaises(kiln.language.KernelError) as raised:
                    kernel[(1,)](numpy.zeros(256, "f4"), numpy.zeros(256, "f4"), device="host")
                error = raised.exception
                self.assertIn(message, error.message)
                self.assertIn(hint, error.hint)
                self.assertEqual(error.file, kernels.__file__)
                self.assertEqual(error.line, first + next(n for n, text in enumerate(lines) if "# here" in text))
                self.assertEqual(error.column, column)


if __name__ == "__main__":
    unittest.main()
