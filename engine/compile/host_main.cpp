// kiln-compile-host: the worker that compiles for the host with LLVM.
#include "engine/compile/host_compiler.hpp"

int main(int argc, char** argv) {
  return kiln::compile::worker_main(argc, argv, [](const kiln::compile::WorkerOptions&) {
    return kiln::Result<std::unique_ptr<kiln::compile::Compiler>>(kiln::compile::make_host_compiler());
  });
}
