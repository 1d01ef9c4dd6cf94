#include "engine/device/hip/probes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/device/card_names.hpp"
#include "engine/device/hip/card_facts.hpp"
#include "engine/device/hip/probe_sharing.hpp"

namespace kiln::device::hip {
namespace {

using State = Verdict::State;

constexpr std::size_t bytes = probe_bytes;

std::string properties_text(const Table& table, int ordinal) {
  const auto facts = read_card(table, ordinal);
  if (!facts) return to_text(facts.error());
  const auto value = [&](int which) { return attribute_text(table, ordinal, which); };
  return facts->name + ", " + facts->target + ", PCI " + facts->identity.pci + ", UUID " + facts->identity.uuid + ", " +
         std::to_string(facts->compute_units) + " compute units, wave " + value(attribute::wave) + ", " +
         value(attribute::lds_per_block) + " bytes of LDS and " + value(attribute::threads_per_block) +
         " threads a block, " + value(attribute::registers_per_block) + " registers, " + value(attribute::clock_khz) +
         " kHz, " + std::to_string(facts->memory_bytes >> 20) + " MiB";
}

// One card's trials; each gives a Status with what it found as text.
class Card {
 public:
  Card(const Table& table, const ProbeOptions& options, int ordinal, const VerdictSink& sink)
      : table_(table), options_(options), ordinal_(ordinal), sink_(sink),
        prefix_("card " + std::to_string(ordinal) + " ") {}
  ~Card() {
    if (memory_ != nullptr) (void)table_.hipFree(memory_);
    if (stream_ != nullptr) (void)table_.hipStreamDestroy(stream_);
  }
  void try_all();

 private:
  template <class Trial> bool attempt(const std::string& what, Trial&& trial, bool needed = true) {
    Result<std::string> found = trial();
    if (!found) (void)table_.hipGetLastError();
    const State state = found ? State::good : needed ? State::bad : State::absent;
    sink_({state, prefix_ + what, found ? *found : to_text(found.error())});
    return found.has_value();
  }
  Status call(Code code, const char* name) const { return table_.check(code, name); }
  Result<std::string> memory();
  Result<std::string> copies();
  Result<std::string> client_memory();
  Result<std::string> streams();
  Result<std::string> events();
  Result<std::string> modules();
  Result<std::string> peers();

  const Table& table_;
  const ProbeOptions& options_;
  const int ordinal_;
  const VerdictSink& sink_;
  const std::string prefix_;
  void* memory_ = nullptr;
  Stream stream_ = nullptr;
};

Result<std::string> Card::memory() {
  KILN_CHECK(call(table_.hipSetDevice(ordinal_), "hipSetDevice"));
  KILN_CHECK(call(table_.hipMalloc(&memory_, bytes), "hipMalloc"));
  void* base = nullptr;
  std::size_t size = 0, free = 0, total = 0;
  KILN_CHECK(call(table_.hipMemGetAddressRange(&base, &size, memory_), "hipMemGetAddressRange"));
  if (base != memory_ || size < bytes)
    return Error(ErrorCode::internal, "the driver gives another range than it allocated");
  KILN_CHECK(call(table_.hipMemGetInfo(&free, &total), "hipMemGetInfo"));
  return std::to_string(free >> 20) + " MiB of " + std::to_string(total >> 20) + " free";
}

Result<std::string> Card::copies() {
  const Bytes pattern = probe_pattern(1);
  Bytes got(bytes);
  KILN_CHECK(call(table_.hipMemcpyHtoD(memory_, const_cast<std::uint8_t*>(pattern.data()), bytes), "hipMemcpyHtoD"));
  KILN_CHECK(call(table_.hipMemcpyDtoH(got.data(), memory_, bytes), "hipMemcpyDtoH"));
  if (got != pattern) return Error(ErrorCode::corrupt, "what was copied to the card and back is not the same");
  KILN_CHECK(call(table_.hipMemset(memory_, 0x5a, bytes), "hipMemset"));
  KILN_CHECK(call(table_.hipMemcpyDtoH(got.data(), memory_, bytes), "hipMemcpyDtoH"));
  if (got != Bytes(bytes, 0x5a)) return Error(ErrorCode::corrupt, "hipMemset did not set what was read back");
  return std::string("there, back and filled");
}

// A client's memfd, as buffers of Kiln's are.
Result<std::string> Card::client_memory() {
  KILN_TRY(const auto fd, create_memfd("kiln-doctor", bytes));
  KILN_TRY(const auto mapping, Mapping::map(fd.get(), bytes, true));
  KILN_CHECK(call(table_.hipHostRegister(mapping.data(), bytes, host_register_mapped), "hipHostRegister"));
  void* device = nullptr;
  auto status = call(table_.hipHostGetDevicePointer(&device, mapping.data(), 0), "hipHostGetDevicePointer");
  if (status) status = call(table_.hipMemcpyDtoD(device, memory_, bytes), "hipMemcpyDtoD");
  if (status) status = call(table_.hipDeviceSynchronize(), "hipDeviceSynchronize");
  const auto last = call(table_.hipHostUnregister(mapping.data()), "hipHostUnregister");
  KILN_CHECK(status);
  KILN_CHECK(last);
  if (mapping.data()[0] != 0x5a || mapping.data()[bytes - 1] != 0x5a)
    return Error(ErrorCode::corrupt, "the card's copy into it does not arrive");
  return std::string("shared memory of another process is used without copies");
}

Result<std::string> Card::streams() {
  KILN_CHECK(call(table_.hipStreamCreateWithFlags(&stream_, stream_non_blocking), "hipStreamCreateWithFlags"));
  KILN_CHECK(call(table_.hipMemsetAsync(memory_, 7, bytes, stream_), "hipMemsetAsync"));
  KILN_CHECK(call(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize"));
  KILN_CHECK(call(table_.hipStreamQuery(stream_), "hipStreamQuery"));
  return std::string("work in order, waited for");
}

Result<std::string> Card::events() {
  Event from = nullptr, to = nullptr;
  KILN_CHECK(call(table_.hipEventCreate(&from), "hipEventCreate"));
  KILN_CHECK(call(table_.hipEventCreate(&to), "hipEventCreate"));
  KILN_CHECK(call(table_.hipEventRecord(from, stream_), "hipEventRecord"));
  KILN_CHECK(call(table_.hipMemsetAsync(memory_, 8, bytes, stream_), "hipMemsetAsync"));
  KILN_CHECK(call(table_.hipEventRecord(to, stream_), "hipEventRecord"));
  KILN_CHECK(call(table_.hipStreamWaitEvent(stream_, to, 0), "hipStreamWaitEvent"));
  KILN_CHECK(call(table_.hipEventSynchronize(to), "hipEventSynchronize"));
  float milliseconds = -1;
  KILN_CHECK(call(table_.hipEventElapsedTime(&milliseconds, from, to), "hipEventElapsedTime"));
  (void)table_.hipEventDestroy(from);
  (void)table_.hipEventDestroy(to);
  return "a fill of " + std::to_string(bytes >> 10) + " KiB took " + std::to_string(milliseconds) + " ms";
}

Result<std::string> Card::modules() {
  KILN_TRY(const auto object, read_file(options_.object));
  Module module = nullptr;
  Function function = nullptr;
  KILN_CHECK(call(table_.hipModuleLoadData(&module, object.data()), "hipModuleLoadData"));
  KILN_CHECK(call(table_.hipModuleGetFunction(&function, module, options_.symbol.c_str()), "hipModuleGetFunction"));
  int threads = 0, registers = 0;
  const auto attribute = [&](int which, int& value) {
    return call(table_.hipFuncGetAttribute(&value, which, function), "hipFuncGetAttribute");
  };
  KILN_CHECK(attribute(function_attribute::threads_max, threads));
  KILN_CHECK(attribute(function_attribute::registers, registers));
  KILN_CHECK(call(table_.hipModuleUnload(module), "hipModuleUnload"));
  return options_.symbol + ": " + std::to_string(registers) + " registers, at most " + std::to_string(threads) +
         " threads";
}

Result<std::string> Card::peers() {
  int count = 0;
  KILN_CHECK(call(table_.hipGetDeviceCount(&count), "hipGetDeviceCount"));
  std::string seen;
  for (int peer = 0; peer < count; ++peer) {
    int can = 0;
    if (peer == ordinal_) continue;
    KILN_CHECK(call(table_.hipDeviceCanAccessPeer(&can, ordinal_, peer), "hipDeviceCanAccessPeer"));
    seen += (seen.empty() ? "" : ", ") + std::string(can != 0 ? "sees " : "does not see ") + std::to_string(peer);
  }
  return count == 1 ? "the only card" : seen;
}

void Card::try_all() {
  sink_({State::good, prefix_ + "is", properties_text(table_, ordinal_)});
  if (!attempt("memory", [&] { return memory(); }) || !attempt("copies", [&] { return copies(); })) return;
  attempt("client memory", [&] { return client_memory(); }, false);   // buffers are copied then
  if (!attempt("streams", [&] { return streams(); })) return;
  attempt("events", [&] { return events(); });
  if (!options_.object.empty()) attempt("module load", [&] { return modules(); });
  attempt("peer visibility", [&] { return peers(); });
  SharingTrial sharing(table_, options_, ordinal_, memory_, stream_);
  attempt("IPC handle of its own", [&] { return sharing.own_handle(); });
  if (attempt("IPC export", [&] { return sharing.export_all(); })) {
    attempt("IPC memory in a second process", [&] { return sharing.second_opens(); });
    attempt("IPC events between processes", [&] { return sharing.second_answers(); });
  }
  attempt("dma-buf export and import", [&] { return sharing.dma_buf(); }, false);
}

}  // namespace

void probe(const ProbeOptions& options, const VerdictSink& sink) {
  auto table = load_table(options.library);
  if (!table) {
    const bool none = options.library.empty() && table.error().code == ErrorCode::not_found;
    sink({none ? State::absent : State::bad, "HIP library", to_text(table.error())});
    return;
  }
  int runtime = 0, driver = 0, count = 0;
  auto status = table->check(table->hipInit(0), "hipInit");
  if (status) status = table->check(table->hipGetDeviceCount(&count), "hipGetDeviceCount");
  (void)table->hipRuntimeGetVersion(&runtime);
  (void)table->hipDriverGetVersion(&driver);
  sink({State::good, "HIP library", table->path + ", runtime " + std::to_string(runtime) + ", driver " +
        std::to_string(driver) + (table->emulated() ? ", emulated card" : "")});
  if (!status || count == 0) {
    sink({State::bad, "cards", status ? "none" : to_text(status.error())});
    return;
  }
  sink({State::good, "cards", std::to_string(count)});
  int wanted = options.ordinal;
  if (!options.card.empty()) {
    const auto found = find_card(read_identities(*table, count), options.card);
    if (!found) return sink({State::bad, "card " + options.card, to_text(found.error())});
    wanted = static_cast<int>(*found);
  }
  for (int ordinal = 0; ordinal < count; ++ordinal)
    if (wanted < 0 || wanted == ordinal) Card(*table, options, ordinal, sink).try_all();
  if (wanted >= count) sink({State::bad, "card " + std::to_string(wanted), "there are " + std::to_string(count)});
}

}  // namespace kiln::device::hip
