// The path of a request: keys, hits, misses, what is stored and what is not.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/os.hpp"
#include "tests/unit/jit/session_fixture.hpp"

namespace kiln::jit {
namespace {

TEST_F(SessionTest, CompilesOnceThenHits) {
  const auto session = open();
  const auto first = session->compile_now(small_request("a"));
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_FALSE(first->cached);
  EXPECT_EQ(first->origin, "compiled");
  EXPECT_TRUE(first->stored) << first->why_not_stored;
  EXPECT_EQ(first->kernel->metadata.program, "a");
  EXPECT_EQ(first->program->tensors[0].name, "X");
  const auto second = session->compile_now(must_hit("a"));
  ASSERT_TRUE(second) << to_text(second.error());
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(second->origin, "memory");
  EXPECT_EQ(second->kernel, first->kernel);
  const auto stats = session->stats();
  EXPECT_EQ(stats.requests, 2u);
  EXPECT_EQ(stats.memory_hits, 1u);
  EXPECT_EQ(stats.pool.compiles, 1u);
  EXPECT_EQ(stats.store.stores, 1u);
}

TEST_F(SessionTest, AWarmStartAsksNoWorker) {
  const auto key = open()->compile_now(small_request("a"))->kernel->key;
  const auto session = open();
  const auto hit = session->compile_now(must_hit("a"));
  ASSERT_TRUE(hit) << to_text(hit.error());
  EXPECT_EQ(hit->origin, "disk");
  EXPECT_EQ(hit->kernel->key, key);
  EXPECT_EQ(session->stats().pool.started, 0u);
  EXPECT_EQ(session->compile_now(must_hit("other")).error().code, ErrorCode::must_hit);
  EXPECT_EQ(session->stats().pool.started, 0u);
  EXPECT_EQ(lines_of(log()).size(), 1u);
}

TEST_F(SessionTest, WithoutACompilerWhatIsCachedIsServed) {
  ASSERT_TRUE(open()->compile_now(small_request("a")));
  const auto session = open(options({"/bin/false"}));
  const auto hit = session->compile_now(must_hit("a"));
  ASSERT_TRUE(hit) << to_text(hit.error());
  EXPECT_EQ(hit->origin, "disk");
  EXPECT_TRUE(session->compile_now(small_request("a")));
  const auto other = session->compile_now(small_request("other"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::no_compiler);
  EXPECT_NE(other.error().message.find("exit status 1"), std::string::npos) << other.error().message;
  const auto missed = session->compile_now(must_hit("other"));
  EXPECT_EQ(missed.error().code, ErrorCode::must_hit);
}

TEST_F(SessionTest, ARepeatedRequestByDigestIsNotPreparedAgain) {
  const auto session = open();
  auto request = small_request("a");
  request.program_digest = Digest{1};
  ASSERT_TRUE(session->compile_now(request));
  request.program = nullptr;  // not looked at: the digest says which program it is
  const auto hit = session->compile_now(request);
  ASSERT_TRUE(hit) << to_text(hit.error());
  EXPECT_EQ(hit->origin, "memory");
  request.bindings.set["N"] = "101";
  EXPECT_EQ(session->compile_now(request).error().code, ErrorCode::invalid_argument)
      << "other bindings are another request";
}

TEST_F(SessionTest, NamesOfArgumentsAreTheRequests) {
  const auto session = open();
  ASSERT_TRUE(session->compile_now(small_request("a")));
  auto renamed = small_request("a");
  renamed.program = test::small_program("a", "Input");
  const auto hit = session->compile_now(renamed);
  ASSERT_TRUE(hit);
  EXPECT_TRUE(hit->cached);
  EXPECT_EQ(hit->program->tensors[0].name, "Input");
}

TEST_F(SessionTest, ExplainsItsKey) {
  const auto session = open();
  auto request = small_request("a");
  request.explain_key = true;
  const auto first = session->compile_now(request), second = session->compile_now(request);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->key_parts.size(), 7u);
  EXPECT_EQ(first->key_parts[3].value, "fault compiler");
  request.bindings.set["N"] = "101";
  const auto other = session->compile_now(request);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(first->key_parts[i].sha256, second->key_parts[i].sha256);
    EXPECT_EQ(first->key_parts[i].sha256 != other->key_parts[i].sha256, first->key_parts[i].name == "program");
  }
}

TEST_F(SessionTest, MistakesComeWithDiagnostics) {
  const auto session = open();
  auto request = small_request("a");
  request.bindings.set["N"] = "-1";
  const auto bad = session->compile_now(request);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::program_invalid);
  EXPECT_FALSE(bad.error().diagnostics.empty());
  EXPECT_EQ(session->compile_now(small_request("a", "gfx1")).error().code, ErrorCode::unknown_target);
}

TEST_F(SessionTest, FailuresAreNeverStored) {
  const auto session = open();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(session->compile_now(small_request("refuse")).error().code, ErrorCode::compile_failed);
  EXPECT_EQ(session->compile_now(small_request("crash")).error().code, ErrorCode::worker_died);
  EXPECT_EQ(lines_of(log()).size(), 3u);
  EXPECT_EQ(session->stats().store.entries, 0u);
  EXPECT_TRUE(session->compile_now(small_request("a")));
}

TEST_F(SessionTest, AStoreThatFailsMeansServedUncached) {
  const auto session = open();
  ASSERT_TRUE(session->compile_now(small_request("first")));
  const os::Failpoint full("renameat", 1, ENOSPC, true);
  const auto outcome = session->compile_now(small_request("a"));
  ASSERT_TRUE(outcome) << to_text(outcome.error());
  EXPECT_FALSE(outcome->stored);
  EXPECT_FALSE(outcome->why_not_stored.empty());
  EXPECT_EQ(session->compile_now(must_hit("a"))->origin, "memory");
}

TEST_F(SessionTest, AnEntryForAnotherTargetIsAMiss) {
  const auto kernel = open()->compile_now(small_request("a"))->kernel;
  auto object = kernel->stored->object;
  object[48] ^= 1;  // e_flags
  ASSERT_TRUE(open_store()->store(kernel->key, kernel->stored->metadata, object));
  const auto session = open();
  const auto again = session->compile_now(small_request("a"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin, "compiled");
  EXPECT_EQ(session->stats().store.quarantined, 1u);
  EXPECT_EQ(open()->compile_now(must_hit("a"))->origin, "disk");
}

TEST_F(SessionTest, FindsByKey) {
  const auto key = open()->compile_now(small_request("a"))->kernel->key;
  const auto session = open();
  const auto found = session->find(key);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->metadata.program, "a");
  EXPECT_EQ((*found)->program, nullptr);
  EXPECT_EQ(session->compile_now(small_request("a"))->kernel->program->name, "a");
  EXPECT_EQ(session->kernels().size(), 1u);
  EXPECT_TRUE(session->forget(key));
  EXPECT_FALSE(session->forget(key));
  EXPECT_TRUE(session->find(key)) << "the disk entry stays";
  EXPECT_EQ(session->find(Key{}).error().code, ErrorCode::not_found);
}

// Flips a bit of the build id, or, in a program that has none, adds a byte.
void change_build_id(const std::string& path) {
  const auto bytes = read_file(path);
  ASSERT_TRUE(bytes);
  const auto note = text(*bytes).find(std::string_view("\3\0\0\0GNU\0", 8));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  ASSERT_TRUE(file);
  file.seekp(note == std::string_view::npos ? static_cast<std::streamoff>(bytes->size())
                                            : static_cast<std::streamoff>(note + 8));
  file.put(note == std::string_view::npos ? 'x' : static_cast<char>((*bytes)[note + 8] ^ 1));
}

// The compiler's files decide: touched they are asked about again, changed they make other keys.
TEST_F(SessionTest, AnotherCompilerIsAnotherKey) {
  const auto mine = folder_ / "worker";
  std::filesystem::copy_file(worker(), mine);
  const std::vector<std::string> command = {mine, "--compile-log", log()};
  const auto first = open(options(command))->compile_now(small_request("a"));
  ASSERT_TRUE(first) << to_text(first.error());
  std::filesystem::permissions(mine, std::filesystem::perms::owner_all);  // another ctime, the same bytes
  auto touched = open(options(command));
  EXPECT_EQ(touched->compile_now(small_request("a"))->origin, "disk");
  EXPECT_EQ(touched->stats().pool.started, 1u) << "asked again";
  touched.reset();  // a running program cannot be written to
  change_build_id(mine);
  const auto changed = open(options(command))->compile_now(small_request("a"));
  ASSERT_TRUE(changed) << to_text(changed.error());
  EXPECT_EQ(changed->origin, "compiled");
  EXPECT_NE(changed->kernel->key, first->kernel->key);
}

TEST_F(SessionTest, ACompilerReplacedWhileWeRunIsNoticed) {
  const auto mine = folder_ / "worker", newer = folder_ / "newer";
  std::filesystem::copy_file(worker(), mine);
  const auto session = open(options({mine, "--compile-log", log()}));
  const auto first = session->compile_now(small_request("a"));
  ASSERT_TRUE(first) << to_text(first.error());
  std::filesystem::copy_file(worker(), newer);
  change_build_id(newer);
  std::filesystem::rename(newer, mine);
  for (;;) {  // files are looked at once a second
    const auto again = session->compile_now(small_request("a"));
    ASSERT_TRUE(again) << to_text(again.error());
    if (again->kernel->key != first->kernel->key) break;
    std::this_thread::yield();
  }
  EXPECT_EQ(session->stats().pool.started, 2u) << "the old worker is not used again";
}

TEST_F(SessionTest, AnotherStartCommandIsTakenAtAMissAndHitsDoNotLook) {
  auto with = options();
  const auto newer = folder_ / "newer";
  std::filesystem::copy_file(worker(), newer);
  change_build_id(newer);
  std::atomic<bool> installed{false};
  std::atomic<int> looks{0};
  const auto old = with.pool.commands[0].command;
  with.pool.commands[0].look = [&, old]() -> compile::WorkerStart {
    ++looks;
    auto command = old;
    if (installed) command[0] = newer;
    return {std::move(command), installed ? 1u : 0u};
  };
  const auto session = open(std::move(with));
  const auto first = session->compile_now(small_request("a"));
  ASSERT_TRUE(first) << to_text(first.error());
  installed = true;
  const int before = looks;
  EXPECT_EQ(session->compile_now(small_request("a"))->kernel->key, first->kernel->key);
  EXPECT_EQ(looks, before) << "a hit looks for nothing";
  ASSERT_TRUE(session->compile_now(small_request("b")));
  const auto again = session->compile_now(small_request("a"));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_NE(again->kernel->key, first->kernel->key);
  const auto families = session->family_compilers();
  ASSERT_FALSE(families.empty());
  EXPECT_EQ(families[0].command[0], newer);
  EXPECT_EQ(families[0].description, "fault compiler");
}

TEST_F(SessionTest, ACompileThatRunsWhileItsCompilerIsReplacedBeginsAnew) {
  make_gate();
  auto with = options();
  const auto newer = folder_ / "newer";
  std::filesystem::copy_file(worker(), newer);
  change_build_id(newer);
  std::atomic<bool> installed{false};
  const auto old = with.pool.commands[0].command;
  with.pool.commands[0].look = [&, old]() -> compile::WorkerStart {
    auto command = old;
    if (installed) command[0] = newer;
    return {std::move(command), installed ? 1u : 0u};
  };
  const auto session = open(std::move(with));
  auto running = start(*session, small_request("gate"));
  wait_for_compiles(1);
  installed = true;
  ASSERT_TRUE(session->compile_now(small_request("other")));
  open_gate();           // the old compiler's: its object belongs under no key any more
  wait_for_compiles(3);  // and the new one's
  open_gate();
  const auto outcome = running.get();
  ASSERT_TRUE(outcome) << to_text(outcome.error());
  const auto hit = session->compile_now(must_hit("gate"));
  ASSERT_TRUE(hit) << to_text(hit.error());
  EXPECT_EQ(hit->kernel->key, outcome->kernel->key);
}

TEST_F(SessionTest, LoadsOncePerDevice) {
  const auto session = open();
  EXPECT_EQ(session->device_names(), std::vector<std::string>{"host"});
  const auto outcome = session->compile_now(small_request("fill", "host"));
  ASSERT_TRUE(outcome) << to_text(outcome.error());
  const auto first = session->load(outcome->kernel, "host"), second = session->load(outcome->kernel, "host");
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(session->stats().kernels_loaded, 1u);
  EXPECT_EQ(session->load(outcome->kernel, "hip:7").error().code, ErrorCode::unknown_target);
  const auto foreign = session->compile_now(small_request("fill", "gfx942"));
  EXPECT_EQ(session->load(foreign->kernel, "host").error().code, ErrorCode::unsupported);
  EXPECT_TRUE(session->forget(outcome->kernel->key));
  EXPECT_NE(*session->load(outcome->kernel, "host"), *first);
}

TEST_F(SessionTest, AKernelStaysLoadedWhileItIsHeld) {
  auto limited = options();
  limited.memory_entries_max = 1;  // the second kernel makes the first the surplus
  const auto session = open(limited);
  auto* device = *session->device("host");
  const auto launch = [&](device::KernelId kernel) {
    std::promise<Result<device::LaunchReport>> promise;
    device->launch(kernel, {}, 1, [&](Result<device::LaunchReport> report) { promise.set_value(std::move(report)); });
    return promise.get_future().get();
  };
  const auto a = session->compile_now(small_request("a", "host"));
  const auto b = session->compile_now(small_request("b", "host"));
  ASSERT_TRUE(a && b);
  auto held = *session->load(a->kernel, "host");
  session->forget(a->kernel->key);
  EXPECT_TRUE(launch(held->id)) << "forgotten by another";
  EXPECT_EQ(session->stats().kernels_loaded, 1u);
  const auto id = held->id;
  held.reset();
  EXPECT_EQ(session->stats().kernels_loaded, 0u);
  EXPECT_EQ(launch(id).error().code, ErrorCode::not_found) << "the last one to let go unloads it";

  held = *session->load(a->kernel, "host");
  const auto other = *session->load(b->kernel, "host");
  EXPECT_EQ(session->stats().kernels_loaded, 2u) << "the first one is the surplus, and held";
  EXPECT_TRUE(launch(held->id));
  held.reset();
  EXPECT_EQ(session->stats().kernels_loaded, 1u);
  EXPECT_TRUE(launch(other->id));
}

TEST_F(SessionTest, LaunchesNeverMeetAnUnload) {
  const auto session = open();
  auto* device = *session->device("host");
  const auto outcome = session->compile_now(small_request("a", "host"));
  ASSERT_TRUE(outcome) << to_text(outcome.error());
  std::atomic<bool> done{false};
  std::thread unloader([&] { while (!done) session->forget(outcome->kernel->key); });
  for (int i = 0; i < 300; ++i) {
    const auto kernel = session->load(outcome->kernel, "host");
    EXPECT_TRUE(kernel) << to_text(kernel.error());
    if (!kernel) break;
    std::promise<Result<device::LaunchReport>> promise;
    device->launch((*kernel)->id, {}, 1,
                   [&](Result<device::LaunchReport> report) { promise.set_value(std::move(report)); });
    const auto report = promise.get_future().get();
    EXPECT_TRUE(report) << to_text(report.error());
  }
  done = true;
  unloader.join();
}

TEST_F(SessionTest, VerifiesAgainstTheInterpreter) {
  const auto session = open();
  const auto outcome = session->compile_now(small_request("a", "host"));
  ASSERT_TRUE(outcome) << to_text(outcome.error());
  const auto x = create_memfd("x", 400), y = create_memfd("y", 400);
  ASSERT_TRUE(x && y);
  auto in = Mapping::map(x->get(), 400, true), out = Mapping::map(y->get(), 400, true);
  for (int i = 0; i < 100; ++i)
    reinterpret_cast<float*>(in->data())[i] = reinterpret_cast<float*>(out->data())[i] = float(i);
  const auto verify = [&] {
    return session->verify(*outcome->program, {{x->get(), 0, 400, {}}, {}},
                           {{x->get(), 0, 400, {}}, {y->get(), 0, 400, {}}}, {}, {});
  };
  const auto good = verify();
  ASSERT_TRUE(good) << to_text(good.error());
  ASSERT_EQ(good->tensors.size(), 2u);
  EXPECT_FALSE(good->tensors[0]);
  ASSERT_TRUE(good->tensors[1]);
  EXPECT_EQ(good->tensors[1]->wrong, 0u);
  reinterpret_cast<float*>(out->data())[7] = 1e6;
  const auto bad = verify();
  ASSERT_TRUE(bad) << to_text(bad.error());
  EXPECT_EQ(bad->tensors[1]->wrong, 1u);
  EXPECT_EQ(bad->tensors[1]->first_wrong, 7);
}

}  // namespace
}  // namespace kiln::jit
