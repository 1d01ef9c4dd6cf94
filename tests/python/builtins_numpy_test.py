"""layernorm, elementwise, transpose and reduce against NumPy in float64: odd sizes, every type and option, NaN and
infinity, no rows."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service

import numpy

OTHER_CARDS = ("gfx90a", "gfx1100")
UNIT = {"f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}
NUMPY = {"f32": numpy.float32, "f16": numpy.float16, "i8": numpy.int8}
COMBINE = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide}
REDUCE = {"sum": numpy.sum, "mean": numpy.mean, "maximum": numpy.max, "minimum": numpy.min}
ACTIVATION = {
    "none": lambda x: x,
    "relu": lambda x: numpy.maximum(x, 0),
    "silu": lambda x: x / (1 + numpy.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + numpy.vectorize(math.erf, otypes="d")(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
}


def stored(values, dtype):
    """The elements of a type, as NumPy holds them: bf16 as its bits, rounded to nearest even."""
    if dtype != "bf16":
        return values.astype(NUMPY[dtype])
    bits = values.astype(numpy.float32).view(numpy.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(values), numpy.uint16(0x7FC0), rounded)


def value(elements, dtype):
    if dtype == "bf16":
        return (elements.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return elements.astype(numpy.float64)


class BuiltInsAgainstNumPy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()
        cls.random = numpy.random.default_rng(11)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.service.__exit__()

    def matrix(self, rows, columns, dtype, strange=False):
        if dtype == "i8":
            return self.random.integers(-128, 128, (rows, columns), "i1")
        values = self.random.standard_normal((rows, columns))
        if strange:
            for at, what in enumerate((numpy.nan, numpy.inf, -numpy.inf, numpy.inf)):
                values[at % rows, at * 5 % columns] = what
        return stored(values, dtype)

    def run_on(self, target, program, output, y_dtype, inputs, dtype, scalars=(), **bindings):
        """The values that the program writes: `inputs` are elements by name; the output has NaN or -1 before."""
        kernel = self.client.compile(program, target, dtype=dtype, **bindings)
        arguments = {name: self.client.from_numpy(elements, dtype=dtype) for name, elements in inputs.items()}
        arguments["Y"] = result = self.client.empty(output, y_dtype)
        result.numpy()[...] = -1 if y_dtype == "i8" else stored(numpy.array([numpy.nan]), y_dtype)[0]
        kernel(device=target if target == "host" else "emu:" + target, **arguments, **dict(scalars))
        got = value(result.numpy().copy(), y_dtype)
        for array in arguments.values():
            array.free()
        return got

    def assert_near(self, got, want, dtype, absolute=1e-5, about=""):
        with numpy.errstate(invalid="ignore", over="ignore"):
            finite = numpy.isfinite(want)
            numpy.testing.assert_array_equal(numpy.isnan(got), numpy.isnan(want), about)
            infinite = numpy.isinf(want)
            numpy.testing.assert_array_equal(got[infinite], want[infinite], about)
            wrong = numpy.abs(got - want)[finite] - 4 * UNIT[dtype] * numpy.maximum(1, numpy.abs(want[finite]))
        self.assertLessEqual(wrong.max(initial=0), numpy.max(absolute, initial=0), about)

    def layernorm(self, target, rows, columns, dtype, bias=True, eps=None, strange=False):
        x = self.matrix(rows, columns, dtype, strange)
        w, b = self.matrix(2, columns, dtype)
        inputs = {"X": x, "Weight": w, **({"Bias": b} if bias else {})}
        scalars = {} if eps is None else {"eps": eps}
        got = self.run_on(target, "layernorm", x.shape, dtype, inputs, dtype, scalars, M=rows, N=columns, bias=bias,
                          custom_eps=eps is not None)
        v = value(x, dtype)
        with numpy.errstate(invalid="ignore"):
            centred = v - v.mean(1, keepdims=True)
            variance = (centred ** 2).mean(1, keepdims=True)
            want = centred / numpy.sqrt(variance + (1e-5 if eps is None else eps)) * value(w, dtype)
        about = str((target, rows, columns, dtype, bias, eps))
        self.assert_near(got, want + (value(b, dtype) if bias else 0), dtype, about=about)

    def test_layernorm(self):
        for rows, columns, dtype in ((1, 1, "f32"), (7, 33, "f16"), (1000, 1031, "f32"), (3, 65536, "bf16"),
                                     (3, 65537, "f32"), (0, 33, "f32")):
            self.layernorm("host", rows, columns, dtype)
        self.layernorm("host", 5, 100, "f32", bias=False, eps=0.5)
        self.layernorm("host", 9, 100, "f32", strange=True)
        self.layernorm("gfx942", 1, 1, "f16", bias=False, eps=0.25)
        self.layernorm("gfx942", 3, 4099, "bf16")
        for target in OTHER_CARDS:
            self.layernorm(target, 7, 33, "f32", strange=True)

    def test_layernorm_of_values_far_from_zero(self):
        """Their variance is taken around the mean: mean(x²) - mean² would be lost in f32."""
        x = (10000 + self.random.standard_normal((4, 1000))).astype(numpy.float32)
        ones = numpy.ones(1000, numpy.float32)
        want = (x - x.mean(1, keepdims=True, dtype="f8")) / x.std(1, keepdims=True, dtype="f8")
        for target in ("host", "gfx942"):
            got = self.run_on(target, "layernorm", x.shape, "f32", {"X": x, "Weight": ones}, "f32", M=4, N=1000,
                              bias=False)
            numpy.testing.assert_allclose(got, want, atol=2e-3)

    def elementwise(self, target, rows, columns, dtype, activation, combine="none", strange=False, out_dtype=None,
                    **more):
        x = self.matrix(rows, columns, dtype, strange)
        z = self.matrix(1 if more.get("row") else rows, columns, dtype)
        out_dtype = out_dtype or dtype
        scalars = {"scale": 1.5} if more.get("scaled") else {}
        inputs = {"X": x, **({"Z": z} if combine != "none" else {})}
        got = self.run_on(target, "elementwise", x.shape, out_dtype, inputs, dtype, scalars, M=rows, N=columns,
                          activation=activation, combine=combine, out_dtype=out_dtype, **more)
        with numpy.errstate(all="ignore"):
            v = value(x, dtype) * scalars.get("scale", 1)
            if combine == "none":
                want = ACTIVATION[activation](v)
            elif more.get("combine_first"):
                want = ACTIVATION[activation](COMBINE[combine](v, value(z, dtype)))
            else:
                want = COMBINE[combine](ACTIVATION[activation](v), value(z, dtype))
        # a division makes errors larger, too
        absolute = 1e-5 * max(1, numpy.abs(1 / value(z, dtype)).max(initial=1)) if combine == "div" else 1e-5
        about = str((target, rows, columns, dtype, activation, combine, more))
        self.assert_near(got, want, out_dtype, absolute, about)

    def test_elementwise(self):
        sizes = ((1, 1), (7, 33), (1000, 1031), (1, 100001), (20001, 3))
        dtypes = ("bf16", "f16", "f32", "f32", "f16")
        for activation, combine, dtype, (rows, columns) in zip(ACTIVATION, (*COMBINE, "mul"), dtypes, sizes):
            self.elementwise("host", rows, columns, dtype, activation, combine, strange=True)
            self.elementwise("gfx942", 9, 33, "f32", activation, combine, strange=True, combine_first=True, row=True,
                             scaled=True)
        self.elementwise("host", 3, 65536, "bf16", "silu", "mul", out_dtype="f32", strange=True)
        self.elementwise("host", 5, 100, "f32", "relu", "add", combine_first=True, row=True, scaled=True)
        self.elementwise("host", 0, 33, "f32", "relu")
        for target in OTHER_CARDS:
            self.elementwise(target, 3, 1029, "bf16", "gelu_tanh", "add", strange=True)

    def transpose(self, target, rows, columns, dtype):
        x = self.matrix(rows, columns, dtype, strange=dtype == "f16" and rows * columns > 0)
        got = self.run_on(target, "transpose", (columns, rows), dtype, {"X": x}, dtype, M=rows, N=columns)
        numpy.testing.assert_array_equal(got, value(x, dtype).T, str((target, rows, columns, dtype)))

    def test_transpose(self):
        sizes = ((7, 33), (1000, 1031), (3, 65536), (256, 194))
        for dtype, (rows, columns), card in zip(("f32", "f16", "bf16", "i8"), sizes, OTHER_CARDS * 2):
            self.transpose("host", rows, columns, dtype)
            self.transpose("gfx942", 130, 64, dtype)
            self.transpose(card, 33, 130, dtype)
        for rows, columns in ((1, 1), (0, 33), (33, 0)):
            self.transpose("host", rows, columns, "f32")

    def reduce(self, target, rows, columns, dtype, kind, axis, strange=False, out_dtype=None):
        x = self.matrix(rows, columns, dtype, strange)
        out_dtype = out_dtype or dtype
        along = 1 if axis == "last" else 0
        got = self.run_on(target, "reduce", (x.shape[1 - along],), out_dtype, {"X": x}, dtype, M=rows, N=columns,
                          kind=kind, axis=axis, out_dtype=out_dtype)
        v = value(x, dtype)
        with numpy.errstate(all="ignore"):
            if x.shape[along] == 0:
                empty = {"sum": 0, "mean": numpy.nan, "maximum": -numpy.inf, "minimum": numpy.inf}
                want = numpy.full(got.shape, empty[kind])
            else:
                want = REDUCE[kind](v, axis=along)
        sums = numpy.abs(numpy.where(numpy.isfinite(v), v, 0)).sum(along).max(initial=0)
        absolute = {"sum": 1e-6 * sums, "mean": 1e-6 * sums / max(1, x.shape[along])}.get(kind, 0)
        self.assert_near(got, want, out_dtype, absolute, str((target, rows, columns, dtype, kind, axis)))

    def test_reduce(self):
        sizes = ((1, 1, "f32"), (7, 33, "f16"), (1000, 1031, "f32"), (3, 65536, "bf16"), (65536, 3, "f32"),
                 (0, 33, "f32"), (33, 0, "f16"))
        kinds = list(REDUCE)
        for at, (rows, columns, dtype) in enumerate(sizes):
            self.reduce("host", rows, columns, dtype, kinds[at % 4], "last")
            self.reduce("host", rows, columns, dtype, kinds[(at + 1) % 4], "first")
        for kind, axis in zip(kinds, ("first", "last", "first", "last")):
            self.reduce("host", 9, 33, "f32", kind, axis, strange=True)
            self.reduce("gfx942", 9, 1029, "f16", kind, axis, strange=True)
        for target, axis in zip(OTHER_CARDS, ("first", "last")):
            self.reduce(target, 130, 1029, "f32", "sum", axis)

    def test_sums_of_halves_are_added_in_f32(self):
        x = numpy.full((2, 4097), 60000, numpy.float16)
        for target in ("host", "gfx942"):
            got = self.run_on(target, "reduce", (2,), "f32", {"X": x}, "f16", M=2, N=4097, out_dtype="f32")
            numpy.testing.assert_allclose(got, [60000.0 * 4097] * 2, rtol=1e-6)
            got = self.run_on(target, "reduce", (2,), "f16", {"X": x}, "f16", M=2, N=4097, kind="mean")
            numpy.testing.assert_array_equal(got, [60000.0] * 2)


if __name__ == "__main__":
    unittest.main()
