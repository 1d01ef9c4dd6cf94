"""From a kernel in TileLang's style and its arguments to a tile program."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Optional, Set

from ..language._arguments import ArraySpec
from ..language._arithmetic import Mistake, binary, ceildiv, constant
from ..language._builder import Builder
from ..language._errors import KernelError, how
from ..language._expr import STATIC, UNIFORM, Expr, Param, dim
from ..language._specialize import Program, Specializer
from ..language._types import Symbol, as_dtype
from ._prim_func import PrimFunc, is_tensor
from ._reader import TileReader
from ._types import Size, Tensor, canonical

_EXTENT_MAX = 2**31 - 1  # of the program format: an extent, blocks along an axis
_ELEMENTS_MAX = 2**58  # elements of a tensor of 8 bytes that stay below the format's 2^62 bytes
_BLOCKS_MAX = 2**40  # blocks of a launch


class TileBuilder(Builder):
    """A builder whose statements and tiles stand inside a launch."""

    inside = False
    clips = True  # that project guards accesses outside of tensors

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # tiles that hold nothing but elements of tensors: the body they were written in, and those
        self._mirrors: Dict[str, Any] = {}

    def emit(self, statement: Dict[str, Any]) -> Dict[str, Any]:
        self._check()
        for name in _written_by(statement):
            self._mirrors.pop(name, None)
        return super().emit(statement)

    def note_mirror(self, name: str, index: Optional[str], value: Expr) -> None:
        """Tile ``name`` holds ``value``: with ``$k`` for its indices; or, if ``index`` is given, in a loop over that
        one.
        """
        body = self._bodies[-1]
        if index is not None:
            if len(self._bodies) < 2 or not any(
                s.get("body") is body and s.get("var") == index for s in self._bodies[-2]
            ):
                return
            text = re.sub(r"(?<![\w.$])%s(?!\w)" % re.escape(index), "$0", value.text)
            value, body = Expr(value.dtype, text, (), UNIFORM, None, value.reads), self._bodies[-2]
        self._mirrors[name] = (body, value)

    def mirror(self, name: str) -> Optional[Expr]:
        """What :meth:`note_mirror` said, while it holds."""
        found = self._mirrors.get(name)
        return found[1] if found is not None and any(b is found[0] for b in self._bodies) else None

    def alloc(self, *args: Any, **kwargs: Any) -> Any:
        self._check()
        return super().alloc(*args, **kwargs)

    def _check(self) -> None:
        if not self.inside:
            raise Mistake(
                "a statement outside T.Kernel", "move it under with T.Kernel(…); T.alloc_global is what stands outside"
            )


def _written_by(statement: Dict[str, Any]) -> Set[str]:
    """Names that a statement writes."""
    found = {
        str(statement[key]).partition("[")[0]
        for key in ("to", "tile", "c")
        if key in statement and statement["op"] not in ("for", "alloc")
    }
    for item in statement.get("body", []) if statement["op"] == "map" else []:
        found.add(str(item.get("set", item.get("to", ""))).partition("[")[0])
    return found


class TileProgram(Program):
    """A program, and what a call allocates.

    Attributes:
        order: tensor and scalar parameters in the order of a call.
        results: names of tensors that a call allocates and returns, in order; None where the caller names them by
            ``out_idx``.
        scratch: names of tensors that a call allocates.
    """

    def __init__(self) -> None:
        super().__init__()
        self.order: List[str] = []
        self.results: Optional[List[str]] = None
        self.scratch: List[str] = []


class TileSpecializer(Specializer):
    """Reads one kernel once."""

    builder_class = TileBuilder
    reader_class = TileReader
    program_class = TileProgram

    def __init__(self, func: PrimFunc, specs: Dict[str, Any], target: str, written: Any = frozenset()) -> None:
        values = dict(specs)
        values.update(func.constants)
        super().__init__(func.kernel_function, values, {"opens_launches": True, "symbols": func.sizes}, target, written=written)
        self.func, self.specs = func, specs
        self.info["specializer"] = self
        self.by_statement = not any(is_tensor(a) for a in func.annotations.values())
        self.grid_names = _names_in_grids(self.source.tree)
        self.consts: Dict[str, Optional[int]] = {}

    def run(self) -> Program:
        for name in ("i0", "i1", "i2", "i3"):
            self.builder.claim(name)
        self.annotations = self.func.annotations
        for name, parameter in self.func._signature.parameters.items():
            try:
                self.names[name] = self.argument(name, parameter)
            except Mistake as mistake:
                raise KernelError(mistake.message, self._place_of(name), mistake.hint) from None
        self._read()
        written = self.written | self._read_before_written()
        if written != self.written:
            return TileSpecializer(self.func, self.specs, self.target, written).run()
        self._drop_unused()
        self._check_results()
        self._promise()
        program = self._finish()
        self._workspace(program)
        for number, launch in enumerate(self.builder.launches):
            program.places.setdefault("/launches/%d" % number, launch.place)
        return program

    # -- parameters

    def argument(self, name: str, parameter: Any) -> Any:
        annotation, spec = self.annotations.get(name), self.values.get(name)
        if name in self.func.constants:
            return self.values[name]
        self.out.order.append(name)
        if is_tensor(annotation):
            if not isinstance(annotation, Tensor):
                raise Mistake("a tensor without a shape", "%s: T.Tensor((M, N), T.float16)" % name)
            return self.annotated(name, annotation, spec)
        kind = (
            as_dtype(canonical(annotation))
            if isinstance(annotation, str)
            else as_dtype(annotation) if annotation is not None else None
        )
        if kind is None and self.by_statement:
            return Unannotated(name, spec)
        if kind is None:
            raise Mistake(
                "the parameter %s is neither a tensor nor a number" % name,
                "annotate it: T.Tensor((M, N), T.float16), or T.int32",
            )
        if name in self.grid_names and kind.name in ("i32", "i64", "u32", "u64"):
            return self.size_argument(name, spec)
        return self.scalar(name, kind.name)

    def size_argument(self, name: str, value: Any) -> Expr:
        """A number that a grid or shape needs: a symbol of the program."""
        made = self.symbol(Symbol(name, dynamic=True), None, value if isinstance(value, int) else None)
        self.out.extents[name] = name
        return made

    def annotated(self, name: str, annotation: Tensor, spec: Any) -> Param:
        if annotation.dtype is None:
            raise Mistake(
                "elements of %s are not supported yet" % canonical(str(annotation.given)),
                "there are float64, float32, float16, bfloat16, the integers of 8 to 64 bits, and bool; "
                "packed types are read from uint8",
            )
        return self.tensor(name, annotation, spec if isinstance(spec, ArraySpec) else None)

    def extent(self, name: str, axis: int, wanted: Any, now: Any) -> Any:
        if isinstance(wanted, Size) and wanted.symbol is not None:
            wanted = wanted.symbol
        elif isinstance(wanted, Size):
            return dim(self.size(wanted).poly)  # type: ignore[arg-type]
        if isinstance(wanted, Expr):
            if wanted.level != STATIC or wanted.poly is None:
                raise Mistake(
                    "axis %d of %s is not known when the kernel is compiled: %s" % (axis, name, wanted.text),
                    "T.const and T.dynamic name sizes",
                )
            plain = str(wanted.poly)
            if plain not in self.builder.symbols:
                return dim(wanted.poly)
            wanted = Symbol(plain)
        return super().extent(name, axis, wanted, now)

    def size(self, value: Any, _: Any = None) -> Any:  # type: ignore[override]
        """Arithmetic of the Python code around the kernel as an index."""
        if not isinstance(value, Size):
            return value
        if value.symbol is not None:
            return self.symbol(value.symbol)
        parts = [self.size(part) for part in value.parts]
        made = ceildiv(*parts) if value.op == "ceildiv" else binary(value.op, *parts)
        return made if isinstance(made, Expr) else constant(made)

    # -- tensors that statements declare

    def declared(self, name: str, annotation: Tensor) -> Param:
        """``A: T.Tensor((M, K), dtype)`` in the body of a function that is a kernel itself."""
        spec = self.values.get(name)
        return self.annotated(name, annotation, spec if isinstance(spec, ArraySpec) else None)

    def allocated(self, name: str, shape: Any, dtype: Any, result: bool) -> Param:
        """A tensor that a call allocates: ``T.empty``, ``T.alloc_global``."""
        param = self.annotated(name, Tensor(shape, dtype), None)
        if result:
            self.out.results = (self.out.results or []) + [param.name]
        else:
            self.out.scratch.append(param.name)
        return param

    def const(self, name: str, statements: List[ast.stmt], evaluate: Any) -> Any:
        """The value of a size named by ``T.const``: given by name, or the extent of an array whose annotation names
        it.
        """
        if name in self.func.sizes:
            return self.func.sizes[name]
        names = _renamed(statements, name)
        for node in statements:
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
                continue
            spec = self.values.get(node.target.id)
            elements = _shape_elements(node.annotation)
            if not isinstance(spec, ArraySpec) or elements is None:
                continue
            for axis, element in enumerate(elements):
                if isinstance(element, ast.Name) and element.id in names and axis < len(spec.shape):
                    return spec.shape[axis]
        raise Mistake(
            "the size %s is not known" % name,
            how(
                "pass it: .compile(%s=…); or name it in the shape of a tensor argument" % name,
                "say it: --set %s=…; or --arg of a tensor whose shape names it" % name,
            ),
        )

    # -- finishing

    def _drop_unused(self) -> None:
        """Tiles that are allocated and never used: authors leave some behind."""
        for launch in self.builder.launches:
            words: Set[str] = set()
            _collect(launch.body, words)
            launch.allocs[:] = [a for a in launch.allocs if a["name"] in words]

    def _promise(self) -> None:
        """How large sizes that are arguments may be: as large as tensors in memory and grids can be with them."""
        open_ones = [n for n, e in self.builder.symbols.items() if e.get("dynamic") and "max" not in e]
        if not open_ones:
            return
        known = dict(self.builder.known)
        most = _EXTENT_MAX
        while most > 1:
            self.builder.known.update({name: most for name in open_ones})
            tensors = [self._counts(p.shape, _EXTENT_MAX) for p in self.out.params.values()]
            grids = [self._counts(launch.grid, _EXTENT_MAX) for launch in self.builder.launches]
            if all(n <= _ELEMENTS_MAX for n in tensors) and all(n <= _BLOCKS_MAX for n in grids):
                break
            most //= 2
        self.builder.known.clear()
        self.builder.known.update(known)
        for name in open_ones:
            self.builder.symbols[name]["max"] = most

    def _counts(self, extents: Any, extent_max: int) -> int:
        """The product of extents at the present sizes; too large where one is."""
        total = 1
        for extent in extents:
            value = self.builder.value_of(extent)
            total *= 1 if value is None else value if value <= extent_max else _ELEMENTS_MAX
        return total

    def _workspace(self, program: Program) -> None:
        """What T.alloc_global made, as the program's workspace: no arguments."""
        names = set(self.out.scratch)
        if not names:
            return
        entries = [p for p in program.json["params"] if p["name"] in names]
        program.json["params"] = [p for p in program.json["params"] if p["name"] not in names]
        program.json["workspace"] = [{k: v for k, v in e.items() if k in ("name", "dtype", "shape")} for e in entries]

    def _check_results(self) -> None:
        for name in self.out.results or []:
            param = self.out.params[name]
            if not param.written:
                raise KernelError(
                    "the result %s is never written" % name,
                    self.source.place(self.source.tree),
                    "T.copy(tile, %s[…])" % name,
                )


class Unannotated:
    """A parameter of a function that is a kernel itself, before a statement says what tensor it is."""

    def __init__(self, name: str, spec: Any) -> None:
        self.name, self.spec = name, spec


def _renamed(statements: List[ast.stmt], name: str) -> Set[str]:
    """A name, and others that plain assignments give to the same value: ``KH, KW = K, K``."""
    found = {name}
    for node in statements:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = (
                zip(target.elts, node.value.elts)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)]
            )
            found |= {t.id for t, v in pairs if isinstance(t, ast.Name) and isinstance(v, ast.Name) and v.id in found}
    return found


def _names_in_grids(tree: ast.AST) -> Set[str]:
    """Names that the arguments of T.Kernel use."""
    found: Set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "Kernel",
            "alloc_global",
            "empty",
        ):
            for part in list(node.args) + [k.value for k in node.keywords]:
                found |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
    return found


def _shape_elements(annotation: ast.AST) -> Optional[List[ast.expr]]:
    """The extents in the syntax of T.Tensor((M, K), dtype) or T.Tensor[(M, K), dtype]."""
    shape: Any = None
    if isinstance(annotation, ast.Call) and annotation.args:
        shape = annotation.args[0]
    elif isinstance(annotation, ast.Subscript):
        inner = annotation.slice
        shape = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else None
    return list(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else None


def _collect(node: Any, words: Set[str]) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "_at":
                _collect(value, words)
    elif isinstance(node, list):
        for value in node:
            _collect(value, words)
    elif node is not None:
        words.update(re.findall(r"[A-Za-z_]\w*", node.text if isinstance(node, Expr) else str(node)))
