"""Operations on what they cannot be applied to, one mistake each, on the line marked "here": EXPECTED has what is said,
part of the hint, and the piece of the line that it is said of.
"""

import inspect

from kiln import triton
import kiln.triton.language as tl

EXPECTED = {}


def expect(message, hint, piece):
    def mark(function):
        line = next(text for text in inspect.getsource(function).split("\n") if "# here" in text)
        EXPECTED[function.__name__] = (triton.jit(function), message, hint, line.index(piece) + 1)
        return function

    return mark


@expect("trans cannot be applied to int 5", "trans(x, *order)", "tl.trans")
def transposed_number(x_ptr, y_ptr):
    tl.store(y_ptr, tl.trans(5))  # here


@expect("a tile has at most 4 axes, this one 5", "into one", "tl.zeros")
def too_many_axes(x_ptr, y_ptr):
    tl.store(y_ptr, tl.sum(tl.zeros([2, 2, 2, 2, 2], tl.float32)))  # here


@expect("a tile has at most 4 axes, this one 5", "into one", "w = ")
def too_many_new_axes(x_ptr, y_ptr):
    v = tl.load(x_ptr + tl.arange(0, 8)) * 2
    w = v[None, None, None, None, :] + 1  # here
    tl.store(y_ptr, tl.sum(w))


@expect("max of nothing", "max(x, y", "max")
def largest_of_nothing(x_ptr, y_ptr):
    tl.store(y_ptr, max())  # here


@expect("to(): missing a required argument: 'dtype'", ".to(dtype", "tl.load")
def converted_to_nothing(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr).to())  # here


@expect("'foo' is no element type", "tl.float16", "tl.load")
def converted_to_a_word(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr).to("foo"))  # here


@expect("fp_downcast_rounding='rtz' is not there yet", "rtne", "tl.cast")
def rounded_towards_zero(x_ptr, y_ptr):
    tl.store(y_ptr, tl.cast(tl.load(x_ptr), tl.float16, fp_downcast_rounding="rtz"))  # here


@expect("rsqrt(0.0): float division by zero", "write the result", "tl.math.rsqrt")
def root_of_zero(x_ptr, y_ptr):
    tl.store(y_ptr, tl.math.rsqrt(0.0))  # here


@expect("axis -5 of the grid", "0, 1 and 2", "tl.num_programs")
def programs_along_no_axis(x_ptr, y_ptr):
    tl.store(y_ptr, tl.num_programs(-5))  # here


@expect("axis 3 of the grid", "0, 1 and 2", "tl.num_programs")
def programs_along_axis_3(x_ptr, y_ptr):
    tl.store(y_ptr, tl.num_programs(3))  # here


@expect("axis str 'x' of the grid", "0, 1 and 2", "tl.program_id")
def program_along_a_word(x_ptr, y_ptr):
    tl.store(y_ptr, tl.program_id("x"))  # here


@expect("a static assertion on a tile of shape [8]", "mask or clamp", "tl.static_assert")
def asserted_tile(x_ptr, y_ptr):
    v = tl.load(x_ptr + tl.arange(0, 8))
    tl.static_assert(v)  # here


@expect("the quotient of 5 and 0", "not 0", "tl.cdiv")
def divided_by_zero(x_ptr, y_ptr):
    tl.store(y_ptr, tl.cdiv(5, 0))  # here


@expect("// is for integers", "tl.floor(x / y)", "tl.load")
def whole_quotient_of_floats(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr) // 2.0)  # here


@expect("-1 is no u32", "convert", "tl.load")
def negative_beside_unsigned(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr).to(tl.uint32) * -1)  # here


@expect("mask= and other= of a block pointer", "boundary_check", "tl.load")
def masked_block(x_ptr, y_ptr):
    block = tl.make_block_ptr(x_ptr, (8,), (1,), (0,), (8,), (0,))
    tl.store(y_ptr + tl.arange(0, 8), tl.load(block, mask=tl.arange(0, 8) < 3))  # here


@expect("mask= of a block pointer", "boundary_check", "tl.store")
def masked_store_of_a_block(x_ptr, y_ptr):
    block = tl.make_block_ptr(y_ptr, (8,), (1,), (0,), (8,), (0,))
    tl.store(block, tl.load(x_ptr + tl.arange(0, 8)), mask=tl.arange(0, 8) < 3)  # here


@expect("boundary_check= and padding_option=", "mask=", "tl.load")
def checked_pointers(x_ptr, y_ptr):
    tl.store(y_ptr + tl.arange(0, 8), tl.load(x_ptr + tl.arange(0, 8), boundary_check=(0,)))  # here


@expect("boundary_check=", "mask=", "tl.store")
def checked_store(x_ptr, y_ptr):
    tl.store(y_ptr + tl.arange(0, 8), 1.0, boundary_check=(0,))  # here


@expect("other= without mask=", "mask=offsets < n", "tl.load")
def other_without_mask(x_ptr, y_ptr):
    tl.store(y_ptr + tl.arange(0, 8), tl.load(x_ptr + tl.arange(0, 8), other=1.0))  # here


@expect("out_dtype=float16 of a product of f32", ".to(", "tl.dot")
def product_of_another_type(x_ptr, y_ptr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    v = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.dot(v, v, out_dtype=tl.float16))  # here


@expect("sum(): got an unexpected keyword argument 'kind'", "sum(input", "tl.sum")
def unknown_keyword(x_ptr, y_ptr):
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 8)), kind=1))  # here


@expect("axis 'x' of a tile of shape [8]", "axes count from 0", "tl.sum")
def summed_along_a_word(x_ptr, y_ptr):
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 8)), axis="x"))  # here


@expect("axis 5 of a tile of shape", "axes count from 0", "x_ptr.stride")
def stride_of_no_axis(x_ptr, y_ptr):
    tl.store(y_ptr, x_ptr.stride(5))  # here


@expect("propagate_nan=str 'all'", "tl.PropagateNan.ALL", "tl.maximum")
def unknown_treatment_of_nan(x_ptr, y_ptr):
    tl.store(y_ptr, tl.maximum(tl.load(x_ptr), 0.0, propagate_nan="all"))  # here


@expect("the direction of a scan", "True or False", "tl.cumsum")
def scan_that_way(x_ptr, y_ptr):
    v = tl.load(x_ptr + tl.arange(0, 8))
    tl.store(y_ptr + tl.arange(0, 8), tl.cumsum(v, 0, reverse=v))  # here


@expect("8 elements cannot have shape [2, 3]", "multiply", "tl.reshape")
def reshaped_to_less(x_ptr, y_ptr):
    tl.store(y_ptr, tl.sum(tl.reshape(tl.load(x_ptr + tl.arange(0, 8)), (2, 3))))  # here


@expect("has no method foo", "x.to(", "tl.load")
def unknown_method(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr + tl.arange(0, 8)).foo())  # here


@expect("2 indices for shape [8]", "an axis", "(tl.load")
def indices_too_many(x_ptr, y_ptr):
    tl.store(y_ptr, (tl.load(x_ptr + tl.arange(0, 8)) + tl.arange(0, 8))[0, 0])  # here
