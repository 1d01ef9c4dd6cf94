"""Quotients and remainders as Triton has them, towards zero and with the dividend's sign; texts of the format."""

from __future__ import annotations


def truncated(op: str, a: str, b: str, a_positive: bool, b_positive: bool) -> str:
    """``a // b`` or ``a % b`` of two integers of one type, rounded towards zero, exact for all values of the type.

    Args:
        op: ``//`` or ``%``, which the format rounds down.
        a, b: the operands, in parentheses where they need them.
        a_positive, b_positive: whether the operand is surely not negative.
    """
    down = "%s %s %s" % (a, op, b)
    if a_positive and b_positive:
        return down
    if a_positive or b_positive:
        alike = "%s >= 0" % (a if b_positive else b)
    else:
        alike = "!((%s < 0) ^ (%s < 0))" % (a, b)
    up = "ceildiv(%s, %s)" % (a, b)
    if op == "%":
        up = "%s - %s * %s" % (a, up, b)
    return "(%s) if (%s) else (%s)" % (down, alike, up)


def float_remainder(x: str, y: str, dtype: str) -> str:
    """What a whole number of ``y`` leaves of ``x``, both f64, as ``dtype``; exact while the quotient is below 2^52."""
    large, small = "abs(%s)" % x, "abs(%s)" % y
    rest = "fma(-floor(%s / %s), %s, %s)" % (large, small, small, large)
    # Below 0 where the quotient was rounded up to a whole number.
    rest = "(%s + %s) if (%s < 0.0) else (%s)" % (rest, small, rest, rest)
    signed = "(-(%s)) if (%s < 0.0) else (%s)" % (rest, x, rest)
    whole = "(%s) if (%s < %s) else (%s)" % (x, large, small, signed)
    return whole if dtype == "f64" else "cast(%s, %s)" % (whole, dtype)
