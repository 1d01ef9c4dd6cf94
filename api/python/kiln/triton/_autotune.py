"""``triton.autotune`` and ``triton.heuristics``: constants of a kernel that its caller does not pass."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from ._jit import JITFunction


class Config:
    """Values of a kernel's constants to try, with the launch's settings.

    Attributes:
        kwargs: constants by name. num_warps: waves of a block. num_stages, num_ctas, maxnreg: accepted, lowering
            decides them.
        pre_hook: called with all arguments by name before a launch.
    """

    def __init__(self,
                 kwargs: Mapping[str, Any],
                 num_warps: int = 4,
                 num_stages: int = 3,
                 num_ctas: int = 1,
                 maxnreg: Optional[int] = None,
                 pre_hook: Optional[Callable[..., Any]] = None,
                 ir_override: Optional[str] = None) -> None:
        self.kwargs = dict(kwargs)
        self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook, self.ir_override = pre_hook, ir_override

    def all_kwargs(self) -> Dict[str, Any]:
        """What a launch with this configuration is given."""
        return {**self.kwargs, "num_warps": self.num_warps}

    def __str__(self) -> str:
        return ", ".join(["%s: %s" % (k, v) for k, v in self.kwargs.items()] +
                         ["num_warps: %d" %
                          self.num_warps, "num_stages: %d" % self.num_stages])

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other,
                          Config) and self.all_kwargs() == other.all_kwargs() and self.num_stages == other.num_stages

    def __hash__(self) -> int:
        return hash((tuple(sorted((k, repr(v)) for k, v in self.all_kwargs().items())), self.num_stages))


class _Around(JITFunction):
    """A kernel around another one, which supplies some of its arguments."""

    def __init__(self, inner: JITFunction) -> None:
        if not isinstance(inner, JITFunction):
            raise errors.InvalidArgument("a decorator above @triton.jit stands on something else: %r" % (inner,))
        super().__init__(inner.kernel_function, **inner.launch)
        self.inner = inner

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        return {**dict(zip(self.arg_names, args)), **kwargs}


class Autotuner(_Around):
    """A kernel that is launched with one of several configurations.

    Attributes:
        configs: candidates, in the order given. keys: names of arguments whose values decide which one is the best.
        best_config: the one of the last launch.
    """

    def __init__(self,
                 inner: JITFunction,
                 configs: Sequence[Config],
                 key: Sequence[str],
                 prune: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(inner)
        self.configs: List[Config] = list(configs) or [Config({})]
        self.keys = list(key)
        self.best_config: Optional[Config] = None
        self._prune = dict(prune or {})
        unknown = [n for n in self.keys if n not in self.arg_names]
        if unknown:
            raise errors.InvalidArgument("%s has no parameter %s, named in key" %
                                         (inner.kernel_function.__name__, unknown[0]))

    def candidates(self, positional: Mapping[str, Any], keywords: Mapping[str, Any]) -> List[Config]:
        """The configurations that are left for these arguments: ``prune_configs_by``'s ``early_config_prune`` decides,
        called as ``(configs, positional arguments by name, **keywords)``.

        Raises:
            errors.InvalidArgument: none is left.
        """
        early = self._prune.get("early_config_prune")
        left = list(self.configs) if early is None else list(early(list(self.configs), dict(positional), **keywords))
        if not left:
            raise errors.InvalidArgument("no configuration of %s is left for these arguments" %
                                         self.kernel_function.__name__)
        return left

    def choose(self, positional: Mapping[str, Any], keywords: Mapping[str, Any], grid: Any = None) -> Config:
        """The configuration for these arguments: the first candidate."""
        return self.candidates(positional, keywords)[0]

    def bind(self,
             args: Sequence[Any],
             kwargs: Dict[str, Any],
             grid: Any = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        named = self._named(args, kwargs)
        chosen = self.best_config = self.choose(dict(zip(self.arg_names, args)), kwargs, grid)
        both = sorted(set(chosen.kwargs) & set(named))
        if both:
            raise errors.InvalidArgument("%s is passed, and triton.autotune sets it too" % both[0])
        if chosen.pre_hook is not None:
            chosen.pre_hook({**named, **chosen.all_kwargs()})
        return self.inner.bind(args, {**chosen.all_kwargs(), **kwargs}, grid)


class Heuristics(_Around):
    """A kernel some of whose constants are computed from its arguments at each launch."""

    def __init__(self, inner: JITFunction, values: Mapping[str, Callable[[Dict[str, Any]], Any]]) -> None:
        super().__init__(inner)
        self.values = dict(values)

    def bind(self,
             args: Sequence[Any],
             kwargs: Dict[str, Any],
             grid: Any = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        given = dict(kwargs)
        for name, compute in self.values.items():
            given[name] = compute(self._named(args, given))
        return self.inner.bind(args, given, grid)


def autotune(configs: Sequence[Config],
             key: Sequence[str],
             prune_configs_by: Optional[Mapping[str, Any]] = None,
             reset_to_zero: Any = None,
             restore_value: Any = None,
             pre_hook: Any = None,
             post_hook: Any = None,
             warmup: Any = None,
             rep: Any = None,
             use_cuda_graph: bool = False,
             do_bench: Any = None,
             cache_results: bool = False) -> Callable[[Any], Autotuner]:
    """Lets a kernel's constants be chosen among ``configs``, again for other values of the arguments named in ``key``.

    A caller that passes one of the constants gets an error, as in Triton. Candidates are compared on copies of the
    arguments, so that ``reset_to_zero``, ``restore_value`` and the hooks have nothing to do; they and the settings of a
    measurement are accepted.
    """

    def mark(kernel: Any) -> Autotuner:
        return Autotuner(kernel, configs, key, prune_configs_by)

    return mark


def heuristics(values: Mapping[str, Callable[[Dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Computes constants of a kernel at each launch: ``{"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0}``."""

    def mark(kernel: Any) -> Heuristics:
        return Heuristics(kernel, values)

    return mark
