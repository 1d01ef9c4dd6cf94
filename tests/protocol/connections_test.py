"""The edges of a connection: large answers, one connection too many, a last line without its end."""

import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service, until

import kiln  # noqa: E402


class Connections(unittest.TestCase):
    def test_a_batch_of_many_mistakes(self):
        limits = {"output_bytes_max": 65536}
        wrong = {"kiln": "tile/1", "name": "w", "constraints": [" + ".join("unknown_%d" % i for i in range(50))] * 4}
        lines = [{"jsonrpc": "2.0", "id": i, "method": "program.check", "params": {"program": wrong}} for i in range(40)]
        with Service(config={"limits": limits}) as service:
            connection = service.connect()
            connection.send(lines)
            answers = connection.answer()
            self.assertGreater(len(json.dumps(answers)), limits["output_bytes_max"])
            self.assertEqual(sorted(a["id"] for a in answers), list(range(40)))
            self.assertEqual(connection.call("ping")["result"], {})

    def test_a_connection_too_many_is_told_why(self):
        with Service(config={"limits": {"connections_max": 2}}) as service:
            held = [service.connect(), service.connect()]
            for connection in held:
                self.assertEqual(connection.call("ping")["result"], {})
            refused = service.connect()
            self.assertEqual(refused.answer()["error"]["data"]["code"], "busy")
            refused.close()
            for _ in range(20):  # whether the refusal or the client's first word comes first
                line = service.kiln("--json", "stats", check=1)
                self.assertIn("2 connections are open", line.stdout + line.stderr)
            with self.assertRaisesRegex(kiln.errors.Busy, "2 connections are open"):
                kiln.connect(service.socket, auto_start=False)
            held.pop().close()
            until(lambda: service.kiln("--json", "stats", check=None).returncode == 0, what="room for a connection")
            held.pop().close()

    def test_a_last_line_without_its_end_is_answered(self):
        with Service() as service:
            for text in (b'{"jsonrpc":"2.0","id":7,"method":"ping"}', b'{"jsonrpc":"2.0","id":7,"meth'):
                with socket.socket(socket.AF_UNIX) as raw:
                    raw.connect(service.socket)
                    raw.sendall(text)
                    raw.shutdown(socket.SHUT_WR)
                    answer = json.loads(raw.makefile().readline())
                    self.assertEqual("result" in answer, text.endswith(b"}"), answer)

    def test_limits_have_a_floor(self):
        with self.assertRaises(AssertionError) as told:
            with Service(config={"limits": {"line_bytes_max": 1}}):
                pass
        self.assertIn("line_bytes_max", str(told.exception))


if __name__ == "__main__":
    unittest.main()
