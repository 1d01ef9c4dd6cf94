"""The built-in programs that are written in Python: kernels/programs has what their sources become, and they run as kernels."""

import glob
import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase
from service import ROOT

import numpy

import kiln.errors
import kiln.language as tl

SOURCES = sorted(glob.glob(os.path.join(ROOT, "kernels", "sources", "*.py")))


def kernel_of(name):
    path = os.path.join(ROOT, "kernels", "sources", name + ".py")
    spec = importlib.util.spec_from_file_location("kiln_source_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


class BuiltIns(LanguageCase):
    def test_programs_are_what_their_sources_become(self):
        self.assertGreaterEqual(len(SOURCES), 3)
        for source in SOURCES:
            name = os.path.splitext(os.path.basename(source))[0]
            program = os.path.join(ROOT, "kernels", "programs", name + ".json")
            for target in ("host", "gfx942", "gfx1100"):  # a built-in serves every target
                shown = self.service.kiln("show", source, "--target", target).stdout
                with open(program, encoding="utf-8") as file:
                    self.assertEqual(file.read(), shown,
                                     "out of date: kiln show kernels/sources/%s.py > kernels/programs/%s.json" % (name, name))

    def test_softmax(self):
        softmax = kernel_of("softmax")
        for dtype, tolerance in (("float32", 1e-6), ("float16", 1e-3)):
            x = self.normals(7, 300, dtype=dtype)
            e = numpy.exp(x.astype("f4") - x.astype("f4").max(1, keepdims=True))
            for device in DEVICES:
                y = numpy.zeros_like(x)
                softmax(x, y, device=device)
                numpy.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=0, atol=tolerance)

    def test_a_parameter_that_an_option_brings(self):
        rmsnorm = kernel_of("rmsnorm")
        x, w = self.normals(9, 130), self.normals(130)
        for eps in (None, 0.5):
            wanted = x / numpy.sqrt((x * x).mean(1, keepdims=True) + (1e-5 if eps is None else eps)) * w
            for device in DEVICES:
                y = numpy.zeros_like(x)
                rmsnorm(x, w, eps, y, device=device)
                numpy.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)

    def test_operands_have_the_option_s_type(self):
        softmax = kernel_of("softmax")
        with self.assertRaisesRegex(kiln.errors.KilnError, "float16|f16"):
            softmax(self.normals(4, 64), numpy.zeros((4, 64), "float16"))
        with self.assertRaisesRegex(kiln.errors.KilnError, "dtype"):
            softmax(self.normals(4, 64, dtype="float64"), numpy.zeros((4, 64), "float64"))

    def test_options_and_tunables_are_set_by_name(self):
        attention = kernel_of("flash_attention")
        q = self.normals(1, 2, 70, 32, dtype="float16")
        s = q.astype("f4") @ q.astype("f4").swapaxes(-1, -2) / numpy.sqrt(32)
        s = numpy.where(numpy.tri(70, dtype=bool), s, -numpy.inf)
        p = numpy.exp(s - s.max(-1, keepdims=True))
        o = numpy.zeros_like(q)
        specs = {"Q": q, "K": q, "V": q, "O": o}
        for device in DEVICES:
            compiled = tl.compile(attention, specs, device=device, causal=True, BM=16)
            compiled(q, q, q, None, o)
            numpy.testing.assert_allclose(o, p / p.sum(-1, keepdims=True) @ q.astype("f4"), rtol=2e-3, atol=2e-3)


if __name__ == "__main__":
    unittest.main()
