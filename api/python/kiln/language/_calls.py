"""Python's own operators and functions in a kernel: computed where all is known now, operations where a value runs."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import MutableMapping, MutableSequence, MutableSet
from typing import Any, Callable, Dict, List

from ._arithmetic import Mistake, binary, invert, is_number, logical, truth, where
from ._expr import STATIC, Expr, Running
from ._loops import Range
from ._memory import describe
from ._names import Names
from ._options import OptionType
from ._source import named, stamp, still
from ._types import BlockLayout, Builtin, DType, as_dtype, plain

COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_STRICT = {ast.Lt: ast.Lt, ast.LtE: ast.Lt, ast.Gt: ast.Gt, ast.GtE: ast.Gt}
# Functions and methods that hand values on and ask nothing of them.
_STRUCTURAL = (zip, enumerate, reversed, list, tuple, dict)
_STRUCTURAL_METHODS = ("keys", "values", "items", "get", "copy")
_CHANGING = frozenset(
    "append appendleft extend extendleft insert pop popleft popitem remove clear sort reverse rotate add discard "
    "update setdefault fill put resize itemset setflags difference_update intersection_update "
    "symmetric_difference_update __setitem__ __delitem__ __iadd__".split())
_NOT_NOW = "it is read once, and not in every iteration, branch and launch"


def running(value: Any) -> bool:
    """Whether a value, or a part of it, is known only when the kernel runs."""
    if isinstance(value, (tuple, list, set, frozenset)):
        return any(running(part) for part in value)
    if isinstance(value, dict):
        return any(running(part) for part in value.values())
    return isinstance(value, Running)


class Calls(Names):
    """The part of the tracer for what Python itself would decide."""

    operations: Dict[str, Callable[..., Any]]
    inline: Callable[[types.FunctionType, List[Any], Dict[str, Any]], Any]
    method: Callable[[Any, str, List[Any], Dict[str, Any]], Any]
    converted: Callable[[Any, DType], Any]
    result_used: bool

    # -- comparisons

    def compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            if running(a) and (running(b) or is_number(b)) or running(b) and is_number(a):
                raise Mistake("is of a value that runs: it has no identity", "== compares values")
            return (a is b) == isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = truth(self._contains(b, a))
            return found if isinstance(op, ast.In) else (not found) if isinstance(found, bool) else invert(found)
        if (a is None or b is None) and isinstance(op, (ast.Eq, ast.NotEq)):
            return (a is b) == isinstance(op, ast.Eq)
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and (running(a) or running(b)):
            return self._sequences(op, a, b)
        if isinstance(a, Running) or isinstance(b, Running):
            return binary(COMPARE[type(op)], self.operand(a), self.operand(b))
        if isinstance(a, OptionType) or isinstance(b, OptionType):
            return _compare_types(op, a, b)
        if as_dtype(a) is not None and as_dtype(b) is not None and not is_number(a):
            return (as_dtype(a) == as_dtype(b)) == isinstance(op, ast.Eq)
        try:
            if isinstance(op, ast.Eq):
                return a == b
            return a != b if isinstance(op, ast.NotEq) else binary(COMPARE[type(op)], a, b)
        except Mistake:
            raise
        except Exception as error:  # noqa: BLE001 - the author's own comparison
            raise Mistake("%s: %s" % (type(error).__name__, error),
                          "compare numbers, texts and element types") from None

    def _sequences(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        """Tuples, part by part, as Python orders them."""
        if isinstance(op, (ast.Eq, ast.NotEq)):
            result: Any = type(a) is type(b) and len(a) == len(b)
            for x, y in zip(a, b) if result else ():
                result = logical("&&", result, self._one(ast.Eq(), x, y))
            return result if isinstance(op, ast.Eq) else (not result) if isinstance(result, bool) else invert(result)
        if not a or not b:
            return binary(COMPARE[type(op)], len(a), len(b))
        strict = self._one(_STRICT[type(op)](), a[0], b[0])  # type: ignore[index]
        return logical("||", strict, logical("&&", self._one(ast.Eq(), a[0], b[0]), self._sequences(op, a[1:], b[1:])))

    def _one(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        found = self.compare(op, a, b)
        if getattr(found, "shape", ()):
            raise Mistake("%s among values that are compared as a whole" % describe(found),
                          "compare it by itself: ==, & and | are elementwise")
        return found

    def _contains(self, container: Any, value: Any) -> Any:
        if isinstance(container, range):
            container = Range(container.start, container.stop, container.step)
        if isinstance(container, Range):
            return self._within(container, value)
        if isinstance(container, Running):
            raise Mistake("in of %s" % describe(container), "tl.sum(x == value) > 0 asks all elements")
        if not running(value) and not running(container):
            try:
                return value in container
            except Exception as error:  # noqa: BLE001 - the author's own container
                raise Mistake("%s: %s" % (type(error).__name__, error), "in takes a tuple, a list or a range") from None
        if not isinstance(container, (tuple, list, dict, set, frozenset)):
            raise Mistake("in of %s, for a value that runs" % describe(container),
                          "in takes a tuple, a list or a range")
        found: Any = False
        for part in container:
            found = logical("||", found, self._one(ast.Eq(), value, part))
        return found

    def _within(self, over: Range, value: Any) -> Any:
        ends = [self.operand(x) for x in (over.start, over.stop, over.step)]
        if not isinstance(ends[2], int) or ends[2] < 1:
            raise Mistake("in of a range with another step than a number from 1 on", "compare with its ends")
        low, high = self._one(ast.GtE(), value, ends[0]), self._one(ast.Lt(), value, ends[1])
        found = logical("&&", low, high)
        if ends[2] == 1:
            return found
        return logical("&&", found, binary("==", binary("%", binary("-", self.operand(value), ends[0]), ends[2]), 0))

    # -- and, or

    def either(self, word: str, a: Expr, b: Any) -> Any:
        """``a and b``, ``a or b``: of conditions a condition, of numbers one of the two, as in Python."""
        if a.dtype == "bool" and (isinstance(b, bool) or isinstance(b, Expr) and b.dtype == "bool"):
            return logical(word, a, b)
        if not (is_number(b) or isinstance(b, Expr)):
            raise Mistake("%s of a value that runs and %s" % ("and" if word == "&&" else "or", describe(b)),
                          "conditions or numbers on both sides; an if statement for the rest")
        return where(truth(a), b, a) if word == "&&" else where(truth(a), a, b)

    # -- texts

    def eval_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return "".join(self._piece(node, part) if isinstance(part, ast.FormattedValue) else self.eval(part)
                       for part in node.values)

    def _piece(self, node: ast.JoinedStr, part: ast.FormattedValue) -> str:
        """The text of one value in an f-string."""
        value = self.eval(part.value)
        spec = self.eval(part.format_spec) if part.format_spec is not None else ""
        if not running(value):
            return self.text_of(value, part.conversion, spec)
        words = [str(p.value).strip() for p in node.values if isinstance(p, ast.Constant) and str(p.value).strip()]
        values = [ast.unparse(p.value) for p in node.values if isinstance(p, ast.FormattedValue)]
        name = ast.unparse(part.value)
        raise Mistake("an f-string makes a text of %s, whose value only the running kernel knows" % name,
                      "write the values behind the text: print(%s); the text of an assert has none" % ", ".join(
                          ['"%s"' % " ".join(words or [name]), *values]))

    def text_of(self, value: Any, conversion: int = -1, spec: str = "") -> str:
        """A value as an f-string shows it."""
        if running(value):
            what = describe(value) if isinstance(value, Running) else "a %s of values that run" % type(value).__name__
            raise Mistake("a text of %s, whose value only the running kernel knows" % what,
                          "print(\"text\", x) shows values of the running kernel")
        shown = {115: str, 114: repr, 97: ascii}.get(conversion)
        try:
            return format(value if shown is None else shown(value), spec)
        except Exception as error:  # noqa: BLE001 - the author's own value and format
            raise Mistake("%s: %s" % (type(error).__name__, error), "a format that fits the value") from None

    def text_with(self, text: str, values: Any) -> str:
        """``text % values``."""
        if running(values):
            self.text_of(values)
        try:
            return text % values
        except Exception as error:  # noqa: BLE001 - the author's own value and format
            raise Mistake("%s: %s" % (type(error).__name__, error), "a format that fits the values") from None

    # -- calls

    def call(self, function: Any, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        """A call: an operation of the language, a function to read here, or one of Python's on what is known now."""
        if isinstance(function, Builtin):
            try:
                bound = inspect.signature(function).bind(*args, **kwargs)
            except TypeError as error:
                raise Mistake("%s(): %s" % (function.name, error),
                              "the signature is %s%s" % (function.name, inspect.signature(function))) from None
            return self.operations[function.name](self, *bound.args, **bound.kwargs)
        if isinstance(function, DType):
            if is_number(args[0]):
                return self.converted(args[0], function)
            return self.method(args[0], "to", [function], {})
        inner = getattr(function, "kernel_function", None)  # of @tl.jit, @tl.kernel, @T.macro
        if inner is not None:
            return self.inline(inner, args, kwargs)
        name = getattr(function, "__name__", "")
        own = self.operations.get("python." + name) if getattr(builtins, name, None) is function else None
        if own is not None:
            return own(self, *args, **kwargs)
        if not callable(function):
            raise Mistake("%s cannot be called" % describe(function), "a function, an operation of kiln.language")
        _refuse_changes(function, name)
        given = list(args) + list(kwargs.values())
        if isinstance(function, BlockLayout) and running(given):
            return self.operations["layout_offset"](self, function, *args)
        if running(given) and isinstance(function, types.FunctionType):
            return self.inline(function, args, kwargs)
        if (running(given) or running(getattr(function, "__self__", None))) and not _hands_on(function, name, given):
            raise Mistake("%s is a function of Python, and a kernel's values are not known to it" % (name or function),
                          "use its counterpart in kiln.language, such as tl.exp for math.exp")
        return _computed(function, name, args, kwargs)


def _hands_on(function: Any, name: str, given: List[Any]) -> bool:
    """Whether it only arranges the parts of tuples, lists and dicts."""
    if isinstance(getattr(function, "__self__", None), (tuple, list, dict)):
        return name in _STRUCTURAL_METHODS
    return function in _STRUCTURAL and not any(isinstance(part, Running) for part in given)


def _refuse_changes(function: Any, name: str) -> None:
    """A list that changes in place would do so once, while the kernel is read."""
    of = getattr(function, "__self__", None)
    holds = isinstance(of, (MutableSequence, MutableMapping, MutableSet)) or hasattr(of, "tobytes")
    if holds and name in _CHANGING:
        raise Mistake("%s changes a %s in place: %s" % (name, type(of).__name__, _NOT_NOW),
                      "make a new one: l = l + [x]; a tile holds numbers that change")
    if function is next or name in ("__next__", "send"):
        raise Mistake("%s takes from an iterator: %s" % (name, _NOT_NOW), "an index: values[k]")


def _computed(function: Any, name: str, args: List[Any], kwargs: Dict[str, Any]) -> Any:
    """What a function of Python gives for what is known now; it must change nothing that the kernel can see."""
    given = list(args) + list(kwargs.values())
    if any(hasattr(part, "__next__") for part in given):
        raise Mistake("%s takes from an iterator: %s" % (name, _NOT_NOW), "a tuple or a list")
    of = getattr(function, "__self__", None)
    code = inspect.unwrap(getattr(function, "__func__", function))
    watched = code if isinstance(code, types.FunctionType) else None
    names = named(watched) if watched is not None else {}
    held = [stamp(_computed, part) for part in given + [of]] if watched is not None else []
    try:
        found = plain(function(*args, **kwargs))
    except Mistake:
        raise
    except Exception as error:  # noqa: BLE001 - the author's own function
        raise Mistake("%s: %s: %s" % (name or function, type(error).__name__, error),
                      "it is called while the kernel is read, with what is known then") from None
    if watched is not None and (not still(names) or held != [stamp(_computed, part) for part in given + [of]]):
        raise Mistake("%s changes something outside the kernel: %s" % (name, _NOT_NOW),
                      "call it before the launch and pass what it gives")
    if isinstance(found, (zip, enumerate, reversed, map, filter)):
        return list(found)
    if hasattr(found, "__next__"):
        raise Mistake("%s gives an iterator: %s" % (name or function, _NOT_NOW), "a tuple or a list")
    return found


def _compare_types(op: ast.cmpop, a: Any, b: Any) -> Expr:
    """Whether an option's type is a certain one, decided when the kernel is compiled."""
    names = [found.name for found in (as_dtype(a), as_dtype(b)) if found is not None]
    if len(names) != 2 or not isinstance(op, (ast.Eq, ast.NotEq)):
        raise Mistake("an element type is compared with another one: dtype == tl.float32",
                      "the other one is an element type too")
    return Expr("bool", (" == " if isinstance(op, ast.Eq) else " != ").join(names), (), STATIC)
