#include "engine/jit/object_store.hpp"

namespace kiln::jit {

std::vector<Bytes> ObjectStore::read_notes(const std::string& name) {
  std::vector<Bytes> notes;
  if (auto own = read_note(name)) notes.push_back(std::move(*own));
  return notes;
}

Result<ExportReport> ObjectStore::export_to(int, const ExportRequest&) {
  return Error(ErrorCode::unsupported, "this store makes no bundles");
}

Result<ImportReport> ObjectStore::import_from(int, const ImportRequest&) {
  return Error(ErrorCode::unsupported, "this store takes no bundles");
}

}  // namespace kiln::jit
