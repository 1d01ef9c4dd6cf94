"""Captures: a wrong kernel, made with planted device headers in one installation, replayed from its file by another one that
has neither the headers nor the cache; shrunk in both; damaged files; what the protocol, the clients and `kiln capture` give."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.service import BIN, ROOT, Service

SEED = int(os.environ.get("KILN_SEED", "20261130"))
REPRODUCE = "KILN_SEED=%d KILN_BIN=%s python3 %s" % (SEED, BIN, os.path.relpath(__file__, ROOT))
GEMM = ["gemm", "--set", "M=128", "N=128", "K=128", "dtype=f16", "--device", "emu:gfx942"]

# What is planted into intrinsics.hpp: (from, to) inside the named function.
NO_BARRIER = ("KILN_DEVICE void barrier() {", "  __builtin_amdgcn_s_barrier();\n", "")
# A block of C is 64 rows of 256 bytes: the blocks of the last row write behind the end.
ONE_BLOCK_TOO_FAR = ("KILN_DEVICE void store_global(", "+ uniform_bytes;", "+ uniform_bytes + 64 * 256;")
WRONG_VALUES = ("KILN_DEVICE void store_global(", "  char* at", "  *(unsigned char*)&value ^= 64;\n  char* at")

# Smaller blocks of C than this are written by store_buffer, into which nothing is planted.
FULL_TILE = {"M": 32, "N": 32, "K": 1}


class Installation:
    """Programs and data as installed: its own device headers, cache and settings."""

    def __init__(self, plant=None):
        self.folder = tempfile.mkdtemp(prefix="kiln-installed-")
        self.bin = os.path.join(self.folder, "bin")
        share = os.path.join(self.folder, "share", "kiln")
        shutil.copytree(BIN, self.bin)  # the programs look for their data beside where they really lie
        os.symlink(os.path.join(os.path.dirname(BIN), "lib"), os.path.join(self.folder, "lib"))
        shutil.copytree(os.path.join(ROOT, "kernels", "include"), os.path.join(share, "include"))
        shutil.copytree(os.path.join(ROOT, "kernels", "programs"), os.path.join(share, "programs"))
        if plant:
            self.plant(os.path.join(share, "include", "kiln", "intrinsics.hpp"), *plant)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("KILN_", "XDG_"))}
        # Installed compilers are the machine's; everything else is this installation's own.
        self.environment["XDG_DATA_HOME"] = os.environ.get("XDG_DATA_HOME", os.path.expanduser("~/.local/share"))
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
            self.environment[name] = os.path.join(self.folder, name.lower())
            os.makedirs(self.environment[name], mode=0o700)

    @staticmethod
    def plant(path, function, wrong_from, wrong_to):
        with open(path) as file:
            text = file.read()
        begin = text.index(function)
        end = text.index("\n}\n", begin)
        body = text[begin:end]
        if wrong_from not in body:
            raise AssertionError("%s has no %r to plant a fault into" % (function, wrong_from))
        with open(path, "w") as file:
            file.write(text[:begin] + body.replace(wrong_from, wrong_to) + text[end:])

    def path(self, name):
        return os.path.join(self.folder, name)

    def kiln(self, *arguments, status=0, environment=None):
        done = subprocess.run([os.path.join(self.bin, "kiln"), *arguments], env=dict(self.environment, **(environment or {})),
                              capture_output=True, text=True, cwd=self.folder)
        if status is not None and done.returncode != status:
            raise AssertionError("kiln %s: status %d, wanted %d\n%s%s" % (" ".join(arguments), done.returncode, status, done.stdout, done.stderr))
        return done

    def json(self, *arguments, status=0):
        return json.loads(self.kiln("--json", *arguments, status=status).stdout)

    def capture(self, name, command, *more):
        return self.json("capture", "--out", self.path(name), *more, "--", os.path.join(self.bin, "kiln"), "--no-daemon", *command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class PlantedFaults(unittest.TestCase):
    """Done-when 6: captured in one process, replayed from the file in a fresh environment, the same finding, shrunk."""

    def check_fault(self, plant, run, kind, blocks, least):
        with Installation(plant) as planted, Installation() as fresh:
            captured = planted.capture("bug.kiln", run)
            self.assertEqual(captured["outcome"], "failed")
            self.assertIn(kind, captured["error"]["message"])
            self.assertTrue(captured["whole_program"])
            self.assertEqual({t["held"] for t in captured["tensors"]}, {"seed"})
            bug = fresh.path("bug.kiln")
            shutil.copy(planted.path("bug.kiln"), bug)
            fresh_small, small = fresh.path("blocks.kiln"), planted.path("small.kiln")

            # The present compiler makes a right kernel: the captured object's grid is what can be made smaller.
            answer = fresh.json("replay", bug, "--device", "emu:gfx942", "--shrink", "--out", fresh_small)
            self.assertTrue(answer["same"], answer)
            self.assertTrue(answer["fault"]["same"])
            self.assertEqual(answer["fault"]["captured"]["place"], answer["fault"]["replayed"]["place"])
            self.assertEqual(answer["fault"]["captured"]["instruction"], answer["fault"]["replayed"]["instruction"])
            self.assertFalse(answer["shrunk"]["recompiled"])
            self.assertEqual(answer["shrunk"]["grids"], [blocks])
            self.assertTrue(fresh.json("replay", fresh_small)["same"])

            # Where the fault is still compiled in, the sizes go down to the smallest.
            answer = planted.json("replay", bug, "--shrink", "--out", small)
            self.assertTrue(answer["same"], answer)
            self.assertTrue(answer["shrunk"]["recompiled"])
            sizes = dict(pair.split("=") for pair in answer["shrunk"]["after"].split())
            self.assertEqual({name: int(size) for name, size in sizes.items()}, least)
            again = fresh.json("replay", small)
            self.assertTrue(again["same"], again)
            self.assertIn(kind, again["fault"]["replayed"]["message"])
            self.assertEqual(again["set"]["M"], sizes["M"])

    def test_race(self):
        self.check_fault(NO_BARRIER, ["run", *GEMM, "--check-memory", "races"], "race in LDS", [1, 1, 1], {"M": 1, "N": 1, "K": 1})

    def test_store_out_of_range(self):
        self.check_fault(ONE_BLOCK_TOO_FAR, ["run", *GEMM], "out-of-range store", [1, 2, 1], FULL_TILE)

    def test_wrong_results(self):
        with Installation(WRONG_VALUES) as planted, Installation() as fresh:
            captured = planted.capture("bug.kiln", ["run", *GEMM, "--check"])
            self.assertEqual(captured["outcome"], "wrong")
            bug = planted.path("bug.kiln")
            answer = fresh.json("replay", bug, "--interpreter")
            self.assertTrue(answer["same"])
            self.assertTrue(answer["result"]["same"])
            self.assertFalse(answer["interpreter"]["passed"])
            refused = fresh.json("replay", bug, "--shrink", status=1)
            self.assertIn("does not show it", refused["error"]["message"])
            answer = planted.json("replay", bug, "--shrink", "--out", planted.path("small.kiln"))
            self.assertEqual(answer["shrunk"]["after"], " ".join("%s=%d" % size for size in FULL_TILE.items()))
            again = fresh.json("replay", planted.path("small.kiln"))
            self.assertTrue(again["same"])
            self.assertFalse(again["interpreter"]["passed"])


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = Installation()
        cls.whole = cls.here.path("profile.kiln")
        cls.here.kiln("--no-daemon", "profile", "softmax", "--set", "M=8", "N=300", "--capture", cls.whole)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here.folder)

    def test_results_and_counters_are_the_same(self):
        answer = self.here.json("replay", self.whole, "--interpreter")
        self.assertTrue(answer["same"])
        self.assertTrue(answer["counters"]["same"])
        self.assertGreater(answer["counters"]["compared"], 10)
        self.assertTrue(answer["interpreter"]["passed"])
        self.assertEqual(answer["result"]["tensors"][0]["different"], 0)
        shrunk = self.here.json("replay", self.whole, "--shrink", "--interpreter")["shrunk"]
        self.assertIsNone(shrunk["file"])
        self.assertIn("nothing to shrink", shrunk["note"])
        done = self.here.kiln("replay", self.whole, "--shrink")
        self.assertIn("nothing to shrink: the replay does not fail; --interpreter also compares", done.stdout)
        self.assertFalse(os.path.exists(self.whole + ".small"))

    def test_another_target_is_refused(self):
        answer = self.here.json("replay", self.whole, "--device", "emu:gfx90a", status=1)
        self.assertEqual(answer["error"]["data"]["code"], "unsupported")
        self.assertIn("emu:gfx942", answer["error"]["message"])

    def test_checks_can_be_added(self):
        answer = self.here.json("replay", self.whole, "--check", "races,uninitialised,bounds")
        self.assertTrue(answer["same"], answer)
        done = self.here.kiln("replay", self.whole, "--check", "nonsense", status=1)
        self.assertIn("nonsense", done.stderr)

    def test_damaged_files_end_in_errors(self):
        with open(self.whole, "rb") as file:
            whole = file.read()
        chance = random.Random(SEED)
        bad = self.here.path("bad.kiln")
        for i in range(80):
            if i % 4 == 0:
                data, what = whole[:chance.randrange(len(whole))], "cut"
            else:
                bit = chance.randrange(8 * len(whole))
                data, what = bytearray(whole), "bit %d" % bit
                data[bit // 8] ^= 1 << bit % 8
            with open(bad, "wb") as file:
                file.write(data)
            done = self.here.kiln("--json", "replay", bad, status=None)
            self.assertEqual(done.returncode, 1, "%s %s; %s" % (what, done.stdout + done.stderr, REPRODUCE))
            message = json.loads(done.stdout)["error"]["message"]
            self.assertRegex(message, "byte [0-9]+", "%s; %s" % (what, REPRODUCE))

    def test_other_files_stay(self):
        mine = self.here.path("mine.txt")
        with open(mine, "w") as file:
            file.write("not a capture")
        done = self.here.kiln("capture", "--out", mine, "--", "true", status=1)
        self.assertIn("not overwritten", done.stderr)
        with open(mine) as file:
            self.assertEqual(file.read(), "not a capture")

    def test_nothing_is_captured_where_nothing_fails(self):
        done = self.here.kiln("capture", "--out", self.here.path("none.kiln"), "--", os.path.join(self.here.bin, "kiln"), "--no-daemon", "run",
                              "softmax", "--set", "M=4", "N=64", "--device", "emu:gfx942", status=1)
        self.assertIn("nothing was captured", done.stderr)
        self.assertFalse(os.path.exists(self.here.path("none.kiln")))

    def test_the_nth_launch_and_the_last(self):
        for on in ("2", "always"):
            got = self.here.capture("nth.kiln", ["run", "softmax", "--set", "M=4", "N=64", "--device", "emu:gfx942", "--repeat", "3"], "--on", on)
            self.assertEqual(got["outcome"], "done")
            self.assertTrue(self.here.json("replay", self.here.path("nth.kiln"))["same"])

    def test_native_code_of_others_is_refused(self):
        host = self.here.path("host.kiln")
        self.here.kiln("--no-daemon", "run", "softmax", "--set", "M=4", "N=64", "--capture", host)
        self.assertTrue(self.here.json("replay", host)["same"])
        elsewhere = self.here.json("replay", host, "--device", "emu:gfx942", status=1)["error"]
        self.assertEqual(elsewhere["data"]["code"], "unsupported")
        self.assertIn("make the capture of a launch there", elsewhere["message"])
        refused = self.here.kiln("replay", host, "--check", "races", status=2)  # as nothing there looks for races
        self.assertIn("--check is of an emulated card, and the replay runs on host", refused.stderr)
        os.chmod(host, 0o666)
        answer = self.here.json("replay", host, status=1)
        self.assertEqual(answer["error"]["data"]["code"], "permission_denied")


class Protocol(unittest.TestCase):
    """The daemon's side: files by descriptor, beside results and errors; and the Python client."""

    @classmethod
    def setUpClass(cls):
        cls.planted = Installation(ONE_BLOCK_TOO_FAR)
        cls.service = Service()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()
        shutil.rmtree(cls.planted.folder)

    def prepare(self, raw, program="softmax", bindings=None, device="emu:gfx942"):
        size = 1 << 16
        buffer = raw.call("buffer.alloc", {"size": size})["result"]["buffer"]
        os.close(raw.fds.pop())
        return {"program": program, "set": bindings or {"M": 4, "N": 100}, "device": device,
                "args": {"X": {"buffer": buffer}, "Y": {"buffer": buffer, "offset": 4096}}}

    def test_a_result_with_its_capture(self):
        raw = self.service.connect()
        launch = self.prepare(raw)
        for method in ("kernel.launch", "kernel.verify", "kernel.profile"):
            answer = raw.call(method, dict(launch, capture="always"))
            said = answer["result"]["capture"]
            self.assertEqual(said["fd"], 0)
            fd = raw.fds.pop()
            self.assertEqual(os.fstat(fd).st_size, said["bytes"])
            path = self.planted.path(method)
            with open(path, "wb") as file:
                file.write(os.pread(fd, said["bytes"], 0))
            with self.assertRaises(OSError):
                os.pwrite(fd, b"x", 0)  # sealed
            os.close(fd)
            self.assertTrue(self.planted.json("replay", path)["same"])
            self.assertNotIn("capture", raw.call(method, dict(launch, capture="fault"))["result"])
        raw.close()

    def test_an_error_with_its_capture(self):
        raw = self.service.connect()
        launch = self.prepare(raw)
        answer = raw.call("kernel.launch", dict(launch, switches={"budget": "3"}, capture="fault"))
        data = answer["error"]["data"]
        self.assertEqual(data["code"], "launch_failed")
        fd = raw.fds.pop()
        path = self.planted.path("budget.kiln")
        with open(path, "wb") as file:
            file.write(os.pread(fd, data["capture"]["bytes"], 0))
        os.close(fd)
        self.assertTrue(self.planted.json("replay", path)["same"])
        batch = [{"jsonrpc": "2.0", "id": i, "method": "kernel.launch", "params": dict(launch, switches={"budget": "3"}, capture="fault")} for i in (1, 2)]
        raw.send(batch)
        answers = raw.answer()
        self.assertEqual(len(raw.fds), 2)
        self.assertEqual(len([a for a in answers if "capture" in a["error"]["data"]]), 2)
        for fd in raw.fds:
            os.close(fd)
        raw.fds = []
        raw.close()

    def test_mistakes(self):
        raw = self.service.connect()
        launch = self.prepare(raw)
        event = raw.call("event.export", {"device": "emu:gfx942"})["result"]["event"]
        for wrong in ({"capture": "sometimes"}, {"capture": 1}, {"capture": "always", "event": event}, {"capture": "always", "seeds": {"X": -1}}):
            self.assertEqual(raw.call("kernel.launch", dict(launch, **wrong))["error"]["data"]["code"], "invalid_argument", wrong)
        raw.close()

    def test_the_python_client(self):
        script = self.planted.path("script.py")
        with open(script, "w") as file:
            file.write("""
import sys
sys.path.insert(0, %r)
import kiln
k = kiln.connect(%r, auto_start=False)
a, b, c = k.empty((128, 128), "f16"), k.empty((128, 128), "f16"), k.empty((128, 128), "f16")
kernel = k.compile("gemm", target="gfx942", M=128, N=128, K=128, dtype="f16")
try:
    kernel(device="emu:gfx942", A=a, B=b, C=c)
except kiln.errors.LaunchFailed as error:
    print(error.message)
""" % (os.path.join(ROOT, "api", "python"), self.planted.path("run/kiln.sock")))
        daemon = subprocess.Popen([os.path.join(self.planted.bin, "kilnd"), "--socket", self.planted.path("run/kiln.sock"), "--ready-fd", "1"],
                                  env=self.planted.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.assertEqual(daemon.stdout.readline().strip(), "ready")
            got = self.planted.json("capture", "--out", self.planted.path("python.kiln"), "--", "true", status=1)
            self.assertIn("nothing was captured", got["error"]["message"])
            done = self.planted.kiln("capture", "--out", self.planted.path("python.kiln"), "--", sys.executable, script)
            self.assertIn("out-of-range store", done.stdout)
            answer = self.planted.json("replay", self.planted.path("python.kiln"))
            self.assertTrue(answer["same"], answer)
            self.assertTrue(answer["fault"]["same"])
            # The C++ client, as the command line uses it.
            self.planted.json("capture", "--out", self.planted.path("client.kiln"), "--", os.path.join(self.planted.bin, "kiln"), "--socket",
                              self.planted.path("run/kiln.sock"), "--no-start", "run", *GEMM)
            self.assertTrue(self.planted.json("replay", self.planted.path("client.kiln"))["same"])
        finally:
            daemon.terminate()
            daemon.wait()
            daemon.stdout.close()


if __name__ == "__main__":
    unittest.main()
