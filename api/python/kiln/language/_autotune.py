"""Choosing a kernel's constants by measuring: ``tl.autotune``, and what the other styles' ``autotune`` stand on.

The daemon measures, checks and keeps the record (PROTOCOL.md, "Tuning"). This side reads the candidates, says on what
they are measured, and remembers what was chosen.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import warnings
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .. import errors
from .._arrays import Array
from ._arguments import ArraySpec, memory_of, spec_of, to_numpy
from ._report import Measured
from ._specialize import Program

#: The environment variable that is ``off`` where nothing is to be measured.
SWITCH = "KILN_AUTOTUNE"
# What the daemon says of a candidate that cannot be used, whatever the others are.
_MISTAKES = ("invalid", "failed", "wrong", "hung", "crashed")
# Errors that are nobody's candidate's: the daemon is gone or was told to stop, or it may do the same later.
_NOT_OURS = (errors.NotRunning, errors.Cancelled, errors.Busy, errors.DeviceLost, errors.ProtocolError,
             errors.NoCompiler)


class Config:
    """Constants to try: ``tl.Config({"BLOCK": 64}, num_warps=4)``, or ``tl.Config(BLOCK=64)``.

    Attributes:
        kwargs: constexpr parameters by name.
        num_warps: waves of a block on a card, None for the kernel's own; num_stages is lowering's choice and is taken
            as a hint.
    """

    __slots__ = ("kwargs", "num_warps", "num_stages")

    def __init__(self, kwargs: Optional[Mapping[str, Any]] = None, num_warps: Optional[int] = None,
                 num_stages: Optional[int] = None, num_ctas: Any = None, maxnreg: Any = None, pre_hook: Any = None,
                 **more: Any) -> None:
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


class Candidate(NamedTuple):
    """A configuration that was read.

    Attributes:
        config: of whatever style; name: how it is called in the record.
        program, bindings: its tile program, and values of the symbols.
        values: arguments of the call by parameter, as far as there are some.
        whole: measure on all arrays among the values; else on those of integers, and generated ones for the others.
    """

    config: Any
    name: str
    program: Program
    bindings: Dict[str, Any]
    values: Mapping[str, Any]
    whole: bool = False


class Choices:
    """What was chosen among configurations, each time that a key is new: a record's, else measured.

    The first configuration is the baseline, which wins unless another one is certainly better. One that cannot be read,
    that does not compile, or that computes something else is left out and named.

    Attributes:
        best: configurations by key. answers: the daemon's answers by key, where it was asked.
        last: the latest of these answers: ``winner``, ``ratio``, ``ranked_by``, ``candidates`` with times or counts,
            ``record``, ``found`` (it was there).
        skipped: what was left out of the latest choice: reasons by configuration.
        untuned: why the latest choice is the first configuration without a comparison, else None.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)
        self.best: Dict[Any, Any] = {}
        self.answers: Dict[Any, Dict[str, Any]] = {}
        self.last: Optional[Dict[str, Any]] = None
        self.skipped: Dict[str, str] = {}
        self.untuned: Optional[str] = None
        self._lock = threading.Lock()

    def chosen(self, key: Any, configs: Callable[[], Sequence[Any]], read: Callable[[Any], Candidate],
               device: Optional[str]) -> Any:
        """The configuration for a key: known in this process, from a record, or measured now.

        Args:
            configs: gives at least one, asked for when the key is new. read: reads one; what it raises leaves it out.
            device: where the kernel is to run; None: it is only compiled, and the first configuration is taken.

        Raises:
            what ``read`` raised, where it raised for all; errors.LaunchFailed: none runs rightly.
        """
        with self._lock:  # two threads do not measure at once
            if key in self.best:
                return self.best[key]
            listed = configs()
            if device is None or os.environ.get(SWITCH) == "off":
                return listed[0]
            self.skipped, self.untuned = {}, None
            self.best[key] = listed[0] if len(listed) == 1 else self._measured(key, self._read(listed, read), device)
            return self.best[key]

    def _read(self, configs: Sequence[Any], read: Callable[[Any], Candidate]) -> List[Candidate]:
        found: List[Candidate] = []
        first: Optional[Exception] = None
        for config in configs:
            try:
                found.append(read(config))
            except _NOT_OURS:
                raise
            except Exception as error:  # noqa: BLE001 - authors' functions run here: a grid, a hook, a prim_func's
                self.skipped[name_of(config)] = str(error) or type(error).__name__
                first = first or error
        if not found:
            assert first is not None
            raise first
        return found

    def _measured(self, key: Any, candidates: List[Candidate], device: str) -> Any:
        first = candidates[0]
        self.untuned = _open_values(first)
        if self.untuned is None:
            best, answer = self._compared(candidates, device)
            if best is not None and answer is not None:
                self.last = self.answers[key] = Measured(answer)
                return best.config
            self.untuned = self.skipped.get(first.name) or list(self.skipped.values())[-1]
        told = (first.program.json["name"], first.name, self.untuned)
        warnings.warn("%s is not tuned, its first configuration (%s) is taken: %s" % told, RuntimeWarning,
                      stacklevel=_author_level())
        return first.config

    def _compared(self, candidates: List[Candidate],
                  device: str) -> Tuple[Optional[Candidate], Optional[Dict[str, Any]]]:
        """The best one, and what the daemon says; None where it refuses all. Those that one request does not hold are
        compared with the best of the ones before."""
        best: Optional[Candidate] = candidates[0]
        answer: Optional[Dict[str, Any]] = None
        none_is_right: Optional[errors.LaunchFailed] = None
        for part in _parts(candidates):
            left = part if best is None else [best, *part]
            best = None
            while left and best is None:
                try:
                    told = _tune(left, device, self.options)
                except _NOT_OURS:
                    raise
                except errors.KilnError as error:  # the request is one program's: whose it is goes, the others stay
                    if isinstance(error, errors.LaunchFailed) and _tells_of_all(error, left):
                        none_is_right = error
                        break
                    fault = left.pop(_faulty(error, len(left)))
                    self.skipped[fault.name] = _located(error, fault)
                    continue
                answer = _joined(answer, told)
                best = next(c for c in left if c.name == told["winner"])
                self.skipped.update({row["name"]: "%s: %s" % (row["verdict"], row.get("reason", ""))
                                     for row in told["candidates"] if row["verdict"] in _MISTAKES})
        if best is None and none_is_right is not None:
            raise none_is_right
        return best, answer


def name_of(config: Any) -> str:
    """How a configuration is called in records."""
    return ", ".join("%s=%s" % item for item in config.items()) if isinstance(config, Mapping) else str(config)


def _located(error: errors.KilnError, candidate: Candidate) -> str:
    """What an error says, at the line of Python that it is about if there is one."""
    from ._kernel import _Located

    told: errors.KilnError = error
    try:
        _Located(candidate.program.places, candidate.program.messages).__exit__(type(error), error, None)
    except errors.KilnError as located:
        told = located
    return str(told)


def _author_level() -> int:
    """The ``stacklevel`` of the caller's warning that names the line outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "kiln":
        frame, level = frame.f_back, level + 1
    return level


def _open_values(candidate: Candidate) -> Optional[str]:
    """Why there is nothing to measure on: sizes or numbers that only a launch tells. None: all are there."""
    program, values = candidate.program, candidate.values
    sizes = [s for s in program.json.get("symbols", {}) if candidate.bindings.get(s) is None]
    numbers = [n for n in program.scalars if not isinstance(values.get(program.arguments[n]), (int, float))]
    return "the value of %s is not known before a launch" % ", ".join(sizes + numbers) if sizes or numbers else None


def _tells_of_all(error: errors.LaunchFailed, candidates: Sequence[Candidate]) -> bool:
    """Whether it is the daemon's last word on each candidate: none runs rightly."""
    return all(any(line.startswith(c.name + ": ") for line in error.context) for c in candidates)


def _faulty(error: errors.KilnError, count: int) -> int:
    """The place of the candidate that an error is about: the one that it points at, else the first, whose program the
    request is."""
    for diagnostic in error.diagnostics:
        found = re.match(r"/params/candidates/(\d+)(?:/|$)", str(diagnostic.get("pointer", "")))
        if found and int(found.group(1)) < count:
            return int(found.group(1))
    return 0


def _parts(candidates: Sequence[Candidate]) -> List[List[Candidate]]:
    """All but the first, in as few parts as a request holds beside another one of them: the protocol limits a line's
    bytes and values."""
    from ._kernel import client

    limits = client().connection.hello["limits"]
    shares = []
    for c in candidates:
        text = json.dumps([c.name, c.program.json, c.bindings])
        shares.append(max(len(text) / limits["line_bytes_max"], sum(map(text.count, ",:[{")) / limits["nodes_max"]))
    room, filled = 0.95 - 2 * max(shares), 0.0
    parts: List[List[Candidate]] = [[]]
    for candidate, share in zip(candidates[1:], shares[1:]):
        if parts[-1] and filled + share > room:
            parts.append([])
            filled = 0.0
        parts[-1].append(candidate)
        filled += share
    return parts


def _joined(before: Optional[Dict[str, Any]], answer: Dict[str, Any]) -> Dict[str, Any]:
    """The answers of two requests as one; the best of the first one was the baseline of the second."""
    if before is None:
        return answer
    names = {row["name"] for row in answer["candidates"]}
    return {**answer, "baseline": before["baseline"], "ratio": before["ratio"] * answer["ratio"],
            "found": before["found"] and answer["found"],
            "candidates": [row for row in before["candidates"] if row["name"] not in names] + answer["candidates"]}


def _tune(candidates: Sequence[Candidate], device: str, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The daemon's answer: ``kernel.tune`` of the first one's program, with all of them as candidates."""
    from ._kernel import client

    base = candidates[0]
    request: Dict[str, Any] = {
        "program": base.program.json, "set": base.bindings, "device": device,
        "candidates": [{"name": c.name, "program": c.program.json,
                        "set": {k: v for k, v in c.bindings.items() if base.bindings.get(k) != v}} for c in candidates]}
    request.update(options)
    staged: List[Array] = []
    try:
        arguments = _arguments(base, client(), staged)
        if arguments:
            request["args"] = arguments
        return client().connection.call("kernel.tune", request)[0]  # type: ignore[no-any-return]
    finally:
        for array in staged:
            array.free()


def _arguments(candidate: Candidate, connected: Any, staged: List[Array]) -> Dict[str, Any]:
    """What is measured on: the call's numbers and its arrays of integers, which may say where to read and how far to
    go; other arrays where the candidate asks for them. The daemon generates the rest. Arrays made here are added to
    ``staged``."""
    program, made = candidate.program, {}
    for name, argument in program.arguments.items():
        value, param = candidate.values.get(argument), program.params.get(name)
        if param is None:
            made.update({name: value} if name in program.scalars else {})
            continue
        value = getattr(value, "kiln_array", value)
        only_written = param.written and not param.read and not param.atomic
        if value is None or isinstance(value, (str, ArraySpec)) or only_written or param.strides is not None:
            continue
        spec = spec_of(value) if name in program.types else None  # an option is its element type
        dtype = param.dtype if spec is None else spec.dtype
        if dtype in ("f16", "bf16", "f32", "f64") and not candidate.whole:
            continue
        if isinstance(value, Array):
            made[name] = value
            continue
        view = to_numpy(memory_of(argument, value) if param.mode == "flat" else value)
        if view is not None:
            array = Array(connected, view.shape, dtype)
            staged.append(array)
            array.numpy()[...] = view
            made[name] = array
    return made


class Tuning(Choices):
    """How one kernel is tuned: :class:`Choices` by the arguments of its calls.

    Attributes:
        configs: what is tried; the first one is the baseline.
        key: names of arguments (and of symbols) by which the choice is made anew; None: by all sizes and types.
    """

    def __init__(self, configs: Sequence[Any], key: Optional[Sequence[str]], options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.configs = [c if hasattr(c, "all_kwargs") else Config(c) for c in configs]
        if not self.configs:
            raise ValueError("autotune needs at least one configuration")
        self.key = None if key is None else list(key)

    def choose(self, kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, device: str) -> Any:
        """The configuration for these arguments: known in this process, from a record, or measured now.

        Raises:
            KernelError: no configuration can be read. errors.LaunchFailed: none runs rightly.
        """
        if len(self.configs) == 1:
            return self.configs[0]
        from ._kernel import target_of

        target = target_of(device)
        return self.chosen((device, self._key(kernel, args, kwargs)), lambda: self.candidates(kernel, args, kwargs),
                           lambda config: self.read(kernel, config, args, kwargs, grid, target), device)

    def candidates(self, kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The configurations that are tried for these arguments."""
        return self.configs

    def read(self, kernel: Any, config: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any,
             target: str) -> Candidate:
        """Reads the kernel with a configuration."""
        from ._kernel import bindings_of

        values, launch = kernel.bind(args, {**kwargs, **config.all_kwargs()}, grid)
        specs = kernel.specs(values)
        program = kernel.program(specs, launch, target)
        return Candidate(config, name_of(config), program, bindings_of(program, specs, launch), values)

    def _key(self, kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from ._kernel import plain

        given = {**dict(zip(kernel._signature.parameters, args)), **kwargs}
        specs = kernel.specs({k: plain(v) for k, v in given.items() if k in kernel._signature.parameters})
        shapes = {n: (s.dtype, s.shape) for n, s in specs.items() if isinstance(s, ArraySpec)}
        symbols = kwargs.get("symbols", {})
        if self.key is None:
            return tuple(sorted([(n, repr(shapes.get(n, s))) for n, s in specs.items()] +
                                [(n, repr(v)) for n, v in symbols.items()]))
        dtypes = tuple(sorted((n, d) for n, (d, _) in shapes.items()))
        return dtypes + tuple((n, repr(shapes[n] if n in shapes else specs.get(n, symbols.get(n)))) for n in self.key)


def rounds_option(rounds: Optional[int]) -> Dict[str, Any]:
    """The request's limit of rounds."""
    return {} if rounds is None else {"rounds_max": rounds}


def autotune(configs: Sequence[Any], key: Optional[Sequence[str]] = None, rounds: Optional[int] = None,
             **ignored: Any) -> Callable[[Any], Any]:
    """Measures a kernel's constants where it is first called, and keeps the choice:
    ``@tl.autotune(configs=[…], key=["M", "N"])``.

    Every candidate is checked before it may win. The record lies in the kernel cache: the next process uses it, for
    arguments of the same class of sizes, on the same device and with the same Kiln; other sizes are measured anew. On
    an emulated card nothing can be timed: candidates are ranked by counted work, and
    ``kernel.tuning.last["ranked_by"]`` says so.

    The measurement runs on copies: numbers and arrays of integers are the call's, other arrays are generated, and
    kernels that update arrays in place find them restored before each launch. Sizes stand still while it runs, also
    dynamic ones. A configuration that cannot be read or compiled, or that computes something else than the first one is
    defined to, is left out (``kernel.tuning.skipped``). Where the daemon cannot compare, or a size is not known before
    a launch, the first one is taken, with a warning. ``KILN_AUTOTUNE=off`` takes the first one everywhere.

    Args:
        configs: :class:`Config` objects, or dicts of constexpr parameters; the first one is the baseline, which wins
            unless another is certainly faster.
        key: names of the arguments whose values decide; without it all sizes and types.
        rounds: of measuring, at most.
    """

    def mark(function: Any) -> Any:
        from ._kernel import Kernel, kernel_of

        marked = kernel_of(function) or Kernel(function)
        marked.tuning = Tuning(configs, key, rounds_option(rounds))
        return function if kernel_of(function) is marked else marked

    return mark
