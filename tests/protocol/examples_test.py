"""Every example runs, and is short."""

import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, Service

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
ENVIRONMENT = {"GOCACHE": "/tmp/kiln-go-cache-%d" % os.getuid(), "GO111MODULE": "off", "GOFLAGS": ""}


class Examples(unittest.TestCase):
    def test_short(self):
        files = [f for f in glob.glob(os.path.join(ROOT, "examples", "**"), recursive=True) if os.path.isfile(f) and "__pycache__" not in f]
        self.assertGreaterEqual(len(files), 3)
        for file in files:
            with open(file) as text:
                self.assertLessEqual(len(text.readlines()), 80, file)

    def test_go(self):
        go = shutil.which("go") or "/usr/lib/go/bin/go"
        with Service() as service:
            done = subprocess.run([go, "run", os.path.join(ROOT, "examples/go/gemm.go"), service.socket], capture_output=True, text=True,
                                  env=dict(os.environ, **ENVIRONMENT))
            self.assertEqual((done.returncode, done.stdout), (0, "gemm: every element is right\n"), done.stderr)

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_hip_ipc(self):
        with open(os.path.join(ROOT, "examples/hip_ipc/gemm.cpp")) as file:
            command = re.search(r"^//   (B=.*)$", file.read(), re.M).group(1)
        with Service() as service:
            environment = dict(os.environ, KILN_SOCKET=service.socket, KILN_CACHE_DIR=service.cache, KILN_BUILD=os.path.dirname(BIN))
            done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"gemm 192x160x256 on emu:gfx942 in memory of pid \d+: every element is right\n$")
            # The program asked this daemon, not one of its own, and left nothing there.
            self.assertEqual(service.kiln("--json", "stats", check=0).stdout.count('"launches": 1'), 1)

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_columns(self):
        with Service() as service:
            environment = dict(os.environ, KILN_SOCKET=service.socket, KILN_CACHE_DIR=service.cache, KILN=os.path.join(BIN, "kiln"))
            done = subprocess.run([os.path.join(ROOT, "examples/columns/columns.sh")], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cycles = {m[0]: int(m[1]) for m in re.findall(r"^(.*\S) +(\d+) +\d+   ", done.stdout, re.M)}
        self.assertEqual(cycles["columns of f32[32,32], pad:4"], 0)
        self.assertEqual(cycles["columns of f32[32,32], auto"], 0)
        self.assertGreater(cycles["columns of f32[32,32], row_major"], 0)
        self.assertGreater(cycles["gemm operands, pad:2"], 0)   # padding by one element is not enough there
        self.assertEqual(cycles["gemm operands, auto"], 0)
        self.assertIn("--layout As=auto", done.stdout)

    def test_quickstart(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "examples/quickstart.py")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("second pass: 0 compiles", done.stdout)
        self.assertEqual(len(re.findall(r" ok$", done.stdout, re.M)), 10)
        self.assertEqual(len(re.findall(r" gfx\w+ +vgpr", done.stdout)), 40)


if __name__ == "__main__":
    unittest.main()
