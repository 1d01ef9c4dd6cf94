"""Malformed lines, wrong handles, rude clients: each gets its answer, the daemon lives, others notice nothing."""

import json
import os
import random
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ServiceCase, until

SEALABLE = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING


def memfd(size, flags=SEALABLE):
    fd = os.memfd_create("test", flags)
    os.ftruncate(fd, size)
    return fd


class BadInput(ServiceCase):
    def setUp(self):
        self.other = self.service.connect()
        self.connection = self.service.connect()

    def tearDown(self):
        self.assertEqual(self.other.call("ping")["result"], {})  # others notice nothing
        self.assertTrue(self.service.alive())
        self.other.close()
        self.connection.close()

    def error(self, line, fds=()):
        self.connection.send(line, fds)
        answer = self.connection.answer()
        self.assertIn("error", answer, answer)
        return answer["error"]["data"]["code"]

    def request(self, method, params=None, fds=()):
        return self.connection.call(method, params, fds)

    def code(self, method, params=None, fds=()):
        answer = self.request(method, params, fds)
        self.assertIn("error", answer, answer)
        return answer["error"]["data"]["code"]

    def test_messages_are_one_line_whatever_they_quote(self):
        nasty = "a\nb\x1b[31m\u0007c"
        program = {"kiln": "tile/1", "name": nasty, nasty: 1}
        for method, params in ((nasty, None), ("kernel.compile", {"program": nasty}), ("kernel.compile", {"program": "gemm", nasty: 1}),
                               ("kernel.compile", {"program": "gemm", "target": nasty}), ("program.check", {"program": program}),
                               ("kernel.compile", {"program": "softmax", "bindings": {nasty: 3, "M": 1, "N": 4}})):
            with self.subTest(method=method, params=params):
                answer = self.request(method, params)
                found = answer.get("error") or {"message": "", "data": answer["result"]}
                messages = [found["message"], *(d["message"] for d in found["data"].get("diagnostics", []))]
                self.assertTrue(any(messages), answer)
                for message in messages:
                    self.assertFalse(any(ord(c) < 32 or ord(c) == 127 for c in message), message)

    def test_lines(self):
        deep = "[" * 100 + "]" * 100
        for line in (b"\xff\xfe", b"{", b"nul", b'{"a":1,"a":2}', b'"text', b'{"id":1e999}', b"[]", deep.encode(),
                     b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":9007199254740993}}',
                     b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + deep.encode() + b"}",
                     b'{"jsonrpc":"2.0","id":1,"method":"p\\ud800"}', b'{"jsonrpc":"2.0","id":1,"method":7}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
                     b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
                     b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":17}', b'{"jsonrpc":"2.0","id":1,"method":"ping","fds":1}', b"7"):
            code = self.error(line)
            self.assertIn(code, ("parse_error", "protocol_error", "invalid_argument"), line)
        self.assertEqual(self.error(b'{"jsonrpc":"2.0","id":null,"method":"ping"}'), "protocol_error")
        self.assertEqual(self.request("ping")["result"], {})

    def test_long_line_drops_the_connection(self):
        try:
            self.connection.socket.sendall(b"x" * (2 << 20))
        except OSError:
            pass
        self.assertIsNone(self.connection.line())

    def test_random_mutations(self):
        seed = int(os.environ.get("KILN_SEED", "1"))
        generator = random.Random(seed)
        good = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "kernel.compile",
                           "params": {"program": "gemm", "set": {"M": 8}, "target": "gfx942", "must_hit": True}}).encode()
        for i in range(2000):
            line = bytearray(good)
            for _ in range(generator.randint(1, 6)):
                at = generator.randrange(len(line))
                kind = generator.randrange(3)
                if kind == 0:
                    line[at] = generator.randrange(256)
                elif kind == 1:
                    del line[at]
                else:
                    line.insert(at, generator.randrange(256))
            line = bytes(line).replace(b"\n", b" ")
            self.connection.send(line)
        self.connection.send(b'{"jsonrpc":"2.0","id":"end","method":"ping"}')
        answer = self.connection.line()
        while answer is not None and not (isinstance(answer, dict) and answer.get("id") == "end"):
            answer = self.connection.line()
        self.assertIsNotNone(answer, "the connection died; KILN_SEED=%d" % seed)

    def test_compile_requests(self):
        sizes = {"M": 8, "N": 8, "K": 8}
        self.assertEqual(self.code("kernel.compile", {"program": "nothing"}), "not_found")
        self.assertEqual(self.code("kernel.compile", {}), "invalid_argument")
        self.assertEqual(self.code("kernel.compile", {"program": "gemm", "set": sizes, "target": "gfx000"}), "unknown_target")
        for bad in (-1, 1 << 52, "x", "9223372036854775808", True):
            self.assertEqual(self.code("kernel.compile", {"program": "gemm", "set": dict(sizes, M=bad)}), "program_invalid", bad)
        self.assertEqual(self.code("kernel.compile", {"program": "gemm", "set": {"M": 8}}), "program_invalid")
        self.assertEqual(self.code("kernel.compile", {"program": "gemm", "set": dict(sizes, ZZ=1)}), "program_invalid")
        self.assertEqual(self.code("kernel.compile", {"program": "gemm", "set": dict(sizes, BM=4096, BN=4096, BK=4096), "target": "gfx942"}), "program_invalid")
        self.assertEqual(self.code("kernel.compile", {"program": {"kiln": "tile/9"}}), "program_invalid")
        self.assertEqual(self.code("kernel.compile", {"program": "gemm", "set": sizes, "layouts": {"As": "spiral"}}), "invalid_argument")
        self.assertEqual(self.code("kernel.explain", {"key": "00"}), "invalid_argument")
        self.assertEqual(self.code("kernel.launch", {"key": "0" * 64, "args": {}}), "not_found")

    def test_empty_tensors_are_ordinary(self):
        for program, sizes in (("softmax", {"M": 4, "N": 0}), ("softmax", {"M": 0, "N": 4}), ("rmsnorm", {"M": 3, "N": 0}),
                               ("gemm", {"M": 3, "N": 4, "K": 0}), ("gemm", {"M": 0, "N": 4, "K": 2}), ("layernorm", {"M": 2, "N": 0}),
                               ("elementwise", {"M": 0, "N": 4}), ("transpose", {"M": 0, "N": 4}), ("reduce", {"M": 3, "N": 0})):
            self.assertIn("result", self.request("kernel.compile", {"program": program, "set": sizes}), sizes)

    def test_descriptors(self):
        reading, writing = os.pipe()
        register = {"fd": {"fd": 0}}
        with tempfile.TemporaryDirectory() as folder:
            directory = os.open(folder, os.O_RDONLY)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.truncate(4096)
                for fd, wanted in ((reading, "invalid_argument"), (directory, "invalid_argument"), (file.fileno(), "unsupported")):
                    self.assertEqual(self.code("buffer.register", register, [fd]), wanted)
            os.close(directory)
        os.close(reading)
        os.close(writing)
        fd = memfd(4096)
        self.assertEqual(self.code("buffer.register", dict(register, offset=4097), [fd]), "invalid_argument")
        self.assertEqual(self.code("buffer.register", dict(register, size=4097), [fd]), "invalid_argument")
        self.assertEqual(self.code("buffer.register", dict(register, offset=-1), [fd]), "invalid_argument")
        self.assertEqual(self.code("buffer.register", {"fd": {"fd": 1}}, [fd]), "invalid_argument")
        self.assertEqual(self.code("buffer.register", register), "invalid_argument")
        self.assertEqual(self.code("buffer.register", {"fd": 3}, [fd]), "invalid_argument")
        self.assertEqual(self.code("buffer.unregister", {"buffer": 77}), "not_found")
        self.assertEqual(self.code("buffer.alloc", {"size": 0}), "invalid_argument")
        self.assertEqual(self.code("buffer.alloc", {"size": 1 << 45}), "resource_limit")
        answer = self.request("buffer.register", register, [fd])["result"]
        self.assertEqual((answer["bytes"], answer["copied"]), (4096, False))
        os.close(fd)

    def launch(self, **args):
        compiled = self.request("kernel.compile", {"program": "softmax", "set": {"M": 4, "N": 64}})["result"]
        return self.request("kernel.launch", {"key": compiled["key"], "args": args})

    def register(self, fd, **more):
        answer = self.request("buffer.register", dict({"fd": {"fd": 0}}, **more), [fd])
        os.close(fd)
        return {"buffer": answer["result"]["buffer"]}

    def test_launches(self):
        x, y, short = self.register(memfd(1024)), self.register(memfd(1024)), self.register(memfd(1023))
        self.assertIn("result", self.launch(X=x, Y=y))
        for args in ({}, {"X": x}, {"X": x, "Y": y, "Z": y}, {"X": x, "Y": short}, {"X": x, "Y": x}, {"X": 3, "Y": y}, {"X": x, "Y": {"buffer": 9999}},
                     {"X": x, "Y": dict(y, offset=16)}, {"X": x, "Y": dict(y, offset=-16)}, {"X": x, "Y": dict(y, offset=1 << 52)}):
            answer = self.launch(**args)
            self.assertEqual(answer["error"]["data"]["code"], "invalid_argument", args)
        foreign = self.other.call("buffer.alloc", {"size": 1024})["result"]["buffer"] + 50
        self.assertIn("error", self.launch(X=x, Y={"buffer": foreign}))

    def test_read_only_output(self):
        fd = memfd(1024)
        read_only = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
        x, y = self.register(fd), self.register(read_only)
        self.assertIn("read-only", self.launch(X=x, Y=y)["error"]["message"])

    def test_memory_that_cannot_be_sealed_is_copied(self):
        plain = memfd(1024, os.MFD_CLOEXEC)
        answer = self.request("buffer.register", {"fd": {"fd": 0}}, [plain])["result"]
        self.assertTrue(answer["copied"])
        x = self.register(memfd(1024))
        self.assertIn("result", self.launch(X=x, Y={"buffer": answer["buffer"]}))
        self.assertAlmostEqual(__import__("struct").unpack("<f", os.pread(plain, 4, 0))[0], 1 / 64, places=6)
        os.close(plain)

    def test_shrunken_file_cannot_hurt(self):
        fd = os.open("/dev/shm/kiln-test-%d" % os.getpid(), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink("/dev/shm/kiln-test-%d" % os.getpid())
        os.ftruncate(fd, 1024)
        answer = self.request("buffer.register", {"fd": {"fd": 0}}, [fd])["result"]
        self.assertTrue(answer["copied"])
        os.ftruncate(fd, 0)
        y = self.register(memfd(1024))
        self.assertIn("error", self.launch(X={"buffer": answer["buffer"]}, Y=y))
        os.close(fd)

    def test_client_that_never_reads(self):
        for _ in range(4000):
            try:
                self.connection.socket.setblocking(False)
                self.connection.socket.sendall(b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n' * 10)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                break
        self.connection.socket.setblocking(True)

    def test_vanishing_clients(self):
        before = len(os.listdir("/proc/%d/fd" % self.service.process.pid))
        for i in range(50):
            c = self.service.connect()
            fd = memfd(4096)
            c.send({"jsonrpc": "2.0", "id": 1, "method": "buffer.register", "params": {"fd": {"fd": 0}}, "fds": 1}, [fd])
            os.close(fd)
            if i % 2:
                c.line()
            c.send({"jsonrpc": "2.0", "id": 2, "method": "kernel.compile", "params": {"program": "softmax", "set": {"M": 4, "N": 70}}})
            c.close()
        until(lambda: self.service.client().stats()["service"]["buffers"] == 0, what="buffers to be released")
        until(lambda: len(os.listdir("/proc/%d/fd" % self.service.process.pid)) <= before + 4, what="descriptors to be closed")

    def test_half_close_is_answered(self):
        self.connection.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        self.connection.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(self.connection.line()["result"], {})
        self.assertIsNone(self.connection.line())


if __name__ == "__main__":
    unittest.main()
