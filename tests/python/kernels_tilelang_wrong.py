"""Kernels in TileLang's style with one mistake each, in the line that is marked; tilelang_errors_test.py reads them."""

import kiln.tilelang.language as T

EXPECTED = {}
TILE = (32, 32)


def wrong(message, hint):
    def note(function):
        EXPECTED[function.kernel_function.__name__] = (function, message, hint)
        return function

    return note


def tensor():
    return T.Tensor((64, 64), "float32")


@wrong("has no alloc_shard", "did you mean 'alloc_shared'?")
@T.prim_func
def typo(A: tensor(), B: tensor()):
    with T.Kernel(2, 2) as (i, j):
        a = T.alloc_shard(TILE, "float32")  # here
        T.copy(A[i * 32, j * 32], a)
        T.copy(a, B[i * 32, j * 32])


@wrong("code for one thread", "T.Parallel")
@T.prim_func
def by_thread(A: tensor(), B: tensor()):
    with T.Kernel(64, threads=64) as i:
        j = T.get_thread_binding()  # here
        B[i, j] = A[i, j]


@wrong("copies whose end is waited for by hand", "T.Pipelined")
@T.prim_func
def by_tma(A: tensor(), B: tensor()):
    with T.Kernel(2, 2) as (i, j):
        a = T.alloc_shared(TILE, "float32")
        T.tma_copy(A[i * 32, j * 32], a)  # here
        T.copy(a, B[i * 32, j * 32])


@wrong("barriers by hand", "leave them out")
@T.prim_func
def by_barrier(A: tensor(), B: tensor()):
    with T.Kernel(2, 2) as (i, j):
        a = T.alloc_shared(TILE, "float32")
        full = T.alloc_barrier(1)  # here
        T.copy(A[i * 32, j * 32], a)
        T.mbarrier_wait_parity(full, 0)
        T.copy(a, B[i * 32, j * 32])


@wrong("specialization of warps by hand", "T.Pipelined")
@T.prim_func
def by_warp(A: tensor(), B: tensor()):
    with T.Kernel(2, 2, threads=256) as (i, j):
        a = T.alloc_shared(TILE, "float32")
        with T.ws(0):  # here
            T.copy(A[i * 32, j * 32], a)
        T.copy(a, B[i * 32, j * 32])


@wrong("matrix instructions by hand", "T.gemm on tiles")
@T.prim_func
def by_instruction(A: tensor(), B: tensor()):
    with T.Kernel(2, 2) as (i, j):
        a = T.alloc_shared(TILE, "float32")
        T.copy(A[i * 32, j * 32], a)
        T.ptx_mma("float32", a, a, a)  # here


@wrong("a print of one warp", "the block prints")
@T.prim_func
def printing(A: tensor(), B: tensor()):
    with T.Kernel(2, 2) as (i, j):
        a = T.alloc_shared(TILE, "float32")
        T.copy(A[i * 32, j * 32], a)
        T.print(a, warp_id=1)  # here
        T.copy(a, B[i * 32, j * 32])


@wrong("text of another language", "kiln emulate")
@T.prim_func
def other_text(A: tensor(), B: tensor()):
    with T.Kernel(2, 2) as (i, j):
        T.call_extern("f", A, B)  # here


@wrong("elements of float8_e4m3fn are not supported yet", "uint8")
@T.prim_func
def small_floats(A: T.Tensor((64, 64), T.float8_e4m3fn), B: tensor()):  # here
    with T.Kernel(2, 2) as (i, j):
        T.copy(A[i * 32, j * 32], B[i * 32, j * 32])


@wrong("a statement outside T.Kernel", "T.alloc_global")
@T.prim_func
def outside(A: tensor(), B: tensor()):
    a = T.alloc_shared(TILE, "float32")  # here
    with T.Kernel(2, 2) as (i, j):
        T.copy(A[i * 32, j * 32], a)
        T.copy(a, B[i * 32, j * 32])


@wrong("T.Kernel inside T.Kernel", "one behind the other")
@T.prim_func
def nested(A: tensor(), B: tensor()):
    with T.Kernel(2) as i:
        with T.Kernel(2) as j:  # here
            T.fill(B[i * 32, j * 32], 0)


@wrong("a grid of 4 extents", "join two of them")
@T.prim_func
def wide_grid(A: tensor(), B: tensor()):
    with T.Kernel(2, 2, 2, 2) as (i, j, k, m):  # here
        B[i, j] = A[k, m]


@wrong("is not known when the kernel is launched", "whole-number parameters")
@T.prim_func
def grid_of_data(A: T.Tensor((64,), "int32"), B: tensor()):
    with T.Kernel(A[0]) as i:  # here
        B[i, 0] = 1


@wrong("a product of shape [32, 16] does not fit C, of shape [32, 32]", "transpose_B")
@T.prim_func
def product(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a, b = T.alloc_shared((32, 16), "float32"), T.alloc_shared((16, 16), "float32")
        c = T.alloc_fragment((32, 32), "float32")
        T.copy(A[0, 0], a)
        T.copy(A[0, 0], b)
        T.gemm(a, b, c, clear_accum=True)  # here
        T.copy(c, B[0, 0])


@wrong("a copy from shape [32, 32] to shape [32]", "the same extents")
@T.prim_func
def copied_rank(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a, b = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32,), "float32")
        T.copy(A[0, 0], a)
        T.copy(a, b)  # here
        T.copy(b, B[0, 0])


@wrong("a copy from shape [64] to shape [32]", "the same extents")
@T.prim_func
def copied_half(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a = T.alloc_shared((32,), "float32")
        T.copy(A[0, 0:64], a)  # here
        T.copy(a, B[0, 0])


@wrong("a copy from shape [16] to shape [64]", "the same extents")
@T.prim_func
def copied_to_more(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a = T.alloc_shared((32,), "float32")
        T.copy(A[0, 0], a)
        T.copy(a[8:24], B[0, 0:64])  # here


@wrong("a copy from shape [32, 16] to shape [16, 32]", "the same extents")
@T.prim_func
def copied_turned(A: tensor(), B: tensor()):
    with T.Kernel(1):
        T.copy(A[0:32, 0:16], B[0:16, 0:32])  # here


@wrong("axis 2 of a tile of shape [32, 32]", "dim=-1")
@T.prim_func
def reduced_axis(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a, m = T.alloc_fragment((32, 32), "float32"), T.alloc_fragment((32,), "float32")
        T.copy(A[0, 0], a)
        T.reduce_max(a, m, dim=2)  # here
        T.copy(m, B[0, 0])


@wrong("total, made outside the elementwise loop, changes inside it", "T.reduce_sum")
@T.prim_func
def shared_number(A: tensor(), B: tensor()):
    with T.Kernel(64) as i:
        total = T.alloc_var(T.float32)
        for j in T.Parallel(64):
            total = total + A[i, j]  # here
        B[i, 0] = total


@wrong("a loop of 4096 iterations inside an elementwise loop", "T.reduce_sum")
@T.prim_func
def long_inner_loop(A: tensor(), B: tensor()):
    with T.Kernel(1):
        for i, j in T.Parallel(64, 64):
            for k in T.serial(4096):  # here
                B[i, j] = A[i, j] + k


@wrong("a copy of tiles inside an elementwise loop", "element by element")
@T.prim_func
def copy_inside(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a = T.alloc_shared((64,), "float32")
        for i in T.Parallel(64):
            T.copy(A[i, 0], a)  # here


@wrong("this while loop is not supported", "for i in T.serial(n)")
@T.prim_func
def endless(A: tensor(), B: tensor()):
    with T.Kernel(1):
        n = T.alloc_var(T.int32, 0)
        while n < 4:  # here
            B[n, 0] = A[n, 0]
            n = n * 2 + 1


@wrong("this is known only from elements of a tile", "elements of tensors that are only read")
@T.prim_func
def bound_of_tile(A: tensor(), B: tensor()):
    with T.Kernel(1):
        n = T.alloc_local((1,), "int32")
        n[0] = T.Cast("int32", A[0, 0]) * 2
        for k in T.serial(n[0] + n[0]):  # here
            B[k, 0] = 0


@wrong("an atomic operation on a tile", "T.reduce_sum")
@T.prim_func
def atomic_tile(A: tensor(), B: tensor()):
    with T.Kernel(1):
        a = T.alloc_shared((1,), "float32")
        T.clear(a)
        for i in T.Parallel(64):
            T.atomic_add(a[0], A[i, 0])  # here


@wrong("a tensor that reads as 7 outside itself", "T.if_then_else")
@T.prim_func
def safe_value(A: tensor(), B: tensor()):
    with T.Kernel(1):
        T.annotate_safe_value({A: 7})  # here
        B[0, 0] = A[0, 0]


@wrong("write the same element", "the statement reduce")
@T.prim_func
def race(A: tensor(), B: tensor()):
    with T.Kernel(1):
        for i, j in T.Parallel(64, 64):
            B[i, 0] = A[i, j]  # here


@wrong("1.5 is no extent of a grid", "T.ceildiv")
@T.prim_func
def odd_grid(A: tensor(), B: tensor()):
    with T.Kernel(3 / 2) as i:  # here
        B[i, 0] = 1


@wrong("-1 is no extent of a grid", "from 0 on")
@T.prim_func
def negative_grid(A: tensor(), B: tensor()):
    with T.Kernel(1, -1) as (i, j):  # here
        B[i, j] = 1


@wrong("0 is no number of threads", "1 to 1024")
@T.prim_func
def no_threads(A: tensor(), B: tensor()):
    with T.Kernel(1, threads=0) as i:  # here
        B[i, 0] = 1


@wrong("2.5 is no number of threads", "1 to 1024")
@T.prim_func
def odd_threads(A: tensor(), B: tensor()):
    with T.Kernel(1, threads=2.5) as i:  # here
        B[i, 0] = 1


@wrong("2048 threads in a block", "at most 1024")
@T.prim_func
def many_threads(A: tensor(), B: tensor()):
    with T.Kernel(1, threads=(32, 64)) as i:  # here
        B[i, 0] = 1
