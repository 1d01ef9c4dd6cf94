#include "engine/device/hip/kernel_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace kiln::device::hip {
namespace {

// Where a bracket that is not inside others begins, seen from the end: "(…)" of "f<void (*)(int)>(float)". npos: none.
std::size_t last_group(std::string_view name, char open, char close) {
  if (name.empty() || name.back() != close) return std::string_view::npos;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    depth += name[i] == close;
    depth -= name[i] == open;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

// Forms of one name, longest first.
struct Forms { std::string symbol, whole, called, base; };

Forms forms_of(const std::string& symbol) {
  Forms forms{symbol, symbol, symbol, symbol};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> read(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (!symbol.starts_with("_Z") || status != 0 || read == nullptr) return forms;
  std::string_view name = read.get();
  if (name.starts_with("void ")) name.remove_prefix(5);   // of templates: kernels return nothing
  forms.whole = name;
  forms.called = name.substr(0, last_group(name, '(', ')'));
  forms.base = std::string_view(forms.called).substr(0, last_group(forms.called, '<', '>'));
  return forms;
}

std::string without_spaces(std::string_view text) {
  std::string packed(text);
  std::erase(packed, ' ');
  return packed;
}

std::string list(const std::vector<Forms>& all) {
  std::string text;
  for (const auto& one : all) {
    const bool alone = std::count_if(all.begin(), all.end(), [&](const auto& o) { return o.called == one.called; }) == 1;
    text += (text.empty() ? "" : ", ") + (alone ? one.called : one.whole);
  }
  return text;
}

}  // namespace

std::string readable_kernel(const std::string& symbol) { return forms_of(symbol).called; }

Result<std::size_t> choose_kernel(const std::vector<std::string>& symbols, std::string_view wanted) {
  if (symbols.empty()) return Error(ErrorCode::not_found, "the object has no kernel");
  std::vector<Forms> all;
  for (const auto& symbol : symbols) all.push_back(forms_of(symbol));
  if (wanted.empty()) {
    if (symbols.size() == 1) return std::size_t(0);
    return Error(ErrorCode::invalid_argument, "which kernel (--kernel)? There are " + list(all));
  }
  const std::string packed = without_spaces(wanted);
  for (const auto form : {&Forms::symbol, &Forms::whole, &Forms::called, &Forms::base}) {
    std::vector<std::size_t> meant;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (without_spaces(all[i].*form) == packed) meant.push_back(i);
    if (meant.size() == 1) return meant[0];
    if (meant.size() > 1) {
      std::vector<Forms> which;
      for (const auto i : meant) which.push_back(all[i]);
      return Error(ErrorCode::invalid_argument,
                   "which " + std::string(wanted) + " (--kernel)? There are " + list(which));
    }
  }
  return Error(ErrorCode::not_found, "no kernel \"" + std::string(wanted) + "\" in the object; there are " + list(all));
}

}  // namespace kiln::device::hip
