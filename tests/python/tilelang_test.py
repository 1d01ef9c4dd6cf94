"""TileLang's style: kernels on the host and the emulated card against NumPy, and compiled for every target."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase
from nightly import by_day

import numpy

import kernels_tilelang as kernels
import kernels_tilelang_attention as attentions

OTHERS = by_day(("gfx1100",), ("gfx90a", "gfx950", "gfx1100"))


class TileLangCase(LanguageCase):
    def halves(self, *shape):
        return (self.random.standard_normal(shape) * 0.5).astype("float16")

    def close(self, found, wanted, tolerance):
        for a, b in zip(
            found if isinstance(found, tuple) else (found,), wanted if isinstance(wanted, tuple) else (wanted,)
        ):
            numpy.testing.assert_allclose(numpy.asarray(a, "float64"), b, rtol=tolerance, atol=tolerance)


def attention(q, k, v, causal=False):
    """Softmax attention in f64; heads, lengths and values are the last three axes."""
    q, k, v = (x.astype("f8") for x in (q, k, v))
    s = q @ k.swapaxes(-1, -2) / numpy.sqrt(q.shape[-1])
    if causal:
        s[..., ~numpy.tri(*s.shape[-2:], k.shape[-2] - q.shape[-2], dtype=bool)] = -numpy.inf
    e = numpy.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


class Kernels(TileLangCase):
    def test_gemm(self):
        for m, n, k in ((128, 64, 96), (100, 72, 52)):
            for transposed in (False, True):
                a, b = self.halves(m, k), self.halves(*((n, k) if transposed else (k, n)))
                wanted = a.astype("f8") @ (b.T if transposed else b).astype("f8")
                for device in DEVICES:
                    self.close(kernels.gemm(m, n, k, transposed, device=device)(a, b), wanted, 1e-2)
        for target in OTHERS:
            self.assertTrue(kernels.gemm(100, 72, 52, target=target).compiled.key)

    def test_gemm_of_other_types(self):
        a, b = self.normals(40, 33), self.normals(33, 50)
        c, d = (self.random.integers(-9, 9, s).astype("int8") for s in ((64, 64), (64, 64)))
        for device in DEVICES:
            self.close(kernels.gemm(40, 50, 33, dtype="float32", device=device)(a, b), a.astype("f8") @ b, 1e-4)
            found = kernels.gemm(64, 64, 64, dtype="int8", accum="int32", stages=0, device=device)(c, d)
            numpy.testing.assert_array_equal(found, (c.astype("i4") @ d.astype("i4")).astype("int8"))

    def test_kernel_that_is_the_function_itself(self):
        a, b, bias = self.halves(96, 40), self.halves(40, 80), self.halves(80)
        wanted = numpy.maximum(a.astype("f8") @ b.astype("f8") + bias, 0)
        for device in DEVICES:
            self.close(kernels.gemm_bias_relu(a, b, bias, 32, 64, 32, device=device), wanted, 1e-2)
            compiled = kernels.gemm_bias_relu.compile(M=96, N=80, K=40, rows=32, cols=32, depth=16, device=device)
            self.close(compiled(a, b, bias), wanted, 1e-2)
        for target in OTHERS:
            kernels.gemm_bias_relu.compile(M=96, N=80, K=40, rows=32, cols=32, depth=16, target=target)

    def test_elementwise(self):
        x, y = self.normals(70, 50), self.normals(70, 50)
        for device in DEVICES:
            numpy.testing.assert_array_equal(kernels.add(70, 50, 32, 32, "float", device=device)(x, y), x + y)
        for target in OTHERS:
            kernels.add(70, 50, 32, 32, "float", target=target)

    def test_softmax(self):
        for shape in ((5, 64), (4, 200)):
            x = self.halves(*shape)
            e = numpy.exp(x.astype("f8") - x.max(1, keepdims=True))
            for device in DEVICES:
                self.close(kernels.softmax_online(x, device=device), e / e.sum(1, keepdims=True), 1e-3)
        for target in OTHERS:
            kernels.softmax_online.compile(M=4, N=200, target=target)

    def test_norms(self):
        x, w, b = self.normals(9, 128), self.normals(128), self.normals(128)
        wide = x.astype("f8")
        rms = wide / numpy.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * w
        mean = wide.mean(1)
        layer = (wide - mean[:, None]) / numpy.sqrt(wide.var(1, keepdims=True) + 1e-5) * w + b
        for device in DEVICES:
            self.close(kernels.rms_norm(9, 128, device=device)(x, w), rms, 1e-5)
            self.close(kernels.layer_norm(9, 128, device=device)(x, w, b), (layer, mean), 1e-4)
        for target in OTHERS:
            kernels.rms_norm(9, 128, target=target)
            kernels.layer_norm(9, 128, target=target)

    def test_reductions(self):
        x = self.normals(8, 60)
        wanted = x.max(1), x.min(1), abs(x).max(1), abs(x).sum(0), x.sum(1, keepdims=True) + 1
        for device in DEVICES:
            self.close(kernels.reductions(x, 8, device=device), wanted, 1e-5)
        for target in OTHERS:
            kernels.reductions.compile(M=8, N=60, rows=8, target=target)

    def test_a_padded_layout_is_used(self):
        x = self.normals(70, 40)
        for device in DEVICES:
            numpy.testing.assert_array_equal(kernels.transpose(70, 40, device=device)(x), x.T)
        tiles = kernels.transpose(64, 64, device="emu:gfx942").explain()["shared_tiles"]
        self.assertEqual([t["layout"] for t in tiles], ["pad 4 B"])
        for target in OTHERS:
            kernels.transpose(70, 40, target=target)


class Attention(TileLangCase):
    def test_forward(self):
        for batch, heads, groups, q_length, k_length, causal in (
            (1, 2, 1, 64, 64, False),
            (2, 4, 2, 70, 130, True),
            (1, 2, 2, 100, 100, True),
        ):
            q = self.halves(batch, q_length, heads, 64)
            k, v = (self.halves(batch, k_length, heads // groups, 64) for _ in range(2))
            wide = [numpy.repeat(x, groups, axis=2).transpose(0, 2, 1, 3) for x in (k, v)]
            wanted = attention(q.transpose(0, 2, 1, 3), *wide, causal).transpose(0, 2, 1, 3)
            for device in DEVICES:
                kernel = attentions.attention(batch, heads, groups, q_length, k_length, 64, causal, device=device)
                self.close(kernel(q, k, v), wanted, 2e-3)
        for target in OTHERS:
            attentions.attention(1, 2, 1, 128, 128, 64, True, target=target)

    def test_sequences_of_several_lengths(self):
        lengths = (70, 1, 64, 33)
        starts = numpy.cumsum((0,) + lengths).astype("int32")
        tokens = int(starts[-1])
        q, k, v = (self.halves(tokens, 2, 64) for _ in range(3))
        for causal in (False, True):
            pieces = [
                attention(*[x[a:b].transpose(1, 0, 2) for x in (q, k, v)], causal).transpose(1, 0, 2)
                for a, b in zip(starts, starts[1:])
            ]
            for device in DEVICES:
                kernel = attentions.attention_of_lengths(len(lengths), 2, tokens, 64, causal, device=device)
                self.close(kernel(q, k, v, starts, max(lengths)), numpy.concatenate(pieces), 2e-3)
        for target in OTHERS:
            attentions.attention_of_lengths(4, 2, 168, 64, True, target=target)

    def test_decoding(self):
        q, k, v = self.halves(2, 20, 64), self.halves(2, 256, 64), self.halves(2, 256, 64)
        for parts in (1, 2, 4):
            for device in DEVICES:
                self.close(attentions.decode(2, 20, 256, 64, parts, device=device)(q, k, v), attention(q, k, v), 2e-3)
        for target in OTHERS:
            attentions.decode(2, 20, 256, 64, 4, target=target)


if __name__ == "__main__":
    unittest.main()
