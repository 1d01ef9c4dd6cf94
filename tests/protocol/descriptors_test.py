"""Descriptors that a client sends: which are taken, which are refused, and that none stays open in the daemon."""

import array
import fcntl
import json
import os
import signal
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import until
from witness import COUNT, TRIPLED, WitnessedCase, memfd, shared_file

F_SEAL_WRITE, F_SEAL_FUTURE_WRITE = 8, 16  # linux/fcntl.h
REGISTER = {"jsonrpc": "2.0", "id": 1, "method": "buffer.register", "params": {"fd": {"fd": 0}}, "fds": 1}


class Pipes:
    """Writing ends to be sent: the reading ends tell when all of them are closed."""

    def __init__(self, count=1):
        ends = [os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK) for _ in range(count)]
        self.reading, self.writing = zip(*ends)

    def send(self, connection, data=b" "):
        message = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", self.writing))]
        connection.socket.sendmsg([data], message)
        self.given()

    def given(self):
        for fd in self.writing:
            os.close(fd)

    def closed(self):
        try:
            return all(os.read(fd, 1) == b"" for fd in self.reading)
        except BlockingIOError:
            return False

    def close(self):
        for fd in self.reading:
            os.close(fd)


class PipesCase(WitnessedCase):
    def pipes(self, count=1):
        pipes = Pipes(count)
        self.addCleanup(pipes.close)
        return pipes


class Unclaimed(PipesCase):
    """The time is short here, and nothing else that the daemon does depends on it."""

    config = {"limits": {"fds_unclaimed_ms_max": 200}}
    REASON = "descriptors that no request took"

    def test_they_close_the_connection(self):
        connection, pipes = self.numbered(), self.pipes(16)
        pipes.send(connection)
        self.dropped(connection, self.REASON)
        until(pipes.closed, what="the descriptors to be closed")

    def test_however_much_else_is_said(self):
        connection, pipes = self.numbered(), self.pipes()
        pipes.send(connection)
        try:
            while connection.call("ping") is not None:
                pass
        except BrokenPipeError:
            pass
        self.dropped(connection, self.REASON)
        until(pipes.closed, what="the descriptors to be closed")

    def test_also_the_one_too_many_of_a_request(self):
        connection, pipes = self.numbered(), self.pipes(2)
        pipes.send(connection, b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":1}\n')
        self.assertEqual(connection.answer()["result"], {})
        self.dropped(connection, self.REASON)
        until(pipes.closed, what="the descriptors to be closed")

    def test_also_those_of_a_line_that_is_no_json(self):
        connection, pipes = self.numbered(), self.pipes()
        pipes.send(connection, b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":1\n')
        self.assertEqual(connection.answer()["error"]["data"]["code"], "parse_error")
        self.dropped(connection, self.REASON)
        until(pipes.closed, what="the descriptors to be closed")

    def test_those_that_were_taken_do_not(self):
        """The connection outlives one that sent its descriptor later and was dropped for it."""
        connection, pipes = self.connection, self.pipes()
        pipes.send(connection, b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":1}\n')
        self.assertEqual(connection.answer()["result"], {})
        until(pipes.closed, what="the descriptors to be closed")
        late, other = self.numbered(), self.pipes()
        other.send(late)
        self.dropped(late, self.REASON)
        self.ok("ping")

    def test_also_the_connection_itself(self):
        """The daemon holds the client's end then: that the client closes its own is no end of file."""
        connection = self.numbered()
        end = connection.socket.fileno()
        connection.socket.sendmsg([b" "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [end]))])
        connection.close()
        until(lambda: "c%d (pid" % self.numbers[connection] in self.service.log(), what="it to be dropped")
        self.assertIn("closed: " + self.REASON, self.service.log())

    def test_a_half_close_leaves_none(self):
        pipes = self.pipes(3)
        pipes.send(self.connection, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        self.connection.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(self.connection.answer()["result"], {})
        self.assertIsNone(self.connection.line())
        until(pipes.closed, what="the descriptors to be closed")


class TooMany(PipesCase):
    config = {"limits": {"fds_unclaimed_ms_max": 600000, "fds_held_max": 4}}

    def test_as_many_as_may_wait(self):
        pipes = self.pipes(16)
        pipes.send(self.connection, b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":16}\n')
        self.assertEqual(self.connection.answer()["result"], {})
        until(pipes.closed, what="the descriptors to be closed")

    def test_one_more_in_one_message(self):
        connection, pipes = self.numbered(), self.pipes(17)
        pipes.send(connection)
        self.dropped(connection, "more than 16 descriptors queued")
        until(pipes.closed, what="the descriptors to be closed")

    def test_one_more_in_several_messages(self):
        connection, all_pipes = self.numbered(), [self.pipes(6) for _ in range(3)]
        for pipes in all_pipes:
            pipes.send(connection)
        self.dropped(connection, "more than 16 descriptors queued")
        until(lambda: all(pipes.closed() for pipes in all_pipes), what="the descriptors to be closed")

    def test_as_many_as_a_message_can_bring(self):
        """More than an answer brings, and the most that can be sent."""
        for count in (65, 253):
            with self.subTest(count=count):
                connection, pipes = self.numbered(), self.pipes(count)
                pipes.send(connection, b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":16}\n')
                self.dropped(connection, "more than 16 descriptors queued")
                until(pipes.closed, what="the descriptors to be closed")

    def test_more_than_a_connection_may_hold(self):
        held = [self.register(memfd(4096)) for _ in range(4)]
        for _ in range(3):
            fd = memfd(4096)
            self.refused("resource_limit", "holds 4 descriptors", "buffer.register", {"fd": {"fd": 0}}, [fd])
            os.close(fd)
        self.ok("buffer.unregister", held.pop())
        held.append(self.register(memfd(4096)))
        self.assertEqual([b["buffer"] for b in self.ok("buffer.list")["buffers"]], [b["buffer"] for b in held])
        self.register(memfd(4096), self.connect())  # another connection has room of its own


class Claims(WitnessedCase):
    """Whose descriptor is whose: files of different sizes, which answers tell."""

    config = {"limits": {"fds_unclaimed_ms_max": 600000}}

    def files(self, *sizes):
        fds = [memfd(size) for size in sizes]
        self.addCleanup(lambda: [os.close(fd) for fd in fds])
        return fds

    def part(self, data, fds=()):
        """One message."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        self.connection.socket.sendmsg([data], rights if fds else [])

    def line(self, **more):
        return json.dumps(dict(REGISTER, **more)).encode() + b"\n"

    def sizes(self, count):
        return [self.connection.answer()["result"]["bytes"] for _ in range(count)]

    def test_one_message_for_several_lines(self):
        self.part(self.line() * 3, self.files(1000, 2000, 3000))
        self.assertEqual(self.sizes(3), [1000, 2000, 3000])

    def test_several_messages_for_one_batch(self):
        a, b, c = self.files(1000, 2000, 3000)
        text = b"[" + b",".join(self.line(id=i).strip() for i in range(3)) + b"]\n"
        self.part(text[:10], [a])
        self.part(text[10:20], [b])
        self.part(text[20:-1])
        self.part(text[-1:], [c])  # with the last byte: no later
        answers = sorted(self.connection.answer(), key=lambda answer: answer["id"])
        self.assertEqual([answer["result"]["bytes"] for answer in answers], [1000, 2000, 3000])

    def test_ahead_of_their_lines(self):
        self.part(b" ", self.files(1000, 2000))
        self.part(b"\n\n", self.files(3000))
        self.part(self.line())
        self.part(self.line() * 2)
        self.assertEqual(self.sizes(3), [1000, 2000, 3000])

    def test_byte_by_byte(self):
        fds = self.files(*range(1000, 1016))
        text = self.line() * 16
        for i in range(len(text)):
            self.part(text[i:i + 1], fds[i:i + 1])
        self.assertEqual(self.sizes(16), list(range(1000, 1016)))

    def test_behind_the_line_is_too_late(self):
        self.part(self.line())
        self.assertIn("names 1 descriptors, 0 came", self.connection.answer()["error"]["message"])
        self.part(self.line(), self.files(1000))
        self.assertEqual(self.sizes(1), [1000])

    def test_wrong_requests_take_theirs_along(self):
        """Each is refused for another reason; the descriptor behind it is the next request's all the same."""
        wrong = [dict(method="no.such.method"), dict(params=[]), dict(more=1), dict(id=None), dict(jsonrpc="1.0"),
                 dict(method=7), dict(params={}), dict(params={"fd": {"fd": 7}}), dict(params={"deadline_ms": -1}),
                 dict(method="$/cancel")]
        for more in wrong:
            with self.subTest(more=more):
                self.part(self.line(**more) + self.line(), self.files(1000, 2000))
                self.assertIn("error", self.connection.answer())
                self.assertEqual(self.sizes(1), [2000])
        self.part(self.line(fds=2) + self.line(), self.files(1000, 2000, 3000))
        self.assertIn("takes one descriptor", self.connection.answer()["error"]["message"])
        self.assertEqual(self.sizes(1), [3000])

    def test_notifications_take_theirs(self):
        note = self.line(method="ping", params={}).replace(b'"id": 1, ', b"")
        self.part(note + self.line(), self.files(1000, 2000))
        self.assertEqual(self.sizes(1), [2000])

    def test_the_same_one_twice(self):
        (fd,) = self.files(4096)
        self.part(self.line(fds=2), [fd, fd])
        self.assertIn("takes one descriptor", self.connection.answer()["error"]["message"])
        self.part(self.line() * 2, [fd, fd])
        buffers = [self.connection.answer()["result"]["buffer"] for _ in range(2)]
        self.assertNotEqual(*buffers)
        self.assertEqual(len(self.ok("buffer.list")["buffers"]), 2)

    def test_wrong_names(self):
        for name in ({"fd": 1}, {"fd": -1}, {"fd": "0"}, {"fd": 0.0}, {"fd": False}, {"fd": None}, {"fd": 1 << 52},
                     {"fd": [0]}, {"fd": {"fd": 0}}, {}, {"fd": 0, "more": 1}, {"FD": 0}, 0, "0", None, [0],
                     [{"fd": 0}], True):
            with self.subTest(name=name):
                self.refused("invalid_argument", "/params/fd", "buffer.register", {"fd": name}, self.files(4096))

    def test_wrong_counts(self):
        for count in (-1, 17, 1.0, "1", True, None, [1], 1 << 52):
            with self.subTest(count=count):
                self.part(self.line(fds=count))
                error = self.connection.answer()["error"]
                self.assertEqual(error["data"]["code"], "protocol_error")
                self.assertIn("/fds", error["message"])


class Kinds(WitnessedCase):
    def refused_kind(self, fd, code, words):
        try:
            self.refused(code, words, "buffer.register", {"fd": {"fd": 0}}, [fd])
        finally:
            os.close(fd)

    def launch(self, x, y):
        return self.connection.call("kernel.launch", {"program": TRIPLED, "args": {"X": x, "Y": y}})

    def test_no_memory(self):
        for fd in os.pipe():
            self.refused_kind(fd, "invalid_argument", "is a pipe")
        for end in socket.socketpair():
            self.refused_kind(end.detach(), "invalid_argument", "is no memory")
        with tempfile.TemporaryDirectory() as folder:
            self.refused_kind(os.open(folder, os.O_RDONLY), "invalid_argument", "is a directory")
        for path in ("/dev/null", "/dev/zero", "/dev/full"):
            self.refused_kind(os.open(path, os.O_RDWR), "invalid_argument", "is no memory")
        self.refused_kind(os.eventfd(0), "invalid_argument", "is no memory")
        self.refused_kind(os.pidfd_open(os.getpid()), "invalid_argument", "no memory")

    def test_files_that_may_block(self):
        with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as folder:
            path = os.path.join(folder, "file")
            with open(path, "wb") as file:
                file.truncate(4096)
            self.refused_kind(os.open(path, os.O_RDWR), "unsupported", "a file on disk")
        for path in ("/proc/self/mem", "/proc/self/maps", "/sys/kernel/mm/transparent_hugepage/enabled"):
            self.refused_kind(os.open(path, os.O_RDONLY), "unsupported", "a file on disk")

    def test_huge_pages(self):
        for flags in (os.MFD_HUGETLB, os.MFD_HUGETLB | os.MFD_ALLOW_SEALING):
            self.refused_kind(memfd(2 << 20, os.MFD_CLOEXEC | flags), "unsupported", "without MFD_HUGETLB")

    def test_nothing_in_it(self):
        self.refused_kind(memfd(0), "invalid_argument", "0 bytes")
        self.refused_kind(shared_file(0), "invalid_argument", "0 bytes")

    def test_what_cannot_be_read(self):
        for flags in (os.O_WRONLY, os.O_PATH):
            fd = memfd(4096)
            self.refused_kind(os.open("/proc/self/fd/%d" % fd, flags), "invalid_argument", "cannot be read")
            os.close(fd)

    def test_shared_memory_by_name_is_copied(self):
        x, y = shared_file(4 * COUNT), shared_file(4 * COUNT)
        os.pwrite(x, b"\x01\0\0\0" * COUNT, 0)
        answers = [self.ok("buffer.register", {"fd": {"fd": 0}}, [fd]) for fd in (x, y)]
        self.assertEqual([a["copied"] for a in answers], [True, True])
        self.assertIn("result", self.launch(*({"buffer": a["buffer"]} for a in answers)))
        self.assertEqual(os.pread(y, 4096, 0), b"\x04\0\0\0" * COUNT)
        for fd in (x, y):
            os.close(fd)

    def test_what_appends_is_no_output(self):
        """A write at an offset goes to the end of such a file."""
        path = "/dev/shm/kiln-test-%d" % os.getpid()
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        os.ftruncate(fd, 4 * COUNT)
        x, y = self.register(memfd(4 * COUNT)), self.ok("buffer.register", {"fd": {"fd": 0}}, [fd])
        self.assertEqual((y["copied"], y["writable"]), (True, False))
        self.assertIn("read-only", self.launch(x, {"buffer": y["buffer"]})["error"]["message"])
        self.assertEqual(os.fstat(fd).st_size, 4 * COUNT)
        os.close(fd)

    def test_read_only_ones_are_no_output(self):
        def read_only(fd):
            again = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
            os.close(fd)
            return again

        def sealed(seals):
            fd = memfd(4 * COUNT)
            os.pwrite(fd, b"\x01\0\0\0" * COUNT, 0)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
            return fd

        good = self.register(memfd(4 * COUNT))
        for fd in (read_only(memfd(4 * COUNT)), read_only(shared_file(4 * COUNT)),
                   read_only(sealed(F_SEAL_FUTURE_WRITE)), sealed(F_SEAL_WRITE), sealed(F_SEAL_FUTURE_WRITE)):
            answer = self.ok("buffer.register", {"fd": {"fd": 0}}, [fd])
            os.close(fd)
            self.assertFalse(answer["writable"])
            buffer = {"buffer": answer["buffer"]}
            error = self.launch(good, buffer)["error"]
            self.assertEqual(error["data"]["code"], "invalid_argument")
            self.assertIn("/params/args/Y: the kernel writes this tensor and the buffer is read-only", error["message"])
            self.assertIn("result", self.launch(buffer, good))

    def test_a_lease_holds_nobody_up(self):
        """Whoever opens the file waits until its lease is given back, or taken away after a long time: it still holds
        when the answers are there."""
        handled = signal.signal(signal.SIGIO, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGIO, handled)
        for make in (memfd, shared_file):
            fd = make(4 * COUNT)
            leased = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
            os.close(fd)
            fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            self.assertFalse(self.ok("buffer.register", {"fd": {"fd": 0}}, [leased])["writable"])
            self.witnesses[0].launch()
            with open("/proc/locks") as locks:
                (lease,) = [line for line in locks if ":%d " % os.fstat(leased).st_ino in line]
            self.assertNotRegex(lease, r"ACTIVE\s+READ", "somebody waited until it was taken away")
            fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            os.close(leased)

    def test_seals_decide(self):
        """What cannot shrink, or can be kept from it, is mapped."""
        F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1, 2, 4  # linux/fcntl.h
        for seals, copied in ((F_SEAL_SEAL, True), (F_SEAL_SEAL | F_SEAL_GROW, True), (F_SEAL_GROW, False), (0, False),
                              (F_SEAL_SEAL | F_SEAL_SHRINK, False), (F_SEAL_SHRINK, False)):
            fd = memfd(4 * COUNT)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
            answer = self.ok("buffer.register", {"fd": {"fd": 0}}, [fd])
            self.assertEqual((answer["copied"], answer["writable"]), (copied, True), seals)
            self.assertEqual(bool(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & F_SEAL_SHRINK), not copied)
            os.close(fd)


if __name__ == "__main__":
    unittest.main()
