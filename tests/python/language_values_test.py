"""Python's meaning of values in kernels: parts of one tile, operators of Python's own, what no kernel can mean."""

import dataclasses
import importlib.util
import os
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from language_test import DEVICES, LanguageCase

import numpy

import kiln.errors
import kiln.language as tl


@tl.kernel(grid=(1,))
def parts_of_one_tile(X, Y):
    t = tl.alloc_shared([32, 32], tl.float32)
    t[:, :] = X[0:32, 0:32]
    t[8:24, :] = t[0:16, :]
    t[1:32, :] += t[0:31, :]
    t[0:16, 0:16] = tl.trans(t[0:16, 0:16])
    t[:, 3] = t[:, 2] + t[5, 5]
    t[4:20, 1:32] = t[3:19, 0:31] + t[4:20, 1:32]
    Y[0:32, 0:32] = t


@tl.kernel(grid=(1,))
def elements_that_a_tile_chooses(X, P, Y):
    t = tl.alloc_shared([64], tl.float32)
    p = tl.alloc_shared([64], tl.int32)
    t[:] = X[0:64]
    p[:] = P[0:64]
    t[1:64] = t[0:63]
    t[p] = t[tl.arange(0, 64)] * 2
    p[p] = p + tl.arange(0, 64)
    t[:] = t[tl.minimum(p, 63)] + t[0]
    Y[0:64] = t + p


@tl.kernel(grid=(1,))
def product_with_itself(X, Y):
    a = tl.alloc_fragment([32, 32], tl.float32)
    a[:, :] = X[0:32, 0:32]
    a[:, :] = tl.dot(a, a)
    a[:, :] += tl.dot(tl.trans(a), a)
    Y[0:32, 0:32] = a


@tl.kernel(grid=(1,))
def elements_of_a_parameter(Y):
    o = tl.arange(0, 64)
    Y[o + 1] = Y[o] + Y[3]


COUNTER, LIST = iter(range(10)), [1]


def told(value):
    return str(value)


def grows():
    LIST.append(1)
    return len(LIST)


def plain_helper(pair):
    return pair[0] * 2 + pair[1]


@tl.kernel(grid=(10,))
def decided_by_operators(Y, b: tl.int32):
    i = tl.program_id(0)
    n = 5 if i in (1, 2) else 6
    if i not in (b, 7):
        n += 10
    if i in range(1, 9, 3):
        n += 20
    if (i, 1) == (2, 1) or [b, i] != [3, 4]:
        n += 40
    if (i, b) < (3, 4):
        n += 80
    if any([i > 3, False]) and all((i > 3, b > 2)):
        n += 160
    Y[i, 0] = n
    Y[i, 1] = i and 5
    Y[i, 2] = i or b
    Y[i, 3] = (i > 3 and i) + (not i and b)
    Y[i, 4] = sum((i, b, 1)) + min([i, b]) + max(i, 4) + plain_helper((i, 3))
    for a, c in zip((i, 1), enumerate([b])):
        Y[i, 5] = a + c[1] + len(f"{b is None!r:>7}" + "x")


def of_operators(i, b):
    n = (5 if i in (1, 2) else 6) + 10 * (i not in (b, 7)) + 20 * (i in range(1, 9, 3))
    n += 40 * ((i, 1) == (2, 1) or [b, i] != [3, 4]) + 80 * ((i, b) < (3, 4))
    n += 160 * (any([i > 3, False]) and all((i > 3, b > 2)))
    folded = sum((i, b, 1)) + min([i, b]) + max(i, 4) + 2 * i + 3
    return [n, i and 5, i or b, (i > 3 and i) + (not i and b), folded, i + b + 8]


@tl.kernel(grid=(10,))
def large_numbers(Y: tl.Buffer[10, 5, tl.int64], b: tl.int32):
    i = tl.program_id(0)
    m = 3000000000
    for a in range(i):
        m = m + a * a
    Y[i, 0] = m
    n = 1
    if i > b:
        n = 3000000000
    for a in range(i):
        n = n * 1 + a
    Y[i, 1] = n
    s = 0
    for a in range(i):
        s = s + a * a
    p = 7
    if tl.sum(tl.full([4], s, tl.int32)) > 20:
        p = -3000000000
    Y[i, 2] = p
    q = i * 3000000000
    for a in range(3):
        q = q + a * a
    Y[i, 3] = q
    Y[i, 4] = 4000000000 if i > 2 else 1


def of_large_numbers(i, b):
    squares = sum(a * a for a in range(i))
    return [3000000000 + squares, (3000000000 if i > b else 1) + sum(range(i)), -3000000000 if 4 * squares > 20 else 7,
            i * 3000000000 + 5, 4000000000 if i > 2 else 1]


# What no kernel can mean: the statement, a part of the message, a part of the hint.
WRONG = (
    ("n = len(f'{i}')", "a text of", "print("),
    ("n = len('%s' % (i,))", "a text of", "print("),
    ("n = len(str(i))", "str is a function of Python", "kiln.language"),
    ("n = len(str([i]))", "str is a function of Python", ""),
    ("n = len(repr((i, 1)))", "repr is a function of Python", ""),
    ("n = len('{}'.format((i, 1)))", "format is a function", ""),
    ("n = sorted([i, 1])[0]", "sorted is a function of Python", ""),
    ("n = (i, 3).index(3)", "index is a function of Python", ""),
    ("l = [1]; l.append(5)", "append changes a list in place", "l = l + [x]"),
    ("l = [1]\n    if i > 3:\n        l.append(5)", "append changes a list", "l = l + [x]"),
    ("l = [1]\n    for a in range(3):\n        l.append(a)", "append changes a list", "l = l + [x]"),
    ("d = {1: 2}; d.update(d)", "update changes a dict", ""),
    ("n = next(COUNTER)", "next takes from an iterator", "index"),
    ("n = sum(list(COUNTER))", "list takes from an iterator", ""),
    ("n = grows()", "grows changes something outside", "before the launch"),
    ("n = {i: 1}[2]", "as a key", ""),
    ("n = (1, 2)[i]", "a part of tuple is chosen by a value that runs", "tl.where"),
    ("n = 3 if i is 3 else 4", "is of a value that runs", "=="),
    ("n = i and (1, 2)", "and of a value that runs", "conditions or numbers"),
    ("n = 3 in x[0:4]", "in of", "tl.sum"),
    ("n = int(any(x[0:4]))", "any of", "tl.max"),
    ("n = i in 'abc'", "in of str", "a tuple"),
    ("n = tl.max(*x[0:4])", "* in front of", ""),
    ("n = 1 if x + 0 == y + 0 else 2", "is a pointer", ""),
    ("for a in range(i):\n        n = n * 0 + a\n        n = 3000000000", "3000000000 is no i32", "tl.int64"),
    ("t = tl.zeros([4], tl.int32)\n    t[:] = 3000000000", "3000000000 is no i32", "tl.int64"),
    ("m = 2**70\n    for a in range(i):\n        m = m * 1 + a", "which no integer type holds", "a float"),
    ("assert i < 3, f'{i}'", "a text of", "print("),
    ("n = told(3) + told", "expected a number", ""))


def made(folder, name, body, blocks=10, helpers=""):
    """The kernel with this body, read from a file of its own, and the number of the body's first line."""
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write("import kiln.language as tl\nfrom language_values_test import COUNTER, grows, told\n\n\n"
                   "%s@tl.kernel(grid=(%d,))\ndef k(x, y):\n    i = tl.program_id(0)\n    n = 0\n    %s\n"
                   "    tl.store(y + i, tl.load(x + i) * 0 + n)\n" % (helpers and helpers + "\n\n\n", blocks, body))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.k


class Operators(LanguageCase):
    def test_they_mean_what_python_means(self):
        wanted = [of_operators(i, 4) for i in range(10)]
        for device in DEVICES:
            y = numpy.zeros((10, 6), "i4")
            decided_by_operators(y, 4, device=device)
            numpy.testing.assert_array_equal(y, wanted, device)

    def test_numbers_beyond_32_bits(self):
        wanted = [of_large_numbers(i, 4) for i in range(10)]
        for device in DEVICES:
            y = numpy.zeros((10, 5), "i8")
            large_numbers(y, 4, device=device)
            numpy.testing.assert_array_equal(y, wanted, device)

    def test_what_cannot_be_right_is_told_where_it_stands(self):
        x = numpy.zeros(16, "f4")
        with tempfile.TemporaryDirectory() as folder:
            for number, (body, message, hint) in enumerate(WRONG):
                with self.subTest(body), warnings.catch_warnings():
                    warnings.simplefilter("ignore", SyntaxWarning)  # Python's own, of "i is 3"
                    kernel = made(folder, "wrong_%d" % number, body)
                    with self.assertRaises(tl.KernelError) as caught:
                        kernel(x, x.copy())
                    error = caught.exception
                    self.assertIn(message, error.message)
                    self.assertIn(hint, error.hint)
                    self.assertTrue(error.hint)
                    self.assertGreaterEqual(error.line, 9)
                    self.assertLessEqual(error.line, 9 + body.count("\n"))


class Told:
    """All show themselves alike."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return "<told>"


@dataclasses.dataclass(frozen=True)
class Pair:
    value: int
    twice: int


@tl.kernel
def adds_an_element(X, Y, C: tl.constexpr):
    Y[0:64] = X[0:64] + float(C[500])


@tl.kernel
def adds_a_value(X, Y, C: tl.constexpr):
    Y[0:64] = X[0:64] + C.value


@tl.kernel
def sizes_are_asserted(X, Y):
    assert X.shape[0] != 65, "not %d rows" % 65
    if X.shape[0] > 100:
        assert X.shape[0] != 200
    tl.static_assert(X.shape[0] < 1000, "too many rows")
    if tl.program_id(0) > 5:
        assert X.shape[0] == 3
    Y[0:64] = X[0:64]


class Constants(LanguageCase):
    def test_they_are_told_apart_by_what_they_hold(self):
        x, y = numpy.zeros(64, "f4"), numpy.zeros(64, "f4")
        many = numpy.zeros(2000)
        for value in (0, 9, 3):
            many[500] = value
            adds_an_element(x, y, C=many)
            self.assertEqual(y[0], value)
        one, other = Told(4), Told(5)
        for constant, wanted in ((one, 4), (other, 5), (one, 4), (Pair(1, 2), 1), (Pair(1, 2), 1), (Pair(3, 6), 3)):
            adds_a_value(x, y, C=constant)
            self.assertEqual(y[0], wanted)
        self.assertEqual(len(adds_a_value._programs), 4)
        one.value = 7
        adds_a_value(x, y, C=one)
        self.assertEqual(y[0], 7)
        compiled = tl.compile(adds_an_element, (x, y), C=many.copy(), device="host")
        compiled(x, y, C=many)
        with self.assertRaises(kiln.errors.InvalidArgument):
            compiled(x, y, C=many + 1)

    def test_an_assertion_of_sizes_is_told_where_it_stands(self):
        with open(__file__) as file:
            lines = file.read().splitlines()
        for rows, message, text in ((65, "not 65 rows", "assert X.shape[0] != 65"),
                                    (1000, "too many rows", "tl.static_assert(X"),
                                    (200, "the assertion does not hold", "assert X.shape[0] != 200")):
            with self.assertRaises(tl.KernelError) as caught:
                sizes_are_asserted[(2,)](numpy.zeros(rows, "f4"), numpy.zeros(rows, "f4"))
            error = caught.exception
            self.assertEqual(error.message, message)
            self.assertEqual(error.line, next(n for n, line in enumerate(lines, 1) if line.strip().startswith(text)))
            self.assertTrue(error.hint)
        sizes_are_asserted[(2,)](numpy.zeros(150, "f4"), numpy.zeros(150, "f4"))


def chain(count, what, body="n = n + %d"):
    """An if with so many elifs."""
    ways = ["%s %s == %d:\n        %s" % ("elif" if k else "if", what, k, body % (k + 1)) for k in range(count)]
    return "\n    ".join(ways)


STORE = "tl.store(y + i, %d)"
NESTED = "loops and branches are nested more than"
DEEP = (
    ("n = n" + " + i" * 500, "an expression nested more than 64 deep"),
    ("n = " + "-" * 500 + "i", "nested more than 64 deep"),
    (chain(500, "i"), NESTED),
    (chain(100, "i"), NESTED),
    (chain(30, "i", STORE), NESTED),
    ("".join("    " * k + "    if i < %d:\n" % (100 - k) for k in range(90)).lstrip() + "    " * 91 + STORE % 1,
     NESTED),
    ("n = f(n)", "functions call each other more than 32 deep"),
    ("for a in tl.static_range(1000):\n        for b in tl.static_range(1000):\n"
     "            for c in tl.static_range(9):\n                pass", "statements are read"),
    ("for a in tl.static_range(10**30):\n        n = n + a", "is written out"),
    ("n = twice_25(n)", "statements are read"))
HELPERS = "@tl.jit\ndef f(n):\n    return f(n + 1)\n\n\n@tl.jit\ndef twice_0(n):\n    return n\n\n\n" + "\n\n\n".join(
    "@tl.jit\ndef twice_%d(n):\n    return twice_%d(n) + twice_%d(n)" % (k, k - 1, k - 1) for k in range(1, 26))


class Depth(LanguageCase):
    def test_too_deep_and_too_many_is_told_where_it_stands(self):
        x = numpy.zeros(16, "f4")
        with tempfile.TemporaryDirectory() as folder:
            for number, (body, message) in enumerate(DEEP):
                with self.subTest(body[:60]):
                    kernel = made(folder, "deep_%d" % number, body, 1000, HELPERS)
                    with self.assertRaises(tl.KernelError) as caught:
                        kernel(x, x.copy())
                    error = caught.exception
                    self.assertIn(message, error.message)
                    self.assertTrue(error.hint)
                    self.assertEqual(error.file, os.path.join(folder, "deep_%d.py" % number))
                    self.assertIsNotNone(error.line)

    def test_what_is_not_too_deep(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, (body, wanted) in enumerate((
                    (chain(27, "i", "tl.store(y + i + 10, %d)"), lambda i: 0),
                    ("c = 499\n    " + chain(500, "c"), lambda i: 500),
                    ("c = tl.max(tl.load(x + tl.arange(0, 16)))\n    " + chain(40, "c"), lambda i: 8),
                    ("n = 0" + " + i" * 60, lambda i: 60 * i))):
                kernel = made(folder, "fits_%d" % number, body, 10 if number else 100)
                for device in DEVICES:
                    x, y = numpy.full(200, 7, "f4"), numpy.zeros(200, "f4")
                    kernel(x, y, device=device)
                    numpy.testing.assert_array_equal(y[:10], [wanted(i) for i in range(10)], device)


class Overlaps(LanguageCase):
    def test_parts_of_one_tile(self):
        x = self.normals(32, 32)
        wanted = x.copy()
        wanted[8:24] = x[0:16]
        wanted[1:] += wanted[:31].copy()
        wanted[:16, :16] = wanted[:16, :16].T.copy()
        wanted[:, 3] = wanted[:, 2] + wanted[5, 5]
        wanted[4:20, 1:] += wanted[3:19, :31].copy()
        for device in DEVICES:
            y = numpy.zeros_like(x)
            parts_of_one_tile(x, y, device=device)
            numpy.testing.assert_array_equal(y, wanted, device)

    def test_elements_that_a_tile_chooses(self):
        x, places = numpy.arange(64, dtype="f4"), self.random.permutation(64).astype("i4")
        t, p = numpy.concatenate([x[:1], x[:63]]), places.copy()
        t[places] = t * 2
        p[places] = places + numpy.arange(64)
        t = t[numpy.minimum(p, 63)] + t[0]
        for device in DEVICES:
            y = numpy.zeros_like(x)
            elements_that_a_tile_chooses(x, places, y, device=device)
            numpy.testing.assert_array_equal(y, t + p, device)
            z = numpy.arange(65, dtype="f4")
            elements_of_a_parameter(z, device=device)
            numpy.testing.assert_array_equal(z, numpy.concatenate([[0], numpy.arange(64) + 3]), device)

    def test_a_product_into_its_own_operand(self):
        x = self.normals(32, 32)
        for device in DEVICES:
            y = numpy.zeros_like(x)
            product_with_itself(x, y, device=device)
            square = x @ x
            numpy.testing.assert_allclose(y, square + square.T @ square, rtol=1e-4, atol=1e-2, err_msg=device)


if __name__ == "__main__":
    unittest.main()
