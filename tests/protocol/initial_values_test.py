"""A spy and its victim on one daemon: what a program leaves unwritten in its tiles holds nothing of another client's
launch; and what is a mistake of the program is told as one, with its statement."""

import mmap
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service

SECRET = struct.pack("<I", 0x5EC4E700)
WORDS, TILE = 65536, 16384
X = {"name": "X", "dtype": "f32", "shape": [WORDS], "access": "read"}
Y = {"name": "Y", "dtype": "f32", "shape": [WORDS], "access": "write"}
N = {"name": "n", "scalar": True, "dtype": "i32"}
OUT = {"op": "copy", "from": "x", "to": "Y[bid.x * 16384:]"}
FILL = {"op": "fill", "tile": "x", "value": 0}


def program(name, space, params, body):
    tile = {"op": "alloc", "name": "x", "space": space, "dtype": "f32", "shape": [TILE]}
    return {"kiln": "tile/1", "name": name, "params": params,
            "launches": [{"grid": [WORDS // TILE], "threads": "1 if target.is_host else 64", "body": [tile, *body]}]}


def one(extent, to, value):
    return {"op": "map", "index": ["i"], "extent": [extent], "body": [{"set": to, "value": value}]}


class Client:
    def __init__(self, service):
        self.connection = service.connect()

    def buffer(self):
        answer = self.connection.call("buffer.alloc", {"size": WORDS * 4})
        fd = self.connection.fds.pop()
        memory = mmap.mmap(fd, WORDS * 4)
        os.close(fd)
        return answer["result"]["buffer"], memory

    def launch(self, what, args):
        return self.connection.call("kernel.launch", {"program": what, "args": args})


class InitialValues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.victim, cls.spy = Client(cls.service), Client(cls.service)
        cls.x, held = cls.victim.buffer()
        held[:] = SECRET * WORDS
        cls.y, cls.seen = cls.victim.buffer()
        cls.stolen, cls.loot = cls.spy.buffer()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def test_a_spy_sees_zeros(self):
        spies = {"loop": [{"op": "for", "var": "k", "to": "cast(n, index)", "body": [FILL]}],
                 "condition": [{"op": "if", "condition": "n > 100", "then": [FILL]}],
                 "block": [{"op": "if", "condition": "bid.x == 0", "then": [FILL]}],
                 "element": [one(1, "x[i]", "0.0")],
                 "dynamic": [one(1, "x[cast(n, index)]", "0.0")]}
        for space in ("fragment", "shared", "local"):
            victim = program("victim", space, [X, Y], [{"op": "copy", "from": "X[bid.x * 16384:]", "to": "x"}, one(TILE, "x[i]", "x[i]"), OUT])
            for name, body in spies.items():
                with self.subTest(space=space, spy=name):
                    for _ in range(3):
                        answer = self.victim.launch(victim, {"X": {"buffer": self.x}, "Y": {"buffer": self.y}})
                        self.assertIn("result", answer, answer)
                    self.assertEqual(self.seen[:].count(SECRET), WORDS)
                    self.loot[:] = b"\xff" * (WORDS * 4)
                    answer = self.spy.launch(program("spy", space, [N, Y], [*body, OUT]), {"n": 0, "Y": {"buffer": self.stolen}})
                    self.assertIn("result", answer, answer)
                    self.assertEqual(self.loot[:], bytes(WORDS * 4))

    def test_mistakes_are_told_at_their_statement(self):
        mistakes = {"itself": ([one(TILE, "x[i]", "x[i] + 0.0"), OUT], 1),
                    "too early": ([OUT, FILL], 1),
                    "never": ([{"op": "for", "var": "k", "to": 0, "body": [FILL]}, OUT], 2)}
        for space in ("fragment", "shared", "local"):
            for name, (body, statement) in mistakes.items():
                with self.subTest(space=space, mistake=name):
                    answer = self.spy.launch(program("spy", space, [N, Y], body), {"n": 0, "Y": {"buffer": self.stolen}})
                    self.assertIn("error", answer, answer)
                    data = answer["error"]["data"]
                    self.assertEqual(data["code"], "program_invalid", answer)
                    self.assertEqual([d["pointer"] for d in data["diagnostics"]], ["/launches/0/body/%d" % statement])


if __name__ == "__main__":
    unittest.main()
