// Seeded damage to AMDGPU code objects: anywhere, and in the places that a loader reads.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "engine/base/bytes.hpp"

namespace kiln::test {

class Mutator {
 public:
  // `object`: a whole ELF file, as a compiler made it.
  explicit Mutator(Bytes object);
  // A damaged copy; what was done is appended to `story`.
  Bytes mutant(std::mt19937_64& random, std::string& story) const;

 private:
  // Bytes of one thing: a header, a section, one kernel's descriptor.
  struct Part {
    std::string name;
    std::size_t begin = 0, bytes = 0, record = 1;   // record: bytes of one of its entries
  };
  void find_parts();
  [[nodiscard]] const Part* pick(std::mt19937_64& random, const char* name) const;

  Bytes object_;
  std::vector<Part> parts_;
  bool rdna_ = false;   // the encodings are RDNA3's
};

}  // namespace kiln::test
