// A compile worker for tests of the pool: speaks the real protocol through worker_main, and does what the program's
// name asks for: "crash", "exit", "hang", "allocate", "throw_bad_alloc", "refuse"; "gate…" compiles once the file named
// by --gate can be opened for reading (a FIFO); everything else gives a small object that is right for its target.
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "engine/compile/compiler.hpp"

namespace kiln::compile {
namespace {

Bytes small_object(const target::Target& target, const std::string& content) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_REL;
  head.e_flags = target.elf_flags;
  Bytes object(sizeof head + content.size());
  std::memcpy(object.data(), &head, sizeof head);
  std::memcpy(object.data() + sizeof head, content.data(), content.size());
  return object;
}

// Takes memory and touches it, so that it is resident, until something stops it.
[[noreturn]] void allocate_for_ever() {
  constexpr std::size_t step = std::size_t(8) << 20;
  for (;;) {
    auto* memory = static_cast<volatile char*>(std::malloc(step));
    if (!memory) throw std::bad_alloc();
    for (std::size_t i = 0; i < step; i += 4096) memory[i] = 1;
  }
}

class FaultCompiler final : public Compiler {
 public:
  explicit FaultCompiler(std::string gate) : gate_(std::move(gate)) {}
  Result<std::string> warm_up(const target::Target&) override { return std::string("fault compiler"); }
  Result<Compiled> compile(const bound::Program& program, const target::Target& target, Budget&) override {
    const auto& name = program.name;
    if (name == "crash") ::raise(SIGABRT);
    if (name == "exit") std::_Exit(3);
    if (name == "hang") for (;;) ::pause();
    if (name == "allocate") allocate_for_ever();
    if (name == "throw_bad_alloc") throw std::bad_alloc();
    if (name == "refuse") return Error(ErrorCode::compile_failed, "the compiler refused it").with("log: line 1");
    if (name.starts_with("gate")) {
      const int fd = ::open(gate_.c_str(), O_RDONLY | O_CLOEXEC);  // blocks until a writer opens it
      if (fd < 0) return Error(ErrorCode::io_error, "no gate");
      ::close(fd);
    }
    Compiled compiled;
    compiled.metadata.program = name;
    compiled.metadata.target = target.full;
    compiled.metadata.compiler = "fault compiler";
    compiled.metadata.source = "made by process " + std::to_string(::getpid());
    compiled.metadata.elf_flags = target.elf_flags;
    compiled.object = small_object(target, name);
    return compiled;
  }

 private:
  std::string gate_;
};

Result<std::unique_ptr<Compiler>> make(const WorkerOptions& options) {
  std::string gate;
  for (std::size_t i = 0; i < options.rest.size(); ++i) {
    if (options.rest[i] == "--refuse-to-start") return Error(ErrorCode::no_compiler, "told to refuse");
    if (options.rest[i] == "--gate" && i + 1 < options.rest.size()) gate = options.rest[i + 1];
  }
  return std::unique_ptr<Compiler>(std::make_unique<FaultCompiler>(gate));
}

}  // namespace
}  // namespace kiln::compile

int main(int argc, char** argv) { return kiln::compile::worker_main(argc, argv, kiln::compile::make); }
