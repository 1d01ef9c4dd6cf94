#include "tests/fuzz/code_objects/mutations.hpp"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace kiln::test {
namespace {

template <class T> T at(const Bytes& bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view name_at(const Bytes& bytes, std::size_t table, std::size_t offset) {
  const std::size_t begin = table + offset;
  if (begin >= bytes.size()) return "";
  const auto* text = reinterpret_cast<const char*>(bytes.data() + begin);
  return {text, ::strnlen(text, bytes.size() - begin)};
}

// A number that code about sizes gets wrong.
std::uint64_t awkward(std::mt19937_64& random, std::size_t file) {
  const std::uint64_t numbers[] = {0,          1,          2,           3,          7,        8,
                                   63,         64,         0x7f,        0x80,       0xff,     0xffff,
                                   0x7fffffff, 0x80000000, 0xffffffff,  file - 1,   file,     file + 1,
                                   ~0ull,      ~0ull - 7,  1ull << 63,  1ull << 40, 1ull << 32, random()};
  return numbers[random() % std::size(numbers)];
}

void overwrite(Bytes& bytes, std::size_t offset, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width && offset + i < bytes.size(); ++i)
    bytes[offset + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// The leading bits of the encodings, so that random words are instructions more often than not.
std::uint32_t likely_instruction(std::mt19937_64& random, bool rdna) {
  struct Encoding {
    std::uint32_t bits;
    int count;
  };
  constexpr Encoding cdna_encodings[] = {
      {0b101111101, 9}, {0b10, 2},     {0b1011, 4},    {0b101111110, 9}, {0b101111111, 9}, {0b110000, 6},
      {0b0111111, 7},   {0b0111110, 7}, {0b0, 1},      {0b110100, 6},    {0b110100111, 9}, {0b110110, 6},
      {0b110111, 6},    {0b111000, 6}, {0b111010, 6}};
  constexpr Encoding rdna_encodings[] = {
      {0b101111101, 9}, {0b10, 2},     {0b1011, 4},    {0b101111110, 9}, {0b101111111, 9}, {0b111101, 6},
      {0b0111111, 7},   {0b0111110, 7}, {0b0, 1},      {0b110101, 6},    {0b11001100, 8},  {0b110010, 6},
      {0b110110, 6},    {0b110111, 6}, {0b111000, 6},  {0b111010, 6}};
  const auto& encoding = rdna ? rdna_encodings[random() % std::size(rdna_encodings)]
                              : cdna_encodings[random() % std::size(cdna_encodings)];
  const auto word = static_cast<std::uint32_t>(random());
  const int rest = 32 - encoding.count;
  return encoding.bits << rest | (word & ((1u << rest) - 1));
}

}  // namespace

Mutator::Mutator(Bytes object) : object_(std::move(object)) { find_parts(); }

void Mutator::find_parts() {
  const auto header = at<Elf64_Ehdr>(object_, 0);
  constexpr std::uint32_t processor_mask = 0xff, gfx1100 = 0x41;   // EF_AMDGPU_MACH
  rdna_ = (header.e_flags & processor_mask) == gfx1100;
  parts_.push_back({"header", 0, sizeof header, 2});
  parts_.push_back({"segments", header.e_phoff, std::size_t(header.e_phnum) * sizeof(Elf64_Phdr), 8});
  parts_.push_back({"sections", header.e_shoff, std::size_t(header.e_shnum) * sizeof(Elf64_Shdr), 8});
  const auto section = [&](std::size_t i) { return at<Elf64_Shdr>(object_, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto one = section(i);
    if (one.sh_offset > object_.size() || one.sh_size > object_.size() - one.sh_offset) continue;
    if (one.sh_type == SHT_NOTE) parts_.push_back({"metadata", one.sh_offset, one.sh_size, 1});
    if (one.sh_type == SHT_DYNAMIC) parts_.push_back({"dynamic", one.sh_offset, one.sh_size, 8});
    if (one.sh_type == SHT_HASH || one.sh_type == SHT_GNU_HASH)
      parts_.push_back({"hash", one.sh_offset, one.sh_size, 4});
    if (one.sh_flags & SHF_EXECINSTR) parts_.push_back({"code", one.sh_offset, one.sh_size, 4});
    if (one.sh_type != SHT_DYNSYM && one.sh_type != SHT_SYMTAB) continue;
    parts_.push_back({"symbols", one.sh_offset, one.sh_size, 4});
    const auto strings = section(one.sh_link);
    for (std::size_t s = 0; s + sizeof(Elf64_Sym) <= one.sh_size; s += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(object_, one.sh_offset + s);
      if (!name_at(object_, strings.sh_offset, symbol.st_name).ends_with(".kd") || symbol.st_shndx >= header.e_shnum)
        continue;
      const auto home = section(symbol.st_shndx);
      parts_.push_back({"descriptor", home.sh_offset + symbol.st_value - home.sh_addr, 64, 4});
    }
  }
  std::erase_if(parts_, [&](const Part& part) {
    return part.bytes < part.record || part.begin > object_.size() || part.bytes > object_.size() - part.begin;
  });
}

const Mutator::Part* Mutator::pick(std::mt19937_64& random, const char* name) const {
  std::vector<const Part*> found;
  for (const auto& part : parts_)
    if (part.name == name) found.push_back(&part);
  return found.empty() ? nullptr : found[random() % found.size()];
}

Bytes Mutator::mutant(std::mt19937_64& random, std::string& story) const {
  Bytes bytes = object_;
  static constexpr const char* places[] = {"header",  "segments", "sections", "symbols", "metadata", "metadata",
                                           "dynamic", "hash",     "descriptor", "descriptor", "code", "code", "code"};
  const auto rounds = 1 + random() % 3;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto kind = random() % 20;
    if (kind == 0) {
      bytes.resize(random() % (bytes.size() + 1));
      story += "truncated to " + std::to_string(bytes.size()) + "; ";
      return bytes;
    }
    if (kind == 1) {
      const auto flips = 1 + random() % 16;
      for (std::uint64_t i = 0; i < flips; ++i) bytes[random() % bytes.size()] ^= 1u << random() % 8;
      story += std::to_string(flips) + " bits flipped anywhere; ";
      continue;
    }
    const char* const name = places[random() % std::size(places)];
    const Part* const part = pick(random, name);
    if (part == nullptr) continue;
    const std::size_t entries = part->bytes / part->record, first = random() % entries;
    const std::size_t where = part->begin + first * part->record;
    story += std::string(name) + " at " + std::to_string(where) + "; ";
    switch (random() % 4) {
      case 0: bytes[where + random() % part->record] ^= 1u << random() % 8; break;
      case 1: overwrite(bytes, where, awkward(random, bytes.size()), part->record); break;
      case 2: {  // some of it from elsewhere in the same part
        const std::size_t from = part->begin + random() % entries * part->record;
        const std::size_t count = std::min<std::size_t>(part->record * (1 + random() % 8),
                                                        part->begin + part->bytes - std::max(from, where));
        std::memmove(bytes.data() + where, object_.data() + from, count);
        break;
      }
      default:
        for (auto left = 1 + random() % 6; left > 0; --left) {
          const std::size_t place = part->begin + random() % entries * part->record;
          overwrite(bytes, place, part->name == "code" ? likely_instruction(random, rdna_) : random(), part->record);
        }
    }
  }
  return bytes;
}

}  // namespace kiln::test
