"""A kernel compiled for one target and one set of sizes: run on arrays, explained, profiled, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from .. import errors
from .._printed import show
from . import _launch, _overlaps
from ._arguments import ArraySpec, Staged, memory_of, scalar_of
from ._arithmetic import is_number
from ._builder import value_at
from ._client import client
from ._content import content
from ._errors import KernelError, Place, at_call
from ._report import Check, Explanation, Profile
from ._specialize import Program

if TYPE_CHECKING:
    from ._kernel import Kernel


class CompiledKernel:
    """A kernel compiled for one target and one set of sizes. Called on arrays it runs.

    Attributes:
        program: the tile program (``tile/1``) as a dict.
        bindings: values of its symbols.
        target, device: what it is compiled for, where it runs (None: nowhere yet).
        key: of the compiled kernel, 64 hex digits.
    """

    def __init__(self, kernel: Kernel, program: Program, bindings: Dict[str, Any], target: str, device: Optional[str],
                 plan: Optional[_overlaps.Plan] = None, specs: Optional[Mapping[str, Any]] = None) -> None:
        self._kernel, self._program, self._plan = kernel, program, plan
        # what is part of it: sizes, constants; a call's own values must be these
        self._constants = {k: v for k, v in (specs or {}).items()
                           if k not in program.arguments.values() and not isinstance(v, ArraySpec)}
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

    @at_call
    def __call__(self, *args: Any, **kwargs: Any) -> Optional[float]:
        """Runs it; milliseconds on the device.

        Raises:
            errors.InvalidArgument: an array of another type or shape than it was compiled for, named.
        """
        return self.run(self._bound(args, kwargs))

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        given = _launch.bound(self._kernel, args, kwargs, defaults=False)
        for name, value in given.items():
            if name in self._constants and not _same(value, self._constants[name]):
                raise errors.InvalidArgument("%s is %r, and this was compiled for %r: compile it for that, or call the "
                                             "kernel itself" % (name, value, self._constants[name]))
        parameters = self._kernel._signature.parameters
        return {**{n: p.default for n, p in parameters.items() if p.default is not p.empty}, **given}

    def _place(self) -> str:
        if self.device is None:
            raise errors.InvalidArgument(
                "compiled for %s and no device was named: tl.compile(kernel, device=\"emu:%s\") runs it on the emulated card, "
                "device=\"hip:0\" on a real one" % (self.target, self.target.split(":")[0]))
        return self.device

    def run(self, values: Mapping[str, Any]) -> Optional[float]:
        took = self._with_arguments(values, lambda arguments: self._loaded(device=self._place(), **arguments))
        show(took)
        return took

    def _with_arguments(self, values: Mapping[str, Any], act: Callable[[Dict[str, Any]], Any]) -> Any:
        self._place()
        staged = Staged(client())
        tensors = self._loaded.info["tensors"]
        written = {self._program.arguments[t["name"]] for t in tensors if t.get("access", "read") != "read"}
        try:
            values = _overlaps.arranged(values, self._program, self._plan, written, staged)
            arguments: Dict[str, Any] = {}
            for tensor in tensors:
                name = tensor["name"]
                param, argument = self._program.params.get(name), self._program.arguments[name]
                if argument not in values:
                    raise errors.InvalidArgument("the argument %s is missing" % argument)
                if param is None:
                    arguments[name] = scalar_of(argument, values[argument], tensor["dtype"])
                    continue
                value = getattr(values[argument], "kiln_array", values[argument])
                shape = tuple(self._extent(n) for n in param.shape)
                if param.mode == "flat":
                    value, shape = memory_of(argument, value), shape if param.memory is None else (param.memory,)
                arguments[name] = staged.array(argument, value, tensor["dtype"], shape, tensor["access"] != "read",
                                               param.mode != "flat", param.memory is not None)
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

    @at_call
    def explain(self) -> Explanation:
        """The grid and where it comes from, resources, tiles with layouts and conflicts, barriers, remaining checks,
        decisions."""
        with self._located():
            return Explanation(self._loaded.explain(), self._program, self.bindings)

    def source(self) -> str:
        """The text that was compiled: HIP C++ for AMD targets, LLVM IR for the host."""
        return str(self._loaded.explain()["source"])

    @at_call
    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Runs it with counters. A mapping from rocprof's names to counts; without arguments on generated ones."""
        values = self._bound(args, kwargs) if args or kwargs else self._generated()

        def act(arguments: Dict[str, Any]) -> Any:
            request = {**self._loaded._request, "device": self._place(), "args": arguments}
            return client().connection.call("kernel.profile", request)[0]

        return Profile(self._with_arguments(values, act), self._program)

    @at_call
    def check(self, reference: Any = None, *args: Any, **kwargs: Any) -> Check:
        """Runs it and compares what it wrote: with the definition (the interpreter), or with ``reference(*inputs)``, NumPy
        arrays in the parameters' order, which gives the written tensors in order. ``passed`` and a row a tensor; without
        arguments on generated ones."""
        values = self._bound(args, kwargs) if args or kwargs else self._generated()
        if reference is None:
            return Check(self._with_arguments(
                values, lambda arguments: self._loaded.verify(device=self._place(), **arguments)))
        from ._check import against

        return Check(against(self, reference, values))

    def _generated(self) -> Dict[str, Any]:
        from ._check import generated

        return generated(self._loaded.info["tensors"], self._program, self.bindings)

    def _located(self) -> "_Located":
        return _Located(self._program.places, self._program.messages)

    def __repr__(self) -> str:
        return "<kiln kernel %s for %s, key %s…>" % (self.program["name"], self.target, self.key[:12])


def _same(a: Any, b: Any) -> bool:
    """Whether two constants mean the same to a kernel."""
    return bool(a == b) if is_number(a) and is_number(b) else bool(content(a) == content(b))


_NO_TYPE = "convert to a type that there is, such as tl.float16; elements of 8 bits are moved as tl.uint8"


_NOT_HELD = "it is asserted of sizes and constants: call it with others"


class _Located:
    """Turns what the engine says about a part of the program into an error at the line of Python that wrote it."""

    def __init__(self, places: Dict[str, Place], messages: Optional[Mapping[str, str]] = None) -> None:
        self._places, self._messages = places, messages or {}

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
                own = self._messages.get(str(diagnostic.get("pointer", "")))
                if own is not None:
                    raise KernelError(own, place, _NOT_HELD, error.diagnostics) from error
                message = str(diagnostic.get("message", error.message))
                if diagnostic.get("expected"):
                    message += "; expected " + str(diagnostic["expected"])
                if diagnostic.get("found"):
                    message += ", found " + str(diagnostic["found"])
                hint = str(diagnostic.get("hint", "")) or (_NO_TYPE if message.startswith("not yet: the type") else "")
                raise KernelError(message, place, hint, error.diagnostics) from error
        return False


def place_of(places: Mapping[str, Place], pointer: str) -> Optional[Place]:
    """The place of the innermost part of the program around a JSON pointer."""
    start = pointer.find("/launches/")
    for part in ("/params/", "/constraints/"):
        start = pointer.find(part) if start < 0 else start
    pointer = pointer[start:] if start >= 0 else pointer
    while pointer:
        if pointer in places:
            return places[pointer]
        pointer = pointer.rpartition("/")[0]
    return None
