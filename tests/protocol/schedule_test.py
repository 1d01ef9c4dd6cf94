"""Schedules through the daemon: every block runs once, in the order that was asked for; results are those without."""

import copy
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, Service

import kiln

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
SEED = int(os.environ.get("KILN_SEED", "20261130"))
REPEAT = "KILN_SEED=%d python3 %s" % (SEED, os.path.relpath(os.path.abspath(__file__), ROOT))
TARGETS = {"host": "host", **({"emu:gfx942": "gfx942", "emu:gfx1100": "gfx1100"} if os.path.exists(LIBRARY) else {})}


def visits(order, dynamic=False, z=1):
    """Each block adds 1 to its element of Count, and notes when it came: the how manieth it was."""
    symbol = {"dynamic": True, "max": 4096} if dynamic else {}
    program = {
        "kiln": "tile/1", "name": "visits", "symbols": {"X": symbol, "Y": symbol},
        "params": [{"name": "Tickets", "dtype": "i32", "shape": [1], "access": "readwrite"},
                   {"name": "Count", "dtype": "i32", "shape": [z, "Y", "X"], "access": "readwrite"},
                   {"name": "When", "dtype": "i32", "shape": [z, "Y", "X"], "access": "readwrite"}],
        "launches": [{"grid": ["X", "Y", z], "threads": "1 if target.is_host else 64", "body": [
            {"op": "map", "index": ["i"], "extent": [1], "body": [
                {"atomic": "add", "to": "Tickets[i]", "value": 1, "old": "ticket"},
                {"atomic": "add", "to": "Count[bid.z, bid.y, bid.x + i]", "value": 1},
                {"atomic": "add", "to": "When[bid.z, bid.y, bid.x + i]", "value": "ticket"}]}]}]}
    if order:
        program["launches"][0]["schedule"] = {"block_order": order}
    return program


def in_order(order, nx, ny):
    """The blocks, as the order's definition gives them."""
    along_y = order.get("along", "x") == "y"
    along, across, panel = (ny, nx, order["panel"]) if along_y else (nx, ny, order["panel"])
    panel = max(panel, 1)
    return [(b, a) if along_y else (a, b) for first in range(0, across, panel) for a in range(along)
            for b in range(first, min(first + panel, across))]


def gemm(schedule=None, launch=None, loop=None, copies=None):
    """The built-in product with schedules put in."""
    with open(os.path.join(ROOT, "kernels/programs/gemm.json"), encoding="utf-8") as file:
        program = json.load(file)
    made = program["launches"][0]
    if launch:
        made["schedule"] = launch
    [found] = [s for s in made["body"] if s["op"] == "for"]
    if loop:
        found["schedule"] = loop
    for statement in found["body"]:
        if statement["op"] == "gemm" and schedule:
            statement["schedule"] = schedule
        if statement["op"] == "copy" and copies:
            statement["schedule"] = copies
    return program


class Schedules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # One thread: blocks come one after the other. Those of an emulated card run at once.
        cls.service = Service(config={"device_host": [os.path.join(BIN, "kiln-device-host"), "--threads", "1"]})
        cls.client = cls.service.client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.service.__exit__()

    def visit(self, program, device, nx, ny, z=1, symbols=None):
        """Block counts and turns of one launch."""
        arrays = {"Tickets": self.client.empty((1,), "i32"), "Count": self.client.empty((z, ny, nx), "i32"),
                  "When": self.client.empty((z, ny, nx), "i32")}
        set_ = {} if symbols else {"X": nx, "Y": ny}
        kernel = self.client.compile(program, target=TARGETS[device], **set_)
        kernel(device=device, symbols=symbols, **arrays)
        found = [list(arrays[name].tolist()) for name in ("Count", "When")]
        for array in arrays.values():
            array.free()
        return found

    def check_visits(self, program, order, device, nx, ny, z=1, symbols=None):
        what = (device, nx, ny, z, order, REPEAT)
        count, when = self.visit(program, device, nx, ny, z, symbols)
        self.assertEqual(count, [1] * (nx * ny * z), what)
        self.assertEqual(sorted(when), list(range(nx * ny * z)), what)
        if device == "host":
            wanted = [(k, x, y) for k in range(z) for x, y in in_order(order or {"panel": 0}, nx, ny)]
            found = sorted(((k, x, y) for k in range(z) for y in range(ny) for x in range(nx)),
                           key=lambda b: when[(b[0] * ny + b[2]) * nx + b[1]])
            self.assertEqual(found, wanted, what)

    def test_every_block_once_in_the_order(self):
        rng = random.Random(SEED)
        for device in TARGETS:
            for round_ in range(40 if device == "host" else 8):
                nx, ny, z = rng.randrange(1, 24), rng.randrange(1, 24), rng.choice([1, 1, 3])
                order = {"panel": rng.choice([1, 2, 3, 5, 8, 30, 2**31 - 1]), "along": rng.choice("xy")}
                self.check_visits(visits(order, z=z), order, device, nx, ny, z)

    def test_dynamic_grids(self):
        rng = random.Random(SEED + 1)
        for device in TARGETS:
            for order in ({"panel": 4, "along": "x"}, {"panel": 3, "along": "y"}, {"panel": 1, "along": "y"}):
                program = visits(order, dynamic=True)
                for _ in range(10):
                    nx, ny = rng.randrange(1, 30), rng.randrange(1, 30)
                    self.check_visits(program, order, device, nx, ny, symbols={"X": nx, "Y": ny})

    def test_products_are_the_same(self):
        rng = random.Random(SEED + 2)
        asked = [dict(launch={"block_order": {"panel": 3}}), dict(launch={"block_order": {"panel": 2, "along": "y"}}),
                 dict(schedule={"instruction": [16, 16]}), dict(schedule={"waves": [1, 0]}),
                 dict(launch={"waves": [0, 1]}),
                 dict(schedule={"k_pack": 1}), dict(copies={"vector_bytes": 4}),
                 dict(loop={"stage": [0, 1, 1], "order": [0, 1, 2]}), dict(loop={"stage": [0, 0, 0]}),
                 dict(loop={"stage": [0, 0, 1], "order": [1, 0, 2]}),
                 dict(schedule={"instruction": [16, 16], "waves": [2, 1], "k_pack": 1},
                      launch={"block_order": {"panel": 2, "along": "y"}})]
        loop = [s for s in gemm()["launches"][0]["body"] if s["op"] == "for"][0]
        self.assertEqual([s["op"] for s in loop["body"]], ["copy", "copy", "gemm"])
        for device in TARGETS:
            for one in asked:
                m, n, k = (rng.randrange(1, 400) for _ in range(3))
                path = self.path(gemm(**one))
                done = self.service.kiln("run", path, "--device", device, "--set", "M=%d" % m, "N=%d" % n, "K=%d" % k,
                                         "BM=64", "BN=64", "BK=32", "dtype=f16", "--check")
                self.assertEqual(done.returncode, 0, (device, one, m, n, k, done.stdout, done.stderr, REPEAT))

    def path(self, program):
        path = os.path.join(self.service.folder, "program.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(program, file)
        return path

    def test_explain_tells_what_is_honoured(self):
        program = gemm(schedule={"instruction": [16, 16], "k_pack": 8, "hint": True},
                       launch={"block_order": {"panel": 3, "along": "y"}})
        sizes = {"M": 512, "N": 512, "K": 512, "dtype": "f16"}
        for target, wanted in {"host": ["no meaning on the host", "panels of 3 columns, walked along y"],
                               "gfx942": ["instruction 16x16, as asked", "hint not honoured: k-pack 8",
                                          "panels of 3 columns, walked along y"]}.items():
            decisions = "\n".join(self.client.compile(program, target=target, **sizes).explain()["decisions"])
            for part in wanted:
                self.assertIn(part, decisions, target)

    def test_what_cannot_be_is_a_located_error(self):
        program = gemm(schedule={"instruction": [32, 32, 4]})
        with self.assertRaises(kiln.errors.Unsupported) as caught:
            self.client.compile(program, target="gfx942", M=512, N=512, K=512, dtype="f16")
        found = caught.exception.diagnostics[0]
        self.assertTrue(found["pointer"].endswith("/schedule/instruction"), found)
        self.assertIn("32x32x8", found["expected"])

    def test_a_tunable_decides(self):
        program = copy.deepcopy(visits({"panel": "P", "along": "y"}))
        program["tunables"] = {"P": {"default": "2", "candidates": [0, 1, 2, 5]}}
        keys = {self.client.compile(program, X=9, Y=7, P=panel).key for panel in (0, 1, 2, 5)}
        self.assertEqual(len(keys), 4)
        self.assertIn(self.client.compile(program, X=9, Y=7).key, keys)
        for panel in (1, 5):
            decided = visits({"panel": panel, "along": "y"})
            self.check_visits(decided, {"panel": panel, "along": "y"}, "host", 9, 7)

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_an_order_costs_a_few_scalar_instructions(self):
        """Memory, LDS and matrix work of a product are what they were."""
        def counted(**launch):
            path = self.path(gemm(**launch))
            done = self.service.kiln("--json", "profile", path, "--device", "emu:gfx942", "--set", "M=192", "N=192",
                                     "K=64", "BM=64", "BN=64", "BK=32", "dtype=f16", check=0)
            return json.loads(done.stdout)["launches"][0]["counters"]
        plain, ordered = counted(), counted(launch={"block_order": {"panel": 2, "along": "y"}})
        added = ordered["SQ_INSTS_VALU"] - plain["SQ_INSTS_VALU"]
        self.assertLessEqual(added, 4 * plain["SQ_WAVES"])  # addresses of other form, none of them in the loop
        self.assertGreater(plain["SQ_INSTS_VMEM_RD"], 0)
        for name in ("SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_INSTS_LDS", "SQ_INSTS_MFMA"):
            self.assertEqual(plain.get(name), ordered.get(name), name)


if __name__ == "__main__":
    unittest.main()
