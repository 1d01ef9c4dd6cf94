// Programs of several launches, and workspace.
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

std::string two_launches(const std::string& workspace) {
  return R"json({"kiln": "tile/1", "name": "two", "symbols": ["M"],
    "params": [{"name": "X", "dtype": "f32", "shape": ["M"], "access": "read"},
               {"name": "Y", "dtype": "f32", "shape": ["M"], "access": "write"}],
    "workspace": [)json" +
         workspace + R"json(],
    "launches": [
      {"grid": ["ceildiv(M, 64)"], "threads": 64, "body": [
        {"op": "alloc", "name": "t", "space": "shared", "dtype": "f32", "shape": [64]},
        {"op": "copy", "from": "X[bid.x * 64:]", "to": "t"},
        {"op": "copy", "from": "t", "to": "W[bid.x * 64:]"}]},
      {"grid": ["ceildiv(M, 128)"], "threads": 128, "body": [
        {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [128]},
        {"op": "let", "name": "first", "value": "W[0]"},
        {"op": "copy", "from": "W[bid.x * 128:]", "to": "t"},
        {"op": "map", "index": ["i"], "extent": [128], "body": [{"set": "t[i]", "value": "t[i] - first"}]},
        {"op": "copy", "from": "t", "to": "Y[bid.x * 128:]"}]}]})json";
}
const std::string plain = R"json({"name": "W", "dtype": "f32", "shape": ["M"]})json";

Result<bound::Program> bind_two(const std::string& workspace, specialize::Bindings bindings = {}) {
  bindings.set["M"] = "200";
  return bind_text(two_launches(workspace), bindings);
}

TEST(Workspace, StandsBehindTheParameters) {
  const auto bound = bind_two(plain + R"json(, {"name": "Z", "dtype": "i8", "shape": [2, "M"], "zeroed": true})json");
  ASSERT_TRUE(bound) << to_text(bound.error());
  EXPECT_EQ(bound->launches.size(), 2u);
  EXPECT_EQ(bound->arguments(), 2u);
  ASSERT_EQ(bound->tensors.size(), 4u);
  EXPECT_TRUE(bound->tensors[2].workspace && !bound->tensors[2].zeroed && bound->tensors[3].zeroed);
  const auto text = bound::print(*bound);
  EXPECT_NE(text.find("\nworkspace W: f32[200]"), std::string::npos) << text;
  EXPECT_NE(text.find("\nzeroed workspace Z: i8[2, 200]"), std::string::npos) << text;
  const auto again = bound::decode(bound::encode(*bound, true));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(bound::print(*again), text);
}

TEST(Workspace, IsWrittenCanonically) {
  const auto program = tile::read_program(two_launches(plain));
  ASSERT_TRUE(program) << to_text(program.error());
  const auto text = tile::write_program(*program);
  EXPECT_NE(text.find("\"workspace\": [\n    {\n      \"name\": \"W\",\n"), std::string::npos) << text;
  const auto again = tile::read_program(text);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(tile::write_program(*again), text);
}

TEST(Workspace, MistakesAreLocated) {
  const auto strided = bind_two(R"json({"name": "W", "dtype": "f32", "shape": ["M"], "strides": [1]})json");
  ASSERT_FALSE(strided);
  EXPECT_EQ(strided.error().diagnostics.front().pointer, "/workspace/0/strides");
  const auto twice = bind_two(R"json({"name": "X", "dtype": "f32", "shape": ["M"]})json");
  ASSERT_FALSE(twice);
  EXPECT_NE(find(twice.error(), "declared twice"), nullptr) << to_text(twice.error());
  const auto typed = bind_two(R"json({"name": "W", "dtype": "f16", "shape": ["M"], "when": "M > 300"})json");
  ASSERT_FALSE(typed);
  EXPECT_NE(find(typed.error(), "does not exist with these options"), nullptr)
      << to_text(typed.error());
}

TEST(Workspace, LayoutsMayNameTilesOfAnyLaunch) {
  specialize::Bindings bindings;
  bindings.layouts["t"] = *layout_spec_from_text("pad:16");
  EXPECT_FALSE(bind_two(plain, bindings));  // the second launch's is a fragment
  bindings.layouts.clear();
  bindings.layouts["none"] = *layout_spec_from_text("pad:16");
  const auto unknown = bind_two(plain, bindings);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().diagnostics.front().pointer, "/bindings/layouts/none");
  EXPECT_NE(unknown.error().diagnostics.front().expected.find("t"), std::string::npos);
}

}  // namespace
}  // namespace kiln::test
