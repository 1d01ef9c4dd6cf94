"""Triton's code objects on emulated cards, against NumPy.

    KILN_TRITON_PYTHON=PYTHON KILN_BUILD=build python3 tests/differential/triton/triton_objects_test.py

PYTHON: one with Triton: python3 -m venv DIR && DIR/bin/pip install triton. Without the variable the tests are skipped.
Every case of cases.py is compiled for every target and run with all checks of the card on. KILN_SEED chooses the data;
KILN_TRITON_TARGETS and KILN_TRITON_CASES (names with spaces between) choose less.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PYTHON = os.environ.get("KILN_TRITON_PYTHON", "")
BUILD = os.path.abspath(os.environ.get("KILN_BUILD", os.path.join(ROOT, "build")))
LIBRARY = os.path.join(BUILD, "lib", "kiln", "emulated", "libamdhip64.so.6")
SEED = os.environ.get("KILN_SEED", "1")
TARGETS = os.environ.get("KILN_TRITON_TARGETS", "gfx90a gfx942 gfx950 gfx1100").split()

sys.path.insert(0, HERE)
import cases


@unittest.skipUnless(PYTHON, "KILN_TRITON_PYTHON names no Python that has Triton")
@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class TritonObjects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="kiln-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = temporary.name
        environment = {**os.environ, "TRITON_CACHE_DIR": os.path.join(cls.folder, "cache"),
                       "TRITON_DEFAULT_FP_FUSION": "1"}
        done = subprocess.run([PYTHON, os.path.join(HERE, "kernels.py"), cls.folder, *TARGETS], env=environment,
                              text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=1800)
        if done.returncode != 0:
            raise AssertionError(f"{PYTHON} kernels.py: {done.stderr[-4000:]}")
        with open(os.path.join(cls.folder, "objects.json"), encoding="utf-8") as file:
            cls.objects = json.load(file)["objects"]
        cls.cases = {case.name: case for case in cases.CASES}

    def run_object(self, record):
        """None, or what went wrong."""
        case = self.cases[record["case"]]
        environment = {**os.environ, "KILN_EMULATOR_TARGETS": record["target"], "KILN_EMULATOR_CHECK": case.checks,
                       "KILN_EMULATOR_THREADS": "1"}
        path = os.path.join(self.folder, record["file"])
        command = [sys.executable, os.path.join(HERE, "run_object.py"), LIBRARY, path, case.name, json.dumps(record),
                   SEED]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=900)
        return None if done.returncode == 0 else (done.stderr + done.stdout)[-3000:] or f"status {done.returncode}"

    def test_every_case_compiles_where_it_has_to(self):
        for record in self.objects:
            expected = record["target"] in self.cases[record["case"]].targets
            with self.subTest(case=record["case"], target=record["target"]):
                self.assertEqual("error" not in record, expected,
                                 record.get("error", "Triton compiles it: add the target"))

    def test_results_are_numpys(self):
        runnable = [record for record in self.objects if "error" not in record]
        self.assertTrue(runnable)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for record, wrong in zip(runnable, pool.map(self.run_object, runnable)):
                with self.subTest(case=record["case"], target=record["target"], seed=SEED):
                    self.assertIsNone(wrong, wrong)


if __name__ == "__main__":
    unittest.main()
