"""TileLang's style: packed operands, split products, loops of other kinds, data that decides, convolution, sizes as
arguments.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tilelang_test import DEVICES, OTHERS, TileLangCase

import numpy

import kernels_tilelang_more as kernels


class Products(TileLangCase):
    def test_packed_operands(self):
        m, n, k = 40, 50, 128
        packed = self.random.integers(0, 256, (n, k // 2)).astype("uint8")
        nibbles = numpy.stack((packed & 15, packed >> 4), -1).reshape(n, k).astype("int8")
        signed = ((nibbles << 4).astype("int8") >> 4).astype("i4")
        a = self.random.integers(-8, 8, (m, k)).astype("int8")
        x, scale = self.halves(m, k), (self.random.random((n, k // 32)) + 0.5).astype("float16")
        wide = (nibbles.astype("f8") - 8) * numpy.repeat(scale, 32, axis=1)
        for device in DEVICES:
            numpy.testing.assert_array_equal(
                kernels.gemm_int4(m, n, k, device=device)(a, packed), a.astype("i4") @ signed.T
            )
            self.close(
                kernels.gemm_int4_scaled(m, n, k, 32, device=device)(x, packed, scale), x.astype("f8") @ wide.T, 5e-2
            )
        for target in OTHERS:
            kernels.gemm_int4(m, n, k, target=target)
            kernels.gemm_int4_scaled(m, n, k, 32, target=target)

    def test_split(self):
        a, b = self.halves(70, 128), self.halves(128, 64)
        for by_tile in (True, False):
            for device in DEVICES:
                c = numpy.ones((70, 64), "float32")
                kernels.gemm_split(a, b, c, 32, 32, 32, 2, by_tile, device=device)
                self.close(c, 1 + a.astype("f8") @ b, 1e-3)
            for target in OTHERS:
                kernels.gemm_split.compile(
                    M=70, N=64, K=128, rows=32, cols=32, depth=32, parts=2, by_tile=by_tile, target=target
                )

    def test_persistent(self):
        a, b = self.halves(100, 64), self.halves(64, 130)
        for by_hand in (False, True):
            for device in DEVICES:
                self.close(
                    kernels.gemm_persistent(a, b, 4, 32, 32, 32, by_hand, device=device), a.astype("f8") @ b, 1e-2
                )
            for target in OTHERS:
                kernels.gemm_persistent.compile(
                    M=100, N=130, K=64, blocks=4, rows=32, cols=32, depth=32, by_hand=by_hand, target=target
                )

    def test_sizes_as_arguments(self):
        for m, n, k in ((64, 32, 96), (50, 70, 33)):
            a, b = self.halves(m, k), self.halves(k, n)
            for device in DEVICES:
                self.close(kernels.gemm_of_any_size(a, b, device=device), a.astype("f8") @ b, 1e-2)
        kernel = kernels.gemm_of_any_size.compile()
        for m in (1, 64):
            a, b = self.halves(m, 40), self.halves(40, 50)
            self.close(kernel(a, b), a.astype("f8") @ b, 1e-2)
        self.assertEqual(len({c.key for c in kernel._compiled.values()}), 1)

    def test_data_decides(self):
        a, b = self.halves(64, 128), self.halves(128, 32)
        mask = numpy.array([[1, 0, 0, 3], [0, 0, 0, 0]], "int8")
        wanted = (a * numpy.kron(mask != 0, numpy.ones((32, 32)))).astype("f8") @ b
        for device in DEVICES:
            self.close(kernels.gemm_block_sparse(64, 32, 128, device=device)(a, b, mask), wanted, 1e-3)
        for target in OTHERS:
            kernels.gemm_block_sparse(64, 32, 128, target=target)

    def test_convolution(self):
        x, w = self.halves(2, 9, 8, 16), self.halves(3, 3, 16, 24)
        for stride, dilation, pad in ((1, 1, 1), (2, 1, 0), (1, 2, 2)):
            wide = numpy.pad(x.astype("f8"), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
            high, across = ((n + 2 * pad - dilation * 2 - 1) // stride + 1 for n in (9, 8))
            taps = [
                (i, j, wide[:, i * dilation :, j * dilation :][:, ::stride, ::stride][:, :high, :across])
                for i in range(3)
                for j in range(3)
            ]
            wanted = sum(part @ w[i, j].astype("f8") for i, j, part in taps)
            for device in DEVICES:
                self.close(kernels.convolution(x, w, stride, dilation, pad, 32, 32, 32, device=device), wanted, 2e-2)
        for target in OTHERS:
            kernels.convolution.compile(
                N=2, H=9, V=8, C=16, F=24, K=3, stride=1, dilation=1, pad=1, rows=32, cols=32, depth=32, target=target
            )


class Others(TileLangCase):
    def test_numbers(self):
        x = self.normals(5, 16)
        wanted = numpy.stack([(x**2).sum(1), abs(x[:, 0]), (x > 0.5).sum(1), numpy.full(5, 120)], 1)
        for device in DEVICES:
            self.close(kernels.numbers(x, 16, device=device), wanted, 1e-5)
        for target in OTHERS:
            kernels.numbers.compile(M=5, N=16, target=target)

    def test_running_sums(self):
        x = self.normals(4, 33)
        for device in DEVICES:
            self.close(kernels.running_sums(x, device=device), numpy.cumsum(x, 1), 1e-4)
            self.close(kernels.running_sums(x, True, device=device), numpy.cumsum(x[:, ::-1], 1)[:, ::-1], 1e-4)
        for target in OTHERS:
            kernels.running_sums.compile(M=4, N=33, target=target)

    def test_groups(self):
        lengths = [5, 16, 1, 9]
        starts = numpy.cumsum([0] + lengths).astype("int32")
        padded = numpy.cumsum([0] + [(n + 7) // 8 * 8 for n in lengths[:-1]]).astype("int32")
        x, scale = self.normals(sum(lengths), 12), self.normals(4)
        for device in DEVICES:
            found = kernels.grouped_scale(x, scale, starts, padded, lengths, device=device)
            self.close(found, x * numpy.repeat(scale, lengths)[:, None], 1e-6)
        for target in OTHERS:
            kernels.grouped_scale.compile(N=12, lengths=lengths, target=target)

    def test_loops_of_one_iteration(self):
        x = self.normals(5)
        for device in DEVICES:
            numpy.testing.assert_array_equal(kernels.one_element(5, device=device)(x), x * 2)

    def test_strides(self):
        x, y = self.normals(24, 40), self.normals(40, 30)
        for device in DEVICES:
            into = y.copy()
            kernels.add_strided(40, 24, 30, device=device)(x.T, into[:, :24])
            self.close(into[:, :24], y[:, :24] + x.T, 1e-6)
            numpy.testing.assert_array_equal(into[:, 24:], y[:, 24:])
        for target in OTHERS:
            kernels.add_strided(40, 24, 30, target=target)

    def test_sizes_computed_from_arguments(self):
        for m, n in ((6, 50), (1, 3)):
            x = self.normals(m, n)
            wanted = numpy.zeros((2 * m, n), "f8")
            wanted[0::2], wanted[1 : m // 2 * 2 : 2] = x, x[: m // 2] * 2
            for device in DEVICES:
                self.close(kernels.twice_as_tall(32, device=device)(x), wanted, 1e-6)

    def test_rows_by_index(self):
        table, index = self.normals(20, 12), self.random.integers(0, 20, 13).astype("int32")
        for device in DEVICES:
            numpy.testing.assert_array_equal(
                kernels.rows_by_index(13, 20, 12, device=device)(table, index), table[index]
            )
        for target in OTHERS:
            kernels.rows_by_index(13, 20, 12, target=target)


if __name__ == "__main__":
    unittest.main()
