"""The Python blocks of README.md and of the package's pages run as they stand, one page after the other, each in one namespace."""

import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, Service

import kiln
import kiln.language as tl

PAGES = ["README.md", "api/python/kiln/language/README.md", "api/python/kiln/triton/README.md",
         "api/python/kiln/tilelang/README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


class Pages(unittest.TestCase):
    def test_every_block_runs(self):
        with Service() as service, tempfile.TemporaryDirectory() as folder, service.client() as client:
            tl.use_client(client)
            os.environ["KILN_SOCKET"] = service.socket
            try:
                for page in PAGES:
                    with self.subTest(page):
                        self.run_page(page, folder)
            finally:
                tl.use_client(None)
                del os.environ["KILN_SOCKET"]

    def run_page(self, page, folder):
        with open(os.path.join(ROOT, page)) as file:
            text = file.read()
        blocks = list(BLOCK.finditer(text))
        self.assertTrue(blocks, "no Python in " + page)
        names = {"__name__": "page"}
        for number, block in enumerate(blocks):
            path = os.path.join(folder, "%s_%d.py" % (re.sub(r"\W", "_", page), number))
            with open(path, "w") as file:  # kernels are read from their files
                file.write(block.group(1))
            exec(compile(block.group(1), path, "exec"), names)


if __name__ == "__main__":
    unittest.main()
