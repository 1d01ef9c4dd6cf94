"""Returns and branches mean in kernels what they mean in Python: kernels against plain Python, block by block."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl

# -- returns


@tl.jit
def sign(x):
    if x > 0:
        return 1.0
    elif x < 0:
        return -1.0
    return 0.0


@tl.jit
def sign_or_both(x, scale):
    if x > 0:
        y = x * scale
        if scale > 1.0:
            return y, 1
    else:
        return x, 2
    y += 0.5
    return y, 3


@tl.kernel
def returned_values(X, Y):
    p = tl.program_id(0)
    x = tl.load(X + p)
    a, way = sign_or_both(x, 1.0 + p)
    tl.store(Y + p * 3, sign(x))
    tl.store(Y + p * 3 + 1, a)
    tl.store(Y + p * 3 + 2, way)


def returned_values_wanted(x, p):
    scale = 1.0 + p
    a, way = (x, 2) if x <= 0 else (x * scale, 1) if scale > 1 else (x * scale + 0.5, 3)
    return [numpy.sign(x), a, way]


@tl.jit
def scaled_tile(x, n):
    if n > 2:
        return x * 2.0
    for k in range(n):
        x = x + k
    return x + 1.0


@tl.kernel
def returned_tiles(X, Y):
    p = tl.program_id(0)
    o = p * 8 + tl.arange(0, 8)
    tl.store(Y + o, scaled_tile(tl.load(X + o), p))


@tl.jit
def finishes(y, done):
    if done:
        return
    tl.store(y, 9.0)


@tl.kernel
def leaves_a_function(Y):
    p = tl.program_id(0)
    finishes(Y + p, p < 2)
    finishes(Y + p + 4, p % 2 == 0)


@tl.kernel
def leaves_from_the_depth(Y, n: tl.int32):
    p = tl.program_id(0)
    if p > 0:
        if p > n:
            return
        elif p == n:
            tl.store(Y + p, 3.0)
            return
        tl.store(Y + p, 5.0)
    else:
        if n == 7:
            return
    tl.store(Y + p + 8, 1.0)


def leaves_from_the_depth_wanted(n):
    y = numpy.zeros(16, "f4")
    for p in range(4):
        if p > 0:
            if p > n:
                continue
            if p == n:
                y[p] = 3
                continue
            y[p] = 5
        elif n == 7:
            continue
        y[p + 8] = 1
    return y


@tl.kernel
def leaves_on_one_side(Y):
    p = tl.program_id(0)
    if p > 1:
        tl.store(Y + p, 7.0)
        return
    else:
        tl.store(Y + p, 1.0)
    tl.store(Y + p + 4, 1.0)


@tl.jit
def found_now(values: tl.constexpr, wanted: tl.constexpr):
    for k in tl.static_range(4):
        if values[k] == wanted:
            return k
    return -1


@tl.kernel
def leaves_a_loop_that_is_written_out(Y):
    tl.store(Y, found_now((3, 1, 4, 1), 1))
    tl.store(Y + 1, found_now((3, 1, 4, 1), 5))


@tl.jit
def count_once(P, n):
    if tl.atomic_add(P, 1) >= n:
        return
    tl.atomic_add(P + 1, 1)


@tl.kernel
def asks_once(P, n: tl.int32):
    count_once(P, n)


class Returns(LanguageCase):
    def test_values_on_every_way(self):
        x = numpy.array([2, -3, 0, 0.5], "f4")
        wanted = numpy.ravel([returned_values_wanted(v, p) for p, v in enumerate(x)])
        for device in DEVICES:
            y = numpy.zeros(12, "f4")
            returned_values[(4,)](x, y, device=device)
            numpy.testing.assert_array_equal(y, wanted, device)

    def test_tiles_on_every_way(self):
        x = self.normals(5, 8)
        wanted = numpy.stack([x[p] * 2 if p > 2 else x[p] + sum(range(p)) + 1 for p in range(5)])
        for device in DEVICES:
            y = numpy.zeros_like(x)
            returned_tiles[(5,)](x, y, device=device)
            numpy.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-6, err_msg=device)

    def test_a_function_ends_where_it_returns(self):
        for device in DEVICES:
            y = numpy.zeros(8, "f4")
            leaves_a_function[(4,)](y, device=device)
            numpy.testing.assert_array_equal(y, [0, 0, 9, 9, 0, 9, 0, 9], device)
            y = numpy.zeros(8, "f4")
            leaves_on_one_side[(4,)](y, device=device)
            numpy.testing.assert_array_equal(y, [1, 1, 7, 7, 1, 1, 0, 0], device)
            for n in (1, 2, 7):
                y = numpy.zeros(16, "f4")
                leaves_from_the_depth[(4,)](y, n, device=device)
                numpy.testing.assert_array_equal(y, leaves_from_the_depth_wanted(n), "%s, %d" % (device, n))
            y = numpy.zeros(2, "f4")
            leaves_a_loop_that_is_written_out[(1,)](y, device=device)
            numpy.testing.assert_array_equal(y, [1, -1], device)

    def test_a_condition_is_computed_once(self):
        for device in DEVICES:
            p = numpy.zeros(2, "i4")
            asks_once[(5,)](p, 3, device=device)
            numpy.testing.assert_array_equal(p, [5, 3], device)


# -- names behind a branch


@tl.kernel
def loaded_in_a_branch(X, Y):
    p = tl.program_id(0)
    s = 0.0
    if p > 1:
        s = tl.load(X + p)
    if p == 0:
        t = tl.load(X) + 1.0
    elif p == 1:
        t = tl.load(X + 1) * 2.0
    else:
        t = 5
    tl.store(Y + p * 2, s)
    tl.store(Y + p * 2 + 1, t)


@tl.kernel
def summed_in_branches(X, Y, n: tl.int32):
    p = tl.program_id(0)
    s = 0.0
    late = 1.0
    if p == 0:
        for i in range(n):
            s += tl.load(X + i)
    elif p == 1:
        for i in range(n):
            s += 2.0 * tl.load(X + i)
            late = late * 2.0
    tl.store(Y + p * 2, s)
    tl.store(Y + p * 2 + 1, late)


@tl.kernel
def pointed_in_a_branch(X, Y, Offset):
    p, o = tl.program_id(0), tl.arange(0, 4)
    source, rows = X, X + o
    if p > 0:
        source = X + 4 * p
        rows += tl.load(Offset)
    tl.store(Y + p * 4 + o, tl.load(source + o) + tl.load(rows))


@tl.kernel
def shaped_in_a_branch(X, Y):
    p, o = tl.program_id(0), tl.arange(0, 8)
    x = tl.load(X + o)
    if p > 0:
        x = tl.sum(x)
        pair = (x, x * 2)
        tl.store(Y + p * 8, pair[0] + pair[1])
    else:
        tl.store(Y + o, x)


@tl.kernel
def chosen_when_compiled(X: tl.Buffer["N", tl.float32], Y: tl.Buffer["N", tl.float32]):
    i = tl.program_id(0)
    if X.shape[0] > 64:
        x = X[i * 32:(i + 1) * 32] * 2
    else:
        x = X[i * 32:(i + 1) * 32] + 1
    Y[i * 32:(i + 1) * 32] = x


@tl.kernel
def never_taken(X, Y):
    p, s = tl.program_id(0), 0.0
    if p > 2:
        for i in range(4):
            s += tl.load(X + i)
    elif 0 <= p < 3:
        for k in range(2):
            if k > 5:
                for i in range(4):
                    s = s * 2 + tl.load(X + i)
            if k == 2 or p + 1 == 0:
                for i in range(4):
                    s = s * 3 + tl.load(X + i)
            if k + 1 == 3:
                for i in range(4):
                    s = s * 4 + tl.load(X + i)
            s += 1.0
    tl.store(Y + p, s)


class Names(LanguageCase):
    def test_loads_and_loops_in_branches(self):
        x = numpy.arange(1, 6, dtype="f4")
        for device in DEVICES:
            y = numpy.zeros((5, 2), "f4")
            loaded_in_a_branch[(5,)](x, y, device=device)
            numpy.testing.assert_array_equal(y, [[0, 2], [0, 4], [3, 5], [4, 5], [5, 5]], device)
            y = numpy.zeros((3, 2), "f4")
            summed_in_branches[(3,)](x, y, 4, device=device)
            numpy.testing.assert_array_equal(y, [[10, 1], [20, 16], [0, 1]], device)

    def test_branches_that_no_block_takes(self):
        for device in DEVICES:
            for blocks, wanted in ((2, [2, 2]), (4, [2, 2, 2, 10])):
                y = numpy.zeros(blocks, "f4")
                never_taken[(blocks,)](numpy.arange(1, 5, dtype="f4"), y, device=device)
                numpy.testing.assert_array_equal(y, wanted, device)

    def test_pointers_and_shapes_in_branches(self):
        x = numpy.arange(16, dtype="f4")
        for device in DEVICES:
            y, o = numpy.zeros(16, "f4"), numpy.arange(4)
            pointed_in_a_branch[(4,)](x, y, numpy.array([3], "i4"), device=device)
            numpy.testing.assert_array_equal(y, numpy.concatenate(
                [x[4 * p + o] + (x[o + 3] if p else x[o]) for p in range(4)]), device)
            y = numpy.zeros(16, "f4")
            shaped_in_a_branch[(2,)](x, y, device=device)
            numpy.testing.assert_array_equal(y, list(x[:8]) + [28 * 3] + [0] * 7, device)
        for n in (64, 96):
            for device in DEVICES:
                x, y = self.normals(n), numpy.zeros(n, "f4")
                chosen_when_compiled(x, y, device=device)
                numpy.testing.assert_allclose(y, x * 2 if n > 64 else x + 1, rtol=1e-6, err_msg=device)


# -- mistakes


@tl.kernel
def return_in_a_loop(Y):
    for i in range(3):
        if i == 1:
            return  # here
        tl.store(Y + i, 1.0)


@tl.kernel
def return_in_a_loop_that_is_written_out(Y):
    for i in tl.static_range(3):
        if tl.program_id(0) == i:
            return  # here
        tl.store(Y + i, 1.0)


@tl.jit
def sometimes(x):
    if x > 1:
        return x


@tl.kernel
def value_on_one_way(Y):
    tl.store(Y, sometimes(tl.program_id(0)) + 1.0)


@tl.kernel
def two_parameters(Y, X):
    p = tl.program_id(0)
    source = Y
    if p > 0:
        source = X
    tl.store(Y + p, tl.load(source + p))  # here


@tl.kernel
def two_shapes(Y):
    p = tl.program_id(0)
    if p > 0:
        x = tl.zeros([8], tl.float32)
    else:
        x = tl.zeros([4], tl.float32)
    tl.store(Y + tl.arange(0, 8), x)  # here


@tl.kernel
def changes_memory_in_a_choice(Y):
    p = tl.program_id(0)
    x = tl.atomic_add(Y, 1.0) if p > 1 else 0.0  # here
    tl.store(Y + 1, x)


@tl.kernel
def changes_memory_behind_and(Y):
    p = tl.program_id(0)
    if p > 1 and tl.atomic_add(Y, 1.0) > 0:  # here
        tl.store(Y + 1, 2.0)


@tl.kernel
def tuple_of_a_loop(Y):
    pair = (tl.zeros([8], tl.float32), 1)
    for k in range(3):
        pair = (pair[0] + 1, 2, k)  # here
    tl.store(Y + tl.arange(0, 8), pair[0])


MISTAKES = (
    (return_in_a_loop, "return inside a loop", "under the opposite if"),
    (return_in_a_loop_that_is_written_out, "return inside a loop", "under the opposite if"),
    (two_parameters, "source is a pointer to Y in one branch of an if and to X in the other|"
     "source is a pointer to X in one branch of an if and to Y in the other", "load in each branch"),
    (two_shapes, r"x is of shape \[8\] in one branch of an if and of shape \[4\] in the other",
     "one shape and element type"),
    (changes_memory_in_a_choice, "a side of a if c else b that changes memory", "write an if statement"),
    (changes_memory_behind_and, "a part of and, or that changes memory", "write an if statement"),
    (tuple_of_a_loop, r"pair changes its type here, from \(f32\[8\], i32\) to \(f32\[8\], int 2, i32\)",
     "keeps its shape"),
)


class Mistakes(LanguageCase):
    def test_what_cannot_be_said_is_shown(self):
        with open(__file__) as file:
            lines = file.read().splitlines()
        y = numpy.zeros(64, "f4")
        for kernel, message, hint in MISTAKES:
            function = kernel.kernel_function
            with self.subTest(function.__name__):
                first = function.__code__.co_firstlineno
                marked = next(n for n in range(first, len(lines) + 1) if "# here" in lines[n - 1])
                with self.assertRaisesRegex(tl.KernelError, message) as caught:
                    kernel[(4,)](*[y.copy() for _ in range(function.__code__.co_argcount)])
                self.assertEqual(caught.exception.line, marked)
                self.assertIn(hint, caught.exception.hint)
        with self.assertRaisesRegex(tl.KernelError, "this function returns") as caught:
            value_on_one_way[(4,)](y)
        self.assertIn("on every way", caught.exception.hint)


if __name__ == "__main__":
    unittest.main()
