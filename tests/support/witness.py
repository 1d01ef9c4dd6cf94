"""What tests of hostile clients share: somebody else on the same daemon who is served rightly all along, and a look at
what the daemon and its device processes hold, which is as before when the hostile ones are gone."""

import collections
import mmap
import os
import re
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import Service, until

SEALABLE = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
COUNT = 64
TRIPLED = {"kiln": "tile/1", "name": "tripled",
           "params": [{"name": "X", "dtype": "i32", "shape": [COUNT], "access": "read"},
                      {"name": "Y", "dtype": "i32", "shape": [COUNT], "access": "write"}],
           "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": [
               {"op": "map", "index": ["i"], "extent": [COUNT], "body": [{"set": "Y[i]", "value": "X[i] * 3 + 1"}]}]}]}


def memfd(size, flags=SEALABLE):
    fd = os.memfd_create("test", flags)
    os.ftruncate(fd, size)
    return fd


def shared_file(size):
    """A file under /dev/shm, which has no name any more: memory whose seals are sealed."""
    path = "/dev/shm/kiln-test-%d" % os.getpid()
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    os.ftruncate(fd, size)
    return fd


def children(pid):
    """Processes that `pid` has started: {pid: name}."""
    found = {}
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                for child in map(int, file.read().split()):
                    with open("/proc/%d/comm" % child) as name:
                        found[child] = name.read().strip()
        except OSError:
            pass
    return found


def device_processes(pid):
    """Of a daemon: {pid: name}."""
    return {child: name for child, name in children(pid).items() if name.startswith("kiln-device")}


def command(pid):
    with open("/proc/%d/cmdline" % pid) as file:
        return file.read().replace("\0", " ").strip()


def kind(target):
    """What a descriptor is, without the numbers that tell it from others of its kind."""
    return re.sub(r"\[\d+\]|(?<=kiln-worker-)\w+", "", target)


def footprint(pid):
    """What a process holds: descriptors and mapped files by kind, and how many threads it has; but for a card's, whose
    streams keep theirs for the next launch."""
    held = collections.Counter()
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            held["descriptor " + kind(os.readlink("/proc/%d/fd/%s" % (pid, fd)))] += 1
        except FileNotFoundError:  # closed meanwhile
            pass
    with open("/proc/%d/maps" % pid) as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if fields[4] != "0":  # a file's
                held["mapping " + fields[5].strip()] += 1
    if "kiln-device-hip" not in command(pid):
        held["threads"] = len(os.listdir("/proc/%d/task" % pid))
    return held


def difference(now, before):
    """What there is more or less of; of folders of compile workers, which end when they like, only more."""
    return {name: now[name] - before[name] for name in now | before
            if now[name] != before[name] and not ("kiln-worker-" in name and now[name] < before[name])}


class Witness:
    """A client with two buffers, whose launches have to be right."""

    def __init__(self, service, device="host"):
        self.connection, self.device = service.connect(), device
        self.memory, self.arguments = {}, {}
        for name in "XY":
            fd = memfd(4 * COUNT)
            self.memory[name] = mmap.mmap(fd, 4 * COUNT)
            answer = self.connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])
            self.arguments[name] = {"buffer": answer["result"]["buffer"]}
            os.close(fd)
        self.number = 0
        self.launch()

    def launch(self):
        """Other numbers at each call, so that an old result is no right one."""
        self.number += 1
        values = [self.number * 1000 + i for i in range(COUNT)]
        self.memory["X"][:] = struct.pack("<64i", *values)
        request = {"program": TRIPLED, "device": self.device, "args": self.arguments}
        answer = self.connection.call("kernel.launch", request)
        if "result" not in answer:
            raise AssertionError("the witness was answered %r" % answer)
        if struct.unpack("<64i", self.memory["Y"][:]) != tuple(v * 3 + 1 for v in values):
            raise AssertionError("the witness got a wrong result")

    def close(self):
        self.connection.close()
        for memory in self.memory.values():
            memory.close()


class WitnessedCase(unittest.TestCase):
    """Tests on one daemon, `service`, with the settings `config`. After each one: witnesses on `devices` are served,
    no device process was lost, and the daemon and its device processes hold what they held before, once the test's
    connections are closed."""

    config = None
    devices = ("host",)

    @classmethod
    def setUpClass(cls):
        cls.service = Service(config=cls.config)
        cls.addClassCleanup(cls.service.__exit__)
        cls.witnesses = [Witness(cls.service, device) for device in cls.devices]
        for witness in cls.witnesses:
            cls.addClassCleanup(witness.close)
        devices = device_processes(cls.service.process.pid)
        # They answer before they close what they have mapped.
        until(lambda: not any(name.startswith("descriptor /memfd") for pid in devices for name in footprint(pid)),
              what="the device process to close the witness's descriptors")

    def processes(self):
        return [self.service.process.pid, *device_processes(self.service.process.pid)]

    def setUp(self):
        self.opened = []
        self.before = {pid: footprint(pid) for pid in self.processes()}
        self.connection = self.connect()

    def connect(self):
        self.opened.append(self.service.connect())
        return self.opened[-1]

    def tearDown(self):
        for connection in self.opened:
            connection.close()
            for fd in connection.fds:
                os.close(fd)
        self.assertTrue(self.service.alive(), self.service.log())
        for witness in self.witnesses:
            witness.launch()
        for pid, before in self.before.items():
            self.assertIn(pid, self.processes(), "a device process was lost\n" + self.service.log())
            try:
                until(lambda: not difference(footprint(pid), before), what="what was held to be given back")
            except AssertionError as error:
                raise AssertionError("%s: %s of %s" % (error, difference(footprint(pid), before), command(pid))) from None

    # ---- asking ----

    def ok(self, method, params=None, fds=(), connection=None):
        answer = (connection or self.connection).call(method, params, fds)
        self.assertIn("result", answer, answer)
        return answer["result"]

    def refused(self, code, words, method, params=None, fds=(), connection=None):
        """An error of this code whose message has these words."""
        answer = (connection or self.connection).call(method, params, fds)
        self.assertIn("error", answer, answer)
        self.assertEqual(answer["error"]["data"]["code"], code, answer["error"])
        self.assertIn(words, answer["error"]["message"])
        return answer["error"]

    def register(self, fd, connection=None, **more):
        """Takes the descriptor over. Gives the buffer as an argument."""
        try:
            return {"buffer": self.ok("buffer.register", dict({"fd": {"fd": 0}}, **more), [fd], connection)["buffer"]}
        finally:
            os.close(fd)

    def dropped(self, connection, reason):
        """Waits until the daemon has closed the connection, and finds the reason in its log."""
        while connection.line() is not None:
            pass
        number = self.numbers[connection]
        until(lambda: "c%d (pid" % number in self.service.log(), what="the log to tell of connection %d" % number)
        told = [line for line in self.service.log().splitlines() if "c%d (pid" % number in line]
        self.assertEqual(len(told), 1, told)
        self.assertIn("closed: " + reason, told[0])

    def numbered(self):
        """A new connection whose number in the log is known."""
        connection = self.connect()
        self.numbers = getattr(self, "numbers", {})
        self.numbers[connection] = self.ok("hello", connection=connection)["connection"]
        return connection
