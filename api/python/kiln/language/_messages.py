"""Prints and assertions of a running kernel: records that its launch is answered with."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence

from ._access import Reader
from ._arithmetic import Mistake, broadcast, broadcast_shape, is_number, truth
from ._expr import ELEMENT, Expr
from ._memory import INDEX_NAMES, describe
from ._operations import operation

TEXT_BYTES_MAX, VALUES_MAX = 200, 4  # engine/ir/PROGRAM.md, "print and assert"


def print_values(t: Reader, text: str, values: Sequence[Any]) -> None:
    """A print of each value, or of each element where one is a tile: four values a record at most."""
    parts = [t.expr(value) for value in values]
    for first in range(0, max(len(parts), 1), VALUES_MAX):
        _emit(t, {"print": _line(text)}, parts[first:first + VALUES_MAX], None)


def assert_that(t: Reader, condition: Any, text: Any, mask: Any = None) -> None:
    """An assertion of a condition, elementwise where it is a tile; where ``mask`` is false nothing is asked."""
    held = condition if isinstance(condition, bool) else truth(t.operand(condition))
    if held is True:
        return
    where = None if mask is None else truth(t.operand(mask))
    if where is False:
        return
    expr = t.expr(held) if not isinstance(held, bool) else Expr("bool", "false", (), ELEMENT)
    item: Dict[str, Any] = {"assert": expr}
    if _line(t.text_of(text)):
        item["text"] = _line(t.text_of(text))
    _emit(t, item, [], where if isinstance(where, Expr) else None)


def _line(text: str) -> str:
    if len(text.encode()) > TEXT_BYTES_MAX:
        raise Mistake("a message of %d bytes" % len(text.encode()), "at most %d bytes" % TEXT_BYTES_MAX)
    if not text.isprintable():
        raise Mistake("a message with %r" % next(c for c in text if not c.isprintable()), "one line of printable text")
    return text


def _emit(t: Reader, item: Dict[str, Any], values: List[Expr], where: Optional[Expr]) -> None:
    """As an item of the elementwise loop around it, as a map of its own, or as a statement."""
    condition = item.get("assert")
    every = values + [e for e in (condition, where) if isinstance(e, Expr)]
    shape = ()  # type: ignore[var-annotated]
    for one in every:
        shape = broadcast_shape(shape, one.shape)
    if t.scope is not None:
        if shape:
            raise Mistake("a message about a tile inside an elementwise loop", "index its elements: A[i, j]")
        return t.scope.items.append(_item(t, item, values, where, t.scope.conditions))
    if shape or where is not None:
        names = list(INDEX_NAMES[: max(1, len(shape))])
        where = None if where is None else broadcast(where, shape)
        made = _item(t, item, [broadcast(v, shape) for v in values], where, [])
        if isinstance(condition, Expr):
            made["assert"] = _put(broadcast(condition, shape).text)
        t.builder.emit({"op": "map", "index": names, "extent": [str(n) for n in shape] or ["1"], "body": [made]})
        return None
    made = _item(t, item, values, None, [])
    if "assert" in made:
        made["condition"] = made.pop("assert")
        t.builder.emit({"op": "assert", **made})
    else:
        made["text"] = made.pop("print")
        t.builder.emit({"op": "print", **made})
    return None


def _item(t: Reader, item: Dict[str, Any], values: List[Expr], where: Optional[Expr],
          conditions: Sequence[Expr]) -> Dict[str, Any]:
    made: Dict[str, Any] = {k: _put(v.text) if isinstance(v, Expr) else v for k, v in item.items()}
    if values:
        made["values"] = [_put(v.text) for v in values]
    asked = list(conditions) + ([where] if where is not None else [])
    if asked:
        made["where"] = _put(" && ".join(c.grouped if len(asked) > 1 else c.text for c in asked))
    made["_at"] = t.builder.place
    return made


def _put(text: str) -> str:
    return re.sub(r"\$(\d)", lambda m: INDEX_NAMES[int(m.group(1))], text)


@operation("device_print")
def _device_print(t: Reader, prefix: Any, *args: Any, hex: bool = False) -> None:  # noqa: A002 - Triton's name
    if not isinstance(prefix, str):
        raise Mistake("device_print of %s without a text" % describe(prefix), 'tl.device_print("x", x)')
    if hex:
        raise Mistake("device_print in hexadecimal", "leave out hex=True")
    print_values(t, prefix, args)


@operation("device_assert")
def _device_assert(t: Reader, cond: Any, msg: Any = "", mask: Any = None) -> None:
    assert_that(t, cond, msg, mask)


@operation("python.print")
def _python_print(t: Reader, *args: Any, **kwargs: Any) -> None:
    if kwargs:
        raise Mistake("print with %s=" % sorted(kwargs)[0], "texts and values alone: each print is a line")
    texts = [str(a) for a in args if isinstance(a, str)]
    print_values(t, " ".join(texts), [a for a in args if not isinstance(a, str)])


@operation("T.print")
def _t_print(t: Reader, obj: Any = None, msg: Any = "", warp_group_id: Any = 0, warp_id: Any = 0) -> None:
    if not (is_number(warp_group_id) and is_number(warp_id) and not warp_group_id and not warp_id):
        raise Mistake("a print of one warp", "leave out warp_group_id and warp_id: the block prints")
    if isinstance(obj, str):
        return print_values(t, "%s%s%s" % (t.text_of(msg), ": " if msg else "", obj), [])
    return print_values(t, t.text_of(msg) or str(getattr(obj, "name", "")), [] if obj is None else [obj])


@operation("T.device_assert")
def _t_device_assert(t: Reader, condition: Any, msg: Any = "", no_stack_info: Any = False) -> None:
    assert_that(t, condition, msg)
