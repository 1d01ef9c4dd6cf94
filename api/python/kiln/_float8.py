"""Floats of 8 bits as Python numbers: OCP's, and those with a bias larger by one and one NaN (FNUZ)."""

from __future__ import annotations

import bisect
import functools
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

_MANTISSA_BITS = {"f8e4m3fn": 3, "f8e4m3fnuz": 3, "f8e5m2": 2, "f8e5m2fnuz": 2}


def _magnitude(dtype: str, code: int) -> float:
    """Of a code without its sign."""
    bits = _MANTISSA_BITS[dtype]
    bias = 2 ** (6 - bits) - (0 if dtype.endswith("fnuz") else 1)
    exponent, mantissa = code >> bits, code & ((1 << bits) - 1)
    if dtype == "f8e4m3fn" and code == 0x7F or dtype == "f8e5m2" and code > 0x7C:
        return math.nan
    if dtype == "f8e5m2" and code == 0x7C:
        return math.inf
    return math.ldexp(mantissa + (1 << bits if exponent else 0), max(exponent, 1) - bias - bits)


@functools.lru_cache(maxsize=None)
def values(dtype: str) -> List[float]:
    """What each of the 256 codes stands for."""
    positive = [_magnitude(dtype, code) for code in range(128)]
    negative = [-value for value in positive]
    if dtype.endswith("fnuz"):
        negative[0] = math.nan
    return positive + negative


def code(dtype: str, value: float) -> int:
    """The nearest one's code, of two the even one; beyond the largest that of infinity where there is one, else NaN."""
    fnuz, sign = dtype.endswith("fnuz"), 0x80 if math.copysign(1, value) < 0 else 0
    nan = 0x80 if fnuz else sign | 0x7F
    if math.isnan(value):
        return nan
    last = {"f8e4m3fn": 0x7E, "f8e5m2": 0x7B}.get(dtype, 0x7F)
    finite, magnitude = values(dtype)[: last + 1], abs(value)
    beyond = finite[last] + (finite[last] - finite[last - 1])  # the next one, if exponents went on
    above = bisect.bisect_left(finite, magnitude) if magnitude < math.inf else last + 2
    if above <= last and finite[above] == magnitude:
        found = above
    elif above <= last + 1:
        middle = (finite[above - 1] + (finite[above] if above <= last else beyond)) / 2
        found = above if magnitude > middle or magnitude == middle and above % 2 == 0 else above - 1
    else:
        found = last + 1
    if found > last:
        return sign | 0x7C if dtype == "f8e5m2" else nan
    return 0 if fnuz and found == 0 else sign | found
