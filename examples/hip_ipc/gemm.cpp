// A GEMM that the daemon computes in this program's own memory of the card: two processes, IPC handles, IPC events for the order,
// and nothing is copied through the host but the inputs and the result. Needs neither Kiln's nor HIP's headers. Run in Kiln's
// folder, on the emulated card:
//   B=${KILN_BUILD:-build}; $B/bin/kiln daemon start && c++ -std=c++17 examples/hip_ipc/gemm.cpp -o $B/hip_ipc_gemm -ldl && LD_LIBRARY_PATH=$B/lib/kiln/emulated $B/hip_ipc_gemm emu:gfx942
// On a real card the program is the same: `build/hip_ipc_gemm` finds its card among the daemon's devices by the PCI address.
#include <vector>

#include "hip.hpp"
#include "rpc.hpp"

constexpr int m = 192, n = 160, k = 256;
constexpr unsigned interprocess = 2 | 4;  // hipEventDisableTiming | hipEventInterprocess

// A matrix on the card, filled on the program's stream, and known to the daemon by its IPC handle.
struct Matrix {
  void* memory = nullptr;
  std::size_t bytes;
  Matrix(const std::vector<float>& values, void* stream) : bytes(values.size() * sizeof(float)) {
    hip("hipMalloc", &memory, bytes);
    hip("hipMemcpyHtoDAsync", memory, const_cast<float*>(values.data()), bytes, stream);
  }
  std::string register_with(Rpc& rpc, const std::string& device) const {
    Handle handle;  // names the allocation; the tensor lies at its beginning
    hip("hipIpcGetMemHandle", &handle, memory);
    return rpc.call("buffer.register", "\"ipc\":\"" + handle.hex() + "\",\"device\":\"" + device + "\",\"offset\":0,\"size\":" +
                    std::to_string(bytes)).field("buffer");
  }
};

std::string import_event(Rpc& rpc, void* event, const std::string& device) {
  Handle handle;
  hip("hipIpcGetEventHandle", &handle, event);
  return rpc.call("event.import", "\"ipc\":\"" + handle.hex() + "\",\"device\":\"" + device + "\"").field("event");
}

std::string device_at(Rpc& rpc, const std::string& pci_address) {
  for (int i = 0; rpc.call("event.export", "\"device\":\"hip:" + std::to_string(i) + "\"", false).ok(); ++i) {}  // starts them
  for (const auto& device : rpc.call("device.list", "").objects())
    if (device.text.find(pci_address) != std::string::npos && device.field("name").rfind("hip:", 0) == 0) return device.field("name");
  fail("the daemon has no card at " + pci_address + ": name one of `kiln devices`, such as emu:gfx942");
}

int main(int, char** arguments) {
  void *stream = nullptr, *ready = nullptr, *done = nullptr;
  char address[64] = {};
  hip("hipSetDevice", 0);
  hip("hipDeviceGetPCIBusId", &address[0], 63, 0);
  hip("hipStreamCreateWithFlags", &stream, 1u);
  hip("hipEventCreateWithFlags", &ready, interprocess);
  hip("hipEventCreateWithFlags", &done, interprocess);

  std::vector<float> a(m * k), b(k * n), c(m * n, -1);
  for (int i = 0; i < m * k; ++i) a[i] = float(i % 7 - 3);
  for (int i = 0; i < k * n; ++i) b[i] = float(i % 5 - 2);
  const Matrix A(a, stream), B(b, stream), C(c, stream);
  hip("hipEventRecord", ready, stream);  // behind the copies that fill them

  Rpc rpc;
  const std::string device = arguments[1] ? arguments[1] : device_at(rpc, address);
  const auto argument = [&](const char* name, const Matrix& matrix) {
    return "\"" + std::string(name) + "\":{\"buffer\":" + matrix.register_with(rpc, device) + "}";
  };
  const std::string args = argument("A", A) + "," + argument("B", B) + "," + argument("C", C);
  rpc.call("kernel.launch", "\"program\":\"gemm\",\"set\":{\"M\":" + std::to_string(m) + ",\"N\":" + std::to_string(n) + ",\"K\":" +
           std::to_string(k) + ",\"dtype\":\"f32\"},\"device\":\"" + device + "\",\"args\":{" + args + "},\"wait\":[" +
           import_event(rpc, ready, device) + "],\"event\":" + import_event(rpc, done, device));

  hip("hipStreamWaitEvent", stream, done, 0u);  // the launch is answered when `done` is recorded: now it can be waited for
  hip("hipMemcpyDtoHAsync", &c[0], C.memory, C.bytes, stream);
  hip("hipStreamSynchronize", stream);
  for (int i = 0; i < m * n; ++i) {
    float sum = 0;
    for (int j = 0; j < k; ++j) sum += a[i / n * k + j] * b[j * n + i % n];
    if (c[i] != sum) fail("C[" + std::to_string(i) + "] is " + std::to_string(c[i]) + ", want " + std::to_string(sum));
  }
  std::printf("gemm %dx%dx%d on %s in memory of pid %d: every element is right\n", m, n, k, device.c_str(), getpid());
}
