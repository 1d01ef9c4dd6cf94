"""Choosing a kernel's constants by measuring: ``tl.autotune``. The daemon measures, checks and keeps the record."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from ._arguments import ArraySpec
from ._errors import KernelError


class Config:
    """Constants to try: ``tl.Config({"BLOCK": 64}, num_warps=4)``, or ``tl.Config(BLOCK=64)``.

    Attributes:
        kwargs: constexpr parameters by name.
        num_warps: waves of a block on a card, None for the kernel's own; num_stages is lowering's choice and is taken as a hint.
    """

    __slots__ = ("kwargs", "num_warps", "num_stages")

    def __init__(self, kwargs: Optional[Mapping[str, Any]] = None, num_warps: Optional[int] = None, num_stages: Optional[int] = None,
                 num_ctas: Any = None, maxnreg: Any = None, pre_hook: Any = None, **more: Any) -> None:
        self.kwargs: Dict[str, Any] = {**(kwargs or {}), **more}
        self.num_warps, self.num_stages = num_warps, num_stages

    def all_kwargs(self) -> Dict[str, Any]:
        """The constants with ``num_warps`` and ``num_stages``, as far as they are given."""
        extra = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return {**self.kwargs, **{k: v for k, v in extra.items() if v is not None}}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.all_kwargs() == other.all_kwargs()

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return ", ".join("%s=%s" % item for item in self.all_kwargs().items()) or "as it is"

    __repr__ = __str__


class Tuning:
    """How one kernel is tuned.

    Attributes:
        configs: what is tried; the first one is the baseline.
        key: names of arguments (and of symbols) by which the choice is made anew; None: by all sizes and types.
        best: what was chosen in this process, by key.
        last: the daemon's answer for the latest choice: candidates with times or counts, ``ranked_by``, the record.
    """

    def __init__(self, configs: Sequence[Any], key: Optional[Sequence[str]], options: Mapping[str, Any]) -> None:
        self.configs = [c if isinstance(c, Config) else Config(c) for c in configs]
        if not self.configs:
            raise ValueError("autotune needs at least one configuration")
        self.key = None if key is None else list(key)
        self.options = dict(options)
        self.best: Dict[Any, Config] = {}
        self.last: Optional[Dict[str, Any]] = None
        self._lock = threading.Lock()

    def choose(self, kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, device: str) -> Config:
        """The configuration for these arguments: known in this process, from a record, or measured now.

        Raises:
            KernelError: no configuration can be read. errors.LaunchFailed: none runs rightly.
        """
        if len(self.configs) == 1:
            return self.configs[0]
        with self._lock:  # two threads do not measure at once
            candidates, key = self._candidates(kernel, args, kwargs, grid, device)
            if key not in self.best:
                self.best[key] = self._measured(candidates, device)
            return self.best[key]

    def _candidates(self, kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, device: str) -> Tuple[List[Any], Any]:
        """(configuration, program, bindings) of each that can be read, and the key."""
        from ._kernel import bindings_of, target_of

        found, refused, key = [], None, None
        target = target_of(device)
        for config in self.configs:
            try:
                values, launch = kernel.bind(args, {**kwargs, **config.all_kwargs()}, grid)
                specs = kernel.specs(values)
                if key is None:
                    key = (device, self._key(specs, config))
                    if key in self.best:
                        return [], key
                program = kernel.program(specs, launch, target)
                found.append((config, program, bindings_of(program, specs, launch)))
            except KernelError as error:
                refused = refused or error
        if not found:
            assert refused is not None
            raise refused
        return found, key

    def _key(self, specs: Mapping[str, Any], config: Config) -> Any:
        shapes = {n: (s.dtype, s.shape) for n, s in specs.items() if isinstance(s, ArraySpec)}
        if self.key is None:
            return tuple(sorted((n, repr(shapes.get(n, s))) for n, s in specs.items() if n not in config.kwargs))
        dtypes = tuple(sorted((n, d) for n, (d, _) in shapes.items()))
        return dtypes + tuple((n, repr(shapes[n] if n in shapes else specs.get(n))) for n in self.key)

    def _measured(self, candidates: List[Any], device: str) -> Config:
        from ._kernel import client

        base = candidates[0]
        request: Dict[str, Any] = {
            "program": base[1].json, "set": base[2], "device": device,
            "candidates": [{"name": str(config), "program": program.json, "set": {k: v for k, v in bindings.items() if base[2].get(k) != v}}
                           for config, program, bindings in candidates]}
        request.update(self.options)
        self.last, _ = client().connection.call("kernel.tune", request)
        winner = self.last.get("winner", str(base[0]))
        for config, _, _ in candidates:
            if str(config) == winner:
                return config
        raise errors.InternalError("the daemon chose %s, which is no candidate" % winner)


def autotune(configs: Sequence[Any], key: Optional[Sequence[str]] = None, rounds: Optional[int] = None, **ignored: Any) -> Callable[[Any], Any]:
    """Measures a kernel's constants where it is first called, and keeps the choice: ``@tl.autotune(configs=[…], key=["M", "N"])``.

    Every candidate is checked before it may win. The record lies in the kernel cache: the next process uses it, for arguments of the
    same class of sizes, on the same device and with the same Kiln; other sizes are measured anew. On an emulated card nothing can be
    timed: candidates are ranked by counted work, and ``kernel.tuning.last["ranked_by"]`` says so.

    Args:
        configs: :class:`Config` objects, or dicts of constexpr parameters; the first one is the baseline, which wins unless another is
            certainly faster.
        key: names of the arguments whose values decide; without it all sizes and types.
        rounds: of measuring, at most.
    """
    options: Dict[str, Any] = {} if rounds is None else {"rounds_max": rounds}

    def mark(function: Any) -> Any:
        from ._kernel import Kernel, kernel_of

        marked = kernel_of(function) or Kernel(function)
        marked.tuning = Tuning(configs, key, options)
        return function if kernel_of(function) is marked else marked

    return mark
