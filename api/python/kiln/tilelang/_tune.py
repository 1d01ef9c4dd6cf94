"""``tilelang.autotune``: settings of a kernel that are chosen by measuring. :mod:`kiln.language._autotune` does it."""

from __future__ import annotations

import functools
import threading
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from ..language._arguments import spec_of
from ..language._autotune import Candidate, Choices, name_of, rounds_option
from ..language._errors import at_call
from ._jit import JITFunction, JITKernel, sizes_of
from ._prim_func import PrimFunc, result_positions

_open = threading.local()  # inputs of set_autotune_inputs, by thread: the innermost last


def _inputs() -> Optional[List[Any]]:
    """What ``set_autotune_inputs`` gives here and now."""
    given: List[List[Any]] = getattr(_open, "inputs", [])
    return given[-1] if given else None


class Tuned:
    """A function marked ``@autotune`` over one marked ``@jit``. Settings that a call leaves out are chosen by
    measuring, again for other arguments; where a call gives some of them, the others are the first configuration's.

    Attributes:
        function: the :class:`JITFunction`. configs: mappings from parameters to values, or a function of the arguments
            that gives them; the first one is the baseline.
        tuning: what is known of the choices: :class:`kiln.language._autotune.Choices`.
    """

    def __init__(
        self,
        function: JITFunction,
        configs: Any,
        options: Optional[Mapping[str, Any]] = None,
        do_not_specialize: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.function, self.configs = function, configs
        self.tuning = Choices(options or {})
        self._ignored = frozenset(do_not_specialize)

    @at_call
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.function.eager:
            return self.compile(*args, **kwargs)
        return self.function(*args, **{**kwargs, **self._chosen(args, kwargs)[0]})

    @at_call
    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """As :meth:`JITFunction.compile`, with the chosen configuration in ``config`` and what was measured of it in
        ``latency``.
        """
        chosen, latency = self._chosen(args, kwargs)
        kernel = self.function.compile(*args, **{**kwargs, **chosen})
        kernel.config, kernel.latency = chosen or None, latency
        return kernel

    def _chosen(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tuple[Dict[str, Any], Optional[float]]:
        """The settings to add to a call, and their milliseconds where they are known."""
        own = self._own(kwargs)
        parameters = self.function._signature.parameters
        sizes = {k: v for k, v in own.items() if k not in parameters}
        given = self.function._signature.bind_partial(*args, **{k: v for k, v in own.items() if k in parameters})
        target, device = self.function._place(dict(kwargs))
        told = sorted((k, _told(v)) for k, v in {**sizes, **given.arguments}.items() if k not in self._ignored)
        key = (target, device, repr(told), repr([_told(v) for v in _inputs() or ()]))
        if key not in self.tuning.best:
            configs = self._configurations(args, own)
            if any(name in given.arguments for config in configs for name in config):
                return {k: v for k, v in configs[0].items() if k not in given.arguments}, None
            self.tuning.chosen(key, lambda: configs, lambda config: self._read(config, args, own, target), device)
            if key not in self.tuning.best:
                return configs[0], None
        return dict(self.tuning.best[key]), _latency(self.tuning.answers.get(key))

    def _own(self, kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        """A call's keywords without the place where it is to run."""
        parameters = self.function._signature.parameters
        return {k: v for k, v in kwargs.items() if k in parameters or k not in ("target", "device")}

    def _configurations(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> List[Dict[str, Any]]:
        listed: Iterable[Mapping[str, Any]] = self.configs or []
        if callable(self.configs):
            listed = self.configs(*args, **kwargs)
        return [dict(config) for config in listed] or [{}]

    def _read(
        self, config: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any], target: str
    ) -> Candidate:
        """Reads the kernel with a configuration, and compiles nothing."""
        function = self.function
        own = {**kwargs, **config}
        specs: Dict[str, Any] = {}
        values: Dict[str, Any] = {}
        if function.eager:
            given, sizes = function._given(args, own)
            specs, constants, names = function._told_apart(given)
            values = {name: given[name] for name in names if name in given}
            prim = PrimFunc(function.function, function.annotations, constants, sizes)  # type: ignore[arg-type]
        else:
            prim = function._made(args, own)
        inputs = _inputs()
        if inputs is not None:
            values = {**values, **_by_name(prim, inputs, function.settings["out_idx"])}
            specs = {**specs, **{name: _told(value) for name, value in values.items()}}
        program = prim.program(specs, target)
        bindings = sizes_of(prim, program, specs)
        return Candidate(config, name_of(config) or "as it is", program, bindings, values, inputs is not None)


def _told(value: Any) -> Any:
    """What a choice and a reading know of an argument: an array's type and shape; anything else is itself."""
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    spec = spec_of(value)
    return value if spec is None else spec


def _by_name(prim: PrimFunc, inputs: Sequence[Any], out_idx: Any) -> Dict[str, Any]:
    """The inputs by parameter: of all parameters, or of those that are no results.

    Raises:
        errors.InvalidArgument: there are more or fewer.
    """
    names = prim.arguments
    results = result_positions(out_idx, len(names))
    for wanted in (names, [n for k, n in enumerate(names) if k not in results]):
        if len(wanted) == len(inputs):
            return dict(zip(wanted, inputs))
    raise errors.InvalidArgument(
        "set_autotune_inputs gives %d arrays, and %s takes %s" % (len(inputs), prim.__name__, ", ".join(names))
    )


def _latency(answer: Optional[Mapping[str, Any]]) -> Optional[float]:
    """The median of the winner's rounds, in milliseconds."""
    for row in answer["candidates"] if answer is not None else []:
        if row["name"] == answer["winner"] and "time_ms" in row:  # type: ignore[index]
            return float(row["time_ms"]["median"])
    return None


def autotune(
    func: Any = None,
    *,
    configs: Any = None,
    timeout: Optional[float] = None,
    do_not_specialize: Optional[Sequence[str]] = None,
    rounds: Optional[int] = None,
    **_: Any,
) -> Any:
    """Marks a function as one with several configurations: ``@tilelang.autotune(configs=[dict(block_M=64), …])``.

    As :func:`kiln.language.autotune`: the daemon compares each candidate with the kernel's definition, measures, and
    keeps a record that the next process finds; the first configuration wins unless another is certainly better; on an
    emulated card work is counted, and there is no latency. What was found is in ``tuning`` of the marked function, what
    was left out in ``tuning.skipped``.

    The daemon generates arrays of floats; arrays of integers and numbers are the call's, and all are those of
    ``set_autotune_inputs`` inside of it. A function that returns a kernel with numbers or with dynamic sizes among its
    arguments has none without that: its first configuration is taken, with a warning. So is it, without one, where a
    kernel is compiled for a target that no device is named for.

    Args:
        configs: mappings from parameters to values, or a function of the call's arguments that gives them.
        timeout: seconds that one launch of a candidate may take; 10 without it.
        do_not_specialize: names of arguments whose other values are no reason to choose anew.
        rounds: of measuring, at most. TileLang's other settings (warmup, rep, ref_prog, rtol, …) are accepted: the
            definition is what results are compared with, and no reference program is timed.
    """
    options = rounds_option(rounds)
    if timeout is not None:
        options["candidate_deadline_ms"] = max(1, int(timeout * 1000))

    def mark(marked: Any) -> Tuned:
        if not isinstance(marked, JITFunction):
            raise TypeError("@tilelang.autotune stands above @tilelang.jit")
        return Tuned(marked, configs, options, do_not_specialize or ())

    if func is not None and configs is None and not callable(func):
        raise TypeError("autotune(configs=[…]) takes its configurations by name")
    return mark if func is None else mark(func)


class set_autotune_inputs:  # noqa: N801 - TileLang's name
    """Inside of it, kernels are tuned on these arrays: ``with set_autotune_inputs(A, B): kernel = matmul(M, N, K)``.

    They are those of all parameters in order, or of those that are no results; one list of them does too.
    """

    def __init__(self, *inputs: Any) -> None:
        self.tensors = list(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else list(inputs)

    def __enter__(self) -> None:
        _open.inputs = [*getattr(_open, "inputs", []), self.tensors]

    def __exit__(self, *_: Any) -> None:
        _open.inputs = _open.inputs[:-1]


__all__ = ["Tuned", "autotune", "set_autotune_inputs"]
