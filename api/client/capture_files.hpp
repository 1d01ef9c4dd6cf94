// Captures of launches as files, where a program's environment asks for them: KILN_CAPTURE names the file, KILN_CAPTURE_ON says
// which launch: `fault` (the default; the first one that fails), `always` (each: the file holds the last one) or a number (that
// launch of the process, counted from 1). A file that is there is kept by `fault` and a number: the first of several processes wins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"

namespace kiln::client {

// Whether a capture may be written to `path`: nothing is there, or an earlier capture. Errors: invalid_argument, files.
Status may_replace(const std::string& path);
// Removes an earlier capture; anything else stays, with may_replace's error.
Status make_room(const std::string& path);

// Not thread-safe.
class CaptureFiles {
 public:
  CaptureFiles() = default;   // asks for nothing
  // `on` as KILN_CAPTURE_ON. Error: invalid_argument.
  static Result<CaptureFiles> create(const std::string& path, const std::string& on);
  // Before a request is sent: whether it asks for a capture now, in `params`. What asks itself is left alone.
  bool ask(const std::string& method, protocol::Json& params);
  // Of the answer to a request that asked: writes the file that it names and takes it out of `members` (a result, or an error's
  // data). Nothing to do where it names none.
  Status keep(protocol::Json& members, std::vector<UniqueFd>& fds);

 private:
  enum class On : std::uint8_t { never, fault, always, number } on_ = On::never;
  std::string path_;
  std::uint64_t number_ = 0, launches_ = 0;
};

}  // namespace kiln::client
