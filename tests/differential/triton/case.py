"""What a case of the Triton tests is. Data and references come from NumPy alone.

A case is a kernel of kernels.py with its types, constants and options; `runs(target, random)` yields launches, each
(grid, arguments, check): arguments are arrays (given to the kernel by pointer), ints or floats; check is called with
the arrays after the launch and raises AssertionError.
"""

import dataclasses
import typing

import numpy as np

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100")


@dataclasses.dataclass
class Case:
    name: str
    kernel: str
    types: typing.Any             # a list, or a function of the target
    constants: typing.Any         # {name: value; "tl.…" names a type}, or a function of the target
    runs: typing.Callable
    options: dict = dataclasses.field(default_factory=dict)
    aligned: bool = True          # pointers, and the integers of `whole`, divisible by 16
    whole: tuple = ()
    targets: tuple = TARGETS
    checks: str = "all"           # of the emulated card; what a kernel does on purpose is left out

    def types_on(self, target):
        return self.types(target) if callable(self.types) else self.types

    def constants_on(self, target):
        return self.constants(target) if callable(self.constants) else self.constants


def near(got, want, tolerance, what=""):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=what)


def equal(got, want, what=""):
    np.testing.assert_array_equal(got, want, err_msg=what)


def blocks(n, block):
    return -(-n // block)
