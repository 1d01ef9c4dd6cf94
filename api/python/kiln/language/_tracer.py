"""Reads a kernel's syntax tree, statement by statement, and writes the tile program. The kernel itself is never run."""

from __future__ import annotations

import ast
import types
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _scan
from ._arithmetic import Mistake, binary, index_of, invert, logical, negate, same_shape, truth, where
from ._branches import RESULT, Frame
from ._builder import NESTED_HINT, Builder
from ._calls import Calls, running
from ._errors import KernelError, nearest
from ._expr import STATIC, BlockPointer, Dot, Expr, Param, Pointer, Region, Tile, Transposed
from ._memory import MapScope, describe
from ._predication import changed
from ._source import Source
from ._views import Views
from ._options import Option, OptionType
from ._types import Symbol, Value, constexpr, plain

Operation = Callable[..., Any]

_STATEMENTS_MAX = 100000   # that one kernel is read as
_BODIES_MAX = 60           # in each other; those that are not decided element by element, NESTED_MAX in _builder.py
_EXPRESSIONS_MAX = 64      # in each other, as in the program

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&",
           ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}


class Tracer(Calls):
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
        self._sources: Dict[Any, Source] = {}  # of functions that were called
        self._deep = 0                        # expressions around the one that is being read, in its function

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
        frame.names.update({name: self.passed(name, value) for name, value in arguments.items()})
        frame.borrowed = {name for name, value in arguments.items() if isinstance(value, Tile) and value.by_value}
        outer, self.product_names = self.product_names, _scan.product_operands(source.tree)
        self.frames.append(frame)
        deep, self._deep = self._deep, 0
        try:
            self.block(source.tree.body)
        finally:
            self.frames.pop()
            self.product_names, self._deep = outer, deep
        return frame.names.get(RESULT, frame.result)

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
            if function not in self._sources:
                self._sources[function] = Source(function)
            return self._read_function(self._sources[function], arguments)
        except KernelError as error:
            if self.builder.place is not None:
                error.calls.append(self.builder.place)
            raise

    # -- statements

    def block(self, body: List[ast.stmt]) -> None:
        frame = self.frame
        ends = frame.ends
        for position, statement in enumerate(body):
            if frame.returned:
                return
            outer, rest = self.builder.place, body[position + 1:]
            self.builder.place = frame.source.place(statement)
            self._count(statement)
            over = not rest or isinstance(statement, ast.With) and all(isinstance(s, ast.Return) for s in rest)
            frame.ends = ends and over
            try:
                if ends and isinstance(statement, ast.If) and _scan.returns(statement):
                    frame.ends = True
                    return self.leaving(statement, self.condition(statement.test), rest)
                self._statement(statement)
            except Mistake as mistake:
                raise KernelError(mistake.message, frame.source.place(statement), mistake.hint) from None
            except RecursionError:
                said = "this is nested too deeply to be read"
                raise KernelError(said, frame.source.place(statement), NESTED_HINT) from None
            finally:
                self.builder.place, frame.ends = outer, ends

    def _count(self, statement: ast.stmt) -> None:
        """Of all statements that are read, with those of loops that are written out and of functions that are called."""
        self.builder.read += 1
        if self.builder.read > _STATEMENTS_MAX:
            self.fail("more than %d statements are read: loops that are written out, and calls, multiply" % _STATEMENTS_MAX,
                      statement, "range instead of tl.static_range: its body is read once")
        if self.builder.depth > _BODIES_MAX:
            self.fail("loops and branches are nested more than %d deep" % _BODIES_MAX, statement, NESTED_HINT)

    def _statement(self, node: ast.stmt) -> None:
        kind = type(node).__name__
        reader = getattr(self, "read_" + kind, None)
        if reader is None:
            message, hint = _scan.UNSUPPORTED.get(kind, ("%s" % kind, ""))
            self.fail("%s is not supported in a kernel" % message, node, (isinstance(node, ast.While) and _scan.instead_of_while(node)) or hint)
        reader(node)

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
        self.returns(node, None if node.value is None else self.eval(node.value))

    def read_Assert(self, node: ast.Assert) -> None:
        known = self.eval(node.test)
        said = self.eval(node.msg) if node.msg is not None else ""
        if isinstance(known, Expr) and known.level == STATIC and not self.builder.decided_later:
            text = self.text_of(said) or "the assertion does not hold"
            self.builder.assert_known(truth(known).text, text)  # type: ignore[union-attr]
            return
        if isinstance(known, (Expr, Tile, Region, Dot, Transposed)):
            self.operations["device_assert"](self, known, said)
            return
        if not known:
            self.fail(self.text_of(said) or "the assertion does not hold", node,
                      "it is asserted of sizes and constants: call it with others")

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
            own = own and not (present.by_value and (present.aliased or self.dependents(present)))
            if own and same_shape(present.shape, getattr(result, "shape", ())):
                self.write(present, result)
                return
            self.bind(node.target, result)
            return
        if not isinstance(node.target, ast.Subscript):
            self.fail("this cannot be assigned to", node.target, "assign to a name, a tile or a slice")
        base, items = self.eval(node.target.value), self._items(node.target.slice)  # once: an index may count
        self.assign_at(node.target, base, items, self.operate(op, self.item(base, items), self.eval(node.value)))

    def read_For(self, node: ast.For) -> None:
        self.hint = "t"
        self.loop(node, self.eval(node.iter))

    def read_If(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        while condition is False and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]  # of any number of elifs
            self.builder.place = self.frame.source.place(node)
            condition = self.condition(node.test)
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

    # -- expressions

    def eval(self, node: ast.AST) -> Any:
        kind = type(node).__name__
        reader = getattr(self, "eval_" + kind, None)
        if reader is None:
            message, hint = _scan.UNSUPPORTED.get(kind, (kind, ""))
            self.fail("%s is not supported in a kernel" % message, node, hint)
        self._deep += 1
        try:
            if self._deep > _EXPRESSIONS_MAX:
                raise Mistake("an expression nested more than %d deep" % _EXPRESSIONS_MAX,
                              "give parts of it names of their own")
            return reader(node)
        except Mistake as mistake:
            raise KernelError(mistake.message, self.frame.source.place(node), mistake.hint) from None
        finally:
            self._deep -= 1

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
            raise Mistake(frame.gone[node.id], frame.hints.get(node.id, "set it before the loop or branch"))
        try:
            return self._captured(frame.source.lookup(node.id))
        except LookupError:
            words = list(frame.names) + list(frame.source.names())
            raise Mistake("%s is not defined" % node.id, nearest(node.id, words)) from None

    def _captured(self, value: Any) -> Any:
        if type(value) in (tuple, list):
            value = type(value)(plain(v) for v in value)
        value = {k: plain(v) for k, v in value.items()} if type(value) is dict else plain(value)
        if isinstance(value, Symbol):
            return self.info["symbol"](value)
        if isinstance(value, (Option, OptionType)):
            self.builder.option(value)
            return value if isinstance(value, OptionType) else Expr("bool", value.name, (), STATIC)
        if isinstance(value, Value):
            return self.operations[value.name](self)
        return value

    def eval_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.eval(e) for e in node.elts)

    def eval_List(self, node: ast.List) -> Any:
        return [self.eval(e) for e in node.elts]

    def eval_Dict(self, node: ast.Dict) -> Any:
        found: Dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                found.update(self._spread(value, dict, "a dict"))
                continue
            name = self.eval(key)
            memory = isinstance(name, Param) or isinstance(name, Tile) and not name.by_value
            if running(name) and not memory or isinstance(name, (list, dict)):
                raise Mistake("%s as a key" % describe(name), "keys are numbers and texts that are known now")
            found[name] = self.eval(value)
        return found

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
                        return Dot(one.a, one.b, one.transpose_a, one.transpose_b, one.shape, one.dtype, added, one.schedule)
        plain = (tuple, list, str)
        if isinstance(a, plain) and op in ("+", "*") and isinstance(b, plain + (int,)):
            return a + b if op == "+" else a * b
        if isinstance(a, str) and op == "%":
            return self.text_with(a, b)
        return binary(op, self.operand(a), self.operand(b))

    def _offset(self, value: Any) -> bool:
        """Whether a parameter with axes plus this is pointer arithmetic: the other one is an index."""
        return isinstance(value, int) or isinstance(value, Expr) and value.dtype in ("index", "i8", "i16", "i32", "i64",
                                                                                     "u8", "u16", "u32", "u64")

    def moved_pointer(self, base: Any, offset: Any) -> Pointer:
        amount = index_of(self.operand(offset))
        if isinstance(base, Param):
            self.use_flat(base)
            return Pointer(base, amount)
        return Pointer(base.param, self.expr(binary("+", base.offset, amount)))

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            known = self.condition(node.operand)
            return (not known) if isinstance(known, bool) else invert(known)
        value = self.eval(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(value, (tuple, list)):
            return type(value)(negate(self.operand(v)) for v in value)
        return negate(self.operand(value)) if isinstance(node.op, ast.USub) else invert(self.operand(value))

    def eval_BoolOp(self, node: ast.BoolOp) -> Any:
        return self._joined(node, False)

    def _joined(self, node: ast.BoolOp, asked: bool) -> Any:
        """``and``, ``or``; ``asked``: whether they hold, else their value."""
        evaluated = self._asked if asked else self.eval
        word = "&&" if isinstance(node.op, ast.And) else "||"
        result = self._known_or_operand(evaluated(node.values[0]))
        for part in node.values[1:]:
            if not isinstance(result, Expr) and bool(result) == (word == "||"):
                return result  # decided: what follows is not looked at
            if not isinstance(result, Expr):
                result = self._known_or_operand(evaluated(part))
                continue
            value = self._known_or_operand(self._perhaps(part, "a part of and, or", evaluated))
            result = logical(word, result, value) if asked else self.either(word, result, value)
        return result

    def _asked(self, node: ast.expr) -> Any:
        return self._joined(node, True) if isinstance(node, ast.BoolOp) else self.eval(node)

    def condition(self, node: ast.expr) -> Union[Expr, bool]:
        """What an ``if`` asks: of and, or only whether they hold."""
        return truth(self._known_or_operand(self._asked(node)))

    def _perhaps(self, node: ast.expr, what: str, evaluated: Any = None) -> Any:
        """A value that Python computes in some cases only. It is computed always, so it must change nothing."""
        before = {tile.name for tile in self.builder.tiles}
        done = len(self.scope.items) if self.scope is not None else 0
        body: List[Dict[str, Any]] = []
        self.builder.open(body)
        value = (evaluated or self.eval)(node)
        self.builder.close()
        items = [] if self.scope is None else self.scope.items[done:]
        made = {tile.name for tile in self.builder.tiles} - before
        if changed(body, made) or any("let" not in item for item in items):
            self.fail("%s that changes memory" % what, node, "it would be done always here: write an if statement")
        self.builder.append(body)
        return value

    def eval_Compare(self, node: ast.Compare) -> Any:
        left = self.eval(node.left)
        result: Any = True
        for op, comparator in zip(node.ops, node.comparators):
            right = self.eval(comparator)
            result = logical("&&", result, self.compare(op, left, right))
            left = right
        return result

    def eval_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            return self.eval(node.body if condition else node.orelse)
        one, other = (self._perhaps(side, "a side of a if c else b") for side in (node.body, node.orelse))
        return where(condition, self.operand(one), self.operand(other))

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
        if running(items) and isinstance(base, (tuple, list, dict, str, range)):
            raise Mistake("a part of %s is chosen by a value that runs" % type(base).__name__,
                          "tl.where for a few numbers, a parameter for many")
        try:
            return plain(base[items[0] if len(items) == 1 else tuple(items)])
        except Mistake:
            raise
        except Exception as error:  # noqa: BLE001 - the author's own value
            raise Mistake("%s: %s" % (type(error).__name__, error), "an index or key that is there") from None

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
                args += self._spread(part.value, (tuple, list), "a tuple")
            else:
                args.append(self.eval(part))
        kwargs: Dict[str, Any] = {}
        for keyword in node.keywords:
            self.hint = "t"
            if keyword.arg is None:
                kwargs.update(self._spread(keyword.value, dict, "a dict"))
            else:
                kwargs[keyword.arg] = self.eval(keyword.value)
        return args, kwargs

    def _spread(self, node: ast.expr, kinds: Any, wanted: str) -> Any:
        """What stands behind * or ** in a call."""
        value = self.eval(node)
        if not isinstance(value, kinds):
            raise Mistake("%s in front of %s" % ("**" if kinds is dict else "*", describe(value)),
                          "it takes %s" % wanted)
        return value
