"""kernel.tune interrupted, and what goes on from there; `kiln tune` and `kiln tuning`."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import BIN, until
from tuning_test import SKINNY, TuningCase, add_one


class Interrupted(TuningCase):
    # Rounds of some 100 ms, seven of them at least: much is left when the first is told.
    SIZE = {"M": 7, "N": 4096, "K": 4096, "dtype": "f32"}
    REQUEST = {"program": "gemm", "set": SIZE, "rounds_max": 10000, "candidates": [
        {"set": {"BM": 8, "BN": n, "BK": k}} for n in (64, 128) for k in (64, 128)]}

    def measured(self, connection, id, stage="measure"):
        """The first progress of that stage of the request."""
        while True:
            line = connection.line()
            self.assertEqual(line.get("method"), "$/progress", line)
            if line["params"]["id"] == id and line["params"]["stage"] == stage:
                return line["params"]

    def test_a_cancelled_tune_keeps_what_it_measured_and_the_next_goes_on(self):
        self.connection.send({"jsonrpc": "2.0", "id": 5, "method": "kernel.tune", "params": self.REQUEST})
        progress = self.measured(self.connection, 5)
        self.assertEqual(progress["total"], 10000)
        self.assertIn("BM=8", progress["best"]["name"])
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 5}})
        answer = self.connection.answer()
        self.assertIn("error", answer, "the tune was done before it was cancelled")
        self.assertEqual(answer["error"]["data"]["code"], "cancelled")
        self.assertIn("of 4 of 4 candidates is kept", "\n".join(answer["error"]["data"]["context"]))
        self.assertEqual(len(os.listdir(os.path.join(self.service.cache, "tuning", "journals"))), 1)
        self.assertEqual(self.tuned(self.SIZE), "default", "what is not done decides nothing")
        self.restart()
        tuned = self.ok("kernel.tune", {**self.REQUEST, "rounds_max": progress["done"]})
        self.assertEqual(tuned["resumed"], 4)
        self.assertGreaterEqual(min(len(row["times_ms"]) for row in tuned["candidates"]), progress["done"])
        self.assertEqual(os.listdir(os.path.join(self.service.cache, "tuning", "journals")), [])

    def test_a_killed_daemon_loses_nothing_either(self):
        self.connection.send({"jsonrpc": "2.0", "id": 5, "method": "kernel.tune", "params": self.REQUEST})
        self.measured(self.connection, 5)
        self.service.process.kill()
        self.service.process.wait()
        self.reconnect()
        self.assertEqual(self.ok("kernel.tune", {**self.REQUEST, "rounds_max": 1})["resumed"], 4)

    def test_the_deadline_ends_it_and_one_that_waits_is_answered_at_once(self):
        error = self.refused("deadline_exceeded", "kernel.tune", {"program": "gemm", "set": {"M": 1024, "N": 1024, "K": 1024, "dtype": "f32"},
                                                                  "rounds_max": 10000, "deadline_ms": 700})
        self.assertTrue(error["data"]["retryable"])
        self.connection.send({"jsonrpc": "2.0", "id": 1, "method": "kernel.tune", "params": {"program": "gemm", "set": SKINNY, "rounds_max": 10000}})
        other = self.service.connect()
        self.addCleanup(other.close)
        other.send({"jsonrpc": "2.0", "id": 2, "method": "kernel.tune", "params": {"program": add_one(), "set": {"N": 64}}})
        self.measured(self.connection, 1, "compile")
        other.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 2}})
        self.assertEqual(other.answer()["error"]["data"]["code"], "cancelled")
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 1}})
        self.assertEqual(self.connection.answer()["error"]["data"]["code"], "cancelled")


class CommandLine(TuningCase):
    def test_the_table_the_record_and_json(self):
        with tempfile.TemporaryDirectory() as folder:
            program, candidates = os.path.join(folder, "p.json"), os.path.join(folder, "c.json")
            with open(program, "w") as file:
                json.dump(add_one(), file)
            with open(candidates, "w") as file:
                json.dump([{"set": {"B": 16}}, {"name": "wrong", "program": add_one(value="2.0")}, {"set": {"B": 32}}], file)
            out = self.service.kiln("tune", program, "--set", "N=500", "--rounds", "2", "--candidates", candidates, check=0).stdout
            self.assertIn("ranked by time, checked against the interpreter", out)
            self.assertIn("wrong: Y: 500 of 500 elements are wrong", out)
            self.assertIn("record: " + self.service.cache + "/tuning/", out)
            self.assertIn("used for N:512", out)
            done = json.loads(self.service.kiln("--json", "tune", program, "--set", "N=500", "--rounds", "1", check=0).stdout)
            self.assertEqual(done["ranked_by"], "time")
            self.service.kiln("tune", program, "--set", "N=500", "--candidates", os.path.join(folder, "none.json"), check=1)
            with open(candidates, "w") as file:
                json.dump([{"set": {"B": 16}, "color": 1}], file)
            self.service.kiln("tune", program, "--set", "N=500", "--candidates", candidates, check=1)
            with open(candidates, "w") as file:
                json.dump([{"set": {"B": 64}}], file)
            anew = self.service.kiln("tune", program, "--set", "N=500", "--rounds", "1", "--candidates", candidates, check=0).stdout
            self.assertIn("ratio and verdict come from rounds in which", anew)
            if done["winner"] != "B=64":
                self.assertIn("in place of: %s, which an earlier tune measured" % done["winner"], anew)
            printed = self.service.kiln("explain", program, "--set", "N=500", check=0).stdout
            self.assertIn("tuned: {", printed)
            self.assertNotIn("tuned: {", self.service.kiln("explain", program, "--set", "N=500", "--untuned", check=0).stdout)
        self.service.kiln("tuning", "remove", "0000", check=1)
        self.assertIn("add_one", self.service.kiln("tuning", "list", check=0).stdout)

    def test_mistakes_in_candidates_are_told_by_their_place(self):
        with tempfile.TemporaryDirectory() as folder:
            program, candidates = os.path.join(folder, "p.json"), os.path.join(folder, "c.json")
            with open(program, "w") as file:
                json.dump(add_one(), file)
            tune = lambda text: self.service.kiln("tune", program, "--set", "N=64", "--candidates", self.written(candidates, text), check=1).stderr
            self.assertIn(candidates + ":2:", tune('[{"set": {"B": 16}},\n {"set": {"B": 16}, "color": 1}]'))
            self.assertIn(candidates + ":2:", tune('[{"set": {"B": 16}},\n {"program": {"kiln": "tile/1", "name": 3}}]'))
            self.assertIn("limits.line_bytes_max", tune(json.dumps([{"name": "x" * 1100000}])))
        said = self.service.kiln("tune", "softmax", "--set", "M=4", "N=4", "--scalar", "s=4611686018427387654", check=2).stderr
        self.assertIn("9007199254740991", said)

    def written(self, path, text):
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_export_and_import_of_all_and_of_some(self):
        for n in (100, 200):
            self.ok("kernel.tune", {"program": add_one(), "set": {"N": n}, "rounds_max": 1})
        self.ok("kernel.tune", {"program": add_one("other"), "set": {"N": 100}, "rounds_max": 1})
        mine = lambda: sorted(r["record"] for r in self.ok("tuning.list")["records"] if not r["shipped"])
        before = mine()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.json")
            count = lambda *words: int(self.service.kiln("tuning", "export", path, *words, check=0).stdout.split()[0])
            self.assertEqual((count("--program", "other"), count("--device", "no such"), count("--device", "host:"), count()), (1, 0, 3, 3))
            for record in before:
                self.ok("tuning.remove", {"record": record})
            self.assertIn("3 records", self.service.kiln("tuning", "import", path, check=0).stdout)
            self.assertEqual(mine(), before)
            with open(path) as file:
                records = json.load(file)
            for record in records["records"]:
                record["candidates"] *= 1000           # each is taken, all together are no request
            self.written(path, json.dumps(records))
            self.assertIn("3 are not taken", self.service.kiln("tuning", "import", path, check=0).stdout)

    def test_an_interrupt_ends_it_cleanly(self):
        with tempfile.TemporaryDirectory() as folder:
            candidates = os.path.join(folder, "c.json")
            with open(candidates, "w") as file:
                json.dump(Interrupted.REQUEST["candidates"], file)
            sizes = ["%s=%s" % size for size in Interrupted.SIZE.items()]
            process = subprocess.Popen([os.path.join(BIN, "kiln"), "--socket", self.service.socket, "--no-start", "tune", "gemm", "--set", *sizes,
                                        "--candidates", candidates, "--rounds", "10000"], env=self.service.environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            journals = os.path.join(self.service.cache, "tuning", "journals")
            until(lambda: os.path.isdir(journals) and os.listdir(journals), what="what the tune keeps")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        self.assertEqual((process.returncode, out), (130, ""))
        self.assertIn("the same tune goes on from there", err)
        self.assertEqual(self.tuned(Interrupted.SIZE), "default")


if __name__ == "__main__":
    unittest.main()
