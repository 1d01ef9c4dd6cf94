"""Conditions inside T.Parallel: each iteration takes one side, as it was when the condition was asked."""

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


@tilelang.jit
def changes_what_it_asked(N):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((N,), "float32")
            b = T.alloc_fragment((N,), "float32")
            T.copy(A, a)
            T.clear(b)
            for i in T.Parallel(N):
                if a[i] > 0:
                    a[i] = -a[i]
                    b[i] = 1.0
                elif a[i] < -1:
                    a[i] = a[i] * 10
                    if a[i] < -20:
                        a[i] = 20.0
                        b[i] = 2.0
                    else:
                        b[i] = 3.0
                else:
                    a[i] = 5.0
            T.copy(a, B)
            T.copy(b, C)

    return main


@tilelang.jit
def in_place(N):
    @T.prim_func
    def main(X: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                if X[i] < 0:
                    X[i] = 0.5 - X[i]
                else:
                    X[i] = X[i] * 2 + 100

    return main


@T.macro
def bent(x):
    if x > 1:
        return x * 2
    elif x < -1:
        return -x
    return 0.25


@tilelang.jit
def returns_of_a_macro(N):
    @T.prim_func
    def main(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                Y[i] = bent(X[i])

    return main


@tilelang.jit
def leaves_some_blocks(N):
    @T.prim_func
    def main(X: T.Tensor((N,), "float32")):
        with T.Kernel(N, threads=32) as b:
            if b > 2:
                if b == 5:
                    X[b] = 7.0
                return
            X[b] = 1.0

    return main


@tilelang.jit
def copies_a_variable(N):
    @T.prim_func
    def main(X: T.Tensor((N,), "float32"), Y: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_var("float32")
            s = 0.0
            for i in T.serial(N):
                s += X[i]
            t = s
            t += 1
            Y[0] = s
            Y[1] = t

    return main


class Conditions(LanguageCase):
    def test_a_side_may_change_what_was_asked(self):
        x = self.normals(64) * 2
        bent_twice = numpy.where(x * 10 < -20, 20, x * 10)
        for device in DEVICES:
            b, c = numpy.zeros_like(x), numpy.zeros_like(x)
            changes_what_it_asked(64, device=device)(x, b, c)
            numpy.testing.assert_allclose(b, numpy.where(x > 0, -x, numpy.where(x < -1, bent_twice, 5)), rtol=1e-6)
            sides = numpy.where(x < -1, numpy.where(x * 10 < -20, 2, 3), 0)
            numpy.testing.assert_array_equal(c, numpy.where(x > 0, 1, sides))
            y = x.copy()
            in_place(64, device=device)(y)
            numpy.testing.assert_allclose(y, numpy.where(x < 0, 0.5 - x, x * 2 + 100), rtol=1e-6)

    def test_returns(self):
        x = self.normals(64) * 2
        for device in DEVICES:
            y = numpy.zeros_like(x)
            returns_of_a_macro(64, device=device)(x, y)
            numpy.testing.assert_allclose(y, numpy.where(x > 1, x * 2, numpy.where(x < -1, -x, 0.25)), rtol=1e-6)
            y = numpy.zeros(8, "f4")
            leaves_some_blocks(8, device=device)(y)
            numpy.testing.assert_array_equal(y, [1, 1, 1, 0, 0, 7, 0, 0])

    def test_a_variable_is_copied(self):
        for n in (20, 700):
            for device in DEVICES:
                y = numpy.zeros(2, "f4")
                copies_a_variable(n, device=device)(numpy.ones(n, "f4"), y)
                numpy.testing.assert_array_equal(y, [n, n + 1])

    def test_what_cannot_be_said(self):
        @tilelang.jit
        def leaves_an_iteration(N):
            @T.prim_func
            def main(X: T.Tensor((N,), "float32")):
                with T.Kernel(1, threads=32):
                    for i in T.Parallel(N):
                        if X[i] > 0:
                            return
                        X[i] = 1.0

            return main

        with self.assertRaisesRegex(tl.KernelError, "return inside a loop") as caught:
            leaves_an_iteration(64)
        self.assertIn("opposite if", caught.exception.hint)


if __name__ == "__main__":
    unittest.main()
