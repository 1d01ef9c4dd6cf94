"""Attributes, methods and indices of a kernel's values."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Tuple

from ._arithmetic import (Mistake, binary, broadcast, broadcast_shape, cast, constant, index_of, is_number, same_shape,
                          shape_text)
from ._errors import nearest
from ._expr import ELEMENT, STATIC, BlockPointer, Dot, Expr, Param, Poly, Region, Tile, Transposed, index_expr
from ._memory import describe
from ._tracer import Tracer
from ._types import DTYPES, DType

_METHODS = ("to", "sum", "max", "min", "trans", "reshape", "view", "broadcast_to", "expand_dims", "load", "store", "astype", "cast", "item",
            "abs", "exp", "sqrt", "bitcast", "permute", "transpose", "stride", "size", "dim", "gather", "scatter", "atomic_add")


class Reader(Tracer):
    """A tracer with all that values can be asked."""

    def attribute(self, value: Any, name: str) -> Any:
        if name == "shape":
            if isinstance(value, Param):
                self.use_axes(value)
            if isinstance(value, BlockPointer):
                return tuple(value.shape)
            return tuple(index_expr(n, STATIC) if isinstance(n, Poly) else n for n in value.shape)
        if name in ("dtype", "type"):
            found = "i32" if getattr(value, "dtype", None) == "index" else getattr(value, "dtype", None) or value.param.dtype
            return DTYPES[found]
        if name == "T":
            return self.operations["trans"](self, value)
        if name in ("ndim", "rank"):
            return len(value.shape)
        if name in ("numel", "size") and isinstance(value, Param):
            total: Any = 1
            for n in value.shape:
                total = binary("*", total, index_expr(n, STATIC) if isinstance(n, Poly) else n)
            return total
        if name == "block_shape" and isinstance(value, BlockPointer):
            return tuple(value.block)
        raise Mistake("%s has no attribute %s" % (describe(value), name),
                      nearest(name, ("shape", "dtype", "T", "ndim") + _METHODS) or "shape, dtype, ndim and T are there")

    def method(self, value: Any, name: str, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        if name in ("to", "astype", "cast", "bitcast"):
            return self.called("bitcast" if name == "bitcast" else "to", value, args, kwargs)
        if name in ("stride", "size") and isinstance(value, Param):
            return self.called("parameter." + name, value, args, kwargs)
        if name == "dim":
            return len(value.shape)
        if name in ("load", "store", "gather", "scatter", "atomic_add") and isinstance(value, BlockPointer):
            return self.called("descriptor." + name, value, args, kwargs)
        known = "trans" if name in ("transpose", "permute", "trans") else name
        if known in _METHODS and known in self.operations:
            return self.called(known, value, args, kwargs)
        raise Mistake("%s has no method %s" % (describe(value), name),
                      nearest(name, _METHODS) or "x.to(…), x.sum(…), x.reshape(…) and their like")

    def called(self, name: str, value: Any, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        """An operation as a method of its first argument."""
        function = self.operations[name]
        signature = inspect.signature(function)
        try:
            signature.bind(self, value, *args, **kwargs)
        except TypeError as error:
            shown = [str(p) for p in list(signature.parameters.values())[2:] if p.name != "_"]
            names = ", ".join(part.split(":")[0] + (" = " + part.split("= ")[1] if "= " in part else "") for part in shown)
            raise Mistake("%s(): %s" % (name.rpartition(".")[2], error), "the signature is .%s(%s)" % (name.rpartition(".")[2], names)) from None
        return function(self, value, *args, **kwargs)

    def stride(self, param: Param, axis: Any) -> Any:
        if param.strides is not None:
            found = param.strides[axis]
            return index_expr(found, STATIC) if isinstance(found, Poly) else found
        total: Any = 1
        for n in param.shape[axis % len(param.shape) + 1:]:
            total = binary("*", total, index_expr(n, STATIC) if isinstance(n, Poly) else n)
        return total

    def converted(self, value: Any, dtype: DType) -> Any:
        if is_number(value):
            return constant(value, dtype.name)
        expr = self.expr(value)
        if expr.dtype == "index" and dtype.name in ("i32", "i64"):
            return expr  # index arithmetic holds either; stores convert
        return cast(expr, dtype.name)

    # -- shapes

    def reshaped(self, value: Expr, shape: Tuple[Any, ...]) -> Expr:
        """The same elements in row-major order under another shape."""
        if value.shape == shape:
            return value
        if [n for n in value.shape if n != 1] == [n for n in shape if n != 1]:
            kept = [k for k, n in enumerate(shape) if n != 1]
            axes, at = {}, 0
            for k, n in enumerate(value.shape):
                axes[k] = "0" if n == 1 else "$%d" % kept[at]
                at += n != 1
            return value.moved(axes, shape)
        if not all(isinstance(n, int) for n in value.shape + shape):
            raise Mistake("a reshape from %s to %s of sizes that are not known now"
                          % (shape_text(value.shape), shape_text(shape)),
                          "sizes that are tl.constexpr or numbers; axes of extent 1 come and go freely")
        count, wanted = 1, 1
        for n in value.shape:
            count *= n
        for n in shape:
            wanted *= n
        if count != wanted:
            raise Mistake("%d elements cannot have shape %s" % (count, shape_text(shape)),
                          "the extents of a shape multiply to the number of elements")
        flat, axes = Poly(), {}
        for k, n in enumerate(shape):
            flat = flat * Poly.of(n) + Poly.of("$%d" % k)
        rest, stride = str(flat), count
        for k, n in enumerate(value.shape):
            stride //= n
            quotient = "((%s) // %d)" % (rest, stride) if stride > 1 else "(%s)" % rest
            axes[k] = "(%s %% %d)" % (quotient, n) if k else quotient
        return value.moved(axes, shape)

    def expanded(self, value: Expr, items: List[Any]) -> Expr:
        """``x[:, None]``."""
        axes, shape, axis = {}, [], 0
        count = sum(x is not None and x is not Ellipsis for x in items)
        spread: List[Any] = []
        for x in items:
            spread += [slice(None)] * (len(value.shape) - count) if x is Ellipsis else [x]
        for item in spread:
            if item is None:
                shape.append(1)
                continue
            if axis >= len(value.shape):
                raise Mistake("more indices than the %d axes of shape %s" % (len(value.shape), shape_text(value.shape)),
                              "None adds an axis, : keeps one")
            axes[axis] = "$%d" % len(shape)
            shape.append(value.shape[axis])
            axis += 1
        for k in range(axis, len(value.shape)):
            axes[k] = "$%d" % len(shape)
            shape.append(value.shape[k])
        return value.moved(axes, tuple(shape))

    def item(self, base: Any, items: List[Any]) -> Any:
        """``base[items]`` as a value."""
        plain = all(x is None or x is Ellipsis or isinstance(x, slice) and x == slice(None) for x in items)
        if isinstance(base, Param) and base.mode == "flat" and not (len(items) == 1 and not isinstance(items[0], slice)):
            self.use_axes(base)
        if plain:
            if any(x is None for x in items):
                return self.expanded(self.expr(base), items)
            return self.whole(base) if isinstance(base, Param) else base
        if isinstance(base, (Dot, Transposed)) or isinstance(base, Region):
            base = self.tile(base)
        if isinstance(base, Expr):
            return self._picked(base, items)
        if any(x is None for x in items):
            raise Mistake("None beside an index or a range", "slice first, then add the axis")
        if all(not isinstance(x, slice) and x is not Ellipsis for x in items) and len(items) == len(base.shape):
            return self.element(base, items)
        if any(isinstance(x, (Expr, Tile)) and x.shape for x in items):
            return self._gathered(base, items)
        region = self.region(base, items)
        if isinstance(base, Tile):
            if base.dtype is None:
                raise Mistake("%s is read before it is written" % base.name,
                              "fill it first: a copy, tl.zeros or an assignment")
            return self._part(base, region)
        base.read = True
        return region

    def _part(self, tile: Tile, region: Region) -> Expr:
        """A part of a tile, as an expression."""
        assert tile.dtype is not None
        return Expr(tile.dtype, region.element(), region.shape, ELEMENT, None, frozenset((tile.name,)))

    def _picked(self, value: Expr, items: List[Any]) -> Expr:
        """Elements of an expression by index: each axis an index or whole."""
        axes, shape = {}, []
        items = items + [slice(None)] * (len(value.shape) - len(items))
        if len(items) > len(value.shape):
            raise Mistake("%d indices for shape %s" % (len(items), shape_text(value.shape)),
                          "an index or a range an axis; a number has none")
        reads, level = value.reads, value.level
        for k, item in enumerate(items):
            if isinstance(item, slice):
                if item != slice(None):
                    return self.item(self.tile(value), items)
                axes[k] = "$%d" % len(shape)
                shape.append(value.shape[k])
            else:
                index = index_of(self.operand(item))
                if index.shape:
                    raise Mistake("an index that is a tile", "tl.gather(x, index, axis)")
                axes[k], reads, level = index.grouped, reads | index.reads, max(level, index.level)
        moved = value.moved(axes, tuple(shape))
        moved.reads, moved.level = reads, level
        return moved

    def _gathered(self, base: Any, items: List[Any]) -> Expr:
        """NumPy's indexing with tiles of indices; whole axes go last."""
        if any(isinstance(x, slice) and x != slice(None) for x in items):
            raise Mistake("a range beside an index that is a tile", "use tl.arange for the range, with [None, :] to add an axis")
        items = items + [slice(None)] * (len(base.shape) - len(items))
        rank = max(len(getattr(x, "shape", ())) for x in items)
        whole = [k for k, x in enumerate(items) if isinstance(x, slice)]
        indices: List[Any] = []
        for k, item in enumerate(items):
            if isinstance(item, slice):
                shape = (1,) * (rank + whole.index(k)) + (base.shape[k],) + (1,) * (len(whole) - whole.index(k) - 1)
                indices.append(Expr("index", None, shape, STATIC, Poly.of("$%d" % (rank + whole.index(k)))))
            else:
                index = index_of(self.operand(item))
                indices.append(self.expanded(index, [slice(None)] * len(index.shape) + [None] * len(whole)) if index.shape else index)
        return self.element(base, indices)

    def scatter(self, base: Any, items: List[Any], value: Any) -> None:
        """``base[rows, cols] = value`` with tiles of indices."""
        items = [x if isinstance(x, slice) or is_number(x) else self.place_before(index_of(self.operand(x)), base)
                 for x in items]
        target = self._gathered(base, items) if any(isinstance(x, slice) for x in items) else self.element(base, items)
        if isinstance(base, Param):
            base.written = True
        expr = cast(self.operand(value), target.dtype)
        shape = broadcast_shape(target.shape, expr.shape)
        if not same_shape(shape, target.shape):
            raise Mistake("a value of shape %s does not fit the indices' shape %s"
                          % (shape_text(expr.shape), shape_text(target.shape)),
                          "one value for each index, or one for all")
        self.map(shape, target.text, broadcast(expr, shape))
