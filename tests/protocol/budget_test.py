"""What the daemon takes: memory, descriptors, threads and mappings stay as they are whatever comes and goes, and nothing
runs while nothing is asked. Times are not judged here (tests/bench)."""

import contextlib
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from nightly import by_day
from service import Service, until

CONNECTIONS = by_day(1000, 10000)  # one after the other
AT_ONCE = 256
IDLE_S = by_day(3, 60)
HIT = {"program": "softmax", "set": {"M": 4, "N": 100}}


class Use:
    """Of a process, now. Memory in KiB."""

    def __init__(self, pid):
        self.descriptors = len(os.listdir("/proc/%d/fd" % pid))
        with open("/proc/%d/maps" % pid) as file:
            self.mappings = sorted(" ".join(line.split()[1:2] + line.split()[5:]) for line in file)
        with open("/proc/%d/smaps_rollup" % pid) as file:
            self.private_dirty = [int(line.split()[1]) for line in file if line.startswith("Private_Dirty:")][0]
        self.switches, self.threads = 0, 0
        for thread in os.listdir("/proc/%d/task" % pid):
            self.threads += 1
            with open("/proc/%d/task/%s/status" % (pid, thread)) as file:
                self.switches += [int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches:")][0]


class Budget(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.__exit__)
        self.pid = self.service.process.pid

    def visit(self):
        """A client that says hello, hands memory over and asks for a kernel that is there."""
        connection = self.service.connect()
        connection.call("hello")
        fd = os.memfd_create("budget", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, 4096)
        self.assertIn("result", connection.call("buffer.register", {"fd": {"fd": 0}}, [fd]))
        os.close(fd)
        self.assertIn("result", connection.call("kernel.compile", HIT))
        return connection

    def alone(self):
        """The daemon's use when everybody has left."""
        with contextlib.closing(self.service.connect()) as watcher:
            until(lambda: len(watcher.call("engine.connections")["result"]["connections"]) == 1, what="the others to leave")
        until(lambda: not self.sockets(), what="the end of the last connection")
        return Use(self.pid)

    def sockets(self):
        """Connections that the daemon holds: sockets beside those it had when it started."""
        return len([1 for fd in os.listdir("/proc/%d/fd" % self.pid) if self.is_socket(fd)]) - self.own_sockets

    def is_socket(self, fd):
        try:
            return os.readlink("/proc/%d/fd/%s" % (self.pid, fd)).startswith("socket:")
        except OSError:
            return False

    def test_all_of_it(self):
        self.own_sockets = 0
        fresh = Use(self.pid)
        self.assertLess(fresh.private_dirty, 20 << 10)
        self.visit().close()  # compiles: a worker is there from now on
        for _ in range(50):
            self.visit().close()
        self.quiet()
        self.own_sockets = self.sockets()
        before = self.alone()
        for _ in range(CONNECTIONS):
            self.visit().close()
        self.same(before, self.alone(), "%d connections one after the other" % CONNECTIONS)
        crowd = [self.visit() for _ in range(AT_ONCE)]
        self.assertGreaterEqual(Use(self.pid).descriptors, before.descriptors + AT_ONCE)
        for connection in crowd:
            connection.close()
        self.same(before, self.alone(), "%d connections at once" % AT_ONCE)
        self.assertLess(Use(self.pid).private_dirty, 20 << 10)
        quiet = self.quiet()
        time.sleep(IDLE_S)
        self.assertEqual(Use(self.pid).switches, quiet.switches, "something ran while nothing was asked")

    def quiet(self):
        """Its use when what the last request left to do is done."""
        uses = [Use(self.pid)]

        def unchanged():
            time.sleep(0.05)
            uses.append(Use(self.pid))
            return uses[-1].switches == uses[-2].switches
        until(unchanged, what="the daemon to fall asleep")
        return uses[-1]

    def same(self, before, after, when):
        self.assertEqual(after.descriptors, before.descriptors, when)
        self.assertEqual(after.threads, before.threads, when)
        self.assertLessEqual(len(after.mappings), len(before.mappings), (when, before.mappings, after.mappings))
        until(lambda: Use(self.pid).private_dirty <= before.private_dirty + 1024, what="memory as before " + when)


if __name__ == "__main__":
    unittest.main()
