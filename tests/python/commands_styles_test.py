"""Kernels of Triton's and TileLang's style on a command line: grids, configurations of autotuned ones, functions that
make a kernel."""

import json
import os
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, Service

TRITON = '''from kiln import triton
import kiln.triton.language as tl

WIDTH = 32

@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr = 32):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    rows = pid // across * BM + tl.arange(0, BM)
    columns = pid % across * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        y = tl.load(b + at[:, None] * N + columns[None, :], mask=(at[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))

@triton.autotune(configs=[triton.Config({"BLOCK": 64 * w}, num_warps=w) for w in (1, 2, 4)], key=["n"])
@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

@triton.autotune(configs=[triton.Config({"BLOCK": n}) for n in (64, 128)], key=["n"])
@triton.jit
def scaled(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)

def fewer(configs, named, **_):
    return [c for c in configs if c.kwargs["BLOCK"] < named["n"]]

@triton.autotune(configs=[triton.Config({"BLOCK": n}) for n in (16, 64, 256)], key=["n"],
                 prune_configs_by={"early_config_prune": fewer})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def pruned(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.static_assert(BLOCK > 16, "too narrow")
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

@triton.jit
def shared(x, y, rows, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * tl.num_programs(0))
'''

OWN = '''import kiln.language as tl

@tl.autotune(configs=[tl.Config(BM=256, BN=256), tl.Config(BM=16, BN=32), tl.Config(BM=8, BN=64)])
@tl.kernel
def through(X, Y, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    tile = tl.alloc_shared([BM, BN], dtype=tl.float32)
    tile[:, :] = X[i * BM : (i + 1) * BM, j * BN : (j + 1) * BN]
    Y[i * BM : (i + 1) * BM, j * BN : (j + 1) * BN] = tile

if __name__ == "__main__":
    import sys, numpy
    x = numpy.ones((64, 64), "float32")
    through(x, x.copy(), device=sys.argv[1])
    print(through.tuning.last["winner"])
'''

TILELANG = '''from kiln import tilelang
import kiln.tilelang.language as T

SCALE = 2.0

def rows_of(X):
    return X

@tilelang.jit(out_idx=[-1])
def made(rows, columns, block=16, dtype="float32"):
    print("{ made by Python")
    @T.prim_func
    def scaled(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows, columns), dtype)):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as by:
            tile = T.alloc_fragment((block, columns), dtype)
            T.copy(X[by * block, 0], tile)
            for i, j in T.Parallel(block, columns):
                tile[i, j] = tile[i, j] * SCALE
            T.copy(tile, Y[by * block, 0])
    return scaled

def plain(rows, block=16):
    columns = 1024 // rows
    @T.prim_func
    def moved(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as by:
            tile = T.alloc_fragment((block, columns), "float32")
            T.copy(X[by * block, 0], tile)
            T.copy(tile, Y[by * block, 0])
    return moved

@T.prim_func
def itself(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(4, threads=128) as by:
        tile = T.alloc_shared((16, 64), "float32")
        T.copy(X[by * 16, 0], tile)
        T.copy(tile, Y[by * 16, 0])

@tilelang.autotune(configs=[dict(block=64), dict(block=16), dict(block=0)])
@tilelang.jit
def eager(X, Y, block=None):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    Y: T.Tensor((M, N), "float32")
    with T.Kernel(T.ceildiv(M, block), threads=128) as by:
        tile = T.alloc_fragment((block, N), "float32")
        T.copy(X[by * block, 0], tile)
        T.copy(tile, Y[by * block, 0])

@tilelang.autotune(configs=lambda rows, **_: [dict(block=n) for n in (32, 16) if n < rows])
@tilelang.jit
def tuned(rows, block=None):
    return plain(rows, block)

@tilelang.jit
def edge(X, block=128):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block), threads=128) as b:
        for i in T.Parallel(block):
            Y[b * block + i] = X[b * block + i] * SCALE
    return Y

def own_kernel(BLOCK):
    import kiln.language as tl

    @tl.kernel
    def inner(X: tl.Buffer["N", tl.float32], Y: tl.Buffer["N", tl.float32]):
        i = tl.program_id(0)
        Y[i * BLOCK : (i + 1) * BLOCK] = X[i * BLOCK : (i + 1) * BLOCK]

    return inner
'''

EQUAL = "equal to the definition"
COPY = ["--arg", "x=f32[1000]", "y=f32[1000]", "n=1000"]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.files = {}
        for name, text in (("triton", TRITON), ("own", OWN), ("tile", TILELANG)):
            cls.files[name] = os.path.join(cls.service.folder, name + "_mine.py")
            with open(cls.files[name], "w", encoding="utf-8") as file:
                file.write(text)

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def kiln(self, command, kernel, *words, check=0):
        file, _, name = kernel.partition(":")
        return self.service.kiln(*command.split(), self.files[file] + ":" + name, *words, check=check)


class Grids(Case):
    SIZES = ["--arg", "a=f16[64, 32]", "b=f16[32, 128]", "c=f32[64, 128]", "--set", "M=64", "N=128", "K=32", "BM=32",
             "BN=64"]
    GRID = ["--grid", "cdiv(M, BM) * cdiv(N, BN), 1"]

    def test_a_grid_that_cannot_be_inferred_is_given(self):
        self.assertIn("--grid 'cdiv(n, BLOCK), 1'", self.kiln("run", "triton:product", *self.SIZES, check=1).stderr)
        for grid in (self.GRID[1], 'lambda meta: (triton.cdiv(a.shape[0], meta["BM"]) * (N // BN),)', "2 * 2"):
            for device in ("host", "emu:gfx942"):
                done = self.kiln("run", "triton:product", *self.SIZES, "--grid", grid, "--device", device, "--check")
                self.assertIn(EQUAL, done.stdout)

    def test_every_command_takes_it(self):
        target = " --target gfx942"
        for command in ("compile" + target, "explain" + target, "check", "profile", "tune --device emu:gfx942"):
            self.kiln(command, "triton:product", *self.SIZES, *self.GRID)
        shown = json.loads(self.kiln("--json show", "triton:product", *self.SIZES, *self.GRID).stdout)
        self.assertEqual(shown["program"]["launches"][0]["grid"], ["ceildiv(M, 32) * ceildiv(N, 64)", "1"])

    def test_both_sides_of_a_comparison(self):
        arguments = [word for one in self.SIZES[1:4] for word in ("--arg", one)] + self.SIZES[4:]
        words = [*arguments, *self.GRID, "--set-b", "BK=16", "--device", "emu:gfx942"]
        answer = json.loads(self.kiln("--json compare", "triton:product", *words).stdout)
        self.assertTrue(answer)
        out = os.path.join(self.service.folder, "report.md")
        self.kiln("report", "triton:product", *words, "-o", out)
        with open(out, encoding="utf-8") as file:
            self.assertIn("--grid 'cdiv(M, BM) * cdiv(N, BN), 1'", file.read())

    def test_the_number_of_programs_is_the_grid_s(self):
        done = self.kiln("run", "triton:shared", "--arg", "x=f32[64]", "y=f32[64]", "rows=4", "--set", "BLOCK=16",
                         "--grid", "min(rows, 9)", "--check")
        self.assertIn(EQUAL, done.stdout)

    def test_what_is_no_grid(self):
        for grid, said in (("cdiv(M, BM", "never closed"), ("Q", "the kernel has no Q"), ("a", "a is no number"),
                           ("1, 1, 1, 1", "1 to 3 extents"), ("M / 2", "none of names"),
                           ("M if M else 1", "none of names"), ("0 - 4", "no whole number")):
            found = self.kiln("run", "triton:product", *self.SIZES, "--grid", grid, check=1)
            self.assertIn(said, found.stderr)
            self.assertIn("--grid", found.stderr)
            self.assertNotIn("Traceback", found.stderr)
        self.assertIn("--grid says", self.service.kiln("run", "gemm", "--grid", "4", check=2).stderr)
        self.assertIn("T.Kernel says its grid", self.kiln("show", "tile:itself", "--grid", "4").stderr)


class Numbers(Case):
    def test_a_number_is_told_once(self):
        out = os.path.join(self.service.folder, "y.bin")
        ones = os.path.join(self.service.folder, "x.bin")
        with open(ones, "wb") as file:
            file.write(struct.pack("<100f", *[1.0] * 100))
        words = ["--arg", "x=f32[100]", "y=f32[100]", "n=100", "factor=2.5"]
        for more, wanted in (([], 2.5), (["--scalar", "factor=4"], 4.0)):
            self.kiln("run", "triton:scaled", *words, *more, "--input", "x=" + ones, "--output", "y=" + out)
            with open(out, "rb") as file:
                self.assertEqual(struct.unpack("<100f", file.read()), (wanted,) * 100)
        self.kiln("profile", "triton:scaled", *words)
        self.kiln("tune", "triton:scaled", *words, "--device", "emu:gfx942")
        self.assertIn("as tuning record", self.kiln("run", "triton:scaled", *words, "--device", "emu:gfx942").stderr)


class Configurations(Case):
    def test_the_first_is_used_and_named(self):
        done = self.kiln("run", "triton:copied", *COPY, "--check")
        self.assertIn(EQUAL, done.stdout)
        self.assertRegex(done.stderr, r"note: copied is autotuned: BLOCK: 64, .* the first of 3 configurations; "
                                      r"--set BLOCK=VALUE")
        self.assertEqual(self.kiln("--quiet show", "triton:copied", *COPY).stderr, "")

    def test_values_choose_among_them(self):
        def grid(*words):
            return json.loads(self.kiln("--json show", "triton:copied", *COPY, *words).stdout)["program"]["launches"][0]

        self.assertEqual(grid("--set", "BLOCK=128")["grid"], ["ceildiv(n, 128)"])
        self.assertEqual(grid("--set", "num_warps=4")["grid"], ["ceildiv(n, 256)"])
        self.assertIn("2 * target.wave", grid("--set", "BLOCK=128")["threads"])
        self.assertEqual(grid("--set", "BLOCK=32")["grid"], ["ceildiv(n, 32)"])
        self.assertEqual(grid("--arg", "BLOCK=128")["grid"], ["ceildiv(n, 128)"])
        said = self.kiln("show", "triton:copied", *COPY, "--set", "BLOCK=32").stderr
        self.assertIn("no configuration of copied is so: it is read with BLOCK=32, num_warps=1", said)

    def test_tune_tries_exactly_these(self):
        tune = ["--json tune", "triton:copied", *COPY, "--device", "emu:gfx942"]
        answer = json.loads(self.kiln(*tune).stdout)
        names = ["BLOCK: %d, num_warps: %d, num_stages: 3" % pair for pair in ((64, 1), (128, 2), (256, 4))]
        self.assertEqual([c["name"] for c in answer["candidates"]], names)
        narrowed = json.loads(self.kiln(*tune, "--set", "num_warps=4").stdout)
        self.assertEqual([c["name"] for c in narrowed["candidates"]], names[2:])

    def test_pruning_and_heuristics_are_the_kernel_s(self):
        found = self.kiln("--json tune", "triton:pruned", "--arg", "x=f32[100]", "y=f32[100]", "n=100", "--device",
                          "emu:gfx942")
        self.assertIn("BLOCK: 16, num_warps: 4, num_stages: 3 is left out", found.stderr)
        self.assertIn("too narrow", found.stderr)
        self.assertEqual(json.loads(found.stdout)["winner"], "BLOCK: 64, num_warps: 4, num_stages: 3")

    def test_a_record_decides_later_commands(self):
        sizes = ["--arg", "X=f32[64, 64]", "Y=f32[64, 64]"]
        emulated = ["--device", "emu:gfx942"]
        first = self.kiln("--json tune", "own:through", *sizes, *emulated)
        self.assertIn("BM=256, BN=256 is left out: the shared tiles do not fit", first.stderr)
        answer = json.loads(first.stdout)
        winner = answer["winner"]
        self.assertIn(winner, ("BM=16, BN=32", "BM=8, BN=64"))
        for command in ("run", "profile"):
            self.assertIn("autotuned: %s, as tuning record %s" % (winner, answer["record"][:12]),
                          self.kiln(command, "own:through", *sizes, *emulated).stderr)
        self.assertIn("as tuning record", self.kiln("explain", "own:through", *sizes, "--target", "gfx942").stderr)
        self.assertIn("the first of 3", self.kiln("compile", "own:through", *sizes, "--untuned").stderr)
        self.assertIn("the first of 3", self.kiln("run", "own:through", *sizes).stderr)  # of another device
        listed = self.service.kiln("tuning", "list", check=0).stdout
        self.assertIn(winner, next(line for line in listed.splitlines() if "through" in line))
        self.assertNotIn("the defaults", next(line for line in listed.splitlines() if "through" in line))

    def test_a_comparison_names_what_it_compares(self):
        words = [word for one in COPY[1:] for word in ("--arg", one)]
        said = self.kiln("compare", "triton:copied", *words, "--set-b", "BLOCK=256", "--device", "emu:gfx942").stderr
        self.assertEqual(said.count("copied is autotuned: BLOCK: 64, num_warps: 1"), 1)

    def test_a_record_of_python_s_is_found(self):
        environment = dict(os.environ, KILN_SOCKET=self.service.socket, PYTHONPATH=os.path.join(ROOT, "api", "python"))
        done = subprocess.run([sys.executable, self.files["own"], "emu:gfx90a"], env=environment, capture_output=True,
                              text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = self.kiln("run", "own:through", "--arg", "X=f32[64, 64]", "Y=f32[64, 64]", "--device",
                         "emu:gfx90a").stderr
        self.assertIn("autotuned: %s, as tuning record" % done.stdout.strip(), said)

    def test_mistakes_name_what_is_missing(self):
        some = ["--arg", "a=f16[64, 32]", "--set", "M=64", "N=128", "K=32"]
        said = self.kiln("run", "triton:product", *some, check=1).stderr
        self.assertIn("nothing is known of the parameters b, c, BM, BN of product", said)
        self.assertIn("--arg b=f32[…] c=f32[…]", said)
        self.assertIn("--set BM=… BN=…", said)
        self.assertRegex(said, r"triton_mine\.py:\d+:\d+: error")


class Factories(Case):
    def test_what_a_function_returns_is_run(self):
        for kernel, words in (("made", ["rows=50", "columns=64"]), ("plain", ["rows=32"]),
                              ("made", ["rows=50", "columns=64", "dtype=float16", "block=32"]),
                              ("own_kernel", ["BLOCK=32", "N=100"]), ("tuned", ["rows=32", "block=16"])):
            for device in ("host", "emu:gfx942"):
                done = self.kiln("run", "tile:" + kernel, "--set", *words, "--device", device, "--check")
                self.assertIn(EQUAL, done.stdout)

    def test_kernels_that_no_function_makes(self):
        self.assertIn(EQUAL, self.kiln("run", "tile:itself", "--check").stdout)
        self.assertIn(EQUAL, self.kiln("run", "tile:eager", "--set", "M=64", "N=32", "block=16", "--check").stdout)
        arrays = ["--arg", "X=f32[64, 32]", "Y=f32[64, 32]"]
        self.assertIn(EQUAL, self.kiln("run", "tile:eager", *arrays, "--check").stdout)

    def test_elements_outside_of_tensors_are_no_mistake(self):
        self.assertIn('"outside": "zero"', self.kiln("show", "tile:edge", "--set", "N=1000").stdout)
        for device in ("host", "emu:gfx942"):
            done = self.kiln("run", "tile:edge", "--set", "N=1000", "--device", device, "--check")
            self.assertIn(EQUAL, done.stdout)

    def test_numbers_of_the_file_are_replaced(self):
        shown = self.kiln("show", "tile:made", "--set", "rows=50", "columns=64", "SCALE=5.0").stdout
        self.assertIn("5.0", shown)

    def test_missing_parameters_are_all_named(self):
        said = self.kiln("run", "tile:made", "--set", "block=32", check=1).stderr
        self.assertRegex(said, r"tile_mine\.py:\d+:\d+: error: nothing is known of the parameters rows, columns of ")
        self.assertIn("hint: --set rows=… columns=…", said)
        self.assertIn("--set", self.kiln("run", "tile:eager", check=1).stderr)

    def test_mistakes_of_the_function_stand_at_its_line(self):
        said = self.kiln("run", "tile:plain", "--set", "rows=0", check=1).stderr
        self.assertRegex(said, r"tile_mine\.py:\d+:\d+: error: ZeroDivisionError while plain makes its kernel")
        self.assertIn("columns = 1024 // rows", said)
        self.assertNotIn("Traceback", said)
        unknown = self.kiln("run", "tile:plain", "--set", "rows=32", "colums=3", check=1).stderr
        self.assertIn("no symbol, parameter or constant colums", unknown)
        self.assertIn("no kernel rows_of; there are", self.kiln("run", "tile:rows_of", check=1).stderr)

    def test_tune_tries_their_configurations(self):
        for kernel, words, names in (("tuned", ["--set", "rows=64"], {"block=32", "block=16"}),
                                     ("eager", ["--set", "M=64", "N=32"], {"block=64", "block=16"})):
            found = self.kiln("--json tune", "tile:" + kernel, *words, "--device", "emu:gfx942")
            self.assertEqual({c["name"] for c in json.loads(found.stdout)["candidates"]}, names)
        self.assertIn("block=0 is left out", found.stderr)


if __name__ == "__main__":
    unittest.main()
