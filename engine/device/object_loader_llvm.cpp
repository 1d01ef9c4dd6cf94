// Host objects linked by LLVM ORC's object layer (JITLink).
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <cstring>

#include "engine/device/host/object_loader.hpp"

namespace kiln::device::host {
namespace {

namespace orc = llvm::orc;

Error corrupt(const std::string& what) { return Error(ErrorCode::corrupt, "host object: " + what); }

bool is_allowed_import(llvm::StringRef name) { return name == "memcpy" || name == "memset"; }

Status check_section(const llvm::object::ELFSectionRef& section) {
  const auto type = section.getType();
  if (section.getFlags() & llvm::ELF::SHF_TLS) return corrupt("it has thread-local data");
  if (type == llvm::ELF::SHT_INIT_ARRAY || type == llvm::ELF::SHT_FINI_ARRAY || type == llvm::ELF::SHT_PREINIT_ARRAY) {
    return corrupt("it has initializers");
  }
  auto name = section.getName();
  if (!name) return corrupt(llvm::toString(name.takeError()));
  if (name->starts_with(".ctors") || name->starts_with(".dtors") || name->starts_with(".init") ||
      name->starts_with(".fini")) {
    return corrupt("it has initializers");
  }
  return {};
}

// Before a linker sees it: only what our own compiler makes.
Status check_object(llvm::MemoryBufferRef bytes) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(bytes);
  if (!file) return corrupt(llvm::toString(file.takeError()));
  const auto& object = **file;
  if (!object.isRelocatableObject() || object.getArch() != llvm::Triple::x86_64)
    return corrupt("it is no relocatable x86-64 object");
  for (const auto& section : object.sections()) KILN_CHECK(check_section(section));
  for (const auto& symbol : object.symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return corrupt(llvm::toString(flags.takeError()));
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined)) continue;
    auto name = symbol.getName();
    if (!name) return corrupt(llvm::toString(name.takeError()));
    if (!name->empty() && !is_allowed_import(*name))
      return corrupt("it needs the symbol " + name->str().substr(0, 100));
  }
  return {};
}

class Loaded : public LoadedObject {
 public:
  Loaded(orc::ExecutionSession& session, orc::JITDylib& library) : session_(session), library_(library) {}
  ~Loaded() override {
    if (auto error = session_.removeJITDylib(library_)) session_.reportError(std::move(error));
  }
  [[nodiscard]] BlockFunction function(std::size_t number) const override { return functions_[number]; }
  Status find(const std::vector<std::string>& symbols) {
    for (const auto& symbol : symbols) {
      auto address = session_.lookup({&library_}, session_.intern(symbol));
      if (!address) return corrupt(llvm::toString(address.takeError()));
      functions_.push_back(address->getAddress().toPtr<BlockFunction>());
    }
    return {};
  }

 private:
  orc::ExecutionSession& session_;
  orc::JITDylib& library_;
  std::vector<BlockFunction> functions_;
};

class Loader : public ObjectLoader {
 public:
  explicit Loader(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session_(std::move(control)),
        layer_(session_, session_.getExecutorProcessControl().getMemMgr()),
        imports_(session_.createBareJITDylib("imports")) {
    // Failures come back from lookup; nothing is to be printed.
    session_.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }
  ~Loader() override { llvm::consumeError(session_.endSession()); }

  Status define_imports() {
    const auto address = [](auto* function) {
      return orc::ExecutorSymbolDef(orc::ExecutorAddr::fromPtr(function),
                                    llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
    };
    orc::SymbolMap symbols;
    symbols[session_.intern("memcpy")] = address(static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memcpy));
    symbols[session_.intern("memset")] = address(static_cast<void* (*)(void*, int, std::size_t)>(&std::memset));
    if (auto error = imports_.define(orc::absoluteSymbols(std::move(symbols))))
      return corrupt(llvm::toString(std::move(error)));
    return {};
  }

  Result<std::unique_ptr<LoadedObject>> load(ByteView object, const std::vector<std::string>& symbols) override {
    const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, "kernel.o");
    KILN_CHECK(check_object(buffer->getMemBufferRef()));
    auto& library = session_.createBareJITDylib("kernel" + std::to_string(next_.fetch_add(1)));
    auto loaded = std::make_unique<Loaded>(session_, library);
    library.addToLinkOrder(imports_);
    if (auto error = layer_.add(library, std::move(buffer))) return corrupt(llvm::toString(std::move(error)));
    KILN_CHECK(loaded->find(symbols));
    return std::unique_ptr<LoadedObject>(std::move(loaded));
  }

 private:
  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer layer_;
  orc::JITDylib& imports_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace

Result<std::unique_ptr<ObjectLoader>> make_object_loader() {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control) return Error(ErrorCode::internal, "LLVM ORC: " + llvm::toString(control.takeError()));
  auto loader = std::make_unique<Loader>(std::move(*control));
  KILN_CHECK(loader->define_imports());
  return std::unique_ptr<ObjectLoader>(std::move(loader));
}

}  // namespace kiln::device::host
