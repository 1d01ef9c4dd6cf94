"""Kernels in Triton's style whose numbers follow Triton's rules: quotients, types, sums, places of 64 bits."""

from kiln import triton
import kiln.triton.language as tl


# -- quotients


@triton.jit
def quotients(x_ptr, y_ptr, q_ptr, r_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(q_ptr + at, x // y)
    tl.store(r_ptr + at, x % y)


@triton.jit
def quotients_by_three(x_ptr, q_ptr, r_ptr, BLOCK: tl.constexpr):
    """Of tiles, of loaded numbers, of indices, and of numbers that a loop changes."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(q_ptr + at, x // 3)
    tl.store(r_ptr + at, x % 3)
    index = at - BLOCK // 2
    tl.store(q_ptr + BLOCK + at, index // -3)
    tl.store(r_ptr + BLOCK + at, index % -3)
    changed = -5
    for k in range(BLOCK):
        one = tl.load(x_ptr + k)
        tl.store(q_ptr + 2 * BLOCK + k, one // 3)
        tl.store(r_ptr + 2 * BLOCK + k, one % 3)
        tl.store(q_ptr + 3 * BLOCK + k, (k - 4) // 3)
        tl.store(r_ptr + 3 * BLOCK + k, changed % 3)
        changed += one


@triton.jit
def rounded_up(out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.cdiv(n, BLOCK))
    tl.store(out_ptr + 1, triton.cdiv(n, BLOCK))
    tl.store(out_ptr + 2, -7 // 2)  # numbers among themselves are Python's


@triton.jit
def float_remainders(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) % tl.load(y_ptr + at))
    tl.store(out_ptr + BLOCK + at, tl.load(x_ptr + at) % 1.5)


# -- types


@triton.jit
def generated(seed_ptr, out_ptr, COUNT: tl.constexpr):
    s = tl.load(seed_ptr)
    for k in range(COUNT):
        s = s * 1664525 + 1013904223
        tl.store(out_ptr + k, s >> 16)


@triton.jit
def mixed(out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    h = at.to(tl.uint32) * 2654435761
    h = h + at
    h = h ^ (h >> 15)
    h = h * 2246822519
    tl.store(out_ptr + at, h % 1000)


@triton.jit
def products_of_numbers(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    tl.store(out_ptr, x * 1000 * 1000 * 1000 * 1000)


@triton.jit
def beside_indices(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """An index beside a wide integer takes its type; one that is compared does not."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x + at * n)
    tl.store(out_ptr + BLOCK + at, tl.where(at - 4 < x, 1, 0))
    tl.store(out_ptr + 2 * BLOCK + at, tl.maximum(x, at))
    tl.store(out_ptr + 3 * BLOCK + at, tl.cdiv(x, 2))


@triton.jit
def stepped(seed_ptr, out_ptr, n):
    """A loaded number that grows by the same amount each time wraps in its type."""
    s = tl.load(seed_ptr)
    for k in range(n):
        s += 0x5E3779B9
        tl.store(out_ptr + k, s >> 16)
    tl.store(out_ptr + n, s)


@triton.jit
def ragged(x_ptr, begins_ptr, out_ptr, ends_ptr, BLOCK: tl.constexpr):
    """Rows of many lengths: a loaded place that moves on in a loop."""
    row = tl.program_id(0)
    at = tl.load(begins_ptr + row)
    end = tl.load(begins_ptr + row + 1)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for _ in range(at, end, BLOCK):
        places = at + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + places, mask=places < end, other=0.0)
        at += BLOCK
    tl.store(out_ptr + row, tl.sum(acc, 0))
    tl.store(ends_ptr + row, at)


# -- reductions


@triton.jit
def sums(x_ptr, out_ptr, running_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.sum(x, axis=0))
    tl.store(out_ptr + 1, tl.max(x, axis=0) + tl.max(x, axis=0))
    tl.store(out_ptr + 2, tl.sum(x > 0))
    tl.store(out_ptr + 3, tl.sum(x, dtype=tl.int64))
    tl.store(running_ptr + tl.arange(0, BLOCK), tl.cumsum(x, 0))
    tl.store(running_ptr + BLOCK + tl.arange(0, BLOCK), tl.cumsum(x > 0, 0))
    tl.store(running_ptr + 2 * BLOCK + tl.arange(0, BLOCK), tl.cumsum(x, 0, dtype=tl.int64))


@triton.jit
def sum_of_all(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0))
    tl.store(out_ptr + 1, tl.max(tl.cumsum(tl.load(x_ptr + tl.arange(0, BLOCK)), 0), 0))


@triton.jit
def places(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    value, place = tl.max(x, 1, True)  # Triton's order of arguments
    rows = tl.arange(0, M)
    tl.store(out_ptr + rows, value)
    tl.store(out_ptr + M + rows, place)
    tl.store(out_ptr + 2 * M + rows, tl.argmin(x, 1, True))
    tl.store(out_ptr + 3 * M, tl.argmax(x, None))


@triton.jit
def beside_nan(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(x_ptr + BLOCK - 1 - at)
    tl.store(out_ptr + at, tl.maximum(x, 0.0))
    tl.store(out_ptr + BLOCK + at, tl.minimum(x, y))
    tl.store(out_ptr + 2 * BLOCK + at, tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 3 * BLOCK + at, tl.clamp(x, -1.0, 2.0))
    tl.store(out_ptr + 4 * BLOCK + at, tl.clamp(x, -1.0, 2.0, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
def product_in_f16(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    acc = tl.zeros((N, N), dtype=tl.float16)
    for k in range(2):
        acc += tl.dot(x, x, out_dtype=tl.float16)
    tl.store(out_ptr + at, acc)
    tl.store(out_ptr + N * N + at, tl.dot(x, x, acc, out_dtype=tl.float16))


# -- places of 64 bits


@triton.jit
def embedded(ids_ptr, table_ptr, out_ptr, n, D, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, WIDTH)
    row = tl.load(ids_ptr + at, mask=at < n, other=0)
    inside = (at < n)[:, None] & (column < D)[None, :]
    tl.store(out_ptr + at[:, None] * D + column, tl.load(table_ptr + row[:, None] * D + column, mask=inside),
             mask=inside)


@triton.jit
def embedded_rows(ids_ptr, table_ptr, out_ptr, D, WIDTH: tl.constexpr):
    token = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    row = tl.load(ids_ptr + token)
    tl.store(out_ptr + token * D + column, tl.load(table_ptr + row * D + column, mask=column < D), mask=column < D)


@triton.jit
def losses(logits_ptr, target_ptr, loss_ptr, V, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    target = tl.load(target_ptr + row)
    x = tl.load(logits_ptr + row * V + at, mask=at < V, other=float("-inf"))
    top = tl.max(x, 0)
    total = tl.log(tl.sum(tl.exp(x - top), 0)) + top
    if target == -100:
        tl.store(loss_ptr + row, 0.0)
    else:
        tl.store(loss_ptr + row, total - tl.load(logits_ptr + row * V + target))


@triton.jit
def counted(count_ptr, out_ptr):
    s = 0.0
    for k in range(0, tl.load(count_ptr)):
        s += 1.0
    tl.store(out_ptr, s)


# -- in place


@triton.jit
def doubled(x_ptr):
    row = tl.program_id(0)
    tl.store(x_ptr + row, tl.load(x_ptr + row) * 2)


@triton.jit
def twice(value, x_ptr):
    tl.store(x_ptr, value + 100)
    return value + tl.load(x_ptr)


@triton.jit
def stored_between(x_ptr, out_ptr):
    row = tl.program_id(0)
    before = tl.load(x_ptr + row)
    tl.store(x_ptr + row, before + 100)
    tl.store(out_ptr + row, before + tl.load(x_ptr + row))


@triton.jit
def passed_on(x_ptr, out_ptr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, twice(tl.load(x_ptr + row), x_ptr + row))


# -- libdevice


@triton.jit
def of_libdevice(x_ptr, i_ptr, out_ptr, high_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.extra.libdevice.round(x))
    tl.store(out_ptr + BLOCK + at, tl.extra.libdevice.fmod(x, 0.75))
    i = tl.load(i_ptr + at)
    tl.store(high_ptr + at, tl.extra.libdevice.mulhi(i, i - 77))
