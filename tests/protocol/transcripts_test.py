"""Runs every transcript of PROTOCOL.md against a daemon, in the page's order, on one connection."""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, Service, contains


class Transcripts(unittest.TestCase):
    def test_protocol_page(self):
        with open(os.path.join(ROOT, "api/protocol/PROTOCOL.md"), encoding="utf-8") as file:
            blocks = re.findall(r"```transcript\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(blocks), 4)
        with Service() as service:
            connection = service.connect()
            for block in blocks:
                for line in block.splitlines():
                    if line.startswith("--> "):
                        connection.send(line[4:])
                    elif line.startswith("<-- "):
                        got, want = connection.answer(), json.loads(line[4:])
                        self.assertTrue(contains(got, want), "wanted %s\ngot %s" % (json.dumps(want), json.dumps(got)))

    def test_every_method_is_on_the_page(self):
        with open(os.path.join(ROOT, "api/protocol/PROTOCOL.md"), encoding="utf-8") as file:
            page = file.read()
        with Service() as service:
            document = service.connect().call("rpc.discover")["result"]
        names = [m["name"] for m in document["methods"]]
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertIn(name, page)


if __name__ == "__main__":
    unittest.main()
