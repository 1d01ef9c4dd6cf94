// From a store into a bundle, and back.
#include <algorithm>
#include <cerrno>

#include "cache/bundle.hpp"
#include "cache/entry.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr std::size_t problems_max = 100;

Status admit(const jit::ExportRequest& request, std::uint64_t bytes) {
  return request.admit ? request.admit(bytes) : ok();
}

Status export_notes(const jit::ExportRequest& request, const BundleSource& source, BundleWriter& writer,
                    jit::ExportReport& report) {
  auto names = request.notes;
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return note_key(a) < note_key(b); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const auto& name : names) {
    KILN_TRY(const auto note, source.read_note(name));
    if (!note) continue;
    KILN_CHECK(admit(request, entry_bytes(0, note->size()) + bundle_record_bytes));
    KILN_CHECK(writer.add_note(name, *note));
    ++report.notes;
  }
  return {};
}

// Takes one entry over, or says in the report why not. An error ends the import.
Status import_entry(const Bundle& bundle, const jit::Key& key, const jit::ImportRequest& request,
                    jit::ObjectStore& store, jit::ImportReport& report) {
  const auto refuse = [&](const std::string& why) {
    ++report.refused;
    if (report.problems.size() < problems_max) report.problems.push_back(key.hex() + ": " + why);
  };
  auto entry = bundle.read(key);
  if (!entry) return refuse(entry.error().message), ok();
  if (!*entry) return refuse("it is not there"), ok();
  if (request.sound && !request.sound(**entry))
    return refuse("it does not fit its target, or another release made it"), ok();
  auto stored = store.store(key, (*entry)->metadata, (*entry)->object);
  if (stored) return ++report.taken, ok();
  const bool too_large = stored.error().code == ErrorCode::resource_limit && !stored.error().retryable;
  if (too_large) return refuse(stored.error().message), ok();
  return stored;
}

Status import_notes(const Bundle& bundle, const jit::ImportRequest& request, const BundleTarget& target,
                    jit::ImportReport& report) {
  for (const auto& name : request.notes) {
    const auto brought = bundle.read_note(name);
    if (!brought && report.problems.size() < problems_max)
      report.problems.push_back("note " + name + ": " + brought.error().message);
    if (!brought || !*brought) continue;
    KILN_TRY(const auto own, target.read_note(name));  // what cannot be read now is not to be overwritten
    KILN_CHECK(target.store.write_note(name, request.merge_note(own, **brought)));
    ++report.notes;
  }
  return {};
}

}  // namespace

Result<jit::ExportReport> export_bundle(int fd, const jit::ExportRequest& request, const BundleSource& source,
                                        const TrustKey& trust) {
  auto keys = request.keys.empty() ? source.keys : request.keys;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  jit::ExportReport report;
  BundleWriter writer(fd);
  for (const auto& key : keys) {
    KILN_TRY(const auto entry, source.read(key));
    if (!entry && !request.keys.empty()) return Error(ErrorCode::not_found, "no kernel with key " + key.hex());
    if (!entry || (request.wanted && !request.wanted(*entry))) continue;
    KILN_CHECK(admit(request, entry_bytes(entry->metadata.size(), entry->object.size()) + bundle_record_bytes));
    KILN_CHECK(writer.add(key, entry->metadata, entry->object));
    ++report.entries;
  }
  if (report.entries == 0) return Error(ErrorCode::not_found, "no kernel in the cache is meant: nothing to export");
  KILN_CHECK(export_notes(request, source, writer, report));
  KILN_TRY(report.bytes, writer.finish(trust));
  report.vouched = trust.is_set();
  return report;
}

Result<jit::ImportReport> import_bundle(int fd, const jit::ImportRequest& request, const BundleTarget& target,
                                        const TrustKey& trust) {
  UniqueFd own_fd(os::duplicate(fd, 0));
  if (!own_fd) return errno_error(errno, "cannot duplicate a descriptor");
  KILN_TRY(const auto bundle, Bundle::open(std::move(own_fd), "the file", trust));
  KILN_CHECK(bundle->trusted());
  jit::ImportReport report;
  for (std::size_t i = 0; i < bundle->entries().size(); ++i) {
    const auto& key = bundle->entries()[i].key;
    if (request.go_on) KILN_CHECK(request.go_on());
    if (target.holds(key)) {
      ++report.present;
      continue;
    }
    if (auto status = import_entry(*bundle, key, request, target.store, report); !status)
      return std::move(status).error().with(
          "at entry " + std::to_string(i + 1) + " of " + std::to_string(bundle->entries().size()) + ", " + key.hex() +
          "; " + std::to_string(report.taken) + " were taken and stay");
  }
  KILN_CHECK(import_notes(*bundle, request, target, report));
  return report;
}

}  // namespace kiln::cache
