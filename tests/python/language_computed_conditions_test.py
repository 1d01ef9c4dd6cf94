"""Ifs on numbers that the block has computed: both sides are done, and each keeps what it wrote where it holds."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl


@tl.kernel
def running_maximum(X, V, I, n: tl.int32):
    best, place = float("-inf"), -1
    for i in range(n):
        c = tl.load(X + i)
        if c > best:
            best = c
            place = i
    tl.store(V, best)
    tl.store(I, place)


@tl.kernel
def steered_by_a_sum(X, Y, P, n: tl.int32):
    p, o = tl.program_id(0), tl.arange(0, 8)
    x = tl.load(X + p * 8 + o)
    total = tl.sum(x)
    steps = 0
    if total > 0:
        x = x * 2
        for k in range(n):
            x += k
            steps += 1
        tl.store(Y + p * 8 + o, x, mask=o < 6)
        tl.atomic_add(P, 1)
    elif total > -4.0:
        y = tl.load(X + o)                      # the first row
        x = y + x
        tl.store(Y + p * 8 + o, x)
    else:
        if p == 3:
            tl.store(Y + p * 8, -1.0)
        steps = -n
    tl.store(P + 1 + p, steps)


def steered_wanted(x, n):
    y, found = numpy.zeros_like(x), numpy.zeros(len(x) + 1, "i4")
    for p, row in enumerate(x):
        if row.sum() > 0:
            y[p, :6] = (row * 2 + sum(range(n)))[:6]
            found[0] += 1
            found[1 + p] = n
        elif row.sum() > -4:
            y[p] = x[0] + row
        else:
            y[p, 0] = -1 if p == 3 else 0
            found[1 + p] = -n
    return y, found


@tl.kernel
def chosen_products(X, W, Y):
    o = tl.arange(0, 16)
    a, b = tl.load(X + o[:, None] * 16 + o[None, :]), tl.load(W + o[:, None] * 16 + o[None, :])
    total = tl.sum(tl.sum(a, axis=1), axis=0)
    acc = tl.zeros([16, 16], dtype=tl.float32)
    for k in range(3):
        if total + k > 1.5:
            acc += tl.dot(a, b)
        else:
            acc = tl.dot(b, a, acc)
    tl.store(Y + o[:, None] * 16 + o[None, :], acc)


@tl.kernel
def slices_where_it_holds(X: tl.Buffer["M", 16], Y: tl.Buffer["M", 16], R: tl.Buffer["M"]):
    i = tl.program_id(0)
    x = X[i * 4:(i + 1) * 4, :]
    total = tl.sum(x)
    if total > 0:
        Y[i * 4:(i + 1) * 4, :] = x * 2
    else:
        R[i * 4:(i + 1) * 4] = tl.max(x, axis=1)


@tl.jit
def clipped(x, limit):
    if x > limit:
        return limit
    return x


@tl.kernel
def returns_on_a_computed_number(X, Y):
    p, o = tl.program_id(0), tl.arange(0, 8)
    total = tl.sum(tl.load(X + p * 8 + o))
    tl.store(Y + p * 2, clipped(total, 1.5))
    if total < 0:
        return
    tl.store(Y + p * 2 + 1, tl.sqrt(total))


@tl.kernel
def read_and_written(X, Y):
    p = tl.program_id(0)
    tl.store(Y + p, tl.load(X + p) + 1)
    if tl.load(Y + p) > 3:
        tl.store(Y + 8 + p, 1.0)


@tl.jit
def larger(a, b):
    if a > b:
        return a
    return b


@tl.kernel
def reduced_by_a_branch(X, Y):
    o = tl.arange(0, 8)
    tl.store(Y, tl.reduce(tl.load(X + o), 0, larger))


class ComputedConditions(LanguageCase):
    def test_a_running_maximum(self):
        x = self.normals(30)
        for device in DEVICES:
            v, i = numpy.zeros(1, "f4"), numpy.zeros(1, "i4")
            running_maximum[(1,)](x, v, i, 30, device=device)
            self.assertEqual((v[0], i[0]), (x.max(), x.argmax()), device)

    def test_statements_of_every_kind(self):
        x = self.normals(6, 8)
        x[0], x[1], x[3], x[4] = abs(x[0]), -abs(x[1]) / 4, -2, abs(x[4])
        wanted, counted = steered_wanted(x, 3)
        for device in DEVICES:
            y, found = numpy.zeros_like(x), numpy.zeros(7, "i4")
            steered_by_a_sum[(6,)](x, y, found, 3, device=device)
            numpy.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6, err_msg=device)
            numpy.testing.assert_array_equal(found, counted, device)

    def test_products(self):
        x, w = self.normals(16, 16), self.normals(16, 16)
        for total, first in ((0.0, 1), (1.0, 2), (5.0, 3)):
            x[0, 0] += total - x.sum()
            for device in DEVICES:
                y = numpy.zeros_like(x)
                chosen_products[(1,)](x, w, y, device=device)
                wanted = first * (x @ w) + (3 - first) * (w @ x)
                numpy.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4, err_msg=device)

    def test_the_interpreter_finds_nothing(self):
        x = self.normals(6, 8)
        for kernel, arguments, grid in ((running_maximum, (x, numpy.zeros(1, "f4"), numpy.zeros(1, "i4"), 30), (1,)),
                                        (steered_by_a_sum, (x, x.copy(), numpy.zeros(7, "i4"), 3), (6,)),
                                        (returns_on_a_computed_number, (x, numpy.zeros(12, "f4")), (6,))):
            compiled = tl.compile(kernel, arguments, device="emu:gfx942", grid=grid)
            self.assertTrue(compiled.check()["passed"], kernel.kernel_function.__name__)

    def test_slices(self):
        x = self.normals(14, 16)
        for device in DEVICES:
            y, r = numpy.zeros_like(x), numpy.zeros(14, "f4")
            slices_where_it_holds(x, y, r, device=device)
            for i in range(4):
                rows = slice(i * 4, i * 4 + 4)
                positive = x[rows].sum() > 0
                numpy.testing.assert_allclose(y[rows], x[rows] * 2 if positive else 0 * x[rows], err_msg=device)
                numpy.testing.assert_allclose(r[rows], 0 if positive else x[rows].max(1), err_msg=device)

    def test_returns(self):
        x = self.normals(6, 8)
        totals = x.sum(1)
        for device in DEVICES:
            y = numpy.zeros((6, 2), "f4")
            returns_on_a_computed_number[(6,)](x, y, device=device)
            numpy.testing.assert_allclose(y[:, 0], numpy.minimum(totals, 1.5), rtol=1e-5, atol=1e-6, err_msg=device)
            roots = numpy.sqrt(numpy.maximum(totals, 0))
            numpy.testing.assert_allclose(y[:, 1], roots, rtol=1e-5, atol=1e-6, err_msg=device)
            y = numpy.zeros(1, "f4")
            reduced_by_a_branch[(1,)](x, y, device=device)
            self.assertEqual(y[0], x[0].max(), device)

    def test_memory_that_the_launch_writes(self):
        x = numpy.arange(8, dtype="f4")
        for device in DEVICES:
            y = numpy.zeros(16, "f4")
            read_and_written[(8,)](x, y, device=device)
            numpy.testing.assert_array_equal(y, list(range(1, 9)) + [0] * 3 + [1] * 5, device)


if __name__ == "__main__":
    unittest.main()
