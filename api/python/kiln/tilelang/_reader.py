"""Reads a kernel in TileLang's style: what its statements mean beyond those of ``kiln.language``."""

from __future__ import annotations

import ast
from typing import Any, Dict, List, Optional

from ..language import _scan
from ..language._access import Reader
from ..language._arithmetic import Mistake, is_number, truth
from ..language._expr import ELEMENT, STATIC, Expr, Param, Poly, Region, Tile, index_expr
from ..language._loops import Parallel, Range
from ..language._memory import _spread
from ..language._tilelang import Access, Decoded, Variable
from ..language._types import DTYPES, as_dtype
from ._functions import Operation
from ._types import Size, Tensor, canonical, dtype

_WRITTEN_OUT_MAX = 512  # iterations of a loop inside an elementwise loop


class TileReader(Reader):
    """Reads one kernel.

    Attributes:
        variables: element types of names made by ``T.alloc_var``, by function and name.
        outer_names: names known when the elementwise loop that is being read began.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.variables: Dict[Any, str] = {}
        self.outer_names: Optional[Any] = None

    @property
    def specializer(self) -> Any:
        return self.info["specializer"]

    # -- values

    def _captured(self, value: Any) -> Any:
        if isinstance(value, Size):
            return self.specializer.size(value)
        if isinstance(value, (list, tuple)) and any(isinstance(part, Size) for part in value):
            return type(value)([self._captured(part) for part in value])
        return super()._captured(value)

    def eval_Name(self, node: ast.Name) -> Any:
        value = super().eval_Name(node)
        if type(value).__name__ == "Unannotated":
            raise Mistake("it is not known what %s is" % node.id, "say so before it is used: %s: T.Tensor((M, N), T.float16)" % node.id)
        return value

    def eval_Call(self, node: ast.Call) -> Any:
        function = self._operation(node.func)
        if function is None or not function.places:
            return super().eval_Call(node)
        hint = self.hint
        args = [self.place(part) for part in node.args]
        kwargs = {k.arg: self.place(k.value) for k in node.keywords if k.arg is not None}
        self.hint = hint
        return self.call(function, args, kwargs)

    def _operation(self, node: ast.AST) -> Optional[Operation]:
        """The T.* operation that a call's function names, without evaluating anything else."""
        base = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name) or base.id in self.frame.names:
            return None
        found = self.eval(node)
        return found if isinstance(found, Operation) else None

    def place(self, node: ast.AST) -> Any:
        """An argument that may be a piece of a tile or tensor."""
        if isinstance(node, ast.Subscript):
            base = self.eval(node.value)
            if isinstance(base, (Tile, Param)):
                return Access(base, self._items(node.slice))
            if isinstance(base, Region):
                raise Mistake("a piece of a piece", "name the tensor itself, with all its indices")
        return self.eval(node)

    def call(self, function: Any, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        if isinstance(function, dtype):
            return self.operations["T.Cast"](self, function, *args)
        if function is Tensor:
            return Tensor(*args, **kwargs)
        if isinstance(function, Operation) and function.outside is not None and not self.running(args, kwargs):
            try:
                return self._captured(function.outside(*args, **kwargs))
            except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
                raise Mistake("%s: %s" % (function.name, error)) from None
        return super().call(function, args, kwargs)

    def running(self, args: List[Any], kwargs: Dict[str, Any]) -> bool:
        return any(isinstance(a, (Expr, Tile, Region, Param, Access)) for a in list(args) + list(kwargs.values()))

    def uniform(self, value: Any, name: str = "n") -> Any:
        """A value for a place that is the same for the whole block: elements of tensors are read once, now."""
        if not isinstance(value, (Expr, Tile)):
            return value
        expr = self.expr(value)
        if not expr.reads or self.scope is not None:
            return expr
        if expr.shape not in ((), (1,)) or expr.level == ELEMENT or self._written(expr):
            raise Mistake("this is known only from elements of a tile, or of a tensor that this kernel writes: %s" % expr.text,
                          "bounds, branches and places of copies come from sizes, block positions, and elements of tensors that are only read")
        return self.let(expr, name)

    def spread(self, items: List[Any], rank: int, name: str) -> List[Any]:
        """One item an axis: ``...`` and missing axes are whole."""
        return _spread(items, rank, name)

    def dim_value(self, extent: Any) -> Any:
        """An extent as a value."""
        return index_expr(extent, STATIC) if isinstance(extent, Poly) else extent

    def operand(self, value: Any) -> Any:
        if isinstance(value, dtype):
            raise Mistake("%r is a type, not a value" % value, "T.Cast(%r, x) converts" % str(value))
        return super().operand(value)

    # -- statements

    def read_With(self, node: ast.With) -> None:
        before = dict(self.frame.names)
        super().read_With(node)
        for name, value in list(self.frame.names.items()):
            if value is not before.get(name) and (isinstance(value, (Tile, Region)) or isinstance(value, Expr) and value.level != STATIC):
                del self.frame.names[name]
                self.frame.gone[name] = "%s is known only inside its T.Kernel" % name

    def read_AnnAssign(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            return super().read_AnnAssign(node)
        name = node.target.id
        annotation = self.eval(node.annotation)
        if isinstance(annotation, Tensor) and node.value is None:
            known = self.frame.names.get(name)
            if type(known).__name__ != "Unannotated":
                raise Mistake("%s is no parameter of this function" % name, "T.empty makes results, T.alloc_shared and T.alloc_fragment tiles")
            self.frame.names[name] = self.specializer.declared(name, annotation)
            return None
        if node.value is None:
            return None
        self.hint = name
        value = self.eval(node.value)
        kind = as_dtype(canonical(annotation)) if isinstance(annotation, str) else None
        self.bind(node.target, self.converted(value, kind) if kind is not None and not isinstance(value, (Tile, Region)) else value)
        return None

    def read_Return(self, node: ast.Return) -> None:
        if len(self.frames) > 1:
            return super().read_Return(node)
        value = self.eval(node.value) if node.value is not None else None
        out = self.specializer.out
        if value is not None:
            if self.builder.depth > 1:
                self.fail("return inside T.Kernel, a loop or a branch", node, "results are returned at the end of the function")
            results = list(value) if isinstance(value, (tuple, list)) else [value]
            made = set(out.results or [])
            for result in results:
                if not isinstance(result, Param) or result.name not in made:
                    self.fail("a kernel returns what T.empty made", node, "other tensors are written where the caller passed them")
            out.results = [result.name for result in results]
            missing = made - set(out.results)
            out.scratch += sorted(missing)
        elif self.builder.depth > 1:
            self.fail("return inside a loop or branch", node, "put the rest of the kernel under the opposite if")
        self.frame.returned = True
        return None

    def assign(self, name: str, value: Any, node: ast.AST) -> None:
        key = (id(self.frame), name)
        if isinstance(value, Variable):
            self.variables[key] = value.dtype
            if self.outer_names is not None:
                self.outer_names = self.outer_names - {name}
            return super().assign(name, value.initial(), node)
        kind = self.variables.get(key)
        if kind is not None:
            if self.outer_names is not None and name in self.outer_names:
                self.fail("%s, made outside the elementwise loop, changes inside it" % name, node,
                          "iterations are independent: put it into a tile, and reduce it with T.reduce_sum or T.reduce_max")
            value = self.as_kind(value, kind)
        elif isinstance(value, (Access,)):
            raise Mistake("a place cannot be named")
        return super().assign(name, value, node)

    def as_kind(self, value: Any, kind: str) -> Any:
        """A value of an element type; whole numbers stay numbers."""
        if is_number(value):
            return float(value) if DTYPES[kind].is_float else bool(value) if kind == "bool" else int(value)
        return self.converted(value, DTYPES[kind])

    # -- loops and branches

    def loop(self, node: ast.For, over: Any) -> None:
        if isinstance(over, Decoded):
            return self._decoded_loop(node, over)
        if isinstance(over, Parallel) and self.scope is not None and len(over.extents) == 1:
            over = Range(0, over.extents[0], 1)
        if isinstance(over, Parallel):
            if len(over.extents) > 4:
                raise Mistake("an elementwise loop of %d indices" % len(over.extents), "at most 4: join two of them, and divide")
            self.outer_names = set(self.frame.names)
            try:
                return super().loop(node, over)
            finally:
                self.outer_names = None
        if isinstance(over, Range) and over.kind != "now":
            over = Range(*[self.uniform(end) for end in (over.start, over.stop, over.step)], kind=over.kind, stages=over.stages)
            trips = self._trips(over)
            if self.scope is not None and (trips is None or trips > _WRITTEN_OUT_MAX):
                raise Mistake("a loop of %s iterations inside an elementwise loop" % ("an unknown number of" if trips is None else trips),
                              "it is written out, up to %d; make its index one of T.Parallel's, and sum with T.reduce_sum" % _WRITTEN_OUT_MAX)
            if self.scope is not None or (trips is not None and trips <= _WRITTEN_OUT_MAX and _only_numbers(node.body)):
                over.kind = "now"
        return super().loop(node, over)

    def _trips(self, over: Range) -> Optional[int]:
        ends = []
        for end in (over.start, over.stop, over.step):
            known = end if isinstance(end, int) else end.poly.constant if isinstance(end, Expr) and end.poly is not None else None
            if known is None:
                return None
            ends.append(known)
        over.start, over.stop, over.step = ends
        return len(range(*ends)) if ends[2] else None

    def _decoded_loop(self, node: ast.For, over: Decoded) -> None:
        """A loop over positions that are computed from one number."""
        position = self.builder.claim("position")
        self.frame.names[position] = over
        variable = ast.copy_location(ast.Name(position + "_at", ast.Store()), node)
        call = ast.copy_location(ast.Subscript(ast.copy_location(ast.Name(position, ast.Load()), node),
                                               ast.copy_location(ast.Name(variable.id, ast.Load()), node), ast.Load()), node)
        first = ast.copy_location(ast.Assign([node.target], call), node)
        loop = ast.copy_location(ast.For(variable, node.iter, [first] + node.body, []), node)
        super().loop(loop, Range(self.uniform(over.start), over.total, over.step))

    def eval_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self.frame.names.get(node.value.id), Decoded):
            return self.frame.names[node.value.id].position(self.expr(self.eval(node.slice)))
        return super().eval_Subscript(node)

    def branch(self, node: ast.If, condition: Expr) -> None:
        if self.scope is None and condition.reads:
            made = self.uniform(condition, "holds")
            condition = truth(made) if isinstance(made, Expr) else condition  # type: ignore[assignment]
        super().branch(node, condition)

    def parallel_loop(self, node: ast.For, over: Parallel) -> None:
        static = [e if isinstance(e, int) else self.expr(e) for e in over.extents]
        for extent in static:
            if isinstance(extent, Expr) and (extent.level != STATIC or extent.poly is None):
                raise Mistake("the extent %s of an elementwise loop is not known when the kernel is compiled" % extent.text,
                              "loop over the tile's extent, and put what depends on the size under an if")
        super().parallel_loop(node, over)


def _only_numbers(body: List[ast.stmt]) -> bool:
    """Whether statements do nothing but compute numbers: such a loop is done while the kernel is read."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not all(isinstance(target, ast.Name) for target in targets):
                return False
        elif isinstance(statement, ast.If):
            if not (_only_numbers(statement.body) and _only_numbers(statement.orelse)):
                return False
        elif not isinstance(statement, ast.Pass):
            return False
    return bool(_scan.assigned(body))

