// print and assert on the host: the interpreter's records, and its memory, for random programs and values.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <random>

#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

struct Ran {
  bound::Records records;
  Bytes memory;
};

Result<Ran> interpreted(const bound::Program& program, const Bytes& x) {
  Ran ran{{}, Bytes(x.size(), 0xff)};
  Bytes in = x, bytes;
  const std::vector<reference::Argument> arguments = {{in.data(), in.size()}, {ran.memory.data(), ran.memory.size()}};
  if (auto status = reference::run(program, arguments, {}, nullptr, &bytes);
      !status && status.error().code != ErrorCode::assertion_failed)
    return status.error();
  KILN_TRY(ran.records, bound::read_records(bytes, program.sites));
  return ran;
}

Result<Ran> on_host(HostRunner& runner, const bound::Program& program, const Bytes& x) {
  KILN_TRY(const auto compiled, compile_for_host(program));
  KILN_TRY(const auto kernel, runner.load(compiled));
  KILN_TRY(auto in, runner.buffer(x.size()));
  KILN_TRY(auto out, runner.buffer(x.size()));
  std::memcpy(in.mapping.data(), x.data(), x.size());
  std::memset(out.mapping.data(), 0xff, x.size());
  std::promise<Result<device::LaunchReport>> promise;
  runner.device().launch(kernel, {{in.id, 0, x.size(), {}}, {out.id, 0, x.size(), {}}}, 0,
                         [&](Result<device::LaunchReport> report) { promise.set_value(std::move(report)); });
  KILN_TRY(const auto report, promise.get_future().get());
  KILN_TRY(auto records, bound::read_records(report.records, compiled.metadata.sites));
  const auto* data = out.mapping.data();
  Ran ran{std::move(records), Bytes(data, data + x.size())};
  KILN_CHECK(runner.device().unmap(in.id));
  KILN_CHECK(runner.device().unmap(out.id));
  KILN_CHECK(runner.device().unload(kernel));
  return ran;
}

std::string text_of(const std::vector<bound::Record>& records, const bound::Program& program) {
  std::string text;
  for (const auto& record : records)
    text += program.sites[record.site].pointer + " " + bound::record_text(record, program.sites[record.site]) + "\n";
  return text;
}

// Statements over the tile x [rows, columns] and the shared tile s of its shape, in a loop over k, in a random order.
class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const int rows = pick(1, 9), columns = pick(1, 40), blocks = pick(1, 6);
    std::string body;
    for (int i = pick(1, 4); i > 0; --i) body += (body.empty() ? "" : ", ") + statement(rows, columns);
    const std::string shape = "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
    const std::string all = "[" + std::to_string(rows * blocks) + ", " + std::to_string(columns) + "]";
    const std::string place = "[bid.x * " + std::to_string(rows) + ":, 0:]";
    return R"json({"kiln": "tile/1", "name": "random", "params": [
      {"name": "X", "dtype": "i32", "shape": )json" + all + R"json(, "access": "read"},
      {"name": "Y", "dtype": "i32", "shape": )json" + all + R"json(, "access": "write"}],
      "launches": [{"grid": [)json" + std::to_string(blocks) + R"json(], "threads": 1, "body": [
        {"op": "alloc", "name": "x", "space": "fragment", "dtype": "i32", "shape": )json" + shape + R"json(},
        {"op": "alloc", "name": "s", "space": "shared", "dtype": "i32", "shape": )json" + shape + R"json(},
        {"op": "copy", "from": "X)json" + place + R"json(", "to": "x"},
        {"op": "for", "var": "k", "to": 3, "body": [{"op": "copy", "from": "x", "to": "s"}, )json" + body + R"json(]},
        {"op": "copy", "from": "x", "to": "Y)json" + place + R"json("}]}]})json";
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  std::string number(bool in_map) {
    static const char* const every[] = {"k", "bid.x", "s[0, 0]", "cast(s[0, 0], f32) * 0.25", "s[0, 0] > 0"};
    static const char* const own[] = {"x[i, j]", "s[i, j] - x[i, j]", "i * 3 + j", "cast(x[i, j], f16)", "cast(j, u8)"};
    return in_map && pick(0, 2) > 0 ? own[pick(0, 4)] : every[pick(0, 4)];
  }
  std::string values(bool in_map) {
    std::string list;
    for (int i = pick(0, 4); i > 0; --i) list += (list.empty() ? "\"" : ", \"") + number(in_map) + "\"";
    return list.empty() ? "" : R"(, "values": [)" + list + "]";
  }
  std::string condition(bool in_map) {
    const std::string most = std::to_string(pick(2, 9));
    return in_map ? "x[i, j] + k < " + most : "x[0, 0] - bid.x + k < " + most;
  }
  std::string item() {
    std::string where;
    if (pick(0, 1) == 1) where = R"(, "where": "(i + j + k) % )" + std::to_string(pick(1, 3)) + R"( == 0")";
    switch (pick(0, 2)) {
      case 0: return R"({"print": "p")" + values(true) + where + "}";
      case 1: return R"({"assert": ")" + condition(true) + R"(", "text": "a")" + values(true) + where + "}";
      default: return R"({"set": "x[i, j]", "value": "x[i, j] + 1"})";
    }
  }
  std::string statement(int rows, int columns) {
    switch (pick(0, 3)) {
      case 0: return R"({"op": "print", "text": "q")" + values(false) + "}";
      case 1:
        return R"({"op": "assert", "condition": ")" + condition(false) + R"(", "text": "b")" + values(false) + "}";
      default: break;
    }
    std::string items;
    for (int i = pick(1, 3); i > 0; --i) items += (items.empty() ? "" : ", ") + item();
    return R"({"op": "map", "index": ["i", "j"], "extent": [)" + std::to_string(rows) + ", " + std::to_string(columns) +
           R"(], "body": [)" + items + "]}";
  }

  std::mt19937_64 random_;
};

TEST(HostMessages, RandomProgramsLeaveTheInterpretersRecords) {
  const char* const given = std::getenv("KILN_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261130;
  HostRunner runner(2);
  int failed = 0, printed = 0;
  for (std::uint64_t seed = first; seed < first + (given != nullptr ? 1 : 40); ++seed) {
    const std::string text = RandomMessages(seed).program();
    const std::string again = "KILN_SEED=" + std::to_string(seed) + " unit_host --gtest_filter=HostMessages.*\n" + text;
    const auto program = bind_text(text, {});
    ASSERT_TRUE(program) << to_text(program.error()) << again;
    if (program->records < 0) continue;
    Bytes x(static_cast<std::size_t>(program->tensors[0].bytes()));
    std::mt19937_64 random(seed);
    for (std::size_t at = 0; at < x.size(); at += 4) x[at] = static_cast<std::uint8_t>(random() % 5);
    const auto want = interpreted(*program, x), got = on_host(runner, *program, x);
    ASSERT_TRUE(want) << to_text(want.error()) << again;
    ASSERT_TRUE(got) << to_text(got.error()) << again;
    EXPECT_EQ(got->memory, want->memory) << again;
    EXPECT_EQ(got->records.prints_dropped, want->records.prints_dropped) << again;
    EXPECT_EQ(got->records.failures.size(), want->records.failures.size()) << again;
    if (want->records.prints_dropped == 0) {
      EXPECT_EQ(text_of(got->records.prints, *program), text_of(want->records.prints, *program)) << again;
    }
    if (want->records.failures_dropped == 0) {
      EXPECT_EQ(text_of(got->records.failures, *program), text_of(want->records.failures, *program)) << again;
    }
    failed += want->records.failures.empty() ? 0 : 1;
    printed += want->records.prints.empty() ? 0 : 1;
  }
  if (given != nullptr) return;
  EXPECT_TRUE(failed > 3 && printed > 10) << failed << " " << printed;
}

}  // namespace
}  // namespace kiln::test
