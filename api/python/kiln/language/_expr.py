"""Values of a kernel while it is read: index polynomials, expressions of the program format, tiles, buffers, pointers.

A value known now is the Python object itself. Everything else is one of the classes below. An expression over the elements of
a tile writes ``$0``, ``$1`` … for the element's index along each axis.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple, Union

STATIC, UNIFORM, ELEMENT = 0, 1, 2  # known when compiled; the same for the whole block; an element's own

_PLACEHOLDER = re.compile(r"\$(\d)")


class Mistake(Exception):
    """A mistake in a kernel; whoever knows the place in the source adds it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class Running:
    """A value of the running kernel. Whatever Python would decide about it while the kernel is read is a mistake."""

    __slots__ = ()

    def _undecided(self, *_: Any) -> Any:
        raise Mistake("Python asks a value of the running kernel, which is not known while the kernel is read",
                      "comparisons, tl.where and if on numbers are operations of the kernel")

    def identity(self) -> int:
        return id(self)

    __bool__ = __iter__ = __contains__ = __format__ = __hash__ = _undecided  # type: ignore[assignment]


class Poly:
    """A polynomial with integer coefficients over atoms (texts of index expressions): equality and difference are exact."""

    __slots__ = ("terms",)

    def __init__(self, terms: Optional[Dict[Tuple[str, ...], int]] = None) -> None:
        self.terms = {k: v for k, v in (terms or {}).items() if v}

    @classmethod
    def of(cls, value: Union[int, str, "Poly"]) -> "Poly":
        if isinstance(value, Poly):
            return value
        return cls({(): int(value)}) if isinstance(value, int) else cls({(value,): 1})

    @property
    def constant(self) -> Optional[int]:
        """Its value, if it is a number."""
        if not self.terms:
            return 0
        return self.terms[()] if len(self.terms) == 1 and () in self.terms else None

    def __add__(self, other: "Poly") -> "Poly":
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms.get(key, 0) + value
        return Poly(terms)

    def __neg__(self) -> "Poly":
        return Poly({k: -v for k, v in self.terms.items()})

    def __sub__(self, other: "Poly") -> "Poly":
        return self + -other

    def __mul__(self, other: "Poly") -> "Poly":
        terms: Dict[Tuple[str, ...], int] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                key = tuple(sorted(a + b))
                terms[key] = terms.get(key, 0) + x * y
        return Poly(terms)

    def divided(self, divisor: "Poly") -> Optional["Poly"]:
        """The quotient, where a monomial ``divisor`` divides every term."""
        if len(divisor.terms) != 1:
            return None
        (atoms, factor), = divisor.terms.items()
        terms = {}
        for key, value in self.terms.items():
            rest = list(key)
            for atom in atoms:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if value % factor:
                return None
            terms[tuple(rest)] = value // factor
        return Poly(terms)

    def linear(self, atom: str) -> Optional[Tuple["Poly", "Poly"]]:
        """(a, b) with self = a * atom + b and neither naming the atom; None where it is not linear in it."""
        slope: Dict[Tuple[str, ...], int] = {}
        rest: Dict[Tuple[str, ...], int] = {}
        for key, value in self.terms.items():
            count = key.count(atom)
            if count > 1 or any(mentions(a, atom) for a in key if a != atom):
                return None
            if count:
                slope[tuple(a for a in key if a != atom)] = value
            else:
                rest[key] = value
        return Poly(slope), Poly(rest)

    def mentions(self, atom: str) -> bool:
        return any(mentions(a, atom) for key in self.terms for a in key)

    def mapped(self, change: Callable[[str], "Poly"]) -> "Poly":
        """With every atom replaced."""
        result = Poly()
        for key, value in self.terms.items():
            product = Poly({(): value})
            for atom in key:
                product = product * change(atom)
            result = result + product
        return result

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for key, value in sorted(self.terms.items(), key=lambda item: (not item[0], item[1] < 0)):
            size = abs(value)
            factors = ([str(size)] if size != 1 or not key else []) + list(key)
            joined = " * ".join(factors)
            if not text:
                text = "-" + joined if value < 0 else joined
            else:
                text += (" - " if value < 0 else " + ") + joined
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Poly, int)) and self.terms == Poly.of(other).terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


def mentions(text: str, name: str) -> bool:
    """Whether an expression's text names ``name`` as a word."""
    return re.search(r"(?<![\w.$])" + re.escape(name) + r"(?![\w])", text) is not None


Dim = Union[int, Poly]


def dim(value: Union[int, Poly]) -> Dim:
    """An extent: an int where it is known now."""
    if isinstance(value, Poly):
        constant = value.constant
        return value if constant is None else constant
    return int(value)


class Expr(Running):
    """An expression of the program format.

    Attributes:
        dtype: ``index``, or an element type's name; ``bool`` for conditions.
        shape: an extent an axis; () for a scalar.
        text: with ``$k`` for the index along axis k.
        poly: of an index expression; its text is then the polynomial's.
        level: STATIC, UNIFORM or ELEMENT.
        reads: names of tiles and written buffers whose elements it takes: it is valid until they change.
        bounds: of a condition: pairs (a, b) for a < b, all of which together are the condition; None if it is another one.
        whole: of an integer of a width that is a smaller or larger one: as an index, whose range is known better than its type's.
    """

    __slots__ = ("dtype", "shape", "_text", "poly", "level", "reads", "bounds", "whole")

    def __init__(self, dtype: str, text: Optional[str] = None, shape: Tuple[Dim, ...] = (), level: int = UNIFORM,
                 poly: Optional[Poly] = None, reads: FrozenSet[str] = frozenset(),
                 bounds: Optional[List[Tuple[Poly, Poly]]] = None, whole: Optional[Poly] = None) -> None:
        self.dtype, self._text, self.shape, self.level = dtype, text, shape, level
        self.poly, self.reads, self.bounds, self.whole = poly, reads, bounds, whole

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = str(self.poly)
        return self._text

    @property
    def grouped(self) -> str:
        """The text as an operand."""
        return self.text if re.fullmatch(r"[\w.$]+", self.text) else "(%s)" % self.text

    def moved(self, axes: Dict[int, str], shape: Tuple[Dim, ...]) -> "Expr":
        """With the index along axis k written as ``axes[k]``, over another shape."""

        def move(text: str) -> str:
            return _PLACEHOLDER.sub(lambda m: axes[int(m.group(1))], text)

        def atom(name: str) -> Poly:
            moved = move(name)
            return Poly.of(int(moved) if moved.isdigit() else moved)

        if self.poly is not None:
            return Expr(self.dtype, None, shape, self.level, self.poly.mapped(atom), self.reads)
        bounds = None if self.bounds is None else [(a.mapped(atom), b.mapped(atom)) for a, b in self.bounds]
        whole = None if self.whole is None else self.whole.mapped(atom)
        return Expr(self.dtype, move(self.text), shape, self.level, None, self.reads, bounds, whole)


def index_expr(value: Union[int, str, Poly], level: int = UNIFORM, shape: Tuple[Dim, ...] = (),
               reads: FrozenSet[str] = frozenset()) -> Expr:
    return Expr("index", None, shape, level, Poly.of(value), reads)


class Tile(Running):
    """Memory of the block: shared, fragment or local. ``shape`` () is one number, held as a tile of one element.

    Attributes:
        by_value: the result of an operation, copied by ``y = x``; otherwise allocated by the author, and ``y = x`` names it again.
        entry: the alloc statement, whose dtype is filled in when it is known.
        fresh: no name means it yet.
        aliased: another name holds it transposed, so that it is not written in place.
    """

    __slots__ = ("name", "shape", "dtype", "space", "by_value", "entry", "fresh", "layout", "aliased")

    def __init__(self, name: str, shape: Tuple[Dim, ...], dtype: Optional[str], space: str, by_value: bool, entry: Dict[str, Any]) -> None:
        self.name, self.shape, self.dtype, self.space = name, shape, dtype, space
        self.by_value, self.entry, self.fresh, self.layout = by_value, entry, True, None
        self.aliased = False

    __hash__ = Running.identity  # memory: what is said of it is a dict by tile

    def element(self, indices: List[str]) -> str:
        return "%s[%s]" % (self.name, ", ".join(indices) if self.shape else "0")

    def read(self) -> Expr:
        assert self.dtype is not None
        text = self.element(["$%d" % k for k in range(len(self.shape))])
        return Expr(self.dtype, text, self.shape, ELEMENT, None, frozenset((self.name,)))


class Param(Running):
    """A tensor parameter. ``mode``: ``"flat"`` once it is used as a pointer, ``"axes"`` once it is sliced or asked for its shape."""

    __slots__ = ("name", "shape", "dtype", "strides", "read", "written", "atomic", "mode", "memory")

    def __init__(self, name: str, shape: Tuple[Dim, ...], dtype: str, strides: Optional[Tuple[Dim, ...]]) -> None:
        self.name, self.shape, self.dtype, self.strides = name, shape, dtype, strides
        self.read = self.written = self.atomic = False
        self.mode: Optional[str] = None
        self.memory: Optional[int] = None  # elements from the first to the last, where the array is not row-major and contiguous

    __hash__ = Running.identity

    @property
    def elements(self) -> Poly:
        """How many there are in memory."""
        total = Poly.of(1 if self.memory is None else self.memory)
        for n in self.shape if self.memory is None else ():
            total = total * Poly.of(n)
        return total


class Pointer(Running):
    """An element of a parameter, or a tile of them: the parameter's first element plus ``offset`` elements."""

    __slots__ = ("param", "offset")

    def __init__(self, param: Param, offset: Expr) -> None:
        self.param, self.offset = param, offset

    @property
    def shape(self) -> Tuple[Dim, ...]:
        return self.offset.shape


class Region(Running):
    """A rectangle of a parameter or tile: a start an axis; the axes that stay and their extents.

    Attributes:
        limit: where the data of an axis end inside the parameter. fill: the text of what lies outside, None for 0.
    """

    __slots__ = ("of", "start", "ranged", "shape", "limit", "fill")

    def __init__(self, of: Union[Param, Tile], start: List[Expr], ranged: List[bool], shape: Tuple[Dim, ...],
                 limit: Optional[List[Optional[Expr]]] = None) -> None:
        self.of, self.start, self.ranged, self.shape, self.limit = of, start, ranged, shape, limit
        self.fill: Optional[str] = None

    @property
    def dtype(self) -> Optional[str]:
        return self.of.dtype

    def text(self) -> str:
        parts = [s.text + (":" if r else "") for s, r in zip(self.start, self.ranged)]
        return "%s[%s]" % (self.of.name, ", ".join(parts))

    def element(self) -> str:
        """The text of the element at ``$0``, ``$1`` … of the region."""
        indices, axis = [], 0
        for start, ranged in zip(self.start, self.ranged):
            assert start.poly is not None
            indices.append(str(start.poly + Poly.of("$%d" % axis)) if ranged else start.text)
            axis += ranged
        return "%s[%s]" % (self.of.name, ", ".join(indices))


class Dot(Running):
    """A matrix product that has not been put anywhere yet."""

    __slots__ = ("a", "b", "transpose_a", "transpose_b", "shape", "dtype", "added", "schedule")

    def __init__(self, a: Tile, b: Tile, transpose_a: bool, transpose_b: bool, shape: Tuple[Dim, ...], dtype: str,
                 added: Any = None, schedule: Any = None) -> None:
        self.a, self.b, self.transpose_a, self.transpose_b = a, b, transpose_a, transpose_b
        self.shape, self.dtype, self.added, self.schedule = shape, dtype, added, schedule


class Transposed(Running):
    """Two axes exchanged, of a tile or region: products read it as it lies, other uses permute the indices."""

    __slots__ = ("of",)

    def __init__(self, of: Union[Tile, Region]) -> None:
        self.of = of

    @property
    def shape(self) -> Tuple[Dim, ...]:
        return self.of.shape[:-2] + (self.of.shape[-1], self.of.shape[-2])

    @property
    def dtype(self) -> Optional[str]:
        return self.of.dtype


class BlockPointer(Running):
    """Triton's block pointer and tensor descriptor: a parameter seen with a shape and strides, and where a block of it begins."""

    __slots__ = ("param", "shape", "strides", "offsets", "block", "base")

    def __init__(self, param: Param, shape: List[Expr], strides: List[Expr], offsets: List[Expr], block: Tuple[Dim, ...], base: Expr) -> None:
        self.param, self.shape, self.strides, self.offsets, self.block, self.base = param, shape, strides, offsets, block, base
