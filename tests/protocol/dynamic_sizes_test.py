"""Dynamic symbols through the daemon: one object for all sizes of a bucket, values at every launch."""

import json
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, Service

import kiln

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
SEED = int(os.environ.get("KILN_SEED", "20261130"))
REPEAT = "KILN_SEED=%d python3 %s" % (SEED, os.path.relpath(os.path.abspath(__file__), ROOT))
CARDS = ["emu:gfx90a", "emu:gfx942", "emu:gfx950", "emu:gfx1100"]


def built_in(name, dynamic, **promises):
    """A built-in whose symbols `dynamic` are dynamic."""
    with open(os.path.join(ROOT, "kernels/programs", name + ".json"), encoding="utf-8") as file:
        program = json.load(file)
    symbols = program["symbols"]
    if isinstance(symbols, list):
        symbols = {symbol: {} for symbol in symbols}
    program["symbols"] = {s: {**p, "dynamic": True, **promises} if s in dynamic else p for s, p in symbols.items()}
    return program


ATTENTION = built_in("flash_attention", ["S", "SK"])
BOUNDED = built_in("flash_attention", ["S", "SK"], max=65536)
# The tile sizes depend on the length alone: two buckets.
BUCKETS = dict(ATTENTION, tunables={**ATTENTION["tunables"], "BM": {"default": "32 if S <= 128 else 64"},
                                    "BN": {"default": "32 if S <= 128 else 64"}})


class DynamicSizes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()
        cls.folder = tempfile.TemporaryDirectory(prefix="kiln-dynamic-")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.service.__exit__()
        cls.folder.cleanup()

    def path(self, name, program):
        path = os.path.join(self.folder.name, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(program, file)
        return path

    def compiles(self):
        return self.client.stats()["workers"]["compiles"]

    def attention(self, s, sk, rng):
        def array(heads, length):
            numbers = (rng.gauss(0, 1) for _ in range(heads * length * 32))
            return self.client.empty((1, heads, length, 32), "f32").fill_from(numbers)
        return {"Q": array(2, s), "K": array(1, sk), "V": array(1, sk), "O": self.client.empty((1, 2, s, 32), "f32")}

    def test_ten_lengths_in_two_buckets_are_two_objects(self):
        rng = random.Random(SEED)
        before, keys = self.compiles(), set()
        for s in (1, 17, 64, 100, 128, 129, 200, 256, 300, 333):
            kernel = self.client.compile(BUCKETS, B=1, H=2, HKV=1, D=32, dtype="f32", S=s, SK=s)
            keys.add(kernel.key)
            arrays = self.attention(s, s, rng)
            report = kernel.verify(**arrays)
            self.assertTrue(report["passed"], (s, report, REPEAT))
            self.assertGreater(kernel(**arrays), 0)  # by key, with the values of the compile
            for a in arrays.values():
                a.free()
        self.assertEqual(len(keys), 2)
        self.assertEqual(self.compiles() - before, 2)

    def test_one_kernel_at_other_lengths(self):
        rng = random.Random(SEED)
        kernel = self.client.compile(ATTENTION, B=1, H=2, HKV=1, D=32, dtype="f32", S=64, SK=64)
        self.assertEqual([s["name"] for s in kernel.info["symbols"]], ["S", "SK"])
        for _ in range(12):
            s, sk = rng.choice([0, 1, 2, 31, 33, rng.randrange(300)]), rng.choice([0, 1, 63, 65, rng.randrange(300)])
            arrays = self.attention(s, sk, rng)
            report = kernel.verify(symbols={"S": s, "SK": sk}, **arrays)
            self.assertTrue(report["passed"], (s, sk, report, REPEAT))
            for a in arrays.values():
                a.free()

    def run_checked(self, path, device, words):
        done = self.service.kiln("run", path, "--device", device, "--set", *words.split(), "--check")
        self.assertEqual(done.returncode, 0, "%s on %s\n%s%s\n%s" % (words, device, done.stdout, done.stderr, REPEAT))
        return done.stdout

    def test_random_sizes_on_the_host(self):
        rng = random.Random(SEED)
        attention = self.path("attention", ATTENTION)
        gemm = self.path("gemm", built_in("gemm", ["M", "N", "K"], max=100000))
        for causal in ("true", "false"):
            for _ in range(4):
                sizes = "S=%d SK=%d causal=%s" % (rng.randrange(200), rng.randrange(200), causal)
                self.run_checked(attention, "host", "B=2 H=4 HKV=2 D=64 dtype=f16 " + sizes)
        for dtype in ("f32", "bf16", "i8"):
            for transposed in ("", " transpose_a=true", " transpose_b=true"):
                sizes = "M=%d N=%d K=%d" % tuple(rng.randrange(1, 200) for _ in range(3))
                self.run_checked(gemm, "host", "BM=48 BN=64 BK=64 dtype=%s %s%s" % (dtype, sizes, transposed))

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_random_sizes_on_emulated_cards(self):
        rng = random.Random(SEED)
        attention, bounded = self.path("attention", ATTENTION), self.path("bounded", BOUNDED)
        gemm = self.path("gemm_m", built_in("gemm", ["M"]))
        gemm3 = self.path("gemm3", built_in("gemm", ["M", "N", "K"], max=100000))
        # A bucket's tiles, so that each card compiles one object for all of these.
        tiles = "B=1 H=2 HKV=1 D=64 dtype=f16 BM=64 BN=32"
        for card in CARDS:
            before = self.compiles()
            for s, sk in [(0, 5), (5, 0), (1, 1), (64, 64), (rng.randrange(2, 200), rng.randrange(2, 200))]:
                self.run_checked(attention, card, "%s S=%d SK=%d causal=true" % (tiles, s, sk))
                self.run_checked(bounded, card, "%s S=%d SK=%d" % (tiles, s, sk))
            for m in (0, 1, rng.randrange(2, 300)):
                self.run_checked(gemm, card, "M=%d N=96 K=70 BM=64 BN=64 BK=32 dtype=f16" % m)
                sizes = "M=%d N=%d K=%d" % (m, rng.randrange(1, 150), rng.randrange(1, 150))
                self.run_checked(gemm3, card, "BM=64 BN=64 BK=32 dtype=bf16 transpose_b=true " + sizes)
            self.assertEqual(self.compiles() - before, 4, card)

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_nothing_is_read_beyond_the_tensors(self):
        """With the card's checks, also of what was never written."""
        path = self.path("attention", ATTENTION)
        for s, sk in [(1, 1), (65, 3), (3, 0)]:
            words = "B=1 H=1 HKV=1 D=64 BM=32 BN=32 S=%d SK=%d" % (s, sk)
            done = self.service.kiln("run", path, "--device", "emu:gfx942", "--set", *words.split(),
                                     "--check-memory", "all", "--check")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_values_are_asked_for_and_checked(self):
        program = built_in("softmax", ["M"], min=2, max=64, multiple_of=2)
        connection = self.service.connect()
        key = connection.call("kernel.compile", {"program": program, "set": {"M": 4, "N": 8}})["result"]["key"]
        sizes = [connection.call("buffer.alloc", {"size": 4 * 8 * 8})["result"]["buffer"] for _ in range(2)]
        args = {"X": {"buffer": sizes[0]}, "Y": {"buffer": sizes[1]}}

        def launched(**symbols):
            answer = connection.call("kernel.launch", {"key": key, "args": args, "symbols": symbols})
            return answer.get("result") or answer["error"]["data"]
        self.assertIn("duration_ms", launched(M=8))
        wrong = [({}, "symbols/M"), ({"M": 0}, "symbols/M"), ({"M": 3}, "symbols/M"), ({"M": 66}, "symbols/M"),
                 ({"M": "8"}, "symbols/M"), ({"M": 8, "Q": 1}, "symbols/Q"), ({"M": 10}, "args/X")]
        for value, place in wrong:
            refused = launched(**value)
            self.assertEqual(refused["code"], "invalid_argument", (value, refused))
            self.assertEqual(refused["diagnostics"][0]["pointer"], "/params/" + place, (value, refused))
        named = {"program": program, "set": {"M": 6, "N": 8}, "args": args}
        self.assertIn("result", connection.call("kernel.launch", named))
        other = connection.call("kernel.launch", {**named, "symbols": {"M": 10}})
        self.assertEqual(other["error"]["data"]["diagnostics"][0]["pointer"], "/params/args/X")
        wrong = connection.call("kernel.compile", {"program": program, "set": {"M": 5, "N": 8}})
        self.assertEqual(wrong["error"]["data"]["diagnostics"][0]["pointer"], "/bindings/symbols/M")
        connection.close()

    def test_a_grid_over_the_limits_is_refused(self):
        program = {"kiln": "tile/1", "name": "many", "symbols": {"S": {"dynamic": True}},
                   "params": [{"name": "Y", "dtype": "f32", "shape": [4], "access": "write"}],
                   "launches": [{"grid": ["S * 2", "S"], "threads": 1, "body": [
                       {"op": "alloc", "name": "y", "space": "fragment", "dtype": "f32", "shape": [4]},
                       {"op": "fill", "tile": "y", "value": "1.0"},
                       {"op": "if", "condition": "bid.x == 0 && bid.y == 0",
                        "then": [{"op": "copy", "from": "y", "to": "Y[0:]"}]}]}]}
        kernel = self.client.compile(program)
        y = self.client.empty((4,), "f32")
        self.assertGreaterEqual(kernel(symbols={"S": 0}, Y=y), 0)
        self.assertEqual(y.tolist(), [0, 0, 0, 0])
        kernel(symbols={"S": 3}, Y=y)
        self.assertEqual(y.tolist(), [1, 1, 1, 1])
        with self.assertRaises(kiln.errors.InvalidArgument) as caught:
            kernel(symbols={"S": 2**30}, Y=y)
        self.assertEqual(caught.exception.diagnostics[0]["pointer"], "/launches/0/grid")

    def test_explain_names_them(self):
        path, words = self.path("attention", ATTENTION), "B=1 H=1 HKV=1 D=16 BM=32 BN=32".split()
        done = self.service.kiln("explain", path, "--target", "host", "--set", *words, check=0)
        self.assertIn("dynamic symbols", done.stdout)
        self.assertIn("SK", done.stdout)
        report = json.loads(self.service.kiln("--json", "compile", path, "--set", *words, check=0).stdout)
        q = report["tensors"][0]
        self.assertEqual((q["shape"], "bytes" in q), ([1, 1, "S", 16], False))
        self.assertEqual(report["launches"][0]["grid"], ["ceildiv(S, 32)", 1, 1])
        missing = self.service.kiln("run", path, "--set", *words, "S=4", check=2)
        self.assertIn("--set SK=NUMBER", missing.stderr)

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_profile_and_capture(self):
        path, file = self.path("attention", ATTENTION), os.path.join(self.folder.name, "launch.kiln")
        words = "B=1 H=1 HKV=1 D=64 BM=32 BN=32 S=70 SK=33".split()
        done = self.service.kiln("--json", "profile", path, "--device", "emu:gfx942", "--set", *words, "--capture", file,
                                 check=0)
        self.assertEqual(json.loads(done.stdout)["launches"][0]["blocks"][0], 3)
        replayed = json.loads(self.service.kiln("--json", "replay", file, "--interpreter", check=0).stdout)
        self.assertTrue(replayed["same"])
        self.assertTrue(replayed["interpreter"]["passed"])

    def test_prepare_and_load(self):
        sizes = {"B": 1, "H": 2, "HKV": 1, "D": 16}
        kernels = [{"program": BUCKETS, "set": {**sizes, "S": s, "SK": s}} for s in (5, 6, 7, 500)]
        answer = self.client.prepare(kernels)
        self.assertEqual(answer["failed"], 0)
        self.assertEqual(len({k["key"] for k in answer["kernels"]}), 2)
        self.client.connection.call("kernel.load", {"key": answer["kernels"][0]["key"]})


if __name__ == "__main__":
    unittest.main()
