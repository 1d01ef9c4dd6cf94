"""Kernels as objects: specialized by what they are called with, compiled by the daemon, run on arrays."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from .._printed import show
from ._arguments import ArraySpec, Staged, memory_of, spec_of
from ._builder import value_at
from ._errors import KernelError, Place
from ._report import Explanation, Profile
from ._source import Source
from ._specialize import Program, Specializer, annotations_of, annotations_read
from ._types import Buffer, as_dtype, constexpr

_client_lock = threading.Lock()
_client: Any = None


def client() -> Any:
    """This process's connection for kernels; the daemon is started when none runs."""
    global _client
    with _client_lock:
        if _client is None:
            import kiln

            _client = kiln.connect()
        return _client


def use_client(connected: Any) -> None:
    """Kernels run over this connection (of :func:`kiln.connect`) from now on."""
    global _client
    with _client_lock:
        _client = connected


def default_device() -> str:
    """``$KILN_DEVICE``, else ``host``."""
    return os.environ.get("KILN_DEVICE", "host")


def target_of(device: str) -> str:
    """The target that a device's kernels are compiled for."""
    if device.startswith("emu:"):
        return device[4:]
    if device == "host" or device.startswith("host:"):
        return "host"
    for row in client().connection.call("device.list", {"device": device})[0]["devices"]:
        if row.get("target"):
            return str(row["target"])
    raise errors.UnknownTarget("the device %s is not there" % device)


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
        self.example = launch.pop("args", None)  # what it is usually called with, for tools
        self.launch = launch
        self.tuning: Any = None                # set by autotune
        self._signature = inspect.signature(function)
        self._programs: Dict[Any, List[Program]] = {}
        self._compiled: Dict[Any, "CompiledKernel"] = {}
        self._lock = threading.Lock()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Triton's launch: ``kernel[grid](…)``; ``grid`` is a tuple, a number, or a function of the constants."""
        return functools.partial(self._run, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Optional[float]:
        return self._run(None, *args, **kwargs)

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
            TypeError: as Python does for a wrong call.
        """
        launch = dict(self.launch)
        parameters = self._signature.parameters
        if "num_warps" in kwargs and "num_warps" not in parameters:
            launch["threads"] = "%d * target.wave" % int(kwargs.pop("num_warps"))
        for name in ("threads", "symbols"):
            if name in kwargs and name not in parameters:
                launch[name] = kwargs.pop(name)
        for name in ("num_stages", "num_ctas", "maxnreg", "warmup"):
            if name not in parameters:
                kwargs.pop(name, None)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {k: plain(v) for k, v in bound.arguments.items()}
        if grid is None:
            grid = launch.get("grid")
        if callable(grid):
            grid = grid(dict(values))
        if grid is not None:
            launch["grid"] = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
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
                    raise errors.InvalidArgument("%s: %s" % (name, error.message)) from None
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

    # -- programs

    def program(self, specs: Mapping[str, Any], launch: Mapping[str, Any], target: str, dynamic: bool = True) -> Program:
        """The tile program for arguments of these types; read again only for other types or constants."""
        key = (target.split(":")[0], _key(specs, self._annotations()), tuple(sorted((k, repr(v)) for k, v in launch.items())), self._captured())
        with self._lock:
            for program in self._programs.get(key, []):
                if _serves(program, specs):
                    return program
        made = Specializer(self.kernel_function, dict(specs), dict(launch), target, dynamic).run()
        with self._lock:
            self._programs.setdefault(key, []).append(made)
        return made

    def _captured(self) -> Any:
        """The values of module-level numbers that the function names: a changed one is another program."""
        function = self.kernel_function
        found = {n: function.__globals__.get(n) for n in function.__code__.co_names}
        found.update(inspect.getclosurevars(function).nonlocals)
        return tuple(sorted((n, repr(v)) for n, v in found.items() if isinstance(v, (int, float, str, bool, tuple, constexpr))))

    def compiled(self, values: Mapping[str, Any], launch: Mapping[str, Any], target: Optional[str], device: Optional[str]) -> "CompiledKernel":
        """The kernel compiled for these arguments; found again by their types and sizes."""
        target = target or target_of(device or "host")
        specs = self.specs(values)
        program = self.program(specs, launch, target)
        bindings = bindings_of(program, specs, launch)
        key = (id(program), target, device, tuple(sorted(bindings.items())), id(client()))  # kept alive by what is found
        with self._lock:
            found = self._compiled.get(key)
        if found is None:
            found = CompiledKernel(self, program, bindings, target, device)
            with self._lock:
                self._compiled[key] = found
        return found

    def __repr__(self) -> str:
        return "<kiln kernel %s>" % self.kernel_function.__qualname__


def plain(value: Any) -> Any:
    """A constexpr's value, a NumPy number as Python's; anything else as it is."""
    if isinstance(value, constexpr):
        return value.value
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value


def _key(specs: Mapping[str, Any], annotations: Mapping[str, Any]) -> Any:
    """What programs differ by: types and ranks of arrays, kinds of numbers, constants; sizes only where they are 1."""
    parts: List[Any] = []
    for name, spec in specs.items():
        if isinstance(spec, ArraySpec):
            shape = tuple(n if n == 1 or isinstance(n, str) else "n" for n in spec.shape)
            parts.append((name, spec.dtype, shape, spec.strides, spec.memory, spec.described))
        elif isinstance(annotations.get(name), constexpr) or annotations.get(name) is constexpr or isinstance(spec, (bool, str, type(None), tuple)):
            parts.append((name, repr(spec)))
        elif isinstance(spec, int):
            parts.append((name, "int" if 0 <= spec < 2 ** 31 else "negative"))
        else:
            parts.append((name, type(spec).__name__ if isinstance(spec, float) else repr(spec)))
    return tuple(parts)


def _serves(program: Program, specs: Mapping[str, Any]) -> bool:
    """Whether a program that was read for other sizes is right for these: its demands on them hold."""
    try:
        known = bindings_of(program, specs, {})
    except errors.InvalidArgument:
        return False
    if any(symbol not in known for symbol in program.json.get("symbols", {})):
        return False
    if not all(value_at(constraint, known) for constraint in program.json.get("constraints", [])):
        return False
    for name, param in program.params.items():
        spec = specs.get(program.arguments[name])
        if isinstance(spec, ArraySpec) and any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in zip(param.shape, spec.shape)):
            return False
    return True


def bindings_of(program: Program, specs: Mapping[str, Any], launch: Mapping[str, Any]) -> Dict[str, Any]:
    """Values of the program's symbols for these arguments.

    Raises:
        errors.InvalidArgument: two arguments tell different values of one symbol.
    """
    bindings = dict(launch.get("symbols", {}))
    for symbol, where in program.extents.items():
        if isinstance(where, str):
            bindings[symbol] = specs[where]
    for name, param in program.params.items():
        spec = specs.get(program.arguments[name])
        if not isinstance(spec, ArraySpec):
            continue
        for axis, extent in enumerate(param.shape):
            word = str(extent)
            now = spec.shape[axis] if axis < len(spec.shape) else None
            if word not in program.json.get("symbols", {}) or not isinstance(now, int):
                continue
            if bindings.setdefault(word, now) != now:
                raise errors.InvalidArgument("axis %d of %s is %d, but %s is %s by another argument" % (axis, name, now, word, bindings[word]))
    return bindings


class CompiledKernel:
    """A kernel compiled for one target and one set of sizes. Called on arrays it runs.

    Attributes:
        program: the tile program (``tile/1``) as a dict.
        bindings: values of its symbols.
        target, device: what it is compiled for, where it runs (None: nowhere yet).
        key: of the compiled kernel, 64 hex digits.
    """

    def __init__(self, kernel: Kernel, program: Program, bindings: Dict[str, Any], target: str, device: Optional[str]) -> None:
        self._kernel, self._program = kernel, program
        self.program, self.bindings, self.target, self.device = program.json, bindings, target, device
        with self._located():
            self._loaded = client().compile(program.json, target, **bindings)

    @property
    def key(self) -> str:
        return str(self._loaded.key)

    @property
    def cached(self) -> bool:
        """No compile happened for it."""
        return bool(self._loaded.cached)

    @property
    def grid(self) -> List[str]:
        """The grid's extents as expressions; :meth:`explain` says where they come from."""
        return list(self._program.grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Optional[float]:
        """Runs it; milliseconds on the device.

        Raises:
            errors.InvalidArgument: an array of another type or shape than it was compiled for, named.
        """
        return self.run(self._bound(args, kwargs))

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        bound = self._kernel._signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _place(self) -> str:
        if self.device is None:
            raise errors.InvalidArgument("compiled for %s and no device was named: tl.compile(kernel, device=\"emu:%s\") runs it on the emulated card, "
                                         "device=\"hip:0\" on a real one" % (self.target, self.target.split(":")[0]))
        return self.device

    def run(self, values: Mapping[str, Any]) -> Optional[float]:
        took = self._with_arguments(values, lambda arguments: self._loaded(device=self._place(), **arguments))
        show(took)
        return took

    def _with_arguments(self, values: Mapping[str, Any], act: Callable[[Dict[str, Any]], Any]) -> Any:
        self._place()
        staged = Staged(client())
        try:
            arguments: Dict[str, Any] = {}
            for tensor in self._loaded.info["tensors"]:
                name = tensor["name"]
                param, argument = self._program.params.get(name), self._program.arguments[name]
                if argument not in values:
                    raise errors.InvalidArgument("the argument %s is missing" % argument)
                if param is None:
                    arguments[name] = values[argument]
                    continue
                value = getattr(values[argument], "kiln_array", values[argument])
                shape = tuple(self._extent(n) for n in param.shape)
                if param.mode == "flat":
                    value, shape = memory_of(argument, value), shape if param.memory is None else (param.memory,)
                arguments[name] = staged.array(argument, value, tensor["dtype"], shape, tensor["access"] != "read")
            with self._located():
                result = act(arguments)
            staged.finish()
            return result
        finally:
            staged.free()

    def _extent(self, extent: Any) -> int:
        found = value_at(extent, self.bindings)
        if found is None:
            raise errors.InvalidArgument("the extent %s is not known: not all of its sizes have a value" % extent)
        return found

    def explain(self) -> Explanation:
        """The grid and where it comes from, resources, tiles with layouts and conflicts, barriers, remaining checks, decisions."""
        with self._located():
            return Explanation(self._loaded.explain(), self._program, self.bindings)

    def source(self) -> str:
        """The text that was compiled: HIP C++ for AMD targets, LLVM IR for the host."""
        return str(self._loaded.explain()["source"])

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Runs it with counters. A mapping from rocprof's names to counts; without arguments on generated ones."""
        values = self._bound(args, kwargs) if args or kwargs else self._generated()

        def act(arguments: Dict[str, Any]) -> Any:
            request = {**self._loaded._request, "device": self._place(), "args": arguments}
            return client().connection.call("kernel.profile", request)[0]

        return Profile(self._with_arguments(values, act), self._program)

    def check(self, reference: Any = None, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """Runs it and compares what it wrote: with the definition (the interpreter), or with ``reference(*inputs)``, NumPy arrays in the
        parameters' order, which gives the written tensors in order. ``passed`` and a row a tensor; without arguments on generated ones."""
        values = self._bound(args, kwargs) if args or kwargs else self._generated()
        if reference is None:
            return self._with_arguments(values, lambda arguments: self._loaded.verify(device=self._place(), **arguments))
        from ._check import against

        return against(self, reference, values)

    def _generated(self) -> Dict[str, Any]:
        from ._check import generated

        return generated(self._loaded.info["tensors"], self._program, self.bindings)

    def _located(self) -> "_Located":
        return _Located(self._program.places)

    def __repr__(self) -> str:
        return "<kiln kernel %s for %s, key %s…>" % (self.program["name"], self.target, self.key[:12])


class _Located:
    """Turns what the engine says about a part of the program into an error at the line of Python that wrote it."""

    def __init__(self, places: Dict[str, Place]) -> None:
        self._places = places

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if not isinstance(error, errors.KilnError) or isinstance(error, KernelError):
            return False
        for diagnostic in error.diagnostics:
            place = place_of(self._places, str(diagnostic.get("pointer", "")))
            if place is not None and isinstance(error, errors.AssertionFailed):
                show(error)
                error.message = "%s: %s" % (place, error.message)
                return False
            if place is not None:
                message = str(diagnostic.get("message", error.message))
                if diagnostic.get("expected"):
                    message += "; expected " + str(diagnostic["expected"])
                if diagnostic.get("found"):
                    message += ", found " + str(diagnostic["found"])
                raise KernelError(message, place, str(diagnostic.get("hint", "")), error.diagnostics) from error
        return False


def place_of(places: Mapping[str, Place], pointer: str) -> Optional[Place]:
    """The place of the innermost part of the program around a JSON pointer."""
    start = pointer.find("/launches/")
    pointer = pointer[start:] if start >= 0 else pointer[pointer.find("/params/"):] if "/params/" in pointer else pointer
    while pointer:
        if pointer in places:
            return places[pointer]
        pointer = pointer.rpartition("/")[0]
    return None


def kernel_of(value: Any) -> Optional[Kernel]:
    """The kernel that an object is or stands for, None if it is none."""
    found = value if isinstance(value, Kernel) else getattr(value, "kiln_kernel", None)
    return found if isinstance(found, Kernel) else None


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
    for name in missing:
        annotation = annotations.get(name)
        if isinstance(annotation, Buffer):
            given[name] = None
        elif as_dtype(annotation) is not None:
            given[name] = None
        else:
            raise KernelError("nothing is known of the parameter %s" % name, Source(kernel.kernel_function).place(Source(kernel.kernel_function).tree),
                              "annotate it, tl.Buffer[M, N, tl.float16] or tl.constexpr, or pass args= to tl.compile")
    if target is None and device is None:
        device = default_device()
    if device is None and target is not None and target.split(":")[0] == "host":
        device = "host"
    if kernel.tuning is not None:
        given = kernel._tuned(grid, (), given, device) if device is not None else {**kernel.tuning.configs[0].all_kwargs(), **given}
    values, launch = kernel.bind((), given, grid)
    if symbols:
        launch["symbols"] = symbols
    return kernel.compiled({k: v for k, v in values.items() if not (v is None and isinstance(annotations.get(k), Buffer))}, launch, target, device)
