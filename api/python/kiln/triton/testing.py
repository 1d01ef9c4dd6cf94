"""``triton.testing``: how long a launch takes, and a table of it over sizes."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence


def do_bench(fn: Callable[[], Any],
             warmup: float = 25,
             rep: float = 100,
             grad_to_none: Any = None,
             quantiles: Optional[Sequence[float]] = None,
             return_mode: str = "mean") -> Any:
    """Milliseconds that ``fn`` takes: on the device where ``fn`` gives them (a kernel's launch does), else by the
    clock.

    Args:
        warmup, rep: milliseconds for launches before and during the measurement; at least one and three launches.
        quantiles: which to give, a list; without them ``return_mode``: ``mean``, ``median``, ``min``, ``max`` or
            ``all``.
    """
    if return_mode not in ("mean", "median", "min", "max", "all"):
        raise ValueError("return_mode is mean, median, min, max or all, not %r" % (return_mode,))
    _times(fn, warmup, 1)
    times = sorted(_times(fn, rep, 3))
    if quantiles is not None:
        found = [_quantile(times, q) for q in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"mean": sum(times) / len(times), "median": _quantile(times, 0.5), "min": times[0],
            "max": times[-1]}[return_mode]


def _times(fn: Callable[[], Any], budget_ms: float, least: int) -> List[float]:
    times: List[float] = []
    begin = time.perf_counter()
    while len(times) < least or (time.perf_counter() - begin) * 1000 < budget_ms:
        start = time.perf_counter()
        told = fn()
        clock = (time.perf_counter() - start) * 1000
        times.append(told if isinstance(told, float) else clock)
    return times


def _quantile(ordered: Sequence[float], q: float) -> float:
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


class Benchmark:
    """What :func:`perf_report` runs: ``x_names`` take each of ``x_vals``, ``line_arg`` each of ``line_vals``, the rest
    is ``args``.
    """

    def __init__(self,
                 x_names: Sequence[str],
                 x_vals: Sequence[Any],
                 line_arg: str,
                 line_vals: Sequence[Any],
                 line_names: Sequence[str],
                 plot_name: str,
                 args: Dict[str, Any],
                 xlabel: str = "",
                 ylabel: str = "",
                 x_log: bool = False,
                 y_log: bool = False,
                 styles: Any = None) -> None:
        self.x_names, self.x_vals, self.line_arg = list(x_names), list(x_vals), line_arg
        self.line_vals, self.line_names, self.plot_name, self.args = list(line_vals), list(line_names), plot_name, dict(
            args)
        self.xlabel, self.ylabel = xlabel, ylabel


class _Report:
    def __init__(self, fn: Callable[..., Any], benchmarks: Sequence[Benchmark]) -> None:
        self.fn, self.benchmarks = fn, benchmarks

    def run(self,
            show_plots: bool = False,
            print_data: bool = False,
            save_path: str = "",
            return_df: bool = False,
            **more: Any) -> List[List[List[Any]]]:
        """Measures; a table a benchmark (rows: the sizes, then a value a line), printed with ``print_data``. No plots
        are drawn.
        """
        tables = []
        for bench in self.benchmarks:
            rows: List[List[Any]] = []
            for x in bench.x_vals:
                sizes = list(x) if isinstance(x, (tuple, list)) else [x] * len(bench.x_names)
                values = [
                    self.fn(**dict(zip(bench.x_names, sizes)), **{bench.line_arg: line}, **bench.args, **more)
                    for line in bench.line_vals]
                rows.append(sizes + [v[0] if isinstance(v, tuple) else v for v in values])
            if print_data:
                print(bench.plot_name + ":")
                print("\t".join(bench.x_names + bench.line_names))
                for row in rows:
                    print("\t".join("%g" % v if isinstance(v, float) else str(v) for v in row))
            tables.append(rows)
        return tables


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], _Report]:
    """Decorates a function that measures one size and one line; ``.run(print_data=True)`` measures all."""
    many = list(benchmarks) if isinstance(benchmarks, (tuple, list)) else [benchmarks]
    return lambda fn: _Report(fn, many)


def assert_close(x: Any, y: Any, atol: Optional[float] = None, rtol: Optional[float] = None, err_msg: str = "") -> None:
    """Raises AssertionError where arrays differ by more than ``atol`` (1e-2) + ``rtol`` (0) times the second."""
    import numpy

    numpy.testing.assert_allclose(numpy.asarray(x),
                                  numpy.asarray(y),
                                  atol=1e-2 if atol is None else atol,
                                  rtol=0.0 if rtol is None else rtol,
                                  err_msg=err_msg,
                                  equal_nan=True)
