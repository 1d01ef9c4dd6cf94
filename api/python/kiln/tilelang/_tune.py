"""``tilelang.autotune``: the decorator as authors write it."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Dict, Iterator, List

from ._jit import JITFunction


class Tuned:
    """A function marked ``@autotune`` over one marked ``@jit``. Settings that a call leaves out are the first
    configuration's.

    Attributes:
        function: the :class:`JITFunction`. configs: mappings from parameters to values, or a function of the arguments
            that gives them.
    """

    def __init__(self, function: JITFunction, configs: Any) -> None:
        functools.update_wrapper(self, function)
        self.function, self.configs = function, configs

    def _chosen(self, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
        configs: List[Dict[str, Any]] = list(
            self.configs(*args, **kwargs) if callable(self.configs) else self.configs or []
        )
        first = dict(configs[0]) if configs else {}
        given = set(
            self.function._signature.bind_partial(
                *args, **{k: v for k, v in kwargs.items() if k in self.function._signature.parameters}
            ).arguments
        )
        return {k: v for k, v in first.items() if k not in given}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs, **self._chosen(args, kwargs))

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """As :meth:`JITFunction.compile`, with the chosen configuration in ``config``."""
        chosen = self._chosen(args, kwargs)
        kernel = self.function.compile(*args, **kwargs, **chosen)
        kernel.config = chosen
        return kernel


def autotune(func: Any = None, *, configs: Any = None, **_: Any) -> Any:
    """Marks a function as one with several configurations: ``@tilelang.autotune(configs=[dict(block_M=64), …])``."""

    def mark(marked: Any) -> Tuned:
        if not isinstance(marked, JITFunction):
            raise TypeError("@tilelang.autotune stands above @tilelang.jit")
        return Tuned(marked, configs)

    if func is not None and configs is None and not callable(func):
        raise TypeError("autotune(configs=[…]) takes its configurations by name")
    return mark if func is None else mark(func)


@contextlib.contextmanager
def set_autotune_inputs(*_: Any, **__: Any) -> Iterator[None]:
    """Inputs for measuring: accepted."""
    yield


__all__ = ["Callable", "Tuned", "autotune", "set_autotune_inputs"]
