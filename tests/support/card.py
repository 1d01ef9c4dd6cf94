"""What tests of a card's memory, events and streams share: a daemon with an emulated card, and this process with another one's
memory."""

import ctypes
import os
import subprocess
import sys
import unittest

from hip import LIBRARY, Handle, Hip
from service import Service, until

SUPPORT = os.path.dirname(os.path.abspath(__file__))

DEVICE = "emu:gfx942"
ROWS, COLUMNS = 4, 64
COUNT = ROWS * COLUMNS
SIZE = COUNT * 4
SOFTMAX = {"program": "softmax", "set": {"M": ROWS, "N": COLUMNS}, "device": DEVICE}
VALUES = [float(i % 9 - 4) for i in range(COUNT)]


def stat_fields(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(")")[2].split()


def children(pid):
    """Processes of a daemon by name: {pid: command line}."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if int(stat_fields(int(name))[1]) == pid:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    found[int(name)] = file.read().decode(errors="replace")
        except (OSError, IndexError):
            pass
    return found


def environment(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


class Owner:
    """A second process with memory, and an event that is recorded behind a kernel that does not end."""

    def __init__(self, count=COUNT):
        self.process = subprocess.Popen([sys.executable, os.path.join(SUPPORT, "hip.py"), str(count)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.memory, self.event = self.process.stdout.readline().split()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class CardCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hip = Hip()
        cls.service = Service()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def setUp(self):
        self.connection = self.connect()
        until(lambda: self.memory_used() == 0, what="the memory of earlier connections")

    def connect(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        return connection

    def ok(self, method, params=None, connection=None, fds=()):
        answer = (connection or self.connection).call(method, params, fds)
        self.assertIn("result", answer, answer)
        return answer["result"]

    def refused(self, code, method, params=None, connection=None):
        answer = (connection or self.connection).call(method, params)
        self.assertIn("error", answer, answer)
        self.assertEqual(answer["error"]["data"]["code"], code, answer["error"])
        return answer["error"]

    def register(self, memory, size=SIZE, offset=0, connection=None, device=DEVICE):
        handle = memory if isinstance(memory, str) else self.hip.memory_handle(memory)
        return self.ok("buffer.register", {"ipc": handle, "device": device, "offset": offset, "size": size}, connection)["buffer"]

    def import_event(self, event, connection=None):
        handle = event if isinstance(event, str) else self.hip.event_handle(event)
        return self.ok("event.import", {"ipc": handle, "device": DEVICE}, connection)["event"]

    def operands(self, connection=None):
        """X and Y of a softmax in this process's memory of the card: (pointer of Y, arguments)."""
        x, y = self.hip.floats(VALUES), self.hip.floats([-1.0] * COUNT)
        return y, {"X": {"buffer": self.register(x, connection=connection)}, "Y": {"buffer": self.register(y, connection=connection)}}

    def assert_softmax(self, y):
        got = self.hip.read_floats(y, COUNT)
        for row in range(ROWS):
            self.assertAlmostEqual(sum(got[row * COLUMNS:(row + 1) * COLUMNS]), 1.0, places=4)
        self.assertLess(max(got), 0.2)

    def device_processes(self):
        return {pid for pid, line in children(self.service.process.pid).items() if "kiln-device-hip" in line and "gfx942" in environment(pid)}

    def memory_used(self):
        return self.ok("engine.stats")["service"]["buffer_bytes"]

    def event_from(self, text):
        event = ctypes.c_void_p()
        self.hip.call("hipIpcOpenEventHandle", ctypes.byref(event), Handle.of(text))
        return event
