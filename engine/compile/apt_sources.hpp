// The machine's package sources (sources.list(5)), as far as finding Debian's mirror needs them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kiln::compile {

struct AptSource {
  std::vector<std::string> uris, suites, components;
  std::string signed_by;      // path of a keyring; "" when none or a key in place
};
// Both forms: one line ("deb [signed-by=…] URI suite main") and deb822. Sources of type deb that are enabled, in order.
std::vector<AptSource> parse_sources_list(const std::string& text);
std::vector<AptSource> parse_deb822(const std::string& text);
// sources.list, then sources.list.d/*.list and *.sources by name. Unreadable files are skipped.
std::vector<AptSource> read_apt_sources(const std::string& apt_folder);

// The source that serves Debian's archive itself (not security or updates): its component main and a suite of Debian's.
struct DebianMirror { std::string uri, keyring; };
std::optional<DebianMirror> debian_mirror(const std::vector<AptSource>& sources);

}  // namespace kiln::compile
