"""A tile program (``tile/1``) under construction, and where in the Python source each part of it comes from."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from ._arithmetic import Mistake
from ._errors import KernelError, Place
from ._expr import Dim, Expr, Poly, Tile, mentions
from ._options import Option, OptionType

LEVELS_MAX = 62   # of JSON in a program: 64 (engine/ir/PROGRAM.md) in the request that holds it
NESTED_MAX = 27   # loops and branches in each other: each takes two levels, a launch and what stands innermost take ten
NESTED_HINT = "a value that is looked up, tl.where, or functions marked @tl.jit that are called one after the other"

_WORD = re.compile(r"[A-Za-z_][\w.]*")

# Words of the expression language, types and functions (engine/ir/PROGRAM.md): no names.
_RESERVED = frozenset(
    "f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 i4 u4 bool index f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f4e2m1 f6e2m3 f6e3m2 e8m0 "
    "if else and or not true false inf nan bid target ceildiv min max select cast bitcast exp exp2 log log2 log1p expm1 sqrt rsqrt "
    "tanh sigmoid erf sin cos pow abs floor ceil round fma isnan isinf popcount clz mulhi".split())

_FUNCTIONS = {"ceildiv": lambda a, b: -(-a // b) if b else 0, "min": min, "max": max, "true": True, "false": False}


def value_at(poly: Union[int, Poly, str], known: Mapping[str, Any]) -> Optional[int]:
    """The value of an index, or of a condition (0, 1), where `known` has all that it names; else None."""
    if isinstance(poly, int):
        return poly
    text = str(poly).replace("&&", " and ").replace("||", " or ").replace("target.", "target_")
    text = re.sub(r"!(?!=)", " not ", text)
    names: Dict[str, Any] = {k.replace("target.", "target_"): v for k, v in known.items()}
    names.update(_FUNCTIONS)
    try:
        return int(eval(text, {"__builtins__": {}}, names))  # noqa: S307 - text of our own making: numbers, operators, known names
    except Exception:  # noqa: BLE001 - whatever names something that is not known
        return None


class Launch:
    """One launch: its grid, threads, tiles and statements."""

    def __init__(self) -> None:
        self.grid: List[str] = []
        self.threads = ""
        self.schedule: Dict[str, Any] = {}
        self.allocs: List[Dict[str, Any]] = []
        self.body: List[Dict[str, Any]] = []


def _statements(body: List[Dict[str, Any]]) -> Iterator[Dict[str, Any]]:
    """Statements of a body and of those inside them."""
    for statement in body:
        yield statement
        for name in ("body", "then", "else"):
            if statement["op"] != "map":
                yield from _statements(statement.get(name, []))


class Builder:
    """Collects a program. Statements go to the innermost open body; every tile is allocated at the top of its launch."""

    clips = False  # whether elements outside of tensors are no mistake

    def __init__(self, name: str) -> None:
        self.name = name
        self.symbols: Dict[str, Dict[str, Any]] = {}
        self.options: Dict[str, Dict[str, Any]] = {}
        self.params: List[Dict[str, Any]] = []
        self.tunables: Dict[str, Dict[str, Any]] = {}
        self.constraints: List[str] = []
        self.messages: Dict[str, str] = {}     # what the author says of constraints, by JSON pointer
        self._demanded: Dict[str, Place] = {}  # where constraints come from, by JSON pointer
        self.launches: List[Launch] = []
        self.tiles: List[Tile] = []
        self.layout_entry: Any = None          # (layout, shape, dtype) -> the format's layout
        self.known: Dict[str, Any] = {}        # values of symbols, tunables and target.*, as far as they are known now
        self.place: Optional[Place] = None     # of the statement that is being read
        self.read = 0                          # statements of the source, so far
        self._bodies: List[List[Dict[str, Any]]] = []
        self._names: Dict[str, int] = {}
        self._conditions: List[str] = []       # compile-time conditions around the present statement

    # -- names

    def claim(self, wanted: str) -> str:
        """A free name, ``wanted`` if it can be."""
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in wanted).strip("$") or "t"
        if base[0].isdigit():
            base = "t" + base
        base = base[:56]
        if base not in self._names and base not in _RESERVED:
            self._names[base] = 1
            return base
        number = self._names.get(base, 1)
        while True:
            number += 1
            name = "%s_%d" % (base, number)
            if name not in self._names:
                self._names[base] = number
                self._names[name] = 1
                return name

    def is_static(self, poly: Poly) -> bool:
        """Whether an index is known when the kernel is compiled: it names symbols, tunables and the target alone."""
        words = {w for key in poly.terms for atom in key for w in _WORD.findall(atom)}
        return all(w in self.symbols or w in self.tunables or w in self.options or w.startswith("target.") or w in _RESERVED for w in words - {"bid"}) \
            and not any(w.startswith("bid.") for w in words)

    def is_bound(self, text: str) -> bool:
        """Whether an expression that is known when the kernel is compiled depends on no size that is an argument of the launch."""
        return not any(self.symbols.get(word, {}).get("dynamic") for word in _WORD.findall(text))

    def value_of(self, poly: Union[int, Poly, str]) -> Optional[int]:
        """An index's value for the sizes at hand, None if it names something else."""
        return value_at(poly, self.known)

    def same(self, a: Dim, b: Dim) -> bool:
        """Whether two extents are equal: as polynomials, or for the sizes at hand, which the program then demands."""
        if a == b:
            return True
        if isinstance(a, int) and isinstance(b, int):
            return False
        first, second = self.value_of(a), self.value_of(b)
        if first is None or first != second:
            return False
        constraint = "%s == %s" % tuple(sorted((str(a), str(b)), key=lambda text: (text.isdigit(), text)))
        if constraint not in self.constraints:
            self._demand(constraint)
        return True

    def assert_known(self, condition: str, message: str) -> None:
        """Demands what is known when the kernel is compiled, where the branches around hold that are decided then."""
        around = " && ".join(self._conditions)
        self._demand("!(%s) || (%s)" % (around, condition) if around else condition)
        self.messages["/constraints/%d" % (len(self.constraints) - 1)] = message

    def _demand(self, constraint: str) -> None:
        if self.place is not None:
            self._demanded["/constraints/%d" % len(self.constraints)] = self.place
        self.constraints.append(constraint)

    @property
    def decided_later(self) -> bool:
        """Whether loops or branches stand around what is read that are decided when the kernel runs."""
        return len(self._bodies) - 1 > len(self._conditions)

    def option(self, option: Union[Option, OptionType]) -> None:
        """Declares an option, on first use."""
        if self.options.get(option.name) == option.entry():
            return
        if option.name in self.options or self.claim(option.name) != option.name:
            raise Mistake("the name %s is taken, for an option too" % option.name)
        self.options[option.name] = option.entry()

    # -- launches and bodies

    def begin_launch(self) -> Launch:
        launch = Launch()
        self.launches.append(launch)
        self._bodies = [launch.body]
        return launch

    @property
    def launch(self) -> Launch:
        return self.launches[-1]

    def emit(self, statement: Dict[str, Any]) -> Dict[str, Any]:
        statement["_at"] = self.place
        self._bodies[-1].append(statement)
        return statement

    @property
    def last(self) -> Optional[Dict[str, Any]]:
        """The last statement of the innermost open body."""
        return self._bodies[-1][-1] if self._bodies[-1] else None

    def keeps(self, tensor: str) -> bool:
        """Whether a ``let`` holds an element of a tensor."""
        return any(mentions(s["value"], tensor) for launch in self.launches for s in _statements(launch.body)
                   if s["op"] == "let")

    def open(self, body: List[Dict[str, Any]]) -> None:
        self._bodies.append(body)

    def close(self) -> None:
        self._bodies.pop()

    def append(self, statements: List[Dict[str, Any]]) -> None:
        """Statements that were read elsewhere, each with its place."""
        self._bodies[-1] += statements

    @property
    def depth(self) -> int:
        return len(self._bodies)

    # -- tiles

    def alloc(self, wanted: str, space: str, dtype: Optional[str], shape: Tuple[Dim, ...], by_value: bool, layout: Any = None) -> Tile:
        """A tile; ``dtype`` None is filled in by the first write (:meth:`set_dtype`)."""
        name = self.claim(wanted)
        entry: Dict[str, Any] = {"op": "alloc", "name": name, "space": space, "dtype": dtype,
                                 "shape": [str(n) for n in shape] if shape else ["1"], "_at": self.place}
        if layout is not None:
            entry["layout"] = layout
        if self._conditions:
            entry["when"] = " && ".join(self._conditions)
        self.launch.allocs.append(entry)
        made = Tile(name, shape, dtype, space, by_value, entry)
        self.tiles.append(made)
        return made

    def drop(self, tile: Tile) -> None:
        """Takes back a tile that no statement names any more."""
        self.launch.allocs.remove(tile.entry)
        self.tiles.remove(tile)

    def settle_spaces(self) -> None:
        """Registers for values that were put into shared memory by their name's use, and are no product's operand themselves."""
        operands = {s[k] for launch in self.launches for s in _statements(launch.body) if s["op"] == "gemm" for k in ("a", "b")}
        for tile in self.tiles:
            if tile.by_value and tile.space == "shared" and tile.name not in operands:
                tile.space = tile.entry["space"] = "fragment"

    def set_dtype(self, tile: Tile, dtype: str) -> None:
        tile.dtype = tile.entry["dtype"] = dtype
        if tile.layout is not None:  # given in elements, and the format counts bytes
            tile.entry["layout"] = self.layout_entry(tile.layout, tile.shape, dtype)

    def push_condition(self, condition: str) -> None:
        self._conditions.append(condition)

    def pop_condition(self) -> None:
        self._conditions.pop()

    # -- the program

    def tunable(self, wanted: str, default: str, candidates: Optional[List[int]] = None) -> str:
        name = self.claim(wanted)
        self.tunables[name] = {"default": default}
        if candidates:
            self.tunables[name]["candidates"] = candidates
        return name

    def program(self) -> Tuple[Dict[str, Any], Dict[str, Place]]:
        """The program as JSON's types, and the place of each JSON pointer of a statement."""
        places: Dict[str, Place] = dict(self._demanded)
        program: Dict[str, Any] = {"kiln": "tile/1", "name": self.name}
        if self.clips:
            program["outside"] = "zero"
        if self.symbols:
            program["symbols"] = self.symbols
        if self.options:
            program["options"] = self.options
        program["params"] = [self._clean(p, "/params/%d" % i, places) for i, p in enumerate(self.params)]
        if self.tunables:
            program["tunables"] = self.tunables
        if self.constraints:
            program["constraints"] = self.constraints
        program["launches"] = [
            {"grid": launch.grid, "threads": launch.threads,
             **({"schedule": launch.schedule} if launch.schedule else {}),
             "body": [self._clean(s, "/launches/%d/body/%d" % (n, i), places) for i, s in enumerate(launch.allocs + launch.body)]}
            for n, launch in enumerate(self.launches)]
        return program, places

    def _clean(self, node: Any, pointer: str, places: Dict[str, Place]) -> Any:
        if isinstance(node, (dict, list)) and pointer.count("/") >= LEVELS_MAX:
            while pointer not in places:
                pointer = pointer.rpartition("/")[0]
            said = "loops and branches are nested more than %d deep" % NESTED_MAX
            raise KernelError(said, places[pointer], NESTED_HINT)
        if isinstance(node, dict):
            if node.get("_at") is not None:
                places[pointer] = node["_at"]
            return {k: self._clean(v, "%s/%s" % (pointer, k), places) for k, v in node.items() if k != "_at" and v is not None}
        if isinstance(node, list):
            return [self._clean(v, "%s/%d" % (pointer, i), places) for i, v in enumerate(node)]
        return node.text if isinstance(node, Expr) else node
