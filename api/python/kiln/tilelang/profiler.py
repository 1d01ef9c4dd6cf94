"""``tilelang.profiler``."""

from ._profiler import Profiler, do_bench

__all__ = ["Profiler", "do_bench"]
