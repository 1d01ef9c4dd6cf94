#include "engine/profile/object_accesses.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace kiln::profile {
namespace {

using target::LdsOperation;

struct Prefix {
  std::string_view text;
  LdsOperation operation;
  int parts;
  int stride;  // of the offsets, in elements
};
// Longest first where one begins another.
constexpr std::array<Prefix, 12> prefixes = {{
    {"ds_read2st64_", LdsOperation::read, 2, 64},
    {"ds_write2st64_", LdsOperation::write, 2, 64},
    {"ds_load_2addr_stride64_", LdsOperation::read, 2, 64},
    {"ds_store_2addr_stride64_", LdsOperation::write, 2, 64},
    {"ds_read2_", LdsOperation::read, 2, 1},
    {"ds_write2_", LdsOperation::write, 2, 1},
    {"ds_load_2addr_", LdsOperation::read, 2, 1},
    {"ds_store_2addr_", LdsOperation::write, 2, 1},
    {"ds_read_", LdsOperation::read, 1, 1},
    {"ds_write_", LdsOperation::write, 1, 1},
    {"ds_load_", LdsOperation::read, 1, 1},
    {"ds_store_", LdsOperation::write, 1, 1},
}};

int number_at(std::string_view text, int fallback) {
  int value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The value of "name:7" among the operands, 0 without.
int field(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  return at == std::string_view::npos ? 0 : number_at(text.substr(at + name.size()), 0);
}

// Lanes' offsets moved by a constant; inactive ones stay.
std::vector<std::int64_t> moved(std::vector<std::int64_t> offsets, std::int64_t by) {
  for (auto& offset : offsets) offset = offset < 0 ? offset : offset + by;
  return offsets;
}

// Whether every active lane of `b` lies `distance` behind the same lane of `a`.
bool apart(const LdsInstruction& a, const LdsInstruction& b, std::int64_t distance) {
  if (a.offsets.size() != b.offsets.size() || a.storage != b.storage) return false;
  for (std::size_t lane = 0; lane < a.offsets.size(); ++lane) {
    if ((a.offsets[lane] < 0) != (b.offsets[lane] < 0)) return false;
    if (a.offsets[lane] >= 0 && b.offsets[lane] - a.offsets[lane] != distance) return false;
  }
  return true;
}

class Aligner {
 public:
  Aligner(const std::vector<LdsInstruction>& predicted, const target::Target& target)
      : predicted_(predicted), target_(target), taken_(predicted.size(), false) {}

  LdsInstruction row(const ObjectAccess& access) {
    LdsInstruction out = access.parts == 2 ? pair(access) : single(access);
    out.mnemonic = access.mnemonic;
    out.address = access.address;
    out.operation = access.operation;
    out.bytes = access.bytes * access.parts;
    return out;
  }

 private:
  [[nodiscard]] bool fits(std::size_t i, const ObjectAccess& access) const {
    return predicted_[i].operation == access.operation && predicted_[i].bytes == access.bytes;
  }
  [[nodiscard]] bool is_of(std::size_t i, const ObjectAccess& access) const {
    return !access.statement.empty() && predicted_[i].statement == access.statement;
  }

  // Whether its statement has predicted accesses of the kind, of any width: then it is one of those.
  [[nodiscard]] bool has_own(const ObjectAccess& access) const {
    for (std::size_t i = 0; i < predicted_.size(); ++i)
      if (predicted_[i].operation == access.operation && is_of(i, access)) return true;
    return false;
  }

  LdsInstruction pair(const ObjectAccess& access) {
    const std::int64_t distance = access.offsets[1] - access.offsets[0];
    // Of its statement, fresh ones first (a repeated body has them again); then fresh ones of any.
    for (const auto& [own, again] : {std::pair(true, false), std::pair(true, true), std::pair(false, false)}) {
      for (std::size_t i = 0; i < predicted_.size(); ++i) {
        if (taken_[i] != again || !fits(i, access) || (own && !is_of(i, access))) continue;
        for (std::size_t j = 0; j < predicted_.size(); ++j) {
          if (j == i || taken_[j] != again || !fits(j, access) || !apart(predicted_[i], predicted_[j], distance)) continue;
          taken_[i] = taken_[j] = true;
          return sum(predicted_[i], predicted_[j]);
        }
      }
    }
    const LdsInstruction first = single(access), second = single(access);
    return sum(first, second);
  }

  static LdsInstruction sum(LdsInstruction first, const LdsInstruction& second) {
    first.cost.cost += second.cost.cost;
    first.cost.ideal += second.cost.ideal;
    first.inferred = first.inferred || second.inferred;
    return first;
  }

  LdsInstruction single(const ObjectAccess& access) {
    const bool known = has_own(access);
    for (const bool again : {false, true}) {
      for (std::size_t i = 0; i < predicted_.size(); ++i) {
        if (taken_[i] != again || !fits(i, access) || (known && !is_of(i, access))) continue;
        taken_[i] = true;
        return predicted_[i];
      }
    }
    return other_width(access);
  }

  // The narrowest wider one split, else the widest narrower one merged with its neighbours: its lanes' offsets begin them.
  LdsInstruction other_width(const ObjectAccess& access) {
    std::size_t best = predicted_.size();
    const auto rank = [&](int bytes) { return bytes > access.bytes ? bytes : 1000 - bytes; };
    const bool own = has_own(access);
    for (std::size_t i = 0; i < predicted_.size(); ++i) {
      if (predicted_[i].operation != access.operation || (own && !is_of(i, access))) continue;
      if (best == predicted_.size() || rank(predicted_[i].bytes) < rank(predicted_[best].bytes)) best = i;
    }
    const auto rule = target_.bank_rule(access.operation, access.bytes);
    if (best == predicted_.size()) return unpredicted(access, rule);
    LdsInstruction out = predicted_[best];
    const int parts = std::max(1, out.bytes / access.bytes);
    out.cost = conflict_cost(rule, access.bytes, moved(out.offsets, std::int64_t(splits_++ % parts) * access.bytes));
    out.inferred = out.inferred || rule.inferred;
    return out;
  }

  LdsInstruction unpredicted(const ObjectAccess& access, const target::BankRule& rule) const {
    LdsInstruction out;
    std::vector<std::int64_t> dense;
    for (int lane = 0; lane < target_.wave; ++lane) dense.push_back(std::int64_t(lane) * access.bytes);
    out.cost = conflict_cost(rule, access.bytes, dense);
    out.cost.cost = out.cost.ideal;
    out.inferred = true;
    return out;
  }

  const std::vector<LdsInstruction>& predicted_;
  const target::Target& target_;
  std::vector<bool> taken_;
  int splits_ = 0;
};

}  // namespace

std::optional<ObjectAccess> object_access(std::string_view text) {
  const auto name = text.substr(0, text.find(' '));
  const auto* prefix = std::find_if(prefixes.begin(), prefixes.end(), [&](const Prefix& p) { return name.starts_with(p.text); });
  if (prefix == prefixes.end()) return std::nullopt;
  const auto width = name.substr(prefix->text.size());  // "b64", "u16_d16_hi", "b64_tr_b16", "addtid_b32"
  if (width.size() < 2 || std::string_view("biu").find(width[0]) == std::string_view::npos) return std::nullopt;
  const int bits = number_at(width.substr(1), 0);
  if (bits < 8 || bits > 128) return std::nullopt;
  ObjectAccess out;
  out.mnemonic = name;
  out.operation = prefix->operation;
  out.parts = prefix->parts;
  out.bytes = bits / 8;
  const std::int64_t unit = prefix->parts == 2 ? std::int64_t(out.bytes) * prefix->stride : 1;
  out.offsets[0] = field(text, prefix->parts == 2 ? "offset0:" : "offset:") * unit;
  out.offsets[1] = field(text, "offset1:") * unit;
  return out;
}

std::vector<LdsInstruction> object_rows(const std::vector<LdsInstruction>& predicted,
                                        const std::vector<ObjectAccess>& object, const target::Target& target) {
  Aligner aligner(predicted, target);
  std::vector<LdsInstruction> rows;
  rows.reserve(object.size());
  for (const auto& access : object) rows.push_back(aligner.row(access));
  return rows;
}

}  // namespace kiln::profile
