"""A matrix product: sizes at the top, no element types, no grid. Change the sizes and run it again.

    python examples/authors/matmul.py [DEVICE]          # host, emu:gfx942, hip:0 …
"""
import sys

import numpy

import kiln.language as tl

M, N, K = 1024, 1024, 1024
block = 32


@tl.kernel
def matmul(A: tl.Buffer[M, K], B: tl.Buffer[K, N], C: tl.Buffer[M, N]):
    row, column = tl.program_id(0), tl.program_id(1)
    a = tl.alloc_shared([block, block])
    b = tl.alloc_shared([block, block])
    acc = tl.zeros([block, block], dtype=tl.float32)
    for k in range(0, K, block):
        a[:, :] = A[row * block:(row + 1) * block, k:k + block]
        b[:, :] = B[k:k + block, column * block:(column + 1) * block]
        tl.sync_threads()
        acc += tl.dot(a, b)
    C[row * block:(row + 1) * block, column * block:(column + 1) * block] = acc


if __name__ == "__main__":
    device = sys.argv[1] if len(sys.argv) > 1 else "host"
    random = numpy.random.default_rng(0)
    a, b = random.standard_normal((M, K), dtype="float32"), random.standard_normal((K, N), dtype="float32")
    c = numpy.zeros((M, N), "float32")
    print("%.3f ms on %s" % (matmul(a, b, c, device=device), device))
    print("largest error against NumPy: %.1e" % numpy.abs(c - a @ b).max())
    print("grid:", tl.compile(matmul, (a, b, c)).explain()["grid"])
