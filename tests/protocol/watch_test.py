"""What an operator sees: engine.connections, `kiln ps`, `kiln top`, and the log's names of requests."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from deaths_test import ENDLESS, LONG, children
from service import BIN, Service, until

# The first compile of each worker stops its process.
HELD = ["/usr/bin/env", "KILN_FAILPOINTS=compile:1:STOP", os.path.join(BIN, "kiln-compile-host")]
SOFTMAX = {"program": "softmax", "set": {"M": 4, "N": 100}}


def stopped(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


class WatchCase(unittest.TestCase):
    def serve(self, *arguments, **settings):
        service = Service(*arguments, **settings)
        self.addCleanup(service.__exit__)
        return service

    def connect(self, service):
        connection = service.connect()
        self.addCleanup(connection.close)
        return connection

    def rows(self, connection):
        return connection.call("engine.connections")["result"]["connections"]


class Connections(WatchCase):
    def test_what_they_hold_and_what_runs(self):
        service = self.serve()
        watcher, worker = self.connect(service), self.connect(service)
        x, y = (worker.call("buffer.alloc", {"size": 4096})["result"]["buffer"] for _ in "xy")
        key = worker.call("kernel.compile", {"program": ENDLESS, "set": {"N": LONG}})["result"]["key"]
        worker.send({"jsonrpc": "2.0", "id": "mine", "method": "kernel.launch",
                     "params": {"key": key, "args": [{"buffer": x}, {"buffer": y}]}})
        mine = until(lambda: [r for r in self.rows(watcher) if r["running"] and r["buffers"] == 2], what="the launch")[0]
        self.assertEqual((mine["pid"], mine["uid"], mine["buffer_bytes"], mine["requests"]), (os.getpid(), os.getuid(), 8192, 4))
        (running,) = mine["running"]
        self.assertEqual((running["id"], running["method"], running["subject"]), ("mine", "kernel.launch", key[:12]))
        until(lambda: [r for row in self.rows(watcher) for r in row["running"] if r["id"] == "mine"][0]["state"] == "working")
        self.assertEqual(running["request"].split(".")[0], "c%d" % mine["connection"])
        own = [r for row in self.rows(watcher) for r in row["running"] if r["method"] == "engine.connections"]
        self.assertEqual(len(own), 1)

        text = service.kiln("ps", check=0).stdout
        self.assertRegex(text, r"c%d +%d +\S+ .* 4 +2 +8 KiB +1 +0 +1\n" % (mine["connection"], os.getpid()))
        self.assertRegex(text, r"%s +%d +kernel.launch +%s .* working" % (running["request"], os.getpid(), key[:12]))
        self.assertNotIn("engine.connections", text)
        worker.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": "mine"}})
        self.assertEqual(worker.answer()["error"]["data"]["code"], "cancelled")
        worker.close()
        until(lambda: len(self.rows(watcher)) == 1, what="the other's end")

    def test_who_waits_for_a_compile(self):
        service = self.serve(config={"worker_host": HELD})
        watcher, first, second = (self.connect(service) for _ in range(3))
        first.send({"jsonrpc": "2.0", "id": 1, "method": "kernel.compile", "params": SOFTMAX})
        (pid,) = until(lambda: [p for p in children(service.process.pid, "kiln-compile-host") if stopped(p)], what="a held worker")
        second.send({"jsonrpc": "2.0", "id": 2, "method": "kernel.compile", "params": SOFTMAX})
        stages = lambda: {r["id"]: r["stage"] for row in self.rows(watcher) for r in row["running"] if r["method"] == "kernel.compile"}
        until(lambda: stages() == {1: "compiling", 2: "joined a compile of the same kernel"}, what="both")
        text = service.kiln("ps", check=0).stdout
        self.assertRegex(text, r"kernel.compile +softmax .* compiling")
        self.assertRegex(text, r"kernel.compile +softmax .* joined a compile of the same kernel")
        os.kill(pid, signal.SIGCONT)
        for connection in (first, second):
            line = connection.line()
            while "result" not in line:  # progress may stand before it
                self.assertEqual(line.get("method"), "$/progress", line)
                line = connection.line()

    def test_without_a_daemon_none_is_started(self):
        service = self.serve()
        service.stop()
        for command in (["ps"], ["top", "--count", "1"]):
            self.assertIn("no daemon", service.kiln(*command, check=3).stderr)
        self.assertIn("error", json.loads(service.kiln("--json", "ps", check=3).stdout))


class Top(WatchCase):
    def test_looks_and_rates(self):
        service = self.serve()
        connection = self.connect(service)
        connection.call("kernel.compile", SOFTMAX)
        text = service.kiln("top", "--count", "2", "--interval", "0.05", check=0).stdout
        self.assertEqual(len(re.findall(r"^requests \d+", text, re.M)), 2)
        self.assertRegex(text, r"compiles 1 \(0/s\)")
        self.assertNotIn("\033", text)
        lines = service.kiln("--json", "top", "--count", "2", "--interval", "0.05", check=0).stdout.splitlines()
        self.assertEqual([sorted(json.loads(line)) for line in lines], [["connections", "stats"]] * 2)
        service.kiln("top", "--interval", "0", check=2)


class Logs(WatchCase):
    def setUp(self):
        self.service = self.serve()
        self.path = os.path.join(self.service.folder, "state", "kiln", "kilnd.log")

    def write(self, text, mode="a"):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, mode) as file:
            file.write(text)

    def test_the_last_lines_and_those_of_a_request(self):
        self.assertIn("logs to its standard error", self.service.kiln("daemon", "logs", check=1).stderr)
        self.write("".join("line %d of c1.r%d\n" % (n, n) for n in range(100)))
        lines = self.service.kiln("daemon", "logs", check=0).stdout.splitlines()
        self.assertEqual((len(lines), lines[0], lines[-1]), (50, "line 50 of c1.r50", "line 99 of c1.r99"))
        self.assertEqual(self.service.kiln("daemon", "logs", "-n", "1", check=0).stdout, "line 99 of c1.r99\n")
        self.assertEqual(self.service.kiln("daemon", "logs", "--request", "c1.r9", check=0).stdout, "line 9 of c1.r9\n")
        said = self.service.kiln("--json", "daemon", "logs", "-n", "1", check=0).stdout
        self.assertEqual(json.loads(said), {"line": "line 99 of c1.r99"})

    def test_following_it_into_the_next_file(self):
        self.write("first\n")
        process = subprocess.Popen([os.path.join(BIN, "kiln"), "--socket", self.service.socket, "daemon", "logs", "-f"],
                                   env=self.service.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "first\n")
        self.write("sec")
        self.write("ond\n")
        self.assertEqual(process.stdout.readline(), "second\n")
        os.rename(self.path, self.path + ".1")
        self.write("third\n")
        self.assertEqual(process.stdout.readline(), "third\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 0)


class LogLines(WatchCase):
    def test_a_compile_has_the_name_of_its_request(self):
        service = self.serve()
        connection = self.connect(service)
        key = connection.call("kernel.compile", SOFTMAX)["result"]["key"]
        number = connection.call("hello")["result"]["connection"]
        self.assertRegex(service.log(), r"info c%d\.r\d+ compiled softmax for host\S* in \d+ ms, key %s" % (number, key))
        before = service.log()
        connection.call("kernel.compile", SOFTMAX)
        connection.call("kernel.compile", {"program": "nothing"})
        self.assertEqual(service.log(), before, "neither a hit nor a client's mistake is worth a line")

    def test_trouble_of_the_daemons_own_is_warned_of(self):
        service = self.serve(config={"worker_host": ["/bin/false"]})
        connection = self.connect(service)
        self.assertIn("error", connection.call("kernel.compile", SOFTMAX))
        self.assertRegex(service.log(), r"warning c\d+\.r\d+ \(pid %d\) kernel.compile softmax failed in .*: (no_compiler|worker_died), " % os.getpid())

    def test_every_request_where_that_is_asked_for(self):
        service = self.serve("--log-level", "debug")
        connection = self.connect(service)
        connection.call("ping")
        connection.call("nothing\nat all")
        self.assertRegex(service.log(), r"debug c\d+\.r\d+ \(pid %d\) ping answered in [0-9.]+ ms\n" % os.getpid())
        self.assertRegex(service.log(), r"debug c\d+\.r\d+ \(pid %d\) nothing\S+at all failed in .*: method_not_found, " % os.getpid())
        for line in service.log().splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\S+ \d+ \w+ ", "one line each, whatever clients say")


if __name__ == "__main__":
    unittest.main()
