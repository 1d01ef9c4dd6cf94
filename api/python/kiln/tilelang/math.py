"""``tilelang.math``: whole numbers in the Python code around kernels."""

from __future__ import annotations


def cdiv(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The least power of two that is at least n."""
    return 1 << (n - 1).bit_length() if n > 1 else 1


__all__ = ["cdiv", "next_power_of_2"]
