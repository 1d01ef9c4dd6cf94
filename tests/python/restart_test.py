"""Clients that connect while a daemon is ending get the next one, from Python and from the command line."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN

import kiln


class Restart(unittest.TestCase):
    def test_connect_right_after_shutdown(self):
        with tempfile.TemporaryDirectory(prefix="kiln-restart-", ignore_cleanup_errors=True) as folder:
            socket = os.path.join(folder, "run", "kiln.sock")
            arguments = ["--cache", os.path.join(folder, "cache")]
            pids = set()
            for _ in range(15):
                with kiln.connect(socket, daemon_arguments=arguments) as client:
                    pids.add(client.connection.hello["pid"])
                    client.compile("softmax", M=1, N=8)
                    client.shutdown()
            for _ in range(15):
                done = subprocess.run([os.path.join(BIN, "kiln"), "--socket", socket, *arguments, "list"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                with kiln.connect(socket, daemon_arguments=arguments) as client:
                    client.shutdown()
            self.assertGreater(len(pids), 1)
            with kiln.connect(socket, daemon_arguments=arguments) as client:
                client.shutdown()


if __name__ == "__main__":
    unittest.main()
