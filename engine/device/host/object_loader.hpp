// Loads relocatable objects into this process. No LLVM type shows here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace kiln::device::host {

// One launch of a kernel (engine/emit/emit.hpp): runs one block, gives 1 when it ended because of *cancel, else 0.
using BlockFunction = std::int32_t (*)(void* const* args, void* arena, std::int64_t x, std::int64_t y, std::int64_t z,
                                       const volatile std::uint8_t* cancel);

// The code of one object; its memory is freed with it.
class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  [[nodiscard]] virtual BlockFunction function(std::size_t number) const = 0;  // of symbol `number` of load's list
};

class ObjectLoader {
 public:
  virtual ~ObjectLoader() = default;
  // Links `object` and finds `symbols`. Memory is never writable and executable at once. Errors: corrupt for what is no
  // x86-64 ELF object, has initializers or thread-local data, needs other symbols than memcpy and memset, lacks one of
  // `symbols`. Any thread; what it gives must not outlive the loader.
  virtual Result<std::unique_ptr<LoadedObject>> load(ByteView object, const std::vector<std::string>& symbols) = 0;
};
Result<std::unique_ptr<ObjectLoader>> make_object_loader();

}  // namespace kiln::device::host
