"""Matrix products of ``kiln.language``."""

from __future__ import annotations

from typing import Any, Tuple

from ._access import Reader
from ._arithmetic import Mistake, cast, reading, same_shape, shape_text
from ._expr import Dot, Region, Tile, Transposed
from ._operations import dtype_name, operation
from ._types import DTYPES


def product_operand(t: Reader, value: Any, hint: str) -> Tuple[Tile, bool]:
    """A tile, and whether it is read transposed."""
    if isinstance(value, Transposed):
        tile, flipped = product_operand(t, value.of, hint)
        return tile, not flipped
    if isinstance(value, Tile):
        if value.dtype is None:
            raise Mistake("%s is read before it is written" % value.name,
                          "fill it first: a copy, tl.zeros or an assignment")
        return value, False
    return t.tile(value if isinstance(value, Region) else t.expr(value), hint, "shared"), False


@operation()
def _dot(t: Reader, input: Any, other: Any, acc: Any = None, input_precision: Any = None, allow_tf32: Any = None,
         max_num_imprecise_acc: Any = None, out_dtype: Any = None, trans_a: bool = False, trans_b: bool = False) -> Any:
    hint = t.hint
    a, transpose_a = product_operand(t, input, "a_tile")
    b, transpose_b = product_operand(t, other, "b_tile")
    transpose_a, transpose_b = transpose_a != bool(trans_a), transpose_b != bool(trans_b)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Mistake("a product of shapes %s and %s" % (shape_text(a.shape), shape_text(b.shape)),
                      "tl.dot takes tiles of two axes")
    (m, k), (k2, n) = a.shape[::-1] if transpose_a else a.shape, b.shape[::-1] if transpose_b else b.shape
    if k != k2 and not reading.same(k, k2):
        raise Mistake("a product of shapes [%s, %s] and [%s, %s]" % (m, k, k2, n),
                      "the second extent of the first is the first of the second")
    if a.dtype != b.dtype:
        raise Mistake("a product of %s and %s" % (a.dtype, b.dtype),
                      "both operands have one type: convert one with .to(…)")
    chosen = t.builder.options.get(str(a.dtype), {}).get("choices", [a.dtype])  # the types that an option may mean
    if any(word not in ("f16", "bf16", "f32", "i8") for word in chosen) or ("i8" in chosen and len(chosen) > 1):
        raise Mistake("a product of tiles of %s" % a.dtype, "operands are f16, bf16, f32 or i8")
    dtype = "i32" if a.dtype == "i8" else "f32"
    wanted = dtype if out_dtype is None else dtype_name(out_dtype)
    if wanted != dtype and (a.dtype, wanted) != ("f16", "f16"):
        raise Mistake("out_dtype=%s of a product of %s" % (DTYPES[wanted], a.dtype),
                      "it is %s: leave out_dtype= out, and convert the product with .to(…)" % DTYPES[dtype])
    added: Any = None
    if acc is not None:
        added = acc if isinstance(acc, Tile) else t.expr(acc)
        if not same_shape(added.shape, (m, n)) or added.dtype != wanted:
            raise Mistake("an accumulator of type %s%s for a product of type %s[%s, %s]"
                          % (added.dtype, shape_text(added.shape), wanted, m, n),
                          "convert it with .to(…), or reshape it")
    if wanted == dtype:
        return Dot(a, b, transpose_a, transpose_b, (m, n), dtype, added)
    added = None if added is None else cast(t.expr(added), dtype)  # rounded once, behind the sum
    return cast(t.tile(Dot(a, b, transpose_a, transpose_b, (m, n), dtype, added), hint).read(), wanted)
