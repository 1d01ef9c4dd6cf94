// The machine's processor, as people and tuning records name it.
#pragma once

#include <string>

namespace kiln {

// "model name" of the first processor, valid UTF-8, at most 200 bytes; "x86-64" where the system does not tell.
std::string processor_name();
// Cores that this process may use, at least 1.
int usable_cores();

}  // namespace kiln
