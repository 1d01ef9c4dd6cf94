"""kiln.language: kernels in the style of slices on the host and the emulated card, what they are checked for, how they explain."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import Service

import numpy

import kiln.language as tl
import kernels_slices as kernels

DEVICES = ("host", "emu:gfx942")
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "host")


class LanguageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()
        tl.use_client(cls.client)
        cls.random = numpy.random.default_rng(7)

    @classmethod
    def tearDownClass(cls):
        tl.use_client(None)
        cls.client.close()
        cls.service.__exit__()

    def normals(self, *shape, dtype="float32"):
        return self.random.standard_normal(shape).astype(dtype)


class Kernels(LanguageCase):
    def test_matmul_of_every_type(self):
        for dtype, tolerance in (("float32", 1e-4), ("float16", 5e-2)):
            a, b = self.normals(kernels.M, kernels.K, dtype=dtype), self.normals(kernels.K, kernels.N, dtype=dtype)
            for device in DEVICES:
                c = numpy.zeros((kernels.M, kernels.N), dtype)
                kernels.matmul(a, b, c, device=device)
                numpy.testing.assert_allclose(c, a.astype("f4") @ b.astype("f4"), rtol=tolerance, atol=tolerance)
        for target in TARGETS:
            self.assertTrue(tl.compile(kernels.matmul, target=target).key)

    def test_softmax(self):
        for shape in ((7, 100), (16, 1000), (3, 1)):
            x = self.normals(*shape)
            e = numpy.exp(x - x.max(1, keepdims=True))
            for device in DEVICES:
                y = numpy.zeros_like(x)
                kernels.softmax(x, y, device=device)
                numpy.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
        for target in TARGETS:
            tl.compile(kernels.softmax, ("f16[64, 256]", "f16[64, 256]"), target=target)

    def test_transpose(self):
        for shape in ((64, 96), (33, 70)):
            x = self.normals(*shape)
            for device in DEVICES:
                y = numpy.zeros(shape[::-1], "f4")
                kernels.transpose(x, y, device=device)
                numpy.testing.assert_array_equal(y, x.T)
        for target in TARGETS:
            tl.compile(kernels.transpose, ("f32[64, 96]", "f32[96, 64]"), target=target)

    def test_attention(self):
        for length in (1, 77, 128, 200):
            q, k, v = (self.normals(length, 64, dtype="float16") for _ in range(3))
            s = q.astype("f4") @ k.astype("f4").T / 8
            p = numpy.exp(s - s.max(1, keepdims=True))
            for device in DEVICES:
                o = numpy.zeros_like(q)
                kernels.attention(q, k, v, o, device=device)
                numpy.testing.assert_allclose(o, p / p.sum(1, keepdims=True) @ v.astype("f4"), rtol=2e-3, atol=2e-3)
        for target in TARGETS:
            tl.compile(kernels.attention, ["f16[300, 64]"] * 4, target=target)

    def test_rmsnorm(self):
        x, w = self.normals(9, 130), self.normals(130)
        for device in DEVICES:
            y = numpy.zeros_like(x)
            kernels.rmsnorm(x, w, y, 1e-5, device=device)
            numpy.testing.assert_allclose(y, x / numpy.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * w, rtol=1e-5, atol=1e-5)

    def test_a_reused_tile_is_safe(self):
        a = self.normals(64, 160)
        for device in DEVICES:
            r = numpy.zeros(64, "f4")
            kernels.reused_tile(a, r, device=device)
            numpy.testing.assert_allclose(r, a.sum(1), rtol=1e-4, atol=1e-4)
        compiled = tl.compile(kernels.reused_tile, (a, r), device="emu:gfx942")
        self.assertGreaterEqual(len([x for x in compiled.explain()["barriers"] if x["loop"]]), 2)

    def test_branches(self):
        for n in (64, 130):
            x = self.normals(n)
            for flag in (1, 0):
                for twice in (False, True):
                    factor = 2 if twice else 1
                    wanted = (x * factor + 3 if flag else x - factor + 5) + (1 if n > 100 else 0)
                    for device in DEVICES:
                        y = numpy.zeros_like(x)
                        kernels.conditional(x, y, flag, twice=twice, device=device)
                        numpy.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-6)

    def test_layouts_give_offsets(self):
        i, j = numpy.arange(32)[:, None], numpy.arange(32)[None, :]
        for device in DEVICES:
            y = numpy.zeros((32, 32), "int32")
            kernels.layout_offsets(y, device=device)
            numpy.testing.assert_array_equal(y, i * 33 + j + 33 + 2)
        layout = tl.make_block_layout.__wrapped__  # outside a kernel the class is the function
        self.assertTrue(callable(layout))
        self.assertEqual(tl.BlockLayout((32, 33))(3, 4), 3 * 33 + 4)

    def test_sizes_at_the_top_may_change(self):
        before = kernels.M, kernels.N, kernels.K
        try:
            kernels.M, kernels.N, kernels.K = 100, 103, 110
            function = kernels.matmul.kernel_function
            annotations = dict(function.__annotations__)
            function.__annotations__.update(A=tl.Buffer[100, 110], B=tl.Buffer[110, 103], C=tl.Buffer[100, 103])
            matmul = tl.kernel(function)
            a, b = self.normals(100, 110), self.normals(110, 103)
            for device in DEVICES:
                c = numpy.zeros((100, 103), "f4")
                matmul(a, b, c, device=device)
                numpy.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
            function.__annotations__.update(annotations)
        finally:
            kernels.M, kernels.N, kernels.K = before


class Compiled(LanguageCase):
    def test_explain_names_the_grid_and_where_it_comes_from(self):
        report = tl.compile(kernels.matmul, target="gfx942").explain()
        self.assertEqual([g["extent"] for g in report["grid"]], ["ceildiv(96, 32)", "ceildiv(80, 32)"])
        self.assertIn("A, axis 0", report["grid"][0]["from"])
        self.assertEqual(report["resources"]["vgpr_spills"], 0)
        self.assertTrue(report["barriers"])
        text, page = str(report), report._repr_html_()
        for word in ("ceildiv(96, 32)", "barriers", "shared tiles"):
            self.assertIn(word, text)
            self.assertIn(word, page)
        self.assertIn("<svg", page)

    def test_profile_is_a_mapping_by_rocprofs_names(self):
        conflicts = {}
        for columns in (32, 33):
            source = tl.compile(padded(columns), device="emu:gfx942")
            counters = source.profile()
            conflicts[columns] = counters["SQ_LDS_BANK_CONFLICT"]
            self.assertGreater(counters["SQ_INSTS_LDS"], 0)
            self.assertIn("SQ_LDS_BANK_CONFLICT", dict(counters))
            self.assertTrue(any(s.get("line") for s in counters.report["statements"]))
        self.assertGreater(conflicts[32], 0)
        self.assertEqual(conflicts[33], 0)

    def test_source_and_check(self):
        compiled = tl.compile(kernels.softmax, ("f32[8, 64]", "f32[8, 64]"), device="emu:gfx942")
        self.assertIn("KILN_KERNEL", compiled.source())
        self.assertTrue(compiled.check()["passed"])

        def reference(x):
            e = numpy.exp(x - x.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        self.assertTrue(compiled.check(reference)["passed"])
        self.assertFalse(compiled.check(lambda x: x)["passed"])

    def test_a_target_alone_compiles_and_does_not_run(self):
        compiled = tl.compile(kernels.softmax, ("f32[8, 64]", "f32[8, 64]"), target="gfx942")
        x = self.normals(8, 64)
        with self.assertRaisesRegex(ValueError, "emu:gfx942"):
            compiled(x, x.copy())

    def test_arrays_of_kiln_are_not_copied(self):
        x, y = self.client.empty((8, 64), "f32"), self.client.empty((8, 64), "f32")
        x.numpy()[...] = 1
        kernels.softmax(x, y)
        numpy.testing.assert_allclose(y.numpy(), 1 / 64, rtol=1e-6)

    def test_dlpack(self):
        class Foreign:
            """An array of another library: DLPack, dtype and shape."""

            def __init__(self, array):
                self._array, self.dtype, self.shape = array, array.dtype, array.shape

            def __dlpack__(self, **keywords):
                return self._array.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return self._array.__dlpack_device__()

        x, y = self.normals(8, 64), numpy.zeros((8, 64), "f4")
        kernels.softmax(Foreign(x), y)
        numpy.testing.assert_allclose(y.sum(1), 1, rtol=1e-5)


def padded(columns):
    @tl.kernel
    def tile_of(X: tl.Buffer[64, 64, tl.float32], Y: tl.Buffer[64, 64, tl.float32]):
        i, j = tl.program_id(0), tl.program_id(1)
        layout = tl.make_block_layout(shape=(32, columns), order=(1, 0), origin=(0, 0))
        tile = tl.alloc_shared([32, 32], layout=layout)
        tile[:, :] = X[i * 32:(i + 1) * 32, j * 32:(j + 1) * 32]
        Y[j * 32:(j + 1) * 32, i * 32:(i + 1) * 32] = tl.transpose(tile)

    return tile_of


if __name__ == "__main__":
    unittest.main()
