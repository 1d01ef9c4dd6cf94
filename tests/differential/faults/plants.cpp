#include "tests/differential/faults/plants.hpp"

#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace kiln::test {
namespace {

using Places = std::vector<Place>;
using Change = std::function<std::optional<std::string>(const std::string& line)>;

// A place for each line that the change is for.
Places each(const Lines& lines, const Change& change) {
  Places places;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (auto changed = change(lines[i])) places.push_back({{{i, *changed}}});
  return places;
}
// One place of all lines that the change is for.
Places together(const Lines& lines, const Change& change) {
  Place place;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (auto changed = change(lines[i])) place.changes.emplace_back(i, *changed);
  return place.changes.empty() ? Places() : Places{place};
}

Change replace(const char* pattern, const char* by) {
  return [expression = std::regex(pattern), by](const std::string& line) -> std::optional<std::string> {
    if (!std::regex_search(line, expression)) return std::nullopt;
    return std::regex_replace(line, expression, by);
  };
}

bool has(const std::string& line, const char* part) { return line.find(part) != std::string::npos; }

// ---- who uses what -------------------------------------------------------------------------------------------------
// Names that lines with one of `parts` use, those among them that other definitions lead to included.
std::set<std::string> used_by(const Lines& lines, std::initializer_list<const char*> parts, bool directly = false) {
  static const std::regex name("[abilmu]_[0-9]+"), definition("const (?:u32|i32|i64|bool) ([abilmu]_[0-9]+) = (.*)");
  std::set<std::string> used;
  const auto add = [&](const std::string& text) {
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) used.insert(at->str());
  };
  for (const auto& line : lines)
    for (const char* part : parts)
      if (has(line, part)) add(line);
  for (std::size_t i = directly ? 0 : lines.size(); i-- > 0;) {  // definitions come before uses
    std::smatch found;
    if (std::regex_search(lines[i], found, definition) && used.contains(found[1])) add(found[2]);
  }
  return used;
}

// Changes of the definitions of offsets that `by` uses and `not_by` does not.
Places definitions(const Lines& lines, std::initializer_list<const char*> by, std::initializer_list<const char*> not_by,
                   const Change& change) {
  static const std::regex definition("const u32 (l_[0-9]+) = ");
  const auto users = used_by(lines, by), others = used_by(lines, not_by);
  return each(lines, [&](const std::string& line) -> std::optional<std::string> {
    std::smatch found;
    if (!std::regex_search(line, found, definition)) return std::nullopt;
    if (!users.contains(found[1]) || others.contains(found[1])) return std::nullopt;
    return change(line);
  });
}

// ---- bounds --------------------------------------------------------------------------------------------------------
// Innermost pairs of lines that begin and end a block.
std::vector<std::pair<std::size_t, std::size_t>> blocks_of(const Lines& lines) {
  std::vector<std::pair<std::size_t, std::size_t>> blocks;
  std::optional<std::size_t> begin;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ends_with('{')) begin = i;
    if (lines[i].find_first_not_of(' ') != std::string::npos && lines[i].ends_with('}') && begin) {
      blocks.emplace_back(*begin, i);
      begin.reset();
    }
  }
  return blocks;
}

// Each bound of an index in the blocks whose accesses are of one kind, one element too small; where an access moves
// several, whose first one the index is, by as many as there can be.
Places shorter_bounds(const Lines& lines, const char* access, const char* not_access) {
  static const std::regex bound(R"(\(u32\)\([^()]*(?:\([^()]*\))?[^()]*\) < ([0-9]+)u)"),
      wide("<vec<[a-z0-9]+, [0-9]+>");
  Places places;
  for (const auto& [begin, end] : blocks_of(lines)) {
    std::set<int> bounds;
    bool right = false, wrong = false;
    int width = 1;
    for (std::size_t i = begin; i < end; ++i) {
      right = right || has(lines[i], access);
      wrong = wrong || has(lines[i], not_access);
      std::smatch found;
      if (has(lines[i], access) && std::regex_search(lines[i], found, wide)) width = 16;
      for (std::sregex_iterator at(lines[i].begin(), lines[i].end(), bound), last; at != last; ++at)
        bounds.insert(std::stoi((*at)[1]));
    }
    if (!right || wrong) continue;
    for (const int old : bounds) {
      if (old <= width) continue;
      Place place;
      const std::regex exact(" < " + std::to_string(old) + "u");
      for (std::size_t i = begin; i < end; ++i)
        if (std::regex_search(lines[i], exact))
          place.changes.emplace_back(i, std::regex_replace(lines[i], exact, " < " + std::to_string(old - width) + "u"));
      places.push_back(std::move(place));
    }
  }
  return places;
}
Places shorter_loads(const Lines& lines) { return shorter_bounds(lines, " load_", "store_"); }
Places shorter_stores(const Lines& lines) { return shorter_bounds(lines, "store_", "store_lds"); }

// The bound of loops, by one trip.
Places other_trips(const Lines& lines, const char* sign) {
  static const std::regex loop(R"(for \(i32 v[0-9]+ = [^;]*; v[0-9]+ < (e_[0-9]+); v[0-9]+ \+= ([0-9]+)\))");
  Places places;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch found;
    if (!std::regex_search(lines[i], found, loop)) continue;
    const std::regex definition("(const i32 " + found[1].str() + " = )(.*);");
    for (std::size_t j = 0; j < i; ++j)
      if (std::regex_search(lines[j], definition))
        places.push_back({{{j, std::regex_replace(lines[j], definition, "$1($2) " + std::string(sign) + " " +
                                                                            found[2].str() + ";")}}});
  }
  return places;
}

// ---- the faults ----------------------------------------------------------------------------------------------------
Places removed_barrier(const Lines& lines) { return each(lines, replace(R"(^( *)barrier\(\);)", "$1")); }
Places barrier_of_some(const Lines& lines) {
  return each(lines, replace(R"(^( *)barrier\(\);)", "$1if (wave != 0u) barrier();"));
}
Places wave_leaves(const Lines& lines) {
  return each(lines, replace(R"(^( *)barrier\(\);)", "$1if (wave == 1u) return;\n$1barrier();"));
}
Places operand_lane(const Lines& lines) {
  return definitions(lines, {"load_lds"}, {"store_lds", "load_buffer", "load_global", "store_buffer", "store_global"},
                     replace(R"(= \(lane & (31|15)u\) \* )", "= ((lane ^ 1u) & $1u) * "));
}
Places result_lane(const Lines& lines) {
  return definitions(lines, {"store_buffer", "store_global"}, {"store_lds", "load_"},
                     replace(R"(= \(lane & (31|15)u\) \* )", "= ((lane ^ 1u) & $1u) * "));
}
Places short_loop(const Lines& lines) { return other_trips(lines, "-"); }
Places long_loop(const Lines& lines) { return other_trips(lines, "+"); }
Places endless_loop(const Lines& lines) {
  return each(lines, replace(R"(for \((i32 v[0-9]+ = [^;]*; v[0-9]+ < e_[0-9]+; v[0-9]+ \+=) [0-9]+\))", "for ($1 0)"));
}
Places skipped_fill(const Lines& lines) { return each(lines, replace("^( *)store_lds<.*", "$1")); }
Places half_fill(const Lines& lines) {
  return each(lines, replace("^( *)(store_lds<.*)", "$1if ((lane & 16u) == 0u) $2"));
}
// Integers only: what stands in the registers may be left over from other uses, so that they count as written, and
// left-over addresses are denormal numbers as f32, which no sum shows.
Places accumulator(const Lines& lines) {
  return together(lines, replace(R"(^  r[0-9]+\[[0-9]+\] = vec<i32, [0-9]+>\(0\);)", ""));
}
Places fragment(const Lines& lines) {
  return each(lines, replace(R"(^( +)r[0-9]+\[[0-9]+\] = (__builtin_shufflevector\(x_|x_[0-9]+;).*)", "$1"));
}
Places swapped_operands(const Lines& lines) {
  return together(lines, replace(R"(((?:mfma|wmma)_[a-z0-9_]+)\((r[0-9]+\[[0-9]+\]), (r[0-9]+\[[0-9]+\]), )",
                                 "$1($3, $2, "));
}
// Of what loads add to their addresses, not of the indices that their masks compare: rows that are loaded in vain are
// no fault.
Places other_stride(const Lines& lines) {
  static const std::regex stride(R"(const u32 (l_[0-9]+) = (.*)wave \* ([0-9]+)u(.*))");
  const auto added = used_by(lines, {" load_buffer", " load_global"}, true), others = used_by(lines, {"_lds"});
  return each(lines, [&](const std::string& line) -> std::optional<std::string> {
    std::smatch found;
    if (!std::regex_search(line, found, stride)) return std::nullopt;
    if (!added.contains(found[1]) || others.contains(found[1])) return std::nullopt;
    const int half = std::stoi(found[3]) / 2 / 16 * 16;
    return std::regex_replace(line, stride, "const u32 $1 = $2wave * " + std::to_string(half) + "u$4");
  });
}
Places no_swizzle(const Lines& lines) {
  return definitions(lines, {"store_lds"}, {"load_"}, replace(R"( \^ \()", " + 0u * ("));
}
Places truncated(const Lines& lines) {
  return together(lines, replace(R"(to_bf16\(\(f32\)\((r[^()]*)\)\))",
                                 "bf16(__builtin_bit_cast(u32, (f32)($1)) >> 16)"));
}
Places no_scale(const Lines& lines) { return together(lines, replace(R"( \* 0x1\.715476p-3f)", "")); }
Places causal(const Lines& lines) { return together(lines, replace(R"(\) <= \(\(([0-9]+ \* )?b([xy]))", ") < (($1b$2")); }
Places half_reduction(const Lines& lines) { return each(lines, replace(R"(^( *).*[ (]exchange<[0-9]+>.*)", "$1")); }
Places no_rescale(const Lines& lines) {
  auto places = together(lines, replace(R"(^( *)(r[0-9]+\[[0-9]+\]\[[0-9]+\]) = \(\2 \* r[0-9]+\[0\]\);)", "$1"));
  for (auto& place : together(lines, replace(R"(^( *)(r[0-9]+\[0\]) = \(\2 \* r[0-9]+\[0\]\);)", "$1")))
    places.push_back(std::move(place));
  return places;
}
Places one_place(const Lines& lines) {
  const auto stored = used_by(lines, {"store_buffer", "store_global"});
  static const std::regex definition(R"(const (?:u32|i64) (u_[0-9]+) = .*bx)");
  return each(lines, [&](const std::string& line) -> std::optional<std::string> {
    std::smatch found;
    if (!std::regex_search(line, found, definition) || !stored.contains(found[1])) return std::nullopt;
    return std::regex_replace(line, std::regex("\\bbx\\b"), "0");
  });
}
// The buffer, or the offset from the pointer, that stores (loads) use, moved behind the tensor.
Places outside(const Lines& lines, const char* access, const char* buffer_access) {
  const auto used = used_by(lines, {buffer_access});
  static const std::regex buffer(R"(const buffer (b_[0-9]+) = make_buffer\((p[0-9]+), ([0-9]+)u\);)");
  Places places = each(lines, [&](const std::string& line) -> std::optional<std::string> {
    std::smatch found;
    if (!std::regex_search(line, found, buffer) || !used.contains(found[1])) return std::nullopt;
    return std::regex_replace(line, buffer, "const buffer $1 = make_buffer((char*)$2 + $3u, $3u);");
  });
  const std::regex global(std::string("(") + access + R"(<.*>\(p[0-9]+, )([a-z_0-9]+), )");
  // All of them: what is masked out as a whole is never executed.
  for (auto& place : together(lines, [&](const std::string& line) -> std::optional<std::string> {
         if (!std::regex_search(line, global)) return std::nullopt;
         return std::regex_replace(line, global, "$1$2 + 100000000, ");
       }))
    places.push_back(std::move(place));
  return places;
}
Places store_outside(const Lines& lines) { return outside(lines, "store_global", "store_buffer"); }
Places load_outside(const Lines& lines) { return outside(lines, "load_global", "load_buffer"); }
Places small_lds(const Lines& lines) {
  static const std::regex size(R"(KILN_LDS\(lds, ([0-9]+)\);)");
  return each(lines, [](const std::string& line) -> std::optional<std::string> {
    std::smatch found;
    if (!std::regex_search(line, found, size)) return std::nullopt;
    return std::regex_replace(line, size, "KILN_LDS(lds, " + std::to_string(std::stoi(found[1]) / 2) + ");");
  });
}
Places other_tile(const Lines& lines) {
  return each(lines, replace(R"((store_lds<.*>\(lds, a_[0-9]+) \+ [0-9]+u,)", "$1 + 16u,"));
}
Places other_tensor(const Lines& lines) {
  return each(lines, replace(R"(make_buffer\(p1, )", "make_buffer(p0, "));
}
Places other_head(const Lines& lines) {
  return each(lines, replace(R"(\(u32\)\(by\) / 2u)", "(u32)(by) % 2u"));
}
Places late_prefetch(const Lines& lines) {
  return each(lines, replace(R"(smaller<i32>\(\((v[0-9]+) \+ [0-9]+\), )", "smaller<i32>(($1 + 0), "));
}

}  // namespace

Lines lines_of_text(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}
std::string joined(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

std::string planted(const Lines& lines, const Place& place, std::string& shown) {
  Lines changed = lines;
  for (const auto& [at, line] : place.changes) changed[at] = line;
  const auto& [first, line] = place.changes.front();
  const auto trimmed = [](const std::string& text) {
    const auto at = text.find_first_not_of(' ');
    return at == std::string::npos ? std::string("(nothing)") : text.substr(at);
  };
  shown = "line " + std::to_string(first + 1) + ": " + trimmed(lines[first]) + "  ->  " +
          trimmed(line.substr(0, line.find('\n')));
  return joined(changed);
}

const std::vector<Plant>& plants() {
  static const std::vector<Plant> all = {
      {"barrier removed", {"gemm", "flash_attention"}, removed_barrier},
      {"barrier that one wave skips", {"gemm", "flash_attention"}, barrier_of_some},
      {"wave that ends before a barrier", {"gemm", "flash_attention"}, wave_leaves},
      {"operand of another lane", {"gemm", "flash_attention"}, operand_lane},
      {"result of another lane", {"gemm", "flash_attention"}, result_lane},
      {"bound of a load one short", {"gemm", "softmax", "rmsnorm", "flash_attention"}, shorter_loads},
      {"bound of a store one short", {"gemm", "softmax", "rmsnorm", "flash_attention"}, shorter_stores},
      {"last trip of a loop dropped", {"gemm", "flash_attention"}, short_loop},
      {"one trip of a loop too many", {"gemm"}, long_loop},
      {"loop without end", {"gemm", "flash_attention"}, endless_loop},
      {"part of a tile not filled", {"gemm", "flash_attention"}, skipped_fill},
      {"half of a fill", {"gemm", "flash_attention"}, half_fill},
      {"accumulator not initialised", {"gemm"}, accumulator},
      {"fragment not loaded", {"gemm", "flash_attention"}, fragment},
      {"operands swapped", {"gemm", "flash_attention"}, swapped_operands},
      {"stride of another size", {"gemm", "softmax", "rmsnorm", "flash_attention"}, other_stride},
      {"swizzle left out where it is written", {"gemm", "flash_attention"}, no_swizzle},
      {"rounding by truncation", {"convert"}, truncated},
      {"scale left out", {"flash_attention"}, no_scale},
      {"causal mask by one", {"flash_attention"}, causal},
      {"reduction without some lanes", {"softmax", "rmsnorm", "flash_attention"}, half_reduction},
      {"accumulator not rescaled", {"flash_attention"}, no_rescale},
      {"blocks store to one place", {"gemm", "softmax", "rmsnorm", "flash_attention"}, one_place},
      {"store out of range", {"gemm", "softmax", "rmsnorm", "flash_attention"}, store_outside},
      {"load out of range", {"gemm", "softmax", "rmsnorm", "flash_attention"}, load_outside},
      {"too little LDS", {"gemm", "flash_attention"}, small_lds},
      {"tile stored over another one", {"gemm", "flash_attention"}, other_tile},
      {"another tensor loaded", {"gemm", "flash_attention"}, other_tensor},
      {"head of another group", {"flash_attention"}, other_head},
      {"prefetch of the same tile again", {"gemm", "flash_attention"}, late_prefetch},
      {"fp8 in the other encoding", {"fp8_product"}, [](const Lines& lines) {
         return each(lines, replace(R"(constexpr u32 bias = ([0-9]+);)", "constexpr u32 bias = 15u - $1u;"));
       }},
  };
  return all;
}

}  // namespace kiln::test
