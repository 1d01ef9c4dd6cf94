#include "engine/jit/key.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/support/temporary_folder.hpp"

namespace kiln::jit {
namespace {

bound::Program program() {
  bound::Program p;
  p.name = "copy";
  p.target = "gfx942";
  p.tensors = {{.name = "a", .shape = {8}, .strides = {1}}};
  return p;
}
Key key_of(const bound::Program& p, const std::string& target = "gfx942", Digest compiler = {}, Digest headers = {},
           const std::string& flags = "") {
  return compute_key({p, target, compiler, headers, flags}).key;
}

TEST(Key, EveryPartCounts) {
  std::set<Key> keys{key_of(program())};
  auto longer = program();
  longer.tensors[0].shape = {9};
  auto renamed = program();
  renamed.name = "kopie";
  keys.insert(key_of(longer));
  keys.insert(key_of(renamed));
  keys.insert(key_of(program(), "gfx90a"));
  keys.insert(key_of(program(), "gfx942", Digest{1}));
  keys.insert(key_of(program(), "gfx942", {}, Digest{1}));
  keys.insert(key_of(program(), "gfx942", {}, {}, "-g"));
  EXPECT_EQ(keys.size(), 7u);
  EXPECT_EQ(key_of(program()), key_of(program()));
}

TEST(Key, NamesOfArgumentsDoNot) {
  auto renamed = program();
  renamed.tensors[0].name = "b";
  EXPECT_EQ(key_of(program()), key_of(renamed));
}

TEST(Key, PromisesOfDynamicSymbolsCountAndTheirNamesDoNot) {
  const auto with = [](const std::string& name, std::int64_t most) {
    auto p = program();
    p.symbols = {{.name = name, .max = most}};
    bound::Expr symbol;
    symbol.kind = bound::Expr::Kind::symbol;
    p.tensors[0].shape = {bound::Extent(std::make_shared<const bound::Expr>(symbol))};
    return key_of(p);
  };
  EXPECT_EQ(with("S", 4096), with("length", 4096));
  EXPECT_NE(with("S", 4096), with("S", 8192));
  EXPECT_NE(with("S", 4096), key_of(program()));
}

TEST(Key, PartsExplainIt) {
  const auto a = compute_key({program(), "gfx942", Digest{1}, Digest{2}, ""});
  const auto b = compute_key({program(), "gfx942", Digest{3}, Digest{2}, ""});
  std::vector<std::string> names, different;
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    names.push_back(a.parts[i].name);
    if (a.parts[i].sha256 != b.parts[i].sha256) different.push_back(a.parts[i].name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"format", "program", "target", "compiler", "headers", "flags", "sources"}));
  EXPECT_EQ(different, std::vector<std::string>{"compiler"});
  EXPECT_EQ(a.parts[2].value, "gfx942");
  EXPECT_EQ(a.parts[6].value.size(), 64u) << "the build's identity";
}

TEST(Key, HexBothWays) {
  const auto key = key_of(program());
  const auto back = Key::from_hex(key.hex());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, key);
  for (const auto& bad :
       {std::string(), std::string("ab"), std::string(63, 'a'), std::string(66, 'a'), std::string(64, 'g')})
    EXPECT_EQ(Key::from_hex(bad).error().code, ErrorCode::invalid_argument) << bad;
}

TEST(HashFolder, OverNamesAndContents) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("a", "1");
  write("b", "2");
  std::set<Digest> digests{*hash_folder(folder.path())};
  write("b", "3");
  digests.insert(*hash_folder(folder.path()));
  std::filesystem::rename(folder / "b", folder / "c");
  digests.insert(*hash_folder(folder.path()));
  std::filesystem::create_directory(folder / "d");
  write("d/a", "1");
  digests.insert(*hash_folder(folder.path()));
  EXPECT_EQ(digests.size(), 4u);
  EXPECT_EQ(*hash_folder(folder.path()), *hash_folder(folder.path() + "/"));
  EXPECT_FALSE(hash_folder(folder / "none"));
}

}  // namespace
}  // namespace kiln::jit
