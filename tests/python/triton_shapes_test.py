"""Triton's style: shapes, scans and gathers, pointers as matrices, launches, and what is refused, where."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from triton_style_test import PRODUCT_SIZES, TritonCase

import numpy

import kernels_triton as kernels
import kernels_triton_shapes as shapes
import kernels_triton_wrong as wrong
import kiln.language
import kiln.triton.language as tl
from kiln import errors, triton


class Shapes(TritonCase):
    def test_scans_by_functions(self):
        x = self.random.integers(-9, 10, 100).astype("int32")
        block = numpy.concatenate([x, numpy.zeros(28, "int32")])  # what the kernel scans: the mask's zeros come first in reverse
        for reverse in (False, True):
            way = slice(None, None, -1) if reverse else slice(None)
            for own in self.run_everywhere(shapes.scans, (1,), (x, x * 0, x * 0, 100), BLOCK=128, REVERSE=reverse):
                numpy.testing.assert_array_equal(own[1], numpy.cumsum(block[way])[way][:100])
                numpy.testing.assert_array_equal(own[2], numpy.maximum.accumulate(block[way])[way][:100])

    def test_reductions_by_functions(self):
        x = self.random.integers(-9, 10, 128).astype("float32")
        for own in self.run_everywhere(shapes.reductions, (1,), (x, numpy.zeros(4, "f4")), BLOCK=128):
            numpy.testing.assert_array_equal(own[1], [x.sum(), x.max(), (x < 0).any(), (x < 0).sum() % 2])

    def test_histogram(self):
        x = self.random.integers(0, 16, 100).astype("int32")
        for own in self.run_everywhere(shapes.histogram, (1,), (x, numpy.zeros(16, "i4"), 100), BINS=16, BLOCK=128):
            numpy.testing.assert_array_equal(own[1], numpy.bincount(x, minlength=16))

    def test_join_split_interleave_cat_flip(self):
        a, b = self.normals(32), self.normals(32)
        for own in self.run_everywhere(shapes.shuffle, (1, ),
                                       (a, b, numpy.zeros(64, "f4"), numpy.zeros(64, "f4"), a * 0, a * 0, a * 0),
                                       BLOCK=32):
            numpy.testing.assert_array_equal(own[2].reshape(32, 2), numpy.stack([a, b], 1))
            numpy.testing.assert_array_equal(own[3], numpy.concatenate([a, b]))
            for found, wanted in zip(own[4:], (a[::-1], a, b)):
                numpy.testing.assert_array_equal(found, wanted)

    def test_swizzle2d(self):
        for own in self.run_everywhere(shapes.renamed, (5, 4), (numpy.zeros((5, 4), "i4"), ),
                                       SIZE_I=5,
                                       SIZE_J=4,
                                       GROUP=2):
            numpy.testing.assert_array_equal(
                own[0], [[0, 4, 1, 5], [2, 6, 3, 7], [8, 12, 9, 13], [10, 14, 11, 15], [16, 17, 18, 19]])

    def test_functions_of_libdevice(self):
        x = self.random.random(100).astype("float32")
        wide = x.astype("f8")
        y = numpy.exp(wide) + numpy.log2(wide + 2) + numpy.rint(
            x * numpy.float32(3)) + numpy.log10(wide + 2) + numpy.hypot(wide, 2)
        y += numpy.trunc(x * numpy.float32(5) - numpy.float32(4)) + numpy.clip(wide - 0.5, 0,
                                                                               1) + numpy.arange(100) * 2**31 // 2**32
        for own in self.run_everywhere(shapes.functions, (1,), (x, x * 0, 100), BLOCK=128):
            numpy.testing.assert_allclose(own[1], y * 2 + (wide - 1), rtol=1e-5)

    def test_rows_by_number(self):
        x, picked = self.normals(10, 32), numpy.array([3, 0, 9, 12, -1, 5, 7, 2], "int32")
        good = (picked >= 0) & (picked < 10)
        back = x * 0
        back[picked[good]] = x[picked[good]]
        for own in self.run_everywhere(shapes.rows_by_number, (1, ), (x, picked, numpy.ones((8, 32), "f4"), x * 0, 10),
                                       BLOCK=8,
                                       WIDTH=32):
            numpy.testing.assert_array_equal(own[2], numpy.where(good[:, None], x[picked % 10], 0))
            numpy.testing.assert_array_equal(own[3], back)

    def test_blocks_added_by_many(self):
        x, whole = self.random.integers(-4, 5, (50, 70)).astype("float32"), numpy.zeros((64, 96), "f4")
        whole[:50, :70] = x
        for own in self.run_everywhere(shapes.added_blocks, (4, 3), (x, numpy.zeros((16, 32), "f4"), 50, 70),
                                       BM=16,
                                       BN=32):
            numpy.testing.assert_array_equal(own[1], whole.reshape(4, 16, 3, 32).sum((0, 2)))

    def test_atomics_give_what_was_there(self):
        x = self.random.integers(0, 8, 250).astype("int32")
        for own in self.run_everywhere(shapes.ranks, (4,), (x, numpy.zeros(8, "i4"), x * 0, 250), BLOCK=64):
            numpy.testing.assert_array_equal(own[1], numpy.bincount(x, minlength=8))
            for value in range(8):
                numpy.testing.assert_array_equal(numpy.sort(own[2][x == value]), numpy.arange(own[1][value]))
        x = numpy.concatenate([numpy.arange(8), self.random.integers(0, 8, 248)]).astype("int32")
        for own in self.run_everywhere(shapes.claims, (4,), (x, numpy.full(8, -1, "i4"), x * 0), BLOCK=64):
            numpy.testing.assert_array_equal(x[own[1]], numpy.arange(8))
            numpy.testing.assert_array_equal(numpy.sort(own[1]), numpy.flatnonzero(own[2]))

    def test_checked_axes_of_block_pointers(self):
        x, wanted = self.normals(20, 12), numpy.ones((32, 16), "f4")
        wanted[3:23, 2:11] += x[:, :9]
        for own in self.run_everywhere(shapes.padded, (2,), (x, wanted * 0, 20, 9, 12), BM=16, BN=16):
            numpy.testing.assert_array_equal(own[1], wanted)

    def test_a_tile_in_products_both_ways_round(self):
        for m, k in ((64, 64), (64, 32), (32, 64), (32, 16)):
            p, x = (self.random.integers(-4, 5, s).astype("float16") for s in ((m, m), (k, m)))
            a, b = p.astype("f4"), x.astype("f4")
            wanted = numpy.concatenate([t.ravel() for t in (b @ a, a @ b.T, b.T @ b, b @ b.T)])
            for own in self.run_everywhere(shapes.both_ways, (1,), (p, x, wanted * 0), BM=m, BK=k):
                numpy.testing.assert_array_equal(own[2], wanted)

    def test_a_transposed_tile_stays_what_it_was(self):
        x = self.normals(32, 32)
        for own in self.run_everywhere(shapes.kept_transposed, (1,), (x, numpy.zeros((2, 32, 32), "f4")), N=32):
            numpy.testing.assert_array_equal(own[1][0], x.T)
            numpy.testing.assert_allclose(own[1][1], x + 3, rtol=1e-6)

    def test_unsigned_arithmetic_wraps(self):
        mixed = numpy.arange(100, dtype="u4") * numpy.uint32(2654435761)
        for own in self.run_everywhere(shapes.hashed, (1,), (numpy.zeros(100, "u4"), 100), BLOCK=128):
            numpy.testing.assert_array_equal(own[0], (mixed ^ (mixed >> numpy.uint32(16))) * numpy.uint32(2246822519))

    def test_tiles_loaded_one_iteration_ahead(self):
        a, b = (self.random.integers(-4, 5, s).astype("float16") for s in ((64, 96), (32, 96)))
        for own in self.run_everywhere(shapes.prefetched, (1, ), (a, b, numpy.zeros((64, 32), "f4"), 96),
                                       BM=64,
                                       BN=32,
                                       BK=32):
            numpy.testing.assert_array_equal(own[2], a.astype("f4") @ b.astype("f4").T)


class Views(TritonCase):
    """Pointer tiles that are declared as matrices, and those that must not be."""

    def strided(self, kernel, grid, arguments, **constants):
        program = kernel.warmup(*arguments, grid=grid, device="host", **constants).program
        return sorted(p["name"] for p in program["params"] if "strides" in p)

    def test_products_are_declared_as_matrices(self):
        for m, n, k in PRODUCT_SIZES:
            a, b, c = (numpy.zeros(s, "f2") for s in ((m, k), (k, n), (m, n)))
            arguments = (a, b, c, m, n, k, k, 1, n, 1, n, 1)
            grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64),)
            self.assertEqual(self.strided(kernels.matmul, grid, arguments, ACTIVATION="leaky"),
                             ["a_ptr", "b_ptr", "c_ptr"])
            self.assertEqual(
                self.strided(kernels.matmul_persistent, (3, ), arguments, BM=32, BN=32, BK=32, GROUP=2, PROGRAMS=3),
                ["a_ptr", "b_ptr", "c_ptr"])

    def test_views_spare_the_card_address_arithmetic(self):
        m, n, k = 125, 100, 120
        a, b, c = self.normals(m, k, dtype="float16"), self.normals(k, n, dtype="float16"), numpy.zeros((m, n), "f2")
        arguments = (a, b, c, m, n, k, k, 1, n, 1, n, 1)
        compiled = kernels.matmul.warmup(*arguments, grid=(4,), device="emu:gfx942", ACTIVATION="")
        counts = compiled.profile(*arguments)
        products = counts["SQ_INSTS_MFMA"]
        self.assertLess(counts["SQ_INSTS_VMEM_RD"], products)          # an element a load would be four times as many
        self.assertLess(counts["SQ_INSTS_VALU"], 16 * products)

    def test_repeated_rows_that_are_kept(self):
        x = self.normals(20, 24)
        wanted = numpy.zeros((32, 32), "f4")
        wanted[:, :24] = x[numpy.arange(32) % 20]
        self.assertNotIn("x_ptr", self.strided(shapes.repeated_rows, (2,), (x, wanted, 20, 24), BM=16, BN=32))
        for own in self.run_everywhere(shapes.repeated_rows, (2,), (x, wanted * 0, 20, 24), BM=16, BN=32):
            numpy.testing.assert_array_equal(own[1], wanted)

    def test_repeated_rows_that_are_added_up(self):
        x = self.random.integers(-9, 10, (20, 24)).astype("float32")
        for own in self.run_everywhere(shapes.row_totals, (1,), (x, numpy.zeros(24, "f4"), 20, 24), BM=32, BN=32):
            numpy.testing.assert_array_equal(own[1], x[numpy.arange(32) % 20].sum(0))

    def test_overlapping_windows(self):
        x = self.normals(200)
        for step in (1, 5, 16, 20):
            wanted = numpy.zeros((16, 16), "f4")
            for row in range(16):
                part = x[row * step:row * step + 16]
                wanted[row, :len(part)] = part
            for own in self.run_everywhere(shapes.windows, (2,), (x, wanted * 0, step), WIDTH=16, BM=8):
                numpy.testing.assert_array_equal(own[1], wanted)

    def test_columns_that_begin_in_the_row_above(self):
        x = self.normals(20, 24)
        flat = numpy.concatenate([numpy.zeros(2, "f4"), x.ravel()])
        wanted = numpy.stack([flat[row * 24:row * 24 + 22] for row in range(20)])
        for own in self.run_everywhere(shapes.shifted, (2,), (x, wanted * 0, 20, 22, 24), BM=16, BN=32):
            numpy.testing.assert_array_equal(own[1], wanted)

    def test_sequences_of_their_own_lengths(self):
        x, begins = self.normals(40, 24), numpy.array([0, 7, 7, 23, 40], "int32")
        wanted = numpy.zeros((4, 32, 24), "f4")
        for n in range(4):
            wanted[n, :begins[n + 1] - begins[n]] = x[begins[n]:begins[n + 1]]
        for own in self.run_everywhere(shapes.ragged, (4, ), (x, begins, numpy.ones((4, 32, 24), "f4"), 24),
                                       BM=32,
                                       BN=32):
            numpy.testing.assert_array_equal(own[2], wanted)


class Launches(TritonCase):
    def test_transposed_arrays_are_the_memory_that_they_lie_in(self):
        a, b = self.normals(100, 70, dtype="float16"), self.normals(72, 70, dtype="float16")
        c = numpy.zeros((72, 100), "f2")
        for device in ("host", "emu:gfx942"):
            kernels.matmul[(4,)](a, b.T, c.T, 100, 72, 70, 70, 1, 1, 70, 1, 100, ACTIVATION="", device=device)
            numpy.testing.assert_allclose(c.T, a.astype("f4") @ b.T.astype("f4"), rtol=2e-3, atol=2e-2)
            c[...] = 0
        with self.assertRaisesRegex(errors.InvalidArgument, "runs backwards"):
            kernels.vector_add[(1,)](a[::-1], a, a.copy(), 100, BLOCK=128)

    def test_descriptors_made_by_the_host(self):
        a, b = self.normals(100, 70, dtype="float16"), self.normals(72, 70, dtype="float16")
        c = numpy.zeros((100, 72), "f2")
        describe = triton.tools.tensor_descriptor.TensorDescriptor
        for device in ("host", "emu:gfx942"):
            tiles = (describe(a, [100, 70], [70, 1],
                              [32, 32]), describe.from_tensor(b, [32, 32]), describe.from_tensor(c, [32, 32]))
            shapes.described[(4, 3)](*tiles, 70, device=device)
            numpy.testing.assert_allclose(c, a.astype("f4") @ b.T.astype("f4"), rtol=2e-3, atol=2e-2)
            c[...] = 0

    def test_heuristics_are_computed_at_each_launch(self):
        @triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["count"])})
        @triton.jit
        def negate(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(y_ptr + at, -tl.load(x_ptr + at, mask=at < count), mask=at < count)

        for count in (5, 100):
            x = self.normals(count)
            for own in self.run_everywhere(negate, (1,), (x, x * 0, count)):
                numpy.testing.assert_array_equal(own[1], -x)

    def test_autotune_supplies_and_guards_its_constants(self):
        a = numpy.zeros((64, 64), "f2")
        arguments = (a, a, a.copy(), 64, 64, 64, 64, 1, 64, 1, 64, 1)
        kernels.matmul[(1,)](*arguments, ACTIVATION="")
        self.assertEqual(kernels.matmul.best_config.kwargs["BM"], 64)
        with self.assertRaisesRegex(errors.InvalidArgument, "BM is passed, and triton.autotune sets it too"):
            kernels.matmul[(1,)](*arguments, BM=32, ACTIVATION="")
        with self.assertRaisesRegex(errors.InvalidArgument, "no parameter X, named in key"):
            triton.autotune(configs=[], key=["X"])(kernels.vector_add)

    def test_early_pruning(self):
        pruned = triton.autotune(configs=[triton.Config({"BLOCK": n}) for n in (64, 128)],
                                 key=["count"],
                                 prune_configs_by={
                                     "early_config_prune": lambda configs, named, **_: [
                                         c for c in configs if c.kwargs["BLOCK"] > named["count"]]})(kernels.vector_add)
        x = self.normals(100)
        y = x * 0
        pruned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, x, y, 100)
        self.assertEqual(pruned.best_config.kwargs, {"BLOCK": 128})
        numpy.testing.assert_array_equal(y, x + x)
        with self.assertRaisesRegex(errors.InvalidArgument, "no configuration"):
            pruned[(1,)](x, x, y, 1000)

    def test_bench_gives_milliseconds(self):
        x = self.normals(100)
        launch = lambda: kernels.vector_add[(1,)](x, x, x.copy(), 100, BLOCK=128)
        low, high = triton.testing.do_bench(launch, warmup=1, rep=1, quantiles=[0.0, 1.0])
        self.assertLessEqual(0, low)
        self.assertLessEqual(low, high)
        rows = triton.testing.perf_report(
            triton.testing.Benchmark(["n"], [1, 2], "kind", ["a"], ["A"], "times",
                                     {"more": 3}))(lambda n, kind, more: float(n * more)).run()
        self.assertEqual(rows, [[[1, 3.0], [2, 6.0]]])

    def test_launch_keywords_of_other_compilers_change_nothing(self):
        x, y = self.normals(100), numpy.zeros(100, "f4")
        kernels.vector_add[(1,)](x, x, y, 100, BLOCK=128, num_warps=2, num_stages=3, waves_per_eu=2, num_ctas=1)
        numpy.testing.assert_array_equal(y, x + x)


class Mistakes(TritonCase):
    def test_every_kind_is_located_and_hinted(self):
        with open(wrong.__file__) as file:
            lines = file.read().splitlines()
        self.assertGreaterEqual(len(wrong.EXPECTED), 27)
        for name, (kernel, message, hint) in wrong.EXPECTED.items():
            with self.subTest(name):
                first = kernel.kernel_function.__code__.co_firstlineno
                marked = next(n for n in range(first, len(lines) + 1) if "# here" in lines[n - 1])
                with self.assertRaises(kiln.language.KernelError) as caught:
                    kernel.warmup("f32[64, 64]", "f32[64, 64]", grid=(4,), target="host")
                error = caught.exception
                self.assertIn(message, str(error))
                self.assertTrue(hint, "what to do is part of what is expected")
                self.assertIn(hint, error.hint)
                self.assertEqual((error.file, error.line), (wrong.__file__, marked), str(error))
                self.assertIn(lines[marked - 1].strip(), str(error))
                self.assertEqual(str(error).splitlines()[2].index("^") - 4, error.column - 1)


if __name__ == "__main__":
    unittest.main()
