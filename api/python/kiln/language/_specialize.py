"""From a Python function and what is known of its arguments to a tile program."""

from __future__ import annotations

import ast
import inspect
import math
from typing import Any, Dict, List, Optional, Tuple

from ._access import Reader
from ._arguments import ArraySpec
from ._arithmetic import Mistake, as_dim, constant, reading
from ._builder import Builder
from ._descriptors import described
from ._errors import KernelError, Place, how
from ._expr import STATIC, UNIFORM, Expr, Param, Pointer, Poly, dim, index_expr
from ._grid_text import GridText, Meaning, check_known
from ._operations import OPERATIONS, layout_entry
from ._source import Source
from ._options import OptionType, When
from ._types import Buffer, DType, Symbol, as_dtype, constexpr, plain

THREADS = 256  # of a block on a card, where the author says nothing
_QUERIES = ("q", "query", "queries", "q_ptr")


class Program:
    """A kernel read for one kind of arguments.

    Attributes:
        json: the tile program.
        places: where its parts come from, by JSON pointer. messages: what the author says of constraints, by it too.
        set: values of its symbols, as far as the arguments told them.
        params: tensor parameters by name; ``scalars``: scalar parameters' element types by name.
        sequence: symbols that are the extent of the attention operands' sequence axis.
        grid: the grid's expressions, and ``grid_from``: how each was found.
        extents: where a symbol's value is found in the arguments: name -> (parameter, axis) or the parameter itself.
    """

    def __init__(self) -> None:
        self.json: Dict[str, Any] = {}
        self.places: Dict[str, Place] = {}
        self.messages: Dict[str, str] = {}
        self.set: Dict[str, Any] = {}
        self.params: Dict[str, Param] = {}
        self.scalars: Dict[str, str] = {}
        self.sequence: List[str] = []
        self.grid: List[str] = []
        self.grid_from: List[str] = []
        self.extents: Dict[str, Any] = {}
        self.types: Dict[str, str] = {}        # options that are the element type of a parameter, by its name in the program
        self.brought: Dict[str, str] = {}      # options that bring a parameter, by the name that the author wrote
        self.names: Dict[Any, Any] = {}        # what names meant while it was read (_source.served)
        self.arguments: Dict[str, str] = {}    # the parameter that the author wrote, by its name in the program


class Specializer:
    """Reads one kernel once.

    Args:
        function: the kernel.
        values: what is known of each parameter: an ArraySpec, a number, a constant (of a constexpr parameter), None.
        launch: ``grid`` (extents, or None to infer them), ``threads``, ``name``.
        target: the target that is compiled for, as text.
        views: parameters that are declared as matrices (_views.py), decided by an earlier reading; None on the first one.
        written: parameters that the kernel writes, where an earlier reading found that it reads elements of them before.
    """

    builder_class: Any = Builder   # another style of kernels has others
    reader_class: Any = Reader
    program_class: Any = Program

    def __init__(self, function: Any, values: Dict[str, Any], launch: Dict[str, Any], target: str, dynamic: bool = True,
                 views: Optional[Dict[str, Any]] = None, written: Any = frozenset()) -> None:
        self.source = Source(function)
        self.values, self.launch, self.target, self.dynamic = values, launch, target, dynamic
        self.builder = self.builder_class(_program_name(launch.get("name") or function.__name__))
        self.builder.layout_entry = layout_entry
        self.builder.known["target.wave"] = wave_of(target)
        self.out = self.program_class()
        self.names: Dict[str, Any] = {}
        self.owners: Dict[str, Param] = {}  # of arguments over one memory: the parameter that stands for all
        self.info: Dict[str, Any] = {"params": self.out.params, "symbol": self.symbol, "sequence": None, "sequence_used": self._use_sequence,
                                     "target": target.split(":")[0], "grid": launch.get("grid"), "views": views}
        self.views, self.written = views, written
        self.grid: Any = launch.get("grid")
        self._grid_names: Dict[str, str] = {}  # of a grid's text, that statements are to declare

    def run(self) -> Program:
        for name in ("i0", "i1", "i2", "i3"):
            self.builder.claim(name)
        self.annotations = annotations_of(self.source)
        self._find_sequence()
        for name, parameter in inspect.signature(self.source.function).parameters.items():
            try:
                self.names[name] = self.parameter(name, self.annotations.get(name), parameter)
            except Mistake as mistake:
                raise KernelError(mistake.message, self._place_of(name), mistake.hint) from None
        self._settle_grid()
        self._read()
        written = self.written | self._read_before_written()
        if written != self.written:
            return Specializer(self.source.function, self.values, self.launch, self.target, self.dynamic, self.views,
                               written).run()
        views = self.reader.views
        decided = views.revised() if self.views is not None else views.decide() if len(self.builder.launches) == 1 else {}
        if decided or (decided is not None and self.views is not None):
            return Specializer(self.source.function, self.values, self.launch, self.target, self.dynamic, decided,
                               self.written).run()
        return self._finish()

    def _read_before_written(self) -> Any:
        """Parameters of which a ``let`` keeps an element, and that are written behind it."""
        return frozenset(name for name, param in self.out.params.items() if param.written and self.builder.keeps(name))

    def _place_of(self, name: str) -> Place:
        for node in ast.walk(self.source.tree.args):
            if isinstance(node, ast.arg) and node.arg == name:
                return self.source.place(node)
        return self.source.place(self.source.tree)

    # -- parameters

    def parameter(self, name: str, annotation: Any, parameter: inspect.Parameter) -> Any:
        value = self.values.get(name, parameter.default if parameter.default is not parameter.empty else None)
        given = name in self.values or parameter.default is not parameter.empty
        if isinstance(value, constexpr):
            value = value.value
        if annotation is constexpr or isinstance(annotation, constexpr):
            if not given:
                raise Mistake("the constant %s has no value" % name, "pass it by name, give it a default, or let tl.autotune choose it")
            return value
        if isinstance(annotation, When):
            return self.optional(name, annotation)
        if isinstance(value, ArraySpec) and value.owner is not None:
            return self.over(name, annotation, value)
        if isinstance(annotation, Buffer):
            return self.tensor(name, annotation, value if isinstance(value, ArraySpec) else None)
        dtype = as_dtype(annotation) if annotation is not None else None
        if isinstance(value, float) and not math.isfinite(value):  # JSON has none: part of the program
            return constant(value, "f32" if dtype is None else dtype.name)
        if dtype is not None and not isinstance(value, ArraySpec):
            return self.scalar(name, dtype.name)
        if not given:
            raise Mistake("nothing is known of the parameter %s" % name, 
                          how("annotate it, tl.Buffer[M, N, tl.float16] or tl.constexpr, or pass args= to tl.compile",
                              "--arg %s=f32[…], or of a number --arg %s=64" % (name, name)))
        if isinstance(value, ArraySpec):
            param = self.tensor(name, None, value)
            return param if value.described is None else described(param, value.described)
        if isinstance(value, bool) or value is None or isinstance(value, (str, DType, tuple)):
            return value
        if isinstance(value, int) and name in self.launch.get("scalars", ()):
            return self.scalar(name, "i32" if 0 <= value < 2 ** 31 else "i64")
        if isinstance(value, int):
            return self.size(name, value)
        if isinstance(value, float):
            return self.scalar(name, "f32")
        return value

    def over(self, name: str, annotation: Any, spec: ArraySpec) -> Any:
        """A parameter over the memory of others, as the one that stands for all, which is written, and an offset into it."""
        if spec.owner == name:
            self.owners[name] = self.tensor(name, annotation, spec)
            self.owners[name].written = True
        elif isinstance(annotation, Buffer):
            for axis, extent in enumerate(annotation.shape):
                self.extent(name, axis, extent, spec.shape[axis])
        owner = self.owners[str(spec.owner)]
        if spec.described is not None:
            return described(owner, spec.described)
        return Pointer(owner, index_expr(spec.offset, STATIC)) if spec.offset else owner

    def optional(self, name: str, annotation: When) -> Any:
        """A parameter that an option brings."""
        self.builder.option(annotation.option)
        wanted = annotation.annotation
        dtype = as_dtype(wanted)
        if isinstance(wanted, Buffer):
            made: Any = self.tensor(name, wanted, None)
        elif dtype is not None:
            made = self.scalar(name, dtype.name)
        else:
            raise Mistake("a parameter behind tl.when is a tl.Buffer or a number of an element type")
        self.builder.params[-1]["when"] = self.out.brought[name] = annotation.option.name
        return made

    def size(self, name: str, value: int) -> Expr:
        """An integer argument: a symbol, bound when the kernel is compiled; a negative one is a number argument."""
        if not 0 <= value < 2 ** 31:
            return self.scalar(name, "i64")
        claimed = self.builder.claim(name)
        self.builder.symbols[claimed] = {}
        self.out.set[claimed] = self.builder.known[claimed] = value
        self.out.extents[claimed] = name
        return index_expr(claimed, STATIC)

    def scalar(self, name: str, dtype: str) -> Expr:
        claimed = self.builder.claim(name)
        self.out.arguments[claimed] = name
        self.builder.params.append({"name": claimed, "scalar": True, "dtype": dtype})
        self.out.scalars[claimed] = dtype
        return Expr(dtype, claimed, (), UNIFORM)

    def tensor(self, name: str, annotation: Optional[Buffer], spec: Optional[ArraySpec]) -> Param:
        claimed = self.builder.claim(name)
        self.out.arguments[claimed] = name
        if annotation is not None and spec is not None and len(annotation.shape) != len(spec.shape):
            raise Mistake("%s has %d axes, and the array that is passed %d" % (name, len(annotation.shape), len(spec.shape)), "its shape is %s" % (spec.shape,))
        dtype = annotation.dtype.name if annotation is not None and annotation.dtype is not None else spec.dtype if spec is not None else "f32"
        shape: List[Any] = []
        for axis in range(len(annotation.shape) if annotation is not None else len(spec.shape)):  # type: ignore[union-attr]
            wanted = annotation.shape[axis] if annotation is not None else None
            now = spec.shape[axis] if spec is not None else None
            shape.append(self.extent(name, axis, wanted, now))
        strides = None
        if annotation is not None and annotation.strides is not None:
            strides = tuple(self.extent(name, k, n, None) for k, n in enumerate(annotation.strides))
        if annotation is not None and isinstance(annotation.dtype, OptionType):
            self.builder.option(annotation.dtype)
            self.out.types[claimed] = annotation.dtype.name
        param = Param(claimed, tuple(shape), dtype, strides)
        param.memory = spec.memory if spec is not None else None
        param.written = claimed in self.written
        if annotation is None and self.launch.get("pointers"):
            param.mode = "flat"
        self.builder.params.append({"name": claimed, "param": param})
        self.out.params[claimed] = param
        return param

    def extent(self, name: str, axis: int, wanted: Any, now: Any) -> Any:
        """An extent of a tensor: a number, or a symbol that takes its value from the argument."""
        wanted = plain(wanted)
        if isinstance(wanted, bool) or wanted is not None and not isinstance(wanted, (int, str, Symbol)):
            raise Mistake("the extent %r of %s" % (wanted, name), "an extent is a whole number, a name, or tl.symbol(…)")
        if isinstance(wanted, int):
            if isinstance(now, int) and now != wanted:
                raise Mistake("axis %d of %s is %d, and that of the array that is passed %d" % (axis, name, wanted, now))
            return wanted
        if wanted is None and self._on_sequence(name, axis, now):
            return self._sequence_symbol(name, axis, now)
        if wanted is None and isinstance(now, int) and now == 1:
            return 1
        symbol = wanted if isinstance(wanted, Symbol) else Symbol(wanted if wanted is not None else now if isinstance(now, str) else "%s_%d" % (name, axis))
        return dim(self.symbol(symbol, (name, axis), now).poly)

    def symbol(self, symbol: Symbol, where: Any = None, now: Any = None) -> Expr:
        """A symbol as an index; declared on first use."""
        if symbol.name not in self.builder.symbols:
            claimed = self.builder.claim(symbol.name)
            if claimed != symbol.name:
                raise Mistake("the name %s is taken, for a symbol too" % symbol.name)
            entry: Dict[str, Any] = {}
            if symbol.dynamic and self.dynamic:
                entry["dynamic"] = True
            if symbol.multiple_of != 1:
                entry["multiple_of"] = symbol.multiple_of
            if symbol.min:
                entry["min"] = symbol.min
            if symbol.max is not None:
                entry["max"] = symbol.max
            self.builder.symbols[claimed] = entry
            known = self.launch.get("symbols", {}).get(claimed)
            if known is not None:
                self.out.set[claimed] = self.builder.known[claimed] = known
        if where is not None:
            self.out.extents.setdefault(symbol.name, where)
        if isinstance(now, int):
            before = self.out.set.setdefault(symbol.name, now)
            if before != now:
                raise Mistake("%s is %d here and %d before" % (symbol.name, now, before), "axes of one name have one extent")
            self.builder.known[symbol.name] = now
        return index_expr(symbol.name, STATIC)

    # -- the sequence axis

    def _find_sequence(self) -> None:
        self.sequence_of: Optional[str] = None
        if not uses(self.source, "sequence_length"):
            return
        ranks = {name: len(a.shape) for name, a in self._arrays()}
        named = [n for n in ranks if n.lower() in _QUERIES and ranks[n] >= 2]
        first = named or [n for n in ranks if ranks[n] >= 2]
        if first:
            self.sequence_of, self.sequence_rank = first[0], ranks[first[0]]
            self.info["sequence"] = True

    def _arrays(self) -> Any:
        for name in inspect.signature(self.source.function).parameters:
            annotation, value = self.annotations.get(name), self.values.get(name)
            if isinstance(annotation, Buffer):
                yield name, annotation
            elif isinstance(value, ArraySpec):
                yield name, value

    def _on_sequence(self, name: str, axis: int, now: Any) -> bool:
        if self.sequence_of is None:
            return False
        spec = self.values.get(name)
        return isinstance(spec, ArraySpec) and len(spec.shape) == self.sequence_rank and axis == self.sequence_rank - 2

    def _sequence_symbol(self, name: str, axis: int, now: Any) -> Any:
        """Q's extent is S; operands of another length have a symbol of their own."""
        own = self.values[self.sequence_of].shape[axis] if isinstance(self.values.get(self.sequence_of), ArraySpec) else None
        word = now if isinstance(now, str) else "S" if now == own else "S_%s" % name
        if word not in self.out.sequence:
            self.out.sequence.append(word)
        return dim(self.symbol(Symbol(word, dynamic=True), (name, axis), now).poly)

    def _use_sequence(self) -> Expr:
        param = self.names[self.sequence_of]  # type: ignore[index]
        extent = param.shape[len(param.shape) - 2]
        if str(extent) in self.builder.symbols and str(extent) not in self.out.sequence:
            self.out.sequence.append(str(extent))
        return index_expr(extent, STATIC)

    # -- reading and finishing

    def _read(self) -> None:
        reader = self.reader_class(self.builder, OPERATIONS, self.info)
        before, reading.same = (reading.same, reading.triton, reading.never_negative), self.builder.same
        reading.triton, reading.never_negative = bool(self.launch.get("triton")), reader.views.ranges.never_negative
        self.reader = reader
        try:
            if not self.launch.get("opens_launches"):
                self.builder.begin_launch()
            reader.run(self.source, self.names)
        except Mistake as mistake:
            raise KernelError(mistake.message, self.builder.place or self.source.place(self.source.tree), mistake.hint) from None
        finally:
            reading.same, reading.triton, reading.never_negative = before
        if not self.builder.launches:
            raise KernelError("this kernel launches nothing", self.source.place(self.source.tree), "with T.Kernel(…) as bx:")
        for tile in (a for launch in self.builder.launches for a in launch.allocs):
            if tile["dtype"] is None:
                raise KernelError("the element type of %s is not known: it is never written" % tile["name"], tile["_at"], "give it with dtype=")

    def _finish(self) -> Program:
        self.builder.constraints += self.reader.views.constraints()
        self.builder.settle_spaces()
        for entry in self.builder.params:
            param = entry.pop("param", None)
            if param is not None:
                entry.update(self._param_json(param))
        for launch in self.builder.launches:
            if not launch.grid:
                launch.grid, self.out.grid_from = self._grid()
            if not launch.threads:
                launch.threads = self._threads(self.launch.get("threads"))
        self.out.grid = self.builder.launches[0].grid
        self.out.json, self.out.places = self.builder.program()
        self.out.messages = dict(self.builder.messages)
        for number in range(len(self.builder.launches)):  # what is said of a launch as a whole
            self.out.places.setdefault("/launches/%d" % number, self.source.place(self.source.tree))
        self.builder.known.pop("target.wave", None)
        return self.out

    def _threads(self, threads: Any) -> str:
        return "1 if target.is_host else %s" % (threads if threads is not None else THREADS)

    def _param_json(self, param: Param) -> Dict[str, Any]:
        access = "readwrite" if param.atomic or (param.read and param.written) else "write" if param.written else "read"
        shape: Tuple[Any, ...] = param.shape
        entry: Dict[str, Any] = {"dtype": param.dtype}
        if self.reader.views.declare(param, entry):
            pass
        elif param.mode == "flat":
            entry["shape"] = [str(param.elements)]
        else:
            entry["shape"] = [str(n) for n in shape] or ["1"]
            if param.strides is not None:
                entry["strides"] = [str(n) for n in param.strides]
        entry["access"] = access
        return entry

    def _settle_grid(self) -> None:
        """A grid that is given as text, in numbers and sizes of this kernel."""
        if not any(isinstance(n, GridText) for n in self.grid or ()):
            return
        meaning = Meaning(self._in_grid)
        self.grid = self.info["grid"] = tuple(meaning.extent(n) for n in self.grid)
        self._grid_names = meaning.later

    def _in_grid(self, name: str) -> Any:
        """What a name means in a grid's text: a parameter, a number of the module, None what is not known yet."""
        if name in self.names:
            return plain(self.names[name])
        try:
            found = plain(self.source.lookup(name))
        except LookupError:
            return None
        return found if isinstance(found, int) else None

    def _grid(self) -> Tuple[List[str], List[str]]:
        """The grid as given, or from what the program ids index."""
        given = self.grid
        check_known(self._grid_names, [*self.builder.symbols, *self.builder.tunables, *self.builder.options])
        if given is not None:
            return [str(n.poly) if isinstance(n, Expr) else str(n) for n in given], ["given" for _ in given]
        used = self.reader.program_ids
        if not used:
            return ["1"], ["no program id is used"]
        grid, said = [], []
        for axis in range(max(used) + 1):
            if axis not in used:
                grid.append("1")
                said.append("not used")
                continue
            extent, slope, place, what = self._agreed(axis, used[axis])
            grid.append(str(extent) if slope == 1 else "ceildiv(%s, %s)" % (extent, slope))
            said.append("%s, at line %s" % (what, place.line if place else "?"))
        return grid, said

    def _agreed(self, axis: int, place: Any) -> Any:
        """The one extent and block size that all uses of a program id agree on."""
        uses = self.reader.grid_uses.get(axis)
        if not uses:
            raise KernelError("the grid's extent along axis %d cannot be inferred: no slice or mask is bounded by tl.program_id(%d) times a block" % (axis, axis),
                              place, _give_grid())
        first = uses[0]
        for other in uses[1:]:
            alike = self.builder.same(dim(first[0]), dim(other[0])) and self.builder.same(dim(first[1]), dim(other[1]))
            if not alike and self._count(first) != self._count(other):
                raise KernelError("the grid's extent along axis %d is ceildiv(%s, %s) by %s and ceildiv(%s, %s) by %s" % (
                    axis, first[0], first[1], first[3], other[0], other[1], other[3]), other[2], _give_grid())
        return first

    def _count(self, use: Any) -> Optional[int]:
        extent, slope = self.builder.value_of(use[0]), self.builder.value_of(use[1])
        return -(-extent // slope) if extent is not None and slope else None


def _give_grid() -> str:
    return how("give it: @tl.kernel(grid=(…)), or kernel[grid](…)",
               "give it: --grid 'cdiv(n, BLOCK), 1', or @tl.kernel(grid=(…))")


def wave_of(target: str) -> int:
    """Lanes of a wave: 64 on CDNA, 32 on RDNA; one vector of 16 floats stands for it on the host."""
    family = target.split(":")[0]
    return 64 if family.startswith("gfx9") else 32 if family.startswith("gfx") else 16


def _program_name(name: str) -> str:
    clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)[:64]
    return clean if clean and not clean[0].isdigit() else "k" + clean


def uses(source: Source, word: str, seen: Optional[set] = None) -> bool:
    """Whether the function's syntax, or that of a function that it calls, names an attribute or name."""
    seen = seen if seen is not None else set()
    seen.add(source.function)
    called = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr == word or isinstance(node, ast.Name) and node.id == word:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
    for name in called:
        try:
            function = getattr(source.lookup(name), "kernel_function", None)
        except LookupError:
            continue
        if function is not None and function not in seen and uses(Source(function), word, seen):
            return True
    return False


def annotations_of(source: Source) -> Dict[str, Any]:
    """The parameters' annotations as objects, also where they are kept as text."""
    found: Dict[str, Any] = {}
    for name, annotation in source.function.__annotations__.items():
        if isinstance(annotation, str) and name != "return":
            found[name] = _evaluated(annotation, source)
        else:
            found[name] = annotation
    return found


def annotations_read(source: Source) -> Dict[str, Any]:
    """The parameters' annotations, evaluated anew from the source."""
    arguments = source.tree.args
    every = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    return {a.arg: _evaluated(ast.unparse(a.annotation), source) for a in every if a.annotation is not None}


def _evaluated(text: str, source: Source) -> Any:
    names = dict(source.function.__globals__)
    names.update(source._names)
    try:
        return eval(text, names)  # noqa: S307 - the author's own annotation, as Python itself evaluates it
    except Exception as error:  # noqa: BLE001 - whatever the author's expression raises
        raise KernelError("the annotation %s cannot be evaluated: %s" % (text, error), source.place(source.tree),
                          "names in annotations are the module's; without `from __future__ import annotations` also those of the function around") from None
