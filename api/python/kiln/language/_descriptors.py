"""Block pointers and tensor descriptors: a parameter seen with a shape and strides, moved in blocks."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from ._access import Reader
from ._arithmetic import Mistake, as_dim, binary, broadcast, index_of, same_shape, shape_text
from ._expr import STATIC, BlockPointer, Expr, Param, Pointer, Poly, index_expr
from ._memory import describe
from ._operations import operation


class Descriptor(BlockPointer):
    """A tensor descriptor: offsets are given with each access, all axes are checked."""

    __slots__ = ("fill",)

    fill: Optional[float]


def _list(t: Reader, value: Any, what: str) -> List[Any]:
    if not isinstance(value, (tuple, list)):
        raise Mistake("%s that is %s" % (what, describe(value)), "a tuple, one entry an axis")
    return list(value)


def _base(t: Reader, base: Any) -> Tuple[Param, Expr]:
    if isinstance(base, Param):
        base = t.moved_pointer(base, 0)
    if not isinstance(base, Pointer):
        raise Mistake("a base that is %s" % describe(base), "a parameter, or a parameter plus an offset")
    if base.offset.shape:
        raise Mistake("a base that is a tile of pointers", "one pointer: block_shape says how large the block is")
    return base.param, base.offset


def made(t: Reader, kind: Any, base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any) -> Any:
    """A block pointer or descriptor of as many axes as the block has."""
    param, offset = _base(t, base)
    block = tuple(as_dim(n) for n in _list(t, block_shape, "a block's shape"))
    parts = []
    for value, what in ((shape, "a shape"), (strides, "strides"), (offsets, "offsets")):
        entries = _list(t, value, what)
        if len(entries) != len(block):
            raise Mistake("%s of %d axes for a block of %d" % (what, len(entries), len(block)),
                          "one entry an axis of the block")
        parts.append([index_of(t.operand(x)) for x in entries])
    if not 1 <= len(block) <= 4:
        raise Mistake("a block of %d axes" % len(block), "1 to 4")
    return kind(param, parts[0], parts[1], parts[2], block, offset)


def described(param: Param, told: Any) -> Descriptor:
    """The descriptor that was passed as an argument: (shape, strides, block, padding), all numbers."""
    shape, strides, block, padding = told
    if len(shape) != len(block) or len(strides) != len(block):
        raise Mistake("a descriptor of %d extents, %d strides and a block of %d axes" %
                      (len(shape), len(strides), len(block)), "as many extents, strides and axes of the block")
    param.mode = "flat"
    entries = [[index_expr(n, STATIC) for n in numbers] for numbers in (shape, strides, [0] * len(block))]
    made_of = Descriptor(param, entries[0], entries[1], entries[2], tuple(block), index_expr(0, STATIC))
    made_of.fill = float("nan") if padding == "nan" else None
    return made_of


@operation("make_block_ptr")
def _make_block_ptr(t: Reader,
                    base: Any,
                    shape: Any,
                    strides: Any,
                    offsets: Any,
                    block_shape: Any,
                    order: Any = None) -> BlockPointer:
    return made(t, BlockPointer, base, shape, strides, offsets, block_shape)


@operation("make_tensor_descriptor")
def _make_tensor_descriptor(t: Reader,
                            base: Any,
                            shape: Any,
                            strides: Any,
                            block_shape: Any,
                            padding_option: Any = "zero") -> Descriptor:
    if padding_option not in ("zero", "nan"):
        raise Mistake("padding %r" % (padding_option,), "\"zero\" or \"nan\"")
    descriptor = made(t, Descriptor, base, shape, strides, [0] * len(_list(t, block_shape, "a block's shape")),
                      block_shape)
    descriptor.fill = float("nan") if padding_option == "nan" else None
    return descriptor


@operation("advance")
def _advance(t: Reader, base: Any, offsets: Any) -> BlockPointer:
    if not isinstance(base, BlockPointer) or isinstance(base, Descriptor):
        raise Mistake("tl.advance of %s" % describe(base),
                      "tl.make_block_ptr(…) makes what can be advanced; a pointer moves by +=")
    steps = _list(t, offsets, "offsets")
    if len(steps) != len(base.offsets):
        raise Mistake("%d offsets for a block pointer of %d axes" % (len(steps), len(base.offsets)),
                      "one entry an axis, 0 for those that stay")
    moved = [t.expr(binary("+", o, index_of(t.operand(s)))) for o, s in zip(base.offsets, steps)]
    return BlockPointer(base.param, base.shape, base.strides, moved, base.block, base.base)


def _axes(given: Any, rank: int) -> List[int]:
    """The axes of a ``boundary_check``."""
    axes = list(given) if isinstance(given, (tuple, list)) else [given]
    for axis in axes:
        if not isinstance(axis, int) or not -rank <= axis < rank:
            raise Mistake("axis %r to check, of a block of %d axes" % (axis, rank),
                          "boundary_check lists axes from 0: (0, 1) for both of two")
    return sorted({axis % rank for axis in axes})


def _coordinate(axis: int, rank: int, extent: Any, first: Expr) -> Expr:
    """The coordinates of a block along one axis: shape 1 but along it."""
    shape = tuple(extent if k == axis else 1 for k in range(rank))
    return broadcast(first, shape) if not first.shape and extent == 1 else \
        binary("+", Expr("index", None, shape, STATIC, Poly.of("$%d" % axis)), first)  # type: ignore[return-value]


def addressed(t: Reader, block: BlockPointer, offsets: Sequence[Expr], checked: Sequence[int]) -> Tuple[Pointer, Any]:
    """The pointers of a block's elements, and the mask of those inside on the axes to check."""
    rank = len(block.block)
    offset, mask = block.base, None
    for axis in range(rank):
        at = _coordinate(axis, rank, block.block[axis], offsets[axis])
        offset = binary("+", offset, binary("*", at, block.strides[axis]))
        if axis in checked:
            inside = binary("<", at, block.shape[axis])
            if _may_be_negative(offsets[axis]):
                inside = binary("&", binary(">=", at, 0), inside)
            mask = inside if mask is None else binary("&", mask, inside)
    return Pointer(block.param, broadcast(t.expr(offset), block.block)), mask


def _may_be_negative(offset: Expr) -> bool:
    """Whether an offset has a part that is taken away, or one of which nothing is known."""
    assert offset.poly is not None
    return any(value < 0 for value in offset.poly.terms.values()) or any("cast(" in atom or "-" in atom
                                                                         for key in offset.poly.terms for atom in key)


def _offsets(t: Reader, block: BlockPointer, given: Any) -> List[Expr]:
    if given is None:
        if isinstance(block, Descriptor):
            raise Mistake("an access through a descriptor without offsets", "d.load([row, column])")
        return list(block.offsets)
    entries = _list(t, given, "offsets")
    if len(entries) != len(block.block):
        raise Mistake("%d offsets for a block of %d axes" % (len(entries), len(block.block)), "one offset an axis")
    return [index_of(t.operand(x)) for x in entries]


@operation("descriptor.load")
def _load(t: Reader,
          block: Any,
          offsets: Any = None,
          boundary_check: Any = (),
          padding_option: str = "") -> Any:
    """A block as a tile: what a descriptor's lies outside is its padding; a block pointer checks ``boundary_check``."""
    hint = t.hint
    checked = range(len(block.block)) if isinstance(block, Descriptor) else _axes(boundary_check, len(block.block))
    pointer, mask = addressed(t, block, _offsets(t, block, offsets), list(checked))
    fill = getattr(block, "fill", None) if isinstance(block,
                                                      Descriptor) else float("nan") if padding_option == "nan" else None
    return t.load_pointer(pointer, mask, fill if mask is not None else None, hint)


@operation("descriptor.store")
def _store(t: Reader, block: Any, offsets: Any, value: Any, boundary_check: Any = ()) -> None:
    checked = range(len(block.block)) if isinstance(block, Descriptor) else _axes(boundary_check, len(block.block))
    pointer, mask = addressed(t, block, _offsets(t, block, offsets), list(checked))
    _fits(t, value, block.block)
    t.store_pointer(pointer, value, mask)


def _fits(t: Reader, value: Any, shape: Tuple[Any, ...]) -> None:
    given = getattr(value, "shape", ())
    if given and not same_shape(tuple(given), shape):
        raise Mistake("a value of shape %s for a block of shape %s" % (shape_text(given), shape_text(shape)),
                      "a block is stored whole: tl.broadcast_to(value, shape), or a descriptor with this block_shape")


@operation("descriptor.atomic_add")
def _atomic_add(t: Reader, block: Any, offsets: Any, value: Any) -> None:
    pointer, mask = addressed(t, block, _offsets(t, block, offsets), list(range(len(block.block))))
    _fits(t, value, block.block)
    t.store_pointer(pointer, value, mask, "add")


def _rows(t: Reader, block: Any, rows: Any, column: Any, count: Any) -> Tuple[Pointer, Any, Tuple[Any, ...]]:
    """The pointers of a row of the block for each of ``rows``, from ``column`` on."""
    if not isinstance(block, Descriptor) or len(block.block) != 2 or block.block[0] != 1:
        raise Mistake("rows picked through %s" % describe(block), "a descriptor with block_shape=[1, n]")
    picked = index_of(t.operand(rows))
    if len(picked.shape) != 1:
        raise Mistake("row numbers of shape %s" % shape_text(picked.shape), "a tile of one axis")
    shape = (picked.shape[0], block.block[1])
    row = t.expanded(picked, [slice(None), None])
    at = binary("+", Expr("index", None, (1, shape[1]), STATIC, Poly.of("$1")), index_of(t.operand(column)))
    offset = binary("+", binary("+", binary("*", row, block.strides[0]), binary("*", at, block.strides[1])), block.base)
    mask = binary("&", binary("&", binary(">=", row, 0), binary("<", row, block.shape[0])),
                  binary("&", binary(">=", at, 0), binary("<", at, block.shape[1])))
    return Pointer(block.param, broadcast(t.expr(offset), shape)), mask, shape


@operation("descriptor.gather")
def _gather(t: Reader, block: Any, x_offsets: Any, y_offset: Any) -> Any:
    hint = t.hint
    pointer, mask, _ = _rows(t, block, x_offsets, y_offset, None)
    return t.load_pointer(pointer, mask, block.fill, hint)


@operation("descriptor.scatter")
def _scatter(t: Reader, block: Any, value: Any, x_offsets: Any, y_offset: Any) -> None:
    pointer, mask, shape = _rows(t, block, x_offsets, y_offset, None)
    _fits(t, value, shape)
    t.store_pointer(pointer, value, mask)


@operation("load_tensor_descriptor")
def _load_tensor_descriptor(t: Reader, desc: Any, offsets: Any) -> Any:
    return _load(t, _descriptor(desc), offsets)


@operation("store_tensor_descriptor")
def _store_tensor_descriptor(t: Reader, desc: Any, offsets: Any, value: Any) -> None:
    _store(t, _descriptor(desc), offsets, value)


@operation("experimental_descriptor_load", "_experimental_descriptor_load")
def _experimental_load(t: Reader, desc: Any, offsets: Any, shape: Any = None, dtype: Any = None) -> Any:
    return _load(t, _descriptor(desc), offsets)


@operation("experimental_descriptor_store", "_experimental_descriptor_store")
def _experimental_store(t: Reader, desc: Any, value: Any, offsets: Any) -> None:
    _store(t, _descriptor(desc), offsets, value)


def _descriptor(value: Any) -> Descriptor:
    if not isinstance(value, Descriptor):
        raise Mistake("%s is no tensor descriptor" % describe(value),
                      "make it in the kernel: tl.make_tensor_descriptor(base, shape, strides, block_shape)")
    return value
