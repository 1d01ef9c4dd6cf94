"""Python's meaning of values holds in kernels: parts of one tile, operators of Python's own, what no kernel can mean."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl


@tl.kernel(grid=(1,))
def parts_of_one_tile(X, Y):
    t = tl.alloc_shared([32, 32], tl.float32)
    t[:, :] = X[0:32, 0:32]
    t[8:24, :] = t[0:16, :]
    t[1:32, :] += t[0:31, :]
    t[0:16, 0:16] = tl.trans(t[0:16, 0:16])
    t[:, 3] = t[:, 2] + t[5, 5]
    t[4:20, 1:32] = t[3:19, 0:31] + t[4:20, 1:32]
    Y[0:32, 0:32] = t


@tl.kernel(grid=(1,))
def elements_that_a_tile_chooses(X, P, Y):
    t = tl.alloc_shared([64], tl.float32)
    p = tl.alloc_shared([64], tl.int32)
    t[:] = X[0:64]
    p[:] = P[0:64]
    t[1:64] = t[0:63]
    t[p] = t[tl.arange(0, 64)] * 2
    p[p] = p + tl.arange(0, 64)
    t[:] = t[tl.minimum(p, 63)] + t[0]
    Y[0:64] = t + p


@tl.kernel(grid=(1,))
def product_with_itself(X, Y):
    a = tl.alloc_fragment([32, 32], tl.float32)
    a[:, :] = X[0:32, 0:32]
    a[:, :] = tl.dot(a, a)
    a[:, :] += tl.dot(tl.trans(a), a)
    Y[0:32, 0:32] = a


@tl.kernel(grid=(1,))
def elements_of_a_parameter(Y):
    o = tl.arange(0, 64)
    Y[o + 1] = Y[o] + Y[3]


class Overlaps(LanguageCase):
    def test_parts_of_one_tile(self):
        x = self.normals(32, 32)
        wanted = x.copy()
        wanted[8:24] = x[0:16]
        wanted[1:] += wanted[:31].copy()
        wanted[:16, :16] = wanted[:16, :16].T.copy()
        wanted[:, 3] = wanted[:, 2] + wanted[5, 5]
        wanted[4:20, 1:] += wanted[3:19, :31].copy()
        for device in DEVICES:
            y = numpy.zeros_like(x)
            parts_of_one_tile(x, y, device=device)
            numpy.testing.assert_array_equal(y, wanted, device)

    def test_elements_that_a_tile_chooses(self):
        x, places = numpy.arange(64, dtype="f4"), self.random.permutation(64).astype("i4")
        t, p = numpy.concatenate([x[:1], x[:63]]), places.copy()
        t[places] = t * 2
        p[places] = places + numpy.arange(64)
        t = t[numpy.minimum(p, 63)] + t[0]
        for device in DEVICES:
            y = numpy.zeros_like(x)
            elements_that_a_tile_chooses(x, places, y, device=device)
            numpy.testing.assert_array_equal(y, t + p, device)
            z = numpy.arange(65, dtype="f4")
            elements_of_a_parameter(z, device=device)
            numpy.testing.assert_array_equal(z, numpy.concatenate([[0], numpy.arange(64) + 3]), device)

    def test_a_product_into_its_own_operand(self):
        x = self.normals(32, 32)
        for device in DEVICES:
            y = numpy.zeros_like(x)
            product_with_itself(x, y, device=device)
            square = x @ x
            numpy.testing.assert_allclose(y, square + square.T @ square, rtol=1e-4, atol=1e-2, err_msg=device)


if __name__ == "__main__":
    unittest.main()
