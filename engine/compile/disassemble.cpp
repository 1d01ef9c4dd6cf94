#include "engine/compile/disassemble.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace kiln::compile {
namespace {

// comgr's C interface (amd_comgr.h), as far as it is used.
struct DisassemblyInfo { std::uint64_t handle; };
using ReadMemory = std::uint64_t (*)(std::uint64_t from, char* to, std::uint64_t size, void* user);
using PrintInstruction = void (*)(const char* instruction, void* user);
using PrintAddress = void (*)(std::uint64_t address, void* user);

struct Comgr {
  int (*create)(const char*, ReadMemory, PrintInstruction, PrintAddress, DisassemblyInfo*) = nullptr;
  int (*destroy)(DisassemblyInfo) = nullptr;
  int (*disassemble)(DisassemblyInfo, std::uint64_t, void*, std::uint64_t*) = nullptr;
};

int find_loaded(dl_phdr_info* info, std::size_t, void* path) {
  if (std::strstr(info->dlpi_name, "libamd_comgr.so") == nullptr) return 0;
  *static_cast<std::string*>(path) = info->dlpi_name;
  return 1;
}

void* open_comgr() {
  std::string path;  // hipRTC's own first, wherever it found it
  if (dl_iterate_phdr(&find_loaded, &path) != 0) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW)) return library;
  }
  for (const char* name : {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"}) {
    if (void* library = dlopen(name, RTLD_NOW)) return library;
  }
  return nullptr;
}

Result<Comgr> load_comgr() {
  void* library = open_comgr();
  if (library == nullptr) return Error(ErrorCode::no_compiler, "no libamd_comgr beside hipRTC");
  Comgr comgr;
  comgr.create = reinterpret_cast<decltype(comgr.create)>(dlsym(library, "amd_comgr_create_disassembly_info"));
  comgr.destroy = reinterpret_cast<decltype(comgr.destroy)>(dlsym(library, "amd_comgr_destroy_disassembly_info"));
  comgr.disassemble =
      reinterpret_cast<decltype(comgr.disassemble)>(dlsym(library, "amd_comgr_disassemble_instruction"));
  if (!comgr.create || !comgr.destroy || !comgr.disassemble)
    return Error(ErrorCode::no_compiler, "libamd_comgr is too old to disassemble");
  return comgr;
}

// What the callbacks see: addresses count from the code's first byte.
struct State {
  ByteView code;
  std::string text;
};

std::uint64_t read_memory(std::uint64_t from, char* to, std::uint64_t size, void* user) {
  const ByteView code = static_cast<State*>(user)->code;
  if (from >= code.size()) return 0;
  const std::uint64_t count = std::min<std::uint64_t>(size, code.size() - from);
  std::memcpy(to, code.data() + from, count);
  return count;
}
void print_instruction(const char* instruction, void* user) {
  std::string text = instruction;
  const auto begin = text.find_first_not_of(" \t");
  static_cast<State*>(user)->text = begin == std::string::npos ? "" : text.substr(begin);
}
void print_address(std::uint64_t, void*) {}

}  // namespace

Result<std::vector<Instruction>> disassemble(ByteView code, const std::string& isa) {
  static const Result<Comgr> loaded = load_comgr();
  if (!loaded) return Error(loaded.error());
  DisassemblyInfo info{};
  if (loaded->create(isa.c_str(), &read_memory, &print_instruction, &print_address, &info) != 0) {
    return Error(ErrorCode::compile_failed, "comgr does not disassemble " + isa);
  }
  State state{code, {}};
  std::vector<Instruction> instructions;
  Status status;
  for (std::uint64_t at = 0; at < code.size();) {
    std::uint64_t size = 0;
    if (loaded->disassemble(info, at, &state, &size) != 0 || size == 0 || size > code.size() - at) {
      status = Error(ErrorCode::compile_failed, "no instruction at byte " + std::to_string(at) + " of a kernel's code");
      break;
    }
    instructions.push_back({at, static_cast<int>(size), state.text, 0});
    at += size;
  }
  loaded->destroy(info);
  if (!status) return Error(std::move(status).error());
  return instructions;
}

bool is_matrix_instruction(const std::string& mnemonic) {
  for (const char* prefix : {"v_mfma", "v_smfmac", "v_wmma", "v_swmmac"}) {
    if (mnemonic.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace kiln::compile
