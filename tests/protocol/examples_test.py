"""Every example runs, and is short."""

import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, Service

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

    def test_quickstart(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "examples/quickstart.py")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("second pass: 0 compiles", done.stdout)
        self.assertEqual(len(re.findall(r" ok$", done.stdout, re.M)), 10)
        self.assertEqual(len(re.findall(r" gfx\w+ +vgpr", done.stdout)), 40)


if __name__ == "__main__":
    unittest.main()
