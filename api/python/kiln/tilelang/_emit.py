"""Tile programs of TileLang's kernels for what a command line says: prim_funcs, kernels that are the function itself,
and functions that return a prim_func, which are run for it."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Mapping

from .. import errors
from ..language._autotune import name_of
from ..language._emit import Emitted, Reading, Request, check_words, fitting, needed, numbers_of, \
    parse_argument, told_apart
from ..language._factories import called, missing_of
from ..language._source import Source
from ..language._specialize import annotations_read
from ..language._types import as_dtype
from ._jit import JITFunction, JITKernel, sizes_of
from ._prim_func import PrimFunc, is_tensor
from ._tune import Tuned

_WORD = re.compile(r"[A-Za-z_]\w*")


def is_subject(value: Any) -> bool:
    """Whether it is a kernel of TileLang's, or makes one."""
    return isinstance(value, (PrimFunc, JITFunction, Tuned))


def is_result(value: Any) -> bool:
    """Whether a function that returned it has made a kernel."""
    return is_subject(value) or isinstance(value, JITKernel)


def emitted_of(name: str, value: Any, module: Any, request: Request) -> Emitted:
    """Reads what :func:`is_result` finds."""
    emitted = Emitted()
    if request.grid:
        emitted.notes.append("--grid is not used for %s: T.Kernel says its grid" % name)
    value = value.prim_func if isinstance(value, JITKernel) else value
    if isinstance(value, PrimFunc):
        _, symbols, replaced = told_apart(request.given, (), module)
        if replaced:
            value.annotations = annotations_read(Source(value.kernel_function))
        emitted.readings.append(_read(name, value, symbols, request, ""))
        return emitted
    function: JITFunction = value.function if isinstance(value, Tuned) else value
    parameters = function._signature.parameters
    own, symbols, replaced = told_apart(request.given, parameters, module)
    if replaced and function.eager:
        function.annotations = annotations_read(Source(function.function))  # type: ignore[arg-type]

    def read(config: Mapping[str, Any]) -> Reading:
        settings, title = {**own, **config}, name_of(config)
        if function.eager:
            return _read_itself(name, function, settings, symbols, request, title)
        return _read(name, prim_func_of(name, called(function.function, settings, module.__file__)), symbols, request,
                     title)

    if not isinstance(value, Tuned):
        emitted.readings.append(read({}))
        return emitted
    configs = value._configurations((), own)
    emitted.names = sorted({n for c in configs for n in c})
    chosen = fitting(configs, lambda c: c, own)
    if chosen:
        return emitted.read_each(chosen, read, request.every)
    first = {**configs[0], **{n: v for n, v in own.items() if n in emitted.names}}
    emitted.count = 1
    emitted.notes.append("no configuration of %s is so: it is read with %s" % (name, name_of(first)))
    emitted.readings.append(read(first))
    return emitted


def prim_func_of(name: str, made: Any) -> PrimFunc:
    """The kernel that a function returned.

    Raises:
        errors.InvalidArgument: it is none.
    """
    if isinstance(made, JITKernel):
        return made.prim_func
    if not isinstance(made, PrimFunc):
        raise errors.InvalidArgument("%s returned %r; expected what T.prim_func marks" % (name, made))
    return made


def _read(name: str, prim: PrimFunc, symbols: Mapping[str, Any], request: Request, config: str) -> Reading:
    specs: Dict[str, Any] = {}
    for argument, text in request.args.items():
        if argument not in prim.arguments:
            raise errors.InvalidArgument("%s has no parameter %s; there are %s" % (
                prim.__name__, argument, ", ".join(prim.arguments)))
        specs[argument] = parse_argument(argument, text)
    return _program(name, prim, specs, symbols, request, config)


def _program(name: str, prim: PrimFunc, specs: Dict[str, Any], symbols: Mapping[str, Any], request: Request,
             config: str) -> Reading:
    specs.update({n: v for n, v in symbols.items() if n in prim.arguments})
    prim.sizes.update({n: v for n, v in symbols.items() if n not in prim.arguments})
    program = prim.program(specs, request.target)
    known = [*program.json.get("symbols", {}), *prim.arguments]
    check_words(name, symbols, [*known, *_texts(prim.kernel_function)], prim.constants)
    return Reading(config, program, sizes_of(prim, program, specs), numbers_of(program, specs))


def _texts(function: Any) -> List[str]:
    """Words in the texts of a kernel: sizes that it names, T.const("M, N")."""
    constants = [n.value for n in ast.walk(Source(function).tree) if isinstance(n, ast.Constant)]
    return [word for text in constants if isinstance(text, str) for word in _WORD.findall(text)]


def _read_itself(name: str, function: JITFunction, settings: Mapping[str, Any], symbols: Mapping[str, Any],
                 request: Request, config: str) -> Reading:
    """A function that is a kernel itself."""
    parameters = function._signature.parameters
    specs: Dict[str, Any] = {}
    for argument, text in request.args.items():
        if argument not in parameters:
            raise errors.InvalidArgument("%s has no parameter %s; there are %s" % (
                name, argument, ", ".join(parameters)))
        specs[argument] = parse_argument(argument, text)
    missing = [n for n in missing_of(function.function, {**specs, **settings}) if not _told_at_launch(function, n)]
    if missing:
        raise needed(function.function, [], missing)
    given, sizes = function._given((), {**settings, **specs, **symbols})
    arrays, constants, _ = function._told_apart(given)
    prim = PrimFunc(function.function, function.annotations, constants, sizes)  # type: ignore[arg-type]
    return _program(name, prim, arrays, symbols, request, config)


def _told_at_launch(function: JITFunction, name: str) -> bool:
    annotation = function.annotations.get(name)
    return name in function._tensors or is_tensor(annotation) or (
        isinstance(annotation, str) and as_dtype(annotation) is not None)
