"""`kiln report`: one Markdown file that says what a comparison found, how to repeat it, and what it does not prove."""

import base64
import os
import re
import shlex
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, ServiceCase

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
COLUMNS = os.path.join(ROOT, "examples", "columns", "columns.json")
SECTIONS = ["Measured", "What changed", "Counters", "Resources", "Repeat", "Versions", "Checked, and not proven"]
emulated = unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")


class Reports(ServiceCase):
    def report(self, *words, check=0):
        path = os.path.join(self.service.folder, "report.md")
        if os.path.exists(path):
            os.remove(path)
        done = self.service.kiln("report", *words, "-o", path, check=check)
        with open(path, encoding="utf-8") as file:
            return file.read(), done

    def file(self, name, text):
        path = os.path.join(self.service.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def section(self, text, name):
        found = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(name), text, re.M | re.S)
        self.assertIsNotNone(found, name + " in\n" + text)
        return found.group(1)

    def chart(self, text):
        data = re.search(r"\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", text).group(1)
        return xml.fromstring(base64.b64decode(data, validate=True))

    @emulated
    def test_counted(self):
        text, done = self.report(
            COLUMNS,
            "--device",
            "emu:gfx942",
            "--set",
            "M=64",
            "N=64",
            "--layout-a",
            "tile=row_major",
            "--layout-b",
            "tile=pad:4",
            "--title",
            "columns: rows padded by one element",
        )
        self.assertTrue(
            text.startswith(
                "# columns: rows padded by one element\n\nCounted on an emulated gfx942, B is no worse than A"
            )
        )
        self.assertEqual(re.findall(r"^## (.*)$", text, re.M), SECTIONS)
        counters = self.section(text, "Counters")
        conflicts = re.search(r"SQ_LDS_BANK_CONFLICT \| (\d+) \| 0 \|", counters)
        self.assertGreater(int(conflicts.group(1)), 0)
        self.assertIn("LDS bank conflict cycles go from %s to 0" % conflicts.group(1), text.split("## ")[0])
        self.assertIn("--layout tile=auto", counters)  # the advice
        self.assertIn("| layout of tile | row_major | pad:4 |", self.section(text, "What changed"))
        self.assertRegex(self.section(text, "Resources"), r"\| gfx942 \| M=64 N=64 \| A \| \d+ \|")
        self.assertIn("No time was measured", text)
        self.assertIn("no AMD card ran this", self.section(text, "Checked, and not proven"))
        self.assertIn("| compiler for gfx942 | hipRTC", self.section(text, "Versions"))
        chart = self.chart(text)
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(
            (chart.get("role"), chart.find(space + "title").text), ("img", "columns: rows padded by one element")
        )
        self.assertIn(
            "SQ_LDS_BANK_CONFLICT: A %s cycles, B 0 cycles" % conflicts.group(1), chart.find(space + "desc").text
        )
        self.assertIn("prefers-color-scheme: dark", chart.find(space + "style").text)
        self.assertIn(conflicts.group(1) + " cycles", [t.text for t in chart.iter(space + "text")])
        self.assertIn("written", done.stdout)

    @emulated
    def test_the_command_repeats_it(self):
        words = [
            "softmax",
            "--device",
            "emu:gfx942",
            "--set",
            "M=8",
            "N=100",
            "--set-b",
            "BM=2",
            "--title",
            "it's \"quoted\"; $(no)",
        ]
        first, _ = self.report(*words)
        command = shlex.split(re.search(r"```sh\n(.*)\n```", first).group(1))
        self.assertEqual(command[:2], ["kiln", "report"])
        path = command[command.index("-o") + 1]
        self.service.kiln(*command[1:], check=0)
        with open(path, encoding="utf-8") as file:
            again = file.read()
        self.assertEqual(
            again.split("## Versions")[0], first.split("## Versions")[0]
        )  # counts repeat exactly; the load is in Versions

    def test_timed_and_beside(self):
        text, _ = self.report(
            "gemm", "gemm", "--over", "M,N,K=48,64", "--set", "dtype=f32", "--rounds", "7", "--separate-chart"
        )
        head = text.split("## ")[0]
        self.assertIn("# gemm compared with itself", head)
        self.assertIn("On host, there is no difference beyond the spread of the rounds at 2 of 2 sizes.", head)
        self.assertRegex(self.section(text, "Measured"), r"\| M=48 N=48 K=48 \| [\d.e-]+ ms \[")
        self.assertIn("Nothing: both sides are the same program", self.section(text, "What changed"))
        self.assertIn("None: no AMD target", self.section(text, "Counters"))
        self.assertIn("](report.svg)", text)
        chart = xml.parse(os.path.join(self.service.folder, "report.svg")).getroot()
        self.assertEqual(chart.get("role"), "img")
        self.assertIn("--separate-chart", self.section(text, "Repeat"))

    def test_a_wrong_side_is_said_first(self):
        with open(os.path.join(ROOT, "kernels", "programs", "softmax.json"), encoding="utf-8") as file:
            program = file.read()
        good = self.file("good.json", program)
        wrong = self.file("wrong.json", program.replace('* 1.4426950408889634)"', '* 1.5)"'))
        text, _ = self.report(good, wrong, "--set", "M=8", "N=100", "--rounds", "7", check=5)
        self.assertIn("**The results differ**", text.split("## ")[0])
        changed = self.section(text, "What changed")
        self.assertIn("```diff\n--- %s\n+++ %s\n@@ " % (good, wrong), changed)
        removed = [line for line in changed.splitlines() if line.startswith("-  ")]
        added = [line for line in changed.splitlines() if line.startswith("+  ")]
        self.assertEqual(
            [line[1:].replace("1.4426950408889634", "1.5") for line in removed], [line[1:] for line in added]
        )
        # It is a diff as the tool of that name makes it.
        made = subprocess.run(["diff", "-u", good, wrong], capture_output=True, text=True).stdout
        ours = re.search(r"```diff\n(.*?)```", changed, re.S).group(1)
        self.assertEqual(ours.splitlines()[2:], made.splitlines()[2:])

    @emulated
    def test_python_functions(self):
        kernels = self.file(
            "kernels.py",
            """import kiln.language as tl


@tl.kernel(args={"X": "f32[64, 64]", "Y": "f32[64, 64]"})
def plain(X, Y):
    i, j = tl.program_id(0), tl.program_id(1)
    tile = tl.alloc_shared([32, 32], layout=tl.make_block_layout(shape=(32, 32), order=(1, 0), origin=(0, 0)))
    tile[:, :] = X[i * 32:(i + 1) * 32, j * 32:(j + 1) * 32]
    Y[j * 32:(j + 1) * 32, i * 32:(i + 1) * 32] = tl.transpose(tile)


@tl.kernel(args={"X": "f32[64, 64]", "Y": "f32[64, 64]"})
def padded(X, Y):
    i, j = tl.program_id(0), tl.program_id(1)
    tile = tl.alloc_shared([32, 32], layout=tl.make_block_layout(shape=(32, 33), order=(1, 0), origin=(0, 0)))
    tile[:, :] = X[i * 32:(i + 1) * 32, j * 32:(j + 1) * 32]
    Y[j * 32:(j + 1) * 32, i * 32:(i + 1) * 32] = tl.transpose(tile)
""",
        )
        text, _ = self.report(kernels + ":plain", kernels + ":padded", "--rounds", "7", "--also", "gfx90a,gfx942")
        changed = self.section(text, "What changed")
        self.assertIn("-    tile = tl.alloc_shared([32, 32], layout=tl.make_block_layout(shape=(32, 32)", changed)
        self.assertIn("+    tile = tl.alloc_shared([32, 32], layout=tl.make_block_layout(shape=(32, 33)", changed)
        self.assertIn("-def plain(X, Y):\n", changed)
        self.assertIn("| Python | 3.", self.section(text, "Versions"))
        head = text.split("## ")[0]
        for target in ("gfx90a", "gfx942"):
            self.assertIn("Counted on an emulated %s, B is no worse than A" % target, head)

    def test_it_is_written_or_said(self):
        done = self.service.kiln("report", "gemm", "gemm", "--set", "M=8", "N=8", "K=8", check=2)
        self.assertIn("--out", done.stderr)
        done = self.service.kiln(
            "report",
            "gemm",
            "gemm",
            "--set",
            "M=8",
            "N=8",
            "K=8",
            "-o",
            os.path.join(self.service.folder, "no", "r.md"),
            check=1,
        )
        self.assertIn("no/r.md", done.stderr)


if __name__ == "__main__":
    unittest.main()
