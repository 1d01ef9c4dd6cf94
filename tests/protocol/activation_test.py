"""Sockets that are handed over: systemd's activation and its notifications, and the end of an idle daemon."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Raw, until

KILND = os.path.join(BIN, "kilnd")


class Handed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kiln-handed-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = os.path.join(self.folder, "kiln.sock")
        self.log_path = os.path.join(self.folder, "log")
        self.environment = dict(os.environ, XDG_CONFIG_HOME=self.folder, XDG_STATE_HOME=self.folder)

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def listener(self, kind=socket.SOCK_STREAM):
        listening = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(listening.close)
        listening.bind(self.path)
        if kind == socket.SOCK_STREAM:
            listening.listen(16)
        return listening

    def start(self, descriptor, *arguments, count=1, environment=None):
        """kilnd with `descriptor` as number 3, as a service manager starts it."""
        words = ["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=%d exec "$0" "$@" 3<&%d' % (count, descriptor), KILND,
                 "--cache", os.path.join(self.folder, "cache"), *arguments]
        with open(self.log_path, "a") as log:
            process = subprocess.Popen(words, pass_fds=[descriptor], stderr=log, stdout=log, env=environment or self.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ping(self):
        connection = Raw(self.path)
        self.assertEqual(connection.call("ping")["result"], {})
        pid = connection.call("hello")["result"]["pid"]
        connection.close()
        return pid

    def test_served_until_idle_and_served_again(self):
        listening = self.listener()
        for _ in range(2):
            waiting = Raw(self.path)  # before there is anybody
            waiting.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
            process = self.start(listening.fileno(), "--idle-exit-s", "1")
            self.assertEqual(waiting.answer()["result"], {})
            waiting.close()
            self.assertEqual(self.ping(), process.pid)
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertTrue(stat.S_ISSOCK(os.lstat(self.path).st_mode), "it is not ours to remove")
        self.assertIn("serving %s, a socket that was passed" % self.path, self.log())
        self.assertIn("idle for 1 s: ending", self.log())
        self.assertFalse(os.path.exists(self.path + ".lock"))

    def test_what_systemd_itself_does(self):
        with open(self.log_path, "a") as log:
            process = subprocess.Popen(["systemd-socket-activate", "-l", self.path, KILND, "--cache",
                                        os.path.join(self.folder, "cache"), "--idle-exit-s", "1"],
                                       stderr=log, stdout=log, env=self.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: "Listening on " in self.log(), what="the socket")
        self.assertEqual(self.ping(), process.pid)
        self.assertEqual(process.wait(timeout=60), 0)

    def test_what_is_no_such_socket(self):
        pair = socket.socketpair()
        self.addCleanup(pair[0].close)
        self.addCleanup(pair[1].close)
        datagram = self.listener(socket.SOCK_DGRAM)
        with open("/dev/null") as null:
            for descriptor in (pair[0].fileno(), datagram.fileno(), null.fileno()):
                self.assertEqual(self.start(descriptor).wait(timeout=60), 1)
        self.assertEqual(self.log().count("descriptor 3 is no listening Unix stream socket"), 3)
        self.assertEqual(self.start(pair[0].fileno(), count=2).wait(timeout=60), 1)
        self.assertIn("2 sockets were passed, expected one", self.log())

    def test_another_processes_socket_is_not_ours(self):
        listening = self.listener()
        own = os.path.join(self.folder, "own", "kiln.sock")
        environment = dict(self.environment, LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        with open(self.log_path, "a") as log:
            process = subprocess.Popen([KILND, "--socket", own, "--cache", os.path.join(self.folder, "cache")],
                                       pass_fds=[listening.fileno()], stderr=log, stdout=log, env=environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: os.path.exists(own), what="a socket of its own")

    def test_the_manager_is_told(self):
        for name in (os.path.join(self.folder, "notify"), "\0kiln-notify-%d" % os.getpid()):
            ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(ear.close)
            ear.settimeout(60)
            ear.bind(name)
            environment = dict(self.environment, NOTIFY_SOCKET=name.replace("\0", "@"))
            own = os.path.join(self.folder, "own", "kiln.sock")
            with open(self.log_path, "a") as log:
                process = subprocess.Popen([KILND, "--socket", own, "--cache", os.path.join(self.folder, "cache")],
                                           stderr=log, stdout=log, env=environment)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            self.assertEqual(ear.recv(4096).decode(), "READY=1\nSTATUS=serving " + own)
            Raw(own).close()  # it serves
            process.terminate()
            self.assertEqual(ear.recv(4096).decode(), "STOPPING=1")
            self.assertEqual(process.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
