"""Timing and checking of a kernel on generated arguments, as TileLang's profiler does."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional

from ..language._check import as_floats, generated


class Profiler:
    """Of one compiled kernel."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        compiled = kernel.compiled
        values = generated(compiled._loaded.info["tensors"], compiled._program, compiled.bindings)
        names = [n for n in kernel._inputs(-1)]
        self._arguments: List[Any] = [values[n] for n in names]

    def run_once(self, func: Optional[Callable[..., Any]] = None) -> Any:
        """Runs the kernel, or ``func``, on the generated arguments."""
        return (func or self._kernel)(*self._arguments)

    def do_bench(
        self,
        func: Optional[Callable[..., Any]] = None,
        warmup: Any = 25,
        rep: Any = 100,
        n_warmup: int = 1,
        n_repeat: int = 5,
        **_: Any,
    ) -> float:
        """The median of milliseconds on the device over ``n_repeat`` runs; of ``func`` those of a clock."""
        times = []
        for number in range(max(1, n_warmup or 1) + max(1, n_repeat or 5)):
            before = time.perf_counter()
            self.run_once(func)
            spent = (time.perf_counter() - before) * 1e3
            if number >= max(1, n_warmup or 1):
                times.append(spent if func is not None else self._kernel.last_ms or spent)
        return sorted(times)[len(times) // 2]

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        rtol: float = 1e-2,
        atol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        **_: Any,
    ) -> None:
        """Compares with a function of NumPy arrays.

        Raises:
            AssertionError: other numbers of results, other shapes, or more elements than ``max_mismatched_ratio``
                (a share of each result) differ.
            TypeError: the kernel or the function returns nothing.
        """
        import numpy

        found, wanted = _results(self.run_once(), "the kernel"), _results(self.run_once(reference_program), "the reference")
        if len(found) != len(wanted):
            raise AssertionError("the reference gave %d results for %d of the kernel" % (len(wanted), len(found)))
        for number, (a, b) in enumerate(zip(found, wanted)):
            right = numpy.asarray(b, "float64")
            left = as_floats(a, "bf16" if a.dtype == numpy.uint16 and right.dtype != a.dtype else str(a.dtype))
            if left.shape != right.shape:
                raise AssertionError(
                    "result %d: the kernel's has shape %s, the reference's %s" % (number, left.shape, right.shape)
                )
            wrong = ~numpy.isclose(left, right, rtol, atol, equal_nan=True)
            if wrong.size and wrong.mean() > max_mismatched_ratio:
                raise AssertionError(
                    "result %d: %d of %d elements differ, by at most %g"
                    % (number, wrong.sum(), wrong.size, numpy.nanmax(numpy.abs(left - right)))
                )

    @property
    def func(self) -> Any:
        return self._kernel

    def __call__(self, *args: Any) -> Any:
        return self._kernel(*args)


def _results(value: Any, whose: str) -> List[Any]:
    found = list(value) if isinstance(value, (tuple, list)) else [value]
    if not found or any(x is None for x in found):
        raise TypeError(
            "%s returned %r, and results are compared: name the kernel's with out_idx=, and return arrays from the "
            "reference" % (whose, value)
        )
    return found


def do_bench(
    fn: Callable[[], Any], warmup: Any = 25, rep: Any = 100, n_warmup: int = 1, n_repeat: int = 5, **_: Any
) -> float:
    """The median of milliseconds that ``fn()`` takes, by a clock."""
    times: List[float] = []
    for number in range(n_warmup + n_repeat):
        before = time.perf_counter()
        fn()
        if number >= n_warmup:
            times.append((time.perf_counter() - before) * 1e3)
    return sorted(times)[len(times) // 2]


__all__ = ["Dict", "Profiler", "do_bench"]
