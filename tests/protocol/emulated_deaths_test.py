"""Device processes of emulated cards that die: by the machine's hand, in a launch and while they read an object, which is where
LLVM's decoder would take one along. The daemon lives, says why, and the next request has a new process."""

import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from deaths_test import ENDLESS, LONG, children
from service import BIN, ConnectedCase, until

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
CARD = "emu:gfx942"


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class EmulatedDeaths(ConnectedCase):
    def compile(self, n):
        answer = self.connection.call("kernel.compile", {"program": ENDLESS, "set": {"N": n}, "target": "gfx942"})
        if answer.get("error", {}).get("data", {}).get("code") == "no_compiler":
            self.skipTest("no hipRTC")
        self.assertIn("result", answer, answer)
        return answer["result"]["key"]

    def launch(self, n):
        args = {name: {"buffer": self.connection.call("buffer.alloc", {"size": 64})["result"]["buffer"]} for name in "XY"}
        return {"key": self.compile(n), "device": CARD, "args": args}

    def card(self):
        return until(lambda: children(self.service.process.pid, "kiln-device-hip"), what="the card's process")

    def launches(self):
        return self.other.call("engine.stats")["result"]["service"]["launches"]

    def is_lost(self, answer, reason):
        self.assertEqual(answer["error"]["data"]["code"], "device_lost", answer)
        self.assertTrue(answer["error"]["data"]["retryable"], answer)
        self.assertIn(reason, json.dumps(answer["error"]))

    def test_in_a_launch(self):
        short = self.launch(3)
        for sent, reason in ((signal.SIGKILL, "signal 9"), (signal.SIGSEGV, "signal 11")):
            with self.subTest(reason):
                launches = self.launches()
                self.connection.send({"jsonrpc": "2.0", "id": "long", "method": "kernel.launch", "params": self.launch(LONG)})
                until(lambda: self.launches() > launches, what="the launch to start")
                for pid in self.card():
                    os.kill(pid, sent)
                self.is_lost(self.connection.answer(), reason)
                self.assertTrue(self.service.alive())
                self.assertIn("result", self.connection.call("kernel.launch", short))

    def test_while_it_reads_an_object(self):
        self.assertIn("result", self.connection.call("kernel.launch", self.launch(3)))  # the process is there
        key = self.compile(4)
        for pid in self.card():
            os.kill(pid, signal.SIGSTOP)
        self.connection.send({"jsonrpc": "2.0", "id": 7, "method": "kernel.load", "params": {"key": key, "device": CARD}})
        self.assertEqual(self.other.call("ping")["result"], {})  # the daemon answers others meanwhile
        for pid in self.card():
            os.kill(pid, signal.SIGSEGV)
            os.kill(pid, signal.SIGCONT)
        self.is_lost(self.connection.answer(), "signal 11")
        self.assertIn("result", self.connection.call("kernel.load", {"key": key, "device": CARD}))
        self.assertIn("result", self.connection.call("kernel.launch", self.launch(4)))

    def test_a_deadline_takes_nothing_along(self):
        self.assertIn("result", self.connection.call("kernel.launch", self.launch(3)))
        pids = self.card()
        endless = dict(self.launch(LONG), deadline_ms=100)
        self.assertEqual(self.connection.call("kernel.launch", endless)["error"]["data"]["code"], "deadline_exceeded")
        self.assertIn("result", self.connection.call("kernel.launch", self.launch(3)))
        self.assertEqual(self.card(), pids)


if __name__ == "__main__":
    unittest.main()
