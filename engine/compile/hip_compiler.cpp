// The AMD worker's compiler: lower, emit, hipRTC, then what the object itself says about its resources.
#include <algorithm>
#include <chrono>
#include <map>

#include "engine/compile/candidates.hpp"
#include "engine/compile/code_object.hpp"
#include "engine/compile/disassemble.hpp"
#include "engine/compile/hip_metadata.hpp"
#include "engine/compile/hiprtc.hpp"
#include "engine/compile/line_table.hpp"
#include "engine/emit/emit.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::compile {
namespace {

constexpr std::size_t text_shown = 4000;

// Debug information names the folder that comgr compiled in: no path of this machine leaves in an object.
void forget_paths(Bytes& object, const CodeObject& code) {
  constexpr std::string_view unique = "/comgr-";
  for (const auto& [begin, size] : code.debug_sections) {
    std::uint8_t* const bytes = object.data() + begin;
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    for (std::size_t at = 0; at < size;) {   // strings, one behind the other
      const auto end = std::min(text.find('\0', at), text.size());
      const auto folder = text.substr(at, end - at).find(unique);
      if (text[at] == '/') std::fill(bytes + at, bytes + (folder == std::string_view::npos ? end : at + folder), 'x');
      at = end + 1;
    }
  }
}

// The kernel program with its statements' pointers, which are a request's, replaced by their number in the tile program:
// all programs of one key have the same ones.
void number_statements(kernel::Body& body, const std::map<std::string, std::string>& numbers) {
  for (auto& stmt : body) {
    const auto found = numbers.find(stmt.pointer);
    stmt.pointer = found == numbers.end() ? std::string() : found->second;
    if (auto* loop = std::get_if<kernel::For>(&stmt.node)) number_statements(loop->body, numbers);
    if (auto* branch = std::get_if<kernel::If>(&stmt.node)) {
      number_statements(branch->then, numbers);
      number_statements(branch->otherwise, numbers);
    }
  }
}

Result<std::string> emit_numbered(const bound::Program& program, const kernel::Program& lowered,
                                  const target::Target& target) {
  kernel::Program numbered = lowered;
  for (std::size_t i = 0; i < numbered.launches.size(); ++i) {
    std::map<std::string, std::string> numbers;
    for (const auto& statement : bound::statement_texts(program, program.launches[i]))
      numbers.emplace(statement.pointer, std::to_string(numbers.size()));
    for (auto& role : numbered.launches[i].roles) number_statements(role.body, numbers);
  }
  auto text = emit::emit_hip(numbered, target);
  return text ? std::move(text) : emit::emit_hip(lowered, target);   // its errors name the request's statements
}

class HipCompiler : public Compiler {
 public:
  HipCompiler(Hiprtc rtc, std::vector<DeviceHeader> headers) : rtc_(std::move(rtc)), headers_(std::move(headers)) {}

  Result<std::string> warm_up(const target::Target& target) override {
    if (target.is_host()) return Error(ErrorCode::unsupported, "hipRTC does not compile for " + target.full);
    const std::string text =
        "#include <kiln/kernel.hpp>\nnamespace kiln {\nextern \"C\" KILN_KERNEL(64) void warm(void* p) "
        "{ store_global<u32, 4>(p, 0, thread_id() * 4u, 0u); }\n}\n";
    KILN_TRY(const auto output, rtc_.compile(text, headers_, hip_options(target)));
    KILN_TRY(const auto object, read_code_object(output.object));
    KILN_CHECK(check_code_object(object, target));
    KILN_CHECK(disassemble(code_of(output.object, object, "warm"), object.isa));
    return rtc_.description();
  }

  Result<Compiled> compile(const bound::Program& program, const target::Target& target, Budget& budget) override {
    const auto begin = std::chrono::steady_clock::now();
    const auto candidate = [&](int attempt) -> Result<Compiled> {
      KILN_TRY(const auto lowered, lower::lower(program, target, attempt, budget));
      KILN_TRY(Compiled compiled, compile_one(program, lowered, target));
      KILN_CHECK(budget.spend());
      return compiled;
    };
    KILN_TRY(Compiled best, best_candidate(candidate));
    KILN_CHECK(add_alternatives(program, target, budget, best.metadata));
    best.metadata.compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return best;
  }

 private:
  static ByteView code_of(ByteView bytes, const CodeObject& object, const std::string& name) {
    for (const auto& function : object.functions) {
      if (function.name == name) return bytes.subspan(function.offset, function.size);
    }
    return {};
  }

  static std::uint64_t address_of(const CodeObject& object, const std::string& name) {
    for (const auto& function : object.functions)
      if (function.name == name) return function.address;
    return 0;
  }

  Result<Compiled> compile_one(const bound::Program& program, const lower::Lowered& lowered,
                               const target::Target& target) {
    KILN_TRY(std::string text, emit_numbered(program, lowered.program, target));
    auto output = rtc_.compile(text, headers_, hip_options(target));
    if (!output) {
      Error error = std::move(output).error();
      error.context.push_back(text.substr(0, text_shown));
      return error;
    }
    KILN_TRY(const CodeObject object, read_code_object(output->object));
    KILN_CHECK(check_code_object(object, target));
    Compiled compiled;
    const auto lines = LineTable::read(ByteView(output->object).subspan(object.lines_offset, object.lines_size));
    std::vector<std::vector<Instruction>> code;
    for (const auto& launch : lowered.program.launches) {
      KILN_TRY(auto instructions, disassemble(code_of(output->object, object, launch.symbol), object.isa));
      for (auto& instruction : instructions)
        instruction.line = lines.at(address_of(object, launch.symbol) + instruction.address);
      code.push_back(std::move(instructions));
    }
    KILN_TRY(compiled.metadata, hip_metadata(program, lowered, target, code, emit::owners_of_lines(text)));
    compiled.metadata.compiler = rtc_.description();
    compiled.metadata.source = std::move(text);
    compiled.metadata.log = output->log.substr(0, log_bytes_max);
    compiled.metadata.elf_flags = object.elf_flags;
    for (std::size_t i = 0; i < code.size(); ++i)
      KILN_CHECK(add_resources(object, code[i], target, compiled.metadata.launches[i]));
    compiled.object = std::move(output->object);
    forget_paths(compiled.object, object);
    return compiled;
  }

  static Status add_resources(const CodeObject& object, const std::vector<Instruction>& instructions,
                              const target::Target& target, LaunchInfo& launch) {
    const auto kernel = std::find_if(object.kernels.begin(), object.kernels.end(),
                                     [&](const CodeKernel& k) { return k.name == launch.symbol; });
    if (kernel == object.kernels.end())
      return Error(ErrorCode::compile_failed, "the object has no kernel " + launch.symbol);
    launch.resources = kernel->resources;
    launch.arguments = kernel->arguments;
    for (const auto& instruction : instructions) launch.resources.code_bytes += instruction.bytes;
    launch.resources.instructions = static_cast<std::int64_t>(instructions.size());
    for (const auto& instruction : instructions)
      launch.resources.matrix_instructions += is_matrix_instruction(instruction.mnemonic()) ? 1 : 0;
    launch.resources.waves_per_simd = waves_per_simd(target, launch.resources, launch.threads);
    return ok();
  }

  Hiprtc rtc_;
  std::vector<DeviceHeader> headers_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> make_hip_compiler(const WorkerOptions& options) {
  if (options.include_folder.empty())
    return Error(ErrorCode::invalid_argument, "no --include DIR: Kiln's device headers are needed");
  KILN_TRY(auto headers, read_device_headers(options.include_folder));
  KILN_TRY(Hiprtc rtc, Hiprtc::load());
  return std::unique_ptr<Compiler>(new HipCompiler(std::move(rtc), std::move(headers)));
}

}  // namespace kiln::compile
