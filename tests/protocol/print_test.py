"""print and assert of tile programs through the daemon, on the host and on emulated cards of every architecture."""

import json
import os
import random
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, Service

import kiln

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
SEED = int(os.environ.get("KILN_SEED", "20261130"))
REPEAT = "KILN_SEED=%d python3 %s" % (SEED, os.path.relpath(os.path.abspath(__file__), ROOT))
CARDS = ["emu:gfx90a", "emu:gfx942", "emu:gfx950", "emu:gfx1100"] if os.path.exists(LIBRARY) else []
DEVICES = ["host"] + CARDS


def program(body, blocks=4, columns=8, more=(), dtype="f32"):
    """A row of X a block, as the fragment x, which goes to Y behind `body`."""
    return {
        "kiln": "tile/1", "name": "printing",
        "params": [{"name": "X", "dtype": dtype, "shape": [blocks, columns], "access": "read"},
                   {"name": "Y", "dtype": dtype, "shape": [blocks, columns], "access": "write"}],
        "launches": [{"grid": [blocks], "threads": "1 if target.is_host else 256", "body": [
            {"op": "alloc", "name": "x", "space": "fragment", "dtype": dtype, "shape": [columns]},
            {"op": "copy", "from": "X[bid.x, 0:]", "to": "x"}, *body,
            {"op": "copy", "from": "x", "to": "Y[bid.x, 0:]"}]}, *more]}


def over(items, extent=8):
    return {"op": "map", "index": ["i"], "extent": [extent], "body": items}


class Prints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()
        cls.folder = tempfile.TemporaryDirectory(prefix="kiln-print-")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.service.__exit__()
        cls.folder.cleanup()

    def arrays(self, blocks, columns, values=None, dtype="f32"):
        x, y = self.client.empty((blocks, columns), dtype), self.client.empty((blocks, columns), dtype)
        letter = "f" if dtype == "f32" else "i"
        count = blocks * columns
        x.memory[:] = struct.pack("%d%s" % (count, letter), *(values or range(count)))
        y.memory[:] = struct.pack("%d%s" % (count, letter), *[-1] * count)
        return x, y

    def numbers(self, array, dtype="f32"):
        data = bytes(array.memory)
        return list(struct.unpack("%d%s" % (len(data) // 4, "f" if dtype == "f32" else "i"), data))

    def run_on(self, device, tile_program, x, y, **settings):
        target = "host" if device == "host" else device.partition(":")[2]
        return self.client.compile(tile_program, target)(device, X=x, Y=y, **settings)

    def test_values_blocks_and_indices(self):
        body = [{"op": "print", "text": "row %n */ \"é\"", "values": ["bid.x", "x[1]", "bid.x > 2"]},
                over([{"let": "v", "value": "x[i] * 0.5"}, {"set": "x[i]", "value": "v"},
                      {"print": "half", "values": ["v", "cast(v, f16)", "cast(i, u64) * cast(0 - 1, u64)"],
                       "where": "i == 7 && bid.x % 2 == 1"}])]
        want = []
        for b in range(4):
            want.append({"at": "/launches/0/body/2", "text": "row %n */ \"é\"", "block": [b, 0, 0], "index": [],
                         "values": [b, 8.0 * b + 1, b > 2]})
            if b % 2:
                half = (8 * b + 7) / 2
                want.append({"at": "/launches/0/body/3/body/2", "text": "half", "block": [b, 0, 0], "index": [7],
                             "values": [half, half, "18446744073709551609"]})
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = self.arrays(4, 8)
                took = self.run_on(device, program(body), x, y)
                self.assertEqual(took.printed, want)
                self.assertEqual(took.printed_dropped, 0)
                self.assertEqual(self.numbers(y), [n / 2 for n in range(32)])

    def test_what_is_no_number(self):
        body = [{"op": "print", "values": ["0.0 / x[0]", "1.0 / x[0]", "-1.0 / x[0]", "x[1] * 0.1"]}]
        for device in DEVICES:
            with self.subTest(device=device):
                took = self.run_on(device, program(body, 1), *self.arrays(1, 8))
                self.assertEqual(took.printed[0]["values"], ["nan", "inf", "-inf", 0.1])

    def failure(self, device, tile_program, x, y, **settings):
        with self.assertRaises(kiln.errors.AssertionFailed) as caught:
            self.run_on(device, tile_program, x, y, **settings)
        return caught.exception

    def test_one_block_of_many(self):
        body = [{"op": "assert", "condition": "bid.x != 37", "text": "thirty-seven", "values": ["bid.x * 2"]},
                {"op": "print", "text": "went on", "when": "false"}]
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = self.arrays(64, 8)
                error = self.failure(device, program(body, 64), x, y)
                self.assertEqual(error.failed, [{"at": "/launches/0/body/2", "text": "thirty-seven",
                                                 "block": [37, 0, 0], "index": [], "values": [74]}])
                self.assertEqual(error.diagnostics[0]["pointer"], "/launches/0/body/2")
                self.assertEqual(self.numbers(y), [-1.0 if n // 8 == 37 else float(n) for n in range(512)])

    def test_one_lane_of_a_map(self):
        body = [over([{"assert": "x[i] != 1234.0", "text": "found", "values": ["x[i]"]},
                      {"set": "x[i]", "value": "x[i] + 1.0"}], 1024),
                {"op": "print", "text": "went on", "values": ["bid.x"]}]
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = self.arrays(3, 1024)
                error = self.failure(device, program(body, 3, 1024), x, y)
                self.assertEqual(error.failed, [{"at": "/launches/0/body/2/body/0", "text": "found",
                                                 "block": [1, 0, 0], "index": [210], "values": [1234.0]}])
                self.assertEqual([r["block"][0] for r in error.printed], [0, 2])
                self.assertEqual(self.numbers(y), [-1.0 if n // 1024 == 1 else n + 1.0 for n in range(3072)])

    def test_within_a_loop_with_shared_tiles_and_barriers(self):
        """No wave is left at a barrier: the failing lane's block ends as a whole, in the third of eight turns."""
        body = [{"op": "for", "var": "k", "to": 8, "body": [
            {"op": "copy", "from": "x", "to": "s"},
            over([{"set": "x[i]", "value": "s[(i + 1) % 512] + 1.0"}], 512),
            over([{"assert": "k != 2 || bid.x != 1 || i != 300", "text": "stop", "values": ["k"]}], 512)]}]
        tile_program = program(body, 3, 512)
        tile_program["launches"][0]["body"].insert(
            0, {"op": "alloc", "name": "s", "space": "shared", "dtype": "f32", "shape": [512]})
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = self.arrays(3, 512)
                error = self.failure(device, tile_program, x, y, deadline_ms=120000)
                self.assertEqual([(r["block"], r["index"], r["values"]) for r in error.failed],
                                 [([1, 0, 0], [300], [2])])
                got = self.numbers(y)
                self.assertEqual(got[512:1024], [-1.0] * 512)
                self.assertEqual(got[0], 8.0 + 8)
        for device in CARDS[:2]:  # and no wave meets another one's missing barrier
            x, y = self.arrays(3, 512)
            params = {"program": tile_program, "device": device, "switches": {"check": ["all"]},
                      "target": device.partition(":")[2], "args": {"X": x, "Y": y}}
            with self.assertRaises(kiln.errors.AssertionFailed):
                self.client.connection.call("kernel.launch", params)

    def test_later_launches_do_not_begin(self):
        second = {"grid": [4], "threads": "1 if target.is_host else 64", "body": [
            {"op": "alloc", "name": "z", "space": "fragment", "dtype": "f32", "shape": [8]},
            {"op": "fill", "tile": "z", "value": 7}, {"op": "print", "text": "second"},
            {"op": "copy", "from": "z", "to": "Y[bid.x, 0:]"}]}
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = self.arrays(4, 8)
                failing = program([{"op": "assert", "condition": "bid.x != 2"}], more=[second])
                error = self.failure(device, failing, x, y)
                self.assertEqual(error.printed, [])
                self.assertEqual(self.numbers(y), [-1.0 if n // 8 == 2 else float(n) for n in range(32)])
                took = self.run_on(device, program([{"op": "assert", "condition": "x[0] >= 0.0"}], more=[second]), x, y)
                self.assertEqual(len(took.printed), 4)
                self.assertEqual(self.numbers(y), [7.0] * 32)

    def test_overflow_is_counted(self):
        body = [{"op": "for", "var": "k", "to": 10, "body": [
            over([{"print": "p", "values": ["k"]}, {"assert": "k < 9 || bid.x < 3"}], 64)]}]
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = self.arrays(4, 64)
                error = self.failure(device, program(body, 4, 64), x, y)
                self.assertEqual(len(error.printed), 1024)
                self.assertEqual(error.printed_dropped, 4 * 64 * 10 - 1024)
                self.assertEqual(len(error.failed), 64)

    def test_random_values_are_those_of_numbers(self):
        random.seed(SEED)
        for device in DEVICES:
            for _ in range(3):
                blocks, columns = random.randint(1, 5), random.choice([1, 7, 32, 100])
                values = [random.randint(-1000, 1000) for _ in range(blocks * columns)]
                least, step = random.randint(-500, 500), random.randint(1, 5)
                body = [over([{"print": "v", "values": ["x[i]", "x[i] * 3 - i32_of", "cast(x[i], f32) / 8.0"],
                               "where": "x[i] > %d && i %% %d == 0" % (least, step)}], columns)]
                body[0]["body"].insert(0, {"let": "i32_of", "value": "cast(i, i32)"})
                x, y = self.arrays(blocks, columns, values, "i32")
                took = self.run_on(device, program(body, blocks, columns, dtype="i32"), x, y)
                want = [([b, 0, 0], [i], [v, v * 3 - i, v / 8])
                        for b in range(blocks) for i, v in enumerate(values[b * columns:(b + 1) * columns])
                        if v > least and i % step == 0]
                self.assertEqual([(r["block"], r["index"], r["values"]) for r in took.printed], want,
                                 "%s; repeat: %s" % (device, REPEAT))

    def test_verify_and_events_tell_too(self):
        tile_program = program([{"op": "print", "text": "p", "values": ["bid.x"]}])
        x, y = self.arrays(4, 8)
        told = self.client.compile(tile_program).verify(X=x, Y=y)
        self.assertTrue(told["passed"])
        self.assertEqual(len(told["printed"]), 4)

    @unittest.skipUnless(CARDS, "no emulated card")
    def test_streams_keep_what_enqueued_launches_printed(self):
        call = self.client.connection.call
        failing = program([{"op": "print", "text": "p"}, {"op": "assert", "condition": "bid.x != 1"}])
        good = program([{"op": "print", "text": "p"}])
        event = call("event.export", {"device": "emu:gfx942"})[0]["event"]
        buffers = [call("buffer.alloc", {"size": 128, "device": "emu:gfx942"})[0]["buffer"] for _ in range(2)]
        launch = {"device": "emu:gfx942", "target": "gfx942", "event": event,
                  "args": {"X": {"buffer": buffers[0]}, "Y": {"buffer": buffers[1]}}}
        self.assertTrue(call("kernel.launch", {"program": good, **launch})[0]["enqueued"])
        self.assertEqual(len(call("stream.synchronize", {})[0]["printed"]), 4)
        self.assertEqual(call("stream.synchronize", {})[0], {})
        call("kernel.launch", {"program": failing, **launch})
        with self.assertRaises(kiln.errors.AssertionFailed) as caught:
            call("stream.synchronize", {})
        self.assertEqual([r["block"][0] for r in caught.exception.failed], [1])
        self.assertEqual(len(caught.exception.printed), 4)
        self.assertEqual(call("stream.synchronize", {})[0], {})

    def test_dynamic_sizes(self):
        tile_program = {
            "kiln": "tile/1", "name": "growing", "symbols": {"S": {"dynamic": True, "max": 1000}},
            "params": [{"name": "X", "dtype": "f32", "shape": ["S"], "access": "read"}],
            "launches": [{"grid": ["ceildiv(S, 4)"], "threads": "1 if target.is_host else 64", "body": [
                {"op": "assert", "condition": "X[0] < cast(S, f32)", "text": "short", "values": ["S"]},
                {"op": "print", "values": ["S", "bid.x", "X[S - 1]"]}]}]}
        for device in DEVICES[:3]:
            with self.subTest(device=device):
                kernel = self.client.compile(tile_program, "host" if device == "host" else device.partition(":")[2])
                for size in (3, 9):
                    x = self.client.empty((size,), "f32")
                    x.memory[:] = struct.pack("%df" % size, *[5.0] * size)
                    if size == 3:
                        with self.assertRaises(kiln.errors.AssertionFailed) as caught:
                            kernel(device, X=x, symbols={"S": size})
                        self.assertEqual(caught.exception.failed[0]["values"], [3])
                        continue
                    took = kernel(device, X=x, symbols={"S": size})
                    self.assertEqual([r["values"] for r in took.printed], [[9, b, 5.0] for b in range(3)])

    def test_a_failed_assertion_is_captured_and_replayed(self):
        path, file = os.path.join(self.folder.name, "c.json"), os.path.join(self.folder.name, "c.kiln")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(program([{"op": "assert", "condition": "bid.x < 2", "text": "few"}]), out)
        captured = self.service.kiln("capture", "--out", file, "--", os.path.join(BIN, "kiln"), "--no-daemon", "run", path)
        self.assertTrue(os.path.exists(file), captured.stderr)
        replayed = json.loads(self.service.kiln("replay", file, "--json").stdout)
        self.assertIn("an assertion failed: few", json.dumps(replayed))
        self.assertTrue(replayed["same"], replayed)

    def test_tuning_goes_on_where_programs_print(self):
        tile_program = program([{"op": "print", "values": ["T"]}, {"op": "assert", "condition": "T != 3", "text": "three"}])
        tile_program["tunables"] = {"T": {"default": "1", "candidates": [1, 2, 3]}}
        told = self.client.tune(tile_program, rounds_max=2)
        self.assertEqual({c["verdict"] for c in told["candidates"] if c["set"] == {"T": "3"}}, {"crashed"})

    def test_programs_without_messages_answer_as_before(self):
        x, y = self.arrays(4, 8)
        kernel = self.client.compile(program([]))
        self.assertNotIn("workspace", kernel.info)
        answer, _ = self.client.connection.call("kernel.launch", {"key": kernel.key, "args": {"X": x, "Y": y}})
        self.assertEqual(set(answer), {"key", "duration_ms", "device"})

    def test_no_text_reaches_the_code(self):
        kernel = self.client.compile(program([{"op": "print", "text": "needle */ \" %n", "values": ["x[0]"]}]))
        report = kernel.explain()
        self.assertNotIn("needle", report["source"])
        self.assertNotIn("needle", report["kernel_program"])

    def test_the_command_shows_them(self):
        path = os.path.join(self.folder.name, "p.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(program([{"op": "print", "text": "x is", "values": ["bid.x", "1.5"]},
                               over([{"print": "i:", "values": ["i > 6"], "where": "i > 6 && bid.x == 1"}])]), file)
        out = self.service.kiln("run", path).stdout
        self.assertIn("pid (0, 0, 0) x is: 0, 1.5\n", out)
        self.assertIn("pid (1, 0, 0) idx (7) i: true\n", out)
        told = json.loads(self.service.kiln("run", path, "--json").stdout)
        self.assertEqual(len(told["printed"]), 5)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(program([{"op": "print", "text": "before"},
                               {"op": "assert", "condition": "bid.x < 2", "text": "few"}]), file)
        failed = self.service.kiln("run", path)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("an assertion failed: few", failed.stderr)
        self.assertIn("block (2, 0, 0)", failed.stderr)
        self.assertIn("printed: before", failed.stderr)


if __name__ == "__main__":
    unittest.main()
