"""A Python function wherever a command takes a program's name: compiled, run, profiled, tuned, and its mistakes at their lines."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, Service

KERNELS = '''import kiln.language as tl

factor = 2.0
ROWS = 4

@tl.kernel
def scale(X: tl.Buffer["M", "N", tl.float32], Y: tl.Buffer["M", "N", tl.float32]):
    BM = tl.tunable(4, candidates=[1, 2, 8])
    i = tl.program_id(0)
    Y[i * BM : (i + 1) * BM, 0:64] = X[i * BM : (i + 1) * BM, 0:64] * factor

@tl.kernel
def too_large(X: tl.Buffer["M", "N", tl.float32], Y: tl.Buffer["M", "N", tl.float32]):
    i = tl.program_id(0)
    tile = tl.alloc_shared([256, 256], dtype=tl.float32)
    tile[:, :] = X[i * 256 : (i + 1) * 256, 0:256]
    Y[i * 256 : (i + 1) * 256, 0:256] = tile

@tl.kernel
def open_types(X, Y):
    i = tl.program_id(0)
    Y[i * 4 : (i + 1) * 4, 0:32] = X[i * 4 : (i + 1) * 4, 0:32]
'''


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.file = os.path.join(cls.service.folder, "mine.py")
        with open(cls.file, "w", encoding="utf-8") as file:
            file.write(KERNELS)
        cls.scale = cls.file + ":scale"
        cls.sizes = ["--set", "M=10", "N=64"]

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def kiln(self, *words, check=0):
        return self.service.kiln(*words, check=check)

    def test_run_and_check(self):
        for device in ("host", "emu:gfx942"):
            done = self.kiln("run", self.scale, *self.sizes, "--device", device, "--check")
            self.assertIn("equal to the definition", done.stdout)

    def test_compile_explain_and_check(self):
        for command in ("compile", "explain"):
            self.assertIn("scale for gfx90a", self.kiln(command, self.scale, *self.sizes, "--target", "gfx90a").stdout)
        self.assertIn("sound", self.kiln("check", self.scale, *self.sizes).stdout)

    def test_profile(self):
        answer = json.loads(self.kiln("--json", "profile", self.scale, *self.sizes, "--device", "emu:gfx942").stdout)
        self.assertGreater(answer["counters"]["SQ_INSTS_VALU"], 0)
        places = [s.get("place", "") for s in answer["launches"][0]["statements"]]
        self.assertRegex(places[0], r"/\w+\.py:\d+:\d+$")
        line = places[0].split(":")[1]
        text = self.kiln("profile", self.scale, *self.sizes, "--device", "emu:gfx942").stdout
        self.assertRegex(text, r"(?m)^\w+\.py:%s  " % line)

    def test_tune(self):
        answer = json.loads(self.kiln("--json", "tune", self.scale, *self.sizes, "--device", "emu:gfx942").stdout)
        self.assertEqual({c["name"] for c in answer["candidates"]}, {"default", "BM=1", "BM=2", "BM=8"})

    def test_constants_of_the_file_and_values_of_the_program(self):
        shown = self.kiln("show", self.scale, "--set", "factor=5.0").stdout
        self.assertIn("5.0", shown)
        self.assertNotEqual(shown, self.kiln("show", self.scale).stdout)
        wrong = self.kiln("run", self.scale, *self.sizes, "facto=3", check=1)
        self.assertIn("no symbol, parameter or constant facto", wrong.stderr)

    def test_types_of_what_is_not_annotated(self):
        words = ["run", self.file + ":open_types", "--arg", "X=f16[10, 32]", "Y=f16[10, 32]", "--check"]
        self.assertIn("equal to the definition", self.kiln(*words).stdout)
        tuned = json.loads(self.kiln("--json", "tune", self.file + ":open_types", "--arg", "X=f16[10, 32]", "Y=f16[10, 32]").stdout)
        self.assertEqual(tuned["winner"], "default")
        self.assertIn("X", self.kiln("run", self.file + ":open_types", check=1).stderr)
        self.assertIn("--arg", self.kiln("run", "gemm", "--arg", "X=f16[4]", check=2).stderr)

    def test_mistakes_stand_at_their_lines(self):
        found = self.kiln("compile", self.file + ":too_large", "--set", "M=256", "N=256", "--target", "gfx942", check=1)
        self.assertRegex(found.stderr, r"mine\.py:\d+:\d+: error: the shared tiles do not fit")
        missing = self.kiln("run", self.file + ":nothing", check=1)
        self.assertIn("no kernel nothing", missing.stderr)

    def test_explanations_name_lines(self):
        for target in ("host", "gfx942"):
            text = self.kiln("explain", self.scale, *self.sizes, "--target", target).stdout
            self.assertNotRegex(text, "/launches/")
        bounds = self.kiln("explain", self.scale, "--set", "M=10", "N=60").stdout
        self.assertRegex(bounds[bounds.index("bounds checks"):], r"mine\.py:10:\d+: [XY] axis")

    def test_kernels_to_prepare(self):
        path = os.path.join(self.service.folder, "kernels.json")
        kernels = [{"program": self.scale, "set": {"M": 10, "N": 64}},
                   {"program": self.file + ":open_types", "arg": ["X=f16[10, 32]", "Y=f16[10, 32]"],
                    "target": "gfx942"},
                   {"program": self.file + ":too_large", "set": {"M": 256, "N": 256}, "target": "gfx942"},
                   {"program": self.file + ":nothing"}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(kernels, file)
        done = self.kiln("prepare", path, check=1)
        self.assertRegex(done.stdout, "4 kernels: .*, 2 failed")
        self.assertRegex(done.stderr, r"kernel 2, .*mine\.py:too_large for gfx942, M=256 N=256\n"
                                      r".*mine\.py:\d+:\d+: error: the shared tiles do not fit")
        self.assertRegex(done.stderr, r"kernel 3, .*\n(.*\n)*.*no kernel nothing")
        entries = json.loads(self.kiln("--json", "prepare", path, check=1).stdout)["kernels"]
        self.assertEqual(["error" in entry for entry in entries], [False, False, True, True])
        self.assertRegex(entries[2]["mistakes"][0], r"mine\.py:\d+:\d+: error: the shared tiles")

    def test_what_a_file_prints_and_starts_at_import(self):
        path = os.path.join(self.service.folder, "talks.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import atexit, time\nprint('{} hello')\natexit.register(time.sleep, 600)\n" + KERNELS)
        self.assertEqual(json.loads(self.kiln("--json", "show", path + ":scale").stdout)["name"], "scale")

    def test_modules_beside_the_file_hide_none_of_python_s_own(self):
        folder = os.path.join(self.service.folder, "beside")
        os.mkdir(folder)
        for name, text in (("random.py", "raise RuntimeError('not this one')"), ("sizes.py", "WIDTH = 64"),
                           ("mine.py", KERNELS + "\nimport sizes\nassert sizes.WIDTH == 64\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.assertIn("scale", self.kiln("show", os.path.join(folder, "mine.py") + ":scale").stdout)

    def test_a_report_never_replaces_its_program(self):
        words = ["report", self.scale, "--set", "M=10", "N=64", "--set-b", "BM=2", "--rounds", "7", "-o"]
        self.assertIn("would replace the program", self.kiln(*words, self.file, check=2).stderr)
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(file.read(), KERNELS)

    def test_a_report_has_no_markup_but_its_own(self):
        path = os.path.join(self.service.folder, "a`<img src=x>.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNELS)
        out = os.path.join(self.service.folder, "r.md")
        words = ["report", path + ":scale", *self.sizes, "--set-b", "BM=2", "--rounds", "7", "-o", out]
        self.kiln(*words, "--title", "one\n# two <script>")
        with open(out, encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(lines[0], "# one \\# two \\<script\\>")
        self.kiln(*words)
        with open(out, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("`<img src=x>", text.split("\n")[0])
        self.assertIn("`` %s:scale ``" % path, text)

    def test_a_program_whose_name_only_looks_like_python(self):
        path = os.path.join(self.service.folder, "made.python.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.kiln("show", self.scale).stdout)
        self.assertIn("equal to the definition", self.kiln("run", path, *self.sizes, "--check").stdout)

    def test_files_that_cannot_be_imported(self):
        for text, said in (("def (\n", r"broken\.py:1:5: error: "), ("x = 1\ny = 1 / 0\n", r"broken\.py:2:1: error: ZeroDivisionError"),
                           ("import no_such_module\n", r"KILN_PYTHON")):
            path = os.path.join(self.service.folder, "broken.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            found = self.kiln("run", path, check=1)
            self.assertRegex(found.stderr, said)
            self.assertNotIn("Traceback", found.stderr)


if __name__ == "__main__":
    unittest.main()
