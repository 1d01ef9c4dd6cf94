"""A kernel in TileLang's style that is compiled: ``JITKernel``, which runs on arrays, and where it is compiled for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from .._arrays import Array
from ..language._arguments import spec_of, to_numpy
from ..language._errors import at_call
from ..language._kernel import COMPILED_MAX, CompiledKernel, bindings_of, client, default_device, target_of
from ..language._overlaps import check_apart
from ..language._source import served
from ..language._specialize import Program
from ._prim_func import PrimFunc, result_positions
from ._profiler import Profiler
from ._strided import Strided, strided

_HOSTS = ("c", "cpu", "llvm")
_ANY = (None, "auto", "cuda", "hip", "rocm", "metal", "webgpu")


def place_of(target: Any, device: Optional[str]) -> Tuple[str, Optional[str]]:
    """The target that is compiled for, and the device that runs it, None where it is compiled only.

    TileLang's ``target`` names a kind of device (``"auto"``, ``"cuda"``, ``"hip"``: the default device here; ``"c"``,
    ``"llvm"``: the
    host); a target of Kiln's (``"gfx942"``) is compiled for.
    """
    word = target if isinstance(target, str) or target is None else str(target)
    if device is None and word is not None and word.split(" ")[0] in _HOSTS:
        device = "host"
    if device is None and (word is None or word.split(" ")[0] in _ANY):
        device = default_device()
    if device is not None:
        return target_of(device), device
    return str(word), "host" if str(word).split(":")[0] == "host" else None


class JITKernel:
    """A kernel compiled for one target; called on arrays it runs. Results named by ``out_idx`` or made by ``T.empty``
    are allocated
    and returned: as PyTorch tensors where one was passed, as :class:`kiln.Array` where one was, else as NumPy arrays.

    Attributes:
        names: what names of its source meant when it was read.
        prim_func: what was compiled. out_idx: positions of results among its parameters.
        config: the settings that ``autotune`` chose, else None.
        latency: milliseconds that ``autotune`` measured, None where it did not, or where nothing can be timed.
        ref_latency: None; a reference program is not timed.
    """

    def __init__(
        self,
        prim_func: PrimFunc,
        out_idx: Any,
        place: Tuple[str, Optional[str]],
        specs: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.prim_func = prim_func
        self.target, self.device = place
        self.config: Optional[Dict[str, Any]] = None
        self.latency: Optional[float] = None
        self.ref_latency: Optional[float] = None
        self.out_idx = result_positions(out_idx, len(prim_func.arguments))
        with served() as self.names:
            self._program = prim_func.program(specs or {}, self.target)
        self._compiled: "OrderedDict[Any, CompiledKernel]" = OrderedDict()
        self._elsewhere: Dict[Any, "JITKernel"] = {}
        self._lock = threading.Lock()
        self._given = dict(specs or {})
        if all(s in self._program.set for s in self._program.json.get("symbols", {})):
            self._for(self._given)

    # -- running

    @at_call
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs it; ``device=`` or ``target=`` (:func:`place_of`), where the kernel has no such parameter, elsewhere than
        it was compiled for.

        Raises:
            errors.InvalidArgument: an argument too many or too few, an array of another type or shape, named.
        """
        own = {k: kwargs.pop(k) for k in ("target", "device") if k in kwargs and k not in self.prim_func.arguments}
        if any(v is not None for v in own.values()):
            place = place_of(own.get("target"), own.get("device"))
            if place != (self.target, self.device):
                elsewhere = self._at(place)
                results = elsewhere(*args, **kwargs)
                self.last_ms = elsewhere.last_ms
                return results
        names = self._inputs(len(args) + len(kwargs))
        values = self._bound(names, args, kwargs)
        specs = {name: self._spec(name, value) for name, value in values.items()}
        compiled = self._for(specs)
        outputs = self._allocated(compiled, values)
        values.update(outputs)
        spread = self._spread(compiled, values)
        if spread:  # copies, which share nothing
            check_apart(values, self._program)
        self.last_ms = compiled.run({**values, **spread})
        for name, array in spread.items():
            if self._program.params[name].written:
                _numpy_of(values[name])[...] = array.elements
        results = [outputs[name] for name in self._results() if name in outputs]
        results = [self._returned(value, values) for value in results]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _at(self, place: Tuple[str, Optional[str]]) -> "JITKernel":
        """The same kernel for another place."""
        with self._lock:
            found = self._elsewhere.get(place)
        if found is None:
            made = JITKernel(self.prim_func, self.out_idx or None, place, self._given)
            with self._lock:
                found = self._elsewhere.setdefault(place, made)
        return found

    def _results(self) -> List[str]:
        if self._program.results is not None:  # type: ignore[attr-defined]
            return list(self._program.results)  # type: ignore[attr-defined]
        return [self.prim_func.arguments[k] for k in self.out_idx]

    def _inputs(self, count: int) -> List[str]:
        arguments = self.prim_func.arguments
        return arguments if count == len(arguments) else [n for k, n in enumerate(arguments) if k not in self.out_idx]

    def _bound(self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        if len(args) > len(names):
            raise errors.InvalidArgument(
                "%s takes %d arguments (%s), %d were passed"
                % (self.prim_func.__name__, len(names), ", ".join(names), len(args))
            )
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in values:
                raise errors.InvalidArgument(
                    "%s has no argument %s left; they are %s" % (self.prim_func.__name__, name, ", ".join(names))
                )
            values[name] = value
        missing = [n for n in names if n not in values]
        if missing:
            raise errors.InvalidArgument(
                "the argument %s is missing: %s takes %s" % (missing[0], self.prim_func.__name__, ", ".join(names))
            )
        return values

    def _spec(self, name: str, value: Any) -> Any:
        if isinstance(value, (int, float, bool)):
            return value
        try:
            spec = spec_of(value)
        except errors.InvalidArgument as error:
            raise errors.InvalidArgument("%s: %s" % (name, error.message)) from None
        if spec is None:
            raise errors.InvalidArgument("%s: expected an array or a number, found %s" % (name, type(value).__name__))
        param = self._program.params.get(name)
        if param is not None and len(param.shape) != len(spec.shape):
            raise errors.InvalidArgument(
                "%s: expected %d axes, found shape %s" % (name, len(param.shape), list(spec.shape))
            )
        for axis, (wanted, now) in enumerate(zip(param.shape if param is not None else (), spec.shape)):
            if isinstance(wanted, int) and wanted != now:
                raise errors.InvalidArgument(
                    "%s: expected %d along axis %d, found shape %s" % (name, wanted, axis, list(spec.shape))
                )
        return spec

    def _for(self, specs: Dict[str, Any]) -> CompiledKernel:
        bindings = sizes_of(self.prim_func, self._program, specs)
        key = tuple(sorted(bindings.items()))
        with self._lock:
            if key not in self._compiled:
                self._compiled[key] = CompiledKernel(
                    self.prim_func, self._program, bindings, self.target, self.device  # type: ignore[arg-type]
                )
            self._compiled.move_to_end(key)
            if len(self._compiled) > COMPILED_MAX:
                self._compiled.popitem(last=False)
            return self._compiled[key]

    def _allocated(self, compiled: CompiledKernel, values: Mapping[str, Any]) -> Dict[str, Any]:
        """Memory for results."""
        wanted = [n for n in self._results() if n not in values]
        made: Dict[str, Any] = {}
        for name in wanted:
            param = self._program.params[name]
            made[name] = client().empty(tuple(compiled._extent(n) for n in param.shape), param.dtype)
        return made

    def _spread(self, compiled: CompiledKernel, values: Mapping[str, Any]) -> Dict[str, Strided]:
        """Arguments of parameters with strides, in memory with those strides."""
        made: Dict[str, Strided] = {}
        for name, param in self._program.params.items():
            if param.strides is not None and name in values:
                shape, strides = ([compiled._extent(n) for n in extents] for extents in (param.shape, param.strides))
                made[name] = strided(client(), name, values[name], shape, strides, param.dtype)
        return made

    def _returned(self, array: Array, values: Mapping[str, Any]) -> Any:
        given = list(values.values())
        if any(type(v).__module__.split(".")[0] == "torch" for v in given):
            import torch

            host = torch.from_numpy(
                array.numpy().copy().view("int16") if array.dtype == "bf16" else array.numpy().copy()
            )
            return host.view(torch.bfloat16) if array.dtype == "bf16" else host
        if any(isinstance(v, Array) and v not in self._own(values) for v in given) or not _has_numpy():
            return array
        return array.numpy()

    def _own(self, values: Mapping[str, Any]) -> List[Any]:
        names = set(self._results())
        return [v for n, v in values.items() if n in names]

    # -- what it is

    @property
    def compiled(self) -> CompiledKernel:
        """The compiled kernel; of several sizes the last."""
        if not self._compiled:
            sizes = [s for s in self._program.json.get("symbols", {}) if s not in self._program.set]
            raise errors.InvalidArgument(
                "%s is compiled when its sizes %s are known: call it on arrays first, %s(%s), or give numbers for the "
                "sizes where it is made" % (self.prim_func.__name__, ", ".join(sizes), self.prim_func.__name__,
                                            ", ".join(self.prim_func.arguments))
            )
        return list(self._compiled.values())[-1]

    @property
    def program(self) -> Dict[str, Any]:
        """The tile program."""
        return self._program.json

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The text that was compiled: HIP C++ for AMD targets, LLVM IR for the host."""
        return self.compiled.source()

    kernel_source = property(get_kernel_source)

    def show_source(self, which: str = "kernel") -> None:
        print(self.get_kernel_source())

    @at_call
    def explain(self) -> Any:
        """Resources, layouts, conflicts, barriers, decisions: :meth:`kiln.language.CompiledKernel.explain`."""
        return self.compiled.explain()

    @at_call
    def profile(self) -> Any:
        """Counters of a run on generated arguments."""
        return self.compiled.profile()

    @at_call
    def check(self, reference: Any = None) -> Dict[str, Any]:
        """Runs it on generated arguments and compares with the interpreter, or with ``reference``."""
        return self.compiled.check(reference)

    def get_profiler(self, tensor_supply_type: Any = None) -> Profiler:
        """Times it on generated arguments."""
        return Profiler(self)

    def __repr__(self) -> str:
        return "<kiln tilelang kernel %s for %s>" % (self.prim_func.__name__, self.target)


def sizes_of(prim_func: PrimFunc, program: Program, specs: Dict[str, Any]) -> Dict[str, Any]:
    """Values of a program's symbols for these arguments."""
    bindings = dict(program.set)
    bindings.update(bindings_of(program, specs, {}))
    bindings.update({k: v for k, v in prim_func.sizes.items() if k in program.json.get("symbols", {})})
    return bindings


def _numpy_of(value: Any) -> Any:
    return value.numpy() if isinstance(value, Array) else to_numpy(value)


def _has_numpy() -> bool:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True
