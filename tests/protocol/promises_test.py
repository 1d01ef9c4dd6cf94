"""The table of promises names tests that are there; and promises that a look at the protocol's own document keeps."""

import glob
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, ServiceCase

sys.path.insert(0, os.path.join(ROOT, "tests", "promises"))
from breaks import BREAKS

TESTS = os.path.join(ROOT, "tests")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Table(unittest.TestCase):
    def compiled(self):
        """"Suite.name" of all C++ tests."""
        found = set()
        for path in glob.glob(os.path.join(TESTS, "**", "*.cpp"), recursive=True):
            found |= {"%s.%s" % pair for pair in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text_of(path), re.M)}
        return found

    def scripted(self, name):
        """Whether "file.Class.test" is there."""
        file, kind, test = name.split(".")
        paths = glob.glob(os.path.join(TESTS, "*", file + ".py"))
        body = re.search(r"^class %s\(.*?(?=^class |\Z)" % kind, text_of(paths[0]), re.M | re.S) if len(paths) == 1 else None
        return bool(body and re.search(r"^    def %s\(" % test, body.group(), re.M))

    def rows(self):
        """{promise: names of its tests}."""
        rows = [line.split("|") for line in text_of(os.path.join(TESTS, "PROMISES.md")).splitlines()
                if line.startswith("| ") and not line.startswith(("| promise", "|---"))]
        self.assertGreater(len(rows), 25)
        return {row[1].strip(): re.findall(r"`([^` ]+)`", row[2]) for row in rows}

    def test_every_promise_can_be_broken_for_each_of_its_tests(self):
        rows = self.rows()
        heard = {promise: set() for promise in rows}
        for broken in BREAKS:
            promises = [promise for promise in rows if promise.startswith(broken.promise)]
            self.assertEqual(len(promises), 1, broken.promise)
            heard[promises[0]] |= set(broken.tests)
            for name, old, new in broken.edits:
                self.assertEqual(text_of(os.path.join(ROOT, name)).count(old), 1, (broken.promise, name, old))
                self.assertNotEqual(old, new)
        self.assertEqual(heard, {promise: set(names) for promise, names in rows.items()})

    def test_every_promise_names_tests_that_are_there(self):
        compiled = self.compiled()
        for promise, names in self.rows().items():
            self.assertTrue(names, promise)
            for name in names:
                if "/" in name:
                    self.assertTrue(os.path.exists(os.path.join(TESTS, name)), name)
                elif name.count(".") == 2:
                    self.assertTrue(self.scripted(name), name)
                else:
                    self.assertIn(name, compiled)


class Descriptors(ServiceCase):
    def test_no_method_takes_a_path(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        methods = connection.call("rpc.discover")["result"]["methods"]
        self.assertGreater(len(methods), 30)
        for method in methods:
            for param in method["params"]:
                words = set(re.findall(r"[a-z]+", (param["name"] + " " + param["summary"]).lower()))
                self.assertFalse(words & {"path", "folder", "filename", "shm"}, (method["name"], param))
        for params in ({"fd": "/dev/shm/x"}, {"fd": {"fd": "/dev/shm/x"}}, {"ipc": "/dev/shm/x", "device": "host"}):
            self.assertIn("error", connection.call("buffer.register", params))


if __name__ == "__main__":
    unittest.main()
