"""Programs that a kernel was read as: what they differ by, which one serves a call, how many are kept."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import Any, Dict, List, Mapping, Optional

from .. import errors
from ._arguments import ArraySpec
from ._builder import value_at
from ._content import content
from ._source import still
from ._specialize import Program
from ._types import constexpr

#: Kinds of arguments whose programs one kernel keeps, programs of one kind, and calls whose program is found at once.
KINDS_MAX, PROGRAMS_MAX, CALLS_MAX = 64, 64, 1024


class Programs:
    """Programs that one kernel was read as; those that were used last are kept. Threads may share it."""

    def __init__(self) -> None:
        self._kinds: "OrderedDict[Any, List[Program]]" = OrderedDict()     # by key_of; of each the one used last first
        self._calls: "OrderedDict[Any, Program]" = OrderedDict()           # by sizes too
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(len(programs) for programs in self._kinds.values())

    def find(self, kind: Any, specs: Mapping[str, Any]) -> Optional[Program]:
        """The program that is right for these arguments; ``kind`` is what it depends on beside sizes."""
        call = self._call(kind, specs)
        with self._lock:
            found = self._calls.get(call)
            if found is not None and still(found.names):
                self._calls.move_to_end(call)
                return found
            for program in self._kinds.get(kind, ()):
                if _serves(program, specs) and still(program.names):
                    self._keep(kind, call, program)
                    return program
        return None

    def add(self, kind: Any, specs: Mapping[str, Any], program: Program) -> None:
        with self._lock:
            self._keep(kind, self._call(kind, specs), program)

    def clear(self) -> None:
        with self._lock:
            self._kinds.clear()
            self._calls.clear()

    @staticmethod
    def _call(kind: Any, specs: Mapping[str, Any]) -> Any:
        sizes = (s.shape if isinstance(s, ArraySpec) else s for s in specs.values() if isinstance(s, (ArraySpec, int)))
        return kind, tuple(sizes)

    def _keep(self, kind: Any, call: Any, program: Program) -> None:
        programs = self._kinds.setdefault(kind, [])
        programs[:] = [program] + [p for p in programs if p is not program][: PROGRAMS_MAX - 1]
        self._calls[call] = program
        self._kinds.move_to_end(kind)
        self._calls.move_to_end(call)
        if len(self._kinds) > KINDS_MAX:
            self._kinds.popitem(last=False)
        while len(self._calls) > CALLS_MAX:
            self._calls.popitem(last=False)


def key_of(specs: Mapping[str, Any], annotations: Mapping[str, Any]) -> Any:
    """What programs differ by: types and ranks of arrays, kinds of numbers, constants; sizes only where they are 1."""
    parts: List[Any] = []
    for name, spec in specs.items():
        if isinstance(spec, ArraySpec):
            shape = tuple(n if n == 1 or isinstance(n, str) else "n" for n in spec.shape)
            parts.append((name, spec.dtype, shape, spec.strides, spec.memory, spec.described, spec.owner, spec.offset))
        elif _constant(annotations.get(name)) or isinstance(spec, (bool, str, type(None), tuple)):
            parts.append((name, content(spec)))
        elif isinstance(spec, int):
            parts.append((name, "int" if 0 <= spec < 2 ** 31 else "negative"))
        else:
            parts.append((name, "float" if isinstance(spec, float) and math.isfinite(spec) else content(spec)))
    return tuple(parts)


def _constant(annotation: Any) -> bool:
    return annotation is constexpr or isinstance(annotation, constexpr)


def _serves(program: Program, specs: Mapping[str, Any]) -> bool:
    """Whether a program that was read for other sizes is right for these: its demands on them hold."""
    try:
        known = bindings_of(program, specs, {})
    except errors.InvalidArgument:
        return False
    if any(symbol not in known for symbol in program.json.get("symbols", {})):
        return False
    if not all(value_at(constraint, known) for constraint in program.json.get("constraints", [])):
        return False
    for name, param in program.params.items():
        spec = specs.get(program.arguments[name])
        pairs = zip(param.shape, spec.shape) if isinstance(spec, ArraySpec) else ()
        if any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in pairs):
            return False
    return True


def bindings_of(program: Program, specs: Mapping[str, Any], launch: Mapping[str, Any]) -> Dict[str, Any]:
    """Values of the program's symbols for these arguments.

    Raises:
        errors.InvalidArgument: two arguments tell different values of one symbol.
    """
    bindings = dict(launch.get("symbols", {}))
    for name, option in program.brought.items():
        if specs.get(name) is not None:
            bindings[option] = True
    for symbol, where in program.extents.items():
        if isinstance(where, str):
            bindings[symbol] = specs[where]
        elif isinstance(specs.get(where[0]), ArraySpec) and specs[where[0]].owner not in (None, where[0]):
            bindings[symbol] = specs[where[0]].shape[where[1]]  # of an argument that another one's parameter stands for
    for name, param in program.params.items():
        spec = specs.get(program.arguments[name])
        if not isinstance(spec, ArraySpec):
            continue
        option = program.types.get(name)
        if option is not None and bindings.setdefault(option, spec.dtype) != spec.dtype:
            raise errors.InvalidArgument("the elements of %s are %s, but %s is %s by another argument" % (
                name, spec.dtype, option, bindings[option]))
        for axis, extent in enumerate(param.shape):
            word = str(extent)
            now = spec.shape[axis] if axis < len(spec.shape) else None
            if word not in program.json.get("symbols", {}) or not isinstance(now, int):
                continue
            if bindings.setdefault(word, now) != now:
                raise errors.InvalidArgument("axis %d of %s is %d, but %s is %s by another argument" % (
                    axis, name, now, word, bindings[word]))
    return bindings
