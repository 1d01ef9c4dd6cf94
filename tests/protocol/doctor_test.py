"""`kiln doctor`: its trials of HIP on the emulated card, and the report that an owner of a card sends back."""

import hashlib
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ServiceCase

DEVICE = "emu:gfx942"
LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
TRIALS = ["is", "memory", "copies", "client memory", "streams", "events", "module load", "peer visibility", "IPC handle of its own", "IPC export",
          "IPC memory in a second process", "IPC events between processes", "dma-buf export and import"]


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class Doctor(ServiceCase):
    def test_every_trial_on_the_emulated_card(self):
        done = self.service.kiln("--json", "doctor", "--device", DEVICE)
        answer = json.loads(done.stdout)
        found = {v["what"]: v for v in answer["verdicts"]}
        for trial in TRIALS:
            verdict = found["card 0 " + trial]
            self.assertTrue(verdict["good"], verdict)
        self.assertIn("gfx942", found["card 0 is"]["text"])
        self.assertIn("304 compute units", found["card 0 is"]["text"])
        self.assertIn("emulated card", found["HIP library"]["text"])
        self.assertEqual((done.returncode, answer["good"]), (0, True), [v for v in answer["verdicts"] if not v["good"] and v["needed"]])

    def test_a_verdict_a_line(self):
        done = self.service.kiln("doctor", "--device", "emu:gfx90a")
        lines = [line for line in done.stdout.splitlines() if "card 0" in line]
        self.assertEqual(len(lines), len(TRIALS), done.stdout)
        self.assertTrue(all(line.startswith("ok    card 0 ") for line in lines if "module load" not in line), lines)

    def test_without_a_card(self):
        if os.path.exists("/dev/kfd"):
            self.skipTest("there is an AMD card")
        verdicts = {v["what"]: v for v in json.loads(self.service.kiln("--json", "doctor").stdout)["verdicts"]}
        self.assertFalse(verdicts["HIP library"]["good"] and "cards" not in verdicts)
        done = self.service.kiln("--json", "doctor", "--device", "hip:0")
        self.assertEqual(done.returncode, 1)

    def test_the_trials_by_themselves(self):
        for arguments, status in ((["/no/such/library", "0"], 0), ([], 2), ([LIBRARY], 2), ([LIBRARY, "x"], 2), (["--second", LIBRARY, "0"], 1)):
            done = subprocess.run([os.path.join(BIN, "kiln-doctor-hip"), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        done = subprocess.run([os.path.join(BIN, "kiln-doctor-hip"), LIBRARY, "3"], capture_output=True, text=True)
        self.assertIn("bad\tcard 3\tthere are 1", done.stdout)
        done = subprocess.run([os.path.join(BIN, "kiln-doctor-hip"), LIBRARY, "-1"], capture_output=True, text=True,
                              env=dict(os.environ, KILN_EMULATOR_TARGETS="gfx942,gfx90a"))
        self.assertIn("ok\tcards\t2", done.stdout)
        self.assertIn("card 1 peer visibility", done.stdout)

    def test_a_cards_report(self):
        path = os.path.join(self.service.folder, "report.json")
        done = self.service.kiln("doctor", "--card", "--device", DEVICE, "--report", path)
        self.assertIn("the report is in " + path, done.stdout)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        head, _, tail = text.rpartition(',"sha256":"')
        self.assertEqual(tail, hashlib.sha256(head.encode()).hexdigest() + '"}\n')
        report = json.loads(text)
        self.assertEqual((report["kiln_card_report"], report["good"], done.returncode), (1, True, 0), done.stdout)
        self.assertEqual(report["device"]["name"], DEVICE)
        for member in ("build", "environment", "verdicts", "counters"):
            self.assertTrue(report[member], member)
        self.assertGreaterEqual(report["counters"]["counters"]["SQ_WAVES"], 1)
        self.assertEqual({r["program"] for r in report["runs"]}, {"gemm", "flash_attention", "softmax", "rmsnorm", "layernorm", "elementwise", "transpose",
                                                               "reduce"})
        self.assertGreaterEqual(len(report["runs"]), 34)
        for run in report["runs"]:
            self.assertTrue(run["passed"], run)
            self.assertEqual((run["emulated"]["different"], run["emulated"]["same_object"]), (0, True), run)
            self.assertEqual(len(run["duration_ms"]), 5)
            self.assertTrue(all(len(digest) == 64 for digest in run["outputs_sha256"].values()) and run["outputs_sha256"])
        stats = json.loads(self.service.kiln("--json", "stats").stdout)["service"]
        self.assertEqual((stats["buffers"], stats["events"], stats["buffer_bytes"]), (0, 0, 0))


if __name__ == "__main__":
    unittest.main()
