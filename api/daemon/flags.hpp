// The form of flags that kiln and kilnd share. A mistake in it is wrong usage, found before anything is done.
#pragma once

#include <string>

namespace kiln::daemon {

// What is wrong with the value, "" for nothing: as CLI11's validators say it.
std::string worker_flag_mistake(const std::string& entry);  // FAMILY=COMMAND, FAMILY=ARGUMENTS
std::string path_flag_mistake(const std::string& path);

}  // namespace kiln::daemon
