"""What a call of a kernel says beside its arguments: the grid, threads; whether the arguments fit its parameters."""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Tuple

from ._errors import CallError, KernelError, Place, nearest
from ._expr import Expr
from ._source import Source
from ._specialize import wave_of
from ._types import Symbol, constexpr, plain

if TYPE_CHECKING:
    from ._kernel import Kernel

THREADS_MAX = 1024      # of a block
EXTENT_MAX = 2 ** 31 - 1  # of a grid's axis
_WARPS_MAX = THREADS_MAX // 32


def bound(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any], defaults: bool = True) -> Dict[str, Any]:
    """Arguments by parameter, with ``defaults`` all of them; without, only those that are given.

    Raises:
        CallError: one is missing, unknown or given twice.
    """
    signature = kernel._signature
    try:
        found = signature.bind(*args, **kwargs) if defaults else signature.bind_partial(*args, **kwargs)
    except TypeError as error:
        unknown = [name for name in kwargs if name not in signature.parameters]
        close = nearest(unknown[0], signature.parameters) if unknown else ""
        names = ", ".join(map(_shown, signature.parameters.values()))
        hint = close or "the parameters are %s%s" % (names, _constants(kernel))
        raise refused(kernel, "%s(): %s" % (kernel.kernel_function.__name__, error), hint) from None
    if defaults:
        found.apply_defaults()
    return {name: plain(value) for name, value in found.arguments.items()}


def _shown(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return parameter.name
    return "%s=%r" % (parameter.name, plain(parameter.default))


def _constants(kernel: Any) -> str:
    tuning = getattr(kernel, "tuning", None)
    return "" if tuning is None else "; tuning gives %s" % ", ".join(tuning.configs[0].kwargs)


def extents(kernel: Kernel, grid: Any) -> Tuple[Any, ...]:
    """A grid as given, one entry an axis: whole numbers, expressions over sizes.

    Raises:
        CallError: not 1 to 3 axes, an extent that is none.
    """
    axes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    name = kernel.kernel_function.__name__
    if not 1 <= len(axes) <= 3:
        raise refused(kernel, "the grid of %s has %d axes: %r" % (name, len(axes), grid),
                       "a grid has 1 to 3 axes, x first; fold others into one: pid // n, pid % n")
    found = []
    for axis, extent in enumerate(axes):
        if isinstance(extent, (str, Expr, Symbol)):
            found.append(extent)
            continue
        number = _whole(extent)
        if number is None or not 0 <= number <= EXTENT_MAX:
            raise refused(kernel, "axis %d of the grid of %s is %r" % (axis, name, extent),
                           "an extent is a whole number from 0 on: kernel[(tl.cdiv(n, BLOCK),)](…), with // and not /")
        found.append(number)
    return tuple(found)


def threads_of_warps(kernel: Optional[Kernel], warps: Any) -> str:
    """The threads of so many waves, as the program format has them.

    Raises:
        CallError: not a whole number of waves that a block can have.
    """
    number = _whole(warps)
    if number is None or not 1 <= number <= _WARPS_MAX:
        raise refused(kernel, "num_warps%s is %r" % (_of(kernel), warps),
                       "a whole number of waves: 1 to %d of 64 lanes, to %d of 32" % (THREADS_MAX // 64, _WARPS_MAX))
    return "%d * target.wave" % number


def check_threads(kernel: Optional[Kernel], threads: Any) -> None:
    """Raises CallError where ``threads``, if it is a number, is none of a block."""
    if isinstance(threads, (str, Expr)):
        return
    number = _whole(threads)
    if number is None or not 1 <= number <= THREADS_MAX:
        raise refused(kernel, "threads%s is %r" % (_of(kernel), threads), "a block has 1 to %d threads" % THREADS_MAX)


def check_settings(threads: Any, warps: Any) -> None:
    """Of a decorator."""
    if threads is not None:
        check_threads(None, threads)
    if warps is not None:
        threads_of_warps(None, warps)


def check_wave(kernel: Kernel, threads: Any, target: str) -> None:
    """Raises CallError where so many waves are too many threads on this target."""
    count, star, _ = threads.partition(" * target.wave") if isinstance(threads, str) else ("", "", "")
    if not star or target.split(":")[0] == "host":
        return
    wave = wave_of(target)
    if int(count) * wave > THREADS_MAX:
        name = kernel.kernel_function.__name__
        raise refused(kernel, "num_warps of %s is %s, on %s %d threads" % (name, count, target, int(count) * wave),
                       "a block has at most %d threads: %d waves of %d" % (THREADS_MAX, THREADS_MAX // wave, wave))


def _whole(value: Any) -> Optional[int]:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(plain(value))
    except TypeError:
        return None


def _of(kernel: Optional[Kernel]) -> str:
    return "" if kernel is None else " of " + kernel.kernel_function.__name__


def not_known(kernel: Kernel, names: Sequence[str], annotations: Mapping[str, Any]) -> KernelError:
    """The error of a compile that is told nothing of these parameters, with a call that tells it."""
    constants = [n for n in names if annotations.get(n) is constexpr or isinstance(annotations.get(n), constexpr)]
    arrays = ", ".join('"%s": "f32[1024]"' % n for n in names if n not in constants)
    words = [kernel.kernel_function.__name__] + (["{%s}" % arrays] if arrays else []) + ["%s=64" % n for n in constants]
    said = "nothing is known of the parameter%s %s" % ("s" if len(names) > 1 else "", ", ".join(names))
    return KernelError(said, place_of(kernel.kernel_function),
                       "tl.compile(%s), where arrays and numbers themselves stand for types too; or annotate: "
                       "tl.Buffer[M, N, tl.float16], tl.int32" % ", ".join(words))


def refused(kernel: Any, message: str, hint: str) -> CallError:
    """An error at the definition of a kernel, if one is named."""
    return CallError(message, None if kernel is None else place_of(kernel.kernel_function), hint)


def place_of(function: Any) -> Optional[Place]:
    """Where a function is defined; None where its source cannot be read."""
    try:
        source = Source(function)
        return source.place(source.tree)
    except KernelError:
        return None
