#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <llvm/Config/Targets.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "engine/emulator/isa/decoder.hpp"
#include "engine/emulator/isa/fields.hpp"
#include "engine/emulator/isa/fields_gfx11.hpp"
#include "engine/emulator/isa/operand_widths.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint32_t none = ~0u;
constexpr std::size_t instruction_bytes_max = 20, text_bytes_max = 512;

Error unsupported(std::string message) { return Error(ErrorCode::unsupported, std::move(message)); }

// "gfx942:sramecc+:xnack-" -> "gfx942" and "+sramecc,-xnack".
struct Processor {
  std::string name, features;
};
Processor processor_of(const std::string& isa) {
  Processor processor;
  std::string_view rest = isa;
  processor.name = rest.substr(0, rest.find(':'));
  while (rest.find(':') != std::string_view::npos) {
    rest = rest.substr(rest.find(':') + 1);
    const std::string_view feature = rest.substr(0, rest.find(':'));
    if (feature.empty()) continue;
    if (!processor.features.empty()) processor.features += ',';
    processor.features += feature.back();
    processor.features += feature.substr(0, feature.size() - 1);
  }
  return processor;
}

// LLVM's disassembler for one processor.
class Disassembler {
 public:
  explicit Disassembler(const Processor& processor) {
#if LLVM_HAS_AMDGPU_TARGET
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeAMDGPUTargetInfo();
      LLVMInitializeAMDGPUTargetMC();
      LLVMInitializeAMDGPUDisassembler();
    });
    context_ = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", processor.name.c_str(), processor.features.c_str(),
                                           nullptr, 0, nullptr, nullptr);
#else
    (void)processor;
#endif
  }
  ~Disassembler() {
    if (context_ != nullptr) LLVMDisasmDispose(context_);
  }
  Disassembler(const Disassembler&) = delete;
  [[nodiscard]] bool ok() const { return context_ != nullptr; }

  // Bytes of the instruction at the start of `code`, 0 where there is none that could be executed; its text then.
  std::size_t next(ByteView code, std::uint64_t address, Family family, std::string& text) {
    // Always as much as an instruction can have, zeros behind the end: LLVM reads literals without looking.
    std::uint32_t words[instruction_bytes_max / 4] = {};
    std::memcpy(words, code.data(), std::min(code.size(), sizeof words));
    if (family == Family::gfx11 ? fields::is_reserved_gfx11(words) : fields::is_reserved(words)) return 0;
    char buffer[text_bytes_max];
    const std::size_t used = LLVMDisasmInstruction(context_, reinterpret_cast<std::uint8_t*>(words), sizeof words,
                                                   address, buffer, sizeof buffer);
    text = buffer;
    // Operands of a class that the operation does not take and scalar tuples that are not aligned are printed with a
    // comment instead of refused; what a card does with them is not defined.
    if (used == 0 || used > code.size() || used % 4 != 0 || text.find("/*") != std::string::npos ||
        text.find(';') != std::string::npos) {
      return 0;
    }
    text.erase(0, text.find_first_not_of(" \t"));
    return used;
  }

 private:
  LLVMDisasmContextRef context_ = nullptr;
};

// "v_add_f32_e64_dpp v0, …" -> "v_add_f32".
std::string_view canonical_name(std::string_view text) {
  std::string_view name = text.substr(0, text.find_first_of(" \t"));
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp8", "_dpp"}) {
      if (!name.ends_with(suffix)) continue;
      name.remove_suffix(suffix.size());
      again = true;
    }
  }
  return name;
}

// Each name once; a deque so that they stay where they are.
class Names {
 public:
  const char* intern(std::string_view name) {
    const auto at = by_name_.find(name);
    if (at != by_name_.end()) return at->second;
    const std::string& kept = names_->emplace_back(name);
    by_name_.emplace(kept, kept.c_str());
    return kept.c_str();
  }
  std::shared_ptr<const std::deque<std::string>> take() { return std::move(names_); }

 private:
  std::shared_ptr<std::deque<std::string>> names_ = std::make_shared<std::deque<std::string>>();
  std::unordered_map<std::string_view, const char*> by_name_;
};

// SOPP's branches and s_call_b64: their immediate counts dwords from the next instruction.
bool is_relative_branch(const Instruction& instruction) {
  const std::string_view name = instruction.name;
  if (instruction.format == Format::sopk) return name == "s_call_b64";
  return instruction.format == Format::sopp && (name == "s_branch" || name.starts_with("s_cbranch_"));
}

void link(Code& code) {
  const auto count = static_cast<std::uint32_t>(code.instructions.size());
  for (Instruction& instruction : code.instructions) {
    instruction.following = instruction.index + 1;
    instruction.target = count;
    if (!is_relative_branch(instruction)) continue;
    const std::int64_t dwords = static_cast<std::int64_t>((instruction.address + instruction.bytes - code.begin) / 4) +
                                static_cast<std::int16_t>(instruction.immediate);
    if (dwords < 0 || dwords >= static_cast<std::int64_t>(code.index_of.size())) continue;
    const std::uint32_t target = code.index_of[static_cast<std::size_t>(dwords)];
    if (target != none) instruction.target = target;
  }
}

}  // namespace

Result<Family> family_of(const std::string& isa) {
  const std::string name = isa.substr(0, isa.find(':'));
  if (name == "gfx90a") return Family::gfx90a;
  if (name == "gfx942") return Family::gfx942;
  if (name == "gfx950") return Family::gfx950;
  if (name == "gfx1100") return Family::gfx11;
  return unsupported("the emulated card does not execute code for " + name);
}

Result<Code> decode(ByteView bytes, std::uint64_t address, const std::string& isa) {
  KILN_TRY(const Family family, family_of(isa));
  if (bytes.size() % 4 != 0 || bytes.size() / 4 >= none)
    return Error(ErrorCode::corrupt, "code whose size is no multiple of 4 bytes, or too large");
  Disassembler disassembler(processor_of(isa));
  if (!disassembler.ok()) return unsupported("this build's LLVM has no disassembler for " + isa);
  Code code;
  code.begin = address;
  code.index_of.assign(bytes.size() / 4, none);
  Names names;
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    Instruction instruction;
    instruction.address = address + at;
    instruction.index = static_cast<std::uint32_t>(code.instructions.size());
    const std::size_t used = disassembler.next(bytes.subspan(at), instruction.address, family, text);
    if (used != 0) {
      instruction.bytes = static_cast<std::uint8_t>(used);
      std::memcpy(instruction.words, bytes.data() + at, used);
      instruction.name = names.intern(canonical_name(text));
    }
    if (used == 0 || !decode_fields(instruction, family)) {
      const std::uint32_t index = instruction.index;
      instruction = {};
      instruction.address = address + at;
      instruction.index = index;
      instruction.opcode = 0xffff;
      instruction.name = names.intern("(undecodable)");
      std::memcpy(instruction.words, bytes.data() + at, 4);
      text = instruction.name;
    }
    set_operand_widths(instruction, text);
    code.index_of[at / 4] = instruction.index;
    at += instruction.bytes;
    code.instructions.push_back(instruction);
    code.text.push_back(text);
  }
  link(code);
  code.names = names.take();
  return code;
}

}  // namespace kiln::emulator
