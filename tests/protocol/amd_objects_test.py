"""What the command line gives for AMD targets, held against llvm-readelf and llvm-objdump."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from edited_gemm import edited_gemm
from service import Service

TARGETS = ["gfx90a", "gfx942", "gfx950", "gfx1100"]
FLAGS = {"gfx90a": 0x53F, "gfx942": 0x54C, "gfx950": 0x54F, "gfx1100": 0x41}
SIZES = ["M=4096", "N=4096", "K=4096"]
MATRIX = re.compile(r"\bv_(s?mfma|smfmac|wmma)_")


def tool(name, *arguments):
    return subprocess.run(["llvm-%s-22" % name, *arguments], capture_output=True, text=True, check=True).stdout


class AmdObjects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.folder = tempfile.mkdtemp(dir=cls.service.folder)

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def compile(self, program, target, *words, layouts=()):
        path = os.path.join(self.folder, "object.co")
        flags = ["--layout", *layouts] if layouts else []
        done = self.service.kiln("--json", "compile", program, "--target", target, "--set", *words, *flags, "--explain", "-o", path, check=0)
        return json.loads(done.stdout), path

    def test_report_equals_the_object(self):
        for target in TARGETS:
            with self.subTest(target=target):
                report, path = self.compile("gemm", target, *SIZES, "dtype=bf16")
                r, notes = report["resources"], tool("readelf", "--notes", path)

                def note(name):
                    found = re.search(r"\.%s:\s+(\d+)" % name, notes)
                    return int(found.group(1)) if found else 0

                self.assertEqual(r["vgprs"], note("vgpr_count"))
                self.assertEqual(r["agprs"], note("agpr_count"))
                self.assertEqual(r["sgprs"], note("sgpr_count"))
                self.assertEqual(r["vgpr_spills"], note("vgpr_spill_count"))
                self.assertEqual(r["sgpr_spills"], note("sgpr_spill_count"))
                self.assertEqual(r["lds_bytes"], note("group_segment_fixed_size"))
                self.assertEqual(r["scratch_bytes"], note("private_segment_fixed_size"))
                listing = tool("objdump", "-d", path)
                self.assertEqual(r["matrix_instructions"], len(MATRIX.findall(listing)))
                self.assertGreater(r["matrix_instructions"], 0)
                flags = int(re.search(r"Flags:\s+(0x[0-9A-Fa-f]+)", tool("readelf", "-h", path)).group(1), 16)
                self.assertEqual(flags, FLAGS[target])
                for name in ("key", "cached", "compile_ms", "lds_conflict_cycles"):
                    self.assertIn(name, report)
                self.assertEqual({"As", "Bs"}, {t["tile"] for t in report["shared_tiles"]})

    def test_default_tiles_are_clean(self):
        attention = ["B=2", "H=16", "HKV=16", "S=4096", "SK=4096", "D=128", "causal=true"]
        for target in ("gfx90a", "gfx942", "gfx950"):
            for program, words in (("gemm", SIZES), ("flash_attention", attention)):
                with self.subTest(target=target, program=program):
                    report, _ = self.compile(program, target, *words, "dtype=f16")
                    r = report["resources"]
                    self.assertEqual((r["vgpr_spills"], r["sgpr_spills"], r["scratch_bytes"], r["lds_conflict_cycles"]), (0, 0, 0, 0), r)
                    self.assertGreater(r["matrix_instructions"], 0)

    def test_row_major_rows_are_the_documented_costs(self):
        documented = {"gfx942": {(32, 8), (64, 8)}, "gfx950": {(16, 4), (32, 4)}}
        for target, wanted in documented.items():
            with self.subTest(target=target):
                report, _ = self.compile("gemm", target, *SIZES, "dtype=f16", "BK=64", layouts=["As=row_major"])
                rows = {(row["cost"], row["active_phases"]) for row in report["lds_instructions"] if row["tile"] == "As" and row["operation"] == "read"}
                self.assertTrue(rows and rows <= wanted, rows)
                self.assertEqual(report["lds_conflict_cycles"], sum(r["cost"] - r["active_phases"] for r in report["lds_instructions"]))
                self.assertGreater(report["lds_conflict_cycles"], 0)

    def test_a_row_for_each_lds_instruction(self):
        attention = ["B=2", "H=4", "HKV=4", "S=512", "SK=512", "D=64", "causal=true", "dtype=bf16"]
        for target in TARGETS:
            for program, words in (("gemm", [*SIZES, "dtype=f16"]), ("gemm", [*SIZES, "dtype=i8", "transpose_a=true"]),
                                   ("gemm", ["M=300", "N=257", "K=129", "dtype=f32"]), ("flash_attention", attention),
                                   ("softmax", ["M=33", "N=1000", "dtype=f16"])):
                with self.subTest(target=target, program=program, words=words):
                    report, path = self.compile(program, target, *words)
                    listing = tool("objdump", "-d", "--no-show-raw-insn", path)
                    wanted = re.findall(r"\b(ds_(?:read|write|load|store)\w*)", listing)
                    self.assertEqual([row["instruction"] for row in report["lds_instructions"]], wanted)
                    self.assertTrue(all(row["tile"] for row in report["lds_instructions"]))

    def test_prefetch_in_the_main_loop(self):
        _, path = self.compile("gemm", "gfx942", *SIZES, "dtype=f16", "transpose_b=true")
        lines = [l.split("//")[0].strip() for l in tool("objdump", "-d", "--no-show-raw-insn", path).splitlines()]
        loop = self.main_loop(path)
        text = "\n".join(loop)
        loads = [i for i, l in enumerate(loop) if re.match(r"(buffer|global)_load", l)]
        products = [i for i, l in enumerate(loop) if MATRIX.search(l)]
        self.assertTrue(loads and products, text)
        self.assertLess(max(loads), min(products), "a load of the next tile stands behind the first product\n" + text)
        for line in loop[min(loads):min(products)]:
            self.assertFalse(re.search(r"vmcnt\(0\)", line), "all loads are waited for before the first product\n" + text)
        self.assertTrue(lines)

    @staticmethod
    def main_loop(path):
        """The instructions between a backward branch's target and the branch, of the loop with the most products."""
        listing = tool("objdump", "-d", path)
        instructions, at = [], {}
        for line in listing.splitlines():
            found = re.match(r"\s+(\S.*?)\s*//\s*([0-9A-F]+):", line)
            if found:
                at[int(found.group(2), 16)] = len(instructions)
                instructions.append((int(found.group(2), 16), found.group(1), line))
        best = []
        for index, (address, text, line) in enumerate(instructions):
            if not re.match(r"s_c?branch", text):
                continue
            offset = int(re.search(r"\s(\d+)", text).group(1))
            target = address + 4 + 4 * (offset - 65536 if offset >= 32768 else offset)
            if target in at and at[target] < index:
                body = [t for _, t, _ in instructions[at[target]:index]]
                if sum(bool(MATRIX.search(t)) for t in body) > sum(bool(MATRIX.search(t)) for t in best):
                    best = body
        return best

    def test_renamed_gemm_keeps_everything(self):
        changed = os.path.join(self.folder, "changed.json")
        with open(changed, "w") as file:
            json.dump(edited_gemm(), file)
        for target in TARGETS:
            before, _ = self.compile("gemm", target, *SIZES, "dtype=f16")
            after, _ = self.compile(changed, target, *SIZES, "dtype=f16")
            self.assertEqual(before["resources"]["matrix_instructions"], after["resources"]["matrix_instructions"])
            self.assertEqual(after["lds_conflict_cycles"], before["lds_conflict_cycles"])

    def test_unknown_target(self):
        done = self.service.kiln("compile", "gemm", "--target", "gfx12345", "--set", *SIZES, check=1)
        self.assertIn("gfx12345", done.stderr)
        self.assertIn("gfx942", done.stderr)
        self.assertTrue(self.service.alive())


if __name__ == "__main__":
    unittest.main()
