"""Functions that are kernels (``T.prim_func``) or pieces of kernels (``T.macro``)."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..language._specialize import Program
from ._types import Tensor


class PrimFunc:
    """A kernel: its source is read, it is never run. ``tilelang.compile`` makes it callable on arrays.

    Attributes:
        kernel_function: the Python function.
        annotations: of its parameters, as objects.
        constants: parameters whose values are known when it is compiled, by name.
        sizes: values of sizes named by ``T.const`` and ``T.dynamic``, as far as they are given by name.
    """

    __name__: str  # the function's, as its other attributes

    def __init__(
        self,
        function: types.FunctionType,
        annotations: Dict[str, Any],
        constants: Optional[Dict[str, Any]] = None,
        sizes: Optional[Dict[str, int]] = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.kernel_function = function
        self.annotations = annotations
        self.constants, self.sizes = dict(constants or {}), dict(sizes or {})
        self._signature = inspect.signature(function)
        self.settings: Dict[str, Any] = {}

    @property
    def arguments(self) -> List[str]:
        """Parameters that a call passes: all but constants."""
        return [name for name in self._signature.parameters if name not in self.constants]

    def program(self, specs: Dict[str, Any], target: str) -> Program:
        """The tile program for arguments of these types and shapes (those of tensors with full annotations may be
        missing).

        Raises:
            KernelError: a mistake in the kernel, at its line.
        """
        from ._specialize import TileSpecializer

        return TileSpecializer(self, specs, target).run()

    def with_attr(self, *_: Any, **__: Any) -> "PrimFunc":
        """Itself: attributes of functions have no effect here."""
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "%s is a kernel: tilelang.compile(%s) gives what can be called" % (self.__name__, self.__name__)
        )

    def __repr__(self) -> str:
        return "<kiln tilelang kernel %s>" % self.kernel_function.__qualname__


class Macro:
    """A piece of a kernel: read where it is called."""

    __name__: str  # the function's, as its other attributes

    def __init__(self, function: types.FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.kernel_function = function

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("%s works inside a kernel: macros are read, not run" % self.__name__)


def annotations_of(function: types.FunctionType, caller: Dict[str, Any]) -> Dict[str, Any]:
    """Annotations as objects, also where they are kept as text; names mean what they mean to ``caller`` or to the
    function.
    """
    found: Dict[str, Any] = {}
    names = dict(function.__globals__)
    names.update(caller)
    if function.__closure__:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not set yet
                pass
    for name, annotation in function.__annotations__.items():
        if type(annotation) is str and name != "return":
            try:
                annotation = eval(
                    annotation, names
                )  # noqa: S307 - the author's own annotation, as Python itself evaluates it
            except Exception:  # noqa: BLE001 - "float16" is a type by name, and no name of Python
                pass
        found[name] = annotation
    return found


def prim_func(function: Any = None, **_: Any) -> Any:
    """Marks a function as a kernel: ``@T.prim_func``. Its tensors are annotated, ``A: T.Tensor((M, K), T.float16)``."""
    caller = sys._getframe(1).f_locals

    def mark(marked: Callable[..., Any]) -> PrimFunc:
        return PrimFunc(marked, annotations_of(marked, caller))  # type: ignore[arg-type]

    return mark if function is None else mark(function)


def macro(function: Any = None, **_: Any) -> Any:
    """Marks a function as a piece of kernels, read where it is called: ``@T.macro``."""
    return Macro if function is None else Macro(function)


def is_tensor(annotation: Any) -> bool:
    return isinstance(annotation, Tensor) or annotation is Tensor


def result_positions(out_idx: Any, count: int) -> Tuple[int, ...]:
    """Positions of results among ``count`` parameters, from ``out_idx`` as authors give it.

    Raises:
        ValueError: a position that is not there.
    """
    if out_idx is None:
        return ()
    given = [out_idx] if isinstance(out_idx, int) else list(out_idx)
    for position in given:
        if not isinstance(position, int) or not -count <= position < count:
            raise ValueError("out_idx names parameter %r of a kernel with %d" % (position, count))
    return tuple(position % count for position in given)
