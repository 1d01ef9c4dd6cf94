"""The transpose of a matrix through a shared tile, so that both sides are moved along their rows. On cards the tile has
32 rows of 128 bytes: lowering finds a layout without bank conflicts for it, whatever vectors the sizes permit."""

import kiln.language as tl

dtype = tl.option("dtype", tl.float32, choices=[tl.float32, tl.float16, tl.bfloat16, tl.int8])


@tl.kernel
def transpose(X: tl.Buffer["M", "N", dtype], Y: tl.Buffer["N", "M", dtype]):
    BM = tl.tunable(128 if tl.on_host() else 32, candidates=[16, 32, 64, 128])
    BN = tl.tunable(64 if tl.on_host() else 32 if dtype == tl.float32 else 128 if dtype == tl.int8 else 64,
                    candidates=[16, 32, 64, 128])
    THREADS = tl.tunable(1 if tl.on_host() else 256, candidates=[64, 128, 256])
    tl.threads(THREADS)

    j, i = tl.program_id(0), tl.program_id(1)
    tile = tl.alloc_shared([BM, BN], dtype)
    tile[:, :] = X[i * BM : (i + 1) * BM, j * BN : (j + 1) * BN]
    Y[j * BN : (j + 1) * BN, i * BM : (i + 1) * BM] = tl.transpose(tile)
