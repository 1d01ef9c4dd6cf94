"""Reads a kernel's syntax tree, statement by statement, and writes the tile program. The kernel itself is never run."""

from __future__ import annotations

import ast
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _scan
from ._arithmetic import Mistake, as_dim, binary, invert, is_number, logical, negate, same_shape, truth, where
from ._builder import Builder
from ._errors import KernelError, nearest
from ._expr import ELEMENT, STATIC, UNIFORM, BlockPointer, Dot, Expr, Param, Pointer, Region, Tile, Transposed, index_expr
from ._loops import Frame, Loops, Parallel, Range
from ._memory import MapScope, describe
from ._source import Source
from ._views import Views
from ._types import BlockLayout, Builtin, DType, Symbol, Value, as_dtype, constexpr

Operation = Callable[..., Any]

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&",
           ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_UNSUPPORTED = {
    "While": ("a while loop", "write for i in range(n), with a mask for what is over"),
    "Try": ("try", "a kernel has no exceptions; mask what must not be read"),
    "TryStar": ("try", "a kernel has no exceptions"), "Raise": ("raise", "write tl.static_assert for what is known when compiled"),
    "Break": ("break", "give the loop its true bound, or mask the rest with tl.where"),
    "Continue": ("continue", "put the rest of the body under the opposite if, or mask it with tl.where"),
    "FunctionDef": ("a function inside a kernel", "define it outside, with @tl.jit, and call it"),
    "AsyncFunctionDef": ("an async function", "kernels are synchronous"), "ClassDef": ("a class", "kernels have numbers, tiles and tuples"),
    "Import": ("an import inside a kernel", "import at the top of the file"), "ImportFrom": ("an import inside a kernel", "import at the top of the file"),
    "Global": ("global", "pass it as an argument"), "Nonlocal": ("nonlocal", "pass it as an argument"), "Delete": ("del", "names need not be deleted"),
    "AsyncFor": ("async for", "write for"), "AsyncWith": ("async with", "write with"), "Match": ("match", "write if and elif"),
    "Lambda": ("a lambda", "write a function with @tl.jit, defined outside"), "ListComp": ("a comprehension", "write a loop over tl.static_range"),
    "SetComp": ("a comprehension", "write a loop over tl.static_range"), "DictComp": ("a comprehension", "write a loop over tl.static_range"),
    "GeneratorExp": ("a generator", "write a loop over tl.static_range"), "Await": ("await", "kernels are synchronous"),
    "Yield": ("yield", "write return"), "YieldFrom": ("yield", "write return"), "Set": ("a set", "write a tuple"), "NamedExpr": (":=", "write an assignment of its own"),
    "Starred": ("* in front of a value", "name the values one by one"), "TypeAlias": ("type", "nothing: kernels need no types"),
}


class Tracer(Loops):
    """Reads one kernel.

    Attributes:
        operations: what each built-in of the kernel languages does, by name.
        info: facts about the specialization: ``sequence`` (the extent of the attention operands, an Expr or None), ``grid`` (as given).
    """

    def __init__(self, builder: Builder, operations: Dict[str, Operation], info: Dict[str, Any]) -> None:
        self.builder, self.operations, self.info = builder, operations, info
        self.scope: Optional[MapScope] = None
        self.views = Views(builder, info.get("grid"), info.get("views"))
        self.grid_uses: Dict[int, List[Any]] = {}
        self.product_names: Any = set()
        self.program_ids: Dict[int, Any] = {}
        self.hint = "t"
        self.result_used = True               # of the call that is being read
        self._unused: Any = None              # a call that is a statement
        self.frames: List[Frame] = []

    @property
    def frame(self) -> Frame:  # type: ignore[override]
        return self.frames[-1]

    def fail(self, message: str, node: ast.AST, hint: str = "") -> None:
        raise KernelError(message, self.frame.source.place(node), hint)

    # -- functions

    def run(self, source: Source, arguments: Dict[str, Any]) -> None:
        """Reads the kernel's body with its parameters bound."""
        self._read_function(source, arguments)

    def _read_function(self, source: Source, arguments: Dict[str, Any]) -> Any:
        if len(self.frames) > 32:
            raise Mistake("functions call each other more than 32 deep", "a kernel has no recursion")
        frame = Frame(source)
        frame.names.update(arguments)
        frame.borrowed = {name for name, value in arguments.items() if isinstance(value, Tile) and value.by_value}
        outer, self.product_names = self.product_names, _scan.product_operands(source.tree)
        self.frames.append(frame)
        try:
            self.block(source.tree.body)
        finally:
            self.frames.pop()
            self.product_names = outer
        return frame.result

    def inline(self, function: types.FunctionType, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        """A call of another function: its body is read here."""
        import inspect

        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise Mistake("%s(): %s" % (function.__name__, error)) from None
        bound.apply_defaults()
        arguments = {k: (v.value if isinstance(v, constexpr) else v) for k, v in bound.arguments.items()}
        try:
            return self._read_function(Source(function), arguments)
        except KernelError as error:
            if self.builder.place is not None:
                error.calls.append(self.builder.place)
            raise

    # -- statements

    def block(self, body: List[ast.stmt]) -> None:
        for position, statement in enumerate(body):
            if self.frame.returned:
                return
            outer = self.builder.place
            self.builder.place = self.frame.source.place(statement)
            try:
                if self._leaves_early(statement, body[position + 1:]):
                    return
                self._statement(statement)
            except Mistake as mistake:
                raise KernelError(mistake.message, self.frame.source.place(statement), mistake.hint) from None
            finally:
                self.builder.place = outer

    def _statement(self, node: ast.stmt) -> None:
        kind = type(node).__name__
        reader = getattr(self, "read_" + kind, None)
        if reader is None:
            message, hint = _UNSUPPORTED.get(kind, ("%s" % kind, ""))
            self.fail("%s is not supported in a kernel" % message, node, (isinstance(node, ast.While) and _scan.instead_of_while(node)) or hint)
        reader(node)

    def _leaves_early(self, node: ast.stmt, rest: List[ast.stmt]) -> bool:
        """``if condition: return``: the rest stands under the opposite condition."""
        if not (isinstance(node, ast.If) and node.body and isinstance(node.body[-1], ast.Return) and node.body[-1].value is None and not node.orelse):
            return False
        condition = truth(self.operand(self.eval(node.test)))
        if isinstance(condition, bool) or len(self.frames) > 1:
            return False
        self.branch(ast.copy_location(ast.If(test=node.test, body=node.body[:-1] or [ast.copy_location(ast.Pass(), node)], orelse=rest), node), condition)
        return True

    def read_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        self.hint = "t"
        self._unused = node.value
        self.eval(node.value)

    def read_Pass(self, node: ast.Pass) -> None:
        pass

    def read_Return(self, node: ast.Return) -> None:
        if node.value is not None and len(self.frames) == 1 and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.fail("a kernel returns nothing", node, "store the result into a parameter")
        if self.builder.depth > 1 and len(self.frames) == 1 and self.builder.launches:
            self.fail("return inside a loop or branch", node, "put the rest of the kernel under the opposite if")
        self.frame.result = None if node.value is None else self.eval(node.value)
        self.frame.returned = True

    def read_Assert(self, node: ast.Assert) -> None:
        known = self.eval(node.test)
        if isinstance(known, Expr) and known.level == STATIC:
            self.builder.constraints.append(truth(known).text)  # type: ignore[union-attr]
            return
        said = self.eval(node.msg) if node.msg is not None else ""
        if isinstance(known, (Expr, Tile, Region, Dot, Transposed)):
            self.operations["device_assert"](self, known, said)
            return
        if not known:
            said = said or "the assertion does not hold"
            self.fail(str(said), node)

    def read_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        self.hint = target.id if isinstance(target, ast.Name) else "t"
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.hint = target.value.id + "_value"
        value = self.eval(node.value)
        for target in node.targets:
            self.bind(target, value)

    def read_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            return
        self.hint = getattr(node.target, "id", "t")
        self.bind(node.target, self.eval(node.value))

    def read_AugAssign(self, node: ast.AugAssign) -> None:
        op = _BINARY.get(type(node.op))
        if isinstance(node.op, ast.MatMult) or op is None:
            self.fail("this operator is not supported here", node, "acc += tl.dot(x, y)")
        self.hint = getattr(node.target, "id", "t")
        if isinstance(node.target, ast.Name):
            present = self.eval(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            value = self.eval(node.value)
            result = self.operate(op, present, value)
            own = isinstance(present, Tile) and node.target.id not in self.frame.carried and node.target.id not in self.frame.borrowed
            if own and not (present.aliased and present.by_value) and same_shape(present.shape, getattr(result, "shape", ())):
                self.write(present, result)
                return
            self.bind(node.target, result)
            return
        if not isinstance(node.target, ast.Subscript):
            self.fail("this cannot be assigned to", node.target, "assign to a name, a tile or a slice")
        load = ast.copy_location(ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)  # type: ignore[union-attr]
        self.bind(node.target, self.operate(op, self.eval(load), self.eval(node.value)))

    def read_For(self, node: ast.For) -> None:
        self.hint = "t"
        self.loop(node, self.eval(node.iter))

    def read_If(self, node: ast.If) -> None:
        condition = truth(self._known_or_operand(self.eval(node.test)))
        if isinstance(condition, bool):
            self.block(node.body if condition else node.orelse)
        else:
            self.branch(node, condition)

    def read_With(self, node: ast.With) -> None:
        if len(node.items) != 1:
            self.fail("one context at a time", node)
        item = node.items[0]
        value = self.eval(item.context_expr)
        enter = getattr(value, "enter_kernel", None)
        if enter is None:
            self.fail("with %s" % describe(value), item.context_expr, "with T.Kernel(…) as (bx, by)")
        bound = enter(self)
        if item.optional_vars is not None:
            self.bind(item.optional_vars, bound)
        self.block(node.body)
        value.leave_kernel(self)

    # -- assignment

    def bind(self, target: ast.AST, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = list(value) if isinstance(value, (tuple, list)) else None
            if values is None or len(values) != len(target.elts):
                self.fail("%d names for %s" % (len(target.elts), "%d values" % len(values) if values is not None else describe(value)), target)
            if any(getattr(part, "id", None) in self.frame.carried for part in target.elts):
                values = [values[0]] + [self.held(v) for v in values[1:]]  # type: ignore[index]
            for part, item in zip(target.elts, values or []):
                self.hint = getattr(part, "id", "t")
                self.bind(part, item)
        elif isinstance(target, ast.Subscript):
            self.assign_item(target, value)
        else:
            self.fail("this cannot be assigned to", target, "assign to a name, a tile or a slice")

    def assign(self, name: str, value: Any, node: ast.AST) -> None:
        frame = self.frame
        if self.scope is not None and not isinstance(value, (Tile, Pointer)) and self.scope.conditions and name in frame.names:
            condition: Any = self.scope.conditions[0]
            for more in self.scope.conditions[1:]:
                condition = logical("&&", condition, more)
            value = where(condition, self.operand(value), self.operand(frame.names[name]))
        carried = frame.carried.get(name)
        if carried is not None and self.scope is None:
            shape, dtype = _type_of(value)
            if shape not in (None, ()) and not same_shape(shape, carried.shape) or (dtype not in (None, carried.dtype) and not is_number(value)):
                self.fail("%s changes its type here, from %s%s to %s%s" % (name, carried.dtype, _shown(carried.shape), dtype, _shown(shape)), node,
                          "a name that a loop or branch changes keeps its shape and element type: convert with .to(…)")
            self.write(carried, value)
            frame.names[name] = carried
            return
        frame.names[name] = self.owned(value, name)
        frame.borrowed.discard(name)
        frame.gone.pop(name, None)

    def owned(self, value: Any, name: str) -> Any:
        """The value as a name holds it: what depends on memory that may change is put into a tile now."""
        if isinstance(value, constexpr):
            return value.value
        if isinstance(value, Tile):
            if value.fresh or not value.by_value:
                value.fresh = False
                return value
            value = value.read()
        if self.scope is not None:
            return self._local(value, name)
        if isinstance(value, (Dot, Region)):
            value = self.tile(value, name)
        elif isinstance(value, Expr) and value.reads:
            if not value.shape and value.level == UNIFORM and not self._written(value):
                return self.let(value, name)
            value = self.tile(value, name)
        elif isinstance(value, Transposed) and isinstance(value.of, Tile):
            value.of.aliased = True
        if isinstance(value, Tile):
            value.fresh = False
        return value

    def held(self, value: Any) -> Any:
        """The value as it is now, whatever is written next."""
        if isinstance(value, Tile) and value.by_value and not value.fresh:
            value = value.read()
        return self.tile(value) if isinstance(value, (Dot, Region)) or isinstance(value, Expr) and value.reads else value

    def _written(self, value: Expr) -> bool:
        params = self.info["params"]
        return any(params[r].written for r in value.reads if r in params)

    def let(self, value: Expr, name: str) -> Expr:
        """Names a value that is the same for the whole block, read once."""
        claimed = self.builder.claim(name)
        self.builder.emit({"op": "let", "name": claimed, "value": value.text})
        if value.dtype == "index":
            return index_expr(claimed)
        return Expr(value.dtype, claimed, (), UNIFORM)

    def _local(self, value: Any, name: str) -> Any:
        """Inside an elementwise loop: a let, so that it is computed once and holds what it was."""
        if isinstance(value, (Region, Dot)):
            raise Mistake("%s inside an elementwise loop" % describe(value), "index its elements: A[i, j]")
        if isinstance(value, Expr) and value.reads and not value.shape:
            assert self.scope is not None
            claimed = self.builder.claim(name)
            self.scope.items.append({"let": claimed, "value": value.text, "_at": self.builder.place})
            return index_expr(claimed, ELEMENT) if value.dtype == "index" else Expr(value.dtype, claimed, (), ELEMENT)
        return value

    def assign_item(self, target: ast.Subscript, value: Any) -> None:
        base = self.eval(target.value)
        items = self._items(target.slice)
        if isinstance(base, (Tile, Param)):
            self.store_item(base, items, value)
        elif isinstance(base, Pointer):
            self.fail("a pointer cannot be indexed", target, "tl.store(pointer + offset, value)")
        else:
            self.fail("%s cannot be assigned to" % describe(base), target, "assign to a name, a tile or a slice of a parameter")

    def store_item(self, base: Any, items: List[Any], value: Any) -> None:
        whole = all(isinstance(x, slice) and x == slice(None) or x is Ellipsis for x in items)
        if isinstance(base, Tile) and whole:
            self.write(base, self._fitted(value, base.shape))
            return
        if any(isinstance(x, Expr) and x.shape or isinstance(x, Tile) for x in items):
            self.scatter(base, items, value)
            return
        self.store_region(self.region(base, items), value)

    def _fitted(self, value: Any, shape: Any) -> Any:
        """A tile or slice whose axes of extent 1 differ, as an expression of the wanted shape."""
        given = getattr(value, "shape", shape)
        if given == shape or is_number(value):
            return value
        if [n for n in given if n != 1] == [n for n in shape if n != 1]:
            return self.reshaped(self.expr(value), shape)
        return value if isinstance(value, Dot) else self.expr(value)

    # -- expressions

    def eval(self, node: ast.AST) -> Any:
        kind = type(node).__name__
        reader = getattr(self, "eval_" + kind, None)
        if reader is None:
            message, hint = _UNSUPPORTED.get(kind, (kind, ""))
            self.fail("%s is not supported in a kernel" % message, node, hint)
        try:
            return reader(node)
        except Mistake as mistake:
            raise KernelError(mistake.message, self.frame.source.place(node), mistake.hint) from None

    def _known_or_operand(self, value: Any) -> Any:
        return value if value is None or isinstance(value, (bool, int, float, str, tuple, list, dict)) else self.operand(value)

    def eval_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (complex, bytes)):
            raise Mistake("%r is no value of a kernel" % (node.value,))
        return node.value

    def eval_Name(self, node: ast.Name) -> Any:
        frame = self.frame
        if node.id in frame.names:
            return self._captured(frame.names[node.id])
        if node.id in frame.gone:
            raise Mistake(frame.gone[node.id], "set it before the loop or branch")
        try:
            return self._captured(frame.source.lookup(node.id))
        except LookupError:
            words = list(frame.names) + list(frame.source.names())
            raise Mistake("%s is not defined" % node.id, nearest(node.id, words)) from None

    def _captured(self, value: Any) -> Any:
        if isinstance(value, constexpr):
            return value.value
        if isinstance(value, Symbol):
            return self.info["symbol"](value)
        if isinstance(value, Value):
            return self.operations[value.name](self)
        return value

    def eval_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.eval(e) for e in node.elts)

    def eval_List(self, node: ast.List) -> Any:
        return [self.eval(e) for e in node.elts]

    def eval_Dict(self, node: ast.Dict) -> Any:
        return {self.eval(k) if k is not None else None: self.eval(v) for k, v in zip(node.keys, node.values)}

    def eval_JoinedStr(self, node: ast.JoinedStr) -> Any:
        parts = [self.eval(v) for v in node.values]
        return "".join(str(p) for p in parts)

    def eval_FormattedValue(self, node: ast.FormattedValue) -> Any:
        return str(self.eval(node.value))

    def eval_BinOp(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, ast.MatMult):
            return self.operations["dot"](self, self.eval(node.left), self.eval(node.right))
        return self.operate(_BINARY[type(node.op)], self.eval(node.left), self.eval(node.right))

    def operate(self, op: str, a: Any, b: Any) -> Any:
        """``a op b`` of any values."""
        for one, other, forward in ((a, b, True), (b, a, False)):
            if isinstance(one, (Pointer, Param)) and op in ("+", "-") and (isinstance(one, Pointer) or not one.shape or one.mode == "flat" or self._offset(other)):
                if not forward and op == "-":
                    raise Mistake("a pointer cannot be subtracted")
                return self.moved_pointer(one, other if op == "+" else negate(self.operand(other)))
        if op == "+":
            for one, other in ((b, a), (a, b)):
                if isinstance(one, Dot) and one.added is None and not isinstance(other, Dot):
                    added = other if isinstance(other, Tile) else self.expr(other)
                    if same_shape(added.shape, one.shape) and added.dtype == one.dtype:
                        return Dot(one.a, one.b, one.transpose_a, one.transpose_b, one.shape, one.dtype, added)
        plain = (tuple, list, str)
        if isinstance(a, plain) and op in ("+", "*") and isinstance(b, plain + (int,)):
            return a + b if op == "+" else a * b
        return binary(op, self.operand(a), self.operand(b))

    def _offset(self, value: Any) -> bool:
        """Whether a parameter with axes plus this is pointer arithmetic: the other one is an index."""
        return isinstance(value, int) or isinstance(value, Expr) and value.dtype in ("index", "i32", "i64", "u32", "u64")

    def moved_pointer(self, base: Any, offset: Any) -> Pointer:
        from ._arithmetic import index_of

        amount = index_of(self.operand(offset))
        if isinstance(base, Param):
            self.use_flat(base)
            return Pointer(base, amount)
        return Pointer(base.param, self.expr(binary("+", base.offset, amount)))

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            known = truth(self._known_or_operand(value))
            return (not known) if isinstance(known, bool) else invert(known)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(value, (tuple, list)):
            return type(value)(negate(self.operand(v)) for v in value)
        return negate(self.operand(value)) if isinstance(node.op, ast.USub) else invert(self.operand(value))

    def eval_BoolOp(self, node: ast.BoolOp) -> Any:
        word = "&&" if isinstance(node.op, ast.And) else "||"
        result = self._known_or_operand(self.eval(node.values[0]))
        for part in node.values[1:]:
            if not isinstance(result, Expr) and bool(result) == (word == "||"):
                return result  # decided: what follows is not looked at
            value = self._known_or_operand(self.eval(part))
            result = value if not isinstance(result, Expr) else logical(word, result, value)
        return result

    def eval_Compare(self, node: ast.Compare) -> Any:
        left = self.eval(node.left)
        result: Any = True
        for op, comparator in zip(node.ops, node.comparators):
            right = self.eval(comparator)
            result = logical("&&", result, self._compare(op, left, right))
            left = right
        return result

    def _compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            return (a is b) == isinstance(op, ast.Is)
        values = (Expr, Tile, Region, Dot, Transposed)
        if isinstance(op, (ast.In, ast.NotIn)):
            return (a in b) == isinstance(op, ast.In)
        if isinstance(a, values) or isinstance(b, values):
            return binary(_COMPARE[type(op)], self.operand(a), self.operand(b))
        if as_dtype(a) is not None and as_dtype(b) is not None and not is_number(a):
            return (as_dtype(a) == as_dtype(b)) == isinstance(op, ast.Eq)
        if isinstance(op, ast.Eq):
            return a == b
        return a != b if isinstance(op, ast.NotEq) else binary(_COMPARE[type(op)], a, b)

    def eval_IfExp(self, node: ast.IfExp) -> Any:
        condition = truth(self._known_or_operand(self.eval(node.test)))
        if isinstance(condition, bool):
            return self.eval(node.body if condition else node.orelse)
        return where(condition, self.operand(self.eval(node.body)), self.operand(self.eval(node.orelse)))

    def eval_Attribute(self, node: ast.Attribute) -> Any:
        base = self.eval(node.value)
        if isinstance(base, (Expr, Tile, Region, Param, Pointer, Dot, Transposed, BlockPointer)):
            return self.attribute(base, node.attr)
        try:
            return self._captured(getattr(base, node.attr))
        except AttributeError:
            name = getattr(base, "__name__", type(base).__name__)
            raise Mistake("%s has no %s" % (name, node.attr), nearest(node.attr, dir(base))) from None

    def _items(self, node: ast.AST) -> List[Any]:
        if isinstance(node, ast.Tuple):
            return [self._item(e) for e in node.elts]
        value = self._item(node)
        return list(value) if isinstance(value, tuple) else [value]

    def _item(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Slice):
            ends = [None if e is None else self.eval(e) for e in (node.lower, node.upper, node.step)]
            return slice(*ends)
        return self.eval(node)

    def eval_Subscript(self, node: ast.Subscript) -> Any:
        base = self.eval(node.value)
        items = self._items(node.slice)
        if isinstance(base, (Expr, Tile, Region, Dot, Transposed, Param)):
            return self.item(base, items)
        if isinstance(base, (Pointer, BlockPointer)):
            raise Mistake("a pointer cannot be indexed", "tl.load(pointer + offset)")
        try:
            return base[items[0] if len(items) == 1 else tuple(items)]
        except (TypeError, LookupError) as error:
            raise Mistake("%s" % error) from None

    def eval_Call(self, node: ast.Call) -> Any:
        hint = self.hint
        if isinstance(node.func, ast.Attribute):
            base = self.eval(node.func.value)
            if isinstance(base, (Expr, Tile, Region, Param, Pointer, Dot, Transposed, BlockPointer)):
                args, kwargs = self._arguments(node)
                self.hint = hint
                return self.method(base, node.func.attr, args, kwargs)
        function = self.eval(node.func)
        args, kwargs = self._arguments(node)
        self.hint, self.result_used = hint, node is not self._unused
        return self.call(function, args, kwargs)

    def _arguments(self, node: ast.Call) -> Tuple[List[Any], Dict[str, Any]]:
        args: List[Any] = []
        for part in node.args:
            self.hint = "t"
            if isinstance(part, ast.Starred):
                args += list(self.eval(part.value))
            else:
                args.append(self.eval(part))
        kwargs: Dict[str, Any] = {}
        for keyword in node.keywords:
            self.hint = "t"
            value = self.eval(keyword.value)
            if keyword.arg is None:
                kwargs.update(value)
            else:
                kwargs[keyword.arg] = value
        return args, kwargs

    def call(self, function: Any, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        """A call: an operation of the language, a function to read here, or one of Python's on numbers known now."""
        import builtins
        import inspect

        if isinstance(function, Builtin):
            try:
                bound = inspect.signature(function).bind(*args, **kwargs)
            except TypeError as error:
                raise Mistake("%s(): %s" % (function.name, error), "the signature is %s%s" % (function.name, inspect.signature(function))) from None
            return self.operations[function.name](self, *bound.args, **bound.kwargs)
        if isinstance(function, DType):
            return self.method(args[0], "to", [function], {}) if not is_number(args[0]) else self.converted(args[0], function)
        inner = getattr(function, "kernel_function", None)  # of @tl.jit, @tl.kernel, @T.macro
        if inner is not None:
            return self.inline(inner, args, kwargs)
        own = self.operations.get("python." + getattr(function, "__name__", "")) if getattr(builtins, getattr(function, "__name__", ""), None) is function else None
        if own is not None:
            return own(self, *args, **kwargs)
        if not callable(function):
            raise Mistake("%s cannot be called" % describe(function))
        running = [a for a in list(args) + list(kwargs.values()) if isinstance(a, (Expr, Tile, Region, Param, Pointer, Dot))]
        if isinstance(function, BlockLayout) and running:
            return self.operations["layout_offset"](self, function, *args)
        if running and isinstance(function, types.FunctionType):
            return self.inline(function, args, kwargs)
        if running:
            raise Mistake("%s is a function of Python, and a kernel's values are not known to it" % getattr(function, "__name__", function),
                          "use its counterpart in kiln.language, such as tl.exp for math.exp")
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the author's own function
            raise Mistake("%s: %s: %s" % (getattr(function, "__name__", function), type(error).__name__, error)) from None


def _type_of(value: Any) -> Tuple[Any, Any]:
    if isinstance(value, (Tile, Expr, Dot, Region, Transposed)):
        dtype = value.dtype
        return value.shape, "i32" if dtype == "index" else dtype
    return None, None


def _shown(shape: Any) -> str:
    return "[%s]" % ", ".join(str(n) for n in shape) if shape else ""
