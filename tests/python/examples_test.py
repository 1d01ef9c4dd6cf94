"""The examples of examples/authors: as they stand, and at small sizes on both devices against NumPy."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase
from service import ROOT

import numpy

import kiln.language as tl

FOLDER = os.path.join(ROOT, "examples", "authors")
TESTED = {"attention", "matmul", "padding"}


class Examples(LanguageCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def loaded(self, name, **numbers):
        """The example as a module, with other numbers at its top."""
        with open(os.path.join(FOLDER, name + ".py")) as file:
            text = file.read()
        for word, value in numbers.items():
            text, count = re.subn(r"^%s = .*$" % word, "%s = %s" % (word, value), text, flags=re.M)
            self.assertEqual(count, 1, word)
        path = os.path.join(self.folder.name, name + ".py")
        with open(path, "w") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location("example_" + name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_all_are_tested(self):
        self.assertEqual({f[:-3] for f in os.listdir(FOLDER) if f.endswith(".py")}, TESTED)

    def test_matmul_as_a_script(self):
        environment = dict(os.environ, KILN_SOCKET=self.service.socket, PYTHONPATH=os.path.join(ROOT, "api", "python"))
        command = [sys.executable, os.path.join(FOLDER, "matmul.py"), "host"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = re.fullmatch(r"\d+\.\d{3} ms on host\nlargest error against NumPy: (\S+)\ngrid: (.*)\n", done.stdout)
        self.assertIsNotNone(said, done.stdout)
        self.assertLess(float(said.group(1)), 1e-3)
        self.assertIn("32", said.group(2))

    def test_matmul(self):
        sizes = 96, 70, 64
        module = self.loaded("matmul", **{"M, N, K": "%d, %d, %d" % sizes})
        a, b = self.normals(96, 64), self.normals(64, 70)
        for device in DEVICES:
            c = numpy.zeros((96, 70), "f4")
            module.matmul(a, b, c, device=device)
            numpy.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)

    def test_padding(self):
        module = self.loaded("padding", N=70)
        x = self.normals(70, 70)
        for device in DEVICES:
            for kernel in (module.plain, module.padded):
                y = numpy.zeros_like(x)
                kernel(x, y, device=device)
                numpy.testing.assert_array_equal(y, x.T)
        conflicts = [tl.compile(k, device="emu:gfx942").profile()["SQ_LDS_BANK_CONFLICT"]
                     for k in (module.plain, module.padded)]
        self.assertGreater(conflicts[0], conflicts[1])
        self.assertEqual(conflicts[1], 0)

    def test_attention(self):
        module = self.loaded("attention")
        for length, devices in ((70, DEVICES), (1100, ("host",))):  # both sides of its choice of tiles
            q, k, v = (self.normals(2, length, 64, dtype="float16") for _ in range(3))
            s = q.astype("f4") @ k.astype("f4").transpose(0, 2, 1) / 8
            p = numpy.exp(s - s.max(-1, keepdims=True))
            wanted = p / p.sum(-1, keepdims=True) @ v.astype("f4")
            for device in devices:
                for kernel in (module.fixed, module.attention):
                    o = numpy.zeros_like(q)
                    kernel(q, k, v, o, device=device)
                    numpy.testing.assert_allclose(o, wanted, rtol=2e-3, atol=2e-3)
        for target in ("gfx90a", "gfx942", "gfx950", "gfx1100"):
            for kernel in (module.fixed, module.attention):
                self.assertTrue(tl.compile(kernel, module.ARGS, target=target, seq=2048).key)


if __name__ == "__main__":
    unittest.main()
