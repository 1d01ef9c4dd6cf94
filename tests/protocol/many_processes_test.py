"""Sixteen processes ask a cold cache for the same 32 kernels: each is compiled exactly once, with a daemon and without."""

import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Service

KERNELS = [{"program": "softmax", "set": {"M": m, "N": n}, "target": "host"} for m in (1, 2, 4, 8) for n in (7, 16, 33, 50, 64, 100, 128, 200)]
PROCESSES = 16


class ManyProcesses(unittest.TestCase):
    def run_processes(self, *flags):
        """Starts all, feeds each the same list, and gives their answers."""
        running = [subprocess.Popen([os.path.join(BIN, "kiln"), "--json", *flags, "prepare", "-"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
        text = json.dumps(KERNELS)
        for process in running:  # all of them wait for their input: they start together
            process.stdin.write(text)
            process.stdin.close()
            process.stdin = None
        answers = []
        for process in running:
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, out + err)
            answers.append(json.loads(out))
        return answers

    def check(self, answers, log):
        with open(log) as file:
            lines = [line.split() for line in file]
        counts = collections.Counter(key for key, _ in lines)
        self.assertEqual(len(counts), len(KERNELS))
        self.assertEqual(set(counts.values()), {1}, counts)
        keys = [[k["key"] for k in a["kernels"]] for a in answers]
        self.assertTrue(all(k == keys[0] for k in keys))
        self.assertEqual(set(keys[0]), set(counts))

    def test_with_a_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "compiles")
            with Service("--worker-argument", "host=--compile-log " + log) as service:
                answers = self.run_processes("--socket", service.socket, "--no-start")
                self.check(answers, log)
                stats = service.client().stats()
                self.assertEqual(stats["workers"]["compiles"], len(KERNELS))
                self.assertEqual(stats["store"]["stores"], len(KERNELS))
                self.assertEqual(sum(a["compiled"] for a in answers), len(KERNELS))

    def test_without_a_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "compiles")
            answers = self.run_processes("--no-daemon", "--cache", os.path.join(folder, "cache"), "--worker-argument", "host=--compile-log " + log)
            self.check(answers, log)
            self.assertEqual(sum(a["compiled"] for a in answers), len(KERNELS))


if __name__ == "__main__":
    unittest.main()
