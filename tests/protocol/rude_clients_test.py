"""Clients that do not read, do not end their lines, or send what is no request: each gets its answer or is dropped with
a logged reason, and somebody else is served all along."""

import collections
import json
import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import until
from witness import TRIPLED, WitnessedCase, footprint

DISCOVER = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n'  # its answer has some 20 KB


class NeverReads(WitnessedCase):
    config = {"limits": {"output_bytes_max": 65536, "output_stall_ms_max": 600000}}

    def test_unsent_output_has_a_limit(self):
        connection = self.numbered()
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while True:
                connection.socket.sendall(DISCOVER)
                self.witnesses[0].launch()
        self.dropped(connection, "the client does not read: unsent output over the limit")

    def test_also_when_it_never_sends_again(self):
        """All requests at once; the answers come by and by."""
        connection = self.numbered()
        connection.socket.sendall(DISCOVER * 300)
        until(lambda: "c%d (pid" % self.numbers[connection] in self.service.log(), what="it to be dropped")
        self.dropped(connection, "the client does not read: unsent output over the limit")


class ReadsNoMore(WitnessedCase):
    config = {"limits": {"output_stall_ms_max": 200}}

    def test_output_has_to_move(self):
        """Less than may be left unsent, but it stays there. Who reads what it asks for is not hurt meanwhile."""
        connection = self.numbered()
        connection.socket.sendall(DISCOVER * 40)
        while "c%d (pid" % self.numbers[connection] not in self.service.log():
            self.ok("rpc.discover")
        self.dropped(connection, "the client does not read: no progress for 200 ms")


class SlowLines(WitnessedCase):
    def test_many_that_never_end(self):
        """Each of 200 has said half of its line; then they end them, and each is answered."""
        line = b'{"jsonrpc":"2.0","id":%d,"method":"program.show","params":{"name":"softmax"}}\n'
        lines = [line % i for i in range(200)]
        slow = [self.connect() for _ in lines]
        halves = [len(line) // 2 + i % 20 - 10 for i, line in enumerate(lines)]
        for connection, text, half in zip(slow, lines, halves):
            for at in range(half):
                connection.socket.send(text[at:at + 1])
        self.witnesses[0].launch()
        for connection, text, half in zip(slow, lines, halves):
            connection.socket.sendall(text[half:])
        for i, connection in enumerate(slow):
            answer = connection.answer()
            self.assertEqual((answer["id"], answer["result"]["name"]), (i, "softmax"))

    def test_one_that_is_too_long(self):
        connection = self.numbered()
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while True:
                connection.socket.sendall(b" " * 10000)
        self.dropped(connection, "a line over 1048576 bytes")

    def test_one_that_is_just_not_too_long(self):
        request = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        self.connection.send(request + b" " * ((1 << 20) - len(request)))
        self.assertEqual(self.connection.answer()["result"], {})


# ---- malformed lines ------------------------------------------------------------------------------------------------

SEED = int(os.environ.get("KILN_SEED", "1"))
LINES = int(os.environ.get("KILN_LINES", "100000"))
CHUNK = 200
COMPILED = {"program": "softmax", "set": {"M": 4, "N": 64}, "must_hit": True, "tuned": False}
WHOLE = {"program": TRIPLED, "must_hit": True}
BUFFERS = {"X": {"buffer": 1, "offset": 0}, "Y": {"buffer": 2}}
# One or more of every method, as they should be, but such that nothing is compiled.
REQUESTS = [
    ("hello", {"protocol": "1.0", "client": "rude"}), ("ping", {}), ("ping", {"deadline_ms": 1000}),
    ("rpc.discover", {}),
    ("program.check", {"program": TRIPLED}), ("program.check", dict(COMPILED, target="gfx942")), ("program.list", {}),
    ("program.show", {"name": "softmax"}), ("kernel.compile", COMPILED), ("kernel.compile", dict(WHOLE, want="fd")),
    ("kernel.compile", dict(COMPILED, target="gfx942:sramecc+:xnack-", layouts={"x": "pad:16"}, align={"X": 4})),
    ("kernel.compile", dict(WHOLE, explain_key=True, device="host")),
    ("kernel.prepare", {"kernels": [COMPILED, WHOLE]}),
    ("kernel.load", {"key": "0" * 64, "device": "host"}), ("kernel.launch", dict(WHOLE, args=BUFFERS)),
    ("kernel.launch", dict(WHOLE, args=[{"buffer": 1}, {"buffer": 2}], stream=1, wait=[1, 2], event=3)),
    ("kernel.launch", dict(WHOLE, args=BUFFERS, switches={"check": ["races"], "seed": 1}, symbols={"S": 3})),
    ("kernel.verify", dict(COMPILED, args=BUFFERS)),
    ("kernel.profile", dict(COMPILED, args=BUFFERS, seeds={"X": 1})),
    ("kernel.explain", dict(WHOLE)), ("kernel.explain", {"key": "0" * 64}), ("kernel.list", {}),
    ("kernel.tune", {"program": "softmax", "set": {"M": 4, "N": 64}, "candidates": [], "rounds_max": 1}),
    ("tuning.list", {"record": "0" * 64}), ("tuning.remove", {"record": "0" * 64}),
    ("kernel.unload", {"key": "0" * 64}),
    ("tuning.import", {"records": {"kiln": "tuning/1", "records": []}, "force": True}), ("buffer.list", {}),
    ("buffer.register", {"fd": {"fd": 0}, "offset": 0, "size": 64}), ("buffer.alloc", {"size": 64}),
    ("buffer.register", {"ipc": "00" * 64, "device": "host", "offset": 0, "size": 64}), ("stream.create", {}),
    ("buffer.unregister", {"buffer": 3}), ("event.import", {"ipc": "00" * 64, "device": "host"}),
    ("event.export", {"device": "host"}), ("event.release", {"event": 1}), ("stream.synchronize", {"stream": 0}),
    ("stream.cancel", {"stream": 1}), ("stream.release", {"stream": 1}), ("cache.stats", {}),
    ("cache.list", {"limit": 2}),
    ("cache.verify", {}), ("cache.evict", {"entries_max": 1000, "bytes_max": 1 << 40}), ("engine.stats", {}),
    ("engine.connections", {}), ("engine.metrics", {}),
    ("cache.export", {"keys": ["0" * 64], "programs": ["softmax"], "targets": ["host"]}), ("cache.import", {"fd": {"fd": 0}}),
    ("plan.create", {"launches": [dict(WHOLE, args=BUFFERS), dict(COMPILED, args=BUFFERS)]}),
    ("plan.create", {"launches": [{"key": "0" * 64, "args": [{"buffer": 1}, 2], "symbols": {"S": 3}}], "device": "host"}),
    ("plan.run", {"plan": 1, "stream": 1}), ("plan.run", {"plan": 1}), ("plan.release", {"plan": 1}),
    ("ring.create", {"device": "host", "slots": 4}), ("ring.attach", {"ring": 1, "plan": 1}),
    ("ring.release", {"ring": 1}),
    ("device.list", {"device": "host"}), ("$/cancel", {"id": 1})]
NOT_SENT = {"shutdown"}
VALUES = [json.dumps(value) for value in (
    None, True, False, 0, -1, 1.5, 1e300, 1 << 52, 1 << 53, -(1 << 63), 1 << 64, "", "x", "\0", "\n", "\ud800",
    "é" * 40, "a" * 5000, [], {}, [[]], [None] * 300, {"": ""}, {"fd": 0}, {"buffer": 1}, [{}], "[" * 200, "9" * 400)]
RAW = [b"1e999", b"-0", b"01", b"NaN", b"Infinity", b"0x10", b"'a'", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\x00",
       b"\r", b"\x1b[2J", b"//", b"/**/", b"[" * 100, b"{" * 100, b'"\\u12"', b'"\\x"', b'"\\ud800\\u0041"',
       b"\xef\xbb\xbf", b",", b":", b"}", b"]", b"\\"]


def places(value, found=None):
    """Every (container, key) inside."""
    found = [] if found is None else found
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found.append((value, key))
        places(item, found)
    return found


class Lines:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.texts = [json.dumps(params) for _, params in REQUESTS]

    def request(self, number):
        at = self.random.randrange(len(REQUESTS))
        return {"jsonrpc": "2.0", "id": number, "method": REQUESTS[at][0], "params": json.loads(self.texts[at])}

    def change(self, request):
        """A member gets another value, another name, or goes."""
        container, key = self.random.choice(places(request))
        kind = self.random.randrange(6)
        if kind < 3:
            container[key] = json.loads(self.random.choice(VALUES))
        elif kind == 3:
            container[key] = self.request(0)["params"]
        elif kind == 4 or isinstance(container, list):
            del container[key]
        else:
            names = ("", "x", "\0", key + " ", key.upper(), "program", "fds")
            container[self.random.choice(names)] = container.pop(key)

    def damage(self, line):
        """Bytes are flipped, inserted, doubled, or go."""
        at, kind = self.random.randrange(len(line)), self.random.randrange(6)
        end = min(len(line), at + self.random.randrange(1, 20))
        if kind == 0:
            return line[:at] + bytes([self.random.randrange(256)]) + line[at + 1:]
        if kind == 1:
            return line[:at] + line[end:]
        if kind == 2:
            return line[:end] + line[at:]
        if kind == 3:
            return line[:at]
        return line[:at] + self.random.choice(RAW) + line[at + (kind == 4):]

    def line(self, number):
        request = self.request(number)
        ways = self.random.randrange(4)
        for _ in range(self.random.randrange(1, 4) if ways < 2 else 0):
            self.change(request)
        if self.random.random() < 0.05:
            request = [request, self.request(number), json.loads(self.random.choice(VALUES))][:self.random.randrange(4)]
        line = json.dumps(request).encode()
        for _ in range(self.random.randrange(1, 5) if ways in (1, 2) else 0):
            line = self.damage(line) or b" "
        return line.replace(b"\n", b" ")


class MalformedLines(WitnessedCase):
    config = {"workers_max": 1, "limits": {"buffers_max": 8}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        connection = cls.service.connect()  # what a line may happen to start is there before
        buffers = {name: {"buffer": connection.call("buffer.alloc", {"size": 4096})["result"]["buffer"]}
                   for name in "XY"}
        connection.call("kernel.verify", {"program": TRIPLED, "args": buffers})
        connection.call("kernel.compile", {"program": "softmax", "set": {"M": 4, "N": 64}})
        connection.call("kernel.compile", dict(COMPILED, target="gfx942"))
        connection.call("device.list")
        connection.close()
        for fd in connection.fds:
            os.close(fd)
        client = cls.witnesses[0].connection
        until(lambda: client.call("engine.stats")["result"]["server"]["connections"] == 1, what="it to be gone")
        until(lambda: not any("kiln-buffer" in name for name in footprint(cls.service.process.pid)),
              what="its buffers to go")

    def test_every_method_is_among_them(self):
        methods = {method["name"] for method in self.ok("rpc.discover")["methods"]}
        self.assertEqual(methods - {name for name, _ in REQUESTS}, NOT_SENT)

    def ask(self, lines, number):
        """Sends lines and a ping; gives the answers up to the ping's. Others may still be on their way then, fewer than
        may be in flight: with the next lines they do not fill what may wait."""
        end = "end of %d" % number
        data = b"\n".join([*lines, json.dumps({"jsonrpc": "2.0", "id": end, "method": "ping"}).encode(), b""])
        sender = threading.Thread(target=self.connection.socket.sendall, args=(data,))
        sender.start()
        answers = []
        while not answers or answers[-1].get("id") != end:
            answer = self.connection.answer()
            self.assertIsNotNone(answer, "the connection was closed")
            answers += answer if isinstance(answer, list) else [answer]
        sender.join()
        self.assertEqual(answers.pop()["result"], {})
        return answers

    def check(self, answer, counts):
        self.assertEqual(answer["jsonrpc"], "2.0")
        self.assertEqual(("error" in answer) + ("result" in answer), 1, answer)
        if "error" not in answer:
            counts["result"] += 1
            return
        error = answer["error"]
        counts[error["data"]["code"]] += 1
        self.assertNotIn("requests in flight", error["message"], "it was not looked at")
        texts = [error["message"], *error["data"]["context"], *(d["message"] for d in error["data"]["diagnostics"])]
        for text in texts:
            self.assertFalse(any(ord(c) < 32 or ord(c) == 127 for c in text), repr(text))

    def test_lines(self):
        lines, counts = Lines(SEED), collections.Counter()
        again = "KILN_SEED=%d KILN_LINES=%d %s %s MalformedLines.test_lines" % (SEED, LINES, sys.executable, __file__)
        for first in range(0, LINES, CHUNK):
            chunk = [lines.line(number) for number in range(first, min(first + CHUNK, LINES))]
            try:
                for answer in self.ask(chunk, first):
                    self.check(answer, counts)
            except (AssertionError, OSError, ValueError) as error:
                raise AssertionError("%s\nin lines %d to %d of\n%s" % (error, first, first + CHUNK, again)) from error
            if first % (50 * CHUNK) == 0:
                self.witnesses[0].launch()
        self.assertGreaterEqual(set(counts), {"result", "parse_error", "protocol_error", "method_not_found",
                                              "invalid_argument", "program_invalid", "not_found"}, again)
        ours = {"internal", "corrupt", "worker_died", "device_lost", "compile_failed", "io_error"}
        self.assertEqual({code: counts[code] for code in ours & set(counts)}, {}, again)


if __name__ == "__main__":
    unittest.main()
