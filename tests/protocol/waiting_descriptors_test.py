"""Descriptors that make whoever closes them, or asks about them, wait: sockets that linger, and a file of a file system
that does not answer. Nobody else waits with them."""

import array
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import silent_files
from card import stat_fields
from service import Service, until
from witness import WitnessedCase

LINGER_S = 600


class Lingering:
    """TCP sockets with data that their other ends do not read: to close the last descriptor of one takes LINGER_S, or
    until end()."""

    def __init__(self, count):
        self.others, self.fds = [], []
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            for _ in range(count):
                one = socket.create_connection(listener.getsockname())
                self.others.append(listener.accept()[0])
                one.setblocking(False)
                try:
                    while True:
                        one.send(bytes(1 << 16))
                except BlockingIOError:
                    pass
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
                self.fds.append(one.detach())

    def send(self, connection, data, daemon):
        """They are the daemon's alone when it looks at them: else it would be us who close the last one."""
        os.kill(daemon, signal.SIGSTOP)
        until(lambda: stat_fields(daemon)[0] == "T", what="the daemon to stop")
        try:
            *before, last = data
            for part in before:
                connection.socket.sendall(part)
            message = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", self.fds))]
            connection.socket.sendmsg([last], message)
            for fd in self.fds:
                os.close(fd)
        finally:
            os.kill(daemon, signal.SIGCONT)

    def end(self):
        for other in self.others:
            other.close()


class WaitingCase(WitnessedCase):
    config = {"limits": {"fds_unclaimed_ms_max": 200, "line_bytes_max": 4096}}

    def served(self):
        """Somebody else is, though they wait. The wait has a bound only because a daemon that hangs does not answer."""
        done = threading.Event()
        witness = threading.Thread(target=lambda: (self.witnesses[0].launch(), done.set()))
        witness.start()
        try:
            until(done.is_set, seconds=10, what="the witness to be served")
        finally:
            self.release()
            witness.join()


class LingeringSockets(WaitingCase):
    def release(self):
        self.lingering.end()

    def hand_over(self, count, *data, connection=None):
        """With the last part of the data."""
        self.lingering = Lingering(count)
        self.addCleanup(self.lingering.end)
        self.lingering.send(connection or self.connection, data, self.service.process.pid)

    def served_and_dropped(self, connection, reason):
        """The reason is told before anything is closed."""
        words = "c%d (pid" % self.numbers[connection]
        try:
            until(lambda: words in self.service.log(), what="the reason in the log")
        except AssertionError:
            self.release()
            raise
        self.served()
        self.dropped(connection, reason)

    def test_taken_by_a_request(self):
        self.hand_over(2, b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":2}\n')
        self.served()
        self.assertEqual(self.connection.answer()["result"], {})

    def test_that_should_be_memory(self):
        self.hand_over(1, b'{"jsonrpc":"2.0","id":1,"method":"buffer.register","params":{"fd":{"fd":0}},"fds":1}\n')
        self.served()
        self.assertIn("is no memory", self.connection.answer()["error"]["message"])

    def test_of_a_wrong_request(self):
        self.hand_over(1, b'{"jsonrpc":"2.0","id":1,"method":7,"fds":1}\n')
        self.served()
        self.assertIn("error", self.connection.answer())

    def test_that_nobody_claims(self):
        connection = self.numbered()
        self.hand_over(3, b" ", connection=connection)
        self.served_and_dropped(connection, "descriptors that no request took")

    def test_too_many(self):
        for count in (17, 100):
            with self.subTest(count=count):
                connection = self.numbered()
                self.hand_over(count, b" ", connection=connection)
                self.served_and_dropped(connection, "more than 16 descriptors queued")

    def test_of_a_connection_that_has_gone(self):
        connection = self.connect()
        self.hand_over(1, b" ", connection=connection)
        connection.close()
        self.served()

    def test_that_nobody_has_received(self):
        """They come behind a line that is too long, of which a part is read."""
        connection = self.numbered()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)  # nobody reads meanwhile
        self.hand_over(4, b" " * 70000, b" ", connection=connection)
        self.served_and_dropped(connection, "a line over 4096 bytes")


@unittest.skipUnless(silent_files.available(), "only root mounts file systems")
class SilentFiles(WaitingCase):
    def release(self):
        self.files.end()

    def test_nobody_asks_about_it(self):
        """Only to close it: then its file system is told."""
        self.files = silent_files.SilentFiles(self.service.process.pid)
        fd, answers = self.files.open(), []
        request = {"jsonrpc": "2.0", "id": 1, "method": "buffer.register", "params": {"fd": {"fd": 0}}, "fds": 1}
        self.connection.send(request, [fd])
        os.close(fd)
        reader = threading.Thread(target=lambda: answers.append(self.connection.answer()))
        reader.start()
        try:
            until(lambda: answers or self.files.asked, seconds=10, what="the answer")
            self.assertLessEqual(set(self.files.asked), {silent_files.FLUSH})
        finally:
            self.served()
            reader.join()
        self.assertIn("a file on disk", answers[0]["error"]["message"])


@unittest.skipUnless(silent_files.available(), "only root mounts file systems")
class SilentImports(unittest.TestCase):
    def test_nobody_else_waits(self):
        """They are read. Deadline, cancellation and the connection's end are answered meanwhile, and the long work of
        others goes on."""
        service = Service()
        self.addCleanup(service.__exit__)
        files = silent_files.SilentFiles(service.process.pid)
        self.addCleanup(files.end)
        clients = [service.connect() for _ in range(4)]
        for client in clients:
            self.addCleanup(client.close)
        gone, importer, worker, last = clients
        line = {"jsonrpc": "2.0", "method": "cache.import", "params": {"fd": {"fd": 0}}, "fds": 1}
        for client, id in ((gone, 1), (importer, 2), (importer, 3), (importer, 4), (importer, 5), (importer, 6)):
            fd = files.open()
            params = dict(line["params"], deadline_ms=100 if id == 2 else 600000)
            client.send(dict(line, id=id, params=params), [fd])
            os.close(fd)
        until(lambda: files.asked, what="somebody to ask about it")
        worker.socket.settimeout(10)
        self.assertIn("result", worker.call("cache.list"))
        answer = importer.answer()
        self.assertEqual((answer["id"], answer["error"]["data"]["code"]), (2, "deadline_exceeded"))
        for id in (6, 3, 4, 5):
            importer.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": id}})
            answer = importer.answer()
            self.assertEqual((answer["id"], answer["error"]["data"]["code"]), (id, "cancelled"))
        gone.close()
        with tempfile.TemporaryFile() as no_bundle:
            no_bundle.write(b"text" * 100)
            no_bundle.flush()
            last.socket.settimeout(10)
            answer = last.call("cache.import", {"fd": {"fd": 0}}, [no_bundle.fileno()])
        self.assertIn("no bundle", answer["error"]["message"])


del WaitingCase

if __name__ == "__main__":
    unittest.main()
