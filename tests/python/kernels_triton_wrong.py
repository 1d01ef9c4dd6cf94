"""Kernels in Triton's style with one mistake each, on the line marked "here": EXPECTED has what is said, and part of
the hint.
"""

from kiln import triton
import kiln.triton.language as tl
from kiln.triton.language.extra import libdevice

EXPECTED = {}


def expect(message, hint):
    def mark(function):
        EXPECTED[function.__name__] = (triton.jit(function), message, hint)
        return function

    return mark


@triton.jit
def difference(a, b):
    return a - b


@triton.jit
def paired(a0, a1, b0, b1):
    return a0 + b0, a1 + b1


@expect("a while loop is not supported", "a lock")
def spin_lock(x_ptr, y_ptr):
    while tl.atomic_cas(y_ptr, 0, 1) == 1:  # here
        pass


@expect("a while loop is not supported", "for tile in range")
def tiles_by_while(x_ptr, y_ptr):
    tile = tl.program_id(0)
    while tile < 10:  # here
        tile += 4


@expect("the memory order 'strong'", "relaxed")
def unknown_order(x_ptr, y_ptr):
    tl.atomic_add(y_ptr, 1.0, sem="strong")  # here


@expect("an atomic on", "pointer + offsets")
def atomic_value(x_ptr, y_ptr):
    x = tl.load(x_ptr)
    tl.atomic_cas(x, 0.0, 1.0)  # here


@expect("products of blocks with scales", "tl.dot")
def scaled(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :])
    tl.store(y_ptr, tl.dot_scaled(x, x, "e4m3", x, x, "e4m3"))  # here


@expect("pointers that lie in memory", "one buffer")
def pointers_in_memory(x_ptr, y_ptr):
    p = tl.load(y_ptr).to(tl.pointer_type(tl.float16))  # here
    tl.store(y_ptr, tl.load(p))


@expect("without a text", "tl.device_print")
def printed(x_ptr, y_ptr):
    tl.device_print(tl.load(x_ptr))  # here


@expect("a message with '\\n'", "printable")
def asserted(x_ptr, y_ptr):
    tl.device_assert(tl.program_id(0) < 4, "too\nmany")  # here


@expect("inline assembly", "every target")
def assembly(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1)  # here


@expect("waves specialized by hand", "num_stages")
def specialized(x_ptr, y_ptr):
    with tl.async_task([0]):  # here
        tl.store(y_ptr, 1.0)


@expect("sorting inside a kernel", "return_indices")
def sorted_row(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(y_ptr + tl.arange(0, 64), tl.sort(x))  # here


@expect("neither sum, product, maximum nor minimum", "a + b")
def odd_scan(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(y_ptr + tl.arange(0, 64), tl.associative_scan(x, 0, difference))  # here


@expect("several tiles at once", "one tile at a time")
def paired_scan(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    a, b = tl.associative_scan((x, x), 0, paired)  # here


@expect("asin is not there yet", "sqrt")
def arcsine(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(y_ptr + tl.arange(0, 64), libdevice.asin(x))  # here


@expect("strides of 1 axes for a block of 2", "one entry an axis")
def short_strides(x_ptr, y_ptr):
    p = tl.make_block_ptr(x_ptr, (64, 64), (64,), (0, 0), (16, 16), (1, 0))  # here


@expect("axis 2 to check, of a block of 2 axes", "from 0")
def wrong_check(x_ptr, y_ptr):
    p = tl.make_block_ptr(x_ptr, (64, 64), (64, 1), (0, 0), (16, 16), (1, 0))
    x = tl.load(p, boundary_check=(2,))  # here


@expect("1 offsets for a block pointer of 2 axes", "one entry an axis")
def short_advance(x_ptr, y_ptr):
    p = tl.make_block_ptr(x_ptr, (64, 64), (64, 1), (0, 0), (16, 16), (1, 0))
    p = tl.advance(p, (16,))  # here


@expect("a base that is a tile of pointers", "one pointer")
def tile_base(x_ptr, y_ptr):
    d = tl.make_tensor_descriptor(x_ptr + tl.arange(0, 4), [64, 64], [64, 1], [16, 16])  # here


@expect("without offsets", "d.load")
def no_offsets(x_ptr, y_ptr):
    d = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [16, 16])
    x = d.load()  # here


@expect("a value of shape [16, 8] for a block of shape [16, 16]", "stored whole")
def wrong_block(x_ptr, y_ptr):
    d = tl.make_tensor_descriptor(y_ptr, [64, 64], [64, 1], [16, 16])
    d.store([0, 0], tl.zeros([16, 8], dtype=tl.float32))  # here


@expect("rows picked through", "block_shape=[1, n]")
def wrong_gather(x_ptr, y_ptr):
    d = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [16, 16])
    x = d.gather(tl.arange(0, 4), 0)  # here


@expect("is no tensor descriptor", "make_tensor_descriptor")
def descriptor_by_pointer(x_ptr, y_ptr):
    x = tl._experimental_descriptor_load(x_ptr, [0, 0], [16, 16], tl.float32)  # here


@expect("33 rounds of Philox", "1 to 32")
def many_rounds(x_ptr, y_ptr):
    tl.store(y_ptr + tl.arange(0, 64), tl.rand(1, tl.arange(0, 64), n_rounds=33))  # here


@expect("a counter of type f32", "integers")
def float_counter(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(y_ptr + tl.arange(0, 64), tl.rand(1, x))  # here


@expect("a split of shape [16, 4]", "extent 2")
def odd_split(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    a, b = tl.split(tl.reshape(x, (16, 4)))  # here


@expect("changes in this loop in a way that is not followed", "+= step")
def jumping_pointer(x_ptr, y_ptr):
    p = x_ptr + tl.arange(0, 64)
    total = tl.zeros([64], dtype=tl.float32)
    for i in range(4):  # here
        total += tl.load(p)
        p += i * 64
    tl.store(y_ptr + tl.arange(0, 64), total)


@expect("state changes its type here, from (i32, i32) to (i32, i32, i32)", "keeps its shape")
def tuple_state(x_ptr, y_ptr):
    state = (0, 1)
    for i in range(4):
        state = (state[1], state[0] + state[1], i)  # here
    tl.store(y_ptr, state[0])


@expect("not defined on f8e5m2", "stored and converted only")
def eight_bits(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(y_ptr + tl.arange(0, 64), (-x.to(tl.float8e5)).to(tl.float32))  # here
