"""Atomic updates of memory by pointer, with what was there before where the author uses it."""

from __future__ import annotations

from typing import Any, Dict, Optional

from . import _views
from ._access import Reader
from ._arithmetic import Mistake, broadcast, broadcast_shape, cast, shape_text, truth
from ._expr import Expr, Param, Pointer, Region, Tile
from ._memory import INDEX_NAMES, describe, placed as _put
from ._operations import operation

_WORDS = {"add": "add", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor", "xchg": "exchange"}
_ORDERS = (None, "relaxed", "acquire", "release", "acq_rel")


def update(t: Reader, kind: str, pointer: Any, value: Any, mask: Any, compare: Any = None) -> Optional[Tile]:
    """One atomic for each element of a tile of pointers; gives the elements as they were, if the call's value is used.
    """
    hint = t.hint
    if isinstance(pointer, Param):
        pointer = t.moved_pointer(pointer, 0)
    if not isinstance(pointer, Pointer):
        raise Mistake("an atomic on %s" % describe(pointer), "atomics are on memory: pointer + offsets")
    param = pointer.param
    t.use_flat(param)
    param.written, param.atomic = True, True
    condition = None if mask is None else truth(t.operand(mask))
    if condition is False:
        return None
    parts = [cast(t.operand(v), param.dtype) for v in (value, compare) if v is not None]
    shape = pointer.offset.shape
    for part in parts + ([condition] if isinstance(condition, Expr) else []):
        wide = broadcast_shape(shape, part.shape) if shape else shape
        if len(part.shape) > len(wide):
            raise Mistake("a tile of shape %s for a pointer of shape %s" % (shape_text(part.shape), shape_text(shape)),
                          "a tile of pointers, one for each element: pointer + offsets")
        shape = wide
    offset = broadcast(pointer.offset, shape)
    t.views.saw(_views.Access(param, offset, None, shape, False))
    item: Dict[str, Any] = {
        "atomic": kind, "to": _put("%s[%s]" % (param.name, offset.text)),
        "value": _put(broadcast(parts[0], shape).text)}
    if compare is not None:
        item["compare"] = _put(broadcast(parts[1], shape).text)
    if isinstance(condition, Expr):
        item["where"] = _put(broadcast(condition, shape).text)
    body = [item]
    made = None
    if t.result_used:
        item["old"] = t.builder.claim("before")
        # One thread updates a single element, and all of them get what it was: by way of shared memory.
        made = t.builder.alloc(hint, "fragment" if shape else "shared", param.dtype, shape, bool(shape))
        body.append({"set": _put(made.element(["$%d" % k for k in range(len(shape))])), "value": item["old"]})
    names = list(INDEX_NAMES[: max(1, len(shape))])
    t.builder.emit({"op": "map", "index": names, "extent": [str(n) for n in shape] or ["1"], "body": body})
    return made if made is None or shape else t.tile(made.read(), hint, "fragment")


def _checked(sem: Any, scope: Any) -> None:
    if sem not in _ORDERS:
        raise Mistake("the memory order %r" % (sem, ),
                      "relaxed: atomics order nothing else, and blocks do not wait for each other")
    if scope not in (None, "cta", "gpu", "sys"):
        raise Mistake("the scope %r" % (scope,), "\"gpu\"")


def _register(name: str, kind: str) -> None:
    @operation("atomic_" + name)
    def run(t: Reader, pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
        _checked(sem, scope)
        if isinstance(pointer, Region):
            if t.result_used:
                raise Mistake("what a slice held before an atomic",
                              "tl.atomic_%s(pointer + offsets, …) gives it" % name)
            return t.atomic_region(pointer, val, kind, mask)
        return update(t, kind, pointer, val, mask)


for _name, _kind in _WORDS.items():
    _register(_name, _kind)


@operation("atomic_cas")
def _atomic_cas(t: Reader, pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Any:
    _checked(sem, scope)
    return update(t, "cas", pointer, val, None, cmp)
