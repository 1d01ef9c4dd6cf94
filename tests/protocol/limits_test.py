"""Every limit that `hello` names, exceeded once: what is told, to whom, and that others are served."""

import array
import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from deaths_test import ENDLESS, LONG
from hip import LIBRARY
from service import Service, until
from witness import Witness, memfd

CARD = "emu:gfx942"
PING = {"jsonrpc": "2.0", "method": "ping"}
# A limit's value here, and what else has to be set so that it is the first one that is met.
SETTINGS = {
    "line_bytes_max": (4096, {}), "depth_max": (12, {}), "nodes_max": (256, {}), "id_bytes_max": (16, {}),
    "connections_max": (3, {}), "requests_in_flight_max": (2, {"batch_max": 3}), "batch_max": (3, {}),
    "output_bytes_max": (65536, {}), "output_stall_ms_max": (100, {}), "fds_queued_max": (2, {}),
    "fds_unclaimed_ms_max": (100, {}), "fds_held_max": (2, {}), "buffers_max": (2, {}), "streams_max": (1, {}),
    "events_max": (1, {}), "plans_max": (1, {}), "plan_launches_max": (2, {}), "rings_max": (1, {}),
    "buffer_bytes_max": (8192, {}), "compiles_queued_max": (1, {}),
}
FIXED = {"log_bytes_max": 65536, "text_bytes_max": 1 << 20}


class Limits(unittest.TestCase):
    """A daemon for each limit; `value` is the limit's."""

    def exceed(self, name, exceeded):
        self.value, more = SETTINGS[name]
        with Service(config={"workers_max": 1, "limits": {name: self.value, **more}}) as self.service:
            witness = Witness(self.service)
            self.connection = self.service.connect()
            hello = self.connection.call("hello")["result"]
            self.assertEqual(hello["limits"][name], self.value)
            self.number = hello["connection"]
            exceeded()
            witness.launch()
            self.assertTrue(self.service.alive())
            self.connection.close()
            witness.close()

    def told(self, answer, code, words, retryable=False):
        self.assertIn("error", answer)
        self.assertEqual(answer["error"]["data"]["code"], code, answer)
        self.assertIn(words, answer["error"]["message"])
        self.assertEqual(answer["error"]["data"]["retryable"], retryable)

    def expected(self, answer, words):
        self.assertIn(words, answer["error"]["data"]["diagnostics"][0]["expected"])

    def lives_on(self):
        self.assertEqual(self.connection.call("ping")["result"], {})

    def dropped(self, reason):
        try:
            while self.connection.line() is not None:
                pass
        except BrokenPipeError:
            pass
        until(lambda: "c%d (pid" % self.number in self.service.log(), what="the reason in the log")
        self.assertIn("closed: " + reason, self.service.log())

    def send_rudely(self, data):
        try:
            self.connection.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send_fds(self, count, data=b" "):
        fds = [memfd(64) for _ in range(count)]
        self.connection.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        for fd in fds:
            os.close(fd)

    def register(self):
        fd = memfd(64)
        try:
            return self.connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])
        finally:
            os.close(fd)

    # ---- one for each ----

    def line_bytes_max(self):
        text = json.dumps(dict(PING, id=1)).encode()
        self.connection.send(text + b" " * (self.value - len(text)))
        self.assertEqual(self.connection.answer()["result"], {})
        self.send_rudely(text + b" " * (self.value - len(text) + 1) + b"\n")
        self.dropped("a line over 4096 bytes")

    def depth_max(self):
        for depth, told in ((self.value - 2, "invalid_argument"), (self.value - 1, "parse_error")):
            value = 0
            for _ in range(depth):
                value = [value]
            answer = self.connection.call("ping", {"x": value})
            self.assertEqual(answer["error"]["data"]["code"], told)
        self.told(answer, "parse_error", "nested too deeply")
        self.expected(answer, "at most 12 levels")
        self.lives_on()

    def nodes_max(self):
        self.told(self.connection.call("ping", {"x": [0] * 200}), "invalid_argument", "/params/x")
        answer = self.connection.call("ping", {"x": [0] * 256})
        self.told(answer, "parse_error", "too many values")
        self.expected(answer, "at most 256")
        self.lives_on()

    def id_bytes_max(self):
        self.assertEqual(self.connection.call("ping", id="i" * 16)["result"], {})
        self.told(self.connection.call("ping", id="i" * 17), "protocol_error", "at most 16 bytes")
        self.lives_on()

    def connections_max(self):
        others = [self.service.connect()]
        self.assertEqual(others[0].call("ping")["result"], {})
        others.append(self.service.connect())
        self.told(others[1].answer(), "busy", "3 connections are open", True)
        self.assertIsNone(others[1].line())
        until(lambda: "connections are refused: 3 are open" in self.service.log(), what="the reason in the log")
        for other in others:
            other.close()
        self.lives_on()

    def requests_in_flight_max(self):
        """Two run, three wait, and the sixth has no place."""
        args = {name: {"buffer": self.connection.call("buffer.alloc", {"size": 64})["result"]["buffer"]}
                for name in "XY"}
        endless = {"program": ENDLESS, "set": {"N": LONG}, "args": args}
        for number in range(2):
            self.connection.send({"jsonrpc": "2.0", "id": number, "method": "kernel.launch", "params": endless})
        for number in range(2, 6):
            self.connection.send(dict(PING, id=number))
        answer = self.connection.answer()
        self.assertEqual(answer["id"], 5)
        self.told(answer, "busy", "more than 2 requests in flight and 3 waiting", True)
        for number in range(2):
            self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": number}})
        self.assertEqual({self.connection.answer()["id"] for _ in range(5)}, set(range(5)))
        for fd in self.connection.fds:
            os.close(fd)
        self.lives_on()

    def batch_max(self):
        self.connection.send([dict(PING, id=number) for number in range(3)])
        self.assertEqual(len(self.connection.answer()), 3)
        self.connection.send([dict(PING, id=number) for number in range(4)])
        self.told(self.connection.answer(), "protocol_error", "a batch holds 1 to 3 requests, found 4")
        self.lives_on()

    def output_bytes_max(self):
        self.send_rudely(b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n' * 300)
        until(lambda: "c%d (pid" % self.number in self.service.log(), what="the reason in the log")
        self.dropped("the client does not read: unsent output over the limit")

    def output_stall_ms_max(self):
        self.send_rudely(b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n' * 40)
        until(lambda: "c%d (pid" % self.number in self.service.log(), what="the reason in the log")
        self.dropped("the client does not read: no progress for 100 ms")

    def fds_queued_max(self):
        self.send_fds(2, json.dumps(dict(PING, id=1, fds=2)).encode() + b"\n")
        self.assertEqual(self.connection.answer()["result"], {})
        self.connection.send(dict(PING, id=1, fds=3))
        self.told(self.connection.answer(), "protocol_error", "/fds")
        self.send_fds(3)
        self.dropped("more than 2 descriptors queued")

    def fds_unclaimed_ms_max(self):
        self.send_fds(1)
        self.dropped("descriptors that no request took")

    def fds_held_max(self):
        held = [self.register()["result"]["buffer"] for _ in range(2)]
        self.told(self.register(), "resource_limit", "holds 2 descriptors")
        self.connection.call("buffer.unregister", {"buffer": held[0]})
        self.assertIn("result", self.register())

    def buffers_max(self):
        held = [self.register()["result"]["buffer"] for _ in range(2)]
        self.told(self.register(), "resource_limit", "this connection has 2 buffers")
        self.told(self.connection.call("buffer.alloc", {"size": 64}), "resource_limit", "this connection has 2 buffers")
        self.connection.call("buffer.unregister", {"buffer": held[0]})
        self.assertIn("result", self.register())

    def streams_max(self):
        stream = self.connection.call("stream.create")["result"]["stream"]
        self.told(self.connection.call("stream.create"), "resource_limit", "this connection has 1 streams")
        self.assertIn("result", self.connection.call("stream.release", {"stream": stream}))
        self.assertIn("result", self.connection.call("stream.create"))

    def events_max(self):
        if not os.path.exists(LIBRARY):
            return  # built without LLVM: no emulated card, and no event
        event = self.connection.call("event.export", {"device": CARD})["result"]["event"]
        answer = self.connection.call("event.export", {"device": CARD})
        self.told(answer, "resource_limit", "this connection has 1 events")
        self.assertIn("result", self.connection.call("event.release", {"event": event}))
        self.assertIn("result", self.connection.call("event.export", {"device": CARD}))

    def plan(self, launches):
        args = [{"buffer": self.register()["result"]["buffer"]} for _ in "XY"]
        launch = {"program": ENDLESS, "set": {"N": 1}, "args": args}
        return self.connection.call("plan.create", {"launches": [launch] * launches})

    def plans_max(self):
        plan = self.plan(1)["result"]["plan"]
        self.told(self.plan(1), "resource_limit", "this connection has 1 plans")
        self.assertIn("result", self.connection.call("plan.release", {"plan": plan}))
        self.assertIn("result", self.plan(1))

    def plan_launches_max(self):
        self.assertIn("result", self.plan(2))
        answer = self.plan(3)
        self.told(answer, "invalid_argument", "/params/launches")
        self.expected(answer, "2")

    def rings_max(self):
        ring = self.connection.call("ring.create")["result"]["ring"]
        self.told(self.connection.call("ring.create"), "resource_limit", "this connection has 1 rings")
        self.assertIn("result", self.connection.call("ring.release", {"ring": ring}))
        self.assertIn("result", self.connection.call("ring.create"))
        for fd in self.connection.fds:
            os.close(fd)

    def buffer_bytes_max(self):
        """Of all clients: the witness has 512 of them. More than that is never possible; a part of it later."""
        first = self.connection.call("buffer.alloc", {"size": 4096})["result"]["buffer"]
        words = "all clients' buffers together may have 8192 bytes; 4608 are taken"
        self.told(self.connection.call("buffer.alloc", {"size": 4096}), "resource_limit", words, True)
        self.told(self.connection.call("buffer.alloc", {"size": 8193}), "resource_limit", words)
        self.connection.call("buffer.unregister", {"buffer": first})
        self.assertIn("result", self.connection.call("buffer.alloc", {"size": 4096}))
        for fd in self.connection.fds:
            os.close(fd)

    def compiles_queued_max(self):
        """One is compiled, one waits; of ten the others have no place."""
        batch = [{"jsonrpc": "2.0", "id": n, "method": "kernel.compile",
                  "params": {"program": "softmax", "set": {"M": 2, "N": n}}} for n in range(100, 110)]
        self.connection.send(batch)
        refused = [answer for answer in self.connection.answer() if "error" in answer]
        self.assertTrue(refused)
        for answer in refused:
            self.told(answer, "busy", "compiles", True)
        self.lives_on()

    # ---- all of them ----

    def test_each(self):
        for name in SETTINGS:
            with self.subTest(limit=name):
                self.exceed(name, getattr(self, name))

    def test_hello_names_no_other(self):
        with Service() as service:
            connection = service.connect()
            limits = connection.call("hello")["result"]["limits"]
            connection.close()
        self.assertEqual(set(limits), set(SETTINGS) | set(FIXED))
        self.assertEqual({name: limits[name] for name in FIXED}, FIXED)

    def test_emitted_text(self):
        """A program of less than a line whose text in the compiler's language is more than 1 MiB."""
        maps = [{"op": "map", "index": ["i"], "extent": [64], "body": [{"set": "Y[i]", "value": "Y[i] * %d" % k}]}
                for k in range(6000)]
        program = {"kiln": "tile/1", "name": "wordy",
                   "params": [{"name": "Y", "dtype": "i32", "shape": [64], "access": "readwrite"}],
                   "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": maps}]}
        with Service() as service:
            witness, connection = Witness(service), service.connect()
            for target in ("host", "gfx942"):
                with self.subTest(target=target):
                    answer = connection.call("kernel.compile", {"program": program, "target": target})
                    self.told(answer, "resource_limit", "1 MiB")
            witness.launch()
            connection.close()
            witness.close()


if __name__ == "__main__":
    unittest.main()
