"""The source of a function as a syntax tree whose nodes know their place in the file."""

from __future__ import annotations

import ast
import inspect
import linecache
import types
from typing import Any, Dict

from ._errors import KernelError, Place


class Source:
    """A function's syntax tree and what its free names mean.

    Attributes:
        function: the Python function, which is never called.
        tree: its definition; ``place`` turns a node into a place of the file.
        file, first_line: where the definition (with decorators) begins.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.file = inspect.getsourcefile(function) or "<unknown>"
        try:
            lines, self.first_line = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise KernelError("the source of %s cannot be read" % function.__qualname__,
                              hint="kernels are read, not run: define it in a file or a notebook cell") from None
        self._indent = len(lines[0]) - len(lines[0].lstrip())
        text = "".join(line[self._indent:] if line.strip() and (line[: self._indent].isspace() or not self._indent) else line for line in lines)
        self._lines = [line.rstrip("\n") for line in lines]
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            line = self.first_line + (error.lineno or 1) - 1
            place = Place(self.file, line, (error.offset or 1) + self._indent, (error.offset or 1) + self._indent + 1,
                          linecache.getline(self.file, line).rstrip("\n"), function.__name__)
            raise KernelError("this function cannot be read by itself: %s" % error.msg, place,
                              "lines inside brackets and strings must be indented at least as far as the definition") from None
        definition = tree.body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise KernelError("expected a function defined with def, found %s" % function.__qualname__,
                              hint="a lambda or a class is no kernel")
        self.tree = definition
        self._names: Dict[str, Any] = {}
        if function.__closure__:
            for name, cell in zip(function.__code__.co_freevars, function.__closure__):
                try:
                    self._names[name] = cell.cell_contents
                except ValueError:  # not set yet
                    pass

    def place(self, node: ast.AST) -> Place:
        at = getattr(node, "lineno", 1)
        text = self._lines[at - 1] if at <= len(self._lines) else ""
        column = self._columns(node, text, "col_offset", 0)
        end = self._columns(node, text, "end_col_offset", len(text)) if getattr(node, "end_lineno", at) == at else len(text) + 1
        return Place(self.file, self.first_line + at - 1, column, max(end, column + 1), text, self.function.__name__)

    def _columns(self, node: ast.AST, text: str, field: str, default: int) -> int:
        """A column from 1 in characters; the tree counts bytes, behind the indentation that was taken off."""
        at = getattr(node, field, default)
        behind = text[self._indent:].encode()[:at].decode(errors="ignore")
        return self._indent + len(behind) + 1

    def lookup(self, name: str) -> Any:
        """What a free name means: closure, module, built-in. LookupError when it means nothing."""
        if name in self._names:
            return self._names[name]
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        builtins = self.function.__globals__.get("__builtins__", {})
        table = builtins if isinstance(builtins, dict) else vars(builtins)
        return table[name]

    def names(self) -> Any:
        return list(self._names) + list(self.function.__globals__)
