#include <algorithm>
#include <vector>

#include "cache/disk_store.hpp"
#include "cache/layered_store.hpp"
#include "cache/memory_store.hpp"
#include "cache/store_state.hpp"

namespace kiln::cache {
namespace {

constexpr std::uint64_t memory_bytes_max = std::uint64_t(256) << 20;
constexpr std::string_view temporary_prefix = "kiln-private-cache-";

std::shared_ptr<jit::ObjectStore> open_first(const StoreOptions& options) {
  std::string why = "no cache folder is set";
  if (!options.folder.empty()) {
    auto store = DiskStore::open(options);
    if (store) return std::move(*store);
    why = store.error().message;
  }
  const auto warn = [&](const std::string& text) { if (options.warn) options.warn(text); };
  if (auto store = DiskStore::open_temporary(options, why)) {
    warn("the cache folder is unusable (" + why + "): kernels are kept in " + store->stats().path +
         " until this process ends");
    return store;
  }
  warn("the cache folder is unusable (" + why + "), and no temporary one can be made: kernels are kept in memory");
  return std::make_shared<MemoryStore>(why, std::min(options.bytes_max, memory_bytes_max), options.entries_max,
                                       options.trust);
}

}  // namespace

std::shared_ptr<jit::ObjectStore> open_store(const StoreOptions& options) {
  auto first = open_first(options);
  if (options.layers.empty()) return first;
  std::vector<std::unique_ptr<Layer>> layers;
  for (const auto& path : options.layers) {
    layers.push_back(std::make_unique<Layer>(path, options.trust));
    const auto& problem = layers.back()->problem();
    if (!problem.empty() && options.warn) options.warn("a layer of the cache is not used: " + problem);
  }
  return std::make_shared<LayeredStore>(std::move(first), std::move(layers));
}

std::shared_ptr<DiskStore> DiskStore::open_temporary(const StoreOptions& options, const std::string& why) {
  if (options.temporary_root.empty()) return nullptr;
  PrivateFolder::remove_left_overs(options.temporary_root, temporary_prefix);
  auto folder = PrivateFolder::create(options.temporary_root, temporary_prefix);
  if (!folder) return nullptr;
  auto own = options;
  own.folder = folder->path();
  auto store = open(own);
  if (!store || !(*store)->state_->folder()->writable()) return nullptr;
  (*store)->state_->temporary = std::move(*folder);
  (*store)->state_->fallback_reason = why + "; kernels are kept in a temporary folder until this process ends";
  return std::move(*store);
}

}  // namespace kiln::cache
