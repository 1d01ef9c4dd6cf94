"""Kernels in Triton's style on shapes, scans, gathers and products that take a tile both ways round."""

from kiln import triton
import kiln.triton.language as tl
from kiln.triton.language.extra import libdevice


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def scans(x_ptr, sum_ptr, max_ptr, N, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0)
    tl.store(sum_ptr + at, tl.associative_scan(x, 0, plus, reverse=REVERSE), mask=at < N)
    tl.store(max_ptr + at, tl.associative_scan(x, 0, larger, reverse=REVERSE), mask=at < N)


@triton.jit
def reductions(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """sum, maximum, whether any is negative, the parity of how many are, in a row of four."""
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.reduce(x, 0, plus))
    tl.store(out_ptr + 1, tl.reduce(x, 0, larger))
    tl.store(out_ptr + 2, tl.reduce_or(x < 0, 0).to(tl.float32))
    tl.store(out_ptr + 3, tl.xor_sum(x < 0, 0).to(tl.float32))


@triton.jit
def histogram(x_ptr, out_ptr, N, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0)
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=at < N))


@triton.jit
def shuffle(a_ptr, b_ptr, inter_ptr, cat_ptr, flip_ptr, even_ptr, odd_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    twice = tl.arange(0, 2 * BLOCK)
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    mixed = tl.interleave(a, b)
    tl.store(inter_ptr + twice, mixed)
    tl.store(cat_ptr + twice, tl.cat(a, b, can_reorder=True))
    tl.store(flip_ptr + at, tl.flip(a, 0))
    even, odd = tl.split(tl.reshape(mixed, (BLOCK, 2)))
    tl.store(even_ptr + at, even)
    tl.store(odd_ptr + at, tl.ravel(tl.permute(tl.join(even, odd), (1, 0)))[BLOCK:])


@triton.jit
def renamed(out_ptr, SIZE_I: tl.constexpr, SIZE_J: tl.constexpr, GROUP: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), SIZE_I, SIZE_J, GROUP)
    tl.store(out_ptr + tl.program_id(0) * SIZE_J + tl.program_id(1), i * SIZE_J + j)


@triton.jit
def functions(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < N
    x = tl.load(x_ptr + at, mask=inside, other=1.0)
    y = libdevice.exp(x) + tl.math.log2(x + 2.0) + tl.extra.libdevice.rint(
        x * 3.0) + tl.extra.hip.libdevice.log10(x + 2.0)
    y += libdevice.hypot(x, 2.0) + libdevice.trunc(x * 5.0 - 4.0) + libdevice.saturatef(x - 0.5) + tl.math.umulhi(
        at.to(tl.uint32), 1 << 31).to(tl.float32)
    tl.store(out_ptr + at, tl.add(tl.mul(y, 2.0), tl.sub(x, 1.0)), mask=inside)


@triton.jit
def rows_by_number(x_ptr, picked_ptr, out_ptr, back_ptr, rows, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """Rows gathered by number, and scattered to the same places of another matrix; numbers outside are left out."""
    x = tl.make_tensor_descriptor(x_ptr, shape=[rows, WIDTH], strides=[WIDTH, 1], block_shape=[1, WIDTH])
    back = tl.make_tensor_descriptor(back_ptr, shape=[rows, WIDTH], strides=[WIDTH, 1], block_shape=[1, WIDTH])
    picked = tl.load(picked_ptr + tl.arange(0, BLOCK))
    found = x.gather(picked, 0)
    tl.store(out_ptr + tl.arange(0, BLOCK)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :], found)
    back.scatter(found, picked, 0)


@triton.jit
def added_blocks(x_ptr, total_ptr, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Blocks of x added into one block, by whichever program comes."""
    x = tl.make_tensor_descriptor(x_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    total = tl.make_tensor_descriptor(total_ptr, shape=[BM, BN], strides=[BN, 1], block_shape=[BM, BN])
    total.atomic_add([0, 0], x.load([tl.program_id(0) * BM, tl.program_id(1) * BN]))


@triton.jit
def ranks(x_ptr, count_ptr, rank_ptr, N, BLOCK: tl.constexpr):
    """How many of each value there are, and for each element how many of its value came before it."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0)
    before = tl.atomic_add(count_ptr + x, 1, mask=at < N, sem="relaxed")
    tl.store(rank_ptr + at, before, mask=at < N)


@triton.jit
def claims(x_ptr, owner_ptr, won_ptr, BLOCK: tl.constexpr):
    """Each value is owned by one of its elements, whichever came first; free ones are -1."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.atomic_cas(owner_ptr + tl.load(x_ptr + at), -1, at)
    tl.store(won_ptr + at, tl.where(before == -1, 1, 0))


@triton.jit
def padded(x_ptr, y_ptr, rows, columns, pitch, BM: tl.constexpr, BN: tl.constexpr):
    """A block pointer that leaves its matrix, checked on both axes."""
    x = tl.make_block_ptr(x_ptr, (rows, columns), (pitch, 1), (tl.program_id(0) * BM - 3, -2), (BM, BN), (1, 0))
    y = tl.make_block_ptr(y_ptr, (tl.num_programs(0) * BM, BN), (BN, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1), padding_option="zero") + 1.0)


@triton.jit
def both_ways(p_ptr, x_ptr, c_ptr, BM: tl.constexpr, BK: tl.constexpr):
    """x [BK, BM] in four products: from the right and from the left, as it lies and transposed; p is [BM, BM]."""
    ms = tl.arange(0, BM)
    ks = tl.arange(0, BK)
    p = tl.load(p_ptr + ms[:, None] * BM + ms[None, :])
    x = tl.load(x_ptr + ks[:, None] * BM + ms[None, :])
    c0 = tl.dot(x, p)
    c1 = tl.dot(p, tl.trans(x))
    c2 = tl.dot(tl.trans(x), x)
    c3 = tl.dot(x, tl.trans(x))
    tl.store(c_ptr + ks[:, None] * BM + ms[None, :], c0)
    tl.store(c_ptr + BK * BM + ms[:, None] * BK + ks[None, :], c1)
    tl.store(c_ptr + 2 * BK * BM + ms[:, None] * BM + ms[None, :], c2)
    tl.store(c_ptr + 2 * BK * BM + BM * BM + ks[:, None] * BK + ks[None, :], c3)


@triton.jit
def kept_transposed(x_ptr, y_ptr, N: tl.constexpr):
    """The transposed tile is what x was when it was transposed."""
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at[:, None] * N + at[None, :])
    turned = tl.trans(x)
    x += 1.0
    for _ in range(2):
        x += 1.0
    tl.store(y_ptr + at[:, None] * N + at[None, :], turned)
    tl.store(y_ptr + N * N + at[:, None] * N + at[None, :], x)


@triton.jit
def hashed(out_ptr, N, BLOCK: tl.constexpr):
    """Arithmetic that wraps in 32 bits, of an index that does not."""
    at = tl.arange(0, BLOCK)
    mixed = at.to(tl.uint32) * 2654435761
    tl.store(out_ptr + at, (mixed ^ (mixed >> 16)) * 2246822519, mask=at < N)


@triton.jit
def prefetched(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """b lies transposed; the next tiles are loaded before the present ones are multiplied."""
    ms = tl.arange(0, BM)
    ns = tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a = tl.load(a_ptr + ms[:, None] * K + ks[None, :])
    b = tl.load(b_ptr + ks[:, None] + ns[None, :] * K)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(BK, K, BK):
        acc += tl.dot(a, b)
        a = tl.load(a_ptr + ms[:, None] * K + (k + ks)[None, :])
        b = tl.load(b_ptr + (k + ks)[:, None] + ns[None, :] * K)
    acc += tl.dot(a, b)
    tl.store(c_ptr + ms[:, None] * BN + ns[None, :], acc)


@triton.jit
def repeated_rows(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Rows behind the last are the first ones again, and kept."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    x = tl.load(x_ptr + (rows % M)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
    tl.store(y_ptr + rows[:, None] * BN + columns[None, :], x)


@triton.jit
def row_totals(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Sums over rows, those read twice included."""
    rows = tl.arange(0, BM)
    columns = tl.arange(0, BN)
    x = tl.load(x_ptr + (rows % M)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
    tl.store(y_ptr + columns, tl.sum(x, 0), mask=columns < N)


@triton.jit
def windows(x_ptr, y_ptr, step, WIDTH: tl.constexpr, BM: tl.constexpr):
    """Overlapping windows: a row's columns go on in the next rows."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, WIDTH)
    tl.store(y_ptr + rows[:, None] * WIDTH + columns[None, :], tl.load(x_ptr + rows[:, None] * step + columns[None, :]))


@triton.jit
def shifted(x_ptr, y_ptr, M, N, pitch, BM: tl.constexpr, BN: tl.constexpr):
    """Columns from two before the row's begin, which lie in the row above."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * pitch + columns[None, :] - 2, mask=inside, other=0.0)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], x, mask=inside)


@triton.jit
def ragged(x_ptr, begins_ptr, y_ptr, N, BM: tl.constexpr, BN: tl.constexpr):
    """Sequences of their own lengths, one after the other; each fills the first rows of its own BM rows of y."""
    begin = tl.load(begins_ptr + tl.program_id(0))
    length = tl.load(begins_ptr + tl.program_id(0) + 1) - begin
    rows = tl.arange(0, BM)
    columns = tl.arange(0, BN)
    x = tl.load(x_ptr + (begin + rows[:, None]) * N + columns[None, :],
                mask=(rows[:, None] < length) & (columns[None, :] < N),
                other=0.0)
    tl.store(y_ptr + (tl.program_id(0) * BM + rows[:, None]) * N + columns[None, :], x, mask=columns[None, :] < N)


@triton.jit
def described(a_tiles, b_tiles, c_tiles, K):
    """Descriptors that the host made; b lies transposed."""
    row, column = tl.program_id(0) * 32, tl.program_id(1) * 32
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, 32):
        acc = tl.dot(a_tiles.load([row, k]), b_tiles.load([column, k]).T, acc)
    c_tiles.store([row, column], acc.to(tl.float16))
