#include "cache/layered_store.hpp"

#include <algorithm>
#include <cerrno>

#include "cache/trusted_folder.hpp"

namespace kiln::cache {

// ---- one layer ------------------------------------------------------------------------------------------------------

Layer::Layer(const std::string& path, const TrustKey& trust) : path_(path) {
  if (auto opened = open(trust); !opened) problem_ = opened.error().message;
}

Status Layer::open(const TrustKey& trust) {
  KILN_TRY(auto found, find_trusted(path_));
  if (S_ISDIR(found.status.st_mode)) {
    StoreOptions options;
    options.folder = path_;
    KILN_TRY(folder_, DiskStore::open_read_only(options));
    return {};
  }
  if (!S_ISREG(found.status.st_mode)) return Error(ErrorCode::invalid_argument, path_ + ": neither folder nor file");
  KILN_TRY(auto fd, open_found(found, path_));
  KILN_TRY(auto bundle, Bundle::open(std::move(fd), path_, trust));
  KILN_CHECK(bundle->trusted());
  bundle_ = std::move(bundle);
  return {};
}

std::shared_ptr<const jit::StoredObject> Layer::lookup(const jit::Key& key,
                                                       const std::function<bool(const jit::StoredObject&)>& sound) {
  std::shared_ptr<const jit::StoredObject> found;
  if (folder_) {
    found = folder_->lookup(key, sound);
  } else if (bundle_) {
    auto entry = bundle_->read(key);
    if (entry && *entry && (!sound || sound(**entry)))
      found = std::make_shared<const jit::StoredObject>(std::move(**entry));
  }
  if (found) ++hits_;
  return found;
}

std::optional<Bytes> Layer::read_note(const std::string& name) {
  if (folder_) return folder_->read_note(name);
  if (!bundle_) return std::nullopt;
  auto note = bundle_->read_note(name);
  return note ? std::move(*note) : std::nullopt;
}

jit::LayerStats Layer::stats() {
  jit::LayerStats stats;
  stats.path = path_;
  stats.kind = folder_ ? "folder" : bundle_ ? "bundle" : "none";
  stats.entries = folder_ ? folder_->stats().entries : bundle_ ? bundle_->entries().size() : 0;
  stats.hits = hits_;
  stats.problem = problem_;
  return stats;
}

// ---- the store over them --------------------------------------------------------------------------------------------

std::shared_ptr<const jit::StoredObject> LayeredStore::lookup(
    const jit::Key& key, const std::function<bool(const jit::StoredObject&)>& sound, std::optional<Error>* unread) {
  if (auto found = first_->lookup(key, sound, unread)) return found;
  for (const auto& layer : layers_)
    if (auto found = layer->lookup(key, sound)) return found;
  return nullptr;
}

std::vector<Bytes> LayeredStore::read_notes(const std::string& name) {
  auto notes = first_->read_notes(name);
  for (const auto& layer : layers_)
    if (auto note = layer->read_note(name)) notes.push_back(std::move(*note));
  return notes;
}

jit::StoreStats LayeredStore::stats() {
  auto stats = first_->stats();
  std::uint64_t hits = 0;
  for (const auto& layer : layers_) {
    stats.layers.push_back(layer->stats());
    hits += stats.layers.back().hits;
  }
  stats.misses -= std::min(stats.misses, hits);  // the first store's own, so far
  return stats;
}

}  // namespace kiln::cache
