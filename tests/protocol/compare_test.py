"""`kiln compare`: two sides on the same inputs; what is counted, how times are judged, what is wrong, what is refused.
No times: only that what is said of them follows from the samples."""

import csv
import json
import os
import pty
import signal
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import BIN, ROOT, ServiceCase
from tuning_test import add_one

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
SOFTMAX = os.path.join(ROOT, "kernels", "programs", "softmax.json")
ATTENTION = "B=1 H=1 HKV=1 D=64 dtype=f16 causal=true".split()
emulated = unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")


class CompareCase(ServiceCase):
    def compare(self, *words, check=0):
        done = self.service.kiln("--json", "compare", *words, check=check)
        return json.loads(done.stdout)

    def file(self, name, text):
        path = os.path.join(self.service.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def softmax(self, name="softmax.json", replace=()):
        with open(SOFTMAX, encoding="utf-8") as file:
            text = file.read()
        for old, new in replace:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return self.file(name, text)


@emulated
class Counted(CompareCase):
    def test_bank_conflicts_side_by_side(self):
        words = [
            "gemm",
            "--device",
            "emu:gfx942",
            "--set",
            "M=128",
            "N=128",
            "K=128",
            "dtype=f16",
            "--layout-b",
            "As=row_major",
        ]
        document = self.compare(*words)
        (row,) = document["rows"]
        self.assertEqual(
            (row["kind"], row["target"], row["size"]), ("counted", "gfx942", "M=128 N=128 K=128 dtype=f16")
        )
        self.assertEqual(row["a"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertGreater(row["b"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertEqual(row["verdict"], "worse")
        self.assertNotIn("ms", row["a"])
        self.assertTrue(row["check"]["passed"])
        for side in ("a", "b"):
            counters, counts = row[side]["counters"], row[side]["counts"]
            self.assertEqual(counts["instructions"], counters["SQ_INSTS"])
            self.assertLessEqual(row["check"][side]["ratio_max"], 1)
            estimate = [unit["cycles"] for unit in row[side]["estimate"]]
            self.assertAlmostEqual(counts["cycles_busiest"], max(estimate))
            self.assertAlmostEqual(counts["cycles_sum"], sum(estimate))
        text = self.service.kiln("compare", *words, check=0).stdout
        self.assertRegex(text, r"SQ_LDS_BANK_CONFLICT +0 +%d +from 0\n" % row["b"]["counts"]["SQ_LDS_BANK_CONFLICT"])
        self.assertIn("no time was measured", text)
        # The other way round nothing rises.
        words[-2] = "--layout-a"
        (row,) = self.compare(*words)["rows"]
        self.assertEqual(row["verdict"], "better")

    def test_fewer_cycles_are_no_worse_whatever_the_conflicts(self):
        # Tiles that fit the product better, in a layout with conflicts: these are in the cycles already.
        words = ["gemm", "--set", "M=256", "N=256", "K=256", "dtype=f16", "--set-a", "BM=32", "BN=32"]
        (row,) = self.compare(*words, "--layout-b", "As=pad:2", "--device", "emu:gfx942")["rows"]
        self.assertLess(row["b"]["counts"]["cycles_busiest"], row["a"]["counts"]["cycles_busiest"])
        self.assertGreater(row["b"]["counts"]["SQ_LDS_BANK_CONFLICT"], row["a"]["counts"]["SQ_LDS_BANK_CONFLICT"])
        self.assertEqual(row["verdict"], "better")
        self.assertIn("against it", row["verdict_text"])

    def test_records_of_tuning_decide_nothing(self):
        sizes = ["M=40", "N=64", "K=64", "dtype=f32"]
        self.service.kiln("tune", "gemm", "--set", *sizes, "--rounds", "7", "--candidates-max", "6")
        (row,) = self.compare("gemm", "--set", *sizes, "--set-b", "THREADS=1", "--rounds", "7")["rows"]
        self.assertTrue(row["same_kernel"])

    def test_a_launch_that_never_ends(self):
        spin = json.dumps({"kiln": "tile/1", "name": "spin", "symbols": ["N"],
                           "params": [{"name": "Y", "dtype": "f32", "shape": ["N"], "access": "readwrite"}],
                           "launches": [{"grid": ["1"], "threads": 1, "body": [
                               {"op": "for", "var": "k", "to": "1000000000", "body": [
                                   {"op": "map", "index": ["i"], "extent": ["N"], "body": [
                                       {"set": "Y[i]", "value": "Y[i] * 1.5 + 1.0"}]}]}]}]})
        path = os.path.join(self.service.folder, "spin.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(spin)
        words = [path, "--set", "N=4096", "--set-b", "N=4096", "--no-check", "--launch-seconds", "1"]
        done = self.service.kiln("compare", *words, check=1)
        self.assertIn("--launch-seconds", done.stderr)

    def test_a_size_that_fails_keeps_the_others(self):
        done = self.service.kiln("compare", "gemm", "--set", "N=64", "K=64", "--set-b", "BM=32", "--over", "M=64,2000000000",
                                 "--no-check", "--rounds", "7", check=1)
        self.assertIn("M=64 ", done.stdout)
        self.assertIn("M=2000000000 on host: not measured, ", done.stdout)

    def test_markdown_and_csv(self):
        path = os.path.join(self.service.folder, "figures.csv")
        words = [
            os.path.join(ROOT, "examples", "columns", "columns.json"),
            "--device",
            "emu:gfx942",
            "--over",
            "M,N=32,64",
            "--layout-a",
            "tile=row_major",
            "--csv",
            path,
            "--layout-b",
            "tile=pad:4",
        ]
        done = self.service.kiln("compare", *words, "--markdown", check=0)
        self.assertIn(
            "| size | card | counted | baseline | optimized | change |\n|---|---|---|---|---|---|\n", done.stdout
        )
        rows = self.compare(*words)["rows"]
        self.assertEqual([row["over"] for row in rows], [{"M": "32", "N": "32"}, {"M": "64", "N": "64"}])
        with open(path, newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        for row in rows:
            for side in ("a", "b"):
                found = [
                    line["value"]
                    for line in lines
                    if (line["size"], line["side"], line["figure"]) == (row["size"], side, "SQ_LDS_BANK_CONFLICT")
                ]
                self.assertEqual(found, [str(row[side]["counts"]["SQ_LDS_BANK_CONFLICT"])])
        self.assertEqual([row["b"]["counts"]["SQ_LDS_BANK_CONFLICT"] for row in rows], [0, 0])
        self.assertGreater(rows[0]["a"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)

    def test_further_targets(self):
        document = self.compare(
            "flash_attention",
            "--set",
            *ATTENTION,
            "--set-b",
            "BN=128",
            "--over",
            "seq=64,128",
            "--rounds",
            "7",
            "--also",
            "gfx90a,gfx1100",
            "--also",
            "emu:gfx90a",
        )
        self.assertEqual([row["kind"] for row in document["rows"]], ["timed", "timed"])
        self.assertEqual(
            [(row["target"].split(":")[0], row["size"]) for row in document["also"]],
            [("gfx90a", "seq=64"), ("gfx90a", "seq=128"), ("gfx1100", "seq=64"), ("gfx1100", "seq=128")],
        )
        for row in document["also"]:
            self.assertEqual((row["kind"], row["check"]["passed"]), ("counted", True))
            self.assertRegex(row["verdict_text"], "^(no worse|worse by )")

    def test_the_largest_size_that_is_affordable(self):
        words = [
            "flash_attention",
            "--set",
            *ATTENTION,
            "--set-b",
            "BM=32",
            "--over",
            "seq=64,16384",
            "--rounds",
            "7",
            "--also",
            "gfx942",
        ]
        document = self.compare(*words, "--seconds", "1")
        first, second = document["also"]
        self.assertEqual(first["size"], "seq=64")
        self.assertNotIn("instead_of", first)
        self.assertEqual(second["instead_of"], "seq=16384")
        self.assertIn(second["size"], ["seq=%d" % (16384 >> i) for i in range(1, 8)])
        self.assertTrue(any(second["size"] + " instead of seq=16384" in note for note in document["notes"]))
        # The definition takes too long there: B against A.
        large = document["rows"][1]["check"]
        self.assertEqual((large["by"], large["passed"], large["a"]), ("a", True, None))
        self.assertEqual(document["rows"][0]["check"]["by"], "definition")
        (row,) = self.compare(
            "gemm",
            "--set",
            "M=64",
            "N=64",
            "K=64",
            "--set-b",
            "BK=32",
            "--also",
            "gfx942",
            "--rounds",
            "7",
            "--seconds",
            "0",
        )["also"]
        self.assertIn("more than --seconds 0", row["not_run"])

    def test_an_interrupt_ends_it(self):
        ours, theirs = pty.openpty()
        words = ["flash_attention", "--set", *ATTENTION, "--set-b", "BM=32", "--over", "seq=64,65536"]
        process = subprocess.Popen(
            [os.path.join(BIN, "kiln"), "--socket", self.service.socket, "--no-start", "compare", *words]
            + ["--device", "emu:gfx942"],
            env=self.service.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        )
        os.close(theirs)
        said = b""
        while b"seq=65536 on emu:gfx942" not in said:
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while True:  # what it still draws must not fill the terminal
            try:
                if not os.read(ours, 4096):
                    break
            except OSError:
                break
        self.assertEqual((process.communicate(timeout=60)[0], process.returncode), ("", 130))
        os.close(ours)


class Timed(CompareCase):
    def test_a_program_with_itself_is_no_difference(self):
        document = self.compare("gemm", "gemm", "--over", "M,N,K=64,100", "--set", "dtype=f32", "--rounds", "9")
        self.assertEqual(len(document["rows"]), 2)
        for row in document["rows"]:
            self.assertTrue(row["same_kernel"])
            self.assertEqual(row["verdict"], "no difference")
            self.assertEqual((row["check"]["by"], row["check"]["passed"]), ("definition", True))
            for side in ("a", "b"):
                self.assertEqual(len(row[side]["ms"]["samples"]), 9)
        text = self.service.kiln("compare", "gemm", "gemm", "--set", "M=64", "N=64", "K=64", check=0).stdout
        self.assertIn("no difference beyond the spread (A and B are one kernel)", text)

    def test_verdicts_follow_from_the_samples(self):
        # Tiles of 12 rows against the whole product in one block: which one is faster is the machine's to say.
        document = self.compare(
            "gemm", "--set", "dtype=f32", "--over", "M,N,K=128,256", "--set-b", "BM=12", "BN=32", "--rounds", "11"
        )
        for row in document["rows"]:
            self.assertFalse(row["same_kernel"])
            a, b = (row[side]["ms"]["samples"] for side in ("a", "b"))
            ratios = [x / y for x, y in zip(a, b)]
            q1, _, q3 = statistics.quantiles(ratios, n=4, method="inclusive")
            improvement = row["improvement"]
            self.assertAlmostEqual(improvement["ratio"], statistics.median(ratios))
            self.assertAlmostEqual(improvement["q1"], q1)
            self.assertAlmostEqual(improvement["q3"], q3)
            faster, slower = sum(r > 1 for r in ratios), sum(r < 1 for r in ratios)
            self.assertEqual((improvement["rounds_faster"], improvement["rounds_slower"]), (faster, slower))
            wanted = "no difference"
            if q1 > 1 and faster >= 10:
                wanted = "faster"
            if q3 < 1 and slower >= 10:
                wanted = "slower"
            self.assertEqual(row["verdict"], wanted)

    def test_a_wrong_program(self):
        wrong = self.softmax("wrong.json", [('* 1.4426950408889634)"', '* 1.5)"')])
        words = ["softmax", wrong, "--set", "M=8", "N=100", "--rounds", "7"]
        check = self.compare(*words, check=5)["rows"][0]["check"]
        self.assertEqual((check["by"], check["passed"], check["a"]["wrong"]), ("definition", False, 0))
        self.assertGreater(check["b"]["wrong"], 0)
        self.assertIn("B is equal to its own definition", check["text"])
        # Without the interpreter B is compared with A.
        check = self.compare(*words, "--seconds", "0", check=5)["rows"][0]["check"]
        self.assertEqual((check["by"], check["passed"]), ("a", False))
        (row,) = self.compare(*words, "--no-check")["rows"]
        self.assertEqual((row["check"]["by"], row["check"]["passed"]), ("none", None))

    def test_a_sum_is_compared_within_its_tolerance_without_the_interpreter(self):
        check = self.compare(
            "gemm", "--set", "M=64", "N=64", "K=512", "dtype=f32", "--set-b", "BK=32", "--rounds", "7", "--seconds", "0"
        )
        check = check["rows"][0]["check"]
        self.assertEqual((check["by"], check["passed"]), ("a", True))
        self.assertLess(check["b"]["ratio_max"], 1)

    def test_settings_reach_the_program_that_has_them(self):
        other = self.softmax("renamed.json", [("\"THREADS\"", "\"LANES\"")])
        row = self.compare("softmax", other, "--set", "M=8", "--over", "N=50", "--set-a", "THREADS=1", "--rounds", "7")[
            "rows"
        ][0]
        self.assertEqual(row["a"]["set"], {"M": "8", "N": "50", "THREADS": "1"})
        self.assertEqual(row["b"]["set"], {"M": "8", "N": "50"})
        row = self.compare("softmax", other, "--set", "M=8", "N=50", "LANES=1", "--rounds", "7")["rows"][0]
        self.assertEqual(
            (row["a"]["set"], row["b"]["set"]), ({"M": "8", "N": "50"}, {"M": "8", "N": "50", "LANES": "1"})
        )


class Revisions(CompareCase):
    def git(self, *words):
        subprocess.run(
            ["git", "-C", self.service.folder, "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
            check=True,
            capture_output=True,
        )

    def test_a_file_as_git_has_it(self):
        path = self.softmax("sub/softmax.json")
        self.git("init", "-q")
        self.git("add", "sub/softmax.json")
        self.git("commit", "-q", "-m", "before")
        self.softmax("sub/softmax.json", [('"default": "4"', '"default": "2"')])
        document = self.compare("HEAD:" + path, path, "--set", "M=8", "N=100", "--rounds", "7")
        self.assertEqual((document["a"]["revision"], document["b"]["revision"]), ("HEAD", ""))
        self.assertEqual(len(document["a"]["commit"]), 12)
        self.assertIn('"default": "4"', document["a"]["text"])
        self.assertIn('"default": "2"', document["b"]["text"])
        self.assertFalse(document["rows"][0]["same_kernel"])
        for spec, said in (
            ("nowhere:" + path, "no revision \"nowhere\""),
            ("HEAD:" + path[:-5] + "2.json", "in revision HEAD"),
        ):
            done = self.service.kiln("compare", spec, path, "--set", "M=8", "N=100", check=1)
            self.assertIn(said, done.stderr)
            self.assertIn("A (" + spec, done.stderr)


KERNELS = """import kiln.language as tl
from sizes import ROWS

TILE = 32
%s

@tl.kernel(args={"X": "f32[64, 64]", "Y": "f32[64, 64]"})
def plain(X, Y):
    i, j = tl.program_id(0), tl.program_id(1)
    tile = tl.alloc_shared([TILE, TILE], layout=tl.make_block_layout(shape=(ROWS, 32), order=(1, 0), origin=(0, 0)))
    tile[:, :] = X[i * TILE:(i + 1) * TILE, j * TILE:(j + 1) * TILE]
    Y[j * TILE:(j + 1) * TILE, i * TILE:(i + 1) * TILE] = tl.transpose(tile)


@tl.kernel(args={"X": "f32[64, 64]", "Y": "f32[64, 64]"})
def padded(X, Y):
    i, j = tl.program_id(0), tl.program_id(1)
    tile = tl.alloc_shared([TILE, TILE], layout=tl.make_block_layout(shape=(ROWS, 33), order=(1, 0), origin=(0, 0)))
    tile[:, :] = X[i * TILE:(i + 1) * TILE, j * TILE:(j + 1) * TILE]
    Y[j * TILE:(j + 1) * TILE, i * TILE:(i + 1) * TILE] = tl.transpose(tile)


@tl.kernel(args={"X": "f32[64, 64]", "Y": "f32[64, 64]"})
def rows(X, Y):
    i = tl.program_id(0)
    Y[i : i + 1, :] = X[i : i + 1, :] * 2.0


@tl.kernel
def flat(x_ptr, y_ptr, n):
    offsets = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2.0, mask=offsets < n)
"""


@emulated
class Python(CompareCase):
    def setUp(self):
        self.kernels = self.file("kernels.py", KERNELS % "")
        self.file("sizes.py", "ROWS = 32\n")

    def test_padding(self):
        (row,) = self.compare(self.kernels + ":plain", self.kernels + ":padded", "--device", "emu:gfx942")["rows"]
        self.assertEqual(row["size"], "X f32[64,64]")
        self.assertGreater(row["a"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertEqual(row["b"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertEqual((row["check"]["passed"], row["verdict"]), (True, "better"))

    def test_other_shapes_and_constants(self):
        shapes = ["--arg", "X=f32[128, 32]", "--arg", "Y=f32[32, 128]"]
        (row,) = self.compare(self.kernels + ":plain", self.kernels + ":padded", *shapes, "--device", "emu:gfx942")[
            "rows"
        ]
        self.assertEqual(row["size"], "X f32[128,32]")
        # A constant of the file: the function is made into a program anew for each value.
        rows = self.compare(
            self.kernels + ":plain", self.kernels + ":padded", "--device", "emu:gfx942", "--over", "TILE=16,32"
        )["rows"]
        self.assertEqual([row["size"] for row in rows], ["TILE=16", "TILE=32"])
        self.assertNotEqual(rows[0]["a"]["key"], rows[1]["a"]["key"])

    def test_other_names_and_shapes_of_the_same_memory(self):
        rows, flat = self.kernels + ":rows", self.kernels + ":flat"
        words = ["--arg-b", "x_ptr=f32[4096]", "y_ptr=f32[4096]", "n=4096", "--device", "emu:gfx942"]
        document = self.compare(rows, flat, "--rename", "x_ptr=X", "y_ptr=Y", *words)
        self.assertEqual(document["rows"][0]["check"]["passed"], True)
        self.assertIn("X is f32[64,64] for A and f32[4096] for B", " ".join(document["notes"]))
        self.assertIn(" --rename x_ptr=X y_ptr=Y", document["command"])
        for more, said in (
            ([], "do not take the same tensors, by name"),
            (["--rename", "x_ptr=Y", "y_ptr=X"], "differ in Y: A has f32[64,64], write, B has f32[4096], read"),
            (["--rename", "x_ptr=X", "y_ptr=X"], "differ in X"),
            (["--rename", "x_ptr=X", "z_ptr=Y"], "--rename z_ptr=Y: B ("),
        ):
            self.assertIn(said, self.service.kiln("compare", rows, flat, *more, *words, check=2 if "B (" in said else 1).stderr)
        words[1:4] = ["x_ptr=f32[4095]", "y_ptr=f32[4095]", "n=4095"]
        done = self.service.kiln("compare", rows, flat, "--rename", "x_ptr=X", "y_ptr=Y", *words, check=1)
        self.assertIn("differ in X: A has f32[64,64], read, B has f32[4095], read", done.stderr)

    def test_a_scalar_of_one_side_alone(self):
        program = add_one()
        plain = self.file("plain.json", json.dumps(program))
        program = add_one(value="by")
        program["params"].insert(0, {"name": "by", "scalar": True, "dtype": "f32"})
        scaled = self.file("scaled.json", json.dumps(program))
        for pair in ((plain, scaled), (scaled, plain)):
            (row,) = self.compare(*pair, "--set", "N=100", "--scalar", "by=1", "--rounds", "7")["rows"]
            self.assertEqual(row["check"]["passed"], True)
            self.assertIn("--scalar by=NUMBER", self.service.kiln("compare", *pair, "--set", "N=100", check=1).stderr)

    def test_a_size_that_sets_nothing_is_refused(self):
        self.file("kernels.py", KERNELS % "UNUSED = 1")
        words = [self.kernels + ":plain", self.kernels + ":padded", "--device", "emu:gfx942", "--over", "UNUSED=1,2"]
        said = self.service.kiln("compare", *words, check=1).stderr
        self.assertIn("A and B are the same programs at UNUSED=1 and at UNUSED=2: it sets nothing in them", said)

    def test_what_python_says_is_shown(self):
        for spec, words, said in (
            ("missing", [], "no kernel missing"),
            ("plain", ["--set", "NOTHING=3"], "no symbol, parameter or constant NOTHING"),
        ):
            done = self.service.kiln("compare", self.kernels + ":" + spec, self.kernels + ":padded", *words, check=1)
            self.assertIn("A: " + self.kernels + ":" + spec, done.stderr)
            self.assertIn(said, done.stderr)
        broken = self.file("broken.py", KERNELS.replace("tl.transpose(tile)", "tl.transposed(tile)") % "")
        done = self.service.kiln("compare", self.kernels + ":plain", broken + ":padded", check=1)
        self.assertIn("B: " + broken, done.stderr)
        self.assertRegex(done.stderr, r"broken\.py:\d+:\d+: ")

    def test_a_revision(self):
        def git(*words):
            subprocess.run(
                ["git", "-C", self.service.folder, "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
                check=True,
                capture_output=True,
            )

        git("init", "-q")
        git("add", "kernels.py")  # sizes.py is the working tree's
        git("commit", "-q", "-m", "before")
        self.file("kernels.py", (KERNELS % "").replace("(ROWS, 32)", "(ROWS, 33)"))
        document = self.compare("HEAD:" + self.kernels + ":plain", self.kernels + ":plain", "--device", "emu:gfx942")
        (row,) = document["rows"]
        self.assertGreater(row["a"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertEqual(row["b"]["counts"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertTrue(any("what it imports is the working tree's" in note for note in document["notes"]))
        self.file("kernels.py", KERNELS % "raise SystemExit(7)")
        git("commit", "-q", "-a", "-m", "broken")
        done = self.service.kiln("compare", "HEAD:" + self.kernels + ":plain", self.kernels + ":plain", check=1)
        self.assertIn("A: HEAD:", done.stderr)


class Refused(CompareCase):
    def mistake(self, *words, check):
        done = self.service.kiln("compare", *words, check=check)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_words(self):
        for words, said in (
            (["softmax"], "takes two programs, or one with --set-a"),
            (["x:y", "softmax"], "\"x:y\" names no program"),
            ([":a.py", "softmax"], "expected REV:FILE.py:FUNCTION"),
            (["a.py:f:g", "softmax"], "expected REV:FILE.py:FUNCTION"),
            (["a.json:f", "softmax"], "no function \"f\""),
            (["softmax", "softmax", "--over", "N"], "--over N: expected NAME=V1"),
            (["softmax", "softmax", "--over", "N=1,"], "values behind the ="),
            (["softmax", "softmax", "--over", "M=1", "--over", "M=2"], "M is given twice"),
            (["softmax", "softmax", "--also", "gfx1"], "no target of an emulated card"),
            (["softmax", "softmax", "--set", "M"], "expected NAME=VALUE"),
            (["softmax", "softmax", "--rounds", "6"], "rounds"),
            (["-", "-"], "standard input is one program"),
        ):
            with self.subTest(words=words):
                self.assertIn(said, self.mistake(*words, check=2))

    def test_sides(self):
        sizes = ["--set", "M=8", "N=100"]
        self.assertIn("B (nothing): no built-in program", self.mistake("softmax", "nothing", *sizes, check=1))
        self.assertIn("A (none.json): ", self.mistake("none.json", "softmax", *sizes, check=1))
        text = self.mistake("softmax", "gemm", "--set", "M=8", "N=100", "K=4", check=1)
        self.assertIn("do not take the same tensors, by name: A (softmax) takes X f32[8,100], read;", text)
        text = self.mistake("softmax", "softmax", *sizes, "--set-b", "dtype=f16", check=1)
        self.assertIn("differ in X: A has f32[8,100], read, B has f16[8,100], read", text)
        self.assertIn("/bindings/set/Q", self.mistake("softmax", "softmax", *sizes, "Q=1", check=1))
        self.assertIn("B is softmax", self.mistake("softmax", "softmax", *sizes, "--set-b", "Q=1", check=1))

    def test_a_mistake_is_shown_in_its_own_file(self):
        bad = self.softmax("bad.json", [("\"exp2(", "\"exp3(")])
        good = self.softmax("good.json")
        for pair, label in (((bad, good), "A"), ((good, bad), "B")):
            text = self.mistake(*pair, "--set", "M=8", "N=100", check=1)
            self.assertRegex(text, r"bad\.json:\d+:\d+: error: ")
            self.assertIn("exp3", text)
            self.assertIn(label + " is " + bad, text)


if __name__ == "__main__":
    unittest.main()
