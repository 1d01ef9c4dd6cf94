"""``tilelang.autotuner``."""

from ._tune import autotune, set_autotune_inputs

__all__ = ["autotune", "set_autotune_inputs"]
