"""A kernel is what its source was when it was imported and what its names mean when it is called."""

import importlib
import os
import sys
import tempfile
import textwrap
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.language as tl
import kiln.triton.language as ttl
from kiln import tilelang, triton
import kiln.tilelang.language as T

SCALE, TYPE, SETTINGS = 2.0, ttl.float16, {"add": 1.0, "steps": [1.0, 2.0]}


class Config:
    factor = 2.0


@triton.jit
def by_scale(x):
    return x * SCALE


def by_two(x):
    return x * 2


def by_three(x):
    return x * 3


chosen = by_two


@triton.jit
def of_helper(x, y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), by_scale(ttl.load(x + ttl.arange(0, B))))


@triton.jit
def of_function(x, y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), chosen(ttl.load(x + ttl.arange(0, B))))


@triton.jit
def of_type(x, y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), ttl.load(x + ttl.arange(0, B)).to(TYPE).to(ttl.float32))


@triton.jit
def of_settings(x, y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), ttl.load(x + ttl.arange(0, B)) + SETTINGS["add"] + SETTINGS["steps"][1])


@triton.jit
def of_class(x, y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), ttl.load(x + ttl.arange(0, B)) * Config.factor)


constants = types.ModuleType("constants")
constants.OFFSET = 1.0


@triton.jit
def of_module(x, y, B: ttl.constexpr):
    ttl.store(y + ttl.arange(0, B), ttl.load(x + ttl.arange(0, B)) + constants.OFFSET)


def kernel_around(amount):
    @tl.kernel
    def inner(X: tl.Buffer[8, tl.float32], Y: tl.Buffer[8, tl.float32]):
        Y[:] = X[:] * amount

    def change(to):
        nonlocal amount
        amount = to

    return inner, change


ADDED = 1.0


@T.macro
def added(x):
    return x + ADDED


@tilelang.jit
def by_function(n):
    width = n * int(SCALE)

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((width,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = added(X[i]) * SCALE

    return main


@tilelang.jit
def by_itself(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            Y[i] = added(X[i]) * SCALE


class Names(LanguageCase):
    def gives(self, kernel, wanted, device):
        x, y = self.x, numpy.zeros(8, "f4")
        kernel[(1,)](x, y, B=8, device=device)
        numpy.testing.assert_array_equal(y, wanted)

    def setUp(self):
        self.x = (numpy.arange(8) + 0.0001).astype("f4")

    def changed(self, name, value):
        self.addCleanup(globals().__setitem__, name, globals()[name])
        globals()[name] = value

    def test_of_a_helper(self):
        for device in DEVICES:
            for scale in (2.0, 3.0, 2.0, numpy.float32(5), numpy.float32(6)):
                self.changed("SCALE", scale)
                self.gives(of_helper, self.x * numpy.float32(scale), device)

    def test_functions_and_types(self):
        for device in DEVICES:
            for function, factor in ((by_two, 2), (by_three, 3), (by_two, 2)):
                self.changed("chosen", function)
                self.gives(of_function, self.x * factor, device)
            for dtype, wanted in ((ttl.float16, self.x.astype("f2").astype("f4")), (ttl.float32, self.x)):
                self.changed("TYPE", dtype)
                self.gives(of_type, wanted, device)

    def test_what_is_held_by_containers_modules_and_classes(self):
        for device in DEVICES:
            for value in (1.0, 5.0):
                SETTINGS["add"] = SETTINGS["steps"][1] = constants.OFFSET = Config.factor = value
                self.gives(of_settings, self.x + numpy.float32(value) + numpy.float32(value), device)
                self.gives(of_module, self.x + numpy.float32(value), device)
                self.gives(of_class, self.x * numpy.float32(value), device)

    def test_of_the_function_around(self):
        inner, change = kernel_around(2.0)
        for device in DEVICES:
            for amount in (2.0, 4.0):
                change(amount)
                y = numpy.zeros(8, "f4")
                inner(self.x, y, device=device)
                numpy.testing.assert_array_equal(y, self.x * numpy.float32(amount))

    def test_in_tilelangs_style(self):
        for device in DEVICES:
            for scale, more in ((2.0, 1.0), (3.0, 1.0), (3.0, 4.0), (2.0, 1.0)):
                self.changed("SCALE", scale)
                self.changed("ADDED", more)
                wanted = (self.x + numpy.float32(more)) * numpy.float32(scale)
                y = numpy.zeros(8 * int(scale), "f4")
                by_function(8, device=device)(self.x, y)
                numpy.testing.assert_array_equal(y[:8], wanted)
                y = numpy.zeros(8, "f4")
                by_itself(self.x, y, device=device)
                numpy.testing.assert_array_equal(y, wanted)
                self.assertIs(by_function(8, device=device), by_function(8, device=device))

    def test_what_did_not_change_is_read_once(self):
        self.changed("SCALE", 11.0)
        self.gives(of_helper, self.x * 11, "host")
        count = len(of_helper._programs)
        self.changed("SCALE", 12.0)
        self.gives(of_helper, self.x * 12, "host")
        self.assertEqual(len(of_helper._programs), count + 1)
        self.changed("SCALE", 11.0)
        globals()["unrelated"] = 3
        self.gives(of_helper, self.x * 11, "host")
        self.assertEqual(len(of_helper._programs), count + 1)


MODULE = """
    from kiln import tilelang, triton
    import kiln.language as tl
    import kiln.tilelang.language as T
    import kiln.triton.language as ttl
    import edited_helpers

    def plain(x):
        return x + 1.0

    @triton.jit
    def one(x, y):
        ttl.store(y, plain(1.0 + ttl.load(x)))

    @triton.jit
    def two(x, y):
        ttl.store(y, edited_helpers.plain(ttl.load(x)))

    @tilelang.jit
    def three(n):
        @T.prim_func
        def main(Y: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    Y[i] = 3.0
        return main
"""


class Sources(LanguageCase):
    def write(self, name, text, stamp):
        path = os.path.join(self.folder.name, name + ".py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        os.utime(path, ns=(stamp, stamp))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        sys.path.insert(0, self.folder.name)
        self.addCleanup(sys.path.remove, self.folder.name)
        self.addCleanup(sys.modules.pop, "edited", None)
        self.addCleanup(sys.modules.pop, "edited_helpers", None)
        self.write("edited", MODULE, 10 ** 18)
        self.write("edited_helpers", "def plain(x):\n    return x + 2.0\n", 10 ** 18)
        importlib.invalidate_caches()
        self.module = importlib.import_module("edited")

    def ran(self, kernel, device):
        y = numpy.zeros(1, "f4")
        kernel[(1,)](numpy.zeros(1, "f4"), y, device=device)
        return y[0]

    def edit(self):
        """Lines in front, and other bodies."""
        changed = MODULE.replace("    def plain(x):\n        return x + 1.0", "    def before(x):\n        return 0\n\n"
                                 "    def plain(x):\n        return x + 7.0").replace("Y[i] = 3.0", "Y[i] = 9.0")
        self.assertNotEqual(changed, MODULE)
        self.write("edited", changed, 2 * 10 ** 18)
        self.write("edited_helpers", "# a line\n\ndef plain(x):\n    return x + 8.0\n", 2 * 10 ** 18)

    def test_an_edited_file_is_what_was_imported(self):
        self.edit()
        for device in DEVICES:
            self.assertEqual(self.ran(self.module.one, device), 2.0)
            self.assertEqual(self.ran(self.module.two, device), 2.0)
            y = numpy.zeros(4, "f4")
            self.module.three(4, device=device)(y)
            numpy.testing.assert_array_equal(y, [3.0] * 4)

    def test_imported_anew_it_is_what_it_is_now(self):
        self.assertEqual(self.ran(self.module.one, "host"), 2.0)
        self.edit()
        importlib.reload(sys.modules["edited_helpers"])
        importlib.reload(self.module)
        for device in DEVICES:
            self.assertEqual(self.ran(self.module.one, device), 8.0)
            self.assertEqual(self.ran(self.module.two, device), 8.0)
            y = numpy.zeros(4, "f4")
            self.module.three(4, device=device)(y)
            numpy.testing.assert_array_equal(y, [9.0] * 4)

    def test_lines_are_those_of_the_import(self):
        self.write("edited", "from kiln import triton\nimport kiln.triton.language as ttl\n@triton.jit\n"
                   "def one(x, y):\n    pass\n    ttl.stor(y, 1.0)\n", 3 * 10 ** 18)
        for first, text in ((None, None), (6, "    pass\n"), (8, "    pass\n\n    # more lines, the same code\n")):
            if text is not None:
                with open(self.module.__file__) as file:
                    said = file.read()
                self.write("edited", said.replace("    pass\n", text), (first + 3) * 10 ** 18)
            importlib.reload(self.module)
            with self.assertRaises(tl.KernelError) as caught:
                self.ran(self.module.one, "host")
            self.assertEqual((caught.exception.line, caught.exception.column), (first or 6, 5), str(caught.exception))
            self.assertIn("ttl.stor(y, 1.0)", str(caught.exception))

    def test_another_function_where_one_was_is_an_error(self):
        made = {}
        path = os.path.join(self.folder.name, "loose.py")
        text = "def first(y):\n    return 1.0\n"
        with open(path, "w") as file:
            file.write(text.replace("first", "other"))
        exec(compile(text, path, "exec"), made)
        with self.assertRaisesRegex(tl.KernelError, "another function at line 1.*\n.*import it again"):
            tl.compile(tl.kernel(made["first"]), ("f32[4]",))


if __name__ == "__main__":
    unittest.main()
