"""Profiles: counters against the static analysis on every card, what the report says, and its files."""

import csv
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, ServiceCase

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
TARGETS = ["gfx90a", "gfx942", "gfx950", "gfx1100"]
GEMM = "M=128 N=192 K=128 dtype=%s"
# Program, bindings, layouts. Full waves: the static analysis counts those.
RUNS = [("gemm", GEMM % "f16", ""), ("gemm", GEMM % "bf16" + " transpose_b=true", ""), ("gemm", GEMM % "f32", ""), ("gemm", GEMM % "i8", ""),
        ("gemm", "M=300 N=257 K=129 dtype=f16", ""),
        ("flash_attention", "B=1 H=2 HKV=1 S=128 SK=128 D=64 dtype=f16 causal=true", ""),
        ("flash_attention", "B=1 H=1 HKV=1 S=64 SK=96 D=128 dtype=bf16 causal=false", ""),
        ("softmax", "M=33 N=1000 dtype=f16", ""), ("rmsnorm", "M=33 N=1000 dtype=f32", ""),
        ("layernorm", "M=33 N=1000 dtype=f32", ""), ("reduce", "M=33 N=1000 dtype=f16", ""),
        ("elementwise", "M=33 N=1000 dtype=f16 activation=silu combine=mul", ""),
        ("transpose", "M=130 N=100 dtype=f32", ""), ("transpose", "M=128 N=96 dtype=f32", "tile=row_major"),
        ("gemm", GEMM % "f16", "As=row_major Bs=row_major"), ("gemm", GEMM % "f16", "As=pad:2 Bs=pad:16"),
        ("gemm", GEMM % "bf16" + " transpose_a=true", "As=row_major Bs=pad:8"), ("gemm", GEMM % "i8", "As=pad:16 Bs=row_major"),
        ("gemm", GEMM % "f32", "As=pad:4 Bs=row_major")]
COLUMNS = os.path.join(ROOT, "examples", "columns", "columns.json")


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class Profiles(ServiceCase):
    def profile(self, program, words, layouts="", target="gfx942", more=()):
        layout = ["--layout", *layouts.split()] if layouts else []
        done = self.service.kiln("--json", "profile", program, "--device", "emu:" + target, "--set", *words.split(), *layout, *more, check=0)
        return json.loads(done.stdout)

    def test_prediction_and_count_are_equal(self):
        """Done for every built-in on every target, with layouts that conflict and those that do not."""
        conflicts = 0
        for target in TARGETS:
            for program, words, layouts in RUNS + [(COLUMNS, "M=64 N=96", "tile=row_major"), (COLUMNS, "M=64 N=96", "tile=pad:4"), (COLUMNS, "M=64 N=96", "")]:
                with self.subTest(target=target, program=program, words=words, layouts=layouts):
                    report = self.profile(program, words, layouts, target)
                    rows = [row for launch in report["launches"] for row in launch["lds_instructions"]]
                    wrong = [row for row in rows if row["conflicts"] != row["predicted_conflicts"]]
                    self.assertEqual(wrong, [])
                    counted = report["counters"]["SQ_LDS_BANK_CONFLICT"]
                    self.assertEqual(counted, sum(row["conflicts"] for row in rows))
                    conflicts += counted
                    if not layouts and target != "gfx1100":  # the chooser's own: conflict-free layouts fit all of these
                        self.assertEqual(counted, 0)
        self.assertGreater(conflicts, 0)

    def test_no_type_and_no_size_conflicts_in_a_transpose(self):
        vectors, halves, single = "M=256 N=128", "M=130 N=194", "M=99 N=65"
        for dtype, sizes in (("f32", (vectors, halves, single)), ("f16", (vectors, halves)), ("bf16", (single,)),
                             ("i8", (vectors, "M=130 N=128", single))):
            for size in sizes:
                report = self.profile("transpose", size + " dtype=" + dtype)
                self.assertEqual(report["counters"]["SQ_LDS_BANK_CONFLICT"], 0, dtype + " " + size)
                self.assertGreater(report["counters"]["SQ_LDS_IDX_ACTIVE"], 0)

    def test_the_report_names_tile_instruction_and_layout(self):
        clean = self.profile("gemm", "M=512 N=512 K=512 dtype=f16")
        self.assertEqual(clean["counters"]["SQ_LDS_BANK_CONFLICT"], 0)
        self.assertEqual(clean["counters"]["SQ_INSTS_VALU_MFMA_MOPS_F16"] * 512, 2 * 512**3)
        self.assertEqual(clean["advice"], [])
        words = "M=512 N=512 K=512 dtype=f16"
        report = self.profile("gemm", words, "As=row_major")
        self.assertGreater(report["counters"]["SQ_LDS_BANK_CONFLICT"], 0)
        (advice,) = report["advice"]
        self.assertEqual((advice["tile"], advice["instruction"], advice["layout"], advice["better"]), ("As", "ds_read_b128", "row_major", "xor16(row%8)"))
        self.assertEqual(advice["conflict_cycles"], report["counters"]["SQ_LDS_BANK_CONFLICT"])
        text = self.service.kiln("profile", "gemm", "--device", "emu:gfx942", "--set", *words.split(), "--layout", "As=row_major", check=0).stdout
        self.assertIn("As: ds_read_b128 at", text)
        self.assertIn("--layout As=auto", text)

    def test_statements_add_up(self):
        report = self.profile("gemm", "M=128 N=128 K=128 dtype=f16")
        (launch,) = report["launches"]
        self.assertEqual(sum(s["instructions"] for s in report["statements"]), report["counters"]["SQ_INSTS"])
        self.assertEqual(sum(r["executed"] for r in launch["instructions"]), report["counters"]["SQ_INSTS"])
        (gemm,) = [s for s in report["statements"] if s["text"].startswith("gemm ")]
        self.assertEqual(gemm["mfma"], report["counters"]["SQ_INSTS_MFMA"])
        self.assertGreater(gemm["lds"], 0)
        self.assertAlmostEqual(sum(s["share"] for s in report["statements"]), 1)
        self.assertEqual(report["occupancy"]["waves_per_simd"], min(report["occupancy"]["by_registers"], report["occupancy"]["by_lds"]))
        self.assertEqual(report["roofline"]["operations"], 2 * 128**3)

    def test_counters_do_not_change(self):
        words = "M=96 N=64 K=64 dtype=bf16"
        first, second = self.profile("gemm", words), self.profile("gemm", words)
        self.assertEqual(first["counters"], second["counters"])
        self.assertEqual(first["launches"][0]["instructions"], second["launches"][0]["instructions"])

    def test_files(self):
        columns, trace = (os.path.join(self.service.folder, name) for name in ("counters.csv", "trace.json"))
        report = self.profile("softmax", "M=8 N=100", more=["--csv", columns, "--trace", trace])
        with open(columns, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["Counter_Name"]: int(row["Counter_Value"]) for row in rows}, report["counters"])
        self.assertEqual({row["Kernel_Name"] for row in rows}, {"softmax_0"})
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        self.assertIn("softmax_0", [event["name"] for event in events])

    def test_the_host_has_a_duration_only(self):
        done = self.service.kiln("--json", "profile", "softmax", "--device", "host", "--set", "M=8", "N=100", check=0)
        report = json.loads(done.stdout)
        self.assertEqual((report["counters"], report["launches"], report["emulated"]), ({}, [], False))
        self.assertGreater(report["duration_ms"], 0)

    def test_switches(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)

        def launch(switches, device="emu:gfx942"):
            return connection.call("kernel.launch", {"program": "softmax", "set": {"M": 0, "N": 64}, "device": device, "switches": switches,
                                                     "args": {}})["error"]

        self.assertEqual(launch({"check": 1.5})["data"]["code"], "invalid_argument")
        self.assertEqual(launch({"threads": 1})["data"]["code"], "invalid_argument")
        # numbers and lists pass the switches' own reader: what is left to complain about is the argument
        for switches in ({"seed": 7, "budget": 100000, "check": ["races", "barriers"]}, {"seed": "7", "check": "all"}):
            self.assertIn("/params/args", launch(switches)["message"])
        words = ["--device", "emu:gfx942", "--set", "M=8", "N=100"]
        done = self.service.kiln("--json", "profile", "softmax", *words, "--check-memory", "all", check=0)
        self.assertGreater(json.loads(done.stdout)["counters"]["SQ_WAVES"], 0)
        done = self.service.kiln("--json", "profile", "softmax", *words, "--check-memory", "nothing", check=1)
        self.assertIn("races", done.stdout)


if __name__ == "__main__":
    unittest.main()
