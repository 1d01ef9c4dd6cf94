"""What authors see: tracebacks that begin and end at their own lines, reports as tables, hints that can be copied."""

import json
import os
import subprocess
import sys
import tempfile
import traceback
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import LanguageCase
from service import ROOT

import numpy

from kiln import errors, tilelang, triton
import kiln.language as tl
import kiln.tilelang.language as T

WRONG = '''import numpy
from kiln import tilelang, triton
import kiln.language as tl
import kiln.tilelang.language as T
import kiln.triton.language as ttl

@tl.kernel
def own(X):
    X[0:4] = tl.lod(X[0:4])

@triton.jit
def of_triton(x, B: ttl.constexpr):
    ttl.store(x + ttl.arange(0, B), ttl.lod(x))

@triton.autotune(configs=[triton.Config({"B": 3}), triton.Config({"B": 5})], key=[])
@triton.jit
def of_tuned(x, B: ttl.constexpr):
    ttl.store(x + ttl.arange(0, B), ttl.lod(x))

@tilelang.jit
def of_tilelang(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=64) as bx:
            T.coppy(X, X)
    return main

x = numpy.zeros(8, "float32")

def own_call():
    own(x)

def with_grid():
    of_triton[(1,)](x, B=8)

def tuned_call():
    of_tuned[(1,)](x)

def ahead():
    tl.compile(own, ("f32[8]",))

def wrong_array():
    tl.compile(right, ("f32[8]",))(numpy.zeros(9, "float32"))

def tile_call():
    of_tilelang(8)

@tl.kernel
def right(X):
    X[0:4] = X[0:4] * 2

if __name__ == "__main__":
    import sys
    globals()[sys.argv[1]]()  # the author's
'''

PACKAGES = os.path.join(ROOT, "api", "python")
CALLS = ("own_call", "with_grid", "tuned_call", "ahead", "wrong_array", "tile_call")


class Tracebacks(LanguageCase):
    def traceback(self, call, **environment):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(WRONG)
            environment = dict(os.environ, KILN_SOCKET=self.service.socket, PYTHONPATH=PACKAGES, **environment)
            done = subprocess.run([sys.executable, path, call], env=environment, capture_output=True, text=True,
                                  timeout=100)
        self.assertEqual(done.returncode, 1)
        return [line for line in done.stderr.splitlines() if line.startswith('  File "')], done.stderr

    def test_the_author_s_lines_and_the_mistake(self):
        for call in CALLS:
            with self.subTest(call):
                frames, said = self.traceback(call)
                files = [os.path.basename(f.split('"')[1]) for f in frames]
                self.assertEqual(files, ["wrong.py", "wrong.py", "_errors.py"], said)
                self.assertIn("in " + call, frames[1])
                self.assertNotIn("The above exception", said)
                self.assertNotIn("During handling", said)
                located = r"kiln\.language\.KernelError: .*wrong\.py:\d+:\d+: error"
                self.assertRegex(said, "InvalidArgument: " if call == "wrong_array" else located)

    def test_all_of_it_where_it_is_asked_for(self):
        frames, _ = self.traceback("own_call", KILN_TRACEBACK="1")
        self.assertGreater(len(frames), 5)

    def test_the_author_s_functions_between_stay(self):
        def grid(meta):
            raise errors.InvalidArgument("no such grid")

        @tl.kernel
        def copied(X):
            X[0:4] = X[0:4]

        names = []
        try:
            copied[grid](numpy.zeros(8, "f4"))
        except errors.InvalidArgument as error:
            names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        self.assertEqual(names[-1:], ["grid"])
        self.assertNotIn("bind", names)


class Prompts(unittest.TestCase):
    def said(self, *words, text=None):
        environment = dict(os.environ, PYTHONPATH=PACKAGES)
        return subprocess.run([sys.executable, *words], env=environment, input=text, capture_output=True, text=True,
                              timeout=100).stderr

    def test_a_kernel_that_was_typed(self):
        typed = "import numpy, kiln.language as tl\n@tl.kernel\ndef f(X):\n    X[0] = 1\n\nf(numpy.zeros(3, 'f4'))\n"
        for words, text, why in ((["-i"], typed, "typed at Python's prompt"),
                                 (["-c", typed], None, "text that Python was given")):
            said = self.said(*words, text=text)
            self.assertIn("the source of f cannot be read: ", said)
            self.assertIn(why, said)
            self.assertIn("from kernels import f", said)


class Hints(LanguageCase):
    def test_types_that_are_missing(self):
        @tl.kernel
        def moved(X, Y, B: tl.constexpr):
            i = tl.program_id(0)
            Y[i * B:(i + 1) * B] = X[i * B:(i + 1) * B]

        for call in (moved.explain, lambda: tl.compile(moved)):
            with self.assertRaises(tl.KernelError) as caught:
                call()
            self.assertIn("parameters X, Y, B", str(caught.exception))
            example = caught.exception.hint.partition(", where")[0]
            self.assertTrue(eval(example, {"tl": tl, "moved": moved}).key)
        self.assertEqual(moved.explain("f32[100]", "f32[100]", B=32)["grid"][0]["extent"], "ceildiv(X_0, 32)")

    def test_tilelang_s_sizes(self):
        @tilelang.jit
        def made(rows):
            @T.prim_func
            def main(X: T.Tensor((rows, 16), "float32"), Y: T.Tensor((rows, 16), "float32")):
                with T.Kernel(T.ceildiv(rows, 16), threads=64) as by:
                    tile = T.alloc_fragment((16, 16), "float32")
                    T.copy(X[by * 16, 0], tile)
                    T.copy(tile, Y[by * 16, 0])

            return main

        with self.assertRaisesRegex(errors.InvalidArgument, r"sizes m are known: call it on arrays .*main\(X, Y\)"):
            made(T.dynamic("m")).explain()

    def test_texts_of_what_runs(self):
        @tl.kernel
        def told(X):
            i = tl.program_id(0)
            print(f"block {i} has {X[i]}")

        with self.assertRaises(tl.KernelError) as caught:
            tl.compile(told, ("f32[4]",))
        self.assertIn("an f-string makes a text of i, whose value only the running kernel knows", str(caught.exception))
        self.assertIn('print("block has", i, X[i])', caught.exception.hint)


class Tables(LanguageCase):
    def test_a_check(self):
        @tl.kernel
        def doubled(X, Y):
            i = tl.program_id(0)
            Y[i * 32:(i + 1) * 32] = X[i * 32:(i + 1) * 32] * 2

        compiled = tl.compile(doubled, ("f32[100]", "f32[100]"))
        for check, title in ((compiled.check(), "equal within the tolerance"),
                             (compiled.check(lambda x: 2 * x), "equal"),
                             (compiled.check(lambda x: 3 * x), "DIFFERENT")):
            lines = repr(check).splitlines()
            self.assertTrue(lines[0].startswith(title))
            self.assertRegex(lines[2], r"^  Y +100 ")
            self.assertEqual(json.loads(json.dumps(check))["tensors"][0]["name"], "Y")  # a dict still
            self.assertIn("<table>", check._repr_html_())

    def test_what_was_measured(self):
        @tl.autotune(configs=[tl.Config(B=32), tl.Config(B=64)], rounds=1)
        @tl.kernel
        def tripled(X, Y, B: tl.constexpr):
            i = tl.program_id(0)
            Y[i * B:(i + 1) * B] = X[i * B:(i + 1) * B] * 3

        x = self.normals(200)
        for device, head in (("host", "ms (median)"), ("emu:gfx942", "counted cycles")):
            tripled(x, x.copy(), device=device)
            text = str(tripled.tuning.last)
            self.assertIn("tripled on %s, ranked by" % device, text)
            self.assertIn("best " + tripled.tuning.last["winner"], text)
            self.assertIn(head, text)
            self.assertRegex(text, r"B=64 .*(best|equal|slower)")
            self.assertIsInstance(tripled.tuning.last, dict)

    def test_no_tiles_in_lds(self):
        @tl.kernel
        def moved(X, Y):
            i = tl.program_id(0)
            Y[i * 32:(i + 1) * 32] = X[i * 32:(i + 1) * 32]

        for target, said in (("gfx942", "no shared tiles"), ("host", "host has no LDS")):
            maps = tl.compile(moved, ("f32[100]", "f32[100]"), target=target).explain().lds_maps()
            self.assertEqual(list(maps), [])
            self.assertIn(said, str(maps))
            self.assertIn(said, maps._repr_html_())


if __name__ == "__main__":
    unittest.main()
