"""Random programs: each kernel against the same text in plain Python, and accesses of matrices against NumPy.

A failure prints its seed; `KILN_SEED=seed python3 tests/python/language_programs_test.py` runs that program alone.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import LanguageCase

import numpy

import kiln.language as tl
import random_accesses
import random_programs

BLOCKS, N = 3, 3
COUNTS = {"host": 100, "emu:gfx942": 16}
REFUSED = ("an index expression may leave 64 bits",  # whole numbers are places, which the engine proves to be in range
           "is never written",                       # of a tile in a branch that no block of this grid takes
           "is read before anything is written")     # of a tile in a loop that never runs

HEADS = {"language": "import kiln.language as tl\n\ndecorated = tl.jit\n\n\n",
         "triton": "from kiln import triton\nimport kiln.triton.language as tl\n\n\n"}


FIRST_SEED = 11084000


class ProgramCase(LanguageCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kiln-programs-")
        self.addCleanup(shutil.rmtree, self.folder)
        given = os.environ.get("KILN_SEED")
        self.first = int(given) if given else FIRST_SEED
        self.alone = given is not None

    def seeds(self, device):
        return [self.first] if self.alone else range(self.first, self.first + COUNTS[device])

    def module(self, name, text):
        path = os.path.join(self.folder, name + ".py")
        with open(path, "w") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def told(self, seed, text):
        return "seed %d; again: KILN_SEED=%d python3 tests/python/language_programs_test.py\n%s" % (seed, seed, text)

    def enough(self, ran, device):
        if not self.alone:
            self.assertGreater(ran, COUNTS[device] * 0.6, "too many programs are refused, from seed %d" % self.first)


class Numbers(ProgramCase):
    def check(self, device):
        texts = {seed: random_programs.Writer(seed).text() for seed in self.seeds(device)}
        module = self.module("numbers", HEADS["language"] + "".join(texts.values()))
        ran = 0
        for seed, text in texts.items():
            x, y = numpy.array([5, -2, 7], "i4"), numpy.zeros(BLOCKS * random_programs.RESULTS, "i4")
            try:
                wanted = random_programs.run_in_python(text, seed, x.tolist(), BLOCKS, N)
            except OverflowError:
                ran += 1                        # nothing to compare
                continue
            kernel = tl.kernel(getattr(module, "kernel_%d" % seed).kernel_function)
            try:
                kernel[(BLOCKS,)](x, y, N, device=device)
            except tl.KernelError as error:
                self.assertTrue(any(part in str(error) for part in REFUSED), "%s\n%s" % (error, self.told(seed, text)))
                continue
            ran += 1
            self.assertEqual(y.tolist(), wanted, self.told(seed, text))
        self.enough(ran, device)

    def test_on_the_host(self):
        self.check("host")

    def test_on_a_card(self):
        self.check("emu:gfx942")


class Matrices(ProgramCase):
    def check(self, device):
        accesses = {seed: random_accesses.Access(seed) for seed in self.seeds(device)}
        module = self.module("matrices", HEADS["triton"] + "".join(a.text() for a in accesses.values()))
        ran = 0
        for seed, access in accesses.items():
            x = numpy.random.default_rng(seed).integers(-9, 10, access.elements).astype("f4")
            y, z = numpy.zeros(access.results, "f4"), numpy.zeros(access.elements, "f4")
            wanted_y, wanted_z = access.wanted(x)
            try:
                getattr(module, "kernel_%d" % seed)[(random_accesses.GRID,) * 2](x, y, z, device=device)
            except tl.KernelError as error:
                self.assertIn("write the same element", str(error), self.told(seed, access.text()))
                continue
            ran += 1
            for found, wanted in ((y, wanted_y), (z, wanted_z)):
                known = ~numpy.isnan(wanted)
                numpy.testing.assert_array_equal(found[known], wanted[known], self.told(seed, access.text()))
        self.enough(ran, device)

    def test_on_the_host(self):
        self.check("host")

    def test_on_a_card(self):
        self.check("emu:gfx942")


if __name__ == "__main__":
    unittest.main()
