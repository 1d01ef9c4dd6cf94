#!/usr/bin/env python3
"""Breaks each promise of tests/PROMISES.md on purpose, one after the other, and sees that its tests fail.

In a worktree of its own, built once and after each break again: --folder keeps it for the next time. A promise that may be
broken without a test that fails, or a test that fails before anything is broken, makes the status 1.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from breaks import BREAKS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Unusable(Exception):
    """A break that says nothing: it does not apply or compile, or its test does not pass without it."""


# A unit test's folder is its program's name; scripts need all programs.
PROGRAMS = ["programs"]
PYTHON = "/usr/bin/python3"  # the one that the tests' packages are of


class Tree:
    """A worktree of the present commit with a build of its own."""

    def __init__(self, folder):
        self.folder, self.build = folder, os.path.join(folder, "build")
        if not os.path.exists(os.path.join(folder, ".git")):
            subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", "--force", folder, "HEAD"], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", "--force", "--detach", self.head()], check=True)
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["cmake", "-S", folder, "-B", self.build, "-G", "Ninja"], check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def head():
        return subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()

    def edit(self, edits, before):
        """`before` receives what was there, by file."""
        for name, old, new in edits:
            path = os.path.join(self.folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            before.setdefault(path, text)
            if text.count(old) != 1:
                raise Unusable("%s: the text to break is there %d times:\n%s" % (name, text.count(old), old))
            self.write(path, text.replace(old, new))

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def make(self, targets):
        done = subprocess.run(["ninja", "-C", self.build, *targets], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unusable("the break does not compile:\n" + done.stdout[-4000:])

    def unit_program(self, test):
        suite, name = test.split(".")
        for path in glob.glob(os.path.join(self.folder, "tests", "unit", "*", "*.cpp")):
            with open(path, encoding="utf-8") as file:
                if re.search(r"^TEST(_F|_P)?\(%s,\s*%s\)" % (suite, name), file.read(), re.M):
                    return "tests/unit_" + os.path.basename(os.path.dirname(path))
        raise Unusable("no test %s" % test)

    def targets(self, tests):
        found = set()
        for test in tests:
            found |= set(PROGRAMS) if "/" in test or test.count(".") == 2 else {self.unit_program(test)}
        return sorted(found)

    def passes(self, test):
        if "/" in test:
            command = [PYTHON, os.path.join(self.folder, "tests", test), "--kills", "16", "--clients", "3", "--seed", "1"]
        elif test.count(".") == 2:
            file, case = test.split(".", 1)
            command = [PYTHON, glob.glob(os.path.join(self.folder, "tests", "*", file + ".py"))[0], case]
        else:
            command = [os.path.join(self.build, self.unit_program(test)), "--gtest_filter=" + test]
        environment = dict(os.environ, KILN_BIN=os.path.join(self.build, "bin"), KILN_BUILD=self.build)
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        except subprocess.TimeoutExpired:
            return False  # broken, and it shows
        skipped = "[  SKIPPED ]" in done.stdout or re.search(r"OK \(skipped=", done.stderr)
        if skipped:
            raise Unusable("%s is skipped here" % test)
        return done.returncode == 0


def try_break(tree, broken):
    """The tests that pass all the same."""
    tree.make(tree.targets(broken.tests))
    sick = [test for test in broken.tests if not tree.passes(test)]
    if sick:
        raise Unusable("before anything is broken, these fail: " + ", ".join(sick))
    before = {}
    try:
        tree.edit(broken.edits, before)
        tree.make(tree.targets(broken.tests))
        return [test for test in broken.tests if tree.passes(test)]
    finally:
        for path, text in before.items():
            tree.write(path, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where the worktree is made and kept; else a temporary one")
    parser.add_argument("--only", default="", help="promises that begin so")
    arguments = parser.parse_args()
    chosen = [b for b in BREAKS if b.promise.startswith(arguments.only)]
    folder = os.path.abspath(arguments.folder) if arguments.folder else tempfile.mkdtemp(prefix="kiln-promises-")
    unnoticed = 0
    try:
        tree = Tree(folder)
        for number, broken in enumerate(chosen, 1):
            try:
                deaf = try_break(tree, broken)
            except Unusable as error:
                deaf = broken.tests
                print(error, flush=True)
            unnoticed += len(deaf)
            for test in broken.tests:
                print("%d/%d  %-45s %-8s %s" % (number, len(chosen), broken.promise[:45], "UNHEARD" if test in deaf else "noticed", test), flush=True)
    finally:
        if not arguments.folder:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", folder], check=False)
            shutil.rmtree(folder, ignore_errors=True)
    tests = sum(len(b.tests) for b in chosen)
    print("%d breaks, %d of %d tests noticed theirs" % (len(chosen), tests - unnoticed, tests))
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
