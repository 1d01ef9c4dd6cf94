"""Numbers in kernels of Triton's style follow Triton's rules: quotients, types, sums, NaN, places of memory."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from triton_style_test import TritonCase

import numpy

import kernels_triton_arithmetic as kernels

LEAST = {"i1": -2 ** 7, "i2": -2 ** 15, "i4": -2 ** 31, "i8": -2 ** 63}


def towards_zero(x, y):
    """Quotients and remainders of integers as C has them, wrapped to their type."""
    pairs = [(int(a), int(b)) for a, b in zip(x, y)]
    quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
    remainders = [a - q * b for (a, b), q in zip(pairs, quotients)]
    return wrapped(quotients, x.dtype), wrapped(remainders, x.dtype)


def wrapped(numbers, dtype):
    bits = 8 * numpy.dtype(dtype).itemsize
    return numpy.array([n % 2 ** bits for n in numbers], "u8").astype("u%d" % (bits // 8)).view(dtype)


class Quotients(TritonCase):
    def test_integers_are_rounded_towards_zero(self):
        for dtype in ("i1", "i2", "i4", "i8", "u4"):
            x, y = (self.random.integers(-100, 100, 64) for _ in range(2))
            y[y == 0] = 7
            if dtype == "u4":
                x, y = abs(x) + 2 ** 31, abs(y)
            x, y = x.astype(dtype), y.astype(dtype)
            if dtype in LEAST:
                x[:4], y[:4] = LEAST[dtype], [-1, 1, 3, -3]
            quotient, remainder = towards_zero(x, y)
            for own in self.run_everywhere(kernels.quotients, (1,), (x, y, x * 0, x * 0), BLOCK=64):
                numpy.testing.assert_array_equal(own[2], quotient, dtype)
                numpy.testing.assert_array_equal(own[3], remainder, dtype)

    def test_of_tiles_numbers_and_indices(self):
        x = numpy.arange(-8, 8, dtype="i4")
        three, index = x * 0 + 3, numpy.arange(16) - 8
        changed = numpy.concatenate([[-5], -5 + numpy.cumsum(x)[:-1]])
        pairs = [(x, three), (index, -three), (x, three)]
        loop = towards_zero(numpy.arange(16) - 4, three)[0], towards_zero(changed, three)[1]
        for own in self.run_everywhere(kernels.quotients_by_three, (1,),
                                       (x, numpy.zeros(64, "i4"), numpy.zeros(64, "i4")), BLOCK=16):
            for which in (0, 1):
                wanted = [towards_zero(*pair)[which] for pair in pairs] + [loop[which]]
                numpy.testing.assert_array_equal(own[1 + which], numpy.concatenate(wanted))

    def test_rounded_up(self):
        for n in (1, 16, 17, 100):
            for own in self.run_everywhere(kernels.rounded_up, (1,), (numpy.zeros(3, "i4"), n), BLOCK=16):
                numpy.testing.assert_array_equal(own[0], [-(-n // 16), -(-n // 16), -4])

    def test_remainders_of_floats(self):
        for dtype in ("f2", "f4", "f8"):
            x, y = (self.normals(64) * 50).astype(dtype), (self.normals(64) + 0.01).astype(dtype)
            x[:6], y[:6] = [6, -6, 5.25, 3, numpy.inf, 2], [1.5, 1.5, -numpy.inf, 0, 2, numpy.nan]
            with numpy.errstate(invalid="ignore"):
                wanted = numpy.concatenate([numpy.fmod(x, y), numpy.fmod(x, numpy.asarray(1.5, dtype))])
            for own in self.run_everywhere(kernels.float_remainders, (1,), (x, y, numpy.zeros(128, dtype)), BLOCK=64):
                numpy.testing.assert_array_equal(own[2], wanted)
        x, y = numpy.float32([1e9, 16777215, 3e8, 1 / 3]), numpy.float32([0.7, 0.1, 3.0000002, 1e-6])
        for own in self.run_everywhere(kernels.float_remainders, (1,), (x, y, numpy.zeros(8, "f4")), BLOCK=4):
            numpy.testing.assert_array_equal(own[2][:4], numpy.fmod(x, y))


class Types(TritonCase):
    def test_a_loaded_number_keeps_its_type(self):
        seed, wanted, s = numpy.array([12345], "u4"), [], 12345
        for _ in range(6):
            s = (s * 1664525 + 1013904223) % 2 ** 32
            wanted.append(s >> 16)
        for own in self.run_everywhere(kernels.generated, (1,), (seed, numpy.zeros(6, "u4")), COUNT=6):
            numpy.testing.assert_array_equal(own[1], wanted)
        for value in (5, -3):
            wanted = wrapped([value * 10 ** 12], "i4").astype("i8")
            for own in self.run_everywhere(kernels.products_of_numbers, (1,),
                                           (numpy.array([value], "i4"), numpy.zeros(1, "i8"))):
                numpy.testing.assert_array_equal(own[1], wanted)

    def test_an_index_beside_u32_wraps(self):
        at = numpy.arange(64, dtype="u4")
        h = at * numpy.uint32(2654435761) + at
        h = (h ^ (h >> numpy.uint32(15))) * numpy.uint32(2246822519)
        for own in self.run_everywhere(kernels.mixed, (1,), (numpy.zeros(64, "i4"), ), BLOCK=64):
            numpy.testing.assert_array_equal(own[0], h % 1000)

    def test_an_index_beside_wide_integers(self):
        at = numpy.arange(16)
        for dtype in ("i8", "u8", "i4", "u4"):
            x = (self.random.integers(0, 20, 16) + (2 ** 60 if dtype in ("i8", "u8") else 0)).astype(dtype)
            wanted = [x + (at * 3).astype(dtype), (at - 4 < x).astype(dtype), numpy.maximum(x, at.astype(dtype)),
                      (x + 1) // 2]
            if dtype == "u8":
                wanted[1][:4] = 0  # a negative index is a large one there
            for own in self.run_everywhere(kernels.beside_indices, (1,), (x, numpy.zeros(64, dtype), 3), BLOCK=16):
                numpy.testing.assert_array_equal(own[1], numpy.concatenate(wanted), dtype)

    def test_a_loaded_number_that_grows_wraps(self):
        for dtype in ("i4", "u4"):
            steps = wrapped([12345 + k * 0x5E3779B9 for k in range(1, 9)], dtype)
            for own in self.run_everywhere(kernels.stepped, (1,),
                                           (numpy.array([12345], dtype), numpy.zeros(9, dtype), 8)):
                numpy.testing.assert_array_equal(own[1], numpy.concatenate([steps >> 16, steps[-1:]]))

    def test_a_loaded_place_that_moves_on(self):
        x = self.random.integers(0, 9, 40).astype("f4")
        for dtype in ("i4", "u4", "i8"):
            begins = numpy.array([0, 7, 7, 40], dtype)
            for own in self.run_everywhere(kernels.ragged, (3,),
                                           (x, begins, numpy.zeros(3, "f4"), numpy.zeros(3, dtype)),
                                           BLOCK=8):
                numpy.testing.assert_array_equal(own[2], [x[:7].sum(), 0, x[7:].sum()])
                numpy.testing.assert_array_equal(own[3], [8, 7, 47])


class Reductions(TritonCase):
    def test_sums_of_narrow_integers(self):
        for dtype, value in (("i1", 100), ("u1", 200), ("i2", 30000), ("u2", 60000), ("i4", 2 ** 30)):
            x = numpy.full(64, value, dtype)
            x[:7] = 0
            total = 57 * value if dtype != "i4" else int(wrapped([57 * value], "i4")[0])
            running = numpy.cumsum(x.astype("i8"))
            short = running if dtype != "i4" else wrapped(running, "i4")
            for own in self.run_everywhere(kernels.sums, (1,), (x, numpy.zeros(4, "i8"), numpy.zeros(192, "i8")),
                                           BLOCK=64):
                twice = 2 * value if dtype != "i4" else -2 ** 31
                numpy.testing.assert_array_equal(own[1], [total, twice, 57, 57 * value], dtype)
                numpy.testing.assert_array_equal(own[2], numpy.concatenate([short, numpy.cumsum(x > 0), running]),
                                                 dtype)

    def test_sums_of_bf16_are_f32(self):
        for device in ("host", "emu:gfx942"):
            x = self.client.empty((1024,), "bf16").fill_from([1.0] * 1023 + [0.5])
            out = numpy.zeros(2, "f4")
            kernels.sum_of_all[(1,)](x, out, BLOCK=1024, device=device)
            numpy.testing.assert_array_equal(out, [1023.5, 1023.5])

    def test_places(self):
        x = self.random.integers(0, 9, (4, 16)).astype("f4")
        wanted = [x.max(1), x.argmax(1), x.argmin(1), [x.argmax()]]
        for own in self.run_everywhere(kernels.places, (1,), (x, numpy.zeros(13, "f4")), M=4, N=16):
            numpy.testing.assert_array_equal(own[1], numpy.concatenate(wanted))

    def test_a_number_beside_a_nan(self):
        nan = numpy.nan
        x = numpy.array([1, nan, -2, 3, nan, nan, -0.5, nan], "f4")
        y = x[::-1]
        wanted = [numpy.fmax(x, 0), numpy.fmin(x, y), numpy.maximum(x, y), numpy.fmin(numpy.fmax(x, -1), 2),
                  numpy.clip(x, -1, 2)]
        for own in self.run_everywhere(kernels.beside_nan, (1,), (x, numpy.zeros(40, "f4")), BLOCK=8):
            numpy.testing.assert_array_equal(own[1], numpy.concatenate(wanted))

    def test_a_product_rounded_to_f16(self):
        x = (self.random.integers(-8, 9, (16, 16)) / 8).astype("f2")
        once = (x.astype("f4") @ x.astype("f4"))
        twice = once.astype("f2") + once.astype("f2")
        wanted = [twice, (once + twice).astype("f2")]
        for own in self.run_everywhere(kernels.product_in_f16, (1,), (x, numpy.zeros((2, 16, 16), "f2")), N=16):
            numpy.testing.assert_array_equal(own[1], wanted)


class WidePlaces(TritonCase):
    def test_rows_by_i64(self):
        table = self.random.random((9, 12)).astype("f4")
        for dtype in ("i4", "i8", "u8"):
            ids = self.random.integers(0, 9, 13).astype(dtype)
            for own in self.run_everywhere(kernels.embedded, (4,), (ids, table, numpy.zeros((13, 12), "f4"), 13, 12),
                                           BLOCK=4, WIDTH=16):
                numpy.testing.assert_array_equal(own[2], table[ids])
            for own in self.run_everywhere(kernels.embedded_rows, (13,), (ids, table, numpy.zeros((13, 12), "f4"), 12),
                                           WIDTH=16):
                numpy.testing.assert_array_equal(own[2], table[ids])

    def test_rows_that_are_far_outside_read_0(self):
        table = self.random.random((9, 12)).astype("f4")
        ids = numpy.array([3, 2 ** 50, -2 ** 50, 2 ** 40, -1, 8], "i8")
        wanted = numpy.where((0 <= ids) & (ids < 9), 1, 0)[:, None] * table[numpy.clip(ids, 0, 8)]
        for own in self.run_everywhere(kernels.embedded, (1,), (ids, table, numpy.ones((6, 12), "f4"), 6, 12), BLOCK=8,
                                       WIDTH=16):
            numpy.testing.assert_array_equal(own[2], wanted)

    def test_cross_entropy_of_i64_labels(self):
        x, target = self.normals(4, 77), numpy.array([3, -100, 76, 0], "i8")
        total = numpy.log(numpy.exp(x.astype("f8")).sum(1))
        wanted = numpy.where(target < 0, 0, total - x[numpy.arange(4), numpy.maximum(target, 0)])
        for own in self.run_everywhere(kernels.losses, (4,), (x, target, numpy.ones(4, "f4"), 77), BLOCK=128):
            numpy.testing.assert_allclose(own[2], wanted, rtol=1e-5, atol=1e-6)

    def test_a_loop_to_a_loaded_i64(self):
        for dtype in ("i8", "u8", "u4", "i1"):
            for own in self.run_everywhere(kernels.counted, (1,), (numpy.array([5], dtype), numpy.zeros(1, "f4"))):
                self.assertEqual(own[1][0], 5)


class InPlace(TritonCase):
    def test_one_number_a_row(self):
        x = self.normals(5)
        for own in self.run_everywhere(kernels.doubled, (5,), (x,)):
            numpy.testing.assert_array_equal(own[0], x * 2)

    def test_what_was_loaded_stays(self):
        x = self.random.integers(0, 9, 5).astype("f4")
        for kernel in (kernels.stored_between, kernels.passed_on):
            for own in self.run_everywhere(kernel, (5,), (x, x * 0)):
                numpy.testing.assert_array_equal(own[1], 2 * x + 100)
                numpy.testing.assert_array_equal(own[0], x + 100)


class Libdevice(TritonCase):
    def test_round_fmod_and_mulhi(self):
        x = numpy.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609, -3.2], "f4")
        away = numpy.copysign(numpy.floor(numpy.abs(x.astype("f8")) + 0.5), x)
        i = self.random.integers(-2 ** 31 + 100, 2 ** 31, 8).astype("i4")
        high = [int(a) * (int(a) - 77) >> 32 for a in i]
        for own in self.run_everywhere(kernels.of_libdevice, (1,), (x, i, numpy.zeros(16, "f4"), i * 0), BLOCK=8):
            numpy.testing.assert_array_equal(own[2], numpy.concatenate([away, numpy.fmod(x, numpy.float32(0.75))]))
            numpy.testing.assert_array_equal(own[3], high)


if __name__ == "__main__":
    unittest.main()
