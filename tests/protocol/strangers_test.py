"""Two clients of one daemon: whatever mistake one makes, its errors hold nothing of the other's programs, names and
files."""

import json
import os
import re
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from hip import LIBRARY
from service import Service, until
from witness import SEALABLE, device_processes, shared_file

CARD = "emu:gfx942"
HAS_CARD = os.path.exists(LIBRARY)
OTHERS = "zebra"  # in every name that the first client makes

# The dynamic size decides how long it runs.
PROGRAM = {
    "kiln": "tile/1", "name": "zebra_program", "symbols": {"zebra_s": {"dynamic": True}},
    "options": {"zebra_option": {"type": "name", "default": "zebra_word", "choices": ["zebra_word", "zebra_other"]}},
    "params": [{"name": "zebra_x", "dtype": "f32", "shape": [16], "access": "read"},
               {"name": "zebra_y", "dtype": "f32", "shape": [16], "access": "write"}],
    "tunables": {"zebra_t": {"default": "16", "candidates": [16]}},
    "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": [
        {"op": "alloc", "name": "zebra_tile", "space": "fragment", "dtype": "f32", "shape": ["zebra_t"]},
        {"op": "copy", "from": "zebra_x[0:]", "to": "zebra_tile"},
        {"op": "print", "text": "zebra text", "values": ["zebra_tile[0]"]},
        {"op": "for", "var": "zebra_k", "to": "zebra_s", "body": [
            {"op": "map", "index": ["zebra_i"], "extent": [16], "body": [
                {"set": "zebra_tile[zebra_i]", "value": "sqrt(abs(zebra_tile[zebra_i])) + 1.0"}]}]},
        {"op": "copy", "from": "zebra_tile", "to": "zebra_y[0:]"}]}]}
LONG = (1 << 31) - 1


def renamed():
    """The same computation: all names are the second client's own, but those that are part of the key."""
    return json.loads(re.sub("zebra_(?!program)", "own_", json.dumps(PROGRAM)))


class First:
    """Has buffers, files, kernels, a tuning record, streams and events, and launches that do not end."""

    def __init__(self, service):
        self.connection = service.connect()
        self.ok("hello", {"client": "zebra_client"})
        self.args = {name: {"buffer": self.memory()} for name in ("zebra_x", "zebra_y")}
        copied = shared_file(64)
        self.register(copied)
        with tempfile.TemporaryDirectory(prefix="zebra_folder") as folder:
            with open(os.path.join(folder, "zebra_file"), "wb+") as file:
                file.truncate(64)
                self.connection.call("buffer.register", {"fd": {"fd": 0}}, [file.fileno()])
        self.ok("kernel.tune", {"program": PROGRAM, "set": {"zebra_s": 1}, "rounds_max": 1})
        self.launches = [self.endless("host")]
        if HAS_CARD:
            self.ok("stream.create")
            self.event = self.ok("event.export", {"device": CARD})["event"]
            self.launches.append(self.endless(CARD))

    def ok(self, method, params=None, fds=()):
        answer = self.connection.call(method, params, fds)
        if "result" not in answer:
            raise AssertionError(answer)
        return answer["result"]

    def register(self, fd):
        try:
            return self.ok("buffer.register", {"fd": {"fd": 0}}, [fd])["buffer"]
        finally:
            os.close(fd)

    def memory(self):
        fd = os.memfd_create("zebra_memory", SEALABLE)
        os.ftruncate(fd, 4096)
        return self.register(fd)

    def endless(self, device):
        launches = self.ok("engine.stats")["service"]["launches"]
        request = {"program": PROGRAM, "set": {"zebra_s": LONG}, "args": self.args, "device": device}
        self.ok("kernel.compile", {name: request[name] for name in ("program", "device")})
        if device != "host":
            request["stream"] = 1
        self.connection.send({"jsonrpc": "2.0", "id": device, "method": "kernel.launch", "params": request})
        while True:  # its answers come in any order: this one's is not there yet
            self.connection.send({"jsonrpc": "2.0", "id": "stats", "method": "engine.stats"})
            answer = self.connection.answer()
            if answer["id"] != "stats":
                raise AssertionError(answer)
            if answer["result"]["service"]["launches"] > launches:
                return device


class StrangersCase(unittest.TestCase):
    """One daemon and one first client for all tests; each has a second client of its own."""

    @classmethod
    def setUpClass(cls):
        cls.service = Service(config={"limits": {"buffer_bytes_max": 1 << 20, "fds_held_max": 8, "streams_max": 1}})
        cls.addClassCleanup(cls.service.__exit__)
        cls.first = First(cls.service)
        cls.addClassCleanup(cls.first.connection.close)

    def setUp(self):
        self.second = self.service.connect()
        self.addCleanup(self.second.close)
        self.heard = []

    def answer(self, method, params=None, fds=()):
        """Progress counts: it is heard too."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        self.second.send(dict(request, fds=len(fds)) if fds else request, fds)
        while True:
            line = self.second.line()
            self.heard.append(json.dumps(line))
            if "method" not in line:
                return line

    def silent(self, method, params=None, fds=()):
        """An error, in which nothing is the other's."""
        self.heard.clear()
        answer = self.answer(method, params, fds)
        self.assertIn("error", answer, (method, params, answer))
        for line in self.heard:
            self.assertNotIn(OTHERS, line, (method, params))
        return answer["error"]["data"]["code"]

    def own(self, **more):
        program = renamed()
        program["name"] = "own_program"
        return dict({"program": program}, **more)

    def buffer(self):
        fd = os.memfd_create("own", SEALABLE)
        os.ftruncate(fd, 64)
        buffer = self.answer("buffer.register", {"fd": {"fd": 0}}, [fd])["result"]["buffer"]
        os.close(fd)
        return {"buffer": buffer}


class Mistakes(StrangersCase):
    def test_what_is_not_theirs(self):
        """Names and numbers that the other has."""
        args = {"own_x": {"buffer": 3}, "own_y": {"buffer": 2}}
        codes = [self.silent(*request) for request in (
            ("buffer.unregister", {"buffer": 1}), ("stream.release", {"stream": 1}),
            ("stream.cancel", {"stream": 1}), ("stream.synchronize", {"stream": 1}),
            ("event.release", {"event": 1}), ("kernel.unload", {"key": "0" * 64}),
            ("kernel.launch", self.own(args=args, set={"own_s": 1})), ("kernel.load", {"key": "0" * 64}),
            ("kernel.launch", self.own(args=args, stream=1)), ("kernel.launch", self.own(args=args, event=1)),
            ("kernel.verify", self.own(args={}, set={"own_s": 1})), ("kernel.explain", {"key": "0" * 64}),
            ("tuning.list", {"record": "0" * 64}), ("tuning.remove", {"record": "0" * 64}),
            ("kernel.compile", {"digest": "0" * 64}), ("program.show", {"name": "zebr"}),
            ("kernel.compile", {"program": "zebr"}), ("kernel.compile", {"program": "gemm", "device": "zebr"}))]
        self.assertLessEqual(set(codes), {"not_found", "invalid_argument", "unknown_target"}, codes)

    def test_what_does_not_fit(self):
        fd = os.memfd_create("own", SEALABLE)
        os.ftruncate(fd, 2 << 20)
        self.assertEqual(self.silent("buffer.register", {"fd": {"fd": 0}}, [fd]), "resource_limit")
        os.close(fd)
        self.assertEqual(self.silent("buffer.alloc", {"size": 1 << 21}), "resource_limit")
        x, y = self.buffer(), self.buffer()
        args = {"own_x": x, "own_y": x}
        self.assertEqual(self.silent("kernel.launch", self.own(args=args, set={"own_s": 1})), "invalid_argument")
        args = {"own_x": x, "own_y": dict(y, offset=32)}
        self.assertEqual(self.silent("kernel.launch", self.own(args=args, set={"own_s": 1})), "invalid_argument")
        fds = [os.memfd_create("own", SEALABLE) for _ in range(6)]
        for fd in fds:
            os.ftruncate(fd, 64)
            self.answer("buffer.register", {"fd": {"fd": 0}}, [fd])
        self.assertEqual(self.silent("buffer.register", {"fd": {"fd": 0}}, [fds[0]]), "resource_limit")
        for fd in fds:
            os.close(fd)

    def test_wrong_programs(self):
        for change in ({"name": "a b"}, {"tunables": {}}, {"options": 3}, {"launches": []}, {"params": []}, {"zeb": 1}):
            program = dict(renamed(), **change)
            self.assertEqual(self.silent("kernel.compile", {"program": program}), "program_invalid")
        for more in ({"set": {"own": 1}}, {"set": {"own_t": 1 << 40}}, {"layouts": {"own": "auto"}}, {"target": "gfx1"},
                     {"align": {"own": 4}}):
            self.silent("kernel.compile", self.own(**more))

    def test_the_same_computation_by_other_names(self):
        """A hit of the other's kernel: what is said about it is said in one's own names."""
        mine = renamed()
        compiled = self.answer("kernel.compile", {"program": mine})["result"]
        self.assertTrue(compiled["cached"])
        self.assertEqual([t["name"] for t in compiled["tensors"]], ["own_x", "own_y"])
        self.assertEqual([s["name"] for s in compiled["symbols"]], ["own_s"])
        x, y = self.buffer(), self.buffer()
        for what in ({"key": compiled["key"]}, {"program": mine}):
            for args, symbols in (({}, {}), ({}, {"own_s": 1}), ({"own_x": x}, {"own_s": 1}),
                                  ({"own_x": x, "own_y": x}, {"own_s": 1}), ({"own_x": x, "own_y": y}, {"own_s": -1}),
                                  ({"own_x": x, "own_y": y}, {"own": 1}),
                                  ({"own_x": x, "own_y": y, "own": y}, {"own_s": 1}),
                                  ({"own_x": x, "own_y": dict(y, offset=4)}, {"own_s": 1})):
                code = self.silent("kernel.launch", dict(what, args=args, symbols=symbols))
                self.assertEqual(code, "invalid_argument")
        request = {"program": mine, "args": {"own_x": x, "own_y": y}, "symbols": {"own_s": 5}}
        self.assertNotIn("zebra_", json.dumps(self.answer("kernel.verify", request)).replace("zebra_program", ""))

    def test_what_shows_them_is_no_error(self):
        """Kernels and tuning records are the user's, whoever made them; buffers are not."""
        methods = ("kernel.list", "tuning.list", "buffer.list", "engine.stats", "cache.stats", "cache.list", "hello",
                   "device.list")
        shown = {method for method in methods if OTHERS in json.dumps(self.answer(method))}
        self.assertEqual(shown, {"kernel.list", "tuning.list"})


class Losses(StrangersCase):
    def test_late_and_lost(self):
        """Beside the other's launches, on the devices where these run."""
        x, y = self.buffer(), self.buffer()
        for device in self.first.launches:
            request = self.own(args={"own_x": x, "own_y": y}, set={"own_s": LONG}, device=device)
            code = self.silent("kernel.launch", dict(request, deadline_ms=300))
            self.assertEqual(code, "deadline_exceeded")
        launches = self.answer("engine.stats")["result"]["service"]["launches"]
        self.heard.clear()
        self.second.send({"jsonrpc": "2.0", "id": 7, "method": "kernel.launch", "params": dict(request, device="host")})
        other = self.service.connect()
        until(lambda: other.call("engine.stats")["result"]["service"]["launches"] > launches, what="the launch")
        other.close()
        for pid in device_processes(self.service.process.pid):
            os.kill(pid, signal.SIGKILL)
        answer = self.second.answer()
        self.assertEqual(answer["error"]["data"]["code"], "device_lost")
        self.assertNotIn(OTHERS, json.dumps(answer))
        lost = [self.first.connection.answer() for _ in self.first.launches]
        self.assertEqual({a["error"]["data"]["code"] for a in lost}, {"device_lost"})


@unittest.skipUnless(HAS_CARD, "built without LLVM: no emulated card")
class Findings(StrangersCase):
    def test_findings_on_a_card(self):
        """A race that the emulated card finds names kernel and place; an assertion that fails its program's text."""
        x, y = self.buffer(), self.buffer()
        wrong = renamed()
        wrong["name"] = "own_program"
        wrong["launches"][0]["body"].insert(2, {"op": "assert", "condition": "own_s == 3", "text": "own assertion"})
        args = {"own_x": x, "own_y": y}
        request = {"program": wrong, "args": args, "symbols": {"own_s": 2}, "device": CARD}
        self.assertEqual(self.silent("kernel.launch", dict(request, deadline_ms=60000)), "assertion_failed")
        budget = dict(request, symbols={"own_s": 3}, switches={"budget": 10}, deadline_ms=300)
        self.assertIn(self.silent("kernel.launch", budget), ("launch_failed", "busy", "deadline_exceeded"))
        self.first.connection.close()  # nobody else is on the card now
        self.assertEqual(self.silent("kernel.launch", dict(budget, deadline_ms=60000)), "launch_failed")


del StrangersCase

if __name__ == "__main__":
    unittest.main()
