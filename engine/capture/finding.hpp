// What a launch that failed says about itself, without what differs from process to process (addresses).
#pragma once

#include <string>

#include "engine/base/result.hpp"

namespace kiln::capture {

struct Finding {
  std::string kind;          // "out-of-range store of # bytes", "race in LDS: store of # bytes at LDS byte # without …"
  std::string kernel, place; // place: "block (1, 0, 0), wave 0, lane 3, thread (3, 0, 0)"
  std::string instruction;   // "global_store_dword v[0:1], v2, off, at softmax_0+0x1a4"
};
// Of an emulated card's report (message and context as engine/device gives them); other errors have their message as kind.
Finding finding_of(const Error& error);

}  // namespace kiln::capture
