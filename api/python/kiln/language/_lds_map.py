"""Where the elements of a shared tile lie in LDS, bank by bank, as text and as a picture (SVG)."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple
from xml.sax.saxutils import escape

_BANK_BYTES = 4
_ROWS_MAX = 32   # drawn: one wave's worth of a column


def banks_of(target: str) -> int:
    """LDS banks of a target: 64 on gfx950 (AMD CDNA 4 ISA guide, "LDS"), else 32."""
    return 64 if target.startswith("gfx950") else 32


def placed(layout: str, row_bytes: int) -> Optional[Callable[[int, int], int]]:
    """The byte offset of (row, byte in the row) under a layout as ``explain`` writes it; None for one that is not known."""
    pad = re.search(r"pad[ :](\d+)", layout)
    pitch = row_bytes + (int(pad.group(1)) if pad else 0)
    swizzle = re.search(r"xor(\d+)\(row(?:/(\d+))?%(\d+)\)", layout)
    bits = re.search(r"xor(\d+)\(row bits ([\d ]+)\)", layout)
    if swizzle:
        chunk, divisor, modulus = int(swizzle.group(1)), int(swizzle.group(2) or 1), int(swizzle.group(3))
        return lambda row, byte: row * pitch + (((byte // chunk) ^ (row // divisor % modulus)) * chunk) + byte % chunk
    if bits:
        chunk, masks = int(bits.group(1)), [int(m) for m in bits.group(2).split()]

        def moved(row: int, byte: int) -> int:
            change = 0
            for bit, mask in enumerate(masks):
                if row >> bit & 1:
                    change ^= mask
            return row * pitch + ((byte // chunk) ^ change) * chunk + byte % chunk

        return moved
    return (lambda row, byte: row * pitch + byte) if layout.startswith(("row_major", "pad")) else None


class LdsMap:
    """A shared tile's banks.

    Attributes:
        rows: for each row drawn, the bank in which the first element of column ``column`` lies.
        degree: for each row, how many of the drawn rows have that column in the same bank: 1 is no conflict.
    """

    def __init__(self, tile: Dict[str, Any], target: str, column: int = 0) -> None:
        from ._types import DTYPES

        self.tile, self.banks, self.column = tile, banks_of(target), column
        shape = [int(n) for n in tile["shape"]]
        self.element_bytes = DTYPES[tile["dtype"]].bytes
        self.row_bytes = shape[-1] * self.element_bytes
        count = 1
        for n in shape[:-1]:
            count *= n
        self.count = min(count, _ROWS_MAX)
        self.place = placed(str(tile["layout"]), self.row_bytes)
        place = self.place
        self.rows = [] if place is None else [place(r, column * self.element_bytes) // _BANK_BYTES % self.banks for r in range(self.count)]
        self.degree = [self.rows.count(bank) for bank in self.rows]

    def columns(self, row: int) -> List[Tuple[int, int]]:
        """(bank, first column) of each 4-byte word of a row; words beyond one round of the banks are left out."""
        if self.place is None:
            return []
        words = min(self.row_bytes // _BANK_BYTES, self.banks)
        return [(self.place(row, w * _BANK_BYTES) // _BANK_BYTES % self.banks, w * _BANK_BYTES // self.element_bytes) for w in range(words)]

    def text(self) -> str:
        """A line a row, a character a bank: the column's bank is ``1`` without conflict, else the number of rows that share it (``*`` over 9)."""
        lines = ["%s %s[%s] %s: column %d of %d rows over %d banks" % (
            self.tile["tile"], self.tile["dtype"], ", ".join(map(str, self.tile["shape"])), self.tile["layout"], self.column, self.count, self.banks)]
        for row, (bank, degree) in enumerate(zip(self.rows, self.degree)):
            lines.append("%4d  %s" % (row, "".join((str(degree) if degree < 10 else "*") if b == bank else "." for b in range(self.banks))))
        if not self.rows:
            lines.append("      the layout is not drawn")
        return "\n".join(lines)

    def svg(self) -> str:
        """A picture: banks from left to right, rows downwards; the column's words green without conflict, red with."""
        cell, left, top = 14, 40, 36
        width, height = left + self.banks * cell + 8, top + self.count * cell + 8
        title = "%s %s[%s], %s" % (self.tile["tile"], self.tile["dtype"], ", ".join(map(str, self.tile["shape"])), self.tile["layout"])
        worst = max(self.degree, default=1)
        said = "%s: %d rows of column %d lie in %d banks; the fullest bank holds %d of them." % (title, self.count, self.column, len(set(self.rows)), worst)
        parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="monospace" font-size="9">' % (
            width, height, width, height), "<title>%s</title><desc>%s</desc>" % (escape(title), escape(said)),
            '<text x="4" y="12" font-size="11" fill="#888">%s</text>' % escape(title)]
        for bank in range(0, self.banks, 8):
            parts.append('<text x="%d" y="%d" fill="#888">%d</text>' % (left + bank * cell, top - 6, bank))
        for row in range(self.count):
            parts.append('<text x="4" y="%d" fill="#888">%d</text>' % (top + row * cell + 10, row))
            for bank, column in self.columns(row):
                hit = bank == self.rows[row] and column <= self.column < column + max(1, _BANK_BYTES // self.element_bytes)
                colour = _heat(self.degree[row]) if hit else "none"
                parts.append('<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="#8884"><title>row %d, column %d: bank %d%s</title></rect>' % (
                    left + bank * cell, top + row * cell, cell - 1, cell - 1, colour, row, column, bank,
                    ", shared by %d rows" % self.degree[row] if hit else ""))
        parts.append("</svg>")
        return "".join(parts)


def _heat(degree: int) -> str:
    """Green for one row in a bank, then from yellow to red."""
    if degree <= 1:
        return "#2e9e5b"
    share = min(1.0, (degree - 1) / 15)
    return "#%02x%02x20" % (224, int(176 * (1 - share)) + 16)


def maps(report: Dict[str, Any]) -> List[LdsMap]:
    """A map of every shared tile of two axes or more of a kernel's report."""
    target = str(report.get("target", ""))
    if not target.startswith("gfx"):
        return []
    return [LdsMap(tile, target) for tile in report.get("shared_tiles", []) if len(tile.get("shape", [])) >= 2]
