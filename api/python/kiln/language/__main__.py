"""``python -m kiln.language emit FILE.py[:FUNCTION]``: a kernel's tile program as JSON, for tools that are not Python."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import linecache
import os
import re
import sys
import traceback
from typing import Any, Dict, List, Tuple

from .. import errors
from ._arguments import parse_spec
from ._errors import KernelError, Place, nearest
from ._kernel import Kernel, kernel_of
from ._options import When
from ._specialize import Program
from ._types import Buffer, constexpr


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
        raise _import_failed(path, error) from error
    return module


def _import_failed(path: str, error: BaseException) -> KernelError:
    """An exception of the user's module, at the line of that module that led to it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) == os.path.abspath(path)]
    place = None
    if frames:
        last = frames[-1]
        text = linecache.getline(last.filename, last.lineno or 0).rstrip("\n")
        place = Place(path, last.lineno or 0, len(text) - len(text.lstrip()) + 1, len(text) + 1, text, "")
    missing = isinstance(error, ModuleNotFoundError)
    hint = "this is %s; $KILN_PYTHON names another interpreter" % sys.executable if missing else ""
    return KernelError("%s while the file is imported: %s" % (type(error).__name__, error), place, hint)


def find_kernel(module: Any, name: str, path: str) -> Tuple[str, Kernel]:
    """The kernel of that name, or the only one of the file."""
    kernels = {n: kernel_of(v) for n, v in vars(module).items() if not n.startswith("_")}
    kernels = {n: k for n, k in kernels.items() if k is not None and getattr(k.kernel_function, "__module__", "") == module.__name__}
    if name:
        if name not in kernels:
            hint = nearest(name, kernels)
            raise errors.InvalidArgument("%s has no kernel %s; there are %s%s" % (path, name, ", ".join(kernels) or "none", " (%s)" % hint if hint else ""))
        return name, kernels[name]  # type: ignore[return-value]
    if len(kernels) != 1:
        raise errors.InvalidArgument("%s has %d kernels%s: name one, %s:NAME" % (path, len(kernels), ", " + ", ".join(kernels) if kernels else "", path))
    found = next(iter(kernels))
    return found, kernels[found]  # type: ignore[return-value]


def parse_value(text: str) -> Any:
    """``64``, ``0.5``, ``true``, or a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "True": True, "False": False, "None": None}.get(text, text)


def pairs(items: List[str], what: str) -> Dict[str, str]:
    found = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise errors.InvalidArgument("%s %s: expected NAME=VALUE" % (what, item))
        found[name] = value
    return found


def arguments_of(kernel: Kernel, given: Dict[str, str]) -> Dict[str, Any]:
    """What the parameters are: as given, else as the kernel's decorator says, else as annotated."""
    parameters = kernel._signature.parameters
    declared = kernel.example
    values: Dict[str, Any] = dict(declared) if isinstance(declared, dict) else dict(zip(parameters, declared or ()))
    for name, text in given.items():
        if name not in parameters:
            raise errors.InvalidArgument("%s has no parameter %s; there are %s" % (kernel.kernel_function.__name__, name, ", ".join(parameters)))
        spec = parse_spec(text)
        if spec is None and (not text or "[" in text):
            raise errors.InvalidArgument("--arg %s=%s: expected an array as f16[64, seq], a number or a word" % (name, text))
        values[name] = spec if spec is not None else parse_value(text)
    return {k: (parse_spec(v) or v) if isinstance(v, str) else v for k, v in values.items()}


def settings(kernel: Kernel, module: Any, given: Dict[str, str]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Constants of the kernel (parameters, and the file's own numbers, which are replaced), and values of symbols."""
    constants: Dict[str, Any] = {}
    symbols: Dict[str, Any] = {}
    replaced = False
    for name, text in given.items():
        value = parse_value(text)
        if name in kernel._signature.parameters:
            constants[name] = value
        elif isinstance(getattr(module, name, None), (int, float, str, bool, constexpr)):
            setattr(module, name, value)
            replaced = True
        else:
            symbols[name] = value
    if replaced:
        kernel.read_annotations_again()
    return constants, symbols


def split_spec(spec: str) -> Tuple[str, str]:
    """``FILE.py:FUNCTION`` as its two parts; the second one may be missing."""
    found = re.fullmatch(r"(.+\.py)(?::(\w+))?", spec)
    if found is None:
        raise errors.InvalidArgument("%s: expected FILE.py or FILE.py:FUNCTION" % spec)
    return found.group(1), found.group(2) or ""


def emit(path: str, name: str, args: Dict[str, str], given: Dict[str, str], target: str, folder: str = "") -> Dict[str, Any]:
    module = load_module(path, folder)
    name, kernel = find_kernel(module, name, path)
    constants, symbols = settings(kernel, module, given)
    values = {**arguments_of(kernel, args), **constants}
    annotations = kernel._annotations()
    for parameter in kernel._signature.parameters:
        if parameter not in values and isinstance(annotations.get(parameter), (Buffer, When)):
            values[parameter] = None
    bound, launch = kernel.bind((), values)
    sequence = symbols.pop("seq", None)
    launch["symbols"] = symbols
    program = kernel.program(kernel.specs({k: v for k, v in bound.items() if v is not None or k not in annotations}), launch, target)
    known = [n for part in ("symbols", "tunables", "options") for n in program.json.get(part, {})]
    for word in symbols:
        if word not in known:
            hint = nearest(word, [*known, *kernel._signature.parameters])
            raise errors.InvalidArgument("%s has no symbol, parameter or constant %s to be set%s" % (name, word, "; " + hint if hint else ""))
    if sequence is not None:
        symbols.update({symbol: sequence for symbol in program.sequence or [s for s in ("seq",) if s in program.json.get("symbols", {})]})
    return described(path, name, program, symbols)


def described(path: str, name: str, program: Program, symbols: Dict[str, Any]) -> Dict[str, Any]:
    bindings = dict(program.set)
    bindings.update({k: v for k, v in symbols.items() if any(k in program.json.get(part, {}) for part in ("symbols", "tunables", "options"))})
    return {"program": program.json, "set": bindings, "sequence": program.sequence, "file": os.path.abspath(path), "function": name,
            "locations": {pointer: [place.line, place.column] for pointer, place in program.places.items()}, "grid_from": program.grid_from}


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kiln.language", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("emit", help="print a kernel's tile program, its bindings and the places of its parts as one JSON object")
    command.add_argument("kernel", metavar="FILE.py[:FUNCTION]")
    command.add_argument("--arg", action="append", default=[], metavar="NAME=DTYPE[EXTENTS]", help="a parameter's type: Q=f16[8, seq, 64], or a number")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="NAME=VALUE",
                         help="a constant of the kernel or of its file, a symbol's value; seq: of the sequence axis")
    command.add_argument("--target", default="gfx942", help="the target whose facts the kernel asks for")
    command.add_argument("--folder", default="", help="whose modules the file imports, where that is not its own")
    given = parser.parse_args(arguments)
    try:
        path, name = split_spec(given.kernel)
        result = emit(path, name, pairs(given.arg, "--arg"), pairs([x for group in given.set for x in group], "--set"), given.target, given.folder)
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
