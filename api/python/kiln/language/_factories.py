"""Functions of the author's that make a kernel: they are Python, and are run; the kernel that they return is read."""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import os
import sys
import traceback
import types
from typing import Any, List, Mapping, Optional

from .. import errors
from ._emit import needed
from ._errors import KernelError, Place
from ._source import Source

_MARKS = ("prim_func", "kernel", "program", "jit")


def makes_kernel(function: Any) -> bool:
    """Whether a kernel is defined inside of a function of Python."""
    if not isinstance(function, types.FunctionType):
        return False
    try:
        tree = Source(function).tree
    except KernelError:
        return False
    inner = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n is not tree]
    return any(_word(mark) in _MARKS for n in inner for mark in n.decorator_list)


def _word(mark: ast.expr) -> str:
    """The last name of a decorator: ``prim_func`` of ``@T.prim_func(…)``."""
    called = mark.func if isinstance(mark, ast.Call) else mark
    return str(getattr(called, "attr", getattr(called, "id", "")))


def missing_of(function: Any, given: Any) -> List[str]:
    """Parameters of a function that have neither a value nor a default."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [n for n, p in inspect.signature(function).parameters.items()
            if n not in given and p.default is p.empty and p.kind not in kinds]


def called(function: Any, values: Mapping[str, Any], file: str) -> Any:
    """What a factory returns for these arguments. What it prints goes to standard error.

    Raises:
        KernelError: arguments are missing, all of which it names; it raised, at the line of ``file`` that led to it.
    """
    missing = missing_of(function, values)
    if missing:
        raise needed(function, [], missing)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return function(**values)
    except errors.KilnError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's function raises
        raise failed(file, error, "while %s makes its kernel" % function.__name__) from error


def failed(path: str, error: BaseException, when: str) -> KernelError:
    """An exception of the user's code, at the line of his file that led to it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if os.path.abspath(f.filename) == os.path.abspath(path)]
    place: Optional[Place] = None
    if frames:
        last = frames[-1]
        text = linecache.getline(last.filename, last.lineno or 0).rstrip("\n")
        place = Place(path, last.lineno or 0, len(text) - len(text.lstrip()) + 1, len(text) + 1, text, "")
    missing = isinstance(error, ModuleNotFoundError)
    hint = "this is %s; $KILN_PYTHON names another interpreter" % sys.executable if missing else ""
    return KernelError("%s %s: %s" % (type(error).__name__, when, error), place, hint)
