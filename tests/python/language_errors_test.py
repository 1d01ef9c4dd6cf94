"""Mistakes in kernels are shown where they stand; arrays that do not fit are named."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import LanguageCase

import numpy

import kiln.errors as errors
import kiln.language as tl
import kernels_slices
import kernels_wrong


class Mistakes(LanguageCase):
    def test_every_kind_is_located_and_hinted(self):
        with open(kernels_wrong.__file__) as file:
            lines = file.read().splitlines()
        self.assertGreaterEqual(len(kernels_wrong.EXPECTED), 40)
        for name, (function, message, hint) in kernels_wrong.EXPECTED.items():
            with self.subTest(name):
                first = function.__code__.co_firstlineno
                marked = next(n for n in range(first, len(lines) + 1) if "# here" in lines[n - 1])
                with self.assertRaises(tl.KernelError) as caught:
                    tl.compile(function, ("f32[64, 64]", "f32[64, 64]"))
                error = caught.exception
                said = str(error)
                self.assertIn(message, said)
                self.assertTrue(hint, "what to do is part of what is expected")
                self.assertIn(hint, error.hint)
                self.assertEqual((error.file, error.line), (kernels_wrong.__file__, marked), said)
                self.assertIn(lines[marked - 1].strip(), said)
                underline = said.splitlines()[2]
                self.assertEqual(underline.index("^") - 4, error.column - 1)

    def test_what_the_engine_refuses_is_shown_at_its_line(self):
        @tl.kernel
        def large(A: tl.Buffer[64, 64, tl.float32]):
            i = tl.program_id(0)
            x = tl.load(A[i * 8:(i + 1) * 8, :])
            A[i * 8:(i + 1) * 8, :] = x
            A[0:8, 100:108] = x[:, 0:8] * A[70, 3]

        with self.assertRaises(errors.KilnError) as caught:
            tl.compile(large)
        self.assertIn("A[70, 3]", str(caught.exception))

    def test_functions_that_cannot_be_read(self):
        made = {}
        exec("def f(A):\n    pass\n", made)
        with self.assertRaisesRegex(tl.KernelError, "cannot be read"):
            tl.compile(tl.kernel(made["f"]), ("f32[4]",))


class Arguments(LanguageCase):
    def test_wrong_arrays_are_named(self):
        x = self.normals(64, 64)

        @tl.kernel
        def copy(A: tl.Buffer["M", 64, tl.float32], B: tl.Buffer["M", 64, tl.float32]):
            i = tl.program_id(0)
            B[i * 8:(i + 1) * 8, :] = A[i * 8:(i + 1) * 8, :]

        read_only = x.copy()
        read_only.setflags(write=False)
        for arguments, said in (((x, x.astype("f2")), "B: expected elements of f32, found f16"), ((x[0], x), "A has 2 axes"),
                                ((x, numpy.zeros((32, 64), "f4")), "M is 32 here and 64 before"), ((x, 3), "B: expected an array"),
                                ((x, numpy.zeros((64, 32), "f4")), "axis 1 of B is 64"), ((x, read_only), "read-only"),
                                ((x, numpy.zeros((64, 64), "complex64")), "B: arrays of complex64")):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                copy(*arguments)
        with self.assertRaises(TypeError):
            copy(x)
        y = numpy.zeros((128, 128), "f4")[::2, ::2]  # not contiguous: copied, and the result copied back
        copy(x, y)
        numpy.testing.assert_array_equal(x, y)

    def test_a_compiled_kernel_takes_what_it_was_compiled_for(self):
        compiled = tl.compile(kernels_slices.softmax, ("f32[8, 64]", "f32[8, 64]"), device="host")
        with self.assertRaisesRegex(errors.InvalidArgument, r"X: expected shape \[8, 64\], found \[9, 64\]"):
            compiled(self.normals(9, 64), self.normals(9, 64))

    def test_unknown_parameters(self):
        with self.assertRaisesRegex(tl.KernelError, "nothing is known of the parameters X, Y"):
            tl.compile(kernels_slices.softmax)


if __name__ == "__main__":
    unittest.main()
