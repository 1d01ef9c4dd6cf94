"""Arguments that share memory, one of them written: what a kernel does through one is seen through the others.

They become one parameter of the program, because lowering orders reads and writes by parameter: those that a kernel
addresses by pointer as offsets into it, one array with axes that is passed twice as itself. Anything else is an error.
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from .. import errors
from .._arrays import Array
from ._arguments import ArraySpec, Staged, spec_of, to_numpy
from ._options import OptionType
from ._specialize import Program
from ._types import Buffer


class Member:
    """An argument in this process's memory: its elements lie in the bytes from ``low`` to ``high``."""

    __slots__ = ("name", "value", "view", "low", "high", "described")

    def __init__(self, name: str, value: Any, view: Any, described: bool) -> None:
        self.name, self.value, self.view, self.described = name, value, view, described
        first = view.__array_interface__["data"][0]
        steps = [(n - 1) * s for n, s in zip(view.shape, view.strides)]
        self.low = first + sum(s for s in steps if s < 0)
        self.high = first + sum(s for s in steps if s > 0) + view.itemsize


def overlapping(values: Mapping[str, Any]) -> List[List[Member]]:
    """Groups of arguments whose spans of memory overlap, members in the arguments' order."""
    arrays = [(n, getattr(v, "kiln_array", v), hasattr(v, "kiln_spec")) for n, v in values.items()
              if not isinstance(v, (int, float, str, type(None), ArraySpec))]
    if len(arrays) < 2:
        return []
    members = []
    for name, value, described in arrays:
        try:
            view = value.numpy() if isinstance(value, Array) else to_numpy(value)
        except (ImportError, errors.KilnError):  # it is no array of this process: told where it is passed on
            continue
        if view is not None and view.size:
            members.append(Member(name, value, view, described))
    order = {m.name: k for k, m in enumerate(members)}
    groups: List[List[Member]] = []
    end = 0
    for member in sorted(members, key=lambda m: m.low):
        if groups and member.low < end:
            groups[-1].append(member)
        else:
            groups.append([member])
        end = max(end, member.high)
    return [sorted(g, key=lambda m: order[m.name]) for g in groups if len(g) > 1]


class Group:
    """Arguments over one memory that one parameter stands for: their ``names``, the bytes from its beginning to each.

    ``flat``: addressed by pointer, so that the parameter is all the memory; else it is the array that they all are.
    """

    def __init__(self, members: Sequence[Member], flat: bool, written: Set[str]) -> None:
        self.names = [m.name for m in members]
        self.low = min(m.low for m in members)
        self.size = max(m.high for m in members) - self.low
        self.offsets = [m.low - self.low for m in members]
        self.flat, self.written = flat, written & set(self.names)

    def as_before(self, other: "Group") -> bool:
        return (self.names, self.offsets, self.size) == (other.names, other.offsets, other.size)


class Plan:
    """How the overlapping arguments of a call are passed."""

    def __init__(self, groups: List[Group]) -> None:
        self.groups = groups

    def specs(self, specs: Mapping[str, Any]) -> Dict[str, Any]:
        """The arguments' specs for a program that knows of the overlaps."""
        found = dict(specs)
        for group in self.groups:
            for name, offset in zip(group.names, group.offsets):
                spec = specs[name]
                size = Staged.itemsize(spec.dtype)
                whole = ArraySpec(spec.dtype, (group.size // size,), None, spec.described) if group.flat else spec
                found[name] = whole.shared(group.names[0], offset // size)
        return found


def planned(values: Mapping[str, Any], program: Program, annotations: Mapping[str, Any]) -> Optional[Plan]:
    """The plan for a call's arguments, None where nothing that is written overlaps; ``program`` was read without one.

    Raises:
        errors.InvalidArgument: they overlap in a way that cannot be passed on; both are named.
    """
    groups: List[Group] = []
    params = {program.arguments[name]: param for name, param in program.params.items()}
    written = {name for name, param in params.items() if param.written or param.atomic}
    for members in overlapping(values):
        if not any(m.name in written for m in members):
            continue
        if _by_pointer(members, params, annotations):
            groups.append(Group(members, True, written))
        elif _one_array(members, params, annotations):
            groups.append(Group(members, False, written))
        elif not _separate(members, params, written):
            raise _refused(members, written)
    return Plan(groups) if groups else None


def _by_pointer(members: Sequence[Member], params: Mapping[str, Any], annotations: Mapping[str, Any]) -> bool:
    """Whether the kernel addresses them all by pointer, and they can be one parameter and offsets into it."""
    low, first = min(m.low for m in members), spec_of(members[0].value)
    assert first is not None
    for member in members:
        param, spec = params.get(member.name), spec_of(member.value)
        if param is None or spec is None or spec.dtype != first.dtype or param.mode not in ("flat", None):
            return False
        if annotations.get(member.name) is not None or spec.strides is not None and min(spec.strides) < 0:
            return False
        if (member.low - low) % member.view.itemsize or member.described and member.low != low:
            return False
    return any(params[m.name].mode == "flat" for m in members)


def _one_array(members: Sequence[Member], params: Mapping[str, Any], annotations: Mapping[str, Any]) -> bool:
    """Whether they all are the same elements, under parameters with axes."""

    def what(member: Member) -> Any:
        annotation, spec = annotations.get(member.name), spec_of(member.value)
        plain = annotation is None or (
            isinstance(annotation, Buffer) and annotation.strides is None and not isinstance(annotation.dtype, OptionType))
        return plain and not member.described, member.low, member.view.shape, member.view.strides, spec and spec.dtype

    first = what(members[0])
    by_axes = all(m.name in params and params[m.name].mode != "flat" for m in members)
    return bool(first[0]) and by_axes and all(what(m) == first for m in members)


def _separate(members: Sequence[Member], params: Mapping[str, Any], written: Set[str]) -> bool:
    """Whether arguments with axes have no element in common, where one is written: columns of one array, say."""
    if any(getattr(params.get(m.name), "mode", "flat") == "flat" for m in members):
        return False
    pairs = [(a, b) for k, a in enumerate(members) for b in members[k + 1:] if a.name in written or b.name in written]
    return not any(_share(a.view, b.view) for a, b in pairs)


def _share(a: Any, b: Any) -> bool:
    import numpy

    try:
        return bool(numpy.shares_memory(a, b, max_work=100000))
    except RuntimeError:  # too hard to tell
        return True


def _refused(members: Sequence[Member], written: Set[str]) -> errors.InvalidArgument:
    target = next(m for m in members if m.name in written)
    other = next(m for m in members if m is not target and m.low < target.high and target.low < m.high)
    said = "%s and %s share memory, and %s is written: pass a copy of one of them, such as %s.copy()"
    return errors.InvalidArgument(said % (other.name, target.name, target.name, other.name))


def arranged(values: Mapping[str, Any], program: Program, plan: Optional[Plan], written: Set[str],
             staged: Staged) -> Dict[str, Any]:
    """The arguments of a call as the program takes them: those of one group over one memory.

    Raises:
        errors.InvalidArgument: they overlap otherwise than those that the program was made for.
    """
    found = dict(values)
    params = {program.arguments[name]: param for name, param in program.params.items()}
    groups = overlapping(values)
    expected = list(plan.groups) if plan is not None else []
    for group in expected:
        now = next((g for g in groups if [m.name for m in g] == group.names), None)
        if now is None and not any(name in values for name in group.names[1:]):
            continue  # generated arguments: only the parameter itself
        if now is None or not group.as_before(Group(now, group.flat, group.written)):
            raise errors.InvalidArgument("%s share memory in another way than the arguments that this was compiled for: "
                                         "compile it for these" % " and ".join(group.names))
        groups.remove(now)
        _pass(now, group, found, staged)
    _apart(groups, params, written)
    return found


def check_apart(values: Mapping[str, Any], program: Program) -> None:
    """Raises errors.InvalidArgument, with both names, where what is written shares memory with another argument."""
    params = {program.arguments[name]: param for name, param in program.params.items()}
    _apart(overlapping(values), params, {name for name, param in params.items() if param.written or param.atomic})


def _apart(groups: Sequence[Sequence[Member]], params: Mapping[str, Any], written: Set[str]) -> None:
    for members in groups:
        if any(m.name in written for m in members) and not _separate(members, params, written):
            raise _refused(members, written)


def _pass(members: Sequence[Member], group: Group, found: Dict[str, Any], staged: Staged) -> None:
    for member in members:
        if member.name in group.written and not member.view.flags.writeable:
            raise errors.InvalidArgument("%s is written, and this array is read-only" % member.name)
    if not group.flat:
        return  # the first one's array
    for member in members:
        if member.high - member.low == group.size and member.view.flags.c_contiguous and member.view.flags.writeable:
            found[members[0].name] = member.value
            return
    found[members[0].name] = staged.span(_bytes(members), members[0].view.dtype)


def _bytes(members: Sequence[Member]) -> Any:
    """All bytes from the first to the last, writable; the arguments keep them alive."""
    import numpy

    low, high = min(m.low for m in members), max(m.high for m in members)
    return numpy.frombuffer((ctypes.c_uint8 * (high - low)).from_address(low), dtype="uint8")
