// Errors with their diagnostics as bytes, for the sockets between Kiln's own processes.
#pragma once

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace kiln {

// Texts are cut to 1 MiB each and lists to 4096 entries, so that an error always fits a frame.
void write_error(Writer& writer, const Error& error);
// Gives an empty internal error and leaves the reader failed when the bytes are no error.
Error read_error(Reader& reader);

// A boolean, and the error if there is one.
void write_status(Writer& writer, const Status& status);
// The status that was sent; `corrupt` when the bytes are none (the reader is left failed).
Status read_status(Reader& reader);

}  // namespace kiln
