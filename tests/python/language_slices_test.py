"""kiln.language: masks and other values of slices and blocks, reductions into a name's own tile, sizes that programs depend on, how
objects show themselves, tensors of PyTorch where it is installed."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.errors
import kiln.language as tl

try:
    import torch
except ImportError:
    torch = None


@tl.kernel
def masked_slices(X: tl.Buffer["M", "N"], Y: tl.Buffer["M", "N"], R: tl.Buffer["M"], n: tl.int32):
    p = tl.program_id(0)
    x = tl.load(X[p * 4 : (p + 1) * 4, 0:64], other=float("-inf"))
    R[p * 4 : (p + 1) * 4] = tl.max(x, axis=1)
    columns = tl.arange(0, 64)
    z = tl.load(X[p * 4 : (p + 1) * 4, 0:64], mask=(columns < n)[None, :], other=7.0)
    tl.store(Y[p * 4 : (p + 1) * 4, 0:64], z * 2, mask=(columns % 2 == 0)[None, :])


@tl.kernel
def masked_blocks(X, Y):
    columns = tl.arange(0, 64)
    x = tl.load(X, block_shape=[4, 64], mask=(columns < 10)[None, :], other=1.5)
    tl.store(Y, x, mask=(columns > 3)[None, :])


@tl.kernel
def row_sums(X: tl.Buffer["M", "N"], R: tl.Buffer["M"]):
    p = tl.program_id(0)
    total, top = tl.zeros([4], tl.float32), tl.full([4], float("-inf"), tl.float32)
    for n in range(0, X.shape[1], 32):
        x = tl.load(X[p * 4 : (p + 1) * 4, n : n + 32], other=-1.0)
        total += tl.sum(x, axis=1)
        top = tl.maximum(tl.max(x, axis=1), top)
    R[p * 4 : (p + 1) * 4] = total + top


@tl.kernel
def gathered(P: tl.Buffer[64, tl.int32], X: tl.Buffer[64, tl.float32], Y: tl.Buffer[64, tl.float32]):
    i = tl.program_id(0)
    p, t = tl.alloc_shared([64], dtype=tl.int32), tl.alloc_shared([64], dtype=tl.float32)
    p[:] = P[i * 64 : (i + 1) * 64]
    t[:] = X[i * 64 : (i + 1) * 64]
    t[:] = t[p % 64] + t[0]
    Y[i * 64 : (i + 1) * 64] = t


class Slices(LanguageCase):
    def test_places_from_elements_that_are_bounded_by_a_remainder(self):
        p, x = self.random.integers(-1000, 1000, 64).astype("i4"), self.normals(64)
        for device in DEVICES:
            y = numpy.zeros(64, "f4")
            gathered(p, x, y, device=device)
            numpy.testing.assert_array_equal(y, x[p % 64] + x[0])

    def test_masks_and_other_values(self):
        x = -1 - numpy.abs(self.normals(10, 50))
        for device in DEVICES:
            y, r = numpy.full_like(x, 9), numpy.zeros(10, "f4")
            masked_slices(x, y, r, 20, device=device)
            numpy.testing.assert_array_equal(r, x.max(1))
            wanted, chosen = numpy.full_like(x, 9), x.copy()
            chosen[:, 20:] = 7
            wanted[:, ::2] = 2 * chosen[:, ::2]
            numpy.testing.assert_array_equal(y, wanted)
            y = numpy.full_like(x, 9)
            masked_blocks(x, y, device=device)
            wanted, chosen = numpy.full_like(x, 9), x.copy()
            chosen[:, 10:] = 1.5
            wanted[:, 4:] = chosen[:, 4:]
            numpy.testing.assert_array_equal(y, wanted)

    def test_reductions_go_into_the_name_s_own_tile(self):
        x = self.normals(10, 90)
        padded = numpy.concatenate([x, numpy.full((10, 6), -1, "f4")], axis=1)
        for device in DEVICES:
            r = numpy.zeros(10, "f4")
            row_sums(x, r, device=device)
            numpy.testing.assert_allclose(r, padded.sum(1) + padded.max(1), rtol=1e-5, atol=1e-5)
        compiled = tl.compile(row_sums, (x, r), target="host")
        loop = next(s for s in compiled.program["launches"][0]["body"] if s["op"] == "for")
        self.assertEqual([s.get("accumulate") for s in loop["body"] if s["op"] == "reduce"], [True, True])

    def test_a_loop_over_a_size_does_not_fix_it(self):
        programs = [tl.compile(row_sums, ("f32[8, %d]" % n, "f32[8]"), target="host").program for n in (64, 70, 128)]
        self.assertNotIn("constraints", programs[0])
        self.assertTrue(all(p == programs[0] for p in programs))

    def test_an_array_of_another_shape(self):
        x = self.normals(10, 50)
        compiled = tl.compile(row_sums, (x, numpy.zeros(10, "f4")), device="host")
        for wrong in (x.T.copy(), x.reshape(500), x.reshape(50, 10)):
            with self.assertRaisesRegex(kiln.errors.InvalidArgument, "X: expected shape"):
                compiled(wrong, numpy.zeros(10, "f4"))


class Shown(LanguageCase):
    def test_reports_on_a_terminal_and_in_a_notebook(self):
        compiled = tl.compile(row_sums, (self.normals(8, 64), numpy.zeros(8, "f4")), device="emu:gfx942")
        for report in (compiled.explain(), compiled.profile()):
            self.assertEqual(repr(report), str(report))
            self.assertTrue(report._repr_html_().startswith("<table>"))

    def test_lds_maps(self):
        import kernels_slices as kernels

        maps = tl.compile(kernels.transpose, ("f32[64, 96]", "f32[96, 64]"), target="gfx942").explain().lds_maps()
        self.assertEqual(repr(maps), str(maps))
        self.assertIn("row", str(maps))
        self.assertIn("<svg", maps._repr_html_())

    def test_a_mistake_shows_its_place_alone(self):
        error = tl.KernelError("wrong", hint="right")
        self.assertEqual(error._render_traceback_(), ["KernelError: error: wrong\n  hint: right"])


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Tensors(LanguageCase):
    def test_tensors_of_every_type(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for device in DEVICES:
                x = torch.randn(10, 90).to(dtype)
                r = torch.zeros(10, dtype=torch.float32)
                row_sums(x, r, device=device)
                padded = torch.cat([x, -torch.ones(10, 6, dtype=dtype)], 1).float()
                torch.testing.assert_close(r, padded.sum(1) + padded.max(1).values, rtol=2e-2, atol=5e-2)

    def test_tensors_without_rows(self):
        for wrong, said in ((torch.randn(10, 90).to_sparse(), "to_dense"), (torch.empty(10, 90, device="meta"), "meta")):
            with self.assertRaisesRegex(kiln.errors.InvalidArgument, said):
                row_sums(wrong, torch.zeros(10))


if __name__ == "__main__":
    unittest.main()
