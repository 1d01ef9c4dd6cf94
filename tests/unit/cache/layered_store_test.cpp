#include "cache/layered_store.hpp"

#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

class LayersTest : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    own_folder_ = options.folder;
  }
  // A folder with these entries and the note "n", of the folder's name.
  std::string folder(const std::string& name, const std::vector<std::uint64_t>& numbers) {
    options.folder = base + "/" + name;
    const auto store = open();
    for (const auto number : numbers) EXPECT_TRUE(put(*store, number));
    EXPECT_TRUE(store->write_note("n", view(name)));
    return std::exchange(options.folder, own_folder_);
  }
  // The same as a bundle.
  std::string bundle(const std::string& name, const std::vector<std::uint64_t>& numbers) {
    options.folder = folder(name + "-folder", numbers);
    const auto path = base + "/" + name;
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    jit::ExportRequest request;
    request.notes = {"n"};
    EXPECT_TRUE(open()->export_to(fd.get(), request));
    options.folder = own_folder_;
    return path;
  }
  std::shared_ptr<jit::ObjectStore> open_over(const std::vector<std::string>& layers) {
    options.layers = layers;
    return open_store(options);
  }
  // Every name below with its time of change.
  static std::vector<std::string> everything_in(const std::string& folder) {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      struct stat status {};
      EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0);
      all.push_back(entry.path().string() + " " + std::to_string(status.st_ctim.tv_sec) + "." +
                    std::to_string(status.st_ctim.tv_nsec));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void expect_unused(const std::string& path, const std::string& why) {
    const auto known = warnings.size();
    const auto store = open_over({path});
    EXPECT_TRUE(put(*store, 9)) << "what is left works";
    EXPECT_FALSE(has(*store, 1)) << path;
    const auto layers = store->stats().layers;
    ASSERT_EQ(layers.size(), 1u);
    EXPECT_EQ(layers[0].kind, "none") << path;
    EXPECT_NE(layers[0].problem.find(why), std::string::npos) << layers[0].problem;
    ASSERT_EQ(warnings.size(), known + 1) << path;
    EXPECT_NE(warnings.back().find(path), std::string::npos) << warnings.back();
  }
  std::string own_folder_;
};

TEST_F(LayersTest, what_is_not_in_the_store_comes_from_the_first_layer_that_has_it) {
  const auto store = open_over({folder("a", {1, 2}), bundle("b", {2, 3}), folder("c", {3, 4})});
  ASSERT_TRUE(put(*store, 5));
  for (const std::uint64_t n : {1, 2, 2, 3, 4, 5}) EXPECT_TRUE(has(*store, n)) << n;
  EXPECT_FALSE(has(*store, 6));
  const auto stats = store->stats();
  ASSERT_EQ(stats.layers.size(), 3u);
  const auto expect = [&](int i, const std::string& kind, std::uint64_t entries, std::uint64_t hits) {
    EXPECT_EQ(stats.layers[i].kind, kind);
    EXPECT_EQ(stats.layers[i].entries, entries);
    EXPECT_EQ(stats.layers[i].hits, hits);
    EXPECT_EQ(stats.layers[i].problem, "");
  };
  expect(0, "folder", 2, 3);
  expect(1, "bundle", 2, 1);
  expect(2, "folder", 2, 1);
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 1u);
  EXPECT_EQ(stats.entries, 1u) << "a hit is not copied";
  EXPECT_EQ(store->list().size(), 1u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(LayersTest, notes_of_all_the_stores_own_first) {
  const auto store = open_over({folder("a", {1}), bundle("b", {2})});
  EXPECT_FALSE(store->read_note("n"));
  ASSERT_TRUE(store->write_note("n", view("own")));
  std::vector<std::string> notes;
  for (const auto& note : store->read_notes("n")) notes.emplace_back(text(note));
  EXPECT_EQ(notes, (std::vector<std::string>{"own", "a", "b-folder"}));
}

TEST_F(LayersTest, nothing_in_a_layer_is_changed) {
  const auto a = folder("a", {1, 2, 3});
  const auto path = a + "/entries/" + key_of(2).hex().substr(0, 2) + "/" + key_of(2).hex();
  auto damaged = *read_file(path);
  damaged[70] ^= 1;
  ASSERT_TRUE(write_file(path, damaged));
  std::ofstream(a + "/tmp/left-over") << "of a dead writer";
  const timespec old[2] = {{0, UTIME_OMIT}, {1, 0}};  // a use would renew it
  const auto used = a + "/entries/" + key_of(1).hex().substr(0, 2) + "/" + key_of(1).hex();
  ASSERT_EQ(::utimensat(AT_FDCWD, used.c_str(), old, 0), 0);
  const auto before = everything_in(a);
  {
    const auto store = open_over({a});
    EXPECT_TRUE(has(*store, 1));
    EXPECT_FALSE(has(*store, 2)) << "a damaged one is a miss";
    EXPECT_FALSE(store->lookup(key_of(3), [](const auto&) { return false; }));
    ASSERT_TRUE(put(*store, 4));
    ASSERT_TRUE(store->try_lock(key_of(1)));
    (void)store->stats();
    (void)store->verify();
    ASSERT_TRUE(store->evict(0, 0));
    EXPECT_FALSE(*store->remove(key_of(1)));
    EXPECT_TRUE(has(*store, 1));
  }
  EXPECT_EQ(everything_in(a), before);
}

TEST_F(LayersTest, a_folder_without_totals_is_counted) {
  const auto a = folder("a", {1, 2, 3});
  ASSERT_EQ(::unlink((a + "/totals").c_str()), 0);
  EXPECT_EQ(open_over({a})->stats().layers[0].entries, 3u);
  EXPECT_FALSE(std::filesystem::exists(a + "/totals"));
}

TEST_F(LayersTest, wrong_ones_are_not_used_and_it_is_said_once) {
  expect_unused(base + "/absent", "No such file");
  expect_unused("relative", "no absolute path");
  ASSERT_EQ(::mkfifo((base + "/pipe").c_str(), 0600), 0);
  expect_unused(base + "/pipe", "neither folder nor file");
  ASSERT_EQ(::mkdir((base + "/empty").c_str(), 0700), 0);
  expect_unused(base + "/empty", "no entries/");
  EXPECT_EQ(files_in(base + "/empty"), 0u);
  const auto a = folder("a", {1}), b = bundle("b", {1});
  ASSERT_EQ(::chmod(a.c_str(), 0770), 0);
  expect_unused(a, "others may write");
  ASSERT_EQ(::chmod(b.c_str(), 0660), 0);
  expect_unused(b, "others may write");
  ASSERT_EQ(::chmod(b.c_str(), 0600), 0);
  expect_unused(b + "/below", "no folder");
  auto bytes = *read_file(b);
  bytes[bytes.size() - 1] ^= 1;
  ASSERT_TRUE(write_file(b, bytes));
  expect_unused(b, "checksum");
  ASSERT_TRUE(write_file(b, view("no bundle")));
  expect_unused(b, "no bundle");
  if (::geteuid() == 0) {
    const auto c = folder("c", {1}), d = bundle("d", {1});
    for (const auto& path : {c, d}) {
      ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
      expect_unused(path, "belongs to user 12345");
    }
  }
}

TEST_F(LayersTest, links_are_followed_unless_everybody_may_have_made_them) {
  const auto a = folder("a", {1}), b = bundle("b", {1});
  ASSERT_EQ(::mkdir((base + "/open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((base + "/open").c_str(), 01777), 0);
  for (const auto& path : {a, b}) {
    const auto name = path.substr(path.size() - 1), link = base + "/link-" + name, planted = base + "/open/" + name;
    ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
    ASSERT_EQ(::symlink(path.c_str(), planted.c_str()), 0);
    EXPECT_TRUE(has(*open_over({link}), 1)) << link;
    expect_unused(planted, "is a symbolic link in a folder that everybody may write");
  }
}

TEST_F(LayersTest, a_bundle_that_becomes_bad_gives_misses) {
  const auto b = bundle("b", {1, 2});
  const auto store = open_over({b});
  EXPECT_TRUE(has(*store, 1));
  ASSERT_EQ(::truncate(b.c_str(), 70), 0);
  EXPECT_FALSE(has(*store, 1));
  EXPECT_TRUE(put(*store, 1));
  EXPECT_TRUE(has(*store, 1));
}

TEST_F(LayersTest, a_bundle_of_anybodys_with_the_hmac_is_used) {
  ASSERT_TRUE(write_file(base + "/key", view("the key of this machine")));
  ASSERT_EQ(::chmod((base + "/key").c_str(), 0600), 0);
  options.trust = *TrustKey::read(base + "/key");
  const auto b = bundle("b", {1});
  ASSERT_EQ(::chmod(b.c_str(), 0666), 0);
  EXPECT_TRUE(has(*open_over({b}), 1));
  options.trust = {};
  expect_unused(b, "no trust_key is set");
}

}  // namespace
}  // namespace kiln::cache
