// Kernels by the names that their authors know them by: C++ names are mangled in objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::device::hip {

// "scale" for "scale"; "reduce<float>" for "_Z6reduceIfEvPKT_PS0_i". What cannot be read stays as it is.
std::string readable_kernel(const std::string& symbol);

// Which of `symbols` a user means by `wanted`: the symbol itself, its whole C++ name ("reduce<float>(float const*,
// float*, int)"), that without parameters, or without template arguments too ("reduce"); spaces do not count. Empty: the
// only one. An index into `symbols`. Errors: not_found; invalid_argument where several are meant; both name what there is.
Result<std::size_t> choose_kernel(const std::vector<std::string>& symbols, std::string_view wanted);

}  // namespace kiln::device::hip
