"""A daemon that runs, and toolchains that are installed and removed meanwhile."""

import json
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service

COMPILE = ["compile", "softmax", "--target", "gfx942", "--set", "M=4"]


def installed():
    """A private hipRTC of this machine's, or None."""
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    folder = os.path.join(home, "kiln", "toolchains")
    names = [name for name in (os.listdir(folder) if os.path.isdir(folder) else []) if name.startswith("hiprtc-")]
    return os.path.join(folder, names[0]) if names else None


class Toolchains(unittest.TestCase):
    def setUp(self):
        self.prefix = installed()
        if not self.prefix:
            self.skipTest("no private toolchain is installed")
        self.data = tempfile.mkdtemp(prefix="kiln-test-")
        self.folder = os.path.join(self.data, "kiln", "toolchains")
        self.service = Service(environment={"XDG_DATA_HOME": self.data})

    def tearDown(self):
        self.service.__exit__()
        shutil.rmtree(self.data, ignore_errors=True)

    def install(self, name):
        os.makedirs(self.folder, exist_ok=True)
        os.symlink(self.prefix, os.path.join(self.folder, name))

    def compiler(self):
        return json.loads(self.service.kiln("--json", "daemon", "status", check=0).stdout)["compilers"]["hip"]

    def compile(self, size, status=0):
        return self.service.kiln("--json", *COMPILE, "N=%d" % size, "--explain", check=status)

    def test_one_that_is_installed_while_the_daemon_runs(self):
        missing = self.service.kiln(*COMPILE, "N=64")
        if missing.returncode == 0:
            self.skipTest("the system has a hipRTC of its own")
        self.assertIn("kiln toolchain install", missing.stderr)
        self.assertNotIn("trying again", missing.stderr)  # it would not help
        self.assertIn("no hipRTC", self.compiler()["error"])
        self.assertIn("no hipRTC", self.service.kiln("daemon", "status", check=0).stdout)
        self.install("hiprtc-1")
        compiled = json.loads(self.compile(64).stdout)
        self.assertEqual(compiled["origin"], "compiled")
        told = self.compiler()
        self.assertIn(os.path.join(self.folder, "hiprtc-1"), told["command"][0])
        self.assertEqual(told["description"], compiled["compiler"])
        self.assertIn(told["description"], self.service.kiln("daemon", "status", check=0).stdout)
        verdicts = {v["what"]: v for v in json.loads(self.service.kiln("--json", "doctor").stdout)["verdicts"]}
        self.assertEqual(verdicts["daemon's compiler for gfx targets"]["text"], told["description"])

    def test_a_newer_one_serves_what_is_compiled_from_then_on(self):
        self.install("hiprtc-1")
        first = json.loads(self.compile(64).stdout)
        self.install("hiprtc-2")
        self.assertIn("hiprtc-2", self.compiler()["command"][0])
        again = json.loads(self.compile(64).stdout)
        self.assertEqual((again["key"], again["cached"]), (first["key"], True))  # the same files: the same compiler
        self.assertEqual(json.loads(self.compile(65).stdout)["origin"], "compiled")
        os.unlink(os.path.join(self.folder, "hiprtc-2"))  # removed: the one before takes over
        self.assertEqual(json.loads(self.compile(66).stdout)["origin"], "compiled")
        self.assertIn("hiprtc-1", self.compiler()["command"][0])


if __name__ == "__main__":
    unittest.main()
