"""Random kernels on numbers: branches, loops, returns, tuples, calls. The text is a kernel and plain Python."""

import ast
import random

NAMES = ("a", "b", "c", "t", "u")
RESULTS = len(NAMES) + 2                      # what a block stores: the names, a number underway, how often it came by


class Writer:
    """Writes one kernel and its helper function."""

    def __init__(self, seed):
        self.random, self.lines, self.seed = random.Random(seed), [], seed
        self.names, self.helping = list(NAMES), False

    def chance(self, share):
        return self.random.random() < share

    def value(self, known=(), depth=0):
        if depth > 2 or self.chance(0.3):
            return self.random.choice(self.names + list(known))
        if self.chance(0.2):
            return str(self.random.randint(-3, 5))
        if depth == 0 and not self.helping and not known and self.chance(0.15):
            return "helper_%d(%s, %s)" % (self.seed, self.value(known, 2), self.random.choice(self.names))
        operator = self.random.choice("+-*") if depth == 0 else self.random.choice("+-")
        return "(%s %s %s)" % (self.value(known, depth + 1), operator, self.value(known, depth + 1))

    def condition(self, known):
        if self.chance(0.25):
            name, operator = self.random.choice(self.names), self.random.choice(("<", ">", "==", "!="))
            return "%s %s %s" % (name, operator, self.value(known, 2))
        last = known[-1] if known else "p"
        return self.random.choice((
            "%s > %d" % (last, self.random.randint(0, 2)), "%s == %d" % (last, self.random.randint(0, 2)),
            "p < %d" % self.random.randint(1, 2), "%s <= p and p != 1" % last))

    def block(self, indent, depth, known, loops):
        for _ in range(self.random.randint(1, 4)):
            self.statement(indent, depth, known, loops)

    def statement(self, indent, depth, known, loops):
        kind = self.random.random()
        name = self.random.choice(self.names)
        if kind < 0.12:
            one, other = self.random.sample(self.names, 2)
            self.lines.append(indent + "%s, %s = %s, %s" % (one, other, self.value(known, 1), self.value(known, 1)))
        elif kind < 0.17:
            self.lines.append(indent + "pair = (%s, %s)" % (self.value(known, 1), name))
            self.lines.append(indent + "%s += %s" % (name, self.value(known, 2)))
            self.lines.append(indent + "%s = pair[0] - pair[1]" % self.random.choice(self.names))
        elif kind < 0.35:
            self.lines.append(indent + "%s %s= %s" % (name, self.random.choice("+-"), self.random.choice(
                self.names + ["p", str(self.random.randint(1, 4))] + list(known))))
        elif kind < 0.55 and depth < 3:
            self.branch(indent, depth, known, loops)
        elif kind < 0.68 and loops < 2:
            variable = "ijk"[loops]
            self.lines.append(indent + "for %s in range(%s):" % (variable, self.random.choice(
                ("3", "1, 4", "0, 6, 2", "2, 1") + (() if self.helping else ("p", "p + 1", "n")))))
            self.block(indent + "    ", depth + 1, known + (variable,), loops + 1)
        elif kind < 0.73 and not self.helping:
            self.lines.append(indent + (
                "tl.atomic_add(y + p * %d + %d, 1)" % (RESULTS, RESULTS - 1) if self.chance(0.5) else
                "tl.store(y + p * %d + %d, %s)" % (RESULTS, RESULTS - 2, name)))
        else:
            self.lines.append(indent + "%s = %s" % (name, self.value(known)))

    def branch(self, indent, depth, known, loops):
        self.lines.append(indent + "if %s:" % self.condition(known))
        self.block(indent + "    ", depth + 1, known, loops)
        if not loops and self.chance(0.2):
            self.lines.append(indent + "    return" + (" (%s)" % self.value((), 1) if self.helping else ""))
        if self.chance(0.5):
            self.lines.append(indent + "else:")
            self.block(indent + "    ", depth + 1, known, loops)

    def text(self):
        self.helping, self.names = True, ["p", "q", "r"]
        self.lines = ["@decorated", "def helper_%d(p, q):" % self.seed, "    r = p - q"]
        self.block("    ", 1, (), 0)
        self.lines += ["    return %s" % self.value((), 1), "", ""]
        self.helping, self.names = False, list(NAMES)
        self.lines += ["@decorated", "def kernel_%d(x, y, n):" % self.seed, "    p = tl.program_id(0)",
                       "    a, b = 1, 2", "    c = tl.load(x + p)", "    t = p + 3", "    u = tl.load(x)"]
        self.block("    ", 0, (), 0)
        self.lines += ["    tl.store(y + p * %d + %d, %s)" % (RESULTS, k, name) for k, name in enumerate(NAMES)]
        return "\n".join(self.lines) + "\n\n\n"


class Whole(int):
    """A whole number that says when it would not fit the 32 bits of a kernel's."""


def _checked(operation):
    def run(self, other):
        result = operation(int(self), int(other))
        if abs(result) >= 2 ** 31:
            raise OverflowError
        return Whole(result)

    return run


for _name in ("__add__", "__sub__", "__mul__", "__radd__", "__rsub__", "__rmul__"):
    setattr(Whole, _name, _checked(getattr(int, _name)))


class Pointer:
    """An element of a list: the part of the language that plain Python needs."""

    def __init__(self, memory, at=0):
        self.memory, self.at = memory, at

    def __add__(self, offset):
        return Pointer(self.memory, self.at + int(offset))


class Language:
    """``tl`` for one block."""

    def __init__(self, block):
        self.block = block

    def program_id(self, axis):
        return Whole(self.block)

    def load(self, pointer):
        return Whole(pointer.memory[pointer.at])

    def store(self, pointer, value):
        pointer.memory[pointer.at] = Whole(0) + value

    def atomic_add(self, pointer, value):
        pointer.memory[pointer.at] += value


class _Checked(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Call(ast.Name("Whole", ast.Load()), [node], []), node)


def _numbers(*ends):
    return [Whole(k) for k in range(*ends)]


def run_in_python(text, seed, x, blocks, n):
    """What the kernel stores; OverflowError where a number does not fit."""
    tree = ast.fix_missing_locations(_Checked().visit(ast.parse(text)))
    code = compile(tree, "<program %d>" % seed, "exec")
    y = [0] * (blocks * RESULTS)
    for block in range(blocks):
        names = {"tl": Language(block), "Whole": Whole, "range": _numbers, "decorated": lambda function: function}
        exec(code, names)  # noqa: S102 - text of our own making
        names["kernel_%d" % seed](Pointer(x), Pointer(y), Whole(n))
    return y
