#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include "engine/emulator/machine/source_lines.hpp"

namespace kiln::emulator {
namespace {

class DwarfLines final : public SourceLines {
 public:
  explicit DwarfLines(ByteView object) : bytes_(object.begin(), object.end()) {}

  bool open() {
    const llvm::StringRef text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(text, "object"));
    if (!file) {
      llvm::consumeError(file.takeError());
      return false;
    }
    file_ = std::move(*file);
    const auto quiet = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    context_ = llvm::DWARFContext::create(*file_, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "",
                                          quiet, quiet);
    return context_->getNumCompileUnits() > 0;
  }

  SourceLine at(std::uint64_t address) override {
    llvm::DILineInfoSpecifier wanted;
    wanted.FLIKind = llvm::DILineInfoSpecifier::FileLineInfoKind::BaseNameOnly;
    wanted.FNKind = llvm::DILineInfoSpecifier::FunctionNameKind::None;
    for (const auto& section : file_->sections()) {
      if (!section.isText() || address < section.getAddress() || address - section.getAddress() >= section.getSize())
        continue;
      const auto frames = context_->getInliningInfoForAddress({address, section.getIndex()}, wanted);
      if (frames.getNumberOfFrames() == 0) break;
      const auto& outer = frames.getFrame(frames.getNumberOfFrames() - 1);
      if (outer.Line == 0) break;
      return {outer.FileName, outer.Line};
    }
    return {};
  }

 private:
  const Bytes bytes_;
  std::unique_ptr<llvm::object::ObjectFile> file_;
  std::unique_ptr<llvm::DWARFContext> context_;
};

}  // namespace

std::unique_ptr<SourceLines> SourceLines::read(ByteView object) {
  auto lines = std::make_unique<DwarfLines>(object);
  if (!lines->open()) return nullptr;
  return lines;
}

}  // namespace kiln::emulator
