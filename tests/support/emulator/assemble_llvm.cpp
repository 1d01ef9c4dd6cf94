#include <llvm-c/Target.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

void collect_message(const llvm::SMDiagnostic& diagnostic, void* into) {
  llvm::raw_string_ostream stream(*static_cast<std::string*>(into));
  diagnostic.print("", stream, false);
}

const llvm::Target* amdgpu(const llvm::Triple& triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

// The relocatable object of the text. Messages of the assembler go to `messages`.
bool assemble_object(const std::string& assembly, const std::string& processor, llvm::SmallVectorImpl<char>& object,
                     std::string& messages) {
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target* target = amdgpu(triple);
  if (target == nullptr) return false;
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> dialect(target->createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, processor, ""));
  llvm::SourceMgr sources;
  sources.setDiagHandler(&collect_message, &messages);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(assembly, "test"), llvm::SMLoc());
  llvm::MCContext context(triple, dialect.get(), registers.get(), subtarget.get(), &sources, &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> layout(target->createMCObjectFileInfo(context, false));
  context.setObjectFileInfo(layout.get());
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(target->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *dialect));
  const std::unique_ptr<llvm::MCTargetAsmParser> machine(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*machine);
  return !parser->Run(false) && messages.empty();
}

}  // namespace

Result<Bytes> assemble(const std::string& assembly, const std::string& processor) {
  llvm::SmallVector<char, 0> object;
  std::string messages;
  if (!assemble_object(assembly, processor, object, messages))
    return Error(ErrorCode::invalid_argument, "the assembly is wrong: " + messages);
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "test");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) return Error(ErrorCode::internal, "the assembler's object: " + llvm::toString(file.takeError()));
  for (const auto& section : (*file)->sections()) {
    if (llvm::cantFail(section.getName()) == ".rela.text")
      return Error(ErrorCode::unsupported, "the assembly names a symbol outside of it");
  }
  for (const auto& section : (*file)->sections()) {
    if (llvm::cantFail(section.getName()) != ".text") continue;
    const llvm::StringRef contents = llvm::cantFail(section.getContents());
    return Bytes(contents.bytes_begin(), contents.bytes_end());
  }
  return Error(ErrorCode::internal, "the assembler's object has no code");
}

}  // namespace kiln::emulator_test
