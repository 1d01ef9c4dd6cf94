"""TileLang's style: mistakes are shown where they stand, arrays that do not fit are named, one meaning whatever is
called around it.
"""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tilelang_test import TileLangCase

import numpy

import kernels_tilelang as kernels
import kernels_tilelang_wrong as wrong
from kiln import errors, tilelang
import kiln.tilelang.language as T
from kiln.language import KernelError


CALL = """@T.prim_func
def kernel(A: T.Tensor((64,), "float32")):
    with T.Kernel(1):
        A[0] = 1.0
        T.%s(A[0], 1)
KERNELS["%s"] = kernel
"""


class Mistakes(TileLangCase):
    def test_every_kind_is_located_and_hinted(self):
        with open(wrong.__file__) as file:
            lines = file.read().splitlines()
        for name, (function, message, hint) in wrong.EXPECTED.items():
            with self.subTest(name):
                first = function.kernel_function.__code__.co_firstlineno
                marked = next(n for n in range(first, len(lines) + 1) if "# here" in lines[n - 1])
                with self.assertRaises(KernelError) as caught:
                    tilelang.compile(function)
                error = caught.exception
                self.assertIn(message, str(error))
                self.assertTrue(hint, "what to do is part of what is expected")
                self.assertIn(hint, error.hint)
                self.assertEqual((error.file, error.line), (wrong.__file__, marked), str(error))
                self.assertIn(lines[marked - 1].strip(), str(error))
                self.assertEqual(str(error).splitlines()[2].index("^") - 4, error.column - 1)

    def test_names_without_meaning_say_what_to_do(self):
        from kiln.tilelang import _absent

        self.assertGreaterEqual(len(_absent.ABSENT), 100)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "absent.py")
            with open(path, "w") as file:
                file.write("import kiln.tilelang.language as T\n\nKERNELS = {}\n")
                file.write("".join(CALL % (n, n) for n in _absent.ABSENT))
            made = {"__name__": "absent"}
            with open(path) as file:
                exec(compile(file.read(), path, "exec"), made)
            for number, (name, (what, instead)) in enumerate(_absent.ABSENT.items()):
                with self.subTest(name), self.assertRaises(KernelError) as caught:
                    tilelang.compile(made["KERNELS"][name])
                error = caught.exception
                self.assertIn("T.%s: %s has no meaning here" % (name, what), str(error))
                self.assertEqual((error.hint, error.file), (instead, path))
                self.assertEqual((error.line, error.column), (4 + 6 * number + 4, 9))
                self.assertTrue(instead)

    def test_functions_of_other_kinds(self):
        with self.assertRaisesRegex(TypeError, "what T.prim_func marks"):
            tilelang.compile(lambda A: None)

        @tilelang.jit
        def returns_nothing(n):
            return n

        with self.assertRaisesRegex(TypeError, "returns what T.prim_func marks"):
            returns_nothing(3)
        with self.assertRaisesRegex(ValueError, "out_idx names parameter 7"):
            tilelang.compile(wrong.EXPECTED["typo"][0], out_idx=[7])


class Arguments(TileLangCase):
    def test_wrong_arrays_are_named(self):
        add = kernels.add(8, 8, 8, 8, "float32")
        x = self.normals(8, 8)
        for arguments, said in (
            ((x,), "the argument Y is missing"),
            ((x, x[:4]), "Y: expected 8 along axis 0"),
            ((x, x.astype("f8")), "Y: expected elements of f32"),
            ((x, x[0]), "Y: expected 2 axes"),
            ((x, 3.0), "Y: expected an array"),
            ((x, x, x, x), "takes 2 arguments"),
        ):
            with self.assertRaises(errors.InvalidArgument) as caught:
                add(*arguments)
            self.assertIn(said, str(caught.exception))

    def test_sizes_that_do_not_fit(self):
        a, b = self.halves(32, 16), self.halves(32, 16)
        with self.assertRaises(KernelError) as caught:
            kernels.gemm_bias_relu(a, b, self.halves(16), 32, 32, 16)
        self.assertIn("axis 0 of B is 16, and that of the array that is passed 32", str(caught.exception))
        with self.assertRaises(KernelError) as caught:
            kernels.gemm_bias_relu.compile(M=32, N=32, rows=32, cols=32, depth=16)
        self.assertIn("the size K is not known", str(caught.exception))

    def test_results_are_as_the_arguments_are(self):
        x = self.normals(8, 8)
        add = kernels.add(8, 8, 8, 8, "float32")
        self.assertIsInstance(add(x, x), numpy.ndarray)
        mine = self.client.from_numpy(x)
        result = add(mine, mine)
        self.assertEqual(type(result), type(mine))
        numpy.testing.assert_array_equal(result.numpy(), x + x)

    def test_a_call_says_where(self):
        x = self.normals(8, 8)
        add = kernels.add(8, 8, 8, 8, "float32", device="host")
        places = {"device": "host"}, {"device": "emu:gfx942"}, {"device": "emu:gfx1100"}, {"target": "c"}, {"device": None}
        for keywords in places:
            with self.subTest(**keywords):
                numpy.testing.assert_array_equal(add(x, x, **keywords), x + x)
                self.assertGreater(add.last_ms, 0)
        self.assertEqual((add.target, add.device), ("host", "host"))
        with self.assertRaisesRegex(errors.UnknownTarget, "gfx9999"):
            add(x, x, device="emu:gfx9999")
        with self.assertRaisesRegex(errors.InvalidArgument, "no device was named"):
            add(x, x, target="gfx942")

    def test_tensors_that_share_memory(self):
        x = self.normals(20, 8)
        with self.assertRaisesRegex(errors.InvalidArgument, "X and Z share memory, and Z is written"):
            kernels.add(8, 8, 8, 8, "float32")(x[:8], x[:8].copy(), x[4:12])

        @T.prim_func
        def spread(X: T.StridedTensor((4, 8), (16, 1), "float32"), Y: T.Tensor((4, 8), "float32")):
            with T.Kernel(1):
                for i, j in T.Parallel(4, 8):
                    Y[i, j] = X[i, j]

        kernel = tilelang.compile(spread)
        y = numpy.zeros((4, 8), "f4")
        kernel(x[:4], y)
        numpy.testing.assert_array_equal(x[:4], y)
        with self.assertRaisesRegex(errors.InvalidArgument, "X and Y share memory, and Y is written"):
            kernel(x[:4], x[1:5])

    def test_the_same_call_is_compiled_once(self):
        self.assertIs(kernels.add(8, 8, 8, 8, "float32"), kernels.add(8, 8, 8, 8, "float32"))
        self.assertIsNot(kernels.add(8, 8, 8, 8, "float32"), kernels.add(8, 8, 8, 8, "float16"))

    def test_profiler(self):
        kernel = kernels.add(8, 8, 8, 8, "float32")
        profiler = kernel.get_profiler(tensor_supply_type=tilelang.TensorSupplyType.Normal)
        profiler.assert_allclose(lambda a, b: a + b)
        self.assertGreater(profiler.do_bench(), 0)
        with self.assertRaisesRegex(AssertionError, "result 0: "):
            profiler.assert_allclose(lambda a, b: a - b)
        for said, kind, reference in (
            ("the kernel's has shape .8, 8., the reference's .1, 8, 8.", AssertionError, lambda a, b: (a + b)[None]),
            ("the kernel's has shape .8, 8., the reference's ..$", AssertionError, lambda a, b: (a + b)[0, 0]),
            ("gave 2 results for 1", AssertionError, lambda a, b: (a + b, a)),
            ("the reference returned None", TypeError, lambda a, b: None),
            ("the reference returned ..,", TypeError, lambda a, b: ()),
        ):
            with self.subTest(said), self.assertRaisesRegex(kind, said):
                profiler.assert_allclose(reference)
        self.assertIn("define", kernel.get_kernel_source())
        with self.assertRaisesRegex(ValueError, r"for Z has shape \[1, 8, 8\], and the kernel's \[8, 8\]"):
            kernel.check(lambda a, b: (a + b)[None])
        self.assertTrue(kernel.check()["passed"])


if __name__ == "__main__":
    unittest.main()
