#include "engine/emit/hip_context.hpp"

#include <numeric>

namespace kiln::emit::hip {
namespace {

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

// Terms for the bits of one index; bits whose contributions double from one to the next share a term.
void add_terms(std::vector<std::string>& terms, const std::string& index, const std::vector<std::int64_t>& bits,
               bool exclusive) {
  for (std::size_t first = 0; first < bits.size();) {
    if (bits[first] == 0) {
      ++first;
      continue;
    }
    std::size_t end = first + 1;
    // Exclusive or of multiples is only a multiple when the factor is one bit.
    while (end < bits.size() && bits[end] == bits[end - 1] * 2 && (!exclusive || is_power_of_two(bits[first]))) ++end;
    const std::int64_t mask = (std::int64_t(1) << (end - first)) - 1;
    std::string term = first == 0 ? index : "(" + index + " >> " + std::to_string(first) + ")";
    if (end < bits.size() || first != 0) term = "(" + term + " & " + unsigned_text(mask) + ")";
    if (end == bits.size() && first != 0) term = "(" + index + " >> " + std::to_string(first) + ")";
    terms.push_back(bits[first] == 1 ? term : term + " * " + unsigned_text(bits[first]));
    first = end;
  }
}

}  // namespace

Context::Context(const kernel::Program& of, const kernel::Launch& which, const target::Target& on)
    : program(of), launch(which), target(on), ranges(kernel::ranges_of(of.symbols, which.grid)) {
  for (const auto& symbol : of.symbols) divisors.symbols.push_back(symbol.multiple_of & -symbol.multiple_of);
}

std::int64_t LanePart::sum() const {
  return std::accumulate(lane.begin(), lane.end(), std::int64_t(0)) +
         std::accumulate(wave.begin(), wave.end(), std::int64_t(0));
}

LanePart lane_part(const layout::RegLayout& layout, const std::vector<std::int64_t>& weights) {
  LanePart part;
  const auto weigh = [&](const layout::Basis& basis, std::vector<std::int64_t>& to) {
    for (const auto& vector : basis.vectors) {
      std::int64_t value = 0;
      for (std::size_t axis = 0; axis < weights.size(); ++axis) value += weights[axis] * vector[axis];
      to.push_back(value);
    }
  };
  weigh(layout.lane, part.lane);
  weigh(layout.wave, part.wave);
  return part;
}

void Context::line(const std::string& text) { out += std::string(2 * depth, ' ') + text + "\n"; }

std::string Context::hoisted(const std::string& prefix, const std::string& type, const std::string& text) {
  const auto at = hoisted_.find(type + text);
  if (at != hoisted_.end()) return at->second;
  const std::string name = fresh(prefix);
  prologue_.push_back("const " + type + " " + name + " = " + text + ";");
  hoisted_.emplace(type + text, name);
  return name;
}

std::string Context::lane_terms(const LanePart& part, bool exclusive) const {
  std::vector<std::string> terms;
  add_terms(terms, "lane", part.lane, exclusive);
  add_terms(terms, "wave", part.wave, exclusive);
  std::string text;
  for (const auto& term : terms)
    text += (text.empty() ? "" : exclusive ? " ^ " : " + ") + (exclusive && terms.size() > 1 ? "(" + term + ")" : term);
  return text;
}

std::string Context::lane_sum(const LanePart& part) {
  const std::string text = lane_terms(part, false);
  if (text.empty()) return "0u";
  return text == "lane" || text == "wave" ? text : hoisted("l", "u32", text);
}

std::string Context::lane_xor(const LanePart& part) {
  const std::string text = lane_terms(part, true);
  if (text.empty()) return "0u";
  return text == "lane" || text == "wave" ? text : hoisted("l", "u32", text);
}

}  // namespace kiln::emit::hip
