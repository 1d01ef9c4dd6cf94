"""Programs as hipcc makes them, kernels and host code in one file, run on the emulated card in place of a real one."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from offload_bundle import bundle
from service import BIN

FOLDER = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated")
CLANG = shutil.which("clang++-22")

# The little of HIP's headers that the program needs: what a compiler without ROCm can take.
HEADER = """#pragma once
#include <cstddef>
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
using hipError_t = int;
using hipStream_t = struct ihipStream_t*;
extern "C" {
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t hipLaunchCooperativeKernel(const void*, dim3, dim3, void**, unsigned, hipStream_t);
hipError_t hipMalloc(void**, size_t);
hipError_t hipFree(void*);
hipError_t hipMallocAsync(void**, size_t, hipStream_t);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipMallocManaged(void**, size_t, unsigned);
hipError_t hipMemcpy(void*, const void*, size_t, int);
hipError_t hipMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
hipError_t hipMemcpyFromSymbol(void*, const void*, size_t, size_t, int);
hipError_t hipGetSymbolSize(size_t*, const void*);
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceCount(int*);
hipError_t hipGetLastError();
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipDeviceSynchronize();
hipError_t hipOccupancyMaxPotentialBlockSize(int*, int*, const void*, size_t, int);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, size_t);
const char* hipGetErrorName(hipError_t);
}
"""
PROGRAM = """#include "little_hip.hpp"
#include <cstdio>
#include <cstdlib>
#include <vector>
__constant__ float factors[4];
__device__ int calls = 5;
template <class T> __global__ void scaled_sum(int n, T a, const T* x, T* y) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] += a * factors[i & 3] * x[i];
  if (i == 0) __hip_atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#define CHECK(call) do { const hipError_t code = (call); if (code != 0) { \\
  std::printf("%s: %s\\n", #call, hipGetErrorName(code)); std::exit(1); } } while (0)
int main() {
  int cards = 0;
  CHECK(hipGetDeviceCount(&cards));
  for (int card = 0; card < cards; ++card) {
    CHECK(hipSetDevice(card));
    std::vector<float> x(1000, 1.0f), y(1000, 2.0f);
    const float by[4] = {1, 2, 3, 4};
    void *dx = nullptr, *dy = nullptr;
    hipStream_t stream = nullptr;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipMallocAsync(&dx, 4000, stream));
    CHECK(hipMallocManaged(&dy, 4000, 1));
    CHECK(hipMemcpyToSymbol(&factors, by, sizeof by, 0, 1));
    CHECK(hipMemcpy(dx, x.data(), 4000, 1));
    CHECK(hipMemcpy(dy, y.data(), 4000, 1));
    scaled_sum<float><<<4, 256, 0, stream>>>(1000, 2.0f, (const float*)dx, (float*)dy);
    CHECK(hipGetLastError());
    int n = 1000;
    float a = 1.0f;
    void* arguments[] = {&n, &a, &dx, &dy};
    CHECK(hipLaunchCooperativeKernel((const void*)&scaled_sum<float>, 4, 256, arguments, 0, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpy(y.data(), dy, 4000, 2));
    int count = 0, blocks = 0, threads = 0, resident = 0;
    size_t bytes = 0;
    CHECK(hipMemcpyFromSymbol(&count, &calls, 4, 0, 2));
    CHECK(hipGetSymbolSize(&bytes, &factors));
    CHECK(hipOccupancyMaxPotentialBlockSize(&blocks, &threads, (const void*)&scaled_sum<float>, 0, 0));
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, (const void*)&scaled_sum<float>, 256, 0));
    bool right = true;
    for (int i = 0; i < 1000; ++i) right = right && y[i] == 2.0f + 3.0f * by[i & 3];
    std::printf("card %d: %s, %d calls, %zu bytes, %d, %d\\n", card, right ? "right" : "WRONG", count, bytes, resident, threads);
    if (hipMemcpyToSymbol(&factors, by, 17, 0, 1) == 0) std::printf("a copy beyond a symbol was taken\\n");
    if (hipMemcpyToSymbol(by, by, 4, 0, 1) != 13) std::printf("an unknown symbol was taken\\n");
    if (hipLaunchKernel((const void*)&main, 1, 1, nullptr, 0, nullptr) != 98) std::printf("an unknown kernel was taken\\n");
    (void)hipGetLastError();   // forgets what the calls above have left
    CHECK(hipFreeAsync(dx, stream));
    CHECK(hipFree(dy));
  }
}
"""


@unittest.skipUnless(CLANG, "no clang++-22")
@unittest.skipUnless(os.path.exists(FOLDER), "built without LLVM: no emulated card")
class HipPrograms(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="kiln-test-")
        self.addCleanup(self.temporary.cleanup)

    def path(self, name):
        return os.path.join(self.temporary.name, name)

    def build(self, text, *targets):
        for name, content in (("little_hip.hpp", HEADER), ("program.hip", text)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(content)
        compile = [CLANG, "-x", "hip", "-nogpuinc", "-nogpulib", "-O2", "-c", self.path("program.hip")]
        objects = {}
        for target in targets:
            device = ["--offload-device-only", "--no-gpu-bundle-output", "--offload-arch=" + target, "-o", self.path(target)]
            subprocess.run(compile + device, check=True, timeout=120)
            with open(self.path(target), "rb") as file:
                objects[target] = file.read()
        with open(self.path("bundle"), "wb") as file:
            file.write(bundle(objects))
        host = ["--offload-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", self.path("bundle"), "-o", self.path("program.o")]
        subprocess.run(compile + host, check=True, timeout=120)
        subprocess.run([CLANG, self.path("program.o"), "-o", self.path("program"), "-L" + FOLDER, "-lamdhip64"], check=True, timeout=120)

    def run_on(self, cards):
        environment = dict(os.environ, LD_LIBRARY_PATH=FOLDER, KILN_EMULATOR_TARGETS=cards)
        return subprocess.run([self.path("program")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)

    def test_a_program_on_every_card(self):
        self.build(PROGRAM, "gfx90a", "gfx942", "gfx950", "gfx1100")
        done = self.run_on("gfx942,gfx90a,gfx950,gfx1100")
        self.assertEqual(done.returncode, 0, done.stdout)
        # 8 waves of 64 lanes a SIMD, 16 of 32: 2048 threads a compute unit, in blocks of 256; RDNA3 has half the SIMDs.
        expected = ["card %d: right, 7 calls, 16 bytes, %d, 1024" % (card, blocks) for card, blocks in enumerate((8, 8, 8, 4))]
        self.assertEqual(done.stdout.splitlines(), expected)

    def test_a_card_that_the_program_has_no_code_for(self):
        self.build(PROGRAM, "gfx90a")
        done = self.run_on("gfx942")
        self.assertEqual((done.returncode, "hipErrorNoBinaryForGpu" in done.stdout), (1, True), done.stdout)


if __name__ == "__main__":
    unittest.main()
