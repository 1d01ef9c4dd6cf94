"""``triton.jit``: kernels that take Triton's launch keywords."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple

from .. import errors
from ..language import _kernel
from ..language._errors import at_call
from ..language._kernel import CompiledKernel, Kernel, default_device

# Keywords of a launch that say how to compile for one maker's cards: they change no result, and lowering decides them
# itself.
_HOW = ("num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "allow_flush_denorm",
        "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "cluster_dims", "schedule_hint", "ir_override",
        "debug", "sanitize_overflow", "instrumentation_mode")


class JITFunction(Kernel):
    """A kernel by ``@triton.jit``: launched as ``kernel[grid](…)``, called from other kernels as a function.

    ``num_warps`` gives a block's threads (as many waves of the target); the other launch keywords of Triton are
    accepted and decided by lowering. Python numbers of arguments become sizes that are bound when the kernel is
    compiled; those named in ``scalars`` are passed at each launch instead.
    """

    def __init__(self, function: Callable[..., Any], **launch: Any) -> None:
        # Arrays are pointers to their first elements; numbers follow Triton's rules.
        super().__init__(function, **{"pointers": True, "triton": True, **launch})
        self.fn = function

    @property
    def arg_names(self) -> Tuple[str, ...]:
        return tuple(self._signature.parameters)

    def bind(self,
             args: Sequence[Any],
             kwargs: Dict[str, Any],
             grid: Any = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        given = {k: v for k, v in kwargs.items() if k not in _HOW or k in self._signature.parameters}
        return super().bind(args, given, grid)

    @at_call
    def run(self, *args: Any, grid: Any, warmup: bool = False, device: Optional[str] = None, **kwargs: Any) -> Any:
        """Launches it on ``grid``, or, with ``warmup``, only compiles it (:meth:`warmup`)."""
        if warmup:
            return self.warmup(*args, grid=grid, device=device, **kwargs)
        return self._run(grid, *args, device=device, **kwargs)

    @at_call
    def warmup(self,
               *args: Any,
               grid: Any,
               device: Optional[str] = None,
               target: Optional[str] = None,
               **kwargs: Any) -> CompiledKernel:
        """Compiles it for arguments like these, arrays or specs such as ``"f16[64, 128]"``, and does not run it.

        Without ``target`` (``"gfx942"`` …) for what ``device`` needs. Its resources are in ``.explain()["resources"]``.
        """
        values, launch = self.bind(args, dict(kwargs), grid)
        if device is None and target is None:
            device = default_device()
        return self.compiled(values, launch, target, device)


def jit(
        fn: Any = None,
        *,
        version: Any = None,
        repr: Any = None,
        launch_metadata: Any = None,
        do_not_specialize: Iterable[Any] = (),  # noqa: A002
        do_not_specialize_on_alignment: Iterable[Any] = (),
        debug: Any = None,
        noinline: Any = None) -> Any:
    """Marks a function as a kernel, or as one that kernels call.

    Args:
        do_not_specialize: names or positions of number arguments that are passed at each launch: their values may
            change without a compile, and they cannot be used where a size must be known, such as an extent of a tile.
        version, repr, launch_metadata, do_not_specialize_on_alignment, debug, noinline: accepted, and change no result.
    """

    def mark(function: Callable[..., Any]) -> JITFunction:
        if isinstance(function, Kernel):
            function = function.kernel_function
        made = JITFunction(function)
        names = made.arg_names
        listed = [names[n] if isinstance(n, int) else n for n in do_not_specialize]
        unknown = [n for n in listed if n not in names]
        if unknown:
            raise errors.InvalidArgument("%s has no parameter %s, named in do_not_specialize" %
                                         (function.__name__, unknown[0]))
        if listed:
            made.launch["scalars"] = tuple(listed)
        return made

    return mark if fn is None else mark(fn)


@at_call
def compile(src: Any,
            target: Any = None,
            options: Any = None,
            **more: Any) -> CompiledKernel:  # noqa: A001 - Triton's name
    """Compiles a kernel ahead of its first launch; as :func:`kiln.language.compile`: ``triton.compile(kernel, args=…,
    device=…)``.
    """
    if options:
        more.update({k: v for k, v in dict(options).items() if k not in _HOW})
    return _kernel.compile(src, target=target, **more)
