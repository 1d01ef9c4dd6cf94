"""Kernels in TileLang's style as objects: ``@tilelang.jit``, ``tilelang.compile``, and what they give."""

from __future__ import annotations

import ast
import functools
import inspect
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from ..language._arguments import ArraySpec, spec_of
from ..language._content import content
from ..language._errors import at_call
from ..language._source import Names, Source, named, still
from ..language._types import as_dtype
from ._jit_kernel import JITKernel, place_of, sizes_of  # noqa: F401 - of this module for others
from ._prim_func import PrimFunc, annotations_of, is_tensor

KERNELS_MAX = 256  # that one function keeps; the daemon finds others again by their key


@at_call
def compile(
    func: Any,
    out_idx: Any = None,
    execution_backend: Any = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool = False,  # noqa: A001
    pass_configs: Any = None,
    compile_flags: Any = None,
    device: Optional[str] = None,
    **_: Any,
) -> JITKernel:
    """Compiles a kernel (``T.prim_func``).

    Args:
        out_idx: positions of parameters that are results.
        target: a target of Kiln's, or one of TileLang's words (:func:`place_of`). device: ``host``, ``emu:gfx942``,
            ``hip:0`` …
        pass_configs, compile_flags, execution_backend: accepted, without effect.

    Raises:
        KernelError: a mistake in the kernel, at its line. errors.CompileFailed: with the compiler's log.
    """
    if not isinstance(func, PrimFunc):
        raise TypeError("tilelang.compile takes what T.prim_func marks, not %r" % (func,))
    return JITKernel(func, out_idx, place_of(target, device))


class JITFunction:
    """A function marked ``@tilelang.jit``. One that holds ``T.prim_func`` is run, as Python, and what it returns is
    compiled; one
    that holds ``T.Kernel`` itself is a kernel: called on arrays it runs, ``compile`` compiles it for sizes given by
    name. Calls take
    ``device=`` and ``target=`` (:func:`place_of`) beside the function's own arguments."""

    __name__: str  # the function's, as its other attributes

    def __init__(self, function: Callable[..., Any], settings: Dict[str, Any], caller: Dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.settings = function, settings
        self.eager = is_kernel_itself(function)
        self.annotations = annotations_of(function, caller) if self.eager else {}  # type: ignore[arg-type]
        self._signature = inspect.signature(function)
        self._kernels: "OrderedDict[Any, Tuple[JITKernel, Names]]" = OrderedDict()
        self._lock = threading.Lock()
        self._tensors = declared_tensors(function) if self.eager else []

    @at_call
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        place = self._place(kwargs)
        if not self.eager:
            return self._kernel_of(args, kwargs, place)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        specs, constants, names = self._told_apart(bound.arguments)
        return self._eager_kernel(specs, constants, {}, place)(*[bound.arguments[name] for name in names])

    @at_call
    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel for arguments of its Python function, or, of a kernel itself, for sizes and constants by name."""
        place = self._place(kwargs)
        if not self.eager:
            return self._kernel_of(args, kwargs, place)
        given, sizes = self._given(args, kwargs)
        specs, constants, _ = self._told_apart(given)
        return self._eager_kernel(specs, constants, sizes, place)

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, int]]:
        """The arguments that are given, and defaults, by name; and keywords that are none: sizes."""
        sizes = {k: v for k, v in kwargs.items() if k not in self._signature.parameters}
        bound = self._signature.bind_partial(*args, **{k: v for k, v in kwargs.items() if k not in sizes})
        bound.apply_defaults()
        return dict(bound.arguments), sizes

    def _place(self, kwargs: Dict[str, Any]) -> Tuple[Any, Optional[str]]:
        """The target and device of this call, taken out of its keywords, or those of the decorator."""
        own = {k: kwargs.pop(k, None) if k not in self._signature.parameters else None for k in ("target", "device")}
        if own["target"] is None and own["device"] is None:
            own = self.settings
        return place_of(own["target"], own["device"])

    def get_tir(self, *args: Any, **kwargs: Any) -> PrimFunc:
        """What would be compiled."""
        return self.compile(*args, **kwargs).prim_func

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        """The text that was compiled, of the kernel for these arguments."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def par_compile(self, configs: Sequence[Any], **_: Any) -> List[JITKernel]:
        """A kernel for each set of arguments: tuples, or mappings by name."""
        return [self.compile(**c) if isinstance(c, Mapping) else self.compile(*c) for c in configs]

    def _kernel_of(self, args: Sequence[Any], kwargs: Dict[str, Any], place: Tuple[str, Optional[str]]) -> JITKernel:
        """Runs the Python function, and compiles what it returns; the same for the same arguments."""
        key = (place, content(tuple(args)), content(sorted(kwargs.items(), key=lambda item: item[0])))
        return self._kept(key, lambda: JITKernel(self._made(args, kwargs), self.settings["out_idx"], place))

    def _kept(self, key: Any, make: Callable[[], JITKernel]) -> JITKernel:
        """The kernel of a call like this, while the names in the function mean what they meant; else a new one."""
        with self._lock:
            found, names = self._kernels.get(key, (None, {}))
            if found is not None and still(names):
                self._kernels.move_to_end(key)
                return found
        names = named(self.function)
        made = make()
        names.update(made.names)
        with self._lock:
            found, before = self._kernels.get(key, (None, {}))
            if found is not None and before == names:  # another thread's
                return found
            self._kernels[key] = made, names
            self._kernels.move_to_end(key)
            if len(self._kernels) > KERNELS_MAX:
                self._kernels.popitem(last=False)
            return made

    def _made(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> PrimFunc:
        made = self.function(*args, **kwargs)
        if not isinstance(made, PrimFunc):
            raise TypeError(
                "%s returned %r; a function marked @tilelang.jit returns what T.prim_func marks, "
                "or holds T.Kernel itself"
                % (self.__name__, made)
            )
        return made

    def _told_apart(self, given: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any], List[str]]:
        """What is known of arguments: arrays by type and shape, numbers; constants; names of what a launch takes."""
        specs: Dict[str, Any] = {}
        constants: Dict[str, Any] = {}
        arguments = []
        for name in self._signature.parameters:
            annotation, value = self.annotations.get(name), given.get(name)
            if name in self._tensors or is_tensor(annotation):
                arguments.append(name)
                if name in given:
                    specs[name] = _array_spec(name, value)
            elif isinstance(annotation, str) and as_dtype(annotation) is not None and not isinstance(value, str):
                arguments.append(name)
                if name in given:
                    specs[name] = value
            elif name in given:
                constants[name] = value
            else:
                raise errors.InvalidArgument(
                    "the argument %s of %s is missing" % (name, self.__name__)
                )
        return specs, constants, arguments

    def _eager_kernel(
        self,
        specs: Dict[str, Any],
        constants: Dict[str, Any],
        sizes: Dict[str, int],
        place: Tuple[str, Optional[str]],
    ) -> JITKernel:
        """The kernel for these arguments."""
        numbers = {k: v for k, v in specs.items() if not isinstance(v, ArraySpec)}
        key = (
            place,
            content(sorted(constants.items(), key=lambda item: item[0])),
            content(sorted(((k, v) for k, v in specs.items() if k not in numbers), key=lambda item: item[0])),
            content(sorted(sizes.items())),
        )

        def make() -> JITKernel:
            prim = PrimFunc(self.function, self.annotations, constants, sizes)  # type: ignore[arg-type]
            return JITKernel(prim, self.settings["out_idx"], place, specs)

        return self._kept(key, make)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return "<kiln tilelang function %s>" % self.function.__qualname__


def _array_spec(name: str, value: Any) -> ArraySpec:
    spec = spec_of(value)
    if spec is None:
        raise errors.InvalidArgument("%s: expected an array, found %s" % (name, type(value).__name__))
    return spec


def jit(
    func: Any = None,
    *,
    out_idx: Any = None,
    target: Any = None,
    target_host: Any = None,
    execution_backend: Any = None,
    verbose: bool = False,
    pass_configs: Any = None,
    debug_root_path: Any = None,
    compile_flags: Any = None,
    device: Optional[str] = None,
    **_: Any,
) -> Any:
    """Marks a function: ``@tilelang.jit`` or ``@tilelang.jit(out_idx=[-1])``. See :class:`JITFunction` and
    :func:`compile`.
    """
    import sys

    caller = sys._getframe(1).f_locals
    settings = {"out_idx": out_idx, "target": target, "device": device}

    def mark(marked: Callable[..., Any]) -> JITFunction:
        return JITFunction(marked, settings, caller)

    marked_at_call = at_call(mark)  # its source is read here
    return marked_at_call if func is None else marked_at_call(func)


lazy_jit = jit


# -- which kind of function it is


def is_kernel_itself(function: Any) -> bool:
    """Whether T.Kernel, T.const or T.empty stand in the function itself and not in one that it defines."""
    return any(
        isinstance(n, ast.Call) and getattr(n.func, "attr", "") in ("Kernel", "const", "empty")
        for n in _own_nodes(Source(function).tree)
    )


def declared_tensors(function: Any) -> List[str]:
    """Parameters that a statement of the body declares: ``A: T.Tensor(…)``."""
    names = set(inspect.signature(function).parameters)
    return [
        n.target.id
        for n in _own_nodes(Source(function).tree)
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.value is None and n.target.id in names
    ]


def _own_nodes(tree: ast.FunctionDef) -> List[ast.AST]:
    """Nodes of a function's body without those of functions defined inside it."""
    found: List[ast.AST] = []
    rest: List[ast.AST] = list(tree.body)
    while rest:
        node = rest.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        found.append(node)
        rest.extend(ast.iter_child_nodes(node))
    return found
