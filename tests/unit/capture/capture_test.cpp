#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "engine/capture/capture.hpp"
#include "engine/capture/compression.hpp"
#include "engine/capture/finding.hpp"

namespace kiln::capture {
namespace {

std::uint64_t seed_of_run() {
  const char* given = std::getenv("KILN_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 20261130;
}
std::string reproduce() { return "KILN_SEED=" + std::to_string(seed_of_run()) + " unit_capture"; }

compile::TensorInfo tensor(const std::string& name, Access access, std::int64_t elements) {
  compile::TensorInfo t;
  t.name = name;
  t.shape = {elements};
  t.strides = {1};
  t.access = access;
  t.bytes = elements * 4;
  return t;
}

struct Made {
  Capture capture;
  Bytes x, y, result;
  std::vector<Source> before;
  std::vector<std::optional<ByteView>> after;
};

// X is read and was generated, Y is written, A is a scalar.
Made make(Outcome::Kind kind = Outcome::Kind::done) {
  Made m;
  auto& c = m.capture;
  c.program = "{\"kiln\": \"tile/1\"}";
  c.set = {{"M", "4"}, {"dtype", "f32"}};
  c.layouts = {{"As", "row_major"}};
  c.align = {{"X", 4}};
  c.target = "gfx942";
  c.key = std::string(64, 'a');
  c.purpose = "run";
  c.metadata.program = "p";
  c.metadata.target = "gfx942:sramecc+:xnack-";
  c.metadata.tensors = {tensor("X", Access::read, 1000), tensor("Y", Access::write, 100), tensor("A", Access::read, 1)};
  c.metadata.tensors[2].scalar = true;
  c.object = Bytes(5000, 7);
  c.device = "emu:gfx942";
  c.switches = {{"check", "races"}, {"seed", "3"}};
  c.arguments.resize(3);
  c.arguments[2].scalar = {1, 2, 3, 4};
  c.outcome.kind = kind;
  c.outcome.counted = true;
  c.outcome.counters = {{"SQ_WAVES", 4}, {"SQ_INSTS_VALU", 1000}};
  c.outcome.error = Error(ErrorCode::launch_failed, "a race");
  c.outcome.error.context = {"kernel k, block (0, 0, 0), wave 1"};
  c.origin = {"kiln", "hipRTC", "Linux", "CPU", "card", "gfx942"};
  c.note = "";
  m.x.resize(4000);
  generate(DType::f32, true, 77, m.x);
  m.y.resize(400);
  generate(DType::f32, false, 1, m.y);
  m.result = Bytes(400, 9);
  m.before = {{m.x, 77}, {m.y, {}}, {}};
  m.after.resize(3);
  if (kind != Outcome::Kind::failed) m.after[1] = m.result;
  return m;
}

Bytes file_of(const Made& m) {
  auto fd = write_capture(m.capture, m.before, m.after);
  EXPECT_TRUE(fd) << to_text(fd.error());
  auto bytes = fd ? read_all(fd->get(), 1 << 24) : Result<Bytes>(Bytes());
  EXPECT_TRUE(bytes);
  return bytes ? *bytes : Bytes();
}

Result<CaptureFile> read(const Bytes& bytes) {
  auto fd = create_memfd("test", std::max<std::size_t>(bytes.size(), 1));
  if (!fd) return std::move(fd).error();
  if (::ftruncate(fd->get(), off_t(bytes.size())) != 0) return errno_error(errno, "truncate");
  KILN_CHECK(write_all(fd->get(), bytes));
  return CaptureFile::open(fd->get());
}

// A file whose digest is right again: what a hostile writer would give.
Bytes signed_again(Bytes file) {
  const auto body = file.size() - 32;
  const auto digest = sha256(ByteView(file).first(body));
  std::copy(digest.begin(), digest.end(), file.begin() + std::ptrdiff_t(body));
  return file;
}

// Reads all that a replay would. Any bytes: an error or a capture that fits together.
void read_everything(const Bytes& file, const std::string& where) {
  auto opened = read(file);
  if (!opened) {
    EXPECT_FALSE(opened.error().message.empty()) << where;
    return;
  }
  const auto& c = opened->capture();
  ASSERT_EQ(c.arguments.size(), c.metadata.tensors.size()) << where;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const auto before = opened->before(i);
    if (before) {
      EXPECT_EQ(std::int64_t(before->size()), c.metadata.tensors[i].bytes.value()) << where;
    }
    const auto after = opened->after(i);
    if (after) {
      EXPECT_EQ(after->size(), c.arguments[i].after.bytes) << where;
    }
  }
}

TEST(Capture, WhatIsWrittenIsRead) {
  for (const auto kind : {Outcome::Kind::done, Outcome::Kind::failed, Outcome::Kind::wrong}) {
    const auto m = make(kind);
    auto opened = read(file_of(m));
    ASSERT_TRUE(opened) << to_text(opened.error());
    const auto& c = opened->capture();
    EXPECT_EQ(c.program, m.capture.program);
    EXPECT_EQ(c.set, m.capture.set);
    EXPECT_EQ(c.layouts, m.capture.layouts);
    EXPECT_EQ(c.align, m.capture.align);
    EXPECT_EQ(c.switches, m.capture.switches);
    EXPECT_EQ(c.object, m.capture.object);
    EXPECT_EQ(c.metadata.target, m.capture.metadata.target);
    EXPECT_EQ(c.outcome.kind, kind);
    EXPECT_EQ(c.outcome.counters, m.capture.outcome.counters);
    EXPECT_EQ(c.origin.processor, "CPU");
    EXPECT_EQ(c.arguments[2].scalar, m.capture.arguments[2].scalar);
    EXPECT_EQ(c.arguments[0].before.kind, Contents::Kind::seed);
    EXPECT_EQ(c.arguments[1].before.kind, Contents::Kind::bytes);
    ASSERT_TRUE(opened->before(0));
    EXPECT_EQ(*opened->before(0), m.x);
    ASSERT_TRUE(opened->before(1));
    EXPECT_EQ(*opened->before(1), m.y);
    if (kind == Outcome::Kind::failed) {
      EXPECT_EQ(c.outcome.error.message, "a race");
      EXPECT_FALSE(opened->after(1));
    } else {
      ASSERT_TRUE(opened->after(1));
      EXPECT_EQ(*opened->after(1), m.result);
    }
  }
}

TEST(Capture, ASeedThatMakesOtherBytesIsNotBelieved) {
  auto m = make();
  m.x[17] ^= 1;
  auto opened = read(file_of(m));
  ASSERT_TRUE(opened) << to_text(opened.error());
  EXPECT_EQ(opened->capture().arguments[0].before.kind, Contents::Kind::bytes);
  EXPECT_EQ(*opened->before(0), m.x);
}

TEST(Capture, EveryFlippedBitIsFound) {
  const auto file = file_of(make());
  std::mt19937_64 random(seed_of_run());
  for (int i = 0; i < 400; ++i) {
    auto bad = file;
    const auto bit = random() % (bad.size() * 8);
    bad[bit / 8] ^= std::uint8_t(1u << (bit % 8));
    const auto opened = read(bad);
    ASSERT_FALSE(opened) << "bit " << bit << "; " << reproduce();
    EXPECT_NE(opened.error().message.find("byte "), std::string::npos) << opened.error().message;
  }
}

TEST(Capture, EveryTruncationIsFound) {
  const auto file = file_of(make());
  for (std::size_t size = 0; size < file.size(); size += size < 64 ? 1 : 37) {
    const auto opened = read(Bytes(file.begin(), file.begin() + std::ptrdiff_t(size)));
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt) << size;
  }
  auto longer = file;
  longer.push_back(0);
  EXPECT_FALSE(read(longer));
}

TEST(Capture, HostileFilesWithARightDigestEndInErrorsOrFitTogether) {
  const auto file = file_of(make());
  std::mt19937_64 random(seed_of_run());
  for (int i = 0; i < 3000; ++i) {
    auto bad = file;
    const int changes = 1 + int(random() % 4);
    // Most of them into prefix and header, where counts, sizes and offsets are.
    std::uint64_t header_at = 0;
    std::memcpy(&header_at, file.data() + 16, 8);
    for (int c = 0; c < changes; ++c) {
      const auto at = random() % 4 ? header_at + random() % (bad.size() - 32 - header_at) : random() % (bad.size() - 32);
      bad[at] = random() % 3 ? std::uint8_t(random()) : std::uint8_t(random() % 2 ? 255 : 0);
    }
    read_everything(signed_again(std::move(bad)), "round " + std::to_string(i) + "; " + reproduce());
  }
}

TEST(Capture, AFrameThatHoldsMoreOrLessThanItSays) {
  auto fd = create_memfd("frame", 1);
  ASSERT_TRUE(fd);
  const Bytes zeros(1 << 20, 0);
  const auto size = compress_to(fd->get(), zeros);
  ASSERT_TRUE(size);
  const auto frame = read_all(fd->get(), 1 << 20);
  ASSERT_TRUE(frame);
  ASSERT_LT(frame->size(), 1000u);
  EXPECT_TRUE(decompress(*frame, zeros.size()));
  EXPECT_FALSE(decompress(*frame, zeros.size() - 1));
  EXPECT_FALSE(decompress(*frame, zeros.size() + 1));
  EXPECT_FALSE(decompress(ByteView(*frame).first(frame->size() - 1), zeros.size()));
  auto longer = *frame;
  longer.push_back(0);
  EXPECT_FALSE(decompress(longer, zeros.size()));
}

TEST(Finding, LeavesOutWhatDiffersFromProcessToProcess) {
  Error a(ErrorCode::launch_failed, "out-of-range store of 1 byte at 0x7f0000: 12 bytes past the end of a 4096-byte allocation at 0x7e0000");
  a.context = {"kernel softmax_0, block (1, 0, 0), wave 0, lane 3, thread (3, 0, 0)", "instruction: global_store_byte v0, v1, at softmax_0+0x10"};
  const auto found = finding_of(a);
  EXPECT_EQ(found.kind, "out-of-range store of # bytes");
  EXPECT_EQ(found.kernel, "softmax_0");
  EXPECT_EQ(found.place, "block (1, 0, 0), wave 0, lane 3, thread (3, 0, 0)");
  EXPECT_EQ(found.instruction, "global_store_byte v0, v1, at softmax_0+0x10");
  EXPECT_EQ(finding_of(Error(ErrorCode::launch_failed, "race in LDS: store of 4 bytes at LDS byte 0x10 without a barrier after another wave's access")).kind,
            "race in LDS: store of # bytes at LDS byte # without a barrier after another wave's access");
  EXPECT_NE(finding_of(Error(ErrorCode::launch_failed, "out-of-range load of 4 bytes at 0x1: x")).kind, found.kind);
}

}  // namespace
}  // namespace kiln::capture
