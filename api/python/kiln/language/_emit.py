"""Tile programs of a kernel for what a command line says of its arguments, as ``python -m kiln.language emit`` makes
them."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .. import errors
from ._arguments import parse_spec
from ._autotune import _NOT_OURS, name_of
from ._errors import KernelError, nearest
from ._grid_text import GridText
from ._kernel import Kernel
from ._launch import place_of
from ._options import When
from ._programs import bindings_of
from ._specialize import Program
from ._types import Buffer, as_dtype, constexpr, plain

_LAUNCH_WORDS = ("num_warps", "num_stages", "threads")


class Request(NamedTuple):
    """What a command line says.

    Attributes:
        args: ``--arg``: types of arrays and numbers, by parameter. given: ``--set``: values by name.
        grid: extents, none where the kernel's own are meant. target: what is compiled for.
        every: read all configurations of an autotuned kernel, not the first alone.
    """

    args: Dict[str, str]
    given: Dict[str, str]
    grid: Tuple[GridText, ...] = ()
    target: str = "gfx942"
    every: bool = False


class Reading(NamedTuple):
    """A kernel that was read: with which configuration ("" where it has none), as what, with which values of symbols.

    Attributes:
        numbers: values of the program's scalar arguments, as far as they were told.
    """

    config: str
    program: Program
    set: Dict[str, Any]
    numbers: Dict[str, Any]


class Emitted:
    """What became of a kernel.

    Attributes:
        readings: at least one; of an autotuned kernel one a configuration, in their order, as far as asked for.
        count: of configurations that fit what is set; names: of the constants that they decide.
        skipped: configurations that cannot be read: reasons by name. notes: what the author should know.
    """

    def __init__(self) -> None:
        self.readings: List[Reading] = []
        self.count = 0
        self.names: List[str] = []
        self.skipped: Dict[str, str] = {}
        self.notes: List[str] = []

    def read_each(self, configs: Sequence[Any], read: Callable[[Any], Reading], every: bool) -> "Emitted":
        """Reads with each configuration, or with the first that can be.

        Raises:
            what ``read`` raised for the first one, where none can be read.
        """
        first: Optional[Exception] = None
        self.count = len(configs)
        for config in configs:
            try:
                self.readings.append(read(config))
            except _NOT_OURS:
                raise
            except Exception as error:  # noqa: BLE001 - authors' functions run here: a grid, a factory, heuristics
                self.skipped[name_of(config)] = str(error) or type(error).__name__
                first = first or error
            if self.readings and not every:
                break
        if first is not None and not self.readings:
            raise first
        return self


def parse_value(text: str) -> Any:
    """``64``, ``0.5``, ``true``, or a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "True": True, "False": False, "None": None}.get(text, text)


def parse_argument(name: str, text: str) -> Any:
    """``f16[64, seq]`` as a spec, else a value."""
    spec = parse_spec(text)
    if spec is None and (not text or "[" in text):
        raise errors.InvalidArgument("--arg %s=%s: expected an array as f16[64, seq], a number or a word" %
                                     (name, text))
    return parse_value(text) if spec is None else spec


def told_apart(given: Mapping[str, str], names: Any, module: Any) -> Tuple[Dict[str, Any], Dict[str, Any], bool]:
    """Values of these names; values of others; and whether some were numbers of the file, which are replaced."""
    own: Dict[str, Any] = {}
    others: Dict[str, Any] = {}
    replaced = False
    for name, text in given.items():
        value = parse_value(text)
        if name in names:
            own[name] = value
        elif isinstance(getattr(module, name, None), (int, float, str, bool, constexpr)):
            setattr(module, name, value)
            replaced = True
        else:
            others[name] = value
    return own, others, replaced


def fitting(configs: Sequence[Any], words: Callable[[Any], Mapping[str, Any]], own: Mapping[str, Any]) -> List[Any]:
    """The configurations that have the values that are set, as far as they decide them."""

    def fits(config: Any) -> bool:
        return all(str(plain(v)) == str(own[n]) for n, v in words(config).items() if n in own)

    return [c for c in configs if fits(c)]


def check_words(name: str, symbols: Mapping[str, Any], known: Sequence[str], parameters: Any) -> None:
    """Raises errors.InvalidArgument for a value that is nothing's."""
    for word in symbols:
        if word not in known:
            hint = nearest(word, [*known, *parameters])
            raise errors.InvalidArgument("%s has no symbol, parameter or constant %s to be set%s" % (
                name, word, "; " + hint if hint else ""))


def numbers_of(program: Program, values: Mapping[str, Any]) -> Dict[str, Any]:
    """Values of a program's scalar arguments, by its names."""
    told = {name: values.get(program.arguments[name]) for name in program.scalars}
    return {name: value for name, value in told.items() if isinstance(value, (int, float))}


def needed(function: Any, types: Sequence[str], constants: Sequence[str]) -> KernelError:
    """The error of a kernel or factory of which parameters are not known."""
    hints = []
    if types:
        hints.append("--arg %s (of a number: --arg %s=64)" % (" ".join("%s=f32[…]" % n for n in types), types[-1]))
    if constants:
        hints.append("--set " + " ".join("%s=…" % n for n in constants))
    names = [n for n in inspect.signature(function).parameters if n in types or n in constants]
    many = "s" if len(names) > 1 else ""
    return KernelError("nothing is known of the parameter%s %s of %s" % (many, ", ".join(names), function.__name__),
                       place_of(function), "; ".join(hints))


# -- kernels of Kiln's own style and of Triton's


def of_kernel(name: str, kernel: Kernel, module: Any, request: Request) -> Emitted:
    """Reads a kernel; of an autotuned one the configurations that fit what is set."""
    configs = list(kernel.tuning.configs) if kernel.tuning is not None else []
    decided = sorted({n for c in configs for n in c.all_kwargs()})
    names = [*kernel._signature.parameters, *decided, *_LAUNCH_WORDS]
    own, symbols, replaced = told_apart(request.given, names, module)
    if replaced:
        kernel.read_annotations_again()
    values = {**_arguments(kernel, request.args), **own}
    own.update({n: v for n, v in values.items() if n in decided})
    _complete(kernel, values, {*decided, *_computed(kernel)})

    def read(constants: Mapping[str, Any], config: str) -> Reading:
        return _read(name, kernel, {**values, **constants}, symbols, request, config)

    emitted = Emitted()
    if not configs:
        emitted.readings.append(read({}, ""))
        return emitted
    emitted.names = decided
    chosen = _candidates(kernel, values, own, decided)
    if chosen:
        return emitted.read_each(chosen, lambda config: read(config.all_kwargs(), name_of(config)), request.every)
    first = {**configs[0].all_kwargs(), **{n: v for n, v in own.items() if n in decided}}
    emitted.count = 1
    emitted.notes.append("no configuration of %s is so: it is read with %s" % (name, name_of(first)))
    emitted.readings.append(read(first, name_of(first)))
    return emitted


def _candidates(kernel: Kernel, values: Dict[str, Any], own: Mapping[str, Any], decided: Sequence[str]) -> List[Any]:
    """The configurations that the kernel's pruning leaves and that have the values that are set."""
    for word in decided:
        values.pop(word, None)
    leading: List[Any] = []
    for parameter in kernel._signature.parameters:
        if parameter not in values:
            break
        leading.append(values[parameter])
    rest = {n: v for n, v in values.items() if n not in list(kernel._signature.parameters)[:len(leading)]}
    try:
        listed = kernel.tuning.candidates(kernel, leading, rest)
    except errors.KilnError:
        raise
    except Exception as error:  # noqa: BLE001 - an author's function chooses among them
        raise errors.InvalidArgument("choosing among the configurations of %s: %s: %s" % (
            kernel.kernel_function.__name__, type(error).__name__, error)) from None
    return fitting(listed, lambda c: c.all_kwargs(), own)


def _computed(kernel: Any) -> List[str]:
    """Constants that heuristics compute."""
    inner = getattr(kernel, "inner", None)
    return [*getattr(kernel, "values", {}), *(_computed(inner) if inner is not None else [])]


def _arguments(kernel: Kernel, given: Mapping[str, str]) -> Dict[str, Any]:
    """What the parameters are: as given, else as the kernel's decorator says, else as annotated."""
    parameters = kernel._signature.parameters
    declared = kernel.example
    values: Dict[str, Any] = dict(declared) if isinstance(declared, dict) else dict(zip(parameters, declared or ()))
    for name, text in given.items():
        if name not in parameters:
            raise errors.InvalidArgument("%s has no parameter %s; there are %s" % (
                kernel.kernel_function.__name__, name, ", ".join(parameters)))
        values[name] = parse_argument(name, text)
    return {k: (parse_spec(v) or v) if isinstance(v, str) else v for k, v in values.items()}


def _complete(kernel: Kernel, values: Dict[str, Any], supplied: Any) -> None:
    """Adds None for parameters whose annotation says enough.

    Raises:
        KernelError: nothing is known of some, all of which it names.
    """
    annotations = kernel._annotations()
    types, constants = [], []
    for name, parameter in kernel._signature.parameters.items():
        if name in values or name in supplied:
            continue
        annotation = annotations.get(name)
        if isinstance(annotation, (Buffer, When)):
            values[name] = None
        elif parameter.default is not parameter.empty:
            continue
        elif annotation is constexpr or isinstance(annotation, constexpr):
            constants.append(name)
        elif as_dtype(annotation) is not None:
            values[name] = None
        else:
            types.append(name)
    if types or constants:
        raise needed(kernel.kernel_function, types, constants)


def _read(name: str, kernel: Kernel, values: Mapping[str, Any], symbols: Mapping[str, Any], request: Request,
          config: str) -> Reading:
    annotations = kernel._annotations()
    bound, launch = kernel.bind((), dict(values), request.grid or None)
    symbols = dict(symbols)
    sequence = symbols.pop("seq", None)
    launch["symbols"] = symbols
    specs = kernel.specs({k: v for k, v in bound.items() if v is not None or k not in annotations})
    program = kernel.program(specs, launch, request.target)
    known = [n for part in ("symbols", "tunables", "options") for n in program.json.get(part, {})]
    check_words(name, symbols, known, kernel._signature.parameters)
    if sequence is not None:
        symbols.update({symbol: sequence for symbol in program.sequence or
                        [s for s in ("seq",) if s in program.json.get("symbols", {})]})
    found = {**program.set, **bindings_of(program, specs, launch), **symbols}
    return Reading(config, program, {n: v for n, v in found.items() if n in known}, numbers_of(program, bound))
