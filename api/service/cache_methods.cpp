// cache.*: what is kept on disk, and files of many kernels.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <system_error>
#include <thread>

#include "api/service/report.hpp"
#include "api/service/state.hpp"
#include "engine/base/os.hpp"

namespace kiln::service {

using protocol::Json;

void cache_stats(const CallPtr& call) {
  auto stats = call->state.session->stats();
  auto value = store_stats_json(stats.store);
  value["compiles"] = stats.pool.compiles;
  value["memory_hits"] = stats.memory_hits;
  value["joined"] = stats.joined;
  if (stats.tier) value["tier"] = tier_stats_json(*stats.tier);
  call->answer(std::move(value));
}

void cache_list(const CallPtr& call) {
  auto limit = call->fields.integer_or("limit", 1000, 0, 5000);
  if (!limit) return call->answer(std::move(limit).error());
  std::optional<Error> unread;
  const auto all = call->state.session->store().list(&unread);
  if (unread) return call->answer(std::move(*unread));
  Json entries = Json::array();
  for (const auto& info : all) {
    if (entries.size() >= std::size_t(*limit)) break;
    entries.push_back({{"key", info.key.hex()}, {"bytes", info.bytes}, {"used_unix_s", info.used_unix_s}});
  }
  call->answer(Json{{"entries", std::move(entries)}, {"total", all.size()}});
}

void cache_verify(const CallPtr& call) {
  const auto report = call->state.session->store().verify();
  call->answer(Json{{"checked", report.checked}, {"bad", report.bad}, {"problems", report.problems}});
}

void cache_evict(const CallPtr& call) {
  auto& state = call->state;
  if (call->fields.has("key")) {
    auto text = call->fields.text("key");
    auto key = text ? jit::Key::from_hex(*text) : Result<jit::Key>(text.error());
    if (!key) return call->answer(std::move(key).error());
    auto removed = state.session->store().remove(*key);
    if (!removed) return call->answer(std::move(removed).error());
    return call->answer(Json{{"evicted", *removed ? 1 : 0}});
  }
  constexpr auto most = protocol::integer_magnitude_max;
  auto bytes = call->fields.integer_or("bytes_max", -1, 0, most);
  auto entries = call->fields.integer_or("entries_max", -1, 0, most);
  if (!bytes) return call->answer(std::move(bytes).error());
  if (!entries) return call->answer(std::move(entries).error());
  auto limit = [](std::int64_t v) { return v < 0 ? std::nullopt : std::optional<std::uint64_t>(v); };
  auto evicted = state.session->store().evict(limit(*bytes), limit(*entries));
  if (!evicted) return call->answer(std::move(evicted).error());
  call->answer(Json{{"evicted", *evicted}});
}

namespace {

constexpr std::size_t filter_max = 10000;  // keys, programs or targets of one request

Result<std::vector<std::string>> read_texts(const protocol::Fields& fields, const char* name) {
  std::vector<std::string> texts;
  if (!fields.has(name)) return texts;
  KILN_TRY(const auto* list, fields.array(name, filter_max));
  for (const auto& item : *list) {
    if (!item.is_string()) return fields.error(name, "an array of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<jit::KernelFilter> read_filter(const protocol::Fields& fields) {
  jit::KernelFilter filter;
  KILN_TRY(const auto keys, read_texts(fields, "keys"));
  for (const auto& text : keys) {
    KILN_TRY(const auto key, jit::Key::from_hex(text));
    filter.keys.push_back(key);
  }
  KILN_TRY(filter.programs, read_texts(fields, "programs"));
  KILN_TRY(filter.targets, read_texts(fields, "targets"));
  return filter;
}

struct Exported {
  jit::ExportReport report;
  UniqueFd file;
};

// Into memory, which counts with the buffers' until it is written; what the client then holds is the client's.
Result<Exported> export_kernels(ActiveCall& call) {
  KILN_TRY(const auto filter, read_filter(call.fields));
  Exported made;
  KILN_TRY(made.file, create_memfd("kiln-bundle", 0));
  // As one that may be imported: memory files are anybody's to write else.
  if (os::fchmod(made.file.get(), 0600) != 0) return errno_error(errno, "cannot make a bundle");
  std::vector<MemoryShare> shares;
  const auto admit = [&](std::uint64_t bytes) -> Status {
    KILN_CHECK(call.not_stopped());
    KILN_TRY(auto share, call.state.memory->take(bytes));
    shares.push_back(std::move(share));
    return ok();
  };
  KILN_TRY(made.report, call.state.session->export_kernels(made.file.get(), filter, admit));
  if (os::add_seals(made.file.get(), F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return errno_error(errno, "cannot seal a bundle");
  return made;
}

// The one descriptor of the request.
Status check_bundle_descriptor(const ActiveCall& call) {
  KILN_TRY(const auto* handle, call.fields.object("fd"));
  const protocol::Fields inner(*handle, "/params/fd");
  KILN_CHECK(inner.only({"fd"}));
  KILN_CHECK(inner.integer("fd", 0, 0));
  if (call.call.fds.size() == 1) return ok();
  return Error(ErrorCode::invalid_argument,
               "cache.import takes one descriptor: say \"fds\": 1 beside \"method\" and send it with the line");
}

// A client's file as memory of ours.
struct Fetched {
  struct stat status {};
  UniqueFd copy;
  MemoryShare share;  // the copy counts as buffers do
};

Result<Fetched> fetch(const ClientFd& file, MemoryBudget& memory) {
  Fetched fetched;
  if (os::fstat(file.get(), &fetched.status) != 0) return errno_error(errno, "cannot stat the file");
  if (!S_ISREG(fetched.status.st_mode)) return Error(ErrorCode::invalid_argument, "the file: no regular file");
  const auto size = static_cast<std::uint64_t>(fetched.status.st_size);
  KILN_TRY(fetched.share, memory.take(size));
  KILN_TRY(fetched.copy, create_memfd("kiln-import", 0));
  Bytes chunk(std::min<std::uint64_t>(size, std::uint64_t(1) << 20));
  for (std::uint64_t done = 0; done < size;) {
    const auto wanted = std::min<std::uint64_t>(chunk.size(), size - done);
    const auto n = os::pread(file.get(), chunk.data(), wanted, static_cast<off_t>(done));
    if (n < 0) return errno_error(errno, "cannot read the file");
    if (n == 0) return Error(ErrorCode::corrupt, "the file became shorter while it was read");
    KILN_CHECK(write_all(fetched.copy.get(), ByteView(chunk).first(static_cast<std::size_t>(n))));
    done += static_cast<std::uint64_t>(n);
  }
  return fetched;
}

// The same on a thread that nobody has to join, since a file may make its readers wait for ever: it uses nothing of the
// service's. Until the call is stopped.
Result<Fetched> fetch_unless_stopped(ActiveCall& call) {
  auto promise = std::make_shared<std::promise<Result<Fetched>>>();
  auto answer = promise->get_future();
  const auto file = std::make_shared<const ClientFd>(std::move(call.call.fds.front()));
  try {
    std::thread([promise, file, memory = call.state.memory] { promise->set_value(fetch(*file, *memory)); }).detach();
  } catch (const std::system_error&) {
    return Error(ErrorCode::resource_limit, "no thread to be had to read the file", true);
  }
  while (answer.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) KILN_CHECK(call.not_stopped());
  return answer.get();
}

// The copy is trusted as far as its file is: it has its owner's rights to write, and where the owner is neither root
// nor we, it is as if everybody might have written it.
Result<jit::ImportReport> import_kernels(ActiveCall& call) {
  KILN_TRY(const auto fetched, fetch_unless_stopped(call));
  const auto& status = fetched.status;
  const bool strangers = status.st_uid != 0 && status.st_uid != ::geteuid();
  const mode_t mode = (status.st_mode & 0777) | (strangers ? S_IWOTH : 0);
  if (os::fchmod(fetched.copy.get(), mode) != 0) return errno_error(errno, "cannot import");
  auto report = call.state.session->import_kernels(fetched.copy.get(), [&call] { return call.not_stopped(); });
  if (!report && report.error().code == ErrorCode::permission_denied && strangers)
    return std::move(report).error().with("it belongs to user " + std::to_string(status.st_uid));
  return report;
}

}  // namespace

void cache_export(const CallPtr& call) {
  ActiveCall::begin_waiting(call);
  auto made = export_kernels(*call);
  if (!call->begin_work()) return;
  if (!made) return call->answer(std::move(made).error());
  const auto& report = made->report;
  Reply reply(Json{{"bundle", {{"fd", 0}, {"bytes", report.bytes}}}, {"entries", report.entries},
                   {"notes", report.notes}, {"vouched", report.vouched}});
  reply.fds.push_back(std::move(made->file));
  call->answer(std::move(reply));
}

void cache_import(const CallPtr& call) {
  if (auto status = check_bundle_descriptor(*call); !status) return call->answer(std::move(status).error());
  ActiveCall::begin_waiting(call);
  ActiveCall::run_on(call, call->state.imports, [call] {
    const auto report = import_kernels(*call);
    if (!call->begin_work()) return;
    if (!report) return call->answer(report.error());
    call->answer(Json{{"taken", report->taken}, {"present", report->present}, {"refused", report->refused},
                      {"notes", report->notes}, {"problems", report->problems}});
  });
}

}  // namespace kiln::service
