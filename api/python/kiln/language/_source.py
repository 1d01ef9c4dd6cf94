"""The source of a function as a syntax tree whose nodes know their place in the file."""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import threading
import types
import weakref
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ._content import Same, content
from ._errors import KernelError, Place
from ._types import plain

# Lines of the files that functions were defined in, as they were when a decorator saw them: a file that is edited later
# is not what this process has imported.
# By the id of the code, which is equal to that of the same function on other lines.
_lines: Dict[int, Tuple[Any, List[str]]] = {}


def remember(function: Any) -> None:
    """Keeps the source of a function as it is now, and that of functions inside it and of those that it names."""
    function = inspect.unwrap(getattr(function, "kernel_function", function))
    code = getattr(function, "__code__", None)
    if code is None or _kept(code) is not None:
        return
    file = inspect.getsourcefile(function) or code.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        return
    every = _nested(code)
    for one in every:
        _keep(one, lines)
    for helper in _named(function, {name for one in every for name in one.co_names}):
        remember(helper)


def _keep(code: types.CodeType, lines: List[str]) -> None:
    key = id(code)
    _lines[key] = weakref.ref(code, lambda _: _lines.pop(key, None)), lines


def _kept(code: types.CodeType) -> Optional[List[str]]:
    found = _lines.get(id(code))
    return found[1] if found is not None and found[0]() is code else None


def _nested(code: types.CodeType) -> List[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += _nested(constant)
    return found


def _named(function: types.FunctionType, names: Any) -> List[types.FunctionType]:
    """Functions of Python among what names mean to a function, and among what modules that it names hold by them."""
    values = [function.__globals__.get(name) for name in names]
    modules = [v for v in values if isinstance(v, types.ModuleType) and not _foreign(v)]
    values += [vars(module).get(name) for module in modules for name in names]
    return [v for v in values if isinstance(v, types.FunctionType) and not _foreign(v)]


def _foreign(module: Any) -> bool:
    """Whether a module, or the one that a function is of, is no author's: its names are not looked at for changes."""
    name = module.__name__ if isinstance(module, types.ModuleType) else getattr(module, "__module__", None) or ""
    return name.partition(".")[0] in ("kiln", "numpy", "torch", "math", "builtins")


# -- what names meant

_MISSING = "<missing>"
_reading = threading.local()
Names = Dict[Tuple[types.FunctionType, str], Any]


@contextlib.contextmanager
def served() -> Iterator[Names]:
    """What names of functions meant that are looked up in this thread, as :func:`stamp` gives it."""
    outer, _reading.names = getattr(_reading, "names", None), {}
    try:
        yield _reading.names
    finally:
        _reading.names = outer


def named(function: Any) -> Names:
    """What all names in a function mean, and those in functions of Python that it names."""
    found: Names = {}
    rest = [inspect.unwrap(getattr(function, "kernel_function", function))]
    while rest:
        one = rest.pop()
        words = {name for code in _nested(one.__code__) for name in code.co_names + code.co_freevars}
        found.update({(one, word): stamp(one, _meaning(one, word)) for word in words})
        values = [_meaning(one, word) for word in words]
        inner = [inspect.unwrap(getattr(v, "kernel_function", v)) for v in values] + _named(one, words)
        rest += [f for f in inner if isinstance(f, types.FunctionType) and not _foreign(f)
                 and all(f is not key[0] for key in found) and f not in rest]
    return found


def still(names: Names) -> bool:
    """Whether all names mean what they meant."""
    return all(stamp(function, _meaning(function, name)) == before for (function, name), before in names.items())


def _meaning(function: types.FunctionType, name: str) -> Any:
    if name in function.__code__.co_freevars and function.__closure__:
        try:
            return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
        except ValueError:  # not set yet
            pass
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__.get("__builtins__", {})
    return (builtins if isinstance(builtins, dict) else vars(builtins)).get(name, _MISSING)


def stamp(function: types.FunctionType, value: Any, depth: int = 3) -> Any:
    """What a value is, to compare with later: numbers, texts, containers and objects by their contents, functions by
    themselves, of modules the attributes that the function names.
    """
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return type(value).__name__, repr(value)
    if isinstance(value, types.ModuleType):
        words = function.__code__.co_names if depth and not _foreign(value) else ()
        return Same(value), [(w, stamp(function, vars(value)[w], depth - 1)) for w in words if w in vars(value)]
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return type(value).__name__, [stamp(function, v, depth - 1) for v in value]
    if depth and isinstance(value, dict):
        return "dict", [(content(k), stamp(function, v, depth - 1)) for k, v in value.items()]
    if hasattr(value, "tobytes") and hasattr(value, "shape"):
        return str(value.dtype), value.shape, value.tobytes()
    looked_into = depth and hasattr(value, "__dict__") and (isinstance(value, type) or not callable(value))
    held = vars(value) if looked_into else {}
    return Same(value), [(n, stamp(function, v, depth - 1)) for n, v in list(held.items()) if not n.startswith("__")]


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
        lines, self.first_line = _text(function)
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
        if definition.name != inspect.unwrap(function).__code__.co_name:
            said = "%s has another function at line %d than the one that was imported" % (self.file, self.first_line)
            raise KernelError(said, hint="the file was changed since: import it again, or start anew")
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
        names = getattr(_reading, "names", None)
        if names is not None and (self.function, name) not in names:
            names[self.function, name] = stamp(self.function, _meaning(self.function, name))
        if name in self._names:
            return self._names[name]
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        builtins = self.function.__globals__.get("__builtins__", {})
        table = builtins if isinstance(builtins, dict) else vars(builtins)
        return table[name]

    def names(self) -> Any:
        return list(self._names) + list(self.function.__globals__)


def _text(function: types.FunctionType) -> Tuple[List[str], int]:
    """The lines of a function's definition with its decorators, and the number of the first one.

    Raises:
        KernelError: there are none.
    """
    try:
        remember(function)
        code = inspect.unwrap(function).__code__
        lines, first = _kept(code), code.co_firstlineno
        if lines is None or not 0 < first <= len(lines):
            raise OSError("no source")
        return inspect.getblock(lines[first - 1:]), first
    except (OSError, TypeError):
        raise _unreadable(function) from None


def _unreadable(function: types.FunctionType) -> KernelError:
    name, file = function.__name__, inspect.unwrap(function).__code__.co_filename
    if file.startswith(("<stdin>", "<python-input")):
        why = "it was typed at Python's prompt, which keeps no source"
    elif file.startswith("<"):
        why = "it comes from text that Python was given, %s" % file
    else:
        why = "%s cannot be opened, or has other lines now" % file
    hint = "kernels are read, not run: put it into a file, kernels.py, and write `from kernels import %s`; cells of " \
           "a notebook and of IPython do too" % name
    return KernelError("the source of %s cannot be read: %s" % (name, why), hint=hint)
