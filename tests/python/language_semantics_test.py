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


@tl.kernel
def copies_behind_a_loop(X, Y, n: tl.int32):
    o = tl.arange(0, 8)
    s, m, acc, u = 0.0, float("-inf"), tl.zeros([8], tl.float32), tl.load(X)
    for k in range(n):
        s = s * 2 + tl.load(X + k)
        m = tl.maximum(m, tl.max(tl.load(X + o)))
        acc = acc * 2 + tl.load(X + o)
        last = tl.load(X + k)
    t, old = s, acc
    t += 1
    acc += 1
    if n > 1:
        for k in range(n):
            u = u * 3 + k
    keep = u
    keep += u
    before = m
    m *= 2.0
    tl.store(Y + o, old)
    tl.store(Y + 8 + o, acc)
    for k, value in ((0, s), (1, t), (2, u), (3, keep), (4, before), (5, m), (6, last)):
        tl.store(Y + 16 + k, value)


@tl.kernel
def loops_in_both_branches(X, Y, n: tl.int32):
    p, o = tl.program_id(0), tl.arange(0, 4)
    s, m = 0.0, float("-inf")
    if p == 0:
        for i in range(n):
            s += tl.load(X + i)
            m = tl.maximum(m, tl.max(tl.load(X + i * 4 + o)))
    else:
        for i in range(n - 1):
            s += 2.0 * tl.load(X + i)
            m = tl.maximum(m, tl.max(tl.load(X + i * 4 + o)))
    tl.store(Y + p * 2, s)
    tl.store(Y + p * 2 + 1, m)


@tl.kernel
def tuples_are_values(X, Y):
    o = tl.arange(0, 8)
    v = tl.load(X + o)
    best, alt = v * 0, v
    state = (v, (1, 0.5))
    pair = (v, [v * 2, tl.arange(0, 8)])
    v += 1
    for k in range(3):
        kept = (best, alt)
        best = best + alt
        alt = kept[0] + k
        tl.store(Y + (3 + k) * 8 + o, kept[1] + best)
        state = (state[0] * state[1][0], (state[1][0] + 1, state[1][1] - k))
    tl.store(Y + o, pair[0])
    tl.store(Y + 8 + o, pair[1][0] + pair[1][1])
    tl.store(Y + 16 + o, v)
    tl.store(Y + 48 + o, state[0] + state[1][1])


@tl.kernel
def exchanged_in_memory(X, Y):
    x = tl.alloc_shared([8, 8], dtype=tl.float32)
    x[:, :] = X[0:8, 0:8]
    x[0, 0], x[1, 1] = x[1, 1], x[0, 0]
    x[0:1, 2:4], x[0:1, 4:6] = x[0:1, 4:6], x[0:1, 2:4]
    Y[0:8, 0:8] = x


@tl.kernel
def turned_before_it_changes(X, Y):
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 8)[None, :]
    x = tl.load(X + i * 8 + j)
    z = tl.zeros([8, 8], tl.float32)
    first = tl.trans(x)
    for k in range(3):
        y = tl.trans(x)
        x = x * 2
        z = z + y
    x += 1
    tl.store(Y + i * 8 + j, z + x * 100 + first * 10000)


@tl.kernel
def pointed_before_it_changes(X, I, Y):
    o = tl.arange(0, 8)
    index, base = tl.load(I + o), X + 0
    there = base + index
    index += 1
    for k in range(2):
        here = base + index
        index += 2
        tl.store(Y + (2 + k) * 8 + o, tl.load(here) + tl.load(there))
    tl.store(Y + o, tl.load(there))
    tl.store(Y + 8 + o, tl.load(base + index))


@tl.jit
def bump(P):
    tl.atomic_add(P, 1)
    return 2


@tl.kernel
def steps_that_do_something(P, Y, n: tl.int32):
    c, s = 0, 0
    for i in range(n):
        c += tl.atomic_add(P, 1)
        s += bump(P + 1)
    tl.store(Y, c)
    tl.store(Y + 1, s)


@tl.kernel
def steps_that_are_loaded(X, Step, Y, n: tl.int32):
    at = X
    for i in range(n):
        tl.store(Y + i, tl.load(at))
        at += tl.load(Step)
    total = 0
    for i in range(n):
        total += tl.cdiv(n, 2)
    tl.store(Y + n, total)


@tl.kernel
def counted_by_an_index(P, Y: tl.Buffer[4, tl.int32]):
    Y[tl.atomic_add(P, 1)] += 5


@tl.jit
def overwrites(x, t):
    t[:] = tl.full([8], 5.0, tl.float32)
    return x + 1


@tl.kernel
def passes_elements(Y: tl.Buffer[16, tl.float32]):
    t = tl.alloc_shared([8], dtype=tl.float32)
    t[:] = tl.full([8], 1.0, tl.float32)
    Y[0] = overwrites(t[0], t)
    t[:] = tl.full([8], 2.0, tl.float32)
    Y[1:5] = overwrites(t[0:4] * 2, t)


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

    def test_loops_in_both_branches(self):
        x, y = -numpy.arange(12, dtype="f4"), numpy.zeros((2, 2), "f4")
        self.run_everywhere(loops_in_both_branches[(2,)], x, y, 3, outputs=[y], wanted=[[[-3, 0], [-2, 0]]])

    def test_steps(self):
        for device in DEVICES:
            p, y = numpy.zeros(2, "i4"), numpy.zeros(2, "i4")
            steps_that_do_something[(1,)](p, y, 4, device=device)
            numpy.testing.assert_array_equal(numpy.concatenate([p, y]), [4, 4, 6, 8], device)
            x, y = numpy.arange(20, dtype="f4"), numpy.zeros(5, "f4")
            steps_that_are_loaded[(1,)](x, numpy.array([3], "i4"), y, 4, device=device)
            numpy.testing.assert_array_equal(y, [0, 3, 6, 9, 8], device)
            p, y = numpy.ones(1, "i4"), numpy.arange(4, dtype="i4")
            counted_by_an_index[(1,)](p, y, device=device)
            numpy.testing.assert_array_equal(numpy.concatenate([p, y]), [2, 0, 6, 2, 3], device)

    def test_names_hold_what_they_were_given(self):
        x = numpy.arange(1, 9, dtype="f4")
        for n in (1, 3):
            s, acc, u = 0, 0 * x, x[0]
            for k in range(n):
                s, acc = s * 2 + x[k], acc * 2 + x
            for k in range(n if n > 1 else 0):
                u = u * 3 + k
            wanted = list(acc) + list(acc + 1) + [s, s + 1, u, 2 * u, 8, 16, x[n - 1]]
            for device in DEVICES:
                y = numpy.zeros(23, "f4")
                copies_behind_a_loop[(1,)](x, y, n, device=device)
                numpy.testing.assert_array_equal(y, wanted, device)
        best, alt, rows = 0 * x, x, []
        for k in range(3):
            best, alt, kept = best + alt, best + k, alt
            rows.append(kept + best)
        wanted = numpy.concatenate([x, x * 2 + numpy.arange(8), x + 1] + rows + [x * 6 + 0.5 - 3])
        y = numpy.zeros(56, "f4")
        self.run_everywhere(tuples_are_values[(1,)], x, y, outputs=[y], wanted=[wanted])

    def test_elements_that_are_passed(self):
        y = numpy.zeros(16, "f4")
        self.run_everywhere(passes_elements, y, outputs=[y], wanted=[[2, 5, 5, 5, 5] + [0] * 11])

    def test_names_that_follow_a_tile(self):
        x = self.normals(8, 8)
        y, wanted = numpy.zeros_like(x), x.copy()
        wanted[0, 0], wanted[1, 1] = x[1, 1], x[0, 0]
        wanted[0, 2:4], wanted[0, 4:6] = x[0, 4:6], x[0, 2:4]
        self.run_everywhere(exchanged_in_memory, x, y, outputs=[y], wanted=[wanted])
        wanted = 7 * x.T + 100 * (8 * x + 1) + 10000 * x.T
        self.run_everywhere(turned_before_it_changes[(1,)], x, y, outputs=[y], wanted=[wanted], tolerance=1e-3)
        x, index, y = self.normals(20), self.random.permutation(8).astype("i4"), numpy.zeros(32, "f4")
        wanted = numpy.concatenate([x[index], x[index + 5], x[index + 1] + x[index], x[index + 3] + x[index]])
        self.run_everywhere(pointed_before_it_changes[(1,)], x, index, y, outputs=[y], wanted=[wanted])

    def test_values_and_calls(self):
        x = self.normals(64)
        y, z = numpy.zeros_like(x), numpy.zeros_like(x)
        self.run_everywhere(calls, x, y, z, outputs=[y, z], wanted=[x * 1001 + 1, (x + 3) * 1004], tolerance=1e-2)
        self.run_everywhere(copies_are_values, x, y, outputs=[y], wanted=[x * 11 + 5])


if __name__ == "__main__":
    unittest.main()
