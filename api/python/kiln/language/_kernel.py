"""Kernels as objects: specialized by what they are called with, compiled by the daemon, run on arrays."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from .. import errors
from . import _launch, _overlaps
from ._arguments import spec_of
from ._client import client, default_device, target_of, use_client  # noqa: F401 - of this module for others
from ._compiled import CompiledKernel, _Located  # noqa: F401 - of this module for others
from ._content import content
from ._errors import KernelError, at_call
from ._options import When
from ._programs import Programs, bindings_of, key_of
from ._report import Explanation
from ._source import Source, remember, served
from ._specialize import Program, Specializer, annotations_of, annotations_read
from ._types import Buffer, as_dtype, constexpr, plain

COMPILED_MAX = 256  # compiled kernels that one kernel keeps; the daemon finds others again by their key


class Kernel:
    """A function that is a kernel. Called on arrays it is read, compiled and run: ``kernel(A, B, C)``.

    Arrays are NumPy arrays, CPU tensors of PyTorch, anything with DLPack, or :class:`kiln.Array` (which is not copied). Results
    are written into the arrays that were passed. Keywords of a call that are no parameters: ``device`` (``host``, ``emu:gfx942``,
    ``hip:0`` …), ``threads`` or ``num_warps``.

    Attributes:
        kernel_function: the Python function, which is never run.
    """

    def __init__(self, function: Callable[..., Any], **launch: Any) -> None:
        functools.update_wrapper(self, function)
        self.kernel_function = function
        remember(function)
        self.example = launch.pop("args", None)  # what it is usually called with, for tools
        self.launch = launch
        self.tuning: Any = None                # set by autotune
        self._signature = inspect.signature(function)
        self._programs = Programs()
        self._compiled: "OrderedDict[Any, CompiledKernel]" = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Triton's launch: ``kernel[grid](…)``; ``grid`` is a tuple, a number, or a function of the constants."""
        return functools.partial(self._run, grid)

    @at_call
    def __call__(self, *args: Any, **kwargs: Any) -> Optional[float]:
        return self._run(None, *args, **kwargs)  # type: ignore[no-any-return]

    @at_call
    def explain(self, *args: Any, device: Optional[str] = None, target: Optional[str] = None,
                **constants: Any) -> Explanation:
        """What :func:`compile` makes of it for these arguments (arrays, ``"f16[64, 128]"``, numbers), explained."""
        named = dict(zip(self._signature.parameters, args))
        return compile(self, named, target=target, device=device, **constants).explain()  # type: ignore[no-any-return]

    @at_call
    def _run(self, grid: Any, *args: Any, device: Optional[str] = None, **kwargs: Any) -> Optional[float]:
        device = device or default_device()
        kwargs = self._tuned(grid, args, kwargs, device)
        values, launch = self.bind(args, kwargs, grid)
        return self.compiled(values, launch, None, device).run(values)

    def _tuned(self, grid: Any, args: Sequence[Any], kwargs: Dict[str, Any], device: str) -> Dict[str, Any]:
        """The arguments with the constants that tuning chooses, unless the call gives them."""
        if self.tuning is None or any(name in kwargs for name in self.tuning.configs[0].kwargs):
            return kwargs
        return {**kwargs, **self.tuning.choose(self, args, kwargs, grid, device).all_kwargs()}

    # -- what is known of the arguments

    def bind(self, args: Sequence[Any], kwargs: Dict[str, Any], grid: Any = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """Arguments by parameter, and the launch's settings.

        Raises:
            CallError: a wrong call, as Python's TypeError; a grid, or threads, that cannot be.
        """
        launch = dict(self.launch)
        parameters = self._signature.parameters
        warps = kwargs.pop("num_warps", None) if "num_warps" not in parameters else None
        if warps is not None:
            launch["threads"] = _launch.threads_of_warps(self, warps)
        for name in ("threads", "symbols"):
            if name in kwargs and name not in parameters:
                launch[name] = kwargs.pop(name)
        for name in ("num_stages", "num_ctas", "maxnreg", "warmup"):
            if name not in parameters:
                kwargs.pop(name, None)
        values = _launch.bound(self, args, kwargs)
        if grid is None:
            grid = launch.get("grid")
        if callable(grid):
            grid = grid(dict(values))
        if grid is not None:
            launch["grid"] = _launch.extents(self, grid)
        if launch.get("threads") is not None:
            _launch.check_threads(self, launch["threads"])
        return values, launch

    def specs(self, values: Mapping[str, Any]) -> Dict[str, Any]:
        """What specialization sees of the arguments."""
        annotations = self._annotations()
        specs: Dict[str, Any] = {}
        for name, value in values.items():
            annotation = annotations.get(name)
            if annotation is constexpr or isinstance(annotation, constexpr):
                specs[name] = value
            elif isinstance(value, (int, float, bool, type(None))):
                specs[name] = value
            else:
                try:
                    spec = spec_of(value)
                except errors.InvalidArgument as error:
                    raise _launch.refused(self, "%s: %s" % (name, error.message), "convert it: %s.astype(…)" % name) from None
                specs[name] = value if spec is None else spec
        return specs

    def _annotations(self) -> Dict[str, Any]:
        if not hasattr(self, "_known_annotations"):
            self._known_annotations = annotations_of(Source(self.kernel_function))
        return self._known_annotations

    def read_annotations_again(self) -> None:
        """Evaluates the parameters' annotations as the module's names mean now. For kernels of a module, not of a function."""
        self.kernel_function.__annotations__.update(annotations_read(Source(self.kernel_function)))
        self.__dict__.pop("_known_annotations", None)
        self._programs.clear()

    # -- programs

    def program(self, specs: Mapping[str, Any], launch: Mapping[str, Any], target: str, dynamic: bool = True) -> Program:
        """The tile program for arguments of these types; read again only for other types or constants."""
        settings = tuple((k, content(launch[k])) for k in sorted(launch))
        kind = (target.split(":")[0], key_of(specs, self._annotations()), settings, dynamic)
        found = self._programs.find(kind, specs)
        if found is None:
            with served() as names:
                found = Specializer(self.kernel_function, dict(specs), dict(launch), target, dynamic).run()
            found.names = names
            self._programs.add(kind, specs, found)
        return found

    def compiled(self, values: Mapping[str, Any], launch: Mapping[str, Any], target: Optional[str], device: Optional[str]) -> "CompiledKernel":
        """The kernel compiled for these arguments; found again by their types and sizes."""
        target = target or target_of(device or "host")
        _launch.check_wave(self, launch.get("threads"), target)
        specs = self.specs(values)
        program = self.program(specs, launch, target)
        plan = _overlaps.planned(values, program, self._annotations())
        if plan:
            specs = plan.specs(specs)
            program = self.program(specs, launch, target)
        bindings = bindings_of(program, specs, launch)
        key = (id(program), target, device, tuple(sorted(bindings.items())), id(client()))  # kept alive by what is found
        with self._lock:
            found = self._compiled.get(key)
            if found is not None:
                self._compiled.move_to_end(key)
        if found is None:
            found = CompiledKernel(self, program, bindings, target, device, plan, specs)
            with self._lock:
                self._compiled[key] = found
                while len(self._compiled) > COMPILED_MAX:
                    self._compiled.popitem(last=False)
        return found

    def __repr__(self) -> str:
        return "<kiln kernel %s>" % self.kernel_function.__qualname__


def kernel_of(value: Any) -> Optional[Kernel]:
    """The kernel that an object is or stands for, None if it is none."""
    found = value if isinstance(value, Kernel) else getattr(value, "kiln_kernel", None)
    return found if isinstance(found, Kernel) else None


@at_call
def kernel(function: Any = None, *, grid: Any = None, threads: Optional[int] = None, num_warps: Optional[int] = None, name: Optional[str] = None,
           args: Any = None) -> Any:
    """Marks a function as a kernel: ``@tl.kernel`` or ``@tl.kernel(grid=(…), threads=256)``. ``@tl.program`` is the same.

    Args:
        grid: extents, or a function of the arguments by name; without it, it is inferred from what the program ids index.
        threads: of a block on a card; ``num_warps`` gives them as waves.
        name: of the program, in profiles; without it the function's.
        args: what it is usually called with (``{"Q": "f16[seq, 64]"}``): for ``kiln compare`` and ``kiln report``, where nothing else says it.
    """
    launch: Dict[str, Any] = {}
    _launch.check_settings(threads, num_warps)
    if args is not None:
        launch["args"] = args
    if grid is not None:
        launch["grid"] = grid
    if num_warps is not None:
        launch["threads"] = "%d * target.wave" % num_warps
    if threads is not None:
        launch["threads"] = threads
    if name is not None:
        launch["name"] = name

    def mark(marked: Callable[..., Any]) -> Kernel:
        return Kernel(marked.kernel_function if isinstance(marked, Kernel) else marked, **launch)

    return mark if function is None else mark(function)


@at_call
def compile(kernel: Any, args: Optional[Any] = None, *, target: Optional[str] = None, device: Optional[str] = None, grid: Any = None,  # noqa: A001
            **constants: Any) -> CompiledKernel:
    """Compiles a kernel.

    Args:
        args: what it will be called with: a sequence in the parameters' order, or a mapping: arrays, or ``"f16[1024, 64]"``, numbers.
        target: ``gfx942`` …; ``device``: ``host``, ``emu:gfx942``, ``hip:0``, where it is to run. Without either ``$KILN_DEVICE``, else the host.
        constants: values of constexpr parameters, and of symbols.

    Raises:
        KernelError: a mistake in the kernel, at its line. errors.CompileFailed: with the compiler's log.
    """
    kernel = kernel_of(kernel) or Kernel(kernel)
    parameters = kernel._signature.parameters
    symbols = {k: constants.pop(k) for k in list(constants) if k not in parameters and k not in ("num_warps", "num_stages", "threads")}
    given = dict(args) if isinstance(args, Mapping) else dict(zip(parameters, args or ()))
    given.update(constants)
    chosen = kernel.tuning.configs[0].kwargs if kernel.tuning is not None else {}
    missing = [p for p in parameters if p not in given and p not in chosen and parameters[p].default is inspect.Parameter.empty]
    annotations = kernel._annotations()
    told = [n for n in missing
            if isinstance(annotations.get(n), (Buffer, When)) or as_dtype(annotations.get(n)) is not None]
    given.update({name: None for name in told})
    if told != missing:
        raise _launch.not_known(kernel, [n for n in missing if n not in told], annotations)
    if target is None and device is None:
        device = default_device()
    if device is None and target is not None and target.split(":")[0] == "host":
        device = "host"
    if kernel.tuning is not None:
        given = kernel._tuned(grid, (), given, device) if device is not None else {**kernel.tuning.configs[0].all_kwargs(), **given}
    values, launch = kernel.bind((), given, grid)
    if symbols:
        launch["symbols"] = symbols
    return kernel.compiled({k: v for k, v in values.items() if not (v is None and isinstance(annotations.get(k), (Buffer, When)))}, launch, target, device)
