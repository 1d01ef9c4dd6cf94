"""Kernels with one mistake each, in the line that is marked; language_errors_test.py reads them. EXPECTED: what is said, and a hint."""

import kiln.language as tl

EXPECTED = {}


def wrong(message, hint):
    def note(function):
        EXPECTED[function.__name__] = (function, message, hint)
        return function

    return note


@wrong("kiln.language has no expp", "did you mean 'exp'")
def typo(A, B):
    i = tl.program_id(0)
    B[i * 8:(i + 1) * 8, :] = tl.expp(A[i * 8:(i + 1) * 8, :])  # here


@wrong("blok is not defined", "did you mean 'block'")
def undefined(A, B, block: tl.constexpr = 8):
    i = tl.program_id(0)
    B[i * 8:(i + 1) * 8, :] = A[i * blok:(i + 1) * 8, :]  # here


@wrong("3 indices for B, which has 2 axes", "for each axis")
def wrong_rank(A, B):
    i = tl.program_id(0)
    B[i * 8:(i + 1) * 8, 0:4, :] = A[i * 8:(i + 1) * 8, :]  # here


@wrong("do not fit together", "x[:, None]")
def wrong_shape(A, B):
    i = tl.program_id(0)
    B[i * 8:(i + 1) * 8, :] = A[i * 4:(i + 1) * 4, :]  # here


@wrong("a product of shapes [8, 16] and [8, 16]", "the second extent of the first")
def wrong_product(A, B):
    a = tl.load(A[0:8, 0:16])
    B[0:8, 0:8] = tl.dot(a, a)  # here


@wrong("a product of f32 and f16", "both operands have one type")
def mixed_product(A, B):
    a = tl.load(A[0:16, 0:16])
    B[0:16, 0:16] = tl.dot(a, a.to(tl.float16))  # here


@wrong("unexpected keyword argument 'maks'", "the signature is load(")
def wrong_keyword(A, B):
    B[0:8, 0:16] = tl.load(A[0:8, 0:16], maks=3)  # here


@wrong("a while loop is not supported", "for i in range")
def while_loop(A, B):
    i = tl.program_id(0)
    while i < 3:  # here
        i += 1


@wrong("try is not supported", "no exceptions")
def try_block(A, B):
    try:  # here
        B[0:8, 0:8] = A[0:8, 0:8]
    finally:
        pass


@wrong("raise is not supported", "static_assert")
def raising(A, B):
    raise ValueError("x")  # here


@wrong("break is not supported", "true bound")
def breaking(A, B):
    for k in range(0, 64, 8):
        break  # here


@wrong("continue is not supported", "opposite if")
def continuing(A, B):
    for k in range(0, 64, 8):
        continue  # here


@wrong("a lambda is not supported", "@tl.jit")
def with_lambda(A, B):
    f = lambda x: x  # noqa: E731  # here
    B[0:8, 0:8] = f(A[0:8, 0:8])


@wrong("a function inside a kernel is not supported", "outside")
def nested(A, B):
    def inner(x):  # here
        return x

    B[0:8, 0:8] = inner(A[0:8, 0:8])


@wrong("a comprehension is not supported", "static_range")
def comprehension(A, B):
    x = [k for k in range(3)]  # here
    B[0:8, 0:8] = x[0]


@wrong("an import inside a kernel is not supported", "top of the file")
def importing(A, B):
    import math  # here
    B[0:8, 0:8] = math.pi


@wrong("global is not supported", "argument")
def with_global(A, B):
    global EXPECTED  # here
    B[0:8, 0:8] = 0


@wrong(":= is not supported", "assignment")
def walrus(A, B):
    B[0:8, 0:8] = (x := 3)  # here  # noqa: F841


@wrong("a class is not supported", "tuples")
def with_class(A, B):
    class C:  # here
        pass


@wrong("a kernel returns nothing", "parameter")
def returning(A, B):
    return A  # here


@wrong("print with end=", "texts and values")
def printing(A, B):
    print("x", end="")  # here


@wrong("an if on the elements of a tile", "tl.where")
def tile_condition(A, B):
    a = tl.load(A[0:8, :])
    if a > 0:  # here
        B[0:8, :] = a


@wrong("acc changes its type here, from f32[8, 8] to f32[16, 8]", ".to(")
def carried(A, B):
    acc = tl.zeros([8, 8])
    for k in range(0, 64, 8):
        acc = tl.load(A[0:16, k:k + 8])  # here
    B[0:8, 0:8] = acc


@wrong("known only inside the loop", "before the loop")
def loop_variable(A, B):
    for k in range(0, 64, 8):
        a = k
    B[0:8, 0:8] = A[a:a + 8, 0:8]  # here


@wrong("the extent of this slice", "start + constant")
def unknown_extent(A, B):
    i = tl.program_id(0)
    B[0:8, 0:8] = A[i:2 * i + 8, 0:8]  # here


@wrong("an empty slice", "x[i : i + n]")
def empty_slice(A, B):
    B[8:8, 0:8] = A[0:8, 0:8]  # here


@wrong("a slice with a step", "pointer")
def stepped(A, B):
    B[0:8, 0:8] = A[0:16:2, 0:8]  # here


@wrong("a bound that depends on a tile's element", "uniform")
def element_bound(A, B):
    n = tl.sum(tl.load(A[0:8, 0:8]))
    for k in range(0, n.to(tl.int32)):  # here
        B[0:8, 0:8] = k


@wrong("cannot be inferred", "grid=")
def no_grid(A, B):
    i = tl.program_id(0)  # here
    B[0:8, :] = A[0:8, :] + i


@wrong("the grid's extent along axis 0", "grid=")
def two_grids(A, B):
    i = tl.program_id(0)
    x = tl.load(A[i * 8:(i + 1) * 8, 0:8])
    B[i * 16:i * 16 + 8, 0:8] = x  # here


@wrong("is used as a pointer and with axes", "one of the two")
def pointer_and_axes(A, B):
    x = tl.load(A + tl.arange(0, 8))
    B[0:8, 0] = x + A[0:8, 0]  # here


@wrong("is a pointer, not a value", "tl.load")
def pointer_value(A, B):
    p = A + tl.arange(0, 8)
    B[0:8, 0] = p * 2  # here


@wrong("leaves the layout", "padding")
def small_layout(A, B):
    t = tl.alloc_shared([32, 32], dtype=tl.float32, layout=tl.make_block_layout((32, 16)))  # here
    t[:, :] = A[0:32, 0:32]
    B[0:32, 0:32] = t


@wrong("is no element type", "tl.float16")
def wrong_dtype(A, B):
    t = tl.zeros([8, 8], dtype="float17")  # here
    B[0:8, 0:8] = t


@wrong("an extent must be known when the kernel is compiled", "constexpr")
def runtime_extent(A, B):
    i = tl.program_id(0)
    t = tl.zeros([i, 8])  # here
    B[0:8, 0:8] = t


@wrong("is never written", "write it before")
def unwritten(A, B):
    t = tl.alloc_shared([8, 8], dtype=tl.float32)  # here
    B[0:8, 0:8] = t


@wrong("axis 2 of a tile of shape [", "count from 0")
def wrong_axis(A, B):
    a = tl.load(A[0:8, 0:8])
    B[0:8, 0] = tl.sum(a, axis=2)  # here


@wrong("a function of Python", "tl.exp")
def python_function(A, B):
    import_free = tl.load(A[0:8, 0:8])
    B[0:8, 0:8] = abs.__call__(import_free)  # here


@wrong("a step of -1", "count upwards")
def backwards(A, B):
    for k in range(8, 0, -1):  # here
        B[0:8, 0:8] = k


@wrong("for … else is not supported", "behind the loop")
def for_else(A, B):
    for k in range(3):
        B[0:8, 0:8] = k
    else:
        pass  # here


@wrong("is for integers", ".to(tl.int32)")
def float_shift(A, B):
    B[0:8, 0:8] = A[0:8, 0:8] << 2  # here
