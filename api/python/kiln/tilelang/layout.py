"""TileLang's layouts: descriptions of where a tile's elements lie."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Optional, Tuple


class Layout:
    """Element (i, j, …) of a tile of ``shape`` lies at ``forward(i, j, …)``, a number or coordinates.

    Attributes:
        shape, forward: as given.
    """

    def __init__(self, shape: Any, forward_fn: Callable[..., Any]) -> None:
        self.shape: Tuple[int, ...] = tuple(shape)
        self.forward = forward_fn

    def row_pitch(self) -> Optional[int]:
        """Elements between neighbouring rows where the tile is row-major, with or without padding; None where it is
        not.
        """
        if (
            len(self.shape) != 2
            or not all(isinstance(n, int) for n in self.shape)
            or self.shape[0] * self.shape[1] > 1 << 16
        ):
            return None
        try:
            pitch = self._place(1, 0) if self.shape[0] > 1 else self.shape[1]
            rows = itertools.product(range(self.shape[0]), range(self.shape[1]))
            return (
                pitch if pitch >= self.shape[1] and all(self._place(i, j) == i * pitch + j for i, j in rows) else None
            )
        except (TypeError, ValueError, IndexError):
            return None

    def _place(self, *index: int) -> int:
        found = self.forward(*index)
        if isinstance(found, (tuple, list)):
            if len(found) != 1:
                raise ValueError("coordinates of several axes")
            found = found[0]
        return int(found)

    def __repr__(self) -> str:
        return "T.Layout(%r)" % (self.shape,)


class Fragment:
    """How a fragment is spread over threads: a hint, lowering spreads them."""

    def __init__(self, shape: Any, *args: Any, **kwargs: Any) -> None:
        self.shape = tuple(shape)

    def repeat(self, *args: Any, **kwargs: Any) -> "Fragment":
        return self

    replicate = condense_rep_var = repeat


def make_swizzled_layout(buffer: Any, *hints: Any, **more: Any) -> Any:
    """A hint: lowering counts the conflicts of a shared tile and chooses a swizzle by itself."""
    return "auto"


make_quarter_bank_swizzled_layout = make_half_bank_swizzled_layout = make_full_bank_swizzled_layout = (
    make_swizzled_layout
)
make_linear_layout = make_volta_swizzled_layout = make_wgmma_swizzled_layout = make_tcgen05mma_swizzled_layout = (
    make_swizzled_layout
)
