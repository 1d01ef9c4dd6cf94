"""A grid as a command line says it: expressions of Python over sizes, constants and tunables of the kernel."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, Tuple, Union

from .. import errors
from ._arithmetic import Mistake, binary, ceildiv
from ._expr import STATIC, Expr, Param, index_expr

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_FUNCTIONS: Dict[str, Callable[[Any, Any], Any]] = {
    "cdiv": ceildiv,
    "ceildiv": ceildiv,
    "min": lambda a, b: binary("min", a, b),
    "max": lambda a, b: binary("max", a, b)
}


class GridText(str):
    """One extent of a grid, ``cdiv(n, BLOCK)``; names mean what they mean in the kernel that it is given for."""


def parsed(text: str) -> Tuple[GridText, ...]:
    """The extents of ``cdiv(n, BLOCK), 1``; of Triton's ``lambda meta: (cdiv(n, meta["BLOCK"]), 1)`` the same.

    Raises:
        errors.InvalidArgument: no expression, or not 1 to 3 of them.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _refused(text, "no expression: %s" % getattr(error, "msg", error)) from None
    tree = tree.body if isinstance(tree, ast.Lambda) else tree
    axes = tree.elts if isinstance(tree, (ast.Tuple, ast.List)) else [tree]
    if not 1 <= len(axes) <= 3:
        raise _refused(text, "a grid has 1 to 3 extents, x first")
    return tuple(GridText(ast.unparse(axis)) for axis in axes)


def _refused(text: str, why: str) -> errors.InvalidArgument:
    return errors.InvalidArgument("--grid '%s': %s; expected such as 'cdiv(n, BLOCK), 1'" % (text, why))


class Meaning:
    """Turns extents into indices of one kernel.

    Attributes:
        later: names that nothing was known of yet: symbols and tunables that the kernel's statements declare.
    """

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        self._lookup = lookup
        self.later: Dict[str, str] = {}

    def extent(self, text: GridText) -> Union[int, Expr]:
        """Raises errors.InvalidArgument: not a whole number that is known when the kernel is compiled."""
        self._text = text
        try:
            value = self._value(ast.parse(text, mode="eval").body)
        except Mistake as mistake:
            raise _refused(text, mistake.message) from None
        static = isinstance(value, Expr) and value.level == STATIC and value.poly is not None
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not static and not whole:
            raise _refused(text, "no whole number that is known when the kernel is compiled")
        return value

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return binary(_OPERATORS[type(node.op)], self._value(node.left), self._value(node.right))
        if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
            function = _FUNCTIONS.get(getattr(node.func, "attr", getattr(node.func, "id", "")))
            if function is not None:
                return function(self._value(node.args[0]), self._value(node.args[1]))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self._item(node.value, node.slice.value)
        raise _refused(self._text, "%s is none of names, whole numbers, + - * // %%, cdiv, min and max" %
                       ast.unparse(node))

    def _item(self, of: ast.expr, at: Any) -> Any:
        """``X.shape[0]``, and ``meta["BLOCK"]``."""
        if isinstance(at, str):
            return self._named(at)
        if isinstance(of, ast.Attribute) and of.attr == "shape" and isinstance(of.value, ast.Name):
            param = self._lookup(of.value.id)
            if isinstance(param, Param) and isinstance(at, int) and -len(param.shape) <= at < len(param.shape):
                extent = param.shape[at]
                return extent if isinstance(extent, int) else index_expr(extent, STATIC)
        raise _refused(self._text, "%s[%r] is no extent" % (ast.unparse(of), at))

    def _named(self, name: str) -> Any:
        value = self._lookup(name)
        if value is None:
            self.later[name] = self._text
            return index_expr(name, STATIC)
        if isinstance(value, (Param, str)) or not isinstance(value, (int, Expr)):
            raise _refused(self._text, "%s is no number" % name)
        if isinstance(value, Expr) and (value.level != STATIC or value.poly is None):
            raise _refused(self._text, "%s is passed at each launch, and not known when the kernel is compiled" % name)
        return value


def check_known(later: Dict[str, str], known: Any) -> None:
    """Raises errors.InvalidArgument where a name is neither of the kernel nor declared by it."""
    for name, text in later.items():
        if name not in known:
            raise _refused(text, "the kernel has no %s; there are %s" % (name, ", ".join(known) or "none"))
