"""Reads a kernel in TileLang's style: what its statements mean beyond those of ``kiln.language``."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Optional

from ..language._arithmetic import Mistake, cast, index_of, is_number
from ..language._expr import ELEMENT, STATIC, UNIFORM, Expr, Param, Poly, Region, Tile, index_expr
from ..language._loops import Range
from ..language._memory import _spread
from ..language._operations import dims
from ..language._tilelang import Access, Decoded, Variable
from ..language._types import DTYPES, as_dtype
from ._control import Control
from ._functions import Operation
from ._places import View, view_of
from ._types import Size, Tensor, canonical, dtype

_DEPTH_MAX = 16  # of parentheses in a value that is not named; the format's limit is 64


class TileReader(Control):
    """Reads one kernel."""

    arguments_are_values = False  # a macro's are places and expressions

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
            raise Mistake(
                "it is not known what %s is" % node.id,
                "say so before it is used: %s: T.Tensor((M, N), T.float16)" % node.id,
            )
        return value

    def eval_Lambda(self, node: ast.Lambda) -> Any:
        """A function of Python's, for layouts; it sees what is known when the kernel is read."""
        names = dict(self.frame.source.function.__globals__)
        names.update(self.frame.source._names)
        names.update({k: v for k, v in self.frame.names.items() if isinstance(v, (int, float, str, tuple, list))})
        return eval(
            compile(ast.Expression(node), self.frame.source.file, "eval"), names
        )  # noqa: S307 - the author's own function

    def eval_ListComp(self, node: Any) -> Any:
        """A list of values over what is known when the kernel is read."""
        names, found = dict(self.frame.names), []

        def over(generators: List[ast.comprehension]) -> None:
            if not generators:
                found.append(self.eval(node.elt))
                return
            values = self.eval(generators[0].iter)
            values = self._values_now(values) if isinstance(values, Range) else values
            if not isinstance(values, (list, tuple, range)):
                self.fail(
                    "a comprehension over what is not known now",
                    node,
                    "T.serial, or a list of the Python code around the kernel",
                )
            for value in values:
                self.bind(generators[0].target, value)
                if all(self._known_or_operand(self.eval(test)) for test in generators[0].ifs):
                    over(generators[1:])

        over(node.generators)
        self.frame.names = names
        return found

    eval_GeneratorExp = eval_ListComp

    def eval_Call(self, node: ast.Call) -> Any:
        function = self._operation(node.func)
        if function is None or not function.places:
            return super().eval_Call(node)
        if (
            function.name in ("T.fill", "T.clear")
            and isinstance(node.args[0], ast.Name)
            and (id(self.frame), node.args[0].id) in self.variables
        ):
            return self.assign(node.args[0].id, self.eval(node.args[1]) if len(node.args) > 1 else 0, node)
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
            if isinstance(base, (Tile, Param, View)):
                return Access(base, self._items(node.slice))
            if isinstance(base, Region):
                raise Mistake("a piece of a piece", "name the tensor itself, with all its indices")
        return self.eval(node)

    def call(self, function: Any, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        if isinstance(function, dtype):
            return self.operations["T.Cast"](self, function, *args)
        if function is Tensor:
            made = Tensor(*args, **kwargs)
            return made if made.data is None else view_of(self, made.data, dims(made.shape))
        if isinstance(function, Operation) and function.outside is not None and not self.running(args, kwargs):
            try:
                return self._captured(function.outside(*args, **kwargs))
            except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
                raise Mistake("%s: %s" % (function.name, error)) from None
        return super().call(function, args, kwargs)

    def attribute(self, value: Any, name: str) -> Any:
        if name == "data" and isinstance(value, Param):
            return value
        if name == "scope":
            return value.space if isinstance(value, Tile) else "global"
        return super().attribute(value, name)

    def eval_Attribute(self, node: ast.Attribute) -> Any:
        base = self.eval(node.value)
        if isinstance(base, View):
            return (
                tuple(self.dim_value(n) for n in base.shape)
                if node.attr == "shape"
                else self.attribute(base.of, node.attr)
            )
        return super().eval_Attribute(node)

    def item(self, base: Any, items: List[Any]) -> Any:
        if isinstance(base, View):
            return super().item(base.of, self._seen(base, items))
        return super().item(base, items)

    def store_item(self, base: Any, items: List[Any], value: Any) -> None:
        if isinstance(base, View):
            base, items = base.of, self._seen(base, items)
        super().store_item(base, items, value)
        if (
            isinstance(base, Tile)
            and self.scope is None
            and len(items) == 1
            and len(base.shape) == 1
            and isinstance(value, Expr)
            and value.level == UNIFORM
            and not self._written(value)
            and isinstance(items[0], Expr)
            and items[0].poly is not None
        ):
            assert base.dtype is not None
            self.builder.note_mirror(base.name, str(items[0].poly), cast(value, base.dtype))

    def _seen(self, view: View, items: List[Any]) -> List[Any]:
        if len(items) != len(view.shape) or any(isinstance(x, slice) for x in items):
            raise Mistake("a piece of a view", "index its elements, or copy it with T.copy")
        return view.indices([index_of(self.operand(x)) for x in items])

    def assign_item(self, target: ast.Subscript, value: Any) -> None:
        base = self.eval(target.value)
        if isinstance(base, View):
            return self.store_item(base, self._items(target.slice), value)
        return super().assign_item(target, value)

    def running(self, args: List[Any], kwargs: Dict[str, Any]) -> bool:
        return any(isinstance(a, (Expr, Tile, Region, Param, Access)) for a in list(args) + list(kwargs.values()))

    def uniform(self, value: Any, name: str = "n") -> Any:
        """A value for a place that is the same for the whole block: elements of tensors are read once, now."""
        if not isinstance(value, (Expr, Tile)):
            return value
        expr = self.mirrored(self.expr(value))
        if not expr.reads or self.scope is not None:
            return expr
        if expr.shape not in ((), (1,)) or expr.level == ELEMENT or self._written(expr):
            raise Mistake(
                "this is known only from elements of a tile, or of a tensor that this kernel writes: %s" % expr.text,
                "bounds, branches and places of copies come from sizes, block positions, and elements of tensors "
                "that are only read",
            )
        return self.let(expr, name)

    def mirrored(self, value: Expr) -> Expr:
        """An expression of tiles that hold nothing but elements of tensors, as one of those tensors' elements."""
        tiles = [name for name in value.reads if name not in self.info["params"]]
        if (
            not tiles
            or value.shape not in ((), (1,))
            or self.scope is not None
            or any(self.builder.mirror(name) is None for name in tiles)
        ):
            return value
        text, reads = value.text, frozenset(name for name in value.reads if name in self.info["params"])
        for name in tiles:
            source = self.builder.mirror(name)
            text, reads = replaced(text, name, source), reads | source.reads
        made = Expr(value.dtype, text, (), UNIFORM, None, reads)
        return value if self._written(made) else made

    def owned(self, value: Any, name: str) -> Any:
        if isinstance(value, Expr) and value.reads and value.level == ELEMENT and self.scope is None:
            value = self.mirrored(value)
        return super().owned(value, name)

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
            if value is not before.get(name) and (
                isinstance(value, (Tile, Region)) or isinstance(value, Expr) and value.level != STATIC
            ):
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
                raise Mistake(
                    "%s is no parameter of this function" % name,
                    "T.empty makes results, T.alloc_shared and T.alloc_fragment tiles",
                )
            self.frame.names[name] = self.specializer.declared(name, annotation)
            return None
        if node.value is None:
            return None
        self.hint = name
        value = self.eval(node.value)
        kind = as_dtype(canonical(annotation)) if isinstance(annotation, str) else None
        self.bind(
            node.target,
            self.converted(value, kind) if kind is not None and not isinstance(value, (Tile, Region)) else value,
        )
        return None

    def read_Return(self, node: ast.Return) -> None:
        if len(self.frames) > 1:
            return super().read_Return(node)
        value = self.eval(node.value) if node.value is not None else None
        out = self.specializer.out
        if value is not None:
            if self.builder.depth > 1 or self.frame.stays:
                self.fail(
                    "return inside T.Kernel, a loop or a branch",
                    node,
                    "results are returned at the end of the function",
                )
            results = list(value) if isinstance(value, (tuple, list)) else [value]
            made = set(out.results or [])
            for result in results:
                if not isinstance(result, Param) or result.name not in made:
                    self.fail(
                        "a kernel returns what T.empty made",
                        node,
                        "other tensors are written where the caller passed them",
                    )
            out.results = [result.name for result in results]
            missing = made - set(out.results)
            out.scratch += sorted(missing)
        elif self.builder.depth > 1 or self.frame.stays:
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
                self.fail(
                    "%s, made outside the elementwise loop, changes inside it" % name,
                    node,
                    "iterations are independent: put it into a tile, and reduce it with T.reduce_sum or T.reduce_max",
                )
            value = self.as_kind(value, kind)
        if (
            isinstance(value, Expr)
            and value.level == UNIFORM
            and not value.shape
            and not value.reads
            and self.scope is None
            and _depth(value) > _DEPTH_MAX
        ):
            value = self.let(value, name)
        return super().assign(name, value, node)

    def _local(self, value: Any, name: str) -> Any:
        if isinstance(value, Expr) and not value.reads and not value.shape and _depth(value) > _DEPTH_MAX:
            assert self.scope is not None
            claimed = self.builder.claim(name)
            self.scope.items.append({"let": claimed, "value": value.text, "_at": self.builder.place})
            return index_expr(claimed, ELEMENT) if value.dtype == "index" else Expr(value.dtype, claimed, (), ELEMENT)
        return super()._local(value, name)

    def as_kind(self, value: Any, kind: str) -> Any:
        """A value of an element type; whole numbers stay numbers."""
        if is_number(value):
            return float(value) if DTYPES[kind].is_float else bool(value) if kind == "bool" else int(value)
        return self.converted(value, DTYPES[kind])

    def eval_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self.frame.names.get(node.value.id), Decoded):
            return self.frame.names[node.value.id].position(self.expr(self.eval(node.slice)))
        base = self.eval(node.value) if isinstance(node.value, ast.Name) and node.value.id in self.frame.names else None
        if isinstance(base, View):
            return self.item(base, self._items(node.slice))
        return super().eval_Subscript(node)


def replaced(text: str, name: str, source: Expr) -> str:
    """``name[i, …]`` in an expression replaced by ``source``, whose ``$k`` are those indices."""
    found, at = "", 0
    for match in re.finditer(r"(?<![\w.$])%s\[" % re.escape(name), text):
        if match.start() < at:
            continue
        depth, end, parts = 1, match.end(), [""]
        while depth:
            c = text[end]
            depth += (c in "[(") - (c in ")]")
            if c == "," and depth == 1:
                parts.append("")
            elif depth:
                parts[-1] += c
            end += 1
        inner = [replaced(part.strip(), name, source) for part in parts]
        found += text[at : match.start()] + "(%s)" % re.sub(
            r"\$(\d)", lambda m: "(%s)" % inner[int(m.group(1))], source.text
        )
        at = end
    return found + text[at:]


def _depth(value: Expr) -> int:
    """How deep its parentheses nest."""
    deepest = now = 0
    for c in value.text:
        now += (c == "(") - (c == ")")
        deepest = max(deepest, now)
    return deepest
