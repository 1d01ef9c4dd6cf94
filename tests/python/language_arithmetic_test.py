"""Numbers in kernels of kiln.language: quotients round down as Python's, NaN wins, sums have room, places of 64 bits,
values in place. Each against NumPy.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl
import kiln.tilelang.language as T
from kiln import tilelang


@tl.kernel
def quotients(X, Q, R, n: tl.constexpr):
    at = tl.arange(0, n)
    x = X[:]
    Q[0, :] = x // 3
    R[0, :] = x % -3
    Q[1, :] = (at - 8) // 3
    R[1, :] = (at - 8) % 3
    Q[2, :] = tl.ceildiv(x, 4)


@tl.kernel
def larger(X, Y):
    x = X[:]
    Y[0, :] = tl.maximum(x, 0.0)
    Y[1, :] = tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.NONE)


@tl.kernel
def summed(X, Y, Running):
    i = tl.program_id(0)
    x = X[i, :]
    Y[i] = tl.sum(x)
    Running[i, :] = tl.cumsum(x)


@tl.kernel
def gathered(Ids, Table, Y):
    i = tl.program_id(0)
    Y[i, :] = Table[Ids[i], :]


@tl.kernel
def gathered_inside(Ids, Table, Y, n: tl.constexpr, b: tl.constexpr):
    rows = tl.minimum(tl.maximum(Ids[:], 0), n - 1)
    Y[:, :] = Table[rows, :]


@tl.kernel
def doubled(X):
    i = tl.program_id(0)
    X[i] = X[i] * 2


@tl.kernel
def kept(X, Y):
    i = tl.program_id(0)
    before = X[i]
    X[i] = before + 100
    Y[i] = before + X[i]


@tl.kernel(grid=(1,))
def added(X, Y, b: tl.constexpr):
    tl.atomic_add(Y[0:b], X[0:b], mask=X[0:b] > 2)


@tilelang.jit(out_idx=[-1])
def rows_in_tilelang(tokens, rows, width):
    @T.prim_func
    def main(Ids: T.Tensor((tokens,), "int64"), Table: T.Tensor((rows, width), "float32"),
             Y: T.Tensor((2, tokens, width), "float32")):
        with T.Kernel(tokens, threads=32) as token:
            row = Ids[token]
            T.copy(Table[row, 0:width], Y[0, token, 0:width])
            for j in T.Parallel(width):
                Y[1, token, j] = Table[Ids[token], j]

    return main


@tilelang.jit
def kept_in_tilelang(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n, threads=32) as i:
            before = X[i]
            X[i] = before + 100
            Y[i] = before + X[i]

    return main


@tilelang.jit(out_idx=[-1])
def quotients_in_tilelang(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "int32"), Y: T.Tensor((3, n), "int32")):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(n):
                Y[0, i] = T.truncdiv(X[i], 3)
                Y[1, i] = T.truncmod(X[i], 3)
                Y[2, i] = X[i] // 3

    return main


class Numbers(LanguageCase):
    def test_quotients_round_down(self):
        x = numpy.arange(-8, 8, dtype="i4")
        wanted = numpy.stack([x // 3, x // 3, -(-x // 4)])
        for device in DEVICES:
            q, r = numpy.zeros((3, 16), "i4"), numpy.zeros((2, 16), "i4")
            quotients(x, q, r, n=16, device=device)
            numpy.testing.assert_array_equal(q, wanted)
            numpy.testing.assert_array_equal(r, numpy.stack([x % -3, x % 3]))

    def test_a_nan_wins_without_a_word(self):
        x = numpy.array([1, numpy.nan, -2, numpy.nan], "f4")
        for device in DEVICES:
            y = numpy.zeros((2, 4), "f4")
            larger(x, y, device=device)
            numpy.testing.assert_array_equal(y, [numpy.maximum(x, 0), numpy.fmax(x, 0)])

    def test_sums_have_room(self):
        for dtype in ("i1", "u1", "i2", "u2", "i4", "f4"):
            x = numpy.full((3, 64), 100, dtype)
            for device in DEVICES:
                y, running = numpy.zeros(3, "i8"), numpy.zeros((3, 64), "i8")
                summed(x, y, running, device=device)
                numpy.testing.assert_array_equal(y, [6400] * 3)
                numpy.testing.assert_array_equal(running, numpy.cumsum(x.astype("i8"), 1))

    def test_rows_by_i64(self):
        table = self.random.random((9, 12)).astype("f4")
        for dtype in ("i4", "i8", "u8", "i1"):
            ids = self.random.integers(0, 9, 5).astype(dtype)
            for device in DEVICES:
                y = numpy.zeros((5, 12), "f4")
                gathered(ids, table, y, device=device)
                numpy.testing.assert_array_equal(y, table[ids])

    def test_rows_that_are_held_inside(self):
        table = self.random.random((9, 12)).astype("f4")
        ids = numpy.array([3, 2 ** 62, -2 ** 63, 2 ** 63 - 1, -1, 8, 9, 0], "i8")
        for device in DEVICES:
            y = numpy.zeros((8, 12), "f4")
            gathered_inside(ids, table, y, n=9, b=8, device=device)
            numpy.testing.assert_array_equal(y, table[numpy.clip(ids, 0, 8)])

    def test_one_number_in_place(self):
        x = self.random.integers(0, 9, 5).astype("f4")
        for device in DEVICES:
            own, y = x.copy(), x * 0
            doubled(own, device=device)
            numpy.testing.assert_array_equal(own, x * 2)
            own = x.copy()
            kept(own, y, device=device)
            numpy.testing.assert_array_equal(own, x + 100)
            numpy.testing.assert_array_equal(y, 2 * x + 100)

    def test_atomics_on_a_slice_where_a_mask_holds(self):
        x = numpy.arange(8, dtype="i4")
        for device in DEVICES:
            y = numpy.ones(8, "i4")
            added(x, y, b=8, device=device)
            numpy.testing.assert_array_equal(y, 1 + numpy.where(x > 2, x, 0))


class InTileLang(LanguageCase):
    def test_rows_by_i64(self):
        table, ids = self.random.random((9, 12)).astype("f4"), self.random.integers(0, 9, 5).astype("i8")
        for device in DEVICES:
            numpy.testing.assert_array_equal(rows_in_tilelang(5, 9, 12, device=device)(ids, table),
                                             numpy.stack([table[ids]] * 2))

    def test_what_was_read_stays(self):
        x = self.random.integers(0, 9, 5).astype("f4")
        for device in DEVICES:
            own, y = x.copy(), x * 0
            kept_in_tilelang(5, device=device)(own, y)
            numpy.testing.assert_array_equal(own, x + 100)
            numpy.testing.assert_array_equal(y, 2 * x + 100)

    def test_quotients_of_the_least_number(self):
        x = numpy.array([-2 ** 31, -7, 7, 2 ** 31 - 1], "i4")
        for device in DEVICES:
            numpy.testing.assert_array_equal(quotients_in_tilelang(4, device=device)(x),
                                             [[-715827882, -2, 2, 715827882], [-2, -1, 1, 1], x // 3])


if __name__ == "__main__":
    unittest.main()
