"""``from kiln.tilelang import tvm``: the names of TVM that kernels in TileLang's style use."""

from __future__ import annotations

from . import tir
from . import tir as tirx
from ._types import dtype as DataType

__all__ = ["DataType", "tir", "tirx"]
