"""How requests and the daemon end: descriptors of whole batches, requests that wait, notifications, the process without a daemon."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from deaths_test import ENDLESS, LONG
from service import BIN, ConnectedCase, until


class Endings(ConnectedCase):
    def launches(self):
        return self.other.call("engine.stats")["result"]["service"]["launches"]

    def launch(self, **more):
        """Sends a launch without an end, and waits until it is on the device."""
        x, y = ({"buffer": self.connection.call("buffer.alloc", {"size": 64})["result"]["buffer"]} for _ in "xy")
        launches = self.launches()
        self.connection.send(dict({"jsonrpc": "2.0", "method": "kernel.launch",
                                   "params": {"program": ENDLESS, "set": {"N": LONG}, "args": {"X": x, "Y": y}}}, **more))
        until(lambda: self.launches() > launches, what="the launch to start")

    def ended_by_sigterm(self):
        self.service.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.process.wait(timeout=60), 0)

    def test_each_descriptor_of_a_batch_arrives(self):
        kernels = [{"program": "softmax", "set": {"M": 4, "N": 100}}, {"program": "rmsnorm", "set": {"M": 4, "N": 100}}]
        for kernel in kernels:
            self.assertIn("result", self.connection.call("kernel.compile", kernel))
        batch = []
        for i in range(150):
            params = dict(kernels[i % 2], **({} if i % 5 == 4 else {"want": "fd"}))
            batch.append({"jsonrpc": "2.0", "id": i, "method": "kernel.compile" if i % 7 else "buffer.list", "params": params if i % 7 else {}})
        self.connection.send(batch)
        answers = self.connection.answer()
        self.assertEqual(sorted(a["id"] for a in answers), list(range(150)))
        objects = [a["result"]["object"] for a in answers if "object" in a["result"]]
        self.assertEqual(len(objects), sum(1 for i in range(150) if i % 5 != 4 and i % 7))
        self.assertGreater(len(objects), 64)
        self.assertEqual([o["fd"] for o in objects], [0] * len(objects))
        self.assertEqual([os.fstat(fd).st_size for fd in self.connection.fds], [o["bytes"] for o in objects])
        for fd in self.connection.fds:
            self.assertEqual(os.pread(fd, 4, 0), b"\x7fELF")
            os.close(fd)

    def test_requests_that_wait_for_others_in_flight(self):
        self.launch(id="long")
        for i in range(64):
            self.connection.send({"jsonrpc": "2.0", "id": i, "method": "buffer.unregister", "params": {"buffer": 1}})
        ping = {"jsonrpc": "2.0", "id": "cancelled", "method": "ping"}
        self.connection.send(ping)
        self.connection.send(dict(ping, id="late", params={"deadline_ms": 20}))
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": "cancelled"}})
        codes = {}
        for _ in range(2):
            answer = self.connection.answer()
            codes[answer["id"]] = answer["error"]["data"]["code"]
        self.assertEqual(codes, {"cancelled": "cancelled", "late": "deadline_exceeded"})
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": "long"}})
        self.assertEqual({self.connection.answer()["id"] for _ in range(65)}, {"long", *range(64)})

    def test_a_notification_does_not_outlive_its_connection(self):
        self.launch()
        self.connection.close()
        self.ended_by_sigterm()

    def test_an_id_in_flight_is_refused(self):
        self.launch(id="a")
        self.assertEqual(self.connection.call("ping", id="a")["error"]["data"]["code"], "protocol_error")
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": "a"}})
        self.assertEqual(self.connection.answer()["error"]["data"]["code"], "cancelled")
        self.launch(id="a")
        self.connection.close()
        self.ended_by_sigterm()

    def test_without_a_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(20):
                done = subprocess.run([os.path.join(BIN, "kiln"), "--no-daemon", "--cache", folder, "--json", "run", "softmax", "--set", "M=4", "N=100"],
                                      capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, "run %d: %s%s" % (i, done.stdout, done.stderr))
                json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
