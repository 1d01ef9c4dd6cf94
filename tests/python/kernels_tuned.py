"""A product whose blocks are chosen by tuning; run as a script it prints what was chosen and whether it was measured: SHAPE… as M N K."""

import json
import sys

import numpy

import kiln.language as tl

CONFIGS = [tl.Config(BM=128, BN=32, BK=32), tl.Config(BM=16, BN=128, BK=64), tl.Config(BM=16, BN=256, BK=128)]


@tl.autotune(configs=CONFIGS, key=["A", "B"])
@tl.kernel
def product(A, B, C, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, A.shape[1], BK):
        acc += tl.dot(A[i * BM:(i + 1) * BM, k:k + BK], B[k:k + BK, j * BN:(j + 1) * BN])
    C[i * BM:(i + 1) * BM, j * BN:(j + 1) * BN] = acc


def run(m, n, k, device="host"):
    random = numpy.random.default_rng(0)
    a, b = random.standard_normal((m, k), dtype="float32"), random.standard_normal((k, n), dtype="float32")
    c = numpy.zeros((m, n), "float32")
    product(a, b, c, device=device)
    numpy.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
    answer = product.tuning.last
    return {"winner": answer["winner"], "found": answer.get("found", False), "ratio": answer.get("ratio"), "ranked_by": answer["ranked_by"],
            "record": answer["record"], "rows": {r["name"]: r["verdict"] for r in answer["candidates"]}}


if __name__ == "__main__":
    sizes = [int(x) for x in sys.argv[1:]]
    print(json.dumps([run(*sizes[i:i + 3]) for i in range(0, len(sizes), 3)]))
