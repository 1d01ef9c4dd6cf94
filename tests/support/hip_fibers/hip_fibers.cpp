#include "tests/support/hip_fibers/hip_fibers.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>

#include "engine/ir/bound/symbols.hpp"
#include "tests/support/hip_fibers/fiber.hpp"
#include "tests/support/hip_fibers/matrix.hpp"

namespace kiln::test {
namespace {

// Layout as in include/kiln/intrinsics.hpp.
struct Table {
  std::uint32_t (*thread)();
  std::uint32_t (*block)(int axis);
  void* (*lds)(std::uint32_t bytes);
  void (*lds_access)(std::uint32_t offset, std::uint32_t bytes, int write, const void* written);
  void (*global_access)(const void* at, std::uint32_t bytes, int write);
  void (*barrier)();
  std::uint32_t (*fetch)(std::uint32_t value, std::uint32_t from);
  void (*matrix)(const char* name, const void* a, const void* b, const void* c, void* d);
};

// Why a lane waits. lds: between its LDS writes and reads, so that lanes of a wave see each other's as in lockstep.
enum class Waits { nothing, lds, fetch, matrix, barrier, end };

struct Lane {
  Fiber fiber;
  int thread = 0;
  Waits waits = Waits::nothing;
  std::uint32_t value = 0, from = 0;
  const char* matrix_name = nullptr;
  MatrixLane matrix{};
  int lds_mode = 0;   // 0 none yet, 1 reads, 2 writes
};

struct ByteState {
  int writer = -1, reader = -1;       // wave of the last write, read; -2: several
  int write_epoch = -1, read_epoch = -1;
};

class Block {
 public:
  Block(const kernel::Launch& launch, const target::Target& target,
        const std::vector<std::span<std::uint8_t>>& arguments, std::uint64_t seed)
      : launch_(launch), target_(target), arguments_(arguments), random_(seed) {
    for (int i = 0; i < launch.threads; ++i) lanes_.push_back(std::make_unique<Lane>());
    for (int i = 0; i < launch.threads; ++i) lanes_[i]->thread = i;
  }

  Status run(const std::array<std::int64_t, 3>& id, const std::function<void()>& kernel);

  // ---- called by lanes ----
  Lane& current() { return *lanes_[current_]; }
  std::uint32_t block(int axis) const { return static_cast<std::uint32_t>(id_[axis]); }
  void* lds(std::uint32_t bytes) {
    if (bytes != launch_.lds_bytes)
      fail("declares " + std::to_string(bytes) + " bytes of LDS, the launch says " + std::to_string(launch_.lds_bytes));
    return lds_.data();
  }
  void lds_access(std::uint32_t offset, std::uint32_t bytes, bool write, const void* written);
  void global_access(const void* at, std::uint32_t bytes, bool write);
  void wait(Waits why) {
    current().waits = why;
    current().fiber.yield();
  }
  [[noreturn]] void fail(const std::string& what);

 private:
  int waves() const { return launch_.threads / launch_.wave; }
  bool run_wave(int wave);   // until its lanes wait for the block's barrier (true) or all ended (false)
  void meet(std::vector<Lane*>& lanes);
  std::string place() const {
    return launch_.symbol + " block " + std::to_string(id_[0]) + "," + std::to_string(id_[1]) + "," +
           std::to_string(id_[2]);
  }

  const kernel::Launch& launch_;
  const target::Target& target_;
  const std::vector<std::span<std::uint8_t>>& arguments_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::uint8_t> lds_;
  std::vector<ByteState> states_;
  std::array<std::int64_t, 3> id_{};
  int current_ = 0, epoch_ = 0;
  std::string error_;
};

Block* running = nullptr;

void Block::fail(const std::string& what) {
  if (error_.empty()) error_ = place() + " thread " + std::to_string(current_) + ": " + what;
  for (;;) current().fiber.yield();  // never resumed again
}

void Block::lds_access(std::uint32_t offset, std::uint32_t bytes, bool write, const void* written) {
  const int mode = write ? 2 : 1, wave = current_ / launch_.wave;
  if (current().lds_mode != 0 && current().lds_mode != mode) wait(Waits::lds);
  current().lds_mode = mode;
  if (offset > lds_.size() || bytes > lds_.size() - offset)
    fail("LDS access at " + std::to_string(offset) + " of " + std::to_string(bytes) + " bytes, the block has " +
         std::to_string(lds_.size()));
  if (offset % bytes != 0)
    fail("LDS access at " + std::to_string(offset) + " is not aligned to its " + std::to_string(bytes) + " bytes");
  const bool same = write && std::memcmp(lds_.data() + offset, written, bytes) == 0;  // copies of a value may meet
  for (std::uint32_t i = offset; i < offset + bytes; ++i) {
    auto& state = states_[i];
    if (!write && state.writer == -1) fail("reads LDS byte " + std::to_string(i) + ", which nobody wrote");
    if (state.write_epoch == epoch_ && state.writer != wave && !(write && same)) {
      fail(std::string(write ? "writes" : "reads") + " LDS byte " + std::to_string(i) + ", which wave " +
           std::to_string(state.writer) + " wrote, without a barrier");
    }
    if (write && state.read_epoch == epoch_ && state.reader != wave && !same) {
      fail("overwrites LDS byte " + std::to_string(i) + ", which another wave reads, without a barrier");
    }
    if (write) {
      state.writer = wave;
      state.write_epoch = epoch_;
    } else {
      state.reader = state.read_epoch == epoch_ && state.reader != wave ? -2 : wave;
      state.read_epoch = epoch_;
    }
  }
}

void Block::global_access(const void* at, std::uint32_t bytes, bool write) {
  const auto* address = static_cast<const std::uint8_t*>(at);
  for (const auto& argument : arguments_) {
    if (address >= argument.data() && address + bytes <= argument.data() + argument.size()) return;
  }
  std::string nearest;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    nearest += " p" + std::to_string(i) + (address < arguments_[i].data() ? "-" : "+") +
               std::to_string(address < arguments_[i].data() ? arguments_[i].data() - address
                                                             : address - arguments_[i].data()) +
               "/" + std::to_string(arguments_[i].size());
  }
  fail(std::string(write ? "writes " : "reads ") + std::to_string(bytes) + " bytes outside all arguments:" + nearest);
}

// All lanes of a wave wait, and none only for its own LDS order: they must all wait for the same.
void Block::meet(std::vector<Lane*>& lanes) {
  const Lane& first = *lanes.front();
  current_ = first.thread;
  for (const Lane* lane : lanes) {
    const bool same = lane->waits == first.waits &&
                      (first.waits != Waits::matrix || std::string(lane->matrix_name) == first.matrix_name);
    if (!same) {
      error_ = place() + " thread " + std::to_string(lane->thread) + ": lanes of a wave do not meet in one place";
      return;
    }
  }
  if (first.waits == Waits::fetch) {
    std::vector<std::uint32_t> values;
    for (const Lane* lane : lanes) values.push_back(lane->value);
    for (Lane* lane : lanes) lane->value = values[lane->from % values.size()];
  }
  if (first.waits == Waits::matrix) {
    std::vector<MatrixLane> operands;
    for (const Lane* lane : lanes) operands.push_back(lane->matrix);
    if (!run_matrix(first.matrix_name, operands, target_.full.starts_with("gfx942")))
      error_ = std::string("no such matrix instruction: ") + first.matrix_name;
  }
}

bool Block::run_wave(int wave) {
  std::vector<Lane*> lanes;
  for (int i = 0; i < launch_.wave; ++i) lanes.push_back(lanes_[wave * launch_.wave + i].get());
  for (;;) {
    bool for_lds = false;
    std::size_t ended = 0;
    for (Lane* lane : lanes) {
      if (lane->waits == Waits::nothing) {
        current_ = lane->thread;
        lane->fiber.resume();
        if (!error_.empty()) return false;
        if (lane->fiber.done()) lane->waits = Waits::end;
      }
      for_lds = for_lds || lane->waits == Waits::lds;
      ended += lane->waits == Waits::end ? 1 : 0;
    }
    if (for_lds) {
      for (Lane* lane : lanes) if (lane->waits == Waits::lds) lane->waits = Waits::nothing;
      continue;
    }
    if (ended == lanes.size()) return false;
    meet(lanes);
    if (!error_.empty()) return false;
    if (lanes.front()->waits == Waits::barrier) return true;
    for (Lane* lane : lanes) lane->waits = Waits::nothing;
  }
}

Status Block::run(const std::array<std::int64_t, 3>& id, const std::function<void()>& kernel) {
  running = this;
  id_ = id;
  epoch_ = 0;
  lds_.assign(launch_.lds_bytes, 0xcd);
  states_.assign(launch_.lds_bytes, {});
  for (auto& lane : lanes_) {
    lane->waits = Waits::nothing;
    lane->lds_mode = 0;
    lane->fiber.reset(kernel);
  }
  std::vector<int> order(waves());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  for (bool more = true; more;) {
    std::shuffle(order.begin(), order.end(), random_);
    std::size_t at_barrier = 0;
    for (const int wave : order) {
      at_barrier += run_wave(wave) ? 1 : 0;
      if (!error_.empty()) return Error(ErrorCode::program_invalid, error_);
    }
    if (at_barrier != 0 && at_barrier != order.size())
      return Error(ErrorCode::program_invalid, place() + ": some waves end while others wait at a barrier");
    more = at_barrier != 0;
    ++epoch_;
    for (auto& lane : lanes_) {
      if (lane->waits == Waits::barrier) lane->waits = Waits::nothing;
      lane->lds_mode = 0;
    }
  }
  return ok();
}

const Table table = {
    [] { return static_cast<std::uint32_t>(running->current().thread); },
    [](int axis) { return running->block(axis); },
    [](std::uint32_t bytes) { return running->lds(bytes); },
    [](std::uint32_t offset, std::uint32_t bytes, int write, const void* written) {
      running->lds_access(offset, bytes, write != 0, written);
    },
    [](const void* at, std::uint32_t bytes, int write) { running->global_access(at, bytes, write != 0); },
    [] { running->wait(Waits::barrier); },
    [](std::uint32_t value, std::uint32_t from) {
      Lane& lane = running->current();
      lane.value = value;
      lane.from = from;
      running->wait(Waits::fetch);
      return lane.value;
    },
    [](const char* name, const void* a, const void* b, const void* c, void* d) {
      Lane& lane = running->current();
      lane.matrix_name = name;
      lane.matrix = {a, b, c, d};
      running->wait(Waits::matrix);
    },
};

// A caller with plain pointers for each kernel: scalars are read from where their pointer points.
std::string callers(const kernel::Program& program) {
  std::string text = "\nnamespace kiln {\n";
  for (const auto& launch : program.launches) {
    text += "extern \"C\" __attribute__((visibility(\"default\"))) void call_" + launch.symbol + "(void** p) { " +
            launch.symbol + "(";
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const auto& tensor = program.tensors[i];
      const std::string type = tensor.dtype == DType::boolean ? "u8" : dtype_name(tensor.dtype);
      text +=
          (i ? ", " : "") + (tensor.scalar ? "*(const " + type + "*)" : std::string()) + "p[" + std::to_string(i) + "]";
    }
    for (std::size_t i = program.tensors.size(); i < program.tensors.size() + program.symbols.size(); ++i)
      text += (i ? ", " : "") + std::string("*(const i32*)p[") + std::to_string(i) + "]";
    text += "); }\n";
  }
  return text + "}\n";
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result<HipModule> HipModule::compile(const std::string& text, const kernel::Program& program,
                                     const target::Target& target, const std::string& source_folder) {
  HipModule module;
  module.program_ = &program;
  module.target_ = &target;
  module.folder_ = std::filesystem::temp_directory_path() / "kiln-fibers-XXXXXX";
  if (mkdtemp(module.folder_.data()) == nullptr) return errno_error(errno, "a temporary folder");
  std::ofstream(module.folder_ + "/kernel.cpp") << text << callers(program);
  const std::string command =
      "clang++-22 -x c++ -std=c++20 -O1 -w -fPIC -shared -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off "
      "-march=native "
      "-Xclang -ffloat16-excess-precision=none " +
      std::string(target.family == target::Family::rdna ? "-DKILN_FIBERS_RDNA " : "") + "-I" + source_folder +
      "/tests/support/hip_fibers/include -I" + source_folder + "/kernels/include " + module.folder_ +
      "/kernel.cpp -o " + module.folder_ + "/kernel.so -lm 2> " + module.folder_ + "/log";
  if (std::system(command.c_str()) != 0)
    return Error(ErrorCode::compile_failed, "clang refuses the text").with(contents(module.folder_ + "/log"));
  module.library_ = dlopen((module.folder_ + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module.library_ == nullptr) return Error(ErrorCode::compile_failed, dlerror());
  *static_cast<const Table**>(dlsym(module.library_, "fibers")) = &table;
  return module;
}

HipModule::HipModule(HipModule&& other) noexcept
    : program_(other.program_),
      target_(other.target_),
      library_(std::exchange(other.library_, nullptr)),
      folder_(std::exchange(other.folder_, {})) {}

HipModule::~HipModule() {
  if (library_) dlclose(library_);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Status HipModule::run(const std::vector<std::span<std::uint8_t>>& arguments, std::uint64_t seed) {
  std::vector<void*> pointers;
  for (const auto& argument : arguments) pointers.push_back(argument.data());
  bound::SymbolValues symbols;
  for (std::size_t i = program_->tensors.size(); i < arguments.size(); ++i)
    symbols.push_back(Reader(arguments[i]).u32());
  for (const auto& launch : program_->launches) {
    const auto call = reinterpret_cast<void (*)(void**)>(dlsym(library_, ("call_" + launch.symbol).c_str()));
    if (call == nullptr) return Error(ErrorCode::not_found, "no kernel " + launch.symbol);
    Block block(launch, *target_, arguments, seed);
    KILN_TRY(const auto grid, bound::grid_at(launch.grid, 0, symbols));
    for (std::int64_t z = 0; z < grid[2]; ++z) {
      for (std::int64_t y = 0; y < grid[1]; ++y) {
        for (std::int64_t x = 0; x < grid[0]; ++x)
          KILN_CHECK(block.run({x, y, z}, [&] { call(pointers.data()); }));
      }
    }
  }
  return ok();
}

}  // namespace kiln::test
