"""A daemon of a test's own: socket, cache and settings in a temporary folder; and a raw connection to it."""

import array
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("KILN_BIN", os.path.join(ROOT, "build", "bin"))
sys.path.insert(0, os.path.join(ROOT, "api", "python"))
os.environ["KILN_DAEMON"] = os.path.join(BIN, "kilnd")


def until(condition, seconds=30.0, what="the condition"):
    """Waits for a state that another process reaches; the bound only ends a hopeless wait."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("gave up waiting for " + what)
        time.sleep(0.005)


class Service:
    """A running kilnd. Use as a context manager. `descriptors_max`: how many it and its children may have open."""

    def __init__(self, *arguments, cache=None, config=None, environment=None, socket=None, descriptors_max=None):
        self.descriptors_max = descriptors_max
        self.folder = tempfile.mkdtemp(prefix="kiln-test-")
        self.socket = socket or os.path.join(self.folder, "run", "kiln.sock")
        self.cache = cache or os.path.join(self.folder, "cache")
        self.environment = dict(os.environ, XDG_CONFIG_HOME=os.path.join(self.folder, "config"),
                                XDG_STATE_HOME=os.path.join(self.folder, "state"), **(environment or {}))
        if config is not None:
            os.makedirs(os.path.join(self.folder, "config", "kiln"))
            with open(os.path.join(self.folder, "config", "kiln", "config.json"), "w") as file:
                json.dump(config, file)
        self.log_path = os.path.join(self.folder, "kilnd.log")
        self.arguments = list(arguments)
        self.process = None
        self.start()

    def start(self):
        reading, writing = os.pipe()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "kilnd"), "--socket", self.socket, "--cache", self.cache, "--ready-fd", str(writing), *self.arguments],
                pass_fds=(writing,), env=self.environment, stderr=log, stdout=log,
                preexec_fn=self.limit_descriptors if self.descriptors_max else None)
        os.close(writing)
        with os.fdopen(reading) as ready:
            said = ready.readline().strip()
        if said != "ready":
            self.process.wait()
            raise AssertionError("kilnd did not start: %r\n%s" % (said, self.log()))

    def limit_descriptors(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors_max, self.descriptors_max))

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def connect(self):
        return Raw(self.socket)

    def client(self):
        import kiln
        return kiln.connect(self.socket, auto_start=False)

    def kiln(self, *arguments, check=None, stdin=None):
        """Runs the command line against this daemon."""
        done = subprocess.run([os.path.join(BIN, "kiln"), "--socket", self.socket, "--cache", self.cache, "--no-start", *arguments],
                              env=self.environment, capture_output=True, text=True, input=stdin)
        if check is not None and done.returncode != check:
            raise AssertionError("kiln %s: status %d, wanted %d\n%s%s" % (" ".join(arguments), done.returncode, check, done.stdout, done.stderr))
        return done

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        if self.process and self.alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                return self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("kilnd did not end on SIGTERM\n" + self.log()) from None
        return self.process.returncode if self.process else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class Raw:
    """A socket, line by line, without the client library's manners."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.buffer = b""
        self.fds = []

    def send(self, data, fds=()):
        if isinstance(data, (dict, list)):
            data = json.dumps(data)
        if isinstance(data, str):
            data = data.encode()
        data += b"\n"
        if fds:
            sent = self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
            data = data[sent:]
        self.socket.sendall(data)

    def line(self):
        """The next line's value, or None at end of file."""
        while b"\n" not in self.buffer:
            try:
                data, control, _, _ = self.socket.recvmsg(1 << 16, socket.CMSG_SPACE(64 * 4))
            except ConnectionResetError:
                return None
            for level, kind, payload in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    got = array.array("i")
                    got.frombytes(payload)
                    self.fds.extend(got)
            if not data:
                return None
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def answer(self):
        """The next line that is no progress."""
        while True:
            value = self.line()
            if not (isinstance(value, dict) and value.get("method") == "$/progress"):
                return value

    def call(self, method, params=None, fds=(), id=1):
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        if fds:
            request["fds"] = len(fds)
        self.send(request, fds)
        return self.answer()

    def close(self):
        self.socket.close()


def contains(got, want):
    """Whether `got` has everything that `want` names: objects by member, lists by position, the rest equal."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and contains(got[k], v) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(got) >= len(want) and all(contains(g, w) for g, w in zip(got, want))
    return got == want and isinstance(got, bool) == isinstance(want, bool)


class ServiceCase(unittest.TestCase):
    """Tests that share one daemon, `service`."""

    @classmethod
    def setUpClass(cls):
        cls.service = Service()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()


class ConnectedCase(unittest.TestCase):
    """Each test has a daemon of its own, `service`, and two connections to it, `connection` and `other`."""

    def setUp(self):
        self.service = Service()
        self.connection = self.service.connect()
        self.other = self.service.connect()

    def tearDown(self):
        self.connection.close()
        self.other.close()
        self.service.__exit__()
