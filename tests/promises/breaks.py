"""How each promise of ../PROMISES.md is broken on purpose, and the tests that have to notice.

A break names the row by the beginning of its promise, the tests of that row that fail by it, and edits: (file, text that
is there once, what stands there instead). What stands there has to compile.
"""

from collections import namedtuple

Break = namedtuple("Break", "promise tests edits")

LOCKS, STORE, ENTRY, FOLDER = "cache/locks.cpp", "cache/disk_store.cpp", "cache/entry.cpp", "cache/folder.cpp"
FLIGHTS, KEY, SESSION = "engine/jit/flights.cpp", "engine/jit/key.cpp", "engine/jit/session.cpp"
IDENTITIES, SERVER = "engine/jit/compiler_identities.cpp", "api/server/server.cpp"

# Everybody holds the lock of a key at the same time.
SHARED_LOCK = (LOCKS, "auto range = range_at(offset, F_WRLCK);\n  if (os::set_ofd_lock(", "auto range = range_at(offset, F_RDLCK);\n  if (os::set_ofd_lock(")

BREAKS = [
    # ---- many processes ----
    Break("one kernel is compiled once", ["many_processes_test.ManyProcesses.test_without_a_daemon", "SessionTest.SixteenProcessesCompileEachKernelOnce"],
          [SHARED_LOCK]),
    Break("one kernel is compiled once", ["many_processes_test.ManyProcesses.test_with_a_daemon"],
          [SHARED_LOCK, (FLIGHTS, "const bool new_flight = !there;", "const bool new_flight = true;")]),
    Break("a lock ends with its holder", ["LocksTest.a_killed_holder_frees_it"],
          [(STORE, "  auto lock = RangeLock::try_take(folder->root(), lock_file_name, lock_offset(key));\n  if (!lock && folder->gone()",
            "  if (read_holder(folder->root(), holder_file_name, key)) return std::unique_ptr<jit::CompileLock>();\n"
            "  auto lock = RangeLock::try_take(folder->root(), lock_file_name, lock_offset(key));\n  if (!lock && folder->gone()")]),
    Break("a lock ends with its holder", ["LocksTest.a_forked_child_does_not_keep_its_parents_lock",
                                          "LocksTest.a_grandchild_does_not_keep_a_dead_holders_lock"],
          [(LOCKS, "      if (fd >= 0) ::close(std::exchange(fd, -1));\n    mutex_.unlock();", "      fd = -1;\n    mutex_.unlock();")]),
    Break("waiting is on liveness", ["SessionTest.WaitsForWhoHoldsTheKeyAndSaysSo", "LocksTest.other_processes_are_kept_out_and_named"],
          [(LOCKS, "HolderRecord record{key.digest, boot_time_ms(), ::getpid(), 0, 0};", "HolderRecord record{key.digest, boot_time_ms(), 0, 0, 0};")]),
    Break("a warm hit takes no lock", ["FaultTest.a_hit_takes_no_lock_and_removes_nothing"],
          [(STORE, "  const auto folder = state_->folder();\n  auto entry = state_->read_sound(", "  const auto lock = try_lock(key);\n"
            "  const auto folder = state_->folder();\n  auto entry = state_->read_sound(")]),
    Break("a file system without locks", ["LocksTest.a_file_system_without_locks_lets_everybody_compile_and_says_so"],
          [(STORE, "    state_->locked(lock.error().message);\n    return std::unique_ptr<jit::CompileLock>(new NoLock);",
            "    state_->locked(lock.error().message);\n    return std::move(lock).error();")]),
    Break("many kernels compile in parallel", ["ServiceCalls.PreparesTheLongestFirst"],
          [("api/service/kernel_methods.cpp", "return a.expected > b.expected;", "return a.expected < b.expected;")]),
    Break("processes that are killed anywhere", ["soak/kills.py"],
          [(FOLDER, "if (folder->writable()) folder->remove_leftovers();", "if (folder->writable()) folder->prune_quarantine();")]),
    # ---- damage ----
    Break("metadata lies inside", ["Entry.another_keys_entry_is_a_defect"],
          [(ENTRY, "if (!std::equal(key.digest.begin(), key.digest.end(), bytes.begin() + 16))", "if (key.digest.empty())")]),
    Break("metadata lies inside", ["Entry.round_trip_of_all_sizes"],
          [(ENTRY, "entry.metadata.assign(metadata.begin(), metadata.end());", "entry.metadata.assign(metadata.begin(), metadata.begin());")]),
    Break("a damaged entry is a miss", ["Entry.every_flipped_bit_is_a_defect", "Entry.every_cut_and_every_tail_is_a_defect"],
          [(ENTRY, "if (word_at(bytes, covered.size()) != checksum64(covered))", "if (checksum64(covered) == 0)"),
           (ENTRY, "if (metadata_bytes + object_bytes < room)", "if (room == ~std::uint64_t(0))")]),
    Break("a damaged entry is a miss", ["DiskStoreTest.damaged_files_are_misses_and_go_to_quarantine"],
          [(STORE, "if (folder.quarantine_entry(key, (*file)->status))", "if (key.digest.empty())")]),
    Break("failures are never stored", ["SessionTest.FailuresAreNeverStored"],
          [(FLIGHTS, '  if (!result) return land(flight, std::move(result).error(), "compiled");',
            '  if (!result) (void)store_.store(flight->key, {}, view(result.error().message));\n'
            '  if (!result) return land(flight, std::move(result).error(), "compiled");')]),
    Break("a cache that cannot be written", ["SessionTest.AStoreThatFailsMeansServedUncached"],
          [(FLIGHTS, "  auto kernel = std::make_shared<Kernel>();\n  kernel->key = flight->key;\n  kernel->program = flight->first->program;",
            '  if (!status) return land(flight, status.error(), "compiled");\n'
            "  auto kernel = std::make_shared<Kernel>();\n  kernel->key = flight->key;\n  kernel->program = flight->first->program;")]),
    Break("a cache that cannot be written", ["DiskStoreTest.an_unusable_folder_gives_a_temporary_one"],
          [("cache/open_store.cpp", "if (auto store = DiskStore::open_temporary(options, why)) {", "if (auto store = std::shared_ptr<DiskStore>()) {")]),
    Break("a cache that cannot be written", ["DiskStoreTest.no_folder_at_all_gives_memory"],
          [("cache/open_store.cpp", "std::make_shared<MemoryStore>(why, ", 'std::make_shared<MemoryStore>("", ')]),
    Break("a writer that fails", ["FaultTest.a_store_with_a_failing_call_fails_or_succeeds_and_nothing_else_suffers"],
          [(FOLDER, '    return Error(written.error().code, "cannot write to the cache: " + written.error().message);', "    os::reach(os::Place::entry_write);")]),
    Break("a writer that fails", ["FaultTest.a_writer_killed_at_any_call_leaves_no_bad_entry_and_right_totals"],
          [(STORE, "  totals.add(*folder, change);\n  auto published = file.publish(place.shard.get(), place.name);\n"
            "  if (!published) totals.add(*folder, {-change.entries, -change.bytes});",
            "  auto published = file.publish(place.shard.get(), place.name);\n  if (published) totals.add(*folder, change);")]),
    Break("an entry that was served", ["EvictionTest.what_may_have_been_handed_out_in_the_last_minute_stays"],
          [("cache/eviction.cpp", "if (goal.spare_recent && recent) continue;", "if (goal.spare_recent && recent && entry.bytes == 0) continue;"),
           ("cache/eviction.cpp", "goal.spare_recent ? std::optional(entry.used_ns) : std::nullopt", "std::nullopt")]),
    Break("entries are read, not mapped", ["FaultTest.a_hit_takes_no_lock_and_removes_nothing"],
          [(STORE, "  auto bytes = read_all((*file)->fd.get(), entry_file_bytes_max);", "  (void)Mapping::map((*file)->fd.get(), 64, false);\n"
            "  auto bytes = read_all((*file)->fd.get(), entry_file_bytes_max);")]),
    # ---- keys ----
    Break("target, features, compiler", ["Key.EveryPartCounts", "SessionTest.AnotherCompilerIsAnotherKey"],
          [(KEY, '{"compiler", "", inputs.compiler},', '{"compiler", "", Digest{}},')]),
    Break("target, features, compiler", ["HashFolder.OverNamesAndContents"], [(KEY, "    w.string(name);\n", "")]),
    Break("names of arguments are not", ["Key.NamesOfArgumentsDoNot", "SessionTest.NamesOfArgumentsAreTheRequests"],
          [(KEY, "bound::encode(inputs.program, false)", "bound::encode(inputs.program, true)")]),
    Break("an entry for another target", ["SessionTest.AnEntryForAnotherTargetIsAMiss"],
          [(SESSION, "if (target) return kernel->metadata.target == target->full && is_object_for(stored.object, *target);", "if (target) return true;")]),
    Break("the second run of the same work", ["SessionTest.CompilesOnceThenHits", "SessionTest.AWarmStartAsksNoWorker"],
          [(KEY, 'text_part("flags", inputs.flags),', 'text_part("flags", inputs.flags + std::to_string(std::rand())),')]),
    Break("why two keys differ", ["SessionTest.ExplainsItsKey", "Key.PartsExplainIt"],
          [(KEY, "computed.parts.push_back({std::string(part.name), part.value, to_hex(part.digest)});",
            "computed.parts.push_back({std::string(part.name), part.value, to_hex(Digest{})});")]),
    Break("a tuning record decides", ["ShapeClass.HoldsExactlyTheSizesOfItsBucket"],
          [("engine/tune/shape_class.cpp", "std::bit_ceil(static_cast<std::uint64_t>(size))", "std::bit_floor(static_cast<std::uint64_t>(size))")]),
    Break("a tuning record decides", ["RecordName.DependsOnEveryPartOfTheIdentity"],
          [("engine/tune/record_format.cpp", "  write_digest(w, i.program);", "  write_digest(w, Digest{});")]),
    # ---- cold start ----
    Break("a cache that is there", ["SessionTest.AWarmStartAsksNoWorker"],
          [(IDENTITIES, "if (record.command != command || !unchanged(record.identity)) continue;", "if (record.command != command || !family.empty()) continue;")]),
    Break("a cache that is there", ["SessionTest.WithoutACompilerWhatIsCachedIsServed"],
          [(IDENTITIES, "      absent.digests.push_back(digest);\n", "")]),
    Break("compiling ahead", ["ServiceCalls.PreparesTheLongestFirst"],
          [("api/service/kernel_methods.cpp", "return a.expected > b.expected;", "return a.expected < b.expected;")]),
    Break("compiling ahead", ["commands_test.Commands.test_kernels_to_prepare"],
          [("api/cli/prepare_commands.cpp", '  entry["mistakes"] = std::move(places);\n', '  entry["mistakes"] = Json::array();\n')]),
    # ---- security ----
    Break("a folder that somebody else planted", ["Folders.wrong_ones_are_refused_with_the_reason"],
          [("engine/base/paths.cpp", '  if (status.st_mode & 077) return refused(folder, "has mode "', '  if (status.st_mode == 0) return refused(folder, "has mode "')]),
    Break("a folder that somebody else planted", ["DiskStoreTest.folders_that_others_may_write_are_refused"],
          [("cache/trusted_folder.cpp", "return (status.st_mode & 022) == 0;", "return status.st_mode != 0;")]),
    Break("a folder that somebody else planted", ["DiskStoreTest.other_users_folders"],
          [("cache/trusted_folder.cpp", "if (owner_of(status) == Owner::other && !trust_other_owner)", "if (owner_of(status) == Owner::other && !trust_other_owner && path.empty())")]),
    Break("only the daemon's user", ["peers_test.Group.test_strangers", "peers_test.Settings.test_without_a_group_nobody_else_is_served"],
          [(SERVER, "return peer.uid == 0 || (peer.uid == ::getuid() && peer.uid != overflow_uid);", "return peer.uid != overflow_uid;")]),
    Break("members of the group", ["peers_test.Group.test_a_member_works_and_does_not_administer"],
          [("api/service/service.cpp", "if (method->administrator && !active->connection->peer.administrator)", "if (method->administrator && active->connection->gone)")]),
    Break("a client sends nothing", ["peers_test.Clients.test_where_anybody_can_make_folders_a_stranger_is_no_daemon"],
          [("api/client/client.cpp", "    if ((status.st_uid != 0 && status.st_uid != uid) || (status.st_mode & 022)) return false;\n", ""),
           ("api/python/kiln/_connection.py", "            if status.st_uid not in (0, uid) or status.st_mode & 0o022:\n                return False\n", "")]),
    Break("memory comes as descriptors", ["promises_test.Descriptors.test_no_method_takes_a_path"],
          [("api/service/methods.cpp", '{"cache.verify", "read every entry; damaged ones are set aside", false, long_work, cache_verify, {}}',
            '{"cache.verify", "read every entry; damaged ones are set aside", false, long_work, cache_verify, {{"path", "string", false, "a folder"}}}')]),
    Break("what a client does to its memory", ["hostile_memory_test.DuringALaunch.test_what_is_mapped_cannot_be_truncated",
                                               "hostile_memory_test.DuringALaunch.test_what_is_copied_may_be_truncated"],
          [("api/service/buffers.cpp", "((seals & F_SEAL_SHRINK) || ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0)", "seals != F_SEAL_GROW")]),
    Break("what a client does to its memory", ["hostile_memory_test.TablesOnTheHost.test_launches"],
          [("engine/emit/llvm_expression.cpp", '  ir_.line("  store volatile "', '  ir_.line("  store "'),
           ("engine/emit/llvm_expression.cpp", '"load volatile " + text(value.type)', '"load " + text(value.type)')]),
    Break("no descriptor holds the daemon up", ["waiting_descriptors_test.LingeringSockets.test_too_many"],
          [("api/service/client_fd.cpp", "  if (!fd_ || is_memory()) return;", "  if (!fd_ || ::fcntl(fd_.get(), F_GETFD) >= 0) return;")]),
    Break("errors hold nothing of other clients", ["strangers_test.Mistakes.test_what_is_not_theirs"],
          [("api/service/launch_parameters.cpp", '                            "an id from buffer.register or buffer.alloc", std::to_string(id));',
            '                            "an id from buffer.register or buffer.alloc", job.call->state.connections.begin()->second->programs.empty() ? "" : "zebra");')]),
    Break("errors hold nothing of other clients", ["strangers_test.Mistakes.test_what_does_not_fit"],
          [("api/service/launch_parameters.cpp", '"/params/args", "\\"" + job.name(i) + "\\" is written and overlaps \\"" + job.name(j) + "\\"",',
            '"/params/args", "\\"" + job.tensors()[i].name + "\\" is written and overlaps \\"" + job.name(j) + "\\"",')]),
    Break("every limit that", ["limits_test.Limits.test_each"],
          [("api/server/connection.cpp", "while (!closed_ && !pending_.empty() && in_flight_ < limits_.requests_in_flight_max) {", "while (!closed_ && !pending_.empty()) {")]),
    Break("every limit that", ["limits_test.Limits.test_hello_names_no_other"],
          [("api/service/host_methods.cpp", '{"text_bytes_max", l.text_bytes_max}};', '{"text_bytes_max", l.text_bytes_max}, {"words_max", 7}};')]),
]
