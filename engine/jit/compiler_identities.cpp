#include "engine/jit/compiler_identities.hpp"

#include <algorithm>
#include <array>

#include "engine/base/os.hpp"

namespace kiln::jit {
namespace {

constexpr std::uint32_t note_format = 1;
constexpr std::size_t records_max = 16;
constexpr auto check_period = std::chrono::seconds(1);
constexpr auto absent_life = std::chrono::seconds(5);
// Of a worker's environment, what decides which compiler it loads. PATH does when a command has no slash.
constexpr std::array deciding_variables = {"LD_LIBRARY_PATH=", "ROCM_PATH=", "HIP_PATH=", "PATH="};

std::string note_name(const std::string& family) { return "compiler-" + family; }

Key lock_key(const std::string& family) { return {sha256(view("kiln: who asks for the identity of " + family))}; }

bool unchanged(const compile::CompilerFile& file) {
  struct stat status {};
  if (os::fstatat(AT_FDCWD, file.path.c_str(), &status, 0) != 0) return false;
  const auto ctime_ns = std::int64_t(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
  return status.st_dev == file.device && status.st_ino == file.inode && ctime_ns == file.ctime_ns &&
         static_cast<std::uint64_t>(status.st_size) == file.size;
}

bool unchanged(const compile::Identity& identity) {
  return std::all_of(identity.files.begin(), identity.files.end(), [](const auto& file) { return unchanged(file); });
}

KnownCompilerPtr present(const compile::Identity& identity) {
  return std::make_shared<const KnownCompiler>(KnownCompiler{{identity.digest()}, identity.description, {}});
}

// No worker could be asked for want of descriptors: that says nothing about the next time.
bool of_the_moment(const KnownCompilerPtr& known) {
  return known && known->absent && known->absent->code == ErrorCode::resource_limit;
}

}  // namespace

CompilerIdentities::CompilerIdentities(ObjectStore& store, compile::WorkerPool& pool,
                                       const compile::PoolOptions& options, Poller& poller)
    : store_(store), pool_(pool), commands_(options.commands), poller_(poller) {
  for (const auto& entry : compile::scrubbed_environment(options.environment))
    for (const std::string_view name : deciding_variables)
      if (entry.starts_with(name)) environment_.push_back(entry);
}

std::vector<CompilerIdentities::Record> CompilerIdentities::decode(ByteView note) {
  Reader r(note);
  if (r.u32() != note_format) return {};
  auto records = r.list<Record>([](Reader& in) {
    Record record;
    const auto command = in.bytes();
    if (command.size() == record.command.size()) std::copy(command.begin(), command.end(), record.command.begin());
    record.command_text = in.string();
    if (auto identity = compile::decode_identity(in.bytes())) record.identity = std::move(*identity); else in.fail();
    return record;
  });
  if (!r.finish()) return {};  // damaged: as if nothing were remembered
  return records;
}

Bytes CompilerIdentities::encode(const std::vector<Record>& records) {
  Writer w;
  w.u32(note_format);
  w.list(records, [](Writer& out, const Record& record) {
    out.bytes(record.command);
    out.string(record.command_text);
    out.bytes(compile::encode(record.identity));
  });
  return w.take();
}

std::vector<CompilerIdentities::Record> CompilerIdentities::read_own(const std::string& family) {
  const auto note = store_.read_note(note_name(family));
  return note ? decode(*note) : std::vector<Record>();
}

std::vector<CompilerIdentities::Record> CompilerIdentities::read_all(const std::string& family) {
  std::vector<Record> all;
  for (const auto& note : store_.read_notes(note_name(family)))
    for (auto& record : decode(note)) all.push_back(std::move(record));
  return all;
}

CompilerIdentities::Record CompilerIdentities::record_for(const std::string& family) const {
  Record record;
  Writer w;
  for (const auto& command : commands_) {
    if (command.family != family) continue;
    for (const auto& word : command.command) {
      w.string(word);
      record.command_text += (record.command_text.empty() ? "" : " ") + word;
    }
    const bool uses_path = !command.command.empty() && command.command[0].find('/') == std::string::npos;
    for (const auto& entry : environment_)
      if (uses_path || !entry.starts_with("PATH=")) w.string(entry);
  }
  record.command = sha256(w.data());
  return record;
}

KnownCompilerPtr CompilerIdentities::current(const std::string& family) {
  const std::lock_guard lock(mutex_);
  const auto it = families_.find(family);
  if (it == families_.end()) return nullptr;
  check(family, it->second);
  return it->second.known;
}

std::uint64_t CompilerIdentities::generation() {
  const std::lock_guard lock(mutex_);
  for (auto& [family, state] : families_) check(family, state);
  return generation_;
}

// Forgets what is known and holds no longer. With the lock held.
void CompilerIdentities::check(const std::string& family, Family& state) {
  if (!state.known) return;
  const auto now = std::chrono::steady_clock::now();
  const bool absent = state.known->absent.has_value();
  if (now - state.checked <= (absent ? absent_life : check_period)) return;
  state.checked = now;
  if (!absent && unchanged(state.identity)) return;
  state.known.reset();
  ++generation_;
  if (!absent) pool_.retire(family);
}

compile::WorkerCommand* CompilerIdentities::command_of(const std::string& family) {
  const auto at = std::find_if(commands_.begin(), commands_.end(), [&](const auto& c) { return c.family == family; });
  return at == commands_.end() ? nullptr : &*at;
}

bool CompilerIdentities::look_again(const std::string& family) {
  auto* command = command_of(family);
  if (!command || !command->look) return false;
  auto start = command->look();  // without the lock: hits need that
  const std::lock_guard lock(mutex_);
  auto& state = families_[family];
  if (state.asking || state.change == start.change) return false;
  state.change = start.change;
  const bool replaced = command->command != start.command;
  // A folder may change without another prefix in it. One that was not usable may have been made anew under its name.
  if (!replaced && state.known && !state.known->absent) return false;
  if (replaced) command->command = start.command;
  pool_.replace(family, std::move(start.command));
  if (!std::exchange(state.known, nullptr)) return false;  // nobody went by the command before
  ++generation_;
  return true;
}

std::vector<FamilyCompiler> CompilerIdentities::families() {
  std::vector<FamilyCompiler> all;
  for (const auto& command : commands_) {
    look_again(command.family);
    const std::lock_guard lock(mutex_);
    FamilyCompiler family{command.family, command.command, "", {}};
    if (const auto& known = families_[command.family].known) {
      family.absent = known->absent;
      if (!known->absent) family.description = known->description;
    }
    all.push_back(std::move(family));
  }
  return all;
}

std::vector<std::string> CompilerIdentities::note_names() const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(note_name(command.family));
  return names;
}

Bytes CompilerIdentities::merge_notes(const std::optional<Bytes>& own, ByteView brought) {
  auto records = own ? decode(*own) : std::vector<Record>();
  for (auto& record : decode(brought)) {
    const auto digest = record.identity.digest();
    const auto same = [&](const Record& known) { return known.identity.digest() == digest; };
    if (records.size() >= records_max || std::any_of(records.begin(), records.end(), same)) continue;
    record.command = {};  // of no start command: files of the same names and times here are not the ones meant
    record.command_text.clear();
    records.push_back(std::move(record));
  }
  return encode(records);
}

void CompilerIdentities::notes_changed() {
  const std::lock_guard lock(mutex_);
  for (auto& [family, state] : families_) {
    if (!state.known || !state.known->absent) continue;
    state.known.reset();
    ++generation_;
  }
}

void CompilerIdentities::find(const target::Target& target, Done done) {
  const auto family = compile::family_of(target);
  if (const auto known = current(family)) return done(known);
  look_again(family);
  std::optional<Error> aborted;
  {
    const std::lock_guard lock(mutex_);
    aborted = aborted_;
    auto& state = families_[family];
    if (!aborted) {
      state.waiting.push_back(std::move(done));
      if (state.asking) return;
      state.asking = true;
    }
  }
  if (aborted) return done(std::make_shared<const KnownCompiler>(KnownCompiler{{}, "", aborted}));
  if (remembered(family) || ask(target)) return;
  poller_.until([this, target] { return ask(target); }, lock_interval_max);
}

// Settles by the note, if its identity for our start command still holds.
bool CompilerIdentities::remembered(const std::string& family) {
  const auto command = record_for(family).command;
  for (const auto& record : read_all(family)) {
    if (record.command != command || !unchanged(record.identity)) continue;
    settle(family, present(record.identity), record.identity);
    return true;
  }
  return false;
}

// Asks a worker, unless another process does just now: then false, to be tried again.
bool CompilerIdentities::ask(const target::Target& target) {
  const auto family = compile::family_of(target);
  std::shared_ptr<CompileLock> lock;
  if (auto tried = store_.try_lock(lock_key(family)); tried) {
    if (!*tried) return false;
    lock = std::move(*tried);
  }
  if (remembered(family)) return true;  // by the one who held the lock before
  pool_.identity(target,
                 [this, family, lock](Result<compile::Identity> identity) { answered(family, std::move(identity)); });
  return true;
}

void CompilerIdentities::answered(const std::string& family, Result<compile::Identity> identity) {
  if (!identity) {
    KnownCompiler absent;
    absent.absent = identity.error();
    for (const auto& record : read_all(family)) {
      const auto digest = record.identity.digest();
      if (std::find(absent.digests.begin(), absent.digests.end(), digest) != absent.digests.end()) continue;
      absent.digests.push_back(digest);
      if (absent.description.empty()) absent.description = record.identity.description;
    }
    return settle(family, std::make_shared<const KnownCompiler>(std::move(absent)), {});
  }
  auto records = read_own(family);
  auto record = record_for(family);
  record.identity = *identity;
  std::erase_if(records, [&](const Record& old) {
    return old.command == record.command && old.identity.digest() == identity->digest();
  });
  records.insert(records.begin(), std::move(record));
  if (records.size() > records_max) records.resize(records_max);
  (void)store_.write_note(note_name(family), encode(records));  // a store that cannot write says so in its stats
  settle(family, present(*identity), *identity);
}

void CompilerIdentities::settle(const std::string& family, KnownCompilerPtr known, compile::Identity identity) {
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    auto& state = families_[family];
    state.known = of_the_moment(known) ? nullptr : known;
    ++generation_;
    state.identity = std::move(identity);
    state.checked = std::chrono::steady_clock::now();
    state.asking = false;
    waiting.swap(state.waiting);
  }
  for (auto& done : waiting) done(known);
}

void CompilerIdentities::abort(const Error& error) {
  std::vector<std::string> asking;
  {
    const std::lock_guard lock(mutex_);
    aborted_ = error;
    for (const auto& [family, state] : families_)
      if (state.asking) asking.push_back(family);
  }
  for (const auto& family : asking)
    settle(family, std::make_shared<const KnownCompiler>(KnownCompiler{{}, "", error}), {});
}

}  // namespace kiln::jit
