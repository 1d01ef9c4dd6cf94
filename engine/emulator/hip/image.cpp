#include "engine/emulator/hip/image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kiln::emulator {
namespace {

constexpr char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint64_t object_bytes_max = std::uint64_t(1) << 30, bundle_entries_max = 4096;

Error corrupt(const std::string& what) { return Error(ErrorCode::corrupt, "the module's image: " + what); }

// Readable bytes from `pointer` on, as this process's mappings go.
std::uint64_t readable_bytes(const void* pointer) {
  const auto begin = reinterpret_cast<std::uint64_t>(pointer);
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  char line[512];
  std::uint64_t covered = begin;
  bool starts = true;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    const bool head = starts;
    starts = std::strchr(line, '\n') != nullptr;
    unsigned long from = 0, to = 0;
    char access[8] = {};
    if (!head || std::sscanf(line, "%lx-%lx %7s", &from, &to, access) != 3 || to <= covered) continue;
    if (from > covered || access[0] != 'r') break;
    covered = to;
  }
  std::fclose(maps);
  return std::min(covered - begin, object_bytes_max);
}

template <class T> bool copy_at(ByteView bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

// How far the file goes: to the end of its headers and of what they describe.
Result<ByteView> elf_file(ByteView memory) {
  Elf64_Ehdr header;
  if (!copy_at(memory, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("no ELF file");
  std::uint64_t end = sizeof header;
  bool inside = true;
  const auto cover = [&](std::uint64_t offset, std::uint64_t size) {
    inside = inside && offset <= memory.size() && size <= memory.size() - offset;
    if (inside) end = std::max(end, offset + size);
  };
  cover(header.e_shoff, std::uint64_t(header.e_shnum) * sizeof(Elf64_Shdr));
  cover(header.e_phoff, std::uint64_t(header.e_phnum) * sizeof(Elf64_Phdr));
  for (unsigned i = 0; inside && i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    copy_at(memory, header.e_shoff + i * sizeof section, section);
    if (section.sh_type != SHT_NOBITS) cover(section.sh_offset, section.sh_size);
  }
  for (unsigned i = 0; inside && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    copy_at(memory, header.e_phoff + i * sizeof segment, segment);
    cover(segment.p_offset, segment.p_filesz);
  }
  if (!inside) return corrupt("the ELF file goes beyond the memory that is mapped there");
  return memory.first(end);
}

// Format: clang's documentation, "Clang Offload Bundler", "Bundled Binary File Layout".
Result<ByteView> unbundle(ByteView memory, const target::Target& target) {
  std::uint64_t at = sizeof bundle_magic - 1, count = 0;
  if (!copy_at(memory, at, count) || count > bundle_entries_max) return corrupt("a bundle with an impossible count");
  at += sizeof count;
  std::string seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t entry[3];   // offset, size, length of the id
    if (!copy_at(memory, at, entry) || entry[2] > 256 || at + sizeof entry + entry[2] > memory.size())
      return corrupt("a bundle that is cut short");
    const std::string id(text(memory.subspan(at + sizeof entry, entry[2])));
    at += sizeof entry + entry[2];
    const auto dashes = id.find("amdhsa-");
    if (dashes == std::string::npos) continue;
    const auto name = id.substr(id.find_first_not_of('-', dashes + 6));
    seen += (seen.empty() ? "" : ", ") + name;
    const auto made_for = target::parse_target(name);
    if (!made_for || !target::serves(*made_for, target)) continue;
    if (entry[0] > memory.size() || entry[1] > memory.size() - entry[0]) return corrupt("a bundle that is cut short");
    return elf_file(memory.subspan(entry[0], entry[1]));
  }
  return Error(ErrorCode::unsupported, "the module's bundle has code for " + (seen.empty() ? "no card" : seen) +
                                           ", not for " + target.full);
}

}  // namespace

Result<ByteView> find_object(const void* image, const target::Target& target) {
  if (image == nullptr) return corrupt("a null pointer");
  const ByteView memory(static_cast<const std::uint8_t*>(image), readable_bytes(image));
  const auto begins = [&](std::string_view magic) { return text(memory).starts_with(magic); };
  if (begins(bundle_magic)) return unbundle(memory, target);
  if (begins("CCOB"))
    return Error(ErrorCode::unsupported, "the module's image is a compressed bundle: compile without compression");
  return elf_file(memory);
}

}  // namespace kiln::emulator
