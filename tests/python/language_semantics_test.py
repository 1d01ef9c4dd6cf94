"""Python's meaning of names, loops, branches and calls holds in kernels: each against the same function in NumPy."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl

B = tl.constexpr(16)


@tl.kernel
def product_by_blocks(A, X, C, b: tl.constexpr = 32):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((b, b))
    for k in range(tl.cdiv(A.shape[1], b)):
        a = A[m * b:(m + 1) * b, k * b:(k + 1) * b]
        acc += tl.dot(a, X[k * b:(k + 1) * b, n * b:n * b + b])
    C[m * b:(m + 1) * b, n * b:(n + 1) * b] = acc


@tl.kernel
def product_by_operator(A, X, C):
    i, j = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros([32, 32], dtype=tl.float32)
    for k in tl.pipelined(0, A.shape[1], 32, stages=2):
        acc += A[i * 32:(i + 1) * 32, k:k + 32] @ tl.transpose(X[j * 32:(j + 1) * 32, k:k + 32])
    acc = tl.where(acc > 0, acc, 0.1 * acc)
    C[i * 32:(i + 1) * 32, j * 32:(j + 1) * 32] = acc


@tl.kernel
def layer_norm(X, W, Bias, Y, eps):
    i = tl.program_id(0)
    N = X.shape[1]
    mean = 0.0
    for n in range(0, N, 64):
        mean += tl.sum(X[i, n:n + 64])
    mean = mean / N
    var = 0.0
    for n in range(0, N, 64):
        d = tl.where(n + tl.arange(0, 64) < N, X[i, n:n + 64] - mean, 0.0)
        var += tl.sum(d * d)
    rstd = 1 / tl.sqrt(var / N + eps)
    for n in range(0, N, 64):
        Y[i, n:n + 64] = (X[i, n:n + 64] - mean) * rstd * W[n:n + 64] + Bias[n:n + 64]


@tl.kernel
def written_out(Y):
    a, b = 0, 1
    for k in tl.static_range(6):
        Y[k:k + 1] = tl.full([1], a, dtype=tl.int32)
        a, b = b, a + b


@tl.kernel
def carried(X, Y):
    i = tl.program_id(0)
    x = X[i * B:(i + 1) * B]
    y = x
    for k in range(3):
        y = x + y * 2
        x = y
    Y[i * B:(i + 1) * B] = x


@tl.kernel
def exchanged(X, Y):
    i = tl.program_id(0)
    a = X[i * B:(i + 1) * B]
    b = a * 2
    for k in range(5):
        a, b = b, a + 1
    Y[i * B:(i + 1) * B] = a - b


@tl.kernel
def counted(Y, n: tl.int32):
    total = 0
    for k in range(n):
        total += 2
    Y[0:1] = tl.full([1], total, dtype=tl.int32)


@tl.kernel
def unchanged_without_iterations(X, Y, n: tl.int32):
    x = tl.load(X[0:16])
    for k in range(n):
        x = X[k:k + 16] * 3
    Y[0:16] = x


@tl.kernel
def leaves_early(X, Y, n: tl.int32):
    i = tl.program_id(0)
    if i >= n:
        return
    Y[i * B:(i + 1) * B] = X[i * B:(i + 1) * B] * 2


@tl.jit
def changes_its_arguments(x, y):
    x += 1
    for k in range(2):
        y = y * 2
    return x, y


@tl.kernel
def calls(X, Y, Z):
    i = tl.program_id(0)
    a = X[i * B:(i + 1) * B]
    b = a + 3
    c, d = changes_its_arguments(a, b)
    Y[i * B:(i + 1) * B] = a * 1000 + c
    Z[i * B:(i + 1) * B] = b * 1000 + d


@tl.kernel
def chosen(X, Y, flag: tl.int32):
    i = tl.program_id(0)
    x = X[i * B:(i + 1) * B]
    if flag == 1:
        x = x + 1
        z = x * 2
    elif flag == 2:
        z = x - 1
    else:
        z = x * 0
    Y[i * B:(i + 1) * B] = z + x


@tl.kernel
def copies_are_values(X, Y):
    i = tl.program_id(0)
    x = X[i * B:(i + 1) * B]
    kept = x
    x += 5
    Y[i * B:(i + 1) * B] = kept * 10 + x


@tl.kernel
def turned_in_place(X, Y):
    x = tl.load(X[0:16, 0:16])
    for k in range(3):
        x = tl.trans(x) + 1
    Y[0:16, 0:16] = x


class Meaning(LanguageCase):
    def run_everywhere(self, kernel, *arguments, outputs, wanted, tolerance=1e-4, **keywords):
        for device in DEVICES:
            for output in outputs:
                output[...] = 0
            kernel(*arguments, device=device, **keywords)
            for output, right in zip(outputs, wanted):
                numpy.testing.assert_allclose(output, right, rtol=tolerance, atol=tolerance, err_msg=device)

    def test_products(self):
        a, x, c = self.normals(70, 90), self.normals(90, 50), numpy.zeros((70, 50), "f4")
        self.run_everywhere(product_by_blocks, a, x, c, outputs=[c], wanted=[a @ x])
        self.run_everywhere(product_by_blocks, a, x, c, outputs=[c], wanted=[a @ x], b=numpy.int64(16))
        right = a @ x
        self.run_everywhere(product_by_operator, a, numpy.ascontiguousarray(x.T), c, outputs=[c], wanted=[numpy.where(right > 0, right, 0.1 * right)])

    def test_numbers_in_loops(self):
        x, w, b = self.normals(5, 200), self.normals(200), self.normals(200)
        y = numpy.zeros_like(x)
        wanted = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
        self.run_everywhere(layer_norm, x, w, b, y, 1e-5, outputs=[y], wanted=[wanted])
        n = numpy.zeros(1, "i4")
        self.run_everywhere(counted, n, 7, outputs=[n], wanted=[[14]])
        f = numpy.zeros(6, "i4")
        self.run_everywhere(written_out, f, outputs=[f], wanted=[[0, 1, 1, 2, 3, 5]])

    def test_names_in_loops(self):
        x = self.normals(64)
        y = numpy.zeros_like(x)
        p = q = x
        for _ in range(3):
            p = q + p * 2
            q = p
        self.run_everywhere(carried, x, y, outputs=[y], wanted=[q], tolerance=1e-3)
        p, q = x, x * 2
        for _ in range(5):
            p, q = q, p + 1
        self.run_everywhere(exchanged, x, y, outputs=[y], wanted=[p - q])
        x, y = self.normals(16), numpy.zeros(16, "f4")
        self.run_everywhere(unchanged_without_iterations, x, y, 0, outputs=[y], wanted=[x])
        self.run_everywhere(unchanged_without_iterations, x, y, 1, outputs=[y], wanted=[x * 3])
        x, y = self.normals(16, 16), numpy.zeros((16, 16), "f4")
        self.run_everywhere(turned_in_place, x, y, outputs=[y], wanted=[x.T + 3])

    def test_branches(self):
        x = self.normals(64)
        y = numpy.zeros_like(x)
        for flag, wanted in ((0, x), (1, (x + 1) * 3), (2, 2 * x - 1)):
            self.run_everywhere(chosen, x, y, flag, outputs=[y], wanted=[wanted])
        early = x * 2
        early[32:] = 0
        self.run_everywhere(leaves_early, x, y, 2, outputs=[y], wanted=[early])

    def test_values_and_calls(self):
        x = self.normals(64)
        y, z = numpy.zeros_like(x), numpy.zeros_like(x)
        self.run_everywhere(calls, x, y, z, outputs=[y, z], wanted=[x * 1001 + 1, (x + 3) * 1004], tolerance=1e-2)
        self.run_everywhere(copies_are_values, x, y, outputs=[y], wanted=[x * 11 + 5])


if __name__ == "__main__":
    unittest.main()
