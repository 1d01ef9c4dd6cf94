"""Launches: arguments over one memory, numbers of all kinds, calls and grids that cannot be, how much a kernel keeps."""

import math
import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl
import kiln.triton.language as ttl
from kiln import errors, tilelang, triton
import kiln.tilelang.language as T
from kiln.language import _kernel, _programs
from kiln.tilelang import _jit


@triton.jit
def packed(x, a, b, n, sa, sb, B: ttl.constexpr):
    o = ttl.arange(0, B)
    v = ttl.load(x + o, mask=o < n)
    ttl.store(a + o * sa, v + 1, mask=o < n)
    ttl.store(b + o * sb, v + 2, mask=o < n)


@triton.jit
def halves(p, q, n, B: ttl.constexpr):
    o = ttl.arange(0, B)
    ttl.store(p + o, 1.0, mask=o < n)
    ttl.store(q + n + o, 2.0, mask=o < n)


@triton.jit
def running(x, y, n):
    for i in range(n - 1):
        ttl.store(y + i + 1, ttl.load(x + i) + 1)


@triton.jit
def counted(x, bits, n, B: ttl.constexpr):
    o = ttl.arange(0, B)
    ttl.store(x + o, ttl.load(x + o) + 1, mask=o < n)
    ttl.store(bits + o, ttl.load(bits + o) + 1, mask=o < n)


@triton.jit
def filled(y, v, n, B: ttl.constexpr):
    o = ttl.arange(0, B)
    ttl.store(y + o, v, mask=o < n)


@triton.jit
def rows_copied(x, y, M, N, B: ttl.constexpr):
    i, j = ttl.arange(0, B)[:, None], ttl.arange(0, B)[None, :]
    mask = (i < M) & (j < N)
    ttl.store(y + i * N + j, ttl.load(x + i * N + j, mask=mask), mask=mask)


@triton.jit
def every_second(y, n, B: ttl.constexpr):
    o = ttl.arange(0, B)
    ttl.store(y + o * 2, 1.0, mask=o < n)


@triton.jit
def into_gaps(y, n, B: ttl.constexpr):
    o = ttl.arange(0, B)
    ttl.store(y + o * 2 + 1, 3.0, mask=o < n)


@triton.jit
def chained(a, b, c, sa, sb, sc, n):
    for i in range(n):
        ttl.store(b + i * sb, ttl.load(a + i * sa) + 1)
        ttl.store(c + i * sc, ttl.load(b + (n - 1 - i) * sb) * 2)


@tl.kernel
def doubled(X: tl.Buffer["N", tl.float32], Y: tl.Buffer["N", tl.float32]):
    i = tl.program_id(0)
    Y[i * 8:(i + 1) * 8] = X[i * 8:(i + 1) * 8] * 2


@tl.kernel
def doubled_by_other_names(X: tl.Buffer["N", tl.float32], Y: tl.Buffer["M"]):
    i = tl.program_id(0)
    y = X[i * 8:(i + 1) * 8] * 2
    Y[i * 8:(i + 1) * 8] = tl.where(i * 8 + tl.arange(0, 8) < Y.shape[0], y, 0)


@tl.kernel
def counting(X: tl.Buffer["N", tl.float32], Y: tl.Buffer["N", tl.float32]):
    for i in range(X.shape[0] - 1):
        v = X[i]
        Y[i + 1] = v + 1


@tl.kernel
def scaled(X: tl.Buffer["N", tl.float32], s: tl.float32, k: tl.int32):
    i = tl.program_id(0)
    X[i * 8:(i + 1) * 8] = tl.minimum(X[i * 8:(i + 1) * 8], s) + k


class Overlaps(LanguageCase):
    def test_columns_of_one_array(self):
        x = self.normals(10)
        for device in DEVICES:
            out = numpy.zeros((10, 3), "f4")
            packed[(1,)](x, out[:, 0], out[:, 2], 10, 3, 3, B=16, device=device)
            numpy.testing.assert_array_equal(out, numpy.stack([x + 1, 0 * x, x + 2], 1))

    def test_one_array_twice_and_parts_of_it(self):
        wanted = numpy.repeat([1, 2], 10)
        for device in DEVICES:
            for first in (lambda o: o, lambda o: o[:10], lambda o: o[:1]):
                out = numpy.zeros(20, "f4")
                halves[(1,)](first(out), out, 10, B=16, device=device)
                numpy.testing.assert_array_equal(out, wanted)
            out = numpy.zeros(21, "f4")
            halves[(1,)](out[1:], out, 10, B=16, device=device)  # the second begins before the first, not aligned
            numpy.testing.assert_array_equal(out, [0] + [1] * 9 + [2] * 10 + [0])

    def test_what_was_written_through_one_is_read_through_another(self):
        for device in DEVICES:
            x = numpy.zeros(6, "f4")
            running[(1,)](x, x, 6, device=device)
            numpy.testing.assert_array_equal(x, numpy.arange(6))
            x = numpy.zeros(8, "f4")
            counting(x, x, device=device)
            numpy.testing.assert_array_equal(x, numpy.arange(8))
            mine = self.client.from_numpy(numpy.zeros(6, "f4"))
            running[(1,)](mine, mine, 6, device=device)
            numpy.testing.assert_array_equal(mine.numpy(), numpy.arange(6))

    def test_arrays_in_place_by_axes(self):
        for device in DEVICES:
            x = self.normals(20)
            wanted = x * 2
            doubled(x, x, device=device)
            numpy.testing.assert_array_equal(x, wanted)
            doubled_by_other_names(x, x, device=device)
            numpy.testing.assert_array_equal(x, wanted * 2)
            both = self.normals(20, 2)
            wanted = numpy.stack([both[:, 0], both[:, 0] * 2], 1)
            doubled(both[:, 0], both[:, 1], device=device)  # no element in common: as if they were apart
            numpy.testing.assert_array_equal(both, wanted)

    def test_random_parts_of_one_array(self):
        seed = int(os.environ.get("KILN_SEED", 20261130))
        dice = random.Random(seed)
        for number in range(6):
            n = dice.randint(2, 7)
            cuts = []
            for _ in range(3):
                step = dice.randint(1, 3)
                first = dice.randint(0, 8)
                cuts.append(slice(first, first + (n - 1) * step + 1, step))
            base = self.normals(40).astype("i4").astype("f4")
            wanted = base.copy()
            a, b, c = (wanted[cut] for cut in cuts)
            for i in range(n):
                b[i] = a[i] + 1
                c[i] = b[n - 1 - i] * 2
            for device in DEVICES:
                found = base.copy()
                again = "KILN_SEED=%d %s Overlaps.test_random_parts_of_one_array" % (seed, __file__)
                with self.subTest(again, number=number, cuts=cuts):
                    chained[(1,)](*(found[cut] for cut in cuts), *(cut.step for cut in cuts), n, device=device)
                    numpy.testing.assert_array_equal(found, wanted)

    def test_what_cannot_be_passed_names_both(self):
        x = self.normals(24)
        with self.assertRaisesRegex(errors.InvalidArgument, r"X and Y share memory, and Y is written: .*X\.copy\(\)"):
            doubled(x[:20], x[1:21])
        with self.assertRaisesRegex(errors.InvalidArgument, "bits and x share memory, and x is written"):
            counted[(1,)](x, x.view("i4"), 8, B=8)
        compiled = tl.compile(doubled, ("f32[16]", "f32[16]"), device="host")
        with self.assertRaisesRegex(errors.InvalidArgument, "X and Y share memory, and Y is written"):
            compiled(x[:16], x[:16])
        together = tl.compile(packed, (x, x, x, 8, 1, 1), B=8, device="host")
        with self.assertRaisesRegex(errors.InvalidArgument, "share memory in another way"):
            together(x, x.copy(), x.copy())

        @T.prim_func
        def copied(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(16):
                    B[i] = A[i] + 1

        with self.assertRaisesRegex(errors.InvalidArgument, "A and B share memory, and B is written"):
            tilelang.compile(copied)(x[:16], x[4:20])

    def test_reading_one_array_twice_is_the_same_kernel(self):
        x, y = self.normals(16), numpy.zeros(16, "f4")
        before = len(rows_copied._programs)
        for other in (x, x.copy()):
            packed[(1,)](other, y, numpy.zeros(16, "f4"), 16, 1, 1, B=16)
        self.assertEqual(before, len(rows_copied._programs))

    def test_between_the_elements_of_a_strided_array(self):
        for device in DEVICES:
            out = numpy.arange(16, dtype="f4")
            every_second[(1,)](out[::2], 8, B=8, device=device)
            numpy.testing.assert_array_equal(out, numpy.where(numpy.arange(16) % 2, numpy.arange(16), 1))
            into_gaps[(1,)](out[::2], 7, B=8, device=device)  # a pointer may go there, and what it writes arrives
            numpy.testing.assert_array_equal(out[1:14:2], [3] * 7)

    def test_others_may_write_between_them_meanwhile(self):
        out = numpy.zeros((512, 2), "f4")

        def fill(column, value):
            for _ in range(20):
                filled_column[(1,)](out[:, column], value, 512, B=512)

        threads = [threading.Thread(target=fill, args=(k, k + 1.0)) for k in range(2)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        numpy.testing.assert_array_equal(out, numpy.tile([1, 2], (512, 1)))


@triton.jit
def filled_column(y, v, n, B: ttl.constexpr):
    o = ttl.arange(0, B)
    ttl.store(y + o * 2, v, mask=o < n)


class Numbers(LanguageCase):
    def test_infinite_ones_and_none(self):
        for device in DEVICES:
            for value in (math.inf, -math.inf, math.nan, 1e300, 2.5, True, 2 ** 40, -3, numpy.float32("inf"),
                          numpy.float32(2.5), numpy.int64(7), numpy.bool_(True)):
                y = numpy.zeros(4, "f4")
                filled[(1,)](y, value, 4, B=4, device=device)
                with numpy.errstate(over="ignore"):
                    numpy.testing.assert_array_equal(y, numpy.full(4, value, "f4"))
            x = self.normals(16)
            y = x.copy()
            scaled(y, math.inf, 1, device=device)
            numpy.testing.assert_array_equal(y, x + 1)

    def test_a_compiled_kernel_names_what_it_cannot_take(self):
        x = self.normals(16)
        compiled = tl.compile(scaled, (x, 2.0, 1), device="host")
        for arguments, said in (((x, math.inf, 1), "s: inf"),
                                ((x, "a", 1), "s: expected a number of type f32, found str"),
                                ((x, 1.0, 2.5), "k: 2.5 is no value of type i32"),
                                ((x, 1.0, 2 ** 31), "k: 2147483648 is no value"),
                                ((x, 1.0, math.nan), "k: nan is no value")):
            with self.subTest(said), self.assertRaisesRegex(errors.InvalidArgument, said):
                compiled(*arguments)
        compiled = tl.compile(filled, (x, 1.0, 16), B=16, device="host")
        for arguments, said in (((x, 1.0, 8), "n is 8, and this was compiled for 16"),
                                ((x, 1.0, 16, 32), "B is 32, and this was compiled for 16")):
            with self.subTest(said), self.assertRaisesRegex(errors.InvalidArgument, said):
                compiled(*arguments)

    def test_a_client_names_it_too(self):
        kernel = tl.compile(scaled, (self.normals(16), 2.0, 1), device="host")._loaded
        with self.assertRaisesRegex(errors.InvalidArgument, r"args\.s: inf cannot be sent"):
            kernel(X=self.client.empty((16,)), s=math.inf, k=1)
        self.client.connection.call("ping")  # the connection goes on

    def test_numbers_of_numpy_from_outside(self):
        for device in DEVICES:
            y = numpy.zeros(4, "f4")
            from_numpy[(1,)](y, B=4, device=device)
            numpy.testing.assert_array_equal(y, [2.5 * 3 + 7 + 0.5] * 4)
            x, y = self.normals(16, 8), numpy.zeros((16, 8), "f4")
            sized_by_numpy(x, y, device=device)
            numpy.testing.assert_array_equal(y, x)


SHAPE, ROWS = (numpy.int64(4), numpy.int32(8)), numpy.int64(16)


@tl.kernel
def sized_by_numpy(X: tl.Buffer[ROWS, 8, tl.float32], Y: tl.Buffer[ROWS, 8, tl.float32]):
    i = tl.program_id(0)
    t = tl.zeros(SHAPE) + X[i * SHAPE[0]:(i + 1) * SHAPE[0], :]
    Y[i * SHAPE[0]:(i + 1) * SHAPE[0], :] = t


SCALE, COUNT, TABLE = numpy.float32(2.5), numpy.int64(3), numpy.array([7, 8])


@triton.jit
def from_numpy(y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), SCALE * COUNT + TABLE[0] + numpy.float32(0.5))


class Calls(LanguageCase):
    """Each mistake of a call is shown at the kernel's definition, with its name and what to do."""

    def refused(self, kernel, said, hint, call):
        with self.assertRaises(tl.KernelError) as caught:
            call()
        error = caught.exception
        self.assertIn(said, str(error))
        self.assertIn(hint, error.hint)
        code = kernel.kernel_function.__code__
        self.assertEqual((error.file, error.column), (code.co_filename, 1), str(error))
        self.assertIn("def %s(" % code.co_name, str(error))
        return error

    def test_arguments(self):
        y = numpy.zeros(4, "f4")
        error = self.refused(filled, "filled(): missing a required argument: 'n'", "y, v, n, B",
                             lambda: filled[(1,)](y, 1.0, B=4))
        self.assertIsInstance(error, TypeError)
        self.refused(filled, "filled(): missing a required argument: 'v'", "did you mean 'v'",
                     lambda: filled[(1,)](y, vv=1.0, n=4, B=4))
        self.refused(filled, "too many positional arguments", "the parameters are",
                     lambda: filled[(1,)](y, 1.0, 4, 4, 4))
        self.refused(doubled, "X: arrays of complex64", "X.astype", lambda: doubled(y.astype("c8"), y))
        compiled = tl.compile(doubled, (y, y.copy()), device="host")
        self.refused(doubled, "doubled(): got an unexpected keyword argument 'Z'", "X, Y", lambda: compiled(y, Z=y))
        self.refused(doubled, "doubled(): missing a required argument: 'Y'", "X, Y", lambda: doubled(y))

    def test_grids(self):
        y = numpy.zeros(4, "f4")
        for device in DEVICES:
            for grid, said in (((-1,), "axis 0 of the grid of filled is -1"),
                               ((1, 1.5), "axis 1 of the grid of filled is 1.5"),
                               ((True,), "is True"), (2 ** 31, "is 2147483648"), (("a" and None,), "is None"),
                               (lambda meta: (4 / meta["B"],), "is 1.0")):
                self.refused(filled, said, "whole number", lambda: filled[grid](y, 1.0, 4, B=4, device=device))
            for grid in ((1, 1, 1, 1), ()):
                self.refused(filled, "the grid of filled has %d axes" % len(grid), "1 to 3 axes",
                             lambda: filled[grid](y, 1.0, 4, B=4, device=device))
            y[:] = 0
            filled[(0,)](y, 1.0, 4, B=4, device=device)
            self.assertFalse(y.any())
            filled[(numpy.int64(1),)](y, 1.0, 4, B=4, device=device)
            self.assertTrue(y.all())

    def test_threads(self):
        y = numpy.zeros(4, "f4")
        for device in DEVICES:
            for warps in (0, -1, 2.5, 33, "a", True):
                self.refused(filled, "num_warps of filled is %r" % warps, "whole number of waves",
                             lambda: filled[(1,)](y, 1.0, 4, B=4, num_warps=warps, device=device))
            for threads in (0, -64, 2048, 2.5):
                self.refused(filled, "threads of filled is %r" % threads, "1 to 1024 threads",
                             lambda: filled[(1,)](y, 1.0, 4, B=4, threads=threads, device=device))
        self.refused(filled, "on gfx942 1088 threads", "16 waves of 64",
                     lambda: filled[(1,)](y, 1.0, 4, B=4, num_warps=17, device="emu:gfx942"))
        filled[(1,)](y, 1.0, 4, B=4, num_warps=numpy.int32(17), device="emu:gfx1100")
        self.assertTrue(y.all())
        with self.assertRaisesRegex(tl.KernelError, "num_warps is 0"):
            tl.kernel(num_warps=0)
        with self.assertRaisesRegex(tl.KernelError, "threads is 2.5"):
            tl.kernel(threads=2.5)


class Bounds(LanguageCase):
    """What one kernel keeps does not grow with the number of sizes that it meets."""

    def program(self, n):
        shape = "f32[9, %d]" % n
        values, launch = rows_copied.bind((shape, shape, 9, n), {"B": 64}, (1,))
        return rows_copied.program(rows_copied.specs(values), launch, "host")

    def test_programs(self):
        sizes = range(10, 10 + _programs.PROGRAMS_MAX + 20)
        made = [self.program(n) for n in sizes]
        self.assertEqual(len({id(p) for p in made}), len(made))  # each pins its sizes, as a matrix view does
        self.assertLessEqual(len(rows_copied._programs), _programs.PROGRAMS_MAX)
        for program, n in list(zip(made, sizes))[-3:]:
            self.assertIs(self.program(n), program)
        again = self.program(sizes[0])  # it was let go, and is read anew
        self.assertEqual(again.json, made[0].json)

    def test_compiled_kernels(self):
        outer, _kernel.COMPILED_MAX = _kernel.COMPILED_MAX, 3
        self.addCleanup(setattr, _kernel, "COMPILED_MAX", outer)
        for n in (8, 16, 24, 32, 40, 8):
            y = numpy.zeros(n, "f4")
            doubled(numpy.ones(n, "f4"), y)
            self.assertEqual(y.sum(), 2 * n)
            self.assertLessEqual(len(doubled._compiled), 3)


    def test_tilelangs_kernels(self):
        outer, _jit.KERNELS_MAX = _jit.KERNELS_MAX, 3
        self.addCleanup(setattr, _jit, "KERNELS_MAX", outer)
        for n in (8, 16, 24, 32, 40, 8):
            y = numpy.zeros(n, "f4")
            ones(n)(y)
            self.assertEqual(y.sum(), n)
            self.assertLessEqual(len(ones._kernels), 3)


@tilelang.jit
def ones(n):
    @T.prim_func
    def main(Y: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = 1.0

    return main


if __name__ == "__main__":
    unittest.main()
