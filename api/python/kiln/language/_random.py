"""Random numbers by Philox 4x32 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), Triton's
streams.

Everything is integer arithmetic, so that a seed gives the same bits on every device. A round multiplies two words of
the counter; all rounds stand in one map, each word of each round as a ``let``.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Tuple

from ._access import Reader
from ._arithmetic import FLOATS, Mistake, binary, bitcast, broadcast, broadcast_shape, call, cast, constant, where
from ._expr import Expr, Tile
from ._memory import INDEX_NAMES, describe, placed
from ._operations import operation

_KEYS = (0x9E3779B9, 0xBB67AE85)      # added to the key after each round: the golden ratio, sqrt(3) - 1
_FACTORS = (0xD2511F53, 0xCD9E8D57)   # multiply words 0 and 2
_UNIFORM = 4.6566127342e-10           # times the largest i32 is below 1, rounded to f32
_ROUNDS_MAX = 32


def integer(t: Reader, value: Any, what: str) -> Expr:
    """An integer of 32 or 64 bits; an index counts as i32, as in Triton."""
    expr = t.expr(value)
    if expr.dtype in FLOATS + ("bool",):
        raise Mistake("%s of type %s" % (what, expr.dtype), "random numbers are counted by integers")
    return expr


def words(value: Expr) -> Tuple[Expr, Any]:
    """The lower 32 bits as u32, and the upper ones (0 where there are none)."""
    if value.dtype in ("i64", "u64"):
        return cast(value, "u32"), cast(binary(">>", cast(value, "u64"), 32), "u32")
    return cast(value, "u32"), constant(0, "u32")


class _Map:
    """A map under construction: lets, then what is set."""

    def __init__(self, t: Reader, shape: Tuple[Any, ...]) -> None:
        self.t, self.shape = t, shape
        self.items: List[Dict[str, Any]] = []

    def let(self, name: str, value: str) -> str:
        claimed = self.t.builder.claim(name)
        self.items.append({"let": claimed, "value": placed(value)})
        return claimed

    def set(self, name: str, dtype: str, value: str) -> Tile:
        made = self.t.builder.alloc(name, "fragment", dtype, self.shape, True)
        self.items.append({
            "set": placed(made.element(["$%d" % k for k in range(len(self.shape))])), "value": placed(value)})
        return made

    def emit(self) -> None:
        rank = max(1, len(self.shape))
        self.t.builder.emit({
            "op": "map", "index": list(INDEX_NAMES[:rank]), "extent": [str(n) for n in self.shape] or ["1"],
            "body": self.items})


def philox(t: Reader, seed: Any, counter: List[Any], rounds: Any, count: int) -> List[Tile]:
    """The first ``count`` of the four words of the counter after ``rounds`` rounds."""
    if not isinstance(rounds, int) or not 1 <= rounds <= _ROUNDS_MAX:
        raise Mistake("%r rounds of Philox" % (rounds, ),
                      "1 to %d, known when the kernel is read; 10 is the usual number" % _ROUNDS_MAX)
    key = [k.text for k in words(integer(t, seed, "a seed"))]
    if integer(t, seed, "a seed").shape:
        raise Mistake("a seed that is a tile", "one number: let the counter be the tile")
    shape: Tuple[Any, ...] = ()
    for word in counter:
        shape = broadcast_shape(shape, word.shape)
    made = _Map(t, shape)
    k = [made.let("key", text) for text in key]
    c = [made.let("word", broadcast(word, shape).text) for word in counter]
    a, b = ("cast(%d, u32)" % f for f in _FACTORS)
    for _ in range(rounds):
        c = [
            made.let("word", "mulhi(%s, %s) ^ %s ^ %s" % (b, c[2], c[1], k[0])),
            made.let("word", "%s * %s" % (b, c[2])),
            made.let("word", "mulhi(%s, %s) ^ %s ^ %s" % (a, c[0], c[3], k[1])),
            made.let("word", "%s * %s" % (a, c[0]))]
        k = [made.let("key", "%s + cast(%d, u32)" % (old, step)) for old, step in zip(k, _KEYS)]
    tiles = [made.set("random", "u32", word) for word in c[:count]]
    made.items = _used(made.items)
    made.emit()
    return tiles


def _used(items: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Without lets that nothing names."""
    kept: List[Dict[str, Any]] = []
    named: set = set()
    for item in reversed(items):
        if "let" not in item or item["let"] in named:
            kept.append(item)
            named |= set(re.findall(r"[A-Za-z_]\w*", item["value"]))
    return kept[::-1]


def _four(t: Reader, seed: Any, offset: Any, rounds: Any, count: int) -> List[Tile]:
    low, high = words(integer(t, offset, "a counter"))
    return philox(t, seed, [low, high, constant(0, "u32"), constant(0, "u32")], rounds, count)


def uniform(word: Expr) -> Expr:
    """Random bits as f32 in [0, 1): the sign folded away, then scaled."""
    signed = word if word.dtype == "i32" else bitcast(word, "i32")
    folded = where(binary("<", signed, 0), binary("-", binary("*", signed, -1), 1), signed)
    return binary("*", cast(folded, "f32"), _UNIFORM)  # type: ignore[return-value]


def normal(first: Expr, second: Expr) -> Tuple[Any, Any]:
    """Two normals of two uniforms, by Box and Muller."""
    radius = call("sqrt", binary("*", call("log", binary("max", first, 1.0e-7)), -2.0))
    angle = binary("*", second, 6.283185307179586)
    return binary("*", radius, call("cos", angle)), binary("*", radius, call("sin", angle))


@operation("philox")
def _philox(t: Reader, seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = 10) -> Tuple[Any, ...]:
    counter = [integer(t, c, "a counter") for c in (c0, c1, c2, c3)]
    if any(c.dtype in ("i64", "u64") for c in counter):
        raise Mistake("Philox of counters of 64 bits",
                      "Philox 4x32: convert them with .to(tl.uint32); tl.randint4x takes offsets of 64 bits")
    return tuple(philox(t, seed, [cast(c, "u32") for c in counter], n_rounds, 4))


@operation("randint4x")
def _randint4x(t: Reader, seed: Any, offset: Any, n_rounds: Any = 10) -> Tuple[Any, ...]:
    return tuple(_four(t, seed, offset, n_rounds, 4))


@operation("randint")
def _randint(t: Reader, seed: Any, offset: Any, n_rounds: Any = 10) -> Tile:
    return _four(t, seed, offset, n_rounds, 1)[0]


@operation("rand")
def _rand(t: Reader, seed: Any, offset: Any, n_rounds: Any = 10) -> Expr:
    return uniform(_randint(t, seed, offset, n_rounds).read())


@operation("rand4x")
def _rand4x(t: Reader, seed: Any, offset: Any, n_rounds: Any = 10) -> Tuple[Any, ...]:
    return tuple(uniform(word.read()) for word in _four(t, seed, offset, n_rounds, 4))


@operation("randn")
def _randn(t: Reader, seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    first, second = (uniform(word.read()) for word in _four(t, seed, offset, n_rounds, 2))
    return normal(first, second)[0]


@operation("randn4x")
def _randn4x(t: Reader, seed: Any, offset: Any, n_rounds: Any = 10) -> Tuple[Any, ...]:
    one, two, three, four = (uniform(word.read()) for word in _four(t, seed, offset, n_rounds, 4))
    return normal(one, two) + normal(three, four)


@operation("uint_to_uniform_float")
def _uint_to_uniform_float(t: Reader, x: Any) -> Expr:
    expr = t.expr(x)
    if expr.dtype not in ("u32", "i32"):
        raise Mistake("random bits of type %s: %s" % (expr.dtype, describe(x)), "u32 or i32, as tl.randint gives")
    return uniform(expr)
