// LLVM in the worker for host targets.
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <chrono>
#include <mutex>

#include "engine/compile/host_compiler.hpp"
#include "engine/emit/emit.hpp"

namespace kiln::compile {
namespace {

constexpr const char* triple_text = "x86_64-unknown-linux-gnu";

// The emitted text is explicit about vectors and loops: what remains is inlining of the math functions, simplification,
// loop-invariant code and address arithmetic. No vectorizer, no idiom recognition (it would call into a C library).
constexpr const char* pipeline =
    "always-inline,globaldce,"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate<no-header-duplication>,licm),"
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),dce)";

std::string features_text(const target::Target& target) {
  std::string text;
  for (const auto& feature : target.host_features) text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const target::Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Triple triple(triple_text);
  const auto* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) return Error(ErrorCode::no_compiler, "LLVM has no x86-64 target: " + error);
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, "x86-64", features_text(target), options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine) return Error(ErrorCode::no_compiler, "LLVM made no target machine");
  return machine;
}

Error failed(std::string what, const std::string& text) {
  Error error(ErrorCode::compile_failed, std::move(what));
  error.context.push_back(text.substr(0, 2000));
  return error;
}

// What LLVM says while it compiles. Without a handler it would end the process at an error.
struct Spoken {
  std::string log;
  bool failed = false;
};
void hear(const llvm::DiagnosticInfo* info, void* spoken_to) {
  auto& spoken = *static_cast<Spoken*>(spoken_to);
  if (info->getSeverity() == llvm::DS_Error) spoken.failed = true;
  if (spoken.log.size() >= log_bytes_max ||
      (info->getSeverity() != llvm::DS_Error && info->getSeverity() != llvm::DS_Warning))
    return;
  llvm::raw_string_ostream stream(spoken.log);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  stream << "\n";
  stream.flush();
  if (spoken.log.size() > log_bytes_max) spoken.log.resize(log_bytes_max);
}

Result<std::unique_ptr<llvm::Module>> parse(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssembly(llvm::MemoryBufferRef(text, "kernel"), diagnostic, context);
  if (!module) {
    return failed("line " + std::to_string(diagnostic.getLineNo()) + ": " + diagnostic.getMessage().str() + ": " +
                      diagnostic.getLineContents().str(),
                  text);
  }
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*module, &stream)) return failed("LLVM refuses the module: " + broken, text);
  return module;
}

Status optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline)) {
    return Error(ErrorCode::internal, "LLVM does not take the pipeline: " + llvm::toString(std::move(error)));
  }
  passes.run(module, modules);
  return {};
}

// Bytes of code, from the object's text sections.
Result<std::int64_t> code_bytes(const Bytes& object) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel.o"));
  if (!file)
    return Error(ErrorCode::compile_failed,
                 "LLVM made an object that cannot be read: " + llvm::toString(file.takeError()));
  std::int64_t total = 0;
  for (const auto& section : (*file)->sections())
    total += section.isText() ? static_cast<std::int64_t>(section.getSize()) : 0;
  return total;
}

class HostCompiler : public Compiler {
 public:
  Result<std::string> warm_up(const target::Target& target) override {
    const std::string words = "LLVM " + std::string(LLVM_VERSION_STRING);
    KILN_CHECK(
        compile_llvm_text("target triple = \"x86_64-unknown-linux-gnu\"\ndefine i32 @warm() { ret i32 0 }\n", target));
    return words;
  }

  Result<Compiled> compile(const bound::Program& program, const target::Target& target, Budget& budget) override {
    const auto begin = std::chrono::steady_clock::now();
    KILN_TRY(const auto lowered, lower::lower(program, target, 0, budget));
    KILN_TRY(const std::string text, emit::emit_llvm(lowered.program, target));
    KILN_CHECK(budget.spend());
    KILN_TRY(HostObject object, compile_llvm_text(text, target));
    Compiled compiled;
    compiled.metadata = host_metadata(program, lowered, text);
    compiled.metadata.compiler = "LLVM " + std::string(LLVM_VERSION_STRING);
    compiled.metadata.log = std::move(object.log);
    for (auto& launch : compiled.metadata.launches) launch.resources.code_bytes = object.code_bytes;
    compiled.object = std::move(object.object);
    compiled.metadata.compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return compiled;
  }
};

}  // namespace

Result<HostObject> compile_llvm_text(const std::string& text, const target::Target& target) {
  if (!target.is_host())
    return Error(ErrorCode::unsupported, "the host compiler serves host targets, not " + target.full);
  KILN_TRY(const auto machine, make_machine(target));
  llvm::LLVMContext context;
  Spoken spoken;
  context.setDiagnosticHandlerCallBack(hear, &spoken);
  KILN_TRY(auto module, parse(text, context));
  module->setTargetTriple(llvm::Triple(triple_text));
  module->setDataLayout(machine->createDataLayout());
  KILN_CHECK(optimize(*module, *machine));
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return Error(ErrorCode::internal, "LLVM emits no objects for x86-64");
  }
  codegen.run(*module);
  if (spoken.failed) return failed("LLVM: " + spoken.log, text);
  HostObject result;
  result.log = std::move(spoken.log);
  result.object.assign(buffer.begin(), buffer.end());
  KILN_TRY(result.code_bytes, code_bytes(result.object));
  return result;
}

std::unique_ptr<Compiler> make_host_compiler() { return std::make_unique<HostCompiler>(); }

}  // namespace kiln::compile
