#include "engine/jit/object_store.hpp"

namespace kiln::jit {

Result<ExportReport> ObjectStore::export_to(int, const ExportRequest&) {
  return Error(ErrorCode::unsupported, "this store makes no bundles");
}

Result<ImportReport> ObjectStore::import_from(int, const ImportRequest&) {
  return Error(ErrorCode::unsupported, "this store takes no bundles");
}

}  // namespace kiln::jit
