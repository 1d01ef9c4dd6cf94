"""Operations of the language that Triton's authors know: names, signatures and meanings.

What they do is in _descriptors.py, _reductions.py, _shapes.py, _elementwise.py, _random.py and _refused.py. ``math`` and ``extra.libdevice`` are namespaces
as in Triton.
"""

from __future__ import annotations

import types

from . import _functions_elementwise as _elementwise
from ._types import Builtin, DType

__all__: "list[str]" = [
    "PropagateNan", "const", "extra", "float8e4b15", "float8e4b8", "float8e4nv", "float8e5", "float8e5b16", "math",
    "tensor", "tensor_descriptor"]


def _language(function):  # type: ignore[no-untyped-def]
    __all__.append(function.__name__)
    return Builtin(
        function,
        function.__name__.lstrip("_") if function.__name__.startswith("_experimental") else function.__name__)


# -- block pointers and descriptors


@_language
def make_block_ptr(base, shape, strides, offsets, block_shape, order=None):  # type: ignore[no-untyped-def]
    """A pointer to a block of ``block_shape`` at ``offsets`` of the tensor of ``shape`` and ``strides`` that begins at
    ``base``. ``tl.load`` and ``tl.store`` of it check the axes in ``boundary_check``; on the others the block lies
    inside. ``order`` changes nothing: lowering looks at the strides.
    """


@_language
def advance(base, offsets):  # type: ignore[no-untyped-def]
    """The block pointer moved by ``offsets``, an amount an axis."""


@_language
def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):  # type: ignore[no-untyped-def]
    """A tensor of ``shape`` and ``strides`` that begins at ``base``, moved in blocks of ``block_shape``: ``d.load([i,
    j])``, ``d.store([i, j], x)``, ``d.gather(rows, j)``, ``d.scatter(x, rows, j)``, ``d.atomic_add([i, j], x)``.
    Outside the shape reads give 0 and writes are dropped.
    """


@_language
def load_tensor_descriptor(desc, offsets):  # type: ignore[no-untyped-def]
    """As ``desc.load(offsets)``."""


@_language
def store_tensor_descriptor(desc, offsets, value):  # type: ignore[no-untyped-def]
    """As ``desc.store(offsets, value)``."""


# -- scans and reductions with a function


@_language
def associative_scan(input, axis, combine_fn, reverse=False):  # type: ignore[no-untyped-def]
    """Running results of ``combine_fn`` along ``axis``, the element itself included. ``combine_fn`` is a ``@tl.jit``
    function of two values that is their sum, product, larger or smaller one.
    """


@_language
def reduce(input, axis, combine_fn, keep_dims=False):  # type: ignore[no-untyped-def]
    """``combine_fn`` over all elements along ``axis`` (None: over all): a sum, product, maximum, minimum, or a logical
    and, or.
    """


@_language
def reduce_or(input, axis=None, keep_dims=False):  # type: ignore[no-untyped-def]
    """The bitwise or along ``axis``, of conditions."""


@_language
def xor_sum(input, axis=None, keep_dims=False):  # type: ignore[no-untyped-def]
    """The bitwise exclusive or along ``axis``."""


@_language
def sort(x, dim=None, descending=False):  # type: ignore[no-untyped-def]
    """Not there yet."""


@_language
def topk(x, k, dim=None):  # type: ignore[no-untyped-def]
    """Not there yet."""


@_language
def histogram(input, num_bins, mask=None):  # type: ignore[no-untyped-def]
    """How many elements of the integers ``input`` (where ``mask``) are 0, 1, … ``num_bins - 1``: i32 ``[num_bins]``."""


# -- shapes


@_language
def flip(x, dim=None):  # type: ignore[no-untyped-def]
    """``x`` with the order along ``dim`` (None: the last axis) reversed."""


@_language
def join(a, b):  # type: ignore[no-untyped-def]
    """Both along a new last axis of extent 2."""


@_language
def split(a):  # type: ignore[no-untyped-def]
    """The two halves of a last axis of extent 2."""


@_language
def interleave(a, b):  # type: ignore[no-untyped-def]
    """Elements of ``a`` and ``b`` in turn along the last axis."""


@_language
def cat(input, other, can_reorder=False, dim=0):  # type: ignore[no-untyped-def]
    """``other`` behind ``input`` along ``dim``."""


@_language
def squeeze(x, dim):  # type: ignore[no-untyped-def]
    """Without the axis ``dim``, whose extent is 1."""


@_language
def unsqueeze(x, dim):  # type: ignore[no-untyped-def]
    """With a new axis of extent 1 at ``dim``."""


@_language
def swizzle2d(i, j, size_i, size_j, size_g):  # type: ignore[no-untyped-def]
    """The indices of a row-major matrix ``size_i`` by ``size_j`` renamed to run column-major in groups of ``size_g``
    rows.
    """


@_language
def map_elementwise(scalar_fn, *args, pack=1):  # type: ignore[no-untyped-def]
    """A ``@tl.jit`` function of numbers for each element of tiles."""


# -- numbers


@_language
def to_tensor(x):  # type: ignore[no-untyped-def]
    """``x``."""


@_language
def add(x, y, sanitize_overflow=True):  # type: ignore[no-untyped-def]
    """``x + y``."""


@_language
def sub(x, y, sanitize_overflow=True):  # type: ignore[no-untyped-def]
    """``x - y``."""


@_language
def mul(x, y, sanitize_overflow=True):  # type: ignore[no-untyped-def]
    """``x * y``."""


# -- random numbers


@_language
def philox(seed, c0, c1, c2, c3, n_rounds=10):  # type: ignore[no-untyped-def]
    """Philox 4x32 of the counter (c0, c1, c2, c3) and the key ``seed``: four tiles of u32, the same bits on every
    device.
    """


@_language
def randint4x(seed, offset, n_rounds=10):  # type: ignore[no-untyped-def]
    """Four tiles of random u32 for the counter ``offset``."""


@_language
def randint(seed, offset, n_rounds=10):  # type: ignore[no-untyped-def]
    """A tile of random u32 for the counter ``offset``."""


@_language
def rand(seed, offset, n_rounds=10):  # type: ignore[no-untyped-def]
    """Uniform f32 in [0, 1) for the counter ``offset``; Triton's numbers."""


@_language
def rand4x(seed, offset, n_rounds=10):  # type: ignore[no-untyped-def]
    """Four tiles as of :func:`rand`."""


@_language
def randn(seed, offset, n_rounds=10):  # type: ignore[no-untyped-def]
    """Normal f32 (Box and Muller) for the counter ``offset``."""


@_language
def randn4x(seed, offset, n_rounds=10):  # type: ignore[no-untyped-def]
    """Four tiles as of :func:`randn`."""


@_language
def uint_to_uniform_float(x):  # type: ignore[no-untyped-def]
    """Random u32 or i32 as f32 in [0, 1)."""


@_language
def device_print(prefix, *args, hex=False):  # type: ignore[no-untyped-def]
    """Records ``prefix`` and the values, of each element where one is a tile; the launch's caller sees them as lines.
    ``print`` does the same.
    """


@_language
def device_assert(cond, msg="", mask=None):  # type: ignore[no-untyped-def]
    """Ends the block, and fails its launch, where ``cond`` does not hold (for any element, where ``mask`` does).
    ``assert`` does the same.
    """


# -- what has no counterpart, or none yet: errors that say what to do instead


@_language
def atomic_cas(pointer, cmp, val, sem=None, scope=None):  # type: ignore[no-untyped-def]
    """Replaces what ``pointer`` points to by ``val`` where it equals ``cmp``, one writer at a time; gives what was
    there.
    """


@_language
def dot_scaled(lhs,
               lhs_scale,
               lhs_format,
               rhs,
               rhs_scale,
               rhs_format,
               acc=None,
               fast_math=False,
               lhs_k_pack=True,
               rhs_k_pack=True,
               out_dtype=None):  # type: ignore[no-untyped-def]
    """Not there yet: products of f8e4m3fn, f6 and f4 blocks with their scales."""


@_language
def inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack):  # type: ignore[no-untyped-def]
    """Refused: a kernel is for every target."""


@_language
def pointer_type(element_ty, address_space=1):  # type: ignore[no-untyped-def]
    """Refused: pointers lie in parameters, never in memory."""


@_language
def _experimental_descriptor_load(desc, offsets, shape, dtype):  # type: ignore[no-untyped-def]
    """As ``desc.load(offsets)``, of a descriptor made in the kernel."""


@_language
def _experimental_descriptor_store(desc, value, offsets):  # type: ignore[no-untyped-def]
    """As ``desc.store(offsets, value)``."""


@_language
def async_task(task_ids=None, num_tasks=None, replicate=1, registers=None):  # type: ignore[no-untyped-def]
    """Refused: lowering decides which waves load and which compute."""


class tensor:
    """As an annotation: a value of the running kernel."""


class tensor_descriptor:
    """For ``isinstance``: what :func:`make_tensor_descriptor` gives."""


class const:
    """As an annotation: a pointer that is only read, which the front end sees by itself."""


class PropagateNan:
    """What maximum, minimum and clamp make of a NaN and a number: ``ALL`` gives NaN, ``NONE`` the number. Without a word
    they give NaN in kernels of ``kiln.language``, the number in those of ``kiln.triton``.
    """

    NONE, ALL = 0, 0xFFFF


# The 8-bit floats by Triton's names, to be compared with a parameter's type; the engine says which it has.
float8e5, float8e4nv = DType("f8e5m2", 1, "float8e5"), DType("f8e4m3fn", 1, "float8e4nv")
float8e5b16, float8e4b8 = DType("f8e5m2fnuz", 1, "float8e5b16"), DType("f8e4m3fnuz", 1, "float8e4b8")
float8e4b15 = DType("f8e4b15", 1, "float8e4b15")

_MATH = ("abs ceil cos div_rn erf exp exp2 expm1 fdiv floor fma isinf isnan log log1p log2 pow rsqrt sigmoid sin sqrt "
         "sqrt_rn tanh umulhi")
math = types.SimpleNamespace(__name__="tl.math", **{name: getattr(_elementwise, name) for name in _MATH.split()})

# libdevice's functions that are the language's own under another name, or a short expression of them.
_SAME = (
    "abs ceil cos erf exp exp2 expm1 floor fma isinf isnan log log1p log2 pow rsqrt sin sqrt sqrt_rn tanh div_rn"
).split()
_RENAMED = {
    "rint": "round", "nearbyint": "round", "rsqrt_rn": "rsqrt", "fast_expf": "exp", "fast_logf": "log",
    "fast_log2f": "log2", "fast_sinf": "sin", "fast_cosf": "cos", "fast_tanhf": "tanh", "fast_powf": "pow",
    "fast_dividef": "div_rn", "umulhi": "umulhi", "fma_rn": "fma"}
LIBDEVICE_COMPUTED = ("add_rn", "cosh", "erfc", "exp10", "fdim", "finitef", "fmod", "hypot", "isfinited", "log10",
                      "mul_rn", "mulhi", "rcp_rn", "round", "saturatef", "sinh", "sub_rn", "tan", "trunc")
LIBDEVICE_ABSENT = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cyl_bessel_i0",
                    "cyl_bessel_i1", "erfcinv", "erfinv", "ilogb", "j0", "j1", "ldexp", "lgamma", "logb",
                    "nextafter", "normcdf", "normcdfinv", "remainder", "scalbn", "signbit", "tgamma", "y0", "y1")


def _libdevice() -> types.SimpleNamespace:
    space = types.SimpleNamespace(__name__="libdevice")
    for name in _SAME:
        setattr(space, name, getattr(_elementwise, name))
    for name, own in _RENAMED.items():
        setattr(space, name, getattr(_elementwise, own))

    def stub(*args, **kwargs):  # type: ignore[no-untyped-def]
        """A function of libdevice."""

    for name in LIBDEVICE_COMPUTED + LIBDEVICE_ABSENT:
        setattr(space, name, Builtin(stub, "libdevice." + name))
    return space


extra = types.SimpleNamespace(__name__="tl.extra", libdevice=_libdevice())
extra.cuda = extra.hip = types.SimpleNamespace(__name__="tl.extra.hip", libdevice=extra.libdevice)


def gdc_wait():  # type: ignore[no-untyped-def]
    """Nothing: a launch begins when the one before it has ended."""


def gdc_launch_dependents():  # type: ignore[no-untyped-def]
    """Nothing: a launch begins when the one before it has ended."""


extra.cuda.gdc_wait, extra.cuda.gdc_launch_dependents = Builtin(gdc_wait, "gdc_wait"), Builtin(
    gdc_launch_dependents, "gdc_launch_dependents")
_experimental_make_tensor_descriptor = make_tensor_descriptor
__all__.append("_experimental_make_tensor_descriptor")
