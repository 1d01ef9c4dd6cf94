"""``python -m kiln.language emit FILE.py[:FUNCTION]``: a kernel's tile program as JSON, for tools that are not Python."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import inspect
import json
import os
import re
import sys
from typing import Any, Dict, List, Tuple

from .. import errors
from ._emit import Emitted, Reading, Request, of_kernel, told_apart
from ._errors import KernelError, Place, nearest, speak_of_commands
from ._factories import called, failed, makes_kernel
from ._grid_text import parsed
from ._kernel import kernel_of


def load_module(path: str, folder: str = "") -> Any:
    """Imports a file as Python does a script that is not the main one, ``folder`` (without one its own) first on the path. What it
    prints goes to standard error: standard output is the program's."""
    if not os.path.isfile(path):
        raise errors.InvalidArgument("%s: no such file" % path)
    folder = folder or os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = "kiln_kernels_" + "".join(c if c.isalnum() else "_" for c in os.path.abspath(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise errors.InvalidArgument("%s: not a Python file" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except errors.KilnError:
        raise
    except SyntaxError as error:
        place = Place(error.filename or path, error.lineno or 1, error.offset or 1, error.end_offset or 0, (error.text or "").rstrip("\n"), "")
        raise KernelError(error.msg, place, "the file is no Python of this interpreter, %s" % sys.version.split()[0]) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's module raises
        raise failed(path, error, "while the file is imported") from error
    return module


def _tilelang() -> Any:
    """The part of emit that knows TileLang's style; None where the file uses nothing of it."""
    if "kiln.tilelang" not in sys.modules:
        return None
    from ..tilelang import _emit

    return _emit


def kernels_of(module: Any) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The kernels of a file by name, and its functions that make one."""
    kernels: Dict[str, Any] = {}
    factories: Dict[str, Any] = {}
    tiles = _tilelang()
    for name, value in vars(module).items():
        kernel = kernel_of(value)
        own = getattr(value if kernel is None else kernel.kernel_function, "__module__", "") == module.__name__
        if name.startswith("_") or not own:
            continue
        if kernel is not None or tiles is not None and tiles.is_subject(value):
            kernels[name] = value if kernel is None else kernel
        elif makes_kernel(value):
            factories[name] = value
    return kernels, factories


def find_kernel(module: Any, name: str, path: str) -> Tuple[str, Any]:
    """The kernel of that name, or the function that makes it; without a name the only one of the file."""
    kernels, factories = kernels_of(module)
    every = {**kernels, **factories}
    if name:
        if name not in every:
            hint = nearest(name, every)
            raise errors.InvalidArgument("%s has no kernel %s; there are %s%s" % (
                path, name, ", ".join(every) or "none", " (%s)" % hint if hint else ""))
        return name, every[name]
    found = kernels or factories
    if len(found) != 1:
        raise errors.InvalidArgument("%s has %d kernels%s: name one, %s:NAME" % (
            path, len(every), ", " + ", ".join(every) if every else "", path))
    return next(iter(found.items()))


def read(name: str, value: Any, module: Any, request: Request) -> Emitted:
    """Reads a kernel; a function that makes one is run for it."""
    tiles = _tilelang()
    if kernel_of(value) is not None:
        return of_kernel(name, value, module, request)
    if tiles is not None and tiles.is_subject(value):
        return tiles.emitted_of(name, value, module, request)  # type: ignore[no-any-return]
    own, others, _ = told_apart(request.given, inspect.signature(value).parameters, module)
    made = called(value, own, module.__file__)
    left = request._replace(given={n: t for n, t in request.given.items() if n in others})
    kernel = kernel_of(made)
    if kernel is not None:
        return of_kernel(name, kernel, module, left)
    if tiles is None or not tiles.is_result(made):
        raise errors.InvalidArgument("%s returned %r, which is no kernel" % (name, made))
    return tiles.emitted_of(name, made, module, left)  # type: ignore[no-any-return]


def pairs(items: List[str], what: str) -> Dict[str, str]:
    found = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise errors.InvalidArgument("%s %s: expected NAME=VALUE" % (what, item))
        found[name] = value
    return found


def split_spec(spec: str) -> Tuple[str, str]:
    """``FILE.py:FUNCTION`` as its two parts; the second one may be missing."""
    found = re.fullmatch(r"(.+\.py)(?::(\w+))?", spec)
    if found is None:
        raise errors.InvalidArgument("%s: expected FILE.py or FILE.py:FUNCTION" % spec)
    return found.group(1), found.group(2) or ""


def emit(path: str, name: str, request: Request, folder: str = "") -> Dict[str, Any]:
    module = load_module(path, folder)
    name, value = find_kernel(module, name, path)
    emitted = read(name, value, module, request)
    first = emitted.readings[0]
    return {**described(first), "file": os.path.abspath(path), "function": name, "numbers": first.numbers,
            "sequence": first.program.sequence, "grid_from": first.program.grid_from,
            "configurations": [described(r) for r in emitted.readings] if request.every and emitted.count else [],
            "configurations_count": emitted.count, "decided": emitted.names, "skipped": emitted.skipped,
            "notes": emitted.notes}


def described(reading: Reading) -> Dict[str, Any]:
    places = reading.program.places
    return {"name": reading.config, "program": reading.program.json, "set": reading.set,
            "locations": {pointer: [place.line, place.column] for pointer, place in places.items()}}


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kiln.language", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("emit", help="print a kernel's tile program, its bindings and the places of its parts as one JSON object")
    command.add_argument("kernel", metavar="FILE.py[:FUNCTION]")
    command.add_argument("--arg", action="append", default=[], metavar="NAME=DTYPE[EXTENTS]", help="a parameter's type: Q=f16[8, seq, 64], or a number")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="NAME=VALUE",
                         help="a constant of the kernel or of its file, a symbol's value; seq: of the sequence axis")
    command.add_argument("--grid", default="", metavar="EXTENTS",
                         help="of the launch, over sizes and constants of the kernel: cdiv(n, BLOCK), 1")
    command.add_argument("--every", action="store_true",
                         help="all configurations of an autotuned kernel, not the first alone")
    command.add_argument("--target", default="gfx942", help="the target whose facts the kernel asks for")
    command.add_argument("--folder", default="", help="whose modules the file imports, where that is not its own")
    given = parser.parse_args(arguments)
    speak_of_commands()
    try:
        path, name = split_spec(given.kernel)
        request = Request(pairs(given.arg, "--arg"), pairs([x for group in given.set for x in group], "--set"),
                          parsed(given.grid) if given.grid else (), given.target, given.every)
        result = emit(path, name, request, given.folder)
    except errors.KilnError as error:
        print(str(error) if isinstance(error, KernelError) else "error: " + str(error), file=sys.stderr)
        return 1
    except TypeError as error:
        print("error: %s: %s" % (given.kernel, error), file=sys.stderr)
        return 1
    json.dump(result, sys.stdout)
    print(flush=True)
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # threads and exit handlers of the user's file have no say in it
