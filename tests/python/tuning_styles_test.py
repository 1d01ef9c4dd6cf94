"""triton.autotune and tilelang.autotune: measured once, recorded, used by the next process; what is left out, and what
is taken where nothing can be compared."""

import json
import os
import subprocess
import sys
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import LanguageCase
from service import ROOT

import numpy

from kiln import errors, tilelang, triton
import kiln.language as language
import kiln.tilelang.language as T
import kiln.triton.language as tl
from kiln.triton.tools.tensor_descriptor import TensorDescriptor
import kernels_tuned_styles as kernels

HERE = os.path.dirname(os.path.abspath(__file__))


def blocks(*sizes, **more):
    return [triton.Config({"BLOCK": n}, **more) for n in sizes]


def copied(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < count), mask=at < count)


def whole_grid(meta):
    return (triton.cdiv(meta["count"], meta["BLOCK"]), )


@tilelang.jit(out_idx=[-1])
def doubled(rows, columns, block=32, factor=2):
    """Rows may be a size that a call tells."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), T.float32), Y: T.Tensor((rows, columns), T.float32)):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as by:
            tile = T.alloc_fragment((block, columns), T.float32)
            T.copy(X[by * block, 0], tile)
            for i, j in T.Parallel(block, columns):
                tile[i, j] = tile[i, j] * factor
            T.copy(tile, Y[by * block, 0])

    return kernel


class Records(LanguageCase):
    def process(self, style, *sizes):
        """What a new Python process chooses for products of these sizes."""
        environment = dict(os.environ, KILN_SOCKET=self.service.socket, PYTHONPATH=os.path.join(ROOT, "api", "python"))
        done = subprocess.run([sys.executable, os.path.join(HERE, "kernels_tuned_styles.py"), style, *map(str, sizes)],
                              env=environment, capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_skinny_product(self):
        for style in kernels.STYLES:
            with self.subTest(style):
                first, = self.process(style, 8, 1024, 512)
                self.assertFalse(first["found"])
                self.assertEqual(first["ranked_by"], "time")
                self.assertNotEqual(first["winner"], first["first"], "128 rows for 8 win over 16: %r" % first)
                self.assertLess(first["ratio"], 1)
                again, other = self.process(style, 8, 1024, 512, 9, 1024, 512)
                self.assertTrue(again["found"])
                self.assertEqual((again["winner"], again["record"]), (first["winner"], first["record"]))
                self.assertFalse(other["found"])
                self.assertNotEqual(other["record"], first["record"])

    def test_counted_on_the_emulated_card(self):
        for style in kernels.STYLES:
            with self.subTest(style):
                self.assertEqual(kernels.run(style, 16, 128, 128, device="emu:gfx942")["ranked_by"], "counted work")
        kernel = kernels.returned_product(16, 128, 128, device="emu:gfx942")
        self.assertIsNone(kernel.latency)  # nothing was timed
        self.assertEqual(set(kernel.config), {"BM", "BN", "BK"})


class Triton(LanguageCase):
    def launch(self, kernel, count=1000, grid=None, **more):
        x, y = self.normals(count), numpy.zeros(count, "f4")
        kernel[grid or whole_grid](x, y, count, **more)
        numpy.testing.assert_array_equal(y, x)

    def tuned(self, configs, key=("count", ), **more):
        return triton.autotune(configs=configs, key=list(key), rounds=1, **more)(triton.jit(copied))

    def test_the_key_decides_when_the_choice_is_made_anew(self):
        kernel = self.tuned(blocks(64, 128))
        for count, choices in ((1000, 1), (1000, 1), (2000, 2)):
            self.launch(kernel, count)
            self.assertEqual(len(kernel.tuning.answers), choices)
        x = numpy.zeros(1000, "f2")
        kernel[whole_grid](x, x.copy(), 1000)  # other elements
        self.assertEqual(len(kernel.tuning.answers), 3)

    def test_a_wrong_one_is_named_and_skipped(self):
        kernel = self.tuned(blocks(256, 64))
        self.launch(kernel, 200, grid=(1, ))  # 64 leave 136 elements out
        self.assertEqual(kernel.best_config, kernel.configs[0])
        self.assertEqual(list(kernel.tuning.skipped), [str(kernel.configs[1])])
        self.assertRegex(kernel.tuning.skipped[str(kernel.configs[1])], "^wrong: y: 136 of 200 elements")

    def test_one_that_cannot_be_read_is_named_and_skipped(self):
        @triton.jit
        def halves(x, y, count, BLOCK: tl.constexpr):
            tl.static_assert(BLOCK % 64 == 0, "not a multiple")
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + at, tl.load(x + at, mask=at < count), mask=at < count)

        kernel = triton.autotune(configs=blocks(32, 64, 128), key=["count"], rounds=1)(halves)
        self.launch(kernel)
        self.assertIn(kernel.best_config, kernel.configs[1:])
        self.assertIn("not a multiple", kernel.tuning.skipped[str(kernel.configs[0])])
        none = triton.autotune(configs=blocks(16, 32), key=["count"])(halves)
        with self.assertRaisesRegex(language.KernelError, "not a multiple"):
            self.launch(none)

    def test_one_that_cannot_be_compiled_is_named_and_skipped(self):
        a, b = self.normals(16, 256), self.normals(256, 64)
        configs = [triton.Config({"BM": 16, "BN": n, "BK": k}) for n, k in ((128, 256), (32, 32), (64, 32))]
        kernel = triton.autotune(configs=configs, key=["M", "N", "K"])(kernels.triton_product.inner)
        c = numpy.zeros((16, 64), "f4")
        kernel[lambda meta: (1, triton.cdiv(64, meta["BN"]))](a, b, c, 16, 64, 256, device="emu:gfx942")
        numpy.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
        self.assertIn(kernel.best_config, configs[1:])  # though the first one is what the others are compared with
        self.assertEqual(list(kernel.tuning.skipped), [str(configs[0])])
        self.assertRegex(kernel.tuning.skipped[str(configs[0])], "the shared tiles do not fit")

    def test_more_than_one_request_holds(self):
        """Together their programs are longer than a line of the protocol; the only better one is the last."""
        (m, n, k), (better_m, better_n, better_k) = kernels.BLOCKS[:2]
        configs = [triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=s) for s in range(1000)]
        configs.append(triton.Config({"BM": better_m, "BN": better_n, "BK": better_k}))
        kernel = triton.autotune(configs=configs, key=["M", "N", "K"])(kernels.triton_product.inner)
        a, b, c = self.normals(8, 512), self.normals(512, 1024), numpy.zeros((8, 1024), "f4")
        grid = lambda meta: (triton.cdiv(8, meta["BM"]), triton.cdiv(1024, meta["BN"]))
        for found in (False, True):
            kernel[grid](a, b, c, 8, 1024, 512)
            numpy.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
            self.assertEqual(kernel.best_config, configs[-1])
            rows = {row["name"]: row["verdict"] for row in kernel.tuning.last["candidates"]}
            self.assertEqual(set(rows), {str(config) for config in configs})
            self.assertEqual((rows[str(configs[-1])], kernel.tuning.last["found"]), ("best", found))
            kernel.tuning.best.clear()

    def test_hooks_of_configurations(self):
        def shaped(named):
            named["x"].block_shape = [named["ROWS"], 64]
            calls.append(named["ROWS"])

        @triton.jit
        def rows(x, y, ROWS: tl.constexpr):
            first = tl.program_id(0) * ROWS
            at = (first + tl.arange(0, ROWS))[:, None] * 64 + tl.arange(0, 64)[None, :]
            tl.store(y + at, x.load([first, 0]))

        calls = []
        configs = [triton.Config({"ROWS": n}, pre_hook=shaped) for n in (16, 32)]
        kernel = triton.autotune(configs=configs, key=[], rounds=1)(rows)
        x, y = self.normals(64, 64), numpy.zeros((64, 64), "f4")
        for launches in (1, 2):
            kernel[lambda meta: (64 // meta["ROWS"], )](TensorDescriptor.from_tensor(x, [1, 64]), y)
            numpy.testing.assert_array_equal(y, x)
            self.assertEqual(kernel.tuning.skipped, {})
            self.assertEqual(calls, [16, 32] + launches * [kernel.best_config.kwargs["ROWS"]])

    def test_a_model_keeps_the_best(self):
        asked = []

        def model(x, y, count, BLOCK, num_warps, num_stages, **_):
            asked.append(BLOCK)
            return -BLOCK

        configs = blocks(32, 64, 128, 256)
        for top_k, left in ((2, [256, 128]), (0.5, [256, 128]), (0.1, [256]), (9, [32, 64, 128, 256])):
            kernel = self.tuned(configs, prune_configs_by={"perf_model": model, "top_k": top_k})
            found = kernel.candidates({"x": 0, "y": 0}, {"count": 5})
            self.assertEqual([c.kwargs["BLOCK"] for c in found], left)
        self.assertEqual(asked, 3 * [32, 64, 128, 256])
        kernel = self.tuned(configs, prune_configs_by={"perf_model": model, "top_k": 2})
        self.launch(kernel)
        self.assertEqual([row["name"] for row in kernel.tuning.last["candidates"]], [str(configs[3]), str(configs[2])])
        with self.assertRaisesRegex(errors.InvalidArgument, "top_k"):
            self.tuned(configs, prune_configs_by={"perf_model": model, "top_k": 1.5}).candidates({}, {})

    def test_numbers_and_indices_are_the_calls(self):
        """Generated indices would read elsewhere: no candidate would be a permutation's inverse."""

        @triton.jit
        def picked(x, index, y, count, scale, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            places = tl.load(index + at, mask=at < count)
            tl.store(y + places, tl.load(x + at, mask=at < count) * scale, mask=at < count)

        kernel = triton.autotune(configs=blocks(64, 128), key=["count"], rounds=1)(picked)
        x, index, y = self.normals(500), self.random.permutation(500).astype("i4"), numpy.zeros(500, "f4")
        kernel[whole_grid](x, index, y, 500, 0.5)
        numpy.testing.assert_array_equal(y[index], x * 0.5)
        self.assertEqual((kernel.tuning.skipped, kernel.tuning.untuned), ({}, None))

    def test_updates_in_place(self):
        @triton.jit
        def added(x, y, count, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + at, tl.load(y + at, mask=at < count) + tl.load(x + at, mask=at < count), mask=at < count)

        kernel = triton.autotune(configs=blocks(64, 128), key=["count"], restore_value=["y"], rounds=2)(added)
        x, y = self.normals(300), self.normals(300)
        wanted = x + y
        kernel[whole_grid](x, y, 300)
        numpy.testing.assert_array_equal(y, wanted)  # once, however often it was measured
        self.assertEqual(kernel.tuning.skipped, {})

    def test_with_heuristics_on_either_side(self):
        @triton.jit
        def scaled(x, y, count, BLOCK: tl.constexpr, FACTOR: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + at, tl.load(x + at, mask=at < count) * FACTOR, mask=at < count)

        tuned = triton.autotune(configs=blocks(64, 128), key=["count"], rounds=1)
        computed = triton.heuristics({"FACTOR": lambda args: 2 if args["count"] < 1000 else 3})
        for kernel, tuner in ((tuned(computed(scaled)), None), (computed(tuned(scaled)), "inner")):
            x, y = self.normals(500), numpy.zeros(500, "f4")
            kernel[whole_grid](x, y, 500)
            numpy.testing.assert_array_equal(y, x * 2)
            self.assertEqual(len((kernel if tuner is None else kernel.inner).tuning.answers), 1)

    def test_compiled_ahead(self):
        kernel = self.tuned(blocks(64, 128))
        arguments = {"x": "f32[500]", "y": "f32[500]", "count": 500}
        ahead = triton.compile(kernel, args=arguments, grid=whole_grid, device="host")
        self.assertEqual(len(kernel.tuning.answers), 1)
        self.assertEqual(kernel.warmup("f32[500]", "f32[500]", 500, grid=whole_grid).key, ahead.key)
        for target in ("gfx90a", "gfx1100"):  # no device is named: the first configuration
            self.assertTrue(triton.compile(kernel, args=arguments, grid=whole_grid, target=target).key)
        self.assertEqual(len(kernel.tuning.answers), 1)


class TileLang(LanguageCase):
    def tuned(self, configs, kernel=doubled, **more):
        return tilelang.autotune(configs=configs, rounds=1, **more)(kernel)

    def test_what_the_kernel_tells(self):
        function = self.tuned(lambda rows, columns: [dict(block=n) for n in (16, 32)])
        kernel = function(100, 50)
        x = self.normals(100, 50)
        numpy.testing.assert_array_equal(kernel(x), x * 2)
        self.assertIn(kernel.config, ({"block": 16}, {"block": 32}))
        row, = [r for r in function.tuning.last["candidates"] if r["name"] == function.tuning.last["winner"]]
        self.assertEqual(kernel.latency, row["time_ms"]["median"])
        self.assertIsNone(kernel.ref_latency)
        self.assertIs(function(100, 50), kernel)
        self.assertEqual(len(function.tuning.answers), 1)
        function(100, 51)
        self.assertEqual(len(function.tuning.answers), 2)

    def test_settings_that_are_given_are_not_tuned(self):
        function = self.tuned([dict(block=16), dict(block=32)])
        for kernel in (function(100, 50, block=32), function(100, 50, 32)):
            self.assertEqual(function.tuning.answers, {})
            self.assertEqual((kernel.config, kernel.latency), (None, None))

    def test_what_is_wrong_or_cannot_be_read_is_named_and_skipped(self):
        function = self.tuned([dict(block=0), dict(block=32), dict(factor=3), dict(blocks=1), dict(block=16)])
        kernel = function(100, 50)
        self.assertIn(kernel.config, ({"block": 16}, {"block": 32}))
        self.assertEqual(set(function.tuning.skipped), {"block=0", "factor=3", "blocks=1"})
        self.assertRegex(function.tuning.skipped["factor=3"], "^wrong: Y: ")
        self.assertRegex(function.tuning.skipped["blocks=1"], "unexpected keyword")
        with self.assertRaisesRegex(TypeError, "unexpected keyword"):
            self.tuned([dict(blocks=1), dict(blocks=2)])(100, 50)

    def test_dynamic_sizes_come_from_the_inputs(self):
        function = self.tuned([dict(block=16), dict(block=32)])
        x = self.normals(100, 50)
        with self.assertWarnsRegex(RuntimeWarning, "first configuration.*value of m is not known") as warned:
            kernel = function(T.dynamic("m"), 50)
        self.assertEqual(warned.filename, __file__)  # the line that asked for it
        numpy.testing.assert_array_equal(kernel(x), x * 2)
        self.assertEqual((kernel.config, kernel.latency, function.tuning.last), ({"block": 16}, None, None))
        with warnings.catch_warnings(), tilelang.set_autotune_inputs([x]):
            warnings.simplefilter("error")
            kernel = function(T.dynamic("m"), 50)
        numpy.testing.assert_array_equal(kernel(x), x * 2)
        self.assertIsNotNone(kernel.latency)
        record = function.tuning.last["record"]
        again = self.tuned([dict(block=16), dict(block=32)])
        for rows, found in ((101, True), (200, False)):  # 65 to 128, apart from multiples of 16
            with tilelang.set_autotune_inputs(self.normals(rows, 50)):
                again(T.dynamic("m"), 50)
            self.assertEqual((again.tuning.last["found"], again.tuning.last["record"] == record), (found, found))

    def test_inputs_are_measured_on(self):
        """With indices beyond the table every candidate is as good as another; those that are given tell."""

        @tilelang.jit(out_idx=[-1])
        def picked(block=16):
            @T.prim_func
            def kernel(X: T.Tensor((64, ), T.float32), At: T.Tensor((64, ), T.int32), Y: T.Tensor((64, ), T.float32)):
                with T.Kernel(64 // block, threads=64) as b:
                    for i in T.Parallel(block):
                        Y[b * block + i] = X[At[b * block + i]] + (block - 16) * At[b * block + i]

            return kernel

        for at, wrong in ((numpy.zeros(64, "i4"), []), (numpy.ones(64, "i4"), ["block=32"])):
            function = self.tuned([dict(block=16), dict(block=32)], picked)
            with tilelang.set_autotune_inputs(self.normals(64), at):
                if wrong:
                    client = language.client()
                    client.connection.call("tuning.remove", {"record": record})
                function()
            record = function.tuning.last["record"]
            self.assertEqual(list(function.tuning.skipped), wrong)
        wanted = "1 arrays, and .* takes X, At, Y"
        with tilelang.set_autotune_inputs(at), self.assertRaisesRegex(errors.InvalidArgument, wanted):
            self.tuned([dict(block=16), dict(block=32)], picked)()

    def test_other_values_may_be_no_reason(self):
        function = self.tuned([dict(block=16), dict(block=32)], do_not_specialize=["columns"])
        for columns in (50, 60):
            x = self.normals(100, columns)
            numpy.testing.assert_array_equal(function(100, columns)(x), x * 2)
        self.assertEqual(len(function.tuning.answers), 1)


class Everywhere(LanguageCase):
    def test_switched_off(self):
        kernel = triton.autotune(configs=blocks(64, 128), key=["count"])(triton.jit(copied))
        function = tilelang.autotune(configs=[dict(block=16), dict(block=32)])(doubled)
        x, y = self.normals(300), numpy.zeros(300, "f4")
        os.environ["KILN_AUTOTUNE"] = "off"
        try:
            kernel[whole_grid](x, y, 300)
            config = function(10, 10).config
        finally:
            del os.environ["KILN_AUTOTUNE"]
        self.assertEqual((kernel.best_config, config), (kernel.configs[0], {"block": 16}))
        self.assertEqual((kernel.tuning.best, function.tuning.best), ({}, {}))

    def test_numbers_of_slices(self):
        @language.autotune(configs=[dict(B=32), dict(B=64)], rounds=1)
        @language.kernel
        def scaled(X, Y, factor: language.float32, B: language.constexpr):
            i = language.program_id(0)
            Y[i * B:(i + 1) * B] = X[i * B:(i + 1) * B] * factor

        x, y = self.normals(200), numpy.zeros(200, "f4")
        scaled(x, y, 3.0)
        numpy.testing.assert_array_equal(y, x * 3)
        self.assertEqual((scaled.tuning.skipped, scaled.tuning.untuned), ({}, None))
        with self.assertWarnsRegex(RuntimeWarning, "value of factor is not known before a launch"):
            language.compile(scaled, ("f32[100]", "f32[100]"), device="host")

    def test_a_refusal_takes_the_first(self):
        """More memory than a connection's limit: nothing can be compared, and the launch says the rest."""
        function = tilelang.autotune(configs=[dict(block=1), dict(block=2)])(doubled)
        wanted = "kernel is not tuned, its first configuration \\(block=1\\) is taken"
        with self.assertWarnsRegex(RuntimeWarning, wanted):
            self.assertEqual(function(1 << 22, 1 << 14).config, {"block": 1})  # 256 GiB a tensor
        self.assertIn("block=2", function.tuning.skipped)


if __name__ == "__main__":
    unittest.main()
