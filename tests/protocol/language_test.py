"""The language's programs (tests/differential/language) through the daemon: on the host and on emulated cards."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from nightly import by_day
from service import BIN, ROOT, ServiceCase

FOLDER = os.path.join(ROOT, "tests", "differential", "language")
LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")


def cases():
    with open(os.path.join(FOLDER, "cases.txt")) as lines:
        return [line.split() for line in lines if line.strip()]


class Language(ServiceCase):
    def check(self, device, *more):
        for program, *words in cases():
            with self.subTest(device=device, program=program, words=words):
                path = os.path.join(FOLDER, program + ".json")
                done = self.service.kiln("--json", "run", path, "--device", device, "--set", *words, "--check", *more,
                                         check=0)
                report = json.loads(done.stdout)
                self.assertTrue(report["check"]["passed"], report["check"])

    def test_on_the_host(self):
        self.check("host")

    @unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
    def test_on_every_emulated_card(self):
        for target in by_day(("gfx942", "gfx1100"), ("gfx90a", "gfx942", "gfx950", "gfx1100")):
            self.check("emu:" + target, "--check-memory", "all")


if __name__ == "__main__":
    unittest.main()
