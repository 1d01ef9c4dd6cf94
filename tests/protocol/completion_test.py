"""What a shell offers while a kiln command is typed."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN

KILN = os.path.join(BIN, "kiln")
# Bash's own way of calling a completion: the words so far, the last one under the cursor; a colon is a word of its own.
OFFER = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kiln; printf "%s\\n" "${COMPREPLY[@]}"'


class Completion(unittest.TestCase):
    def script(self, shell):
        return subprocess.run([KILN, "completion", shell], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout

    def offered(self, *words):
        done = subprocess.run(["bash", "-c", self.script("bash") + OFFER, "bash", *words], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        return done.stdout.split()

    def test_bash_offers_what_fits(self):
        self.assertEqual(self.offered("kiln", "cac"), ["cache"])
        self.assertEqual(self.offered("kiln", "cache", "ev"), ["evict"])
        self.assertIn("--entries", self.offered("kiln", "cache", "evict", "--"))
        self.assertIn("--program", self.offered("kiln", "cache", "export", "--"))
        self.assertEqual(self.offered("kiln", "run", "soft"), ["softmax"])
        self.assertEqual(self.offered("kiln", "run", "el"), ["elementwise"])
        self.assertEqual(self.offered("kiln", "--json", "run", "gemm", "--device", "emu"), ["emu:gfx90a", "emu:gfx942", "emu:gfx950", "emu:gfx1100"])
        self.assertEqual(self.offered("kiln", "run", "gemm", "--device", "emu", ":", "gfx94"), ["gfx942"])
        self.assertIn("gfx942", self.offered("kiln", "run", "gemm", "--device", "emu", ":"))
        self.assertEqual(self.offered("kiln", "compile", "gemm", "--target", "gfx95"), ["gfx950"])
        self.assertEqual(self.offered("kiln", "nothing-like-it"), [])

    def test_every_command_and_option_is_in_every_script(self):
        commands = [line.split()[0] for line in subprocess.run([KILN, "--help"], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
                    .stdout.split("Subcommands:")[1].splitlines() if line.startswith("  ") and not line.startswith("   ")]
        self.assertGreater(len(commands), 15)
        for shell in ("bash", "zsh", "fish"):
            script = self.script(shell)
            for word in commands + ["order-seed", "print-bytes"]:
                self.assertIn(word, script, shell)
        for shell in ("bash", "zsh"):
            subprocess.run(["bash", "-n", "-c", self.script(shell)], timeout=60, check=True)

    def test_other_shells_are_refused(self):
        done = subprocess.run([KILN, "--json", "completion", "tcsh"], stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash", json.loads(done.stdout)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
