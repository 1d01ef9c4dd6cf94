// Which bytes of the block's LDS each wave touches in one statement: what barriers are checked on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/ir/kernel/verify_steps.hpp"

namespace kiln::kernel {

// A set of bytes of a block's LDS.
class ByteSet {
 public:
  explicit ByteSet(std::int64_t bytes = 0) : words_((bytes + 63) / 64, 0) {}
  void add(std::int64_t begin, std::int64_t bytes);
  void add(const ByteSet& other);
  [[nodiscard]] bool overlaps(const ByteSet& other) const;

 private:
  std::vector<std::uint64_t> words_;
};

// One access, complete: what all waves of a role do there, with the loop variables' values of one moment.
struct LdsAccess {
  std::string path;              // of the statement
  int storage = -1;
  bool write = false;
  std::vector<ByteSet> waves;    // by wave of the block
  ByteSet all;
  bool known = true;             // false: which elements, only running tells; every wave counts as touching all
};

// Makes and keeps accesses; the same statement under the same values of the variables that matter gives the same id.
class LdsAccesses {
 public:
  explicit LdsAccesses(const Subject& subject) : subject_(subject) {}
  const LdsAccess& operator[](int id) const { return list_[id]; }

  // A rectangle moved from or to registers, as vectors of the layout.
  int registers(const Role& role, const std::string& path, const LdsRef& ref, const Storage& regs, int vector_bytes,
                bool write, const Known& known);
  // A rectangle that waves share out in a way that is not stated: every wave counts as touching all of it.
  int rectangle(const Role& role, const std::string& path, const LdsRef& ref, const std::vector<std::int64_t>& shape,
                bool write, const Known& known);
  // Elements of an elementwise statement, for each element of the iteration. Where only running tells whether `where`
  // (may be null) holds, it counts as holding.
  struct Elements {
    int storage;  // of LDS
    const std::vector<ExprPtr>& indices;
    const bound::Expr* where;
    bool write;
  };
  int elements(const Role& role, const std::string& path, const Map& map, const Elements& of, const Known& known);
  // A reduction's scratch: the parts that each wave writes, or reads.
  int reduce_scratch(const Role& role, const std::string& path, const Reduce& reduce, bool write);

 private:
  struct Draft { std::string key; int id = -1; };
  // The id of an access made before, or a new one to fill.
  Draft draft(const std::string& path, int storage, bool write, const std::string& what);
  // The element that one lane touches; false where only running tells which, or whether it does.
  bool add_element(const Elements& of, const Known& values, ByteSet& bytes) const;
  std::vector<std::int64_t> stage_offsets(const LdsRef& ref, const Known& known) const;

  const Subject& subject_;
  std::vector<LdsAccess> list_;
  std::map<std::string, int> made_;
};

}  // namespace kiln::kernel
