// A card's kernels: what the built-in programs give on it, against the definition and against the emulated card of its kind.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "api/cli/operands.hpp"
#include "api/cli/rocprof.hpp"
#include "api/cli/verdicts.hpp"
#include "engine/base/half.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr int launches_timed = 5;

struct Case {
  std::string program;
  std::vector<std::string> set;
  // The order of its operations and each one's result are fixed: the emulated card gives the same bits. The others use the
  // card's approximations of functions, or matrix instructions whose inner order AMD does not tell.
  bool exact = false;
  [[nodiscard]] std::string name() const {
    std::string text = program;
    for (const auto& word : set) text += " " + word;
    return text;
  }
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& program, std::vector<std::string> set, const std::string& dtype) {
    set.push_back("dtype=" + dtype);
    cases.push_back({program, std::move(set), dtype == "i8" || program == "transpose"});
  };
  for (const char* dtype : {"f16", "bf16", "f32", "i8"})
    for (const auto& size : {std::vector<std::string>{"M=64", "N=64", "K=64"}, {"M=300", "N=257", "K=129"}, {"M=512", "N=512", "K=512"}})
      add("gemm", size, dtype);
  for (const char* dtype : {"f16", "bf16"}) {
    add("flash_attention", {"B=1", "H=2", "HKV=1", "S=129", "SK=129", "D=64", "causal=true"}, dtype);
    add("flash_attention", {"B=1", "H=2", "HKV=2", "S=256", "SK=256", "D=128", "causal=false"}, dtype);
  }
  for (const char* dtype : {"f16", "bf16", "f32"})
    for (const char* program : {"softmax", "rmsnorm"}) {
      add(program, {"M=33", "N=1000"}, dtype);
      add(program, {"M=256", "N=4096"}, dtype);
    }
  add("layernorm", {"M=33", "N=1000"}, "f16");
  add("layernorm", {"M=256", "N=4096"}, "f32");
  add("elementwise", {"M=33", "N=1000", "activation=silu", "combine=mul"}, "f16");
  add("transpose", {"M=1000", "N=515"}, "f32");
  add("transpose", {"M=256", "N=512"}, "i8");
  add("reduce", {"M=1000", "N=257", "axis=first", "kind=mean"}, "f16");
  return cases;
}

double value_at(DType type, const std::uint8_t* at) {
  std::uint16_t half = 0;
  if (dtype_bytes(type) == 2) std::memcpy(&half, at, 2);
  switch (type) {
    case DType::f16: return f16_to_f32(half);
    case DType::bf16: return bf16_to_f32(half);
    case DType::f32: { float v; std::memcpy(&v, at, 4); return v; }
    case DType::f64: { double v; std::memcpy(&v, at, 8); return v; }
    case DType::i32: { std::int32_t v; std::memcpy(&v, at, 4); return v; }
    case DType::i8: return static_cast<std::int8_t>(*at);
    default: return *at;
  }
}

// One case on one device; its buffers are given back when it goes.
struct OnDevice {
  Context& context;
  Prepared run;
  explicit OnDevice(Context& c) : context(c) {}
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() {
    for (const auto& o : run.operands)
      if (o.buffer != 0) (void)context.ask("buffer.unregister", {{"buffer", o.buffer}});
  }
  Status prepare(const Case& which, const std::string& device) {
    RunOptions options;
    options.kernel.program = which.program;
    options.kernel.set = which.set;
    options.device = device;
    KILN_TRY(run, prepare_run(context, options));
    return ok();
  }
  Result<Json> ask(const std::string& method, const std::string& device) {
    Json request = run.params;
    request.erase("explain_key");
    request["device"] = device;
    request["args"] = run.arguments();
    return context.ask(method, std::move(request));
  }
};

// Elements of the written tensors that are not the same bits, and the largest distance.
Json compare(const std::vector<Operand>& card, const std::vector<Operand>& emulated) {
  std::uint64_t elements = 0, different = 0;
  double distance = 0;
  for (std::size_t i = 0; i < card.size(); ++i) {
    if (!card[i].written || card[i].scalar) continue;
    const auto step = std::size_t(dtype_bytes(card[i].dtype));
    for (std::size_t at = 0; at + step <= card[i].bytes; at += step) {
      const auto* a = card[i].mapping.data() + at;
      const auto* b = emulated[i].mapping.data() + at;
      ++elements;
      if (std::memcmp(a, b, step) == 0) continue;
      ++different;
      distance = std::max(distance, std::abs(value_at(card[i].dtype, a) - value_at(card[i].dtype, b)));
    }
  }
  return {{"elements", elements}, {"different", different}, {"distance_max", distance}};
}

Status run_case(Context& context, const Case& which, const std::string& device, const std::string& emulated, Json& entry) {
  OnDevice card(context), twin(context);
  KILN_CHECK(card.prepare(which, device));
  entry["key"] = card.run.outcome.value("key", "");
  KILN_TRY(auto verified, card.ask("kernel.verify", device));
  entry["passed"] = verified.value("passed", false);
  entry["tensors"] = verified["tensors"];
  Json outputs = Json::object();
  for (const auto& o : card.run.operands)
    if (o.written && !o.scalar) outputs[o.name] = to_hex(sha256(ByteView(o.mapping.data(), o.bytes)));
  entry["outputs_sha256"] = std::move(outputs);
  if (!emulated.empty()) {
    KILN_CHECK(twin.prepare(which, emulated));
    KILN_CHECK(twin.ask("kernel.launch", emulated));
    entry["emulated"] = compare(card.run.operands, twin.run.operands);
    entry["emulated"]["same_object"] = twin.run.outcome.value("key", "") == entry["key"];
  }
  Json times = Json::array();
  for (int i = 0; i < launches_timed; ++i) {
    KILN_TRY(const auto launched, card.ask("kernel.launch", device));
    times.push_back(launched.value("duration_ms", 0.0));
  }
  entry["duration_ms"] = std::move(times);
  return ok();
}

std::string summary(const Json& entry, bool exact) {
  double ratio = 0, least = 1e300;
  for (const auto& tensor : entry["tensors"]) ratio = std::max(ratio, tensor.value("ratio_max", 0.0));
  for (const auto& time : entry["duration_ms"]) least = std::min(least, time.get<double>());
  std::string text = "largest error " + number_text(ratio) + " of what is tolerated, " + number_text(least) + " ms";
  if (!entry.contains("emulated")) return text;
  const auto& other = entry["emulated"];
  const auto different = other.value("different", std::uint64_t(0));
  if (different == 0) return text + ", the emulated card gives the same bits";
  return text + ", " + std::to_string(different) + " of " + std::to_string(other.value("elements", std::uint64_t(0))) +
         " elements differ from the emulated card's by at most " + number_text(other.value("distance_max", 0.0)) + (exact ? ": they must not" : "");
}

Json run_all(Context& context, const std::string& device, const std::string& emulated, Verdicts& verdicts) {
  Json runs = Json::array();
  for (const auto& which : all_cases()) {
    if (interrupt_token().cancelled()) break;
    Json entry{{"program", which.program}, {"set", which.set}, {"exact", which.exact}};
    const auto status = run_case(context, which, device, emulated, entry);
    bool good = status && entry.value("passed", false);
    if (good && which.exact && entry.contains("emulated")) good = entry["emulated"].value("different", 1) == 0;
    if (!status) entry["error"] = protocol::error_json(status.error());
    verdicts.add({which.name(), good, status ? summary(entry, which.exact) : to_text(status.error()), true});
    runs.push_back(std::move(entry));
    if (!status && status.error().code == ErrorCode::no_compiler) break;
  }
  return runs;
}

const Case counted{"gemm", {"M=256", "N=256", "K=256", "dtype=f16"}, false};

// A real card's counters, by AMD's own tool around a run of ours.
Json counters_by_rocprof(const std::string& device, Verdicts& verdicts) {
  const auto tool = find_rocprof();
  if (tool.empty()) {
    verdicts.add({"counters", false, "rocprofv3 is not installed", false});
    return {{"missing", "rocprofv3 is not installed"}};
  }
  RunOptions run;
  run.kernel.program = counted.program;
  run.kernel.set.assign(counted.set.begin(), counted.set.end());
  run.device = device;
  auto found = rocprof_counters(tool, run, Json::array({counted.program + std::string("_0")}));
  verdicts.add({"counters", bool(found), found ? "collected by " + tool : to_text(found.error()), false});
  return found ? Json{{"counters", std::move(*found)}} : Json{{"error", protocol::error_json(found.error())}};
}

Json counters(Context& context, const std::string& device, Verdicts& verdicts) {
  if (device.rfind("emu:", 0) != 0) return counters_by_rocprof(device, verdicts);
  OnDevice card(context);
  auto status = card.prepare(counted, device);
  auto profile = status ? card.ask("kernel.profile", device) : Result<Json>(status.error());
  if (!profile) {
    verdicts.add({"counters", false, to_text(profile.error()), true});
    return {{"error", protocol::error_json(profile.error())}};
  }
  const auto waves = (*profile)["counters"].value("SQ_WAVES", std::uint64_t(0));
  verdicts.add({"counters", waves > 0, std::to_string((*profile)["counters"].size()) + " counters, " + std::to_string(waves) + " waves", true});
  return {{"program", counted.name()}, {"counters", (*profile)["counters"]}};
}

}  // namespace

Result<Json> card_entry(Context& context, const std::string& device) {
  KILN_TRY(const auto list, context.ask("device.list", {{"device", device}}));
  return list["devices"].at(0);
}

Result<Json> try_card(Context& context, const std::string& device, Verdicts& verdicts) {
  KILN_TRY(auto info, card_entry(context, device));
  // With a real card's whole target, so that both get one object. An emulated card is compared with itself: it must repeat.
  const auto emulated = device.rfind("emu:", 0) == 0 ? device : "emu:" + info["target"].get<std::string>();
  const auto twin = context.ask("event.export", {{"device", emulated}});
  if (twin) (void)context.ask("event.release", {{"event", (*twin)["event"]}});
  verdicts.add({"emulated twin", bool(twin), twin ? emulated : to_text(twin.error()), false});
  auto runs = run_all(context, device, twin ? emulated : "", verdicts);
  auto counted_there = counters(context, device, verdicts);
  return Json{{"device", std::move(info)}, {"runs", std::move(runs)}, {"counters", std::move(counted_there)}};
}

}  // namespace kiln::cli
