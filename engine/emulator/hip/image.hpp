// The code object behind a pointer that HIP gives without a size: an ELF file, or a bundle of them.
#pragma once

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::emulator {

// The bytes of the object at `image` for a card that reports `target`; of a bundle (clang's offload bundle, as in
// executables), the first that serves it. What is read was found mapped before. Errors: corrupt, unsupported.
Result<ByteView> find_object(const void* image, const target::Target& target);

}  // namespace kiln::emulator
