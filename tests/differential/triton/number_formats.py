"""bf16 and the 8-bit formats as NumPy arrays of their codes: decoding by definition, encoding to nearest even."""

import numpy as np


def bf16_codes(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bf16_values(codes):
    return (codes.astype(np.uint32) << 16).view(np.float32)


def _table(fraction, bias, fnuz, infinities):
    """Values of the 256 codes of a format with sign, 7 - fraction bits of exponent, and the fraction."""
    values = np.empty(256, np.float32)
    for code in range(256):
        magnitude = code & 0x7f
        exponent, part = magnitude >> fraction, magnitude & ((1 << fraction) - 1)
        value = (1 + part / (1 << fraction)) * 2.0 ** (exponent - bias)
        if exponent == 0:
            value = part * 2.0 ** (1 - bias - fraction)
        if fnuz:
            value = np.nan if code == 0x80 else value
        elif infinities and exponent == 31:
            value = np.nan if part else np.inf
        elif not infinities and magnitude == 0x7f:
            value = np.nan
        values[code] = -value if code & 0x80 else value
    return values


# By Triton's names.
FP8 = {"fp8e4nv": _table(3, 7, False, False), "fp8e5": _table(2, 15, False, True),
       "fp8e4b8": _table(3, 8, True, False), "fp8e5b16": _table(2, 16, True, False)}
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def fp8_rounded(values, name):
    """The format's finite values nearest to `values` (within its range), ties to the even code."""
    table = FP8[name][:128]
    finite = table[np.isfinite(table)]
    size = np.abs(values).astype(np.float64)
    above = np.clip(np.searchsorted(finite, size), 1, len(finite) - 1)
    low, high = size - finite[above - 1], finite[above] - size
    index = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    return np.copysign(finite[index], values).astype(np.float32)
