"""``triton.autotune`` and ``triton.heuristics``: constants of a kernel that its caller does not pass."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import errors
from ..language._autotune import Candidate, Tuning, rounds_option
from ..language._errors import at_call
from ..language._kernel import CompiledKernel, default_device
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

    def all_settings(self) -> Dict[str, Any]:
        """What hooks and models are told of this configuration."""
        return {**self.all_kwargs(), "num_stages": self.num_stages, "num_ctas": self.num_ctas}

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

    @at_call
    def warmup(self,
               *args: Any,
               grid: Any,
               device: Optional[str] = None,
               target: Optional[str] = None,
               **kwargs: Any) -> CompiledKernel:
        """As :meth:`JITFunction.warmup`; constants are chosen first, where the kernel is to run somewhere."""
        place = device or (None if target else default_device())
        given = dict(kwargs) if place is None else self._tuned(grid, args, dict(kwargs), place)
        return super().warmup(*args, grid=grid, device=device, target=target, **given)


class _Tuning(Tuning):
    """Choices by an :class:`Autotuner`'s arguments: those that ``prune_configs_by`` leaves, read after their hooks."""

    def __init__(self, tuner: "Autotuner", configs: Sequence[Config], key: Sequence[str],
                 options: Mapping[str, Any]) -> None:
        super().__init__(configs, key, options)
        self._tuner = tuner

    def candidates(self, kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        return self._tuner.candidates(dict(zip(self._tuner.arg_names, args)), kwargs)

    def read(self, kernel: Any, config: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any,
             target: str) -> Candidate:
        self._tuner.run_hook(config, args, kwargs)  # it may set the blocks of descriptors
        return super().read(kernel, config, args, kwargs, grid, target)


class Autotuner(_Around):
    """A kernel that is launched with the best of several configurations.

    Attributes:
        configs: candidates, in the order given. keys: names of arguments whose values decide which one is the best.
        best_config: the one of the last launch.
        tuning: what is known of the choices: :class:`kiln.language._autotune.Choices`.
    """

    def __init__(self,
                 inner: JITFunction,
                 configs: Sequence[Config],
                 key: Sequence[str],
                 prune: Optional[Mapping[str, Any]] = None,
                 rounds: Optional[int] = None) -> None:
        super().__init__(inner)
        self.configs: List[Config] = list(configs) or [Config({})]
        self.keys = list(key)
        self.best_config: Optional[Config] = None
        self._prune = dict(prune or {})
        unknown = [n for n in self.keys if n not in self.arg_names]
        if unknown:
            raise errors.InvalidArgument("%s has no parameter %s, named in key" %
                                         (inner.kernel_function.__name__, unknown[0]))
        self.tuning: _Tuning = _Tuning(self, self.configs, self.keys, rounds_option(rounds))

    def candidates(self, positional: Mapping[str, Any], keywords: Mapping[str, Any]) -> List[Config]:
        """The configurations that are left for these arguments: ``prune_configs_by``'s ``early_config_prune`` decides,
        called as ``(configs, positional arguments by name, **keywords)``; of more than ``top_k`` then those with the
        least ``perf_model(**arguments, **constants)``. ``top_k`` is a number of them, or a share up to 1.0.

        Raises:
            errors.InvalidArgument: none is left; ``top_k`` is neither.
        """
        early, model = self._prune.get("early_config_prune"), self._prune.get("perf_model")
        left = list(self.configs) if early is None else list(early(list(self.configs), dict(positional), **keywords))
        if not left:
            raise errors.InvalidArgument("no configuration of %s is left for these arguments" %
                                         self.kernel_function.__name__)
        if model is None:
            return left
        count = _count_of(self._prune.get("top_k", 1.0), len(left))
        if len(left) > count:
            left.sort(key=lambda c: model(**positional, **keywords, **c.all_settings()))  # equal ones stay in order
        return left[:count]

    def run_hook(self, config: Config, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Calls a configuration's ``pre_hook``, if it has one."""
        if config.pre_hook is not None:
            config.pre_hook({**self._named(args, kwargs), **config.all_settings()})

    def _tuned(self, grid: Any, args: Sequence[Any], kwargs: Dict[str, Any], device: str) -> Dict[str, Any]:
        named = self._named(args, kwargs)
        both = sorted({n for c in self.configs for n in c.kwargs} & set(named))
        if both:
            raise errors.InvalidArgument("%s is passed, and triton.autotune sets it too" % both[0])
        chosen: Config = self.tuning.choose(self, args, kwargs, grid, device)
        self.best_config = chosen
        self.run_hook(chosen, args, kwargs)
        return {**chosen.all_kwargs(), **kwargs}

    def bind(self,
             args: Sequence[Any],
             kwargs: Dict[str, Any],
             grid: Any = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """As :meth:`JITFunction.bind`; with the first configuration where none was chosen before."""
        first = self.configs[0].all_kwargs()
        given = kwargs if any(n in kwargs for n in first) else {**first, **kwargs}
        return self.inner.bind(args, given, grid)


def _count_of(top_k: Any, count: int) -> int:
    """How many of ``count`` configurations ``top_k`` keeps, one at least."""
    if isinstance(top_k, float) and top_k <= 1.0:
        return max(1, int(count * top_k))
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:
        raise errors.InvalidArgument("top_k is a number of configurations, or a share up to 1.0; found %r" % (top_k,))
    return top_k


class Heuristics(_Around):
    """A kernel some of whose constants are computed from its arguments at each launch."""

    def __init__(self, inner: JITFunction, values: Mapping[str, Callable[[Dict[str, Any]], Any]]) -> None:
        super().__init__(inner)
        self.values = dict(values)
        self.tuning = inner.tuning

    def _computed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        """The keywords with the values that are computed."""
        given = dict(kwargs)
        for name, compute in self.values.items():
            given[name] = compute(self._named(args, given))
        return given

    def _tuned(self, grid: Any, args: Sequence[Any], kwargs: Dict[str, Any], device: str) -> Dict[str, Any]:
        if self.tuning is None:
            return kwargs
        return self.inner._tuned(grid, args, self._computed(args, kwargs), device)

    def bind(self,
             args: Sequence[Any],
             kwargs: Dict[str, Any],
             grid: Any = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        return self.inner.bind(args, self._computed(args, kwargs), grid)


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
             cache_results: bool = False,
             rounds: Optional[int] = None) -> Callable[[Any], Autotuner]:
    """Lets a kernel's constants be chosen among ``configs`` by measuring, again for other values of the arguments named
    in ``key`` and for other element types.

    As :func:`kiln.language.autotune`: the daemon compares each candidate with the kernel's definition, measures, and
    keeps a record that the next process finds; the first configuration wins unless another is certainly better; on an
    emulated card work is counted. ``kernel.tuning`` tells what was found, ``kernel.tuning.skipped`` what was left out.

    A caller that passes one of the constants gets an error, as in Triton. Candidates are compared on copies of the
    arguments, so that ``reset_to_zero``, ``restore_value`` and the hooks given here have nothing to do; they and the
    settings of a measurement are accepted. A configuration's own ``pre_hook`` is called before it is read, and, of the
    one that is chosen, before each launch. ``rounds`` limits the rounds of measuring.
    """

    def mark(kernel: Any) -> Autotuner:
        return Autotuner(kernel, configs, key, prune_configs_by, rounds)

    return mark


def heuristics(values: Mapping[str, Callable[[Dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Computes constants of a kernel at each launch: ``{"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0}``."""

    def mark(kernel: Any) -> Heuristics:
        return Heuristics(kernel, values)

    return mark
