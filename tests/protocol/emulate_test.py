"""kiln emulate: kernels that people wrote by hand, from text and from objects, and every mistake that can be made."""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from nightly import by_day
from offload_bundle import bundle
from service import BIN, ROOT

LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")
CORPUS = os.path.join(ROOT, "tests", "unit", "emulator", "corpus")
SEED = int(os.environ.get("KILN_TEST_SEED", "1"))

TILE = """#include <hip/hip_runtime.h>
#ifndef COLUMNS
#define COLUMNS 32
#endif
extern "C" __global__ void transpose(float* out, const float* in) {
  __shared__ float tile[32][COLUMNS];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 32 + x];
  __syncthreads();
  out[y * 32 + x] = tile[x][y];
}
"""
SEVERAL = """struct Pair { int a; float b; };
extern "C" __global__ void scale(float* data, float factor, int n, unsigned long long skip) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i + skip] *= factor;
}
extern "C" __global__ void pairs(float* out, Pair pair) { out[threadIdx.x] = pair.a * pair.b; }
extern "C" __global__ void beyond(int* out) { out[threadIdx.x * 2] = 1; }
extern "C" __global__ void racy(int* out) {
  __shared__ int words[256];
  words[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = words[255 - threadIdx.x];
}
extern "C" __global__ void forever(int* out) { while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {} }
extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(64, 64))) plain(_Float16* out) { out[threadIdx.x] = threadIdx.x; }
"""
WHOLE = """// A whole program, as hipcc takes it.
#include <cstdio>
#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#include <vector>
namespace cg = cooperative_groups;
__global__ void sums(const float* in, float* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  float v = __bfloat162float(__float2bfloat16(in[threadIdx.x]));
  for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_down(v, o);
  if (tile.thread_rank() == 0) out[threadIdx.x / 16] = v;
}
int main() {
  std::vector<float> values(64, 1.0f);
  float *in = nullptr, *out = nullptr;
  if (hipMalloc(&in, 256) != hipSuccess || hipMalloc(&out, 16) != hipSuccess) return 1;
  if (hipMemcpy(in, values.data(), 256, hipMemcpyHostToDevice) != hipSuccess) return 1;
  sums<<<1, 64>>>(in, out);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""
PRINTS = """#include <cassert>
#include <cstdio>
#include <hip/hip_runtime.h>
template <class T> __global__ void say(T what) {
  if (threadIdx.x < 3) printf("thread %d says %d: %.2f %s\\n", int(threadIdx.x), int(what), threadIdx.x / 2.0, "text");
}
template __global__ void say(int);
template __global__ void say(float);
__global__ void must(int n) { const int thread = threadIdx.x; assert(thread < n); }
__global__ void endless() { for (;;) printf("again "); }
"""
CHAIN = """#include <hip/hip_runtime.h>
extern "C" __global__ void chain(int* flags, int* out) {   // each block waits for the one after it
  if (threadIdx.x != 0) return;
  const unsigned b = blockIdx.x;
  int sum = b;
  if (b + 1 < gridDim.x) {
    int next;
    while ((next = __hip_atomic_load(&flags[b + 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) == 0) {}
    sum += next - 1;
  }
  out[b] = sum;
  __hip_atomic_store(&flags[b], sum + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
"""


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class Emulate(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="kiln-test-")
        self.addCleanup(self.temporary.cleanup)
        self.write("tile.hip", TILE)
        self.write("several.hip", SEVERAL)

    def path(self, name):
        return os.path.join(self.temporary.name, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)

    def kiln(self, *words, status=0):
        done = subprocess.run([os.path.join(BIN, "kiln"), *words], cwd=self.temporary.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def emulate(self, *words, status=0):
        return json.loads(self.kiln("--json", "emulate", *words, status=status).stdout)

    def refused(self, *words, status=1):
        return self.emulate(*words, status=status)["error"]

    def tile(self, *words):
        return self.emulate("tile.hip", "--target", "gfx942", "--grid", "1", "--block", "32,32", "--arg", "out:out.bin:4096",
                            "--arg", "in:in.bin", *words)

    def test_padding_by_one_column_ends_the_conflicts(self):
        values = [float(i) for i in range(1024)]
        self.write("in.bin", struct.pack("<1024f", *values))
        for columns, conflicts in ((32, True), (33, False)):
            report = self.tile("-D", "COLUMNS=%d" % columns, "--print", "0:f32:4")
            with open(self.path("out.bin"), "rb") as file:
                self.assertEqual(struct.unpack("<1024f", file.read()), tuple(values[x * 32 + y] for y in range(32) for x in range(32)))
            self.assertEqual(report["printed"][0]["values"], [0.0, 32.0, 64.0, 96.0])
            counted = report["counters"]["SQ_LDS_BANK_CONFLICT"]
            self.assertEqual(counted > 0, conflicts, report["lds_instructions"])
            self.assertEqual(counted, sum(row["conflicts"] for row in report["lds_instructions"]))
            self.assertEqual(report["counters"]["SQ_WAVES"], 16)
            # The read is at fault, not the write: the line that says tile[x][y].
            lines = {row["line"] for row in report["lds_instructions"] if row["conflicts"]}
            self.assertEqual(lines, {"tile.hip:10"} if conflicts else set())
            shares = {row["line"]: row for row in report["lines"]}
            self.assertIn("out[y * 32 + x] = tile[x][y];", shares["tile.hip:10"]["text"])
            self.assertAlmostEqual(sum(row["share"] for row in report["lines"]), 1)
            self.assertEqual(report["resources"]["lds_bytes"], 32 * columns * 4)
            for name in report["modelled"]:
                self.assertIn(name, report["counters"])
            self.assertIn("TCC_HIT", report["modelled"])
            self.assertIn("model", report["models"]["l2"]["text"])
            self.assertGreaterEqual(report["counters"]["TCC_MISS"], 2 * 4096 // 128)
        text = self.kiln("emulate", "tile.hip", "--grid", "1", "--block", "32,32", "--arg", "buffer:4096", "--arg", "random:f32:1024:7").stdout
        self.assertIn("tile.hip:10", text)
        self.assertRegex(text, r"SQ_LDS_BANK_CONFLICT +\d+")
        self.assertRegex(text, r"TCC_HIT\*")
        self.assertIn("* a model", text)

    def test_on_every_card_from_text_and_from_an_object(self):
        for target in by_day(("gfx90a", "gfx1100"), ("gfx90a", "gfx942", "gfx950", "gfx1100")):
            with self.subTest(target=target):
                report = self.emulate("several.hip", "--target", target, "--kernel", "scale", "--grid", "2", "--block", "64", "--arg",
                                      "random:f32:200:3", "--arg", "f32:0", "--arg", "i32:100", "--arg", "u64:50", "--print", "0:f32:200")
                values = report["printed"][0]["values"]
                self.assertTrue(all(values[:50]) and not any(values[50:150]) and all(values[150:]), values)
                report = self.emulate(os.path.join(CORPUS, "launch_%s.co" % target), "--target", target, "--kernel", "reverse", "--grid", "1",
                                      "--block", "256", "--arg", "inout:" + self.write("words.bin", struct.pack("<256I", *range(256))))
                with open(self.path("words.bin"), "rb") as file:
                    self.assertEqual(struct.unpack("<256I", file.read()), tuple(reversed(range(256))))

    def test_values_and_structures(self):
        report = self.emulate("several.hip", "--kernel", "pairs", "--grid", "1", "--block", "4", "--arg", "buffer:16", "--arg",
                              "bytes:" + struct.pack("<if", -3, 0.5).hex(), "--print", "0:f32:4")
        self.assertEqual(report["printed"][0]["values"], [-1.5] * 4)
        report = self.emulate("several.hip", "--kernel", "plain", "--grid", "1", "--block", "64", "--arg", "buffer:128", "--print", "0:f16:3", "-O", "0")
        self.assertEqual(report["printed"][0]["values"], [0, 1, 2])

    def test_whole_programs(self):
        self.write("whole.hip", WHOLE)
        self.write("in.bin", struct.pack("<64f", *([1.0] * 64)))
        for target in by_day(("gfx942", "gfx1100"), ("gfx90a", "gfx942", "gfx950", "gfx1100")):
            report = self.emulate("whole.hip", "--target", target, "--grid", "1", "--block", "64", "--arg", "in:in.bin", "--arg", "buffer:16",
                                  "--print", "1:f32:4")
            self.assertEqual(report["printed"][0]["values"], [16.0] * 4)
            self.assertTrue(any("shfl_down" in row["text"] for row in report["lines"]), report["lines"])
        # What is wrong is told with the file's own name, wherever the compiler had it.
        broken = self.write("broken.hip", WHOLE.replace("tile.size()", "tile.sise()"))
        for name in ("broken.hip", broken):
            error = self.refused(name, "--grid", "1", "--block", "64")
            self.assertIn("\n" + name + ":11:", "\n" + "\n".join(error["data"]["context"]))
            self.assertNotIn("comgr-", json.dumps(error))

    def test_work_groups_that_wait_for_each_other(self):
        self.write("chain.hip", CHAIN)
        for checks in ([], ["--check", "all"], ["--seed", "5"]):
            report = self.emulate("chain.hip", "--grid", "48", "--block", "128", "--arg", "buffer:192", "--arg", "buffer:192", "--print", "1:i32:48", *checks)
            self.assertEqual(report["printed"][0]["values"], [sum(range(b, 48)) for b in range(48)])

    def test_what_kernels_print(self):
        self.write("prints.hip", PRINTS)
        report = self.emulate("prints.hip", "--kernel", "say<int>", "--grid", "1", "--block", "64", "--arg", "i32:3")
        self.assertEqual(report["output"], "".join("thread %d says 3: %.2f text\n" % (i, i / 2) for i in range(3)))
        self.assertEqual((report["name"], report["fault"]), ("say<int>", None))
        done = self.kiln("emulate", "prints.hip", "--kernel", "say<int>", "--grid", "1", "--block", "64", "--arg", "i32:3")
        self.assertTrue(done.stdout.startswith(report["output"] + "say<int> of prints.hip"), done.stdout)
        report = self.emulate("prints.hip", "--kernel", "must", "--grid", "1", "--block", "64", "--arg", "i32:10", status=1)
        self.assertIn("thread < n", report["output"])
        self.assertIn("thread < n", report["fault"])
        self.assertIn("prints.hip:9:", report["output"])
        report = self.emulate("prints.hip", "--kernel", "endless", "--grid", "1", "--block", "64", "--print-bytes", "1000", "--budget", "3000000", status=1)
        self.assertLess(len(report["output"]), 1200)
        self.assertIn("budget", report["fault"])
        self.assertIn("say<int>, say<float>, must, endless", self.refused("prints.hip", "--grid", "1", "--block", "1")["message"])
        self.assertIn("say<int>, say<float>", self.refused("prints.hip", "--kernel", "say", "--grid", "1", "--block", "1")["message"])

    def test_faults_are_reports(self):
        report = self.emulate("several.hip", "--kernel", "beyond", "--grid", "1", "--block", "64", "--arg", "out:kept.bin:4096", status=0)
        self.assertIsNone(report["fault"])
        os.remove(self.path("kept.bin"))
        words = ["several.hip", "--kernel", "beyond", "--grid", "1", "--block", "64", "--arg", "out:kept.bin:256"]
        report = self.emulate(*words, status=1)
        for part in ("beyond", "global_store", "256-byte allocation", "source: several.hip:7"):
            self.assertIn(part, report["fault"])
        self.assertFalse(os.path.exists(self.path("kept.bin")))
        self.assertIn("256-byte allocation", self.kiln("emulate", *words, status=1).stderr)
        words = ["several.hip", "--kernel", "racy", "--grid", "1", "--block", "256", "--arg", "buffer:1024"]
        self.assertIsNone(self.emulate(*words)["fault"])
        fault = self.emulate(*words, "--check", "races", status=1)["fault"]
        self.assertIn("race", fault)
        self.assertIn("source: several.hip:10, the other one's several.hip:11", fault)
        words = ["several.hip", "--kernel", "forever", "--grid", "1", "--block", "64", "--arg", "buffer:4"]
        self.assertIn("budget", self.emulate(*words, "--budget", "100000", status=1)["fault"])
        words[-1] = "ptr:null"
        self.assertIn("0x0", self.emulate(*words, status=1)["fault"])

    def test_mistakes_are_told(self):
        good = ["several.hip", "--kernel", "scale", "--grid", "1", "--block", "64"]
        arguments = ["buffer:4096", "f32:2", "i32:64", "u64:0"]

        def with_arguments(*given):
            return [word for argument in given for word in ("--arg", argument)]

        self.emulate(*good, *with_arguments(*arguments))
        cases = [
            (["several.hip", "--grid", "1", "--block", "64"], "which kernel"),
            (["several.hip", "--kernel", "scael", "--grid", "1", "--block", "64"], "scale"),
            (["several.hip", "--kernel", "scale", "--block", "64", *with_arguments(*arguments)], "--grid"),
            (["several.hip", "--kernel", "scale", "--grid", "1", *with_arguments(*arguments)], "--block"),
            ([*good[:4], "1,2,3,4", "--block", "64", *with_arguments(*arguments)], "--grid"),
            ([*good[:4], "1", "--block", "0", *with_arguments(*arguments)], "--block"),
            ([*good[:4], "1", "--block", "2048", *with_arguments(*arguments)], "1024"),
            ([*good, *with_arguments(*arguments[:3])], "takes 4 arguments"),
            ([*good, *with_arguments(*arguments, "i32:1")], "takes 4 arguments"),
            ([*good, *with_arguments("f32:1", *arguments[1:])], "argument 0 of scale is a pointer"),
            ([*good, *with_arguments(arguments[0], "buffer:4", *arguments[2:])], "argument 1 of scale is 4 bytes by value"),
            ([*good, *with_arguments(*arguments[:3], "i32:0")], "8 bytes"),
            ([*good, *with_arguments(arguments[0], "f32:two", *arguments[2:])], "is no f32"),
            ([*good, *with_arguments("buffer:0", *arguments[1:])], "size"),
            ([*good, *with_arguments("buffer:lots", *arguments[1:])], "size"),
            ([*good, *with_arguments("random:f33:4", *arguments[1:])], "no type"),
            ([*good, *with_arguments("random:f32", *arguments[1:])], "COUNT"),
            ([*good, *with_arguments("in:missing.bin", *arguments[1:])], "missing.bin"),
            ([*good, *with_arguments("out:file", *arguments[1:])], "FILE:BYTES"),
            ([*good, *with_arguments("ptr:7", *arguments[1:])], "ptr:null"),
            ([*good, *with_arguments("what:7", *arguments[1:])], "TYPE:VALUE"),
            ([*good, *with_arguments(*arguments), "--print", "0:f32"], "ARGUMENT:TYPE:COUNT"),
            ([*good, *with_arguments(*arguments), "--print", "1:f32:1"], "no memory"),
            ([*good, *with_arguments(*arguments), "--print", "9:f32:1"], "no memory"),
            ([*good, *with_arguments(*arguments), "--print", "0:f32:1025"], "4096"),
            ([*good, *with_arguments(*arguments), "--check", "everything"], "everything"),
            ([*good, *with_arguments(*arguments), "--seed", "x"], "seed"),
            ([*good, *with_arguments(*arguments), "--lds", "1000000"], "LDS"),
            ([*good, *with_arguments(*arguments), "--lds", "much"], "--lds"),
            (["missing.hip", "--grid", "1", "--block", "1"], "missing.hip"),
        ]
        for words, part in cases:
            with self.subTest(words=words):
                done = subprocess.run([os.path.join(BIN, "kiln"), "--json", "emulate", *words], cwd=self.temporary.name, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, timeout=300)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertIn(part, json.dumps(json.loads(done.stdout)["error"]))
        self.assertEqual(self.refused(*good, "--target", "gfx1", status=2)["data"]["code"], "unknown_target")

    def test_compile_errors_have_the_files_name_and_line(self):
        self.write("broken.hip", "extern \"C\" __global__ void k(int* out) {\n  out[0] = undeclared;\n}\n")
        error = self.refused("broken.hip", "--grid", "1", "--block", "1")
        self.assertEqual(error["data"]["code"], "compile_failed")
        self.assertIn("broken.hip:2:12: error: use of undeclared identifier 'undeclared'", "".join(error["data"]["context"]))
        self.assertIn("broken.hip:2:12", self.kiln("emulate", "broken.hip", "--grid", "1", "--block", "1", status=1).stderr)

    def test_objects_that_are_damaged_or_for_another_card(self):
        with open(os.path.join(CORPUS, "launch_gfx942.co"), "rb") as file:
            whole = file.read()
        words = ["--target", "gfx942", "--kernel", "reverse", "--grid", "1", "--block", "256", "--arg", "buffer:1024"]
        self.emulate(self.write("whole.co", whole), *words)
        for size in (0, 3, 16, 64, 500, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                self.assertIn("code", self.refused(self.write("cut.co", whole[:size]), *words)["data"])
        self.assertIn("neither", self.refused(self.write("text.co", "hello"), *words)["message"])
        draw = random.Random(SEED)
        for round in range(12):
            damaged = bytearray(whole)
            for _ in range(8):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            done = subprocess.run([os.path.join(BIN, "kiln"), "--json", "emulate", self.write("damaged.co", damaged), *words, "--budget", "1000000"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
            message = "round %d of KILN_TEST_SEED=%d python3 tests/protocol/emulate_test.py: %s" % (round, SEED, done.stderr)
            self.assertIn(done.returncode, (0, 1, 2), message)
            self.assertIsInstance(json.loads(done.stdout), dict, message)
        self.refused(os.path.join(CORPUS, "launch_gfx90a.co"), *words)

    def test_a_bundle_gives_the_entry_for_the_card(self):
        objects = {}
        for target in ("gfx90a", "gfx942"):
            with open(os.path.join(CORPUS, "launch_%s.co" % target), "rb") as file:
                objects[target] = file.read()
        both = bundle(objects)
        words = ["--kernel", "reverse", "--grid", "1", "--block", "256", "--arg", "buffer:1024"]
        path = self.write("both.co", both)
        for target in ("gfx90a", "gfx942"):
            self.assertEqual(self.emulate(path, "--target", target, *words)["counters"]["SQ_WAVES"], 4)
        self.assertIn("gfx90a, gfx942", self.refused(path, "--target", "gfx950", *words)["message"])
        for size in (30, 40, 60, 4096, 5000):
            self.assertIn("short", self.refused(self.write("cut.co", both[:size]), "--target", "gfx942", *words)["message"])


if __name__ == "__main__":
    unittest.main()
