"""`kiln bench`: the shape of its rows, how they are judged, and what it says when something is absent. No times."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Service

ROW = {"area", "what", "against", "unit", "kiln", "peer", "ratio", "q1", "q3", "rounds", "relation", "target", "passed", "samples"}
AREAS = ["service", "host", "emulator", "compile", "warm-start"]
# A benchmark's script that hands over what the test wrote beside it.
SCRIPT = """import os, sys
with open(os.path.join(os.path.dirname(__file__), "said"), encoding="utf-8") as said:
    text = said.read()
if "--check" not in sys.argv:
    with os.fdopen(int(sys.argv[sys.argv.index("--document-fd") + 1]), "w") as out:
        out.write(text)
    sys.exit(3 if text == "" else 0)
"""


def row(relation, kiln, peer, target=None, **more):
    value = {"what": "x", "against": "y", "unit": "ms", "kiln": kiln, "peer": peer, "relation": relation, **more}
    return value if target is None else {**value, "target": target}


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service(environment={"KILN_TRITON_PYTHON": ""})
        cls.away = os.path.join(cls.service.folder, "away", "bin")  # a kiln without benchmarks
        os.makedirs(cls.away)
        shutil.copy(os.path.join(BIN, "kiln"), cls.away)

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def kiln_away(self, *words):
        return subprocess.run([os.path.join(self.away, "kiln"), *words], env=self.service.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def judge(self, document):
        """What `kiln --json bench host` makes of a script's document."""
        scripts = os.path.join(os.path.dirname(self.away), "share", "kiln", "bench")
        os.makedirs(scripts, exist_ok=True)
        for name, text in (("host_bench.py", SCRIPT), ("said", document if isinstance(document, str) else json.dumps(document))):
            with open(os.path.join(scripts, name), "w", encoding="utf-8") as file:
                file.write(text)
        try:
            done = self.kiln_away("--json", "bench", "host")
        finally:
            shutil.rmtree(scripts)
        return done.returncode, json.loads(done.stdout)

    def check_row(self, got, rounds):
        self.assertEqual(set(got), ROW)
        self.assertEqual((got["rounds"], len(got["samples"]["kiln"]), len(got["samples"]["peer"])), (rounds,) * 3)
        for side in ("kiln", "peer"):
            self.assertAlmostEqual(got[side], statistics.median(got["samples"][side]))
        over, under = got["relation"].split(" / ")
        self.assertAlmostEqual(got["ratio"], got[over] / got[under])
        self.assertLessEqual(got["q1"], got["q3"])
        self.assertEqual(got["target"] is None, got["passed"] is None)
        if got["target"] is not None:
            self.assertRegex(got["target"], r"^(<=|>=) ")
            self.assertIsInstance(got["passed"], bool)

    def test_service(self):
        document = json.loads(self.service.kiln("--json", "bench", "service", "--rounds", "3", check=0).stdout)
        self.assertEqual(set(document), {"machine", "rounds", "rows", "notes", "not_run"})
        for name in ("cpu", "cores", "memory_bytes", "system", "load", "kiln", "date"):
            self.assertIn(name, document["machine"])
        self.assertEqual((document["rounds"], document["not_run"]), (3, []))
        self.assertEqual({r["area"] for r in document["rows"]}, {"service"})
        self.assertEqual([r["target"] for r in document["rows"]],
                         ["<= 3", "<= 5", "<= peer + 100 us", "<= 3", "<= peer + 1 us", ">= 5"])
        for got in document["rows"]:
            self.check_row(got, 3)
        self.assertTrue(any("fewer than 7 rounds" in n["text"] for n in document["notes"]))

    def test_table(self):
        text = self.service.kiln("bench", "service", "--rounds", "1", check=0).stdout
        self.assertRegex(text, r"(?m)^machine: .*, \d+ cores, .*load ")
        self.assertRegex(text, r"(?m)^what +against +kiln us +peer us +ratio +q1 +q3 +target +result$")
        self.assertEqual(len(re.findall(r"(?m)^P[123] .*(passed|missed)$", text)), 6)

    def test_judging(self):
        status, document = self.judge({"notes": ["n"], "rows": [
            row("cost", [2.0, 2.2, 2.4], [2.0, 2.0, 2.0], 1.2),    # ratios 1, 1.1, 1.2
            row("cost", [2.0, 2.0, 2.8], [2.0, 2.0, 2.0], 1.19),   # the median is well, the upper quartile is 1.2
            row("gain", [1.0, 1.0, 1.0], [20.0, 22.0, 24.0], 21),  # the lower quartile is 21
            row("gain", [1.0, 1.0, 1.0], [20.0, 22.0, 24.0], 21.5),
            row("cost", [3.0], [2.0])]})
        self.assertEqual(status, 0)
        rows = document["rows"]
        for got, rounds in zip(rows, (3, 3, 3, 3, 1)):
            self.check_row(got, rounds)
        self.assertEqual([r["passed"] for r in rows], [True, False, True, False, None])
        self.assertEqual([r["target"] for r in rows], ["<= 1.2", "<= 1.19", ">= 21", ">= 21.5", None])
        for got, wanted in zip(rows, ((1.1, 1.05, 1.15), (1.0, 1.0, 1.2), (22, 21, 23), (22, 21, 23), (1.5, 1.5, 1.5))):
            for name, value in zip(("ratio", "q1", "q3"), wanted):
                self.assertAlmostEqual(got[name], value)
        self.assertIn({"area": "host", "text": "n"}, document["notes"])

    def test_wrong_documents(self):
        good = row("cost", [1.0], [1.0])
        for document, said in (("", "exit status 3"), ("{", ""), ([], ""), ({"rows": []}, ""), ({"rows": [], "notes": []}, "no rows"),
                               ({"rows": [7], "notes": []}, "/rows/0"), ({"rows": [good, {}], "notes": []}, "/rows/1"),
                               ({"rows": [row("cost", [1.0], [1.0, 2.0])], "notes": []}, "/rows/0/peer"),
                               ({"rows": [row("cost", [0.0], [1.0])], "notes": []}, "/rows/0/kiln"),
                               ({"rows": [row("cost", [], [])], "notes": []}, "/rows/0/kiln"),
                               ({"rows": [row("more", [1.0], [1.0])], "notes": []}, "/rows/0/relation"),
                               ({"rows": [row("cost", [1.0], [1.0], "3")], "notes": []}, "/rows/0/target")):
            with self.subTest(document=document):
                status, answer = self.judge(document)
                self.assertEqual(status, 1)
                self.assertIn(said, json.dumps(answer["error"]))

    def test_help_and_usage(self):
        text = self.service.kiln("bench", "--help", check=0).stdout
        for word in (*AREAS, "--rounds", "--triton-python", "KILN_TRITON_PYTHON", "--list"):
            self.assertIn(word, text)
        self.assertIn("bench", self.service.kiln("--help", check=0).stdout)
        for words in (["nonsense"], ["service", "--rounds", "0"], ["service", "--rounds", "many"]):
            self.assertEqual(self.service.kiln("bench", *words).returncode, 2, words)

    def test_list(self):
        listed = json.loads(self.service.kiln("--json", "bench", "--list", check=0).stdout)["areas"]
        self.assertEqual([a["area"] for a in listed], AREAS)
        for area in listed:
            self.assertEqual(area["runs_here"], area["missing"] == "", area)
        self.assertIn("venv DIR && DIR/bin/pip install triton", listed[AREAS.index("warm-start")]["missing"])
        text = self.service.kiln("bench", "--list", check=0).stdout
        self.assertEqual([line.split()[0] for line in text.splitlines()], ["area", *AREAS])

    def test_absent_triton(self):
        empty = os.path.join(self.service.folder, "absent")
        for words, said in (([], "no Python with Triton was named"), (["--triton-python", empty], "cannot be started"),
                            (["--triton-python", "/usr/bin/false"], "has no Triton")):
            done = self.service.kiln("bench", "warm-start", *words, check=1)
            self.assertIn("cannot run here", done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn("pip install triton", done.stderr)

    def test_absent_hiprtc(self):
        environment = {**self.service.environment, "XDG_DATA_HOME": os.path.join(self.service.folder, "nothing")}  # no toolchains

        def answer(*words):
            return json.loads(subprocess.run([os.path.join(BIN, "kiln"), "--json", *words], env=environment, capture_output=True, text=True).stdout)

        area = answer("bench", "--list")["areas"][AREAS.index("compile")]
        self.assertEqual(area["runs_here"], answer("toolchain", "list")["usable"])
        if not area["runs_here"]:  # else the system has a hipRTC
            self.assertIn("kiln toolchain install", area["missing"])
            self.assertIn("kiln toolchain install", answer("bench", "compile")["error"]["message"])

    def test_absent_scripts(self):
        done = self.kiln_away("bench", "compile")
        self.assertEqual(done.returncode, 1)
        self.assertIn("share/kiln/bench/compile_bench.py is absent", done.stderr)

    def test_needs_a_daemon(self):
        self.assertIn("--no-daemon", self.service.kiln("--no-daemon", "bench", "service", check=1).stderr)


if __name__ == "__main__":
    unittest.main()
