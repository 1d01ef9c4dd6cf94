// A file with AMD machine code: an object, or clang's bundle of objects for several cards.
#pragma once

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::device::hip {

// The object in `file` that serves `target`: all of it, or an entry of a bundle; a part of `file`. Nothing in the file is
// trusted. Errors: corrupt, unsupported (compressed, or none for the target: the message says which there are).
Result<ByteView> find_code_object(ByteView file, const target::Target& target);

}  // namespace kiln::device::hip
