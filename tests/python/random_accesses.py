"""Random loads and stores of rectangles by pointers, with masks, wrapped rows, other=; what they give, by NumPy."""

import random

import numpy

GRID = 3


class Access:
    """One kernel: loads a rectangle of x, changes it, stores it into y block by block and where it came from into z.

    Attributes:
        elements: of x and z. results: elements of y.
    """

    def __init__(self, seed):
        choose = random.Random(seed)
        self.seed = seed
        self.rows_of_block, self.columns_of_block = choose.choice((4, 8, 16)), choose.choice((4, 8, 16))
        self.pitch, self.rows = choose.choice((7, 8, 12, 13, 20)), choose.choice((5, 9, 16))
        m, n = self.rows_of_block, self.columns_of_block
        self.first_row = choose.choice(("pm * %d" % m, "pm * %d" % (m // 2), "pm", "0", "pm * %d - 1" % m))
        self.first_column = choose.choice(("pn * %d" % n, "pn * %d" % (n // 2), "0", "2", "pn * %d - 2" % n))
        self.offsets = self._offsets(choose)
        self.mask = self._mask(choose)
        self.other = choose.choice((None, "0.0", "-5.0")) if self.mask else None
        self.change = choose.choice(("v", "v", "v * 2 + 1", "v + tl.sum(v, axis=0)[None, :]", "tl.where(v > 0, v, -v)",
                                     "v + tl.max(v, axis=1)[:, None]"))
        self.stores = choose.random() < 0.5
        self.elements, self.results = self.pitch * self.rows, GRID * GRID * m * n

    def _offsets(self, choose):
        row, column, kind = "r", "c", choose.random()
        if kind < 0.25:
            row = "(r %% %d)" % self.rows
        elif kind < 0.35:
            row = "tl.where(r < %d, r, 0)" % self.rows
        elif kind < 0.4:
            row = "tl.minimum(r, %d)" % (self.rows - 1)
        if choose.random() < 0.15:
            column = "(c %% %d)" % self.pitch
        if "%" in row + column:                  # of numbers that are not negative: Python and C agree on those
            self.first_row = self.first_row.replace(" - 1", "")
            self.first_column = self.first_column.replace(" - 2", "")
        if choose.random() < 0.2:
            return "%s[:, None] + %s[None, :] * %d" % (row, column, self.pitch)
        return "%s[:, None] * %d + %s[None, :]" % (row, self.pitch, column)

    def _mask(self, choose):
        row, column = choose.choice((0, 1, 2)), choose.choice((0, 1, 3, -2))
        row, column = self.rows - row, self.pitch - column
        parts = []
        if choose.random() < 0.7:
            parts.append(choose.choice(("(r < %d)[:, None]" % row, "(r[:, None] < %d)" % row,
                                        "(r[:, None] <= %d)" % (row - 1), "(%d > r[:, None])" % row)))
        if choose.random() < 0.8:
            parts.append(choose.choice(("(c < %d)[None, :]" % column, "(c[None, :] < %d)" % column)))
        for share, more in ((0.4, "(r[:, None] >= 0)"), (0.4, "(c[None, :] >= 0)"),
                            (0.15, "(r[:, None] >= c[None, :])")):
            if choose.random() < share:
                parts.append(more)
        return " & ".join(parts)

    def text(self):
        m, n = self.rows_of_block, self.columns_of_block
        masked = ", mask=mask" if self.mask else ""
        lines = ["@triton.jit", "def kernel_%d(x, y, z):" % self.seed,
                 "    pm, pn = tl.program_id(0), tl.program_id(1)",
                 "    r = %s + tl.arange(0, %d)" % (self.first_row, m),
                 "    c = %s + tl.arange(0, %d)" % (self.first_column, n), "    offsets = %s" % self.offsets]
        lines += ["    mask = %s" % self.mask] if self.mask else []
        lines += ["    v = tl.load(x + offsets%s%s)" % (masked, ", other=%s" % self.other if self.other else ""),
                  "    v = %s" % self.change,
                  "    i, j = tl.arange(0, %d), tl.arange(0, %d)" % (m, n),
                  "    tl.store(y + (pm * %d + pn) * %d + i[:, None] * %d + j[None, :], v)" % (GRID, m * n, n)]
        if self.stores:
            lines.append("    tl.store(z + offsets, v%s)" % masked)
        return "\n".join(lines) + "\n\n\n"

    def wanted(self, x):
        """y and z; NaN where blocks do not agree, and what follows from elements outside of x that have an other=."""
        y, z = numpy.zeros(self.results, "f4"), numpy.zeros(self.elements, "f4")
        written = numpy.zeros(self.elements, bool)
        m, n = self.rows_of_block, self.columns_of_block
        for pm in range(GRID):
            for pn in range(GRID):
                names = {"tl": Language, "pm": pm, "pn": pn}
                names["r"] = eval(self.first_row, names) + numpy.arange(m)      # noqa: S307 - text of our own making
                names["c"] = eval(self.first_column, names) + numpy.arange(n)  # noqa: S307
                offsets = eval(self.offsets, names)  # noqa: S307
                mask = numpy.broadcast_to(eval(self.mask or "True", names), offsets.shape)  # noqa: S307
                inside = (offsets >= 0) & (offsets < self.elements)
                outside = numpy.nan if self.other == "-5.0" else 0.0
                v = numpy.where(mask & inside, x[numpy.clip(offsets, 0, self.elements - 1)],
                                numpy.where(mask, outside, float(self.other or 0)))
                names["v"] = v.astype("f4")
                v = numpy.broadcast_to(eval(self.change, names), offsets.shape).astype("f4")  # noqa: S307
                first = (pm * GRID + pn) * m * n
                y[first:first + m * n] = v.ravel()
                for at, value in zip(offsets[mask & inside], v[mask & inside]) if self.stores else ():
                    z[at] = value if not written[at] or z[at] == value else numpy.nan
                    written[at] = True
        return y, z


class Language:
    """``tl`` by NumPy."""

    where, minimum = staticmethod(numpy.where), staticmethod(numpy.minimum)

    @staticmethod
    def sum(values, axis):
        return values.sum(axis)

    @staticmethod
    def max(values, axis):
        return values.max(axis)
