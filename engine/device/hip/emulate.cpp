#include "engine/device/hip/emulate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/base/fd.hpp"
#include "engine/compile/code_object.hpp"
#include "engine/device/hip/code_file.hpp"
#include "engine/device/hip/kernel_names.hpp"
#include "engine/device/hip/launch_argument.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {
namespace {

using Json = nlohmann::json;
using Triple = std::array<std::uint32_t, 3>;

constexpr std::uint64_t argument_bytes_max = 1 << 20;

Error mistake(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// The object with an unreadable page behind it, as HIP is given a pointer without a size.
class Image {
 public:
  static Result<Image> of(ByteView bytes) {
    constexpr std::size_t page = 4096;
    Image image;
    image.size_ = (bytes.size() + page - 1) / page * page + page;
    image.data_ = ::mmap(nullptr, image.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image.data_ == MAP_FAILED) return errno_error(errno, "no memory for the code object");
    std::memcpy(image.data_, bytes.data(), bytes.size());
    ::mprotect(static_cast<char*>(image.data_) + image.size_ - page, page, PROT_NONE);
    return image;
  }
  Image(Image&& other) noexcept : data_(std::exchange(other.data_, MAP_FAILED)), size_(other.size_) {}
  ~Image() { if (data_ != MAP_FAILED) ::munmap(data_, size_); }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  Image() = default;
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

std::string text_of(std::size_t (*call)(char*, std::size_t)) {
  std::string text;
  for (std::size_t size = call(nullptr, 0); size > text.size();) {
    text.resize(size + 1);
    size = call(text.data(), text.size());
    text.resize(std::min(size, text.size() - 1));
  }
  return text;
}

struct Place {                       // of an explicit argument in the kernel's argument memory
  std::uint64_t offset = 0, size = 0;
  bool pointer = false;
};

class Emulation {
 public:
  explicit Emulation(const EmulateOptions& options) : options_(options) {}
  Result<std::string> run() {
    KILN_CHECK(read_object());
    KILN_CHECK(choose_shape());
    KILN_CHECK(read_arguments());
    KILN_CHECK(check_prints());
    KILN_CHECK(start_card());
    KILN_CHECK(launch());
    return result();
  }

 private:
  Status read_object();
  Status choose_shape();
  Status read_arguments();
  Status check_prints();
  Status start_card();
  Status launch();
  Status read_back();
  Result<std::string> result();
  [[nodiscard]] Result<std::optional<std::string>> kernel_output() const;
  [[nodiscard]] std::string argument_list() const;
  // The emulated card's memory is this process's.
  [[nodiscard]] ByteView bytes_at(std::size_t argument) const {
    return {static_cast<const std::uint8_t*>(memory_[argument]), arguments_[argument].bytes};
  }
  // What HIP says, and what the emulated card says of it.
  Status check(Code code, const char* call) const {
    if (code == success) return ok();
    auto status = table_.check(code, call);
    const auto words = text_of(table_.message);
    return words.empty() ? status : Status(Error(status.error().code, status.error().message + ": " + words));
  }

  const EmulateOptions& options_;
  Bytes file_;
  ByteView object_;
  compile::CodeKernel kernel_;
  std::string name_;                 // of it, as its author wrote it
  Triple grid_{}, block_{};
  std::vector<Place> places_;
  std::vector<LaunchArgument> arguments_;
  std::vector<void*> memory_;        // of each argument, null where it has none; the process's end frees it
  struct Print {
    std::size_t argument = 0;
    ValueType type = ValueType::f32;
    std::uint64_t count = 0;
  };
  std::vector<Print> prints_;
  Table table_;
  std::string fault_;
};

Status Emulation::read_object() {
  KILN_TRY(const auto target, target::parse_target(options_.target));
  KILN_TRY(file_, read_file(options_.object));
  KILN_TRY(object_, find_code_object(file_, target));
  KILN_TRY(const auto code, compile::read_code_object(object_));
  std::vector<std::string> symbols;
  for (const auto& kernel : code.kernels) symbols.push_back(kernel.name);
  KILN_TRY(const auto chosen, choose_kernel(symbols, options_.kernel));
  kernel_ = code.kernels[chosen];
  name_ = readable_kernel(kernel_.name);
  return ok();
}

Status Emulation::choose_shape() {
  if (!options_.grid) return mistake("how many blocks (--grid X,Y,Z)?");
  grid_ = *options_.grid;
  Triple needed{};
  for (std::size_t i = 0; i < kernel_.block.size(); ++i)
    needed[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(kernel_.block[i], 0, 1 << 20));
  if (!options_.block && kernel_.block.empty()) {
    return mistake("how many threads a block (--block X,Y,Z)? " + name_ + " takes at most " +
                   std::to_string(kernel_.threads_max));
  }
  block_ = options_.block ? *options_.block : needed;
  if (!kernel_.block.empty() && block_ != needed) {
    return mistake(name_ + " was compiled for blocks of " + std::to_string(needed[0]) + "," +
                   std::to_string(needed[1]) + "," + std::to_string(needed[2]) + " threads");
  }
  return ok();
}

std::string Emulation::argument_list() const {
  std::string list;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    list += (i == 0 ? "" : ", ") + std::to_string(i) + ": ";
    list += places_[i].pointer ? "a pointer" : std::to_string(places_[i].size) + " bytes by value";
  }
  return list;
}

Status Emulation::read_arguments() {
  for (const auto& argument : kernel_.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    const bool pointer = argument.kind == "global_buffer";
    if (argument.offset < 0 || argument.size < 0 || static_cast<std::uint64_t>(argument.offset) > argument_bytes_max ||
        static_cast<std::uint64_t>(argument.size) > argument_bytes_max || (pointer && argument.size != 8))
      return Error(ErrorCode::corrupt, "the object's notes place an argument nowhere");
    if (!pointer && argument.kind != "by_value")
      return Error(ErrorCode::unsupported, name_ + " takes an argument of the kind " + argument.kind);
    places_.push_back({static_cast<std::uint64_t>(argument.offset), static_cast<std::uint64_t>(argument.size), pointer});
  }
  if (options_.arguments.size() != places_.size()) {
    return mistake(name_ + " takes " + std::to_string(places_.size()) + " arguments (" + argument_list() + "); " +
                   std::to_string(options_.arguments.size()) + " given (--arg)");
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    KILN_TRY(auto argument, parse_launch_argument(options_.arguments[i]));
    const auto which = "argument " + std::to_string(i) + " of " + name_ + " is ";
    if (argument.pointer != places_[i].pointer)
      return mistake(which + (places_[i].pointer ? "a pointer" : std::to_string(places_[i].size) + " bytes by value") +
                     ", \"" + argument.text + "\" is " + (argument.pointer ? "memory" : "a value"));
    if (!argument.pointer && argument.data.size() != places_[i].size) {
      return mistake(which + std::to_string(places_[i].size) + " bytes, \"" + argument.text + "\" has " +
                     std::to_string(argument.data.size()));
    }
    arguments_.push_back(std::move(argument));
  }
  return ok();
}

Status Emulation::check_prints() {
  for (const auto& text : options_.prints) {
    const auto first = text.find(':'), second = text.find(':', first == std::string::npos ? first : first + 1);
    Print print;
    const auto read = [](const std::string& digits, auto& value) {
      const char* const end = digits.data() + digits.size();
      const auto parsed = std::from_chars(digits.data(), end, value);
      return !digits.empty() && parsed.ptr == end && parsed.ec == std::errc();
    };
    if (second == std::string::npos || !read(text.substr(0, first), print.argument) ||
        !read(text.substr(second + 1), print.count))
      return mistake("--print takes ARGUMENT:TYPE:COUNT, as 0:f32:8, not \"" + text + "\"");
    KILN_TRY(print.type, parse_value_type(text.substr(first + 1, second - first - 1)));
    if (print.argument >= arguments_.size() || !arguments_[print.argument].pointer || arguments_[print.argument].null)
      return mistake("--print " + text + ": argument " + std::to_string(print.argument) + " is no memory; there are " + argument_list());
    if (print.count > arguments_[print.argument].bytes / bytes_of(print.type)) {
      return mistake("--print " + text + ": the argument has " + std::to_string(arguments_[print.argument].bytes) + " bytes");
    }
    prints_.push_back(print);
  }
  return ok();
}

Status Emulation::start_card() {
  KILN_TRY(table_, load_table(options_.library));
  if (!table_.emulated()) return Error(ErrorCode::unsupported, options_.library + " is no emulated card");
  const auto set = [&](const char* name, const std::string& value) -> Status {
    if (value.empty() || table_.set_switch(name, value.c_str()) == 0) return ok();
    return mistake(text_of(table_.message));
  };
  KILN_CHECK(set("check", options_.check));
  KILN_CHECK(set("seed", options_.seed));
  KILN_CHECK(set("budget", options_.budget));
  KILN_CHECK(set("print_bytes", options_.print_bytes));
  KILN_CHECK(set("print_file", options_.printed));
  KILN_CHECK(set("profile", "1"));
  KILN_CHECK(check(table_.hipInit(0), "hipInit"));
  return check(table_.hipSetDevice(0), "hipSetDevice");
}

Status Emulation::launch() {
  KILN_TRY(const auto image, Image::of(object_));
  Module module = nullptr;
  Function function = nullptr;
  KILN_CHECK(check(table_.hipModuleLoadData(&module, image.data()), "hipModuleLoadData"));
  KILN_CHECK(check(table_.hipModuleGetFunction(&function, module, kernel_.name.c_str()), "hipModuleGetFunction"));
  std::uint64_t end = 0;
  for (const auto& place : places_) end = std::max(end, place.offset + place.size);
  Bytes values(end);
  memory_.assign(arguments_.size(), nullptr);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    auto& argument = arguments_[i];
    std::uint8_t* const to = values.data() + places_[i].offset;
    if (!argument.pointer) {
      std::memcpy(to, argument.data.data(), argument.data.size());
      continue;
    }
    if (argument.null) continue;
    KILN_CHECK(check(table_.hipMalloc(&memory_[i], argument.bytes), "hipMalloc"));   // zeros, that cost nothing
    if (!argument.data.empty())
      KILN_CHECK(check(table_.hipMemcpyHtoD(memory_[i], argument.data.data(), argument.data.size()), "hipMemcpyHtoD"));
    argument.data = {};
    std::memcpy(to, &memory_[i], sizeof memory_[i]);
  }
  std::size_t bytes = values.size();
  void* extra[] = {launch_buffer, values.data(), launch_buffer_size, &bytes, launch_end};
  KILN_CHECK(check(table_.hipModuleLaunchKernel(function, grid_[0], grid_[1], grid_[2], block_[0], block_[1], block_[2],
                                                options_.lds_bytes, nullptr, nullptr, extra),
                   "hipModuleLaunchKernel"));
  const Code code = table_.hipDeviceSynchronize();
  fault_ = text_of(table_.report);
  if (!fault_.empty()) return ok();
  KILN_CHECK(check(code, "hipDeviceSynchronize"));
  return read_back();
}

Status Emulation::read_back() {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const auto& argument = arguments_[i];
    if (memory_[i] != nullptr && !argument.write_to.empty()) KILN_CHECK(write_file(argument.write_to, bytes_at(i)));
  }
  return ok();
}

// A kernel that cannot print leaves no file.
Result<std::optional<std::string>> Emulation::kernel_output() const {
  if (options_.printed.empty()) return std::optional<std::string>();
  if (::access(options_.printed.c_str(), F_OK) != 0) return std::optional<std::string>(std::string());
  KILN_TRY(const auto bytes, read_file(options_.printed));
  return std::optional<std::string>(std::string(text(bytes)));
}

Result<std::string> Emulation::result() {
  const auto& r = kernel_.resources;
  KILN_TRY(const auto output, kernel_output());
  Json profiles = Json::parse(text_of(table_.profiles), nullptr, false);
  if (profiles.is_discarded()) return Error(ErrorCode::corrupt, "the emulated card's counters are no JSON");
  Json printed = Json::array();
  for (const auto& print : prints_) {
    if (!fault_.empty()) break;
    Json values = Json::array();
    for (std::uint64_t i = 0; i < print.count; ++i)
      values.push_back(Json::parse(value_json(print.type, bytes_at(print.argument).data() + i * bytes_of(print.type))));
    const auto& text = options_.prints[static_cast<std::size_t>(&print - prints_.data())];
    printed.push_back({{"argument", print.argument}, {"print", text}, {"values", std::move(values)}});
  }
  Json result{{"kernel", kernel_.name}, {"name", name_}, {"grid", grid_}, {"block", block_}, {"printed", std::move(printed)},
              {"profiles", std::move(profiles)}, {"fault", fault_.empty() ? Json(nullptr) : Json(fault_)}};
  result["output"] = output ? Json(*output) : Json(nullptr);
  result["resources"] = {{"vgprs", r.vgprs}, {"agprs", r.agprs}, {"sgprs", r.sgprs}, {"vgpr_spills", r.vgpr_spills},
                         {"sgpr_spills", r.sgpr_spills}, {"scratch_bytes", r.scratch_bytes}};
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<std::string> emulate(const EmulateOptions& options) { return Emulation(options).run(); }

}  // namespace kiln::device::hip
