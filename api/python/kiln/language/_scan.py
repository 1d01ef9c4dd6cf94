"""What a piece of syntax assigns and reads, without running it."""

from __future__ import annotations

import ast
from typing import Dict, Iterable, List, Optional, Set, Union

# Syntax that no kernel can have: what it is called, what to write instead.
UNSUPPORTED = {
    "While": ("a while loop", "write for i in range(n), with a mask for what is over"),
    "Try": ("try", "a kernel has no exceptions; mask what must not be read"),
    "TryStar": ("try", "a kernel has no exceptions"), "Raise": ("raise", "write tl.static_assert for what is known when compiled"),
    "Break": ("break", "give the loop its true bound, or mask the rest with tl.where"),
    "Continue": ("continue", "put the rest of the body under the opposite if, or mask it with tl.where"),
    "FunctionDef": ("a function inside a kernel", "define it outside, with @tl.jit, and call it"),
    "AsyncFunctionDef": ("an async function", "kernels are synchronous"), "ClassDef": ("a class", "kernels have numbers, tiles and tuples"),
    "Import": ("an import inside a kernel", "import at the top of the file"), "ImportFrom": ("an import inside a kernel", "import at the top of the file"),
    "Global": ("global", "pass it as an argument"), "Nonlocal": ("nonlocal", "pass it as an argument"), "Delete": ("del", "names need not be deleted"),
    "AsyncFor": ("async for", "write for"), "AsyncWith": ("async with", "write with"), "Match": ("match", "write if and elif"),
    "Lambda": ("a lambda", "write a function with @tl.jit, defined outside"), "ListComp": ("a comprehension", "write a loop over tl.static_range"),
    "SetComp": ("a comprehension", "write a loop over tl.static_range"), "DictComp": ("a comprehension", "write a loop over tl.static_range"),
    "GeneratorExp": ("a generator", "write a loop over tl.static_range"), "Await": ("await", "kernels are synchronous"),
    "Yield": ("yield", "write return"), "YieldFrom": ("yield", "write return"), "Set": ("a set", "write a tuple"), "NamedExpr": (":=", "write an assignment of its own"),
    "Starred": ("* in front of a value", "name the values one by one"), "TypeAlias": ("type", "nothing: kernels need no types"),
}

Nodes = Union[ast.AST, List[ast.stmt]]


def _walk(nodes: Nodes) -> Iterable[ast.AST]:
    for node in nodes if isinstance(nodes, list) else [nodes]:
        yield from ast.walk(node)


def assigned(nodes: Nodes) -> List[str]:
    """Names that are assigned, in the order of their first assignment; loop variables included."""
    found: Dict[str, None] = {}
    for node in _walk(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id)
    return list(found)


def read(nodes: Nodes) -> Set[str]:
    """Names that are read; ``x += 1`` reads x."""
    found = {n.id for n in _walk(nodes) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return found | {n.target.id for n in _walk(nodes) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}


def read_before_assigned(body: List[ast.stmt], name: str) -> bool:
    """Whether an iteration may read what an earlier one, or what came before, left in ``name``."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            if name in read(statement.value):
                return True
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(name in read(target) for target in targets):
                return True
            if any(name in assigned(target) for target in targets):
                return False
        elif isinstance(statement, ast.If):
            if name in read(statement.test):
                return True
            sides = [read_before_assigned(side, name) for side in (statement.body, statement.orelse)]
            if any(sides):
                return True
            if all(name in _surely_assigned(side) for side in (statement.body, statement.orelse)):
                return False
        elif name in read(statement):
            return True
    return False


def _surely_assigned(body: List[ast.stmt]) -> Set[str]:
    found: Set[str] = set()
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                found.update(assigned(target))
    return found


def returns(nodes: Nodes) -> bool:
    """Whether a return stands there. (A kernel has no functions inside it.)"""
    return any(isinstance(node, ast.Return) for node in _walk(nodes))


def calls(nodes: Nodes) -> bool:
    """Whether something is called there: only a call can change memory."""
    return any(isinstance(node, ast.Call) for node in _walk(nodes))


def read_outside(function: ast.FunctionDef, statement: ast.stmt, name: str) -> bool:
    """Whether ``name`` is read behind a loop or branch, or elsewhere in a loop around it."""
    inside = {id(n) for n in ast.walk(statement)}
    around = [n for n in ast.walk(function) if isinstance(n, (ast.For, ast.While)) and id(n) not in inside
              and inside & {id(m) for s in n.body for m in ast.walk(s) if isinstance(m, ast.stmt)}]
    again = {id(m) for n in around for m in ast.walk(n)}
    end = statement.end_lineno or statement.lineno
    for node in ast.walk(function):
        if id(node) in inside or not isinstance(node, (ast.Name, ast.AugAssign)):
            continue
        reads = node.id == name and isinstance(node.ctx, ast.Load) if isinstance(node, ast.Name) else getattr(node.target, "id", "") == name
        if reads and (node.lineno > end or id(node) in again):
            return True
    return False


def instead_of_while(loop: ast.While) -> str:
    """What to write instead: for a lock, and for a counter that grows by the same amount; "" for others."""
    called = {getattr(n.func, "attr", getattr(n.func, "id", "")) for n in ast.walk(loop.test) if isinstance(n, ast.Call)}
    if called & {"atomic_cas", "atomic_xchg", "atomic_add"}:
        return ("a lock: blocks do not wait for each other. Give each program a row of its own in a buffer and add the rows up in a second kernel, "
                "or use tl.atomic_add")
    for name in sorted(read(loop.test)):
        if step_of(loop.body, name) is not None:
            return "for %s in range(first, end, step)" % name
    return ""


def step_of(body: List[ast.stmt], name: str) -> Optional[ast.expr]:
    """The only assignment to ``name`` in the body, at its top, if it is ``x += e``, ``x = x + e`` or ``x = advance(x, e)``: e.

    For ``x -= e`` the negated expression.
    """
    steps = [s for s in body if name in assigned(s)]
    if len(steps) != 1 or sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(steps[0])) != 1:
        return None
    step = steps[0]
    if isinstance(step, ast.AugAssign) and isinstance(step.op, (ast.Add, ast.Sub)):
        if isinstance(step.op, ast.Sub):
            return ast.copy_location(ast.UnaryOp(ast.USub(), step.value), step.value)
        return step.value
    if not isinstance(step, ast.Assign):
        return None
    value = step.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for one, other in ((value.left, value.right), (value.right, value.left)):
            if isinstance(one, ast.Name) and one.id == name:
                return other
    if isinstance(value, ast.Call) and getattr(value.func, "attr", getattr(value.func, "id", "")) == "advance" and len(value.args) == 2 \
            and isinstance(value.args[0], ast.Name) and value.args[0].id == name:
        return value.args[1]
    return None


def product_operands(function: ast.FunctionDef) -> Set[str]:
    """Names that are operands of matrix products, also transposed: they are best kept in shared memory."""
    found: Set[str] = set()
    for node in ast.walk(function):
        operands: List[ast.expr] = []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("dot", "gemm", "dot_scaled"):
            operands = list(node.args[:2]) + [k.value for k in node.keywords if k.arg in ("a", "b", "input", "other", "lhs", "rhs")]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            operands = [node.left, node.right]
        for operand in operands:
            found |= _named(operand)
    return found


def _named(node: ast.expr) -> Set[str]:
    """The name behind x, x.T, trans(x), x.to(…)."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        return _named(node.value)
    if isinstance(node, ast.Call):
        word = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if word in ("trans", "transpose", "permute") and node.args:
            return _named(node.args[0])
        if word in ("to", "trans") and isinstance(node.func, ast.Attribute):
            return _named(node.func.value)
    return set()
