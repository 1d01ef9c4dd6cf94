"""Programs that ask for too much, or whose strings are not what they should be: a located mistake, or the right
kernel."""

import copy
import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from hip import LIBRARY
from witness import WitnessedCase, memfd

CARD = "emu:gfx942"
TARGETS = ("host", "gfx942")


def unrolled(*counts):
    """Loops in each other, all of them unrolled."""
    body = [{"op": "map", "index": ["i"], "extent": [16], "body": [{"set": "Y[i]", "value": "1.0"}]}]
    for depth, count in enumerate(counts):
        body = [{"op": "for", "var": "k%d" % depth, "to": count, "kind": "unrolled", "body": body}]
    return {"kiln": "tile/1", "name": "unrolled", "symbols": ["N"],
            "params": [{"name": "Y", "dtype": "f32", "shape": [16], "access": "write"}],
            "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": body}]}


def tunable(count, candidates):
    """A program with so many tunables of so many candidates each."""
    names = ["T%d" % i for i in range(count)]
    return {"kiln": "tile/1", "name": "tunable",
            "params": [{"name": "Y", "dtype": "i32", "shape": [16], "access": "write"}],
            "tunables": {name: {"default": "1", "candidates": list(range(candidates))} for name in names},
            "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": [
                {"op": "map", "index": ["i"], "extent": [16], "body": [
                    {"set": "Y[i]", "value": "cast(%s, i32)" % " + ".join(names)}]}]}]}


class TooMuch(WitnessedCase):
    config = {"workers_max": 1}

    def too_large(self, method, params):
        answer = self.connection.call(method, dict(params, deadline_ms=20000))
        data = answer["error"]["data"] if "error" in answer else answer["result"]
        if "error" in answer:
            self.assertEqual(data["code"], "program_invalid", answer)
        (found,) = data["diagnostics"]
        self.assertEqual(found["pointer"], "/launches/0/body")
        self.assertEqual(found["message"], "the program is larger than 65536 nodes after unrolling")

    def test_unrolling(self):
        for counts in ((10 ** 9,), (2 ** 31 - 1,), (10 ** 5, 10 ** 4), (1000, 1000, 1000), ("N",)):
            for target in TARGETS:
                with self.subTest(counts=counts, target=target):
                    request = {"program": unrolled(*counts), "set": {"N": 10 ** 9}, "target": target}
                    for method in ("kernel.compile", "program.check", "kernel.explain"):
                        self.too_large(method, request)
        self.assertIn("result", self.connection.call("kernel.compile", {"program": unrolled(10, 10), "set": {"N": 1}}))

    def test_tunables_to_try(self):
        """10 candidates each of 10 tunables are too many. With 6 of them set two are tried."""
        request = {"program": tunable(10, 10), "candidates_max": 2, "rounds_max": 1}
        words = "the tunables of tunable have more than 100000 combinations"
        self.refused("resource_limit", words, "kernel.tune", request)
        some = {"T%d" % i: 1 for i in range(6)}
        self.assertLessEqual(len(self.ok("kernel.tune", dict(request, set=some))["candidates"]), 2)

    def test_tunables_at_their_defaults(self):
        prepared = self.ok("kernel.prepare", {"kernels": [{"program": tunable(10, 10)}] * 3})
        self.assertEqual((prepared["failed"], len({kernel["key"] for kernel in prepared["kernels"]})), (0, 1))
        fd = memfd(64)
        y = self.register(os.dup(fd))
        self.ok("kernel.launch", {"program": tunable(10, 10), "args": {"Y": y}})
        self.assertEqual(os.pread(fd, 64, 0), b"\x0a\0\0\0" * 16)
        os.close(fd)

    def test_candidates_of_one_tunable(self):
        request = {"program": tunable(1, 100000), "candidates_max": 2, "rounds_max": 1}
        error = self.refused("program_invalid", "the program has a mistake", "kernel.tune", request)
        self.assertEqual([d["pointer"] for d in error["data"]["diagnostics"]], ["/tunables/T0/candidates"])


# A string of every kind that a program has.
WHOLE = {
    "kiln": "tile/1", "name": "whole",
    "symbols": {"M": {"dynamic": True, "multiple_of": 1, "min": 0, "max": 4096}, "N": {}},
    "options": {"dtype": {"type": "dtype", "default": "f32", "choices": ["f32", "f16"]},
                "kind": {"type": "name", "default": "plain", "choices": ["plain", "fancy"]}},
    "params": [{"name": "X", "dtype": "dtype", "shape": ["M", "N"], "strides": ["N", "1"], "access": "read"},
               {"name": "A", "dtype": "f16", "shape": ["64", "64"], "access": "read", "when": "true"},
               {"name": "factor", "scalar": True, "dtype": "f32"},
               {"name": "Y", "dtype": "dtype", "shape": ["M", "N"], "access": "write"},
               {"name": "C", "dtype": "f32", "shape": ["64", "64"], "access": "write"},
               {"name": "Sums", "dtype": "f32", "shape": ["64"], "access": "readwrite"}],
    "tunables": {"BM": {"default": "16", "candidates": [16, 32]}, "BN": "64"},
    "constraints": ["BM * BN <= 4096"],
    "workspace": [{"name": "Part", "dtype": "f32", "shape": ["64"], "zeroed": True, "when": "true"}],
    "launches": [
        {"grid": ["ceildiv(N, BN)", "ceildiv(M, BM)"], "threads": "1 if target.is_host else 64", "body": [
            {"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": ["BM", "BN"]},
            {"op": "alloc", "name": "top", "space": "fragment", "dtype": "f32", "shape": ["BM"]},
            {"op": "copy", "from": "X[bid.y * BM:, bid.x * BN:]", "to": "x", "fill": "0.0", "limit": ["M", None]},
            {"op": "assert", "condition": "N >= 0", "text": "sizes", "values": ["N"]},
            {"op": "print", "text": "block", "values": ["bid.x", "bid.y"]},
            {"op": "let", "name": "last", "value": "bid.y * BM + BM >= M"},
            {"op": "if", "condition": "last", "then": [{"op": "fill", "tile": "top", "value": "1.0"}],
             "else": [{"op": "reduce", "kind": "max", "from": "x", "to": "top", "axis": 1}]},
            {"op": "scan", "kind": "sum", "from": "x", "to": "x", "axis": 1, "when": "kind == fancy"},
            {"op": "map", "index": ["i", "j"], "extent": ["BM", "BN"], "body": [
                {"let": "scaled", "value": "x[i, j] * factor"},
                {"set": "x[i, j]", "value": "scaled", "where": "j >= 0"},
                {"print": "element", "values": ["scaled"], "where": "i < 0"},
                {"assert": "i >= 0", "text": "index", "values": ["i"], "where": "true"}]},
            {"op": "map", "index": ["i"], "extent": ["BM"], "body": [
                {"atomic": "max", "to": "Sums[i]", "value": "top[i]", "old": "before", "where": "i < 64"}]},
            {"op": "copy", "from": "x", "to": "Y[bid.y * BM:, bid.x * BN:]"}]},
        {"grid": ["1"], "threads": "1 if target.is_host else 256", "body": [
            {"op": "alloc", "name": "a", "space": "shared", "dtype": "f16", "shape": ["64", "64"], "layout": "auto"},
            {"op": "alloc", "name": "c", "space": "fragment", "dtype": "f32", "shape": ["64", "64"]},
            {"op": "fill", "tile": "c", "value": "0.0"},
            {"op": "for", "var": "k", "from": "0", "to": "2", "step": "1", "kind": "pipelined", "body": [
                {"op": "copy", "from": {"name": "A", "at": ["0:", "0:"]}, "to": "a",
                 "schedule": {"vector_bytes": "0"}},
                {"op": "gemm", "a": "a", "b": "a", "c": "c", "transpose_b": True, "schedule": {"k_pack": "0"}}]},
            {"op": "copy", "from": "c", "to": "C[0:, 0:]"}]}]}
NAME = "n" * 900000
STRANGE = {"newline": "\n", "end of comment": "*/", "quote": '"', "trigraph": "??/", "format": "%n",
           "include": '#include "x"', "null": "\0", "backslash": "\\", "long": NAME}
PRINTABLE = sorted(set(STRANGE) - {"newline", "null", "long"})
TEXTS = {"text", "print"}  # what people read, in which printable characters stand for themselves
HUGE = b"n" * (10 << 20)
SIZES = {"N": 64}


# With dynamic N, of which all asserts hold for 1.
PRINTING = {"kiln": "tile/1", "name": "printing", "symbols": {"N": {"dynamic": True, "max": 1}},
            "params": [{"name": "X", "dtype": "i32", "shape": [16], "access": "readwrite"}],
            "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": [
                {"op": "print", "text": "@", "values": ["N"]},
                {"op": "map", "index": ["i"], "extent": [16], "body": [
                    {"print": "@", "values": ["X[i]"], "where": "i == 0"},
                    {"assert": "N == 1 || i > 1", "text": "@"}, {"set": "X[i]", "value": "1"}]}]}]}


def strings(value, at=""):
    """Pointers to all strings: a member's value, or its name where names are the program's own."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        here = "%s/%s" % (at, key)
        if at in ("/symbols", "/options", "/tunables"):
            yield here, True
        if isinstance(item, str):
            yield here, False
        yield from strings(item, here)


def replaced(pointer, is_name, text):
    """The program with `text` there. A name keeps its place among the others."""
    program = copy.deepcopy(WHOLE)
    *path, last = pointer.split("/")[1:]
    container = program
    for step in path:
        container = container[int(step) if isinstance(container, list) else step]
    if is_name:
        members = [(text if name == last else name, value) for name, value in container.items()]
        container.clear()
        container.update(members)
    else:
        container[int(last) if isinstance(container, list) else last] = text
    return program


SOFTMAX = {"program": "softmax", "set": {"M": 4, "N": 64}}


def requests(text):
    """With the text in every string, or name of a member, that a request has beside its program."""
    return [
        (text, {}), ("ping", {text: 1}), ("program.show", {"name": text}), ("kernel.compile", {"program": text}),
        ("kernel.compile", {"digest": text}), ("kernel.compile", dict(SOFTMAX, set={"M": text, "N": 64})),
        ("kernel.compile", dict(SOFTMAX, set={"M": 4, "N": 64, "dtype": text})),
        ("kernel.compile", dict(SOFTMAX, set={"M": 4, "N": 64, text: 1})),
        ("kernel.compile", dict(SOFTMAX, layouts={"x": text})),
        ("kernel.compile", dict(SOFTMAX, layouts={text: "auto"})),
        ("kernel.compile", dict(SOFTMAX, align={text: 4})), ("kernel.compile", dict(SOFTMAX, target=text)),
        ("kernel.compile", dict(SOFTMAX, device=text)), ("kernel.compile", dict(SOFTMAX, want=text)),
        ("kernel.load", {"key": text}), ("kernel.unload", {"key": text}), ("cache.evict", {"key": text}),
        ("kernel.launch", dict(SOFTMAX, args={text: 1})), ("kernel.launch", dict(SOFTMAX, args={}, capture=text)),
        ("kernel.launch", dict(SOFTMAX, args={}, symbols={text: 1})),
        ("kernel.launch", dict(SOFTMAX, args={}, switches={text: 1})),
        ("kernel.launch", dict(SOFTMAX, args={}, switches={"check": text}, device="host")),
        ("buffer.register", {"ipc": text, "device": "host", "offset": 0, "size": 1}),
        ("buffer.alloc", {"size": 1, "device": text}), ("event.import", {"ipc": text, "device": "host"}),
        ("tuning.list", {"record": text}), ("tuning.remove", {"record": text}), ("hello", {"protocol": text}),
        ("tuning.import", {"records": {"kiln": text, "records": []}})]


class Requests(WitnessedCase):
    config = {"workers_max": 1}

    def test_every_string_in_turn(self):
        for what, text in STRANGE.items():
            for method, params in requests(text):
                with self.subTest(what=what, method=method[:20], params=str(params)[:100]):
                    error = self.connection.call(method, params)["error"]
                    self.assertNotEqual(error["data"]["code"], "internal")
                    messages = [d["message"] for d in error["data"]["diagnostics"]]
                    for line in (error["message"], *error["data"]["context"], *messages):
                        self.assertFalse(any(ord(c) < 32 or ord(c) == 127 for c in line), line)
                        self.assertLess(len(line), 10000)

    def test_names_that_are_kept(self):
        """Of candidates: a record shows them to everybody."""
        for what, text in STRANGE.items():
            with self.subTest(what=what):
                request = dict(SOFTMAX, candidates=[{"name": text}], rounds_max=1)
                if what in PRINTABLE:
                    self.assertEqual(self.ok("kernel.tune", request)["winner"], text)
                    self.assertIn(text, [record["winner"] for record in self.ok("tuning.list")["records"]])
                else:
                    self.refused("invalid_argument", "/params/candidates/0/name: expected printable text",
                                 "kernel.tune", request)


class Strings(WitnessedCase):
    config = {"workers_max": 1}
    devices = ("host", CARD) if os.path.exists(LIBRARY) else ("host",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for target in TARGETS:  # it has no mistake
            request = {"program": WHOLE, "set": SIZES, "target": target}
            answer = cls.witnesses[0].connection.call("kernel.compile", request)
            if "result" not in answer:
                raise AssertionError(answer)
        for device in cls.devices:  # memory for what is printed stays
            witness = cls.witnesses[0]
            request = {"program": PRINTING, "device": device, "args": {"X": witness.arguments["Y"]}}
            request["symbols"] = {"N": 1}
            witness.connection.call("kernel.launch", request)

    def located(self, answer, what):
        error = answer["error"]
        data = error["data"]
        self.assertIn(data["code"], ("program_invalid", "parse_error"), what)
        self.assertTrue(data["diagnostics"], (what, error["message"][:300]))
        for text in (error["message"], *(d["message"] for d in data["diagnostics"])):
            self.assertFalse(any(ord(c) < 32 or ord(c) == 127 for c in text), (what, text[:300]))
            self.assertLess(len(text), 10000, what)
        self.assertTrue(all(d["pointer"].startswith("/") or d["pointer"] == "" for d in data["diagnostics"]), what)
        self.assertLess(len(json.dumps(answer)), 1 << 16, what)

    def test_every_string_in_turn(self):
        """Nothing is compiled: what has no mistake is not in the cache, or equal to what is, where the text is that of
        a statement that does nothing."""
        places = list(strings(WHOLE))
        self.assertGreater(len(places), 150)
        accepted = set()
        for pointer, is_name in places:
            for what, text in STRANGE.items():
                if self.is_accepted(replaced(pointer, is_name, text), (pointer, what)):
                    accepted.add((pointer.rpartition("/")[2], what))
        self.assertEqual(accepted, {(field, what) for field in TEXTS for what in PRINTABLE})

    def is_accepted(self, program, what):
        """On every target; what is a mistake for the reader is one on all of them."""
        for target in TARGETS:
            request = {"program": program, "set": SIZES, "target": target, "must_hit": True}
            answer = self.connection.call("kernel.compile", request)
            if "result" in answer or answer["error"]["data"]["code"] == "must_hit":
                continue
            self.located(answer, (what, target))
            if "specialized for" not in answer["error"]["message"]:
                return False
        return "result" in answer or answer["error"]["data"]["code"] == "must_hit"

    def test_every_string_of_10_mb(self):
        """No line is that long."""
        places = list(strings(WHOLE))
        for pointer, is_name in places:
            request = {"jsonrpc": "2.0", "id": 1, "method": "kernel.compile",
                       "params": {"program": replaced(pointer, is_name, "@"), "set": SIZES}}
            before, _, after = json.dumps(request).encode().partition(b'"@"')
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.service.socket)
                with self.assertRaises((BrokenPipeError, ConnectionResetError), msg=pointer):
                    client.sendall(before + b'"' + HUGE + b'"' + after + b"\n")
        self.assertEqual(self.service.log().count("a line over 1048576 bytes"), len(places))

    def check_texts(self, device):
        """Printable ones are printed as they are."""
        for text in (STRANGE[what] for what in PRINTABLE):
            program = json.loads(json.dumps(PRINTING).replace('"@"', json.dumps(text)))
            x = self.register(memfd(64))
            printed = self.ok("kernel.launch", {"program": program, "device": device, "args": {"X": x},
                                                "symbols": {"N": 1}})["printed"]
            self.assertEqual([record["text"] for record in printed], [text] * 2)
            request = {"program": program, "device": device, "args": {"X": x}, "symbols": {"N": 0}}
            error = self.refused("assertion_failed", text, "kernel.launch", request)
            self.assertEqual([record["text"] for record in error["data"]["failed"]], [text] * 2)

    def test_texts_on_the_host(self):
        self.check_texts("host")

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_texts_on_a_card(self):
        self.check_texts(CARD)


if __name__ == "__main__":
    unittest.main()
