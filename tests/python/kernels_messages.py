"""Kernels that print and assert while they run, in the three styles."""

import kiln.language as kl
import kiln.tilelang.language as T
import kiln.triton.language as tl
from kiln import tilelang, triton


@kl.kernel
def rows(x, y):
    i = kl.program_id(0)
    v = x[i, :]
    print("row", i, "first", x[i, 0])
    assert i < 3, "few rows"
    y[i, :] = v + v


@triton.jit
def elements(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.device_print("x is", x, offsets)
    tl.device_assert(x < 100.0, "large", mask=offsets < n)
    tl.store(y_ptr + offsets, x * 2.0, mask=offsets < n)


@tilelang.jit(target="host")
def tiles(n):
    @T.prim_func
    def main(A: T.Tensor((n, 8), "float32"), B: T.Tensor((n, 8), "float32")):
        with T.Kernel(n) as i:
            a = T.alloc_fragment((8,), "float32")
            T.copy(A[i, 0], a)
            T.print(i, msg="block")
            for j in T.Parallel(8):
                if a[j] > 13.0:
                    T.print(a[j], msg="over")
                T.device_assert(a[j] < 1000.0, "huge")
                a[j] = a[j] + 1.0
            T.copy(a, B[i, 0])

    return main
