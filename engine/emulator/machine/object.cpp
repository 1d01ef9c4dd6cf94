#include "engine/emulator/machine/object.hpp"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "engine/compile/code_object.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint64_t page_bytes = 4096, alignment_max = std::uint64_t{1} << 21;
constexpr std::uint64_t image_bytes_max = std::uint64_t{1} << 30;
constexpr std::int64_t kernarg_bytes_max = 65536, threads_max = 1024;
constexpr std::size_t symbols_max = 100000, relocations_max = 1000000;
constexpr std::size_t functions_max = 20000, function_name_bytes_max = 200;
constexpr unsigned abi_version_4 = 2, abi_version_6 = 4;  // EI_ABIVERSION of code object versions 4 and 6

Error corrupt(const std::string& what) { return Error(ErrorCode::corrupt, "code object: " + what); }
Error unsupported(const std::string& what) { return Error(ErrorCode::unsupported, "code object: " + what); }

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

template <class T> bool copy_at(ByteView bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}
Result<ByteView> range_of(ByteView bytes, std::uint64_t offset, std::uint64_t size, const std::string& what) {
  if (offset > bytes.size() || size > bytes.size() - offset) return corrupt(what + " lies outside the file");
  return bytes.subspan(offset, size);
}

// ---- whom the object is for ----------------------------------------------------------------------------------------
// Two bits of e_flags a feature: 0 the processor does not have it, 1 any, 2 off, 3 on.
Result<std::string> target_id(std::uint32_t flags) {
  std::string name;
  switch (flags & 0xff) {
    case 0x3f: name = "gfx90a"; break;
    case 0x4c: name = "gfx942"; break;
    case 0x4f: name = "gfx950"; break;
    case 0x41: name = "gfx1100"; break;
    default: return unsupported("it is for a processor that is not emulated, ELF flags " + hex(flags));
  }
  const auto add = [&](const char* feature, unsigned setting) {
    if (setting >= 2) name += std::string(":") + feature + (setting == 3 ? "+" : "-");
  };
  add("sramecc", flags >> 10 & 3);
  add("xnack", flags >> 8 & 3);
  return name;
}

Status check_target(const Elf64_Ehdr& header, const std::string& isa) {
  const unsigned version = header.e_ident[EI_ABIVERSION];
  if (version < abi_version_4 || version > abi_version_6)
    return unsupported("only versions 4, 5 and 6 are read, its ABI version is " + std::to_string(version));
  KILN_TRY(const std::string id, target_id(header.e_flags));
  KILN_TRY(const auto made_for, target::parse_target(id));
  KILN_TRY(const auto card, target::parse_target(isa));
  if (target::serves(made_for, card)) return ok();
  return unsupported("it is for " + id + " (ELF flags " + hex(header.e_flags) + "), the card is " + isa);
}

// ---- the file ------------------------------------------------------------------------------------------------------
struct File {
  ByteView bytes;
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> loads;             // PT_LOAD with something in it, by address
  std::vector<Elf64_Shdr> sections;
};

Result<File> read_file_headers(ByteView bytes) {
  File file;
  file.bytes = bytes;
  auto& header = file.header;
  if (!copy_at(bytes, 0, header)) return corrupt("no ELF file");
  if (header.e_type != ET_DYN) return corrupt("it was not linked (ELF type " + std::to_string(header.e_type) + ")");
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))
    return corrupt("program headers of an unknown size");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phoff > bytes.size() || !copy_at(bytes, header.e_phoff + i * sizeof segment, segment))
      return corrupt("program headers lie outside the file");
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (segment.p_filesz > segment.p_memsz) return corrupt("a segment is larger in the file than in memory");
    KILN_CHECK(range_of(bytes, segment.p_offset, segment.p_filesz, "a segment"));
    file.loads.push_back(segment);
  }
  std::sort(file.loads.begin(), file.loads.end(),
            [](const auto& a, const auto& b) { return a.p_vaddr < b.p_vaddr; });
  if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr))
    return corrupt("section headers of an unknown size");
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (header.e_shoff > bytes.size() || !copy_at(bytes, header.e_shoff + i * sizeof section, section))
      return corrupt("section headers lie outside the file");
    file.sections.push_back(section);
  }
  return file;
}

// ---- memory --------------------------------------------------------------------------------------------------------
// Virtual addresses of the file and where they are in this process.
struct Layout {
  std::uint64_t lowest = 0;                  // virtual address of the image's first byte
  std::uint8_t* begin = nullptr;
  const File* file = nullptr;

  [[nodiscard]] std::uint64_t address(std::uint64_t virtual_address) const {
    return reinterpret_cast<std::uint64_t>(begin) + (virtual_address - lowest);
  }
  // [virtual_address, + bytes) inside one segment; null where it is not.
  [[nodiscard]] std::uint8_t* find(std::uint64_t virtual_address, std::uint64_t bytes) const {
    for (const auto& load : file->loads) {
      if (virtual_address < load.p_vaddr || virtual_address - load.p_vaddr > load.p_memsz) continue;
      if (load.p_memsz - (virtual_address - load.p_vaddr) < bytes) continue;
      return begin + (virtual_address - lowest);
    }
    return nullptr;
  }
};

Result<Layout> lay_out(const File& file, LoadedObject& object) {
  if (file.loads.empty()) return corrupt("nothing in it is loaded");
  std::uint64_t alignment = page_bytes, end = 0;
  for (const auto& load : file.loads) {
    if (load.p_align > alignment_max || (load.p_align & (load.p_align - 1)) != 0)
      return unsupported("a segment's alignment is " + hex(load.p_align));
    alignment = std::max<std::uint64_t>(alignment, load.p_align);
    if (load.p_vaddr < end) return corrupt("its segments overlap");
    if (load.p_memsz > image_bytes_max || load.p_vaddr > ~std::uint64_t{0} - load.p_memsz - alignment_max)
      return Error(ErrorCode::resource_limit, "code object: a segment of " + hex(load.p_memsz) + " bytes");
    end = load.p_vaddr + load.p_memsz;
  }
  Layout layout;
  layout.file = &file;
  layout.lowest = file.loads.front().p_vaddr & ~(alignment - 1);
  if (end - layout.lowest > image_bytes_max)
    return Error(ErrorCode::resource_limit, "code object: its image spans " + hex(end - layout.lowest) + " bytes");
  KILN_TRY(object.image, ObjectImage::map(end - layout.lowest, alignment));
  layout.begin = object.image.begin();
  for (const auto& load : file.loads) {
    std::uint8_t* const to = layout.begin + (load.p_vaddr - layout.lowest);
    if (load.p_filesz != 0) std::memcpy(to, file.bytes.data() + load.p_offset, load.p_filesz);
    object.segments.push_back({layout.address(load.p_vaddr), load.p_memsz, (load.p_flags & PF_W) != 0,
                               (load.p_flags & PF_X) != 0});
  }
  return layout;
}

// ---- symbols -------------------------------------------------------------------------------------------------------
struct Symbols {
  ByteView entries, names;
  [[nodiscard]] std::size_t count() const { return entries.size() / sizeof(Elf64_Sym); }
  [[nodiscard]] Elf64_Sym at(std::size_t index) const {
    Elf64_Sym symbol{};
    copy_at(entries, index * sizeof symbol, symbol);
    return symbol;
  }
  [[nodiscard]] std::string name(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names.size()) return "";
    const auto rest = text(names.subspan(symbol.st_name));
    return std::string(rest.substr(0, rest.find('\0')));
  }
};

// Of the section with that index; of type SHT_DYNSYM or SHT_SYMTAB.
Result<Symbols> read_symbols(const File& file, std::size_t index) {
  if (index >= file.sections.size()) return corrupt("a symbol table that does not exist");
  const auto& table = file.sections[index];
  if (table.sh_type != SHT_DYNSYM && table.sh_type != SHT_SYMTAB) return corrupt("a section that should have symbols");
  if (table.sh_link >= file.sections.size()) return corrupt("a symbol table without names");
  const auto& strings = file.sections[table.sh_link];
  Symbols symbols;
  KILN_TRY(symbols.entries, range_of(file.bytes, table.sh_offset, table.sh_size, "the symbol table"));
  KILN_TRY(symbols.names, range_of(file.bytes, strings.sh_offset, strings.sh_size, "the names of symbols"));
  if (symbols.count() > symbols_max) return corrupt("too many symbols");
  return symbols;
}

// The first table of the first of these types that there is.
Result<Symbols> find_symbols(const File& file, std::initializer_list<int> types) {
  for (const auto type : types) {
    for (std::size_t i = 0; i < file.sections.size(); ++i)
      if (file.sections[i].sh_type == static_cast<std::uint32_t>(type)) return read_symbols(file, i);
  }
  return corrupt("no symbol table");
}

// ---- relocations ---------------------------------------------------------------------------------------------------
// R_AMDGPU_*, by AMDGPUUsage's table.
enum Relocation : std::uint32_t {
  none = 0, abs32_lo = 1, abs32_hi = 2, abs64 = 3, rel32 = 4, rel64 = 5, abs32 = 6, rel32_lo = 10, rel32_hi = 11,
  relative64 = 13,
};

// Address of what a relocation names, as kernels see it. Weak symbols that nobody defines are 0.
Result<std::uint64_t> symbol_address(const Layout& layout, const Symbols& symbols, std::uint64_t index) {
  if (index == 0) return std::uint64_t{0};
  if (index >= symbols.count()) return corrupt("a relocation with a symbol that does not exist");
  const Elf64_Sym symbol = symbols.at(index);
  if (symbol.st_shndx == SHN_UNDEF) {
    if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK) return std::uint64_t{0};
    return unsupported("it needs \"" + symbols.name(symbol) + "\", which nothing defines");
  }
  if (symbol.st_shndx == SHN_ABS) return std::uint64_t{symbol.st_value};
  if (layout.find(symbol.st_value, 0) == nullptr) return corrupt("a symbol lies outside the image");
  return layout.address(symbol.st_value);
}

// Relocations may stand at addresses that are not aligned.
Status relocate(const Layout& layout, const Symbols& symbols, const Elf64_Rela& entry) {
  const std::uint64_t type = ELF64_R_TYPE(entry.r_info);
  if (type == none) return ok();
  const bool wide = type == abs64 || type == rel64 || type == relative64;
  std::uint8_t* const where = layout.find(entry.r_offset, wide ? 8 : 4);
  if (where == nullptr) return corrupt("a relocation outside the image");
  const auto addend = static_cast<std::uint64_t>(entry.r_addend);
  KILN_TRY(const std::uint64_t symbol, symbol_address(layout, symbols, ELF64_R_SYM(entry.r_info)));
  const std::uint64_t absolute = symbol + addend, relative = absolute - reinterpret_cast<std::uint64_t>(where);
  std::uint64_t value = 0;
  switch (type) {
    case abs32_lo:
    case abs64: value = absolute; break;
    case abs32_hi: value = absolute >> 32; break;
    case abs32:
      if (absolute >> 32 != 0) return unsupported("an address of more than 32 bits where it wants 32");
      value = absolute;
      break;
    case rel32:
      if (static_cast<std::int64_t>(relative) != static_cast<std::int32_t>(relative))
        return unsupported("a distance of more than 32 bits where it wants 32");
      value = relative;
      break;
    case rel32_lo:
    case rel64: value = relative; break;
    case rel32_hi: value = relative >> 32; break;
    case relative64: value = layout.address(addend); break;
    default: return unsupported("a relocation of type " + std::to_string(type));
  }
  std::memcpy(where, &value, wide ? 8 : 4);
  return ok();
}

Status apply_relocations(const File& file, const Layout& layout) {
  std::size_t total = 0;
  for (const auto& section : file.sections) {
    if ((section.sh_flags & SHF_ALLOC) == 0) continue;
    if (section.sh_type == SHT_REL) return unsupported("relocations without addends");
    if (section.sh_type != SHT_RELA) continue;
    KILN_TRY(const ByteView entries, range_of(file.bytes, section.sh_offset, section.sh_size, "a relocation section"));
    KILN_TRY(const Symbols symbols, read_symbols(file, section.sh_link));
    const std::size_t count = entries.size() / sizeof(Elf64_Rela);
    if ((total += count) > relocations_max) return corrupt("too many relocations");
    for (std::size_t i = 0; i < count; ++i) {
      Elf64_Rela entry;
      copy_at(entries, i * sizeof entry, entry);
      KILN_CHECK(relocate(layout, symbols, entry));
    }
  }
  return ok();
}

// ---- code and kernels ----------------------------------------------------------------------------------------------
Status decode_code(LoadedObject& object, const std::string& isa) {
  const ObjectSegment* code = nullptr;
  for (const auto& segment : object.segments) {
    if (!segment.executable) continue;
    if (code != nullptr) return unsupported("more than one executable segment");
    code = &segment;
  }
  if (code == nullptr) return corrupt("no executable segment");
  if (code->address % 4 != 0) return corrupt("code that is not aligned to 4 bytes");
  object.code_bytes = code->bytes / 4 * 4;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(code->address);  // NOLINT: an address of our own mapping
  KILN_TRY(object.code, decode({begin, static_cast<std::size_t>(object.code_bytes)}, code->address, isa));
  return ok();
}

// The kernel descriptor, 64 bytes.
struct Descriptor {
  std::uint32_t lds_bytes, private_bytes, kernarg_bytes, reserved0;
  std::int64_t entry_offset;
  std::uint8_t reserved1[20];
  std::uint32_t rsrc3, rsrc1, rsrc2;
  std::uint16_t properties, preload;
  std::uint32_t reserved2;
};
static_assert(sizeof(Descriptor) == 64);
constexpr unsigned property_wave32 = 1u << 10, property_dynamic_stack = 1u << 11;

Result<ObjectKernel> read_kernel(const compile::CodeKernel& kernel, std::uint64_t virtual_address, const Layout& layout,
                                 const LoadedObject& object) {
  const std::string what = "kernel " + kernel.name;
  const std::uint8_t* const at = layout.find(virtual_address, sizeof(Descriptor));
  if (at == nullptr) return corrupt(what + ": its descriptor lies outside the image");
  if (virtual_address % 64 != 0) return corrupt(what + ": its descriptor is not aligned");
  Descriptor descriptor;
  std::memcpy(&descriptor, at, sizeof descriptor);
  ObjectKernel result;
  result.name = kernel.name;
  result.descriptor = reinterpret_cast<std::uint64_t>(at);
  result.entry = result.descriptor + static_cast<std::uint64_t>(descriptor.entry_offset);
  const std::uint64_t offset = result.entry - object.code.begin;
  if (offset >= object.code_bytes || offset % 4 != 0 || object.code.index_of[offset / 4] == ~0u)
    return corrupt(what + ": it starts where no instruction is");
  result.lds_bytes = descriptor.lds_bytes;
  result.private_bytes = descriptor.private_bytes;
  const auto kernarg = std::max<std::int64_t>(kernel.resources.kernarg_bytes, descriptor.kernarg_bytes);
  if (kernarg < 0 || kernarg > kernarg_bytes_max)
    return corrupt(what + ": its arguments take " + std::to_string(kernarg) + " bytes");
  result.kernarg_bytes = static_cast<std::uint32_t>(kernarg);
  result.rsrc1 = descriptor.rsrc1;
  result.rsrc2 = descriptor.rsrc2;
  result.rsrc3 = descriptor.rsrc3;
  result.properties = descriptor.properties;
  result.preload_dwords = descriptor.preload & 0x7f;
  result.preload_offset = static_cast<std::uint16_t>(descriptor.preload >> 7);
  result.dynamic_stack = (descriptor.properties & property_dynamic_stack) != 0;
  for (const auto& argument : kernel.arguments) {
    const std::int64_t offset_in = argument.offset, size = argument.size;
    if (offset_in < 0 || size < 0 || offset_in > kernarg || size > kernarg - offset_in)
      return corrupt(what + ": an argument lies outside of its arguments");
  }
  result.arguments = kernel.arguments;
  const bool known_wave = kernel.wave == 0 || kernel.wave == 32 || kernel.wave == 64;
  if (kernel.threads_max < 0 || kernel.threads_max > threads_max || !known_wave)
    return corrupt(what + ": impossible numbers of threads");
  if (kernel.threads_max != 0) result.threads_max = static_cast<std::uint32_t>(kernel.threads_max);
  result.wave = (descriptor.properties & property_wave32) != 0 ? 32 : 64;
  if (kernel.wave != 0 && kernel.wave != result.wave) return corrupt(what + ": its descriptor has another wave size");
  return result;
}

Status read_contents(const File& file, const Layout& layout, const compile::CodeObject& described,
                     LoadedObject& object) {
  KILN_TRY(const Symbols symbols, find_symbols(file, {SHT_DYNSYM, SHT_SYMTAB}));
  std::map<std::string, std::uint64_t> values;
  for (std::size_t i = 1; i < symbols.count(); ++i) {
    const Elf64_Sym symbol = symbols.at(i);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
    if (layout.find(symbol.st_value, symbol.st_size) == nullptr)
      return corrupt("\"" + symbols.name(symbol) + "\" lies outside the image");
    values.emplace(symbols.name(symbol), symbol.st_value);
    object.variables[symbols.name(symbol)] = {layout.address(symbol.st_value), symbol.st_size};
  }
  for (const auto& kernel : described.kernels) {
    const auto at = values.find(kernel.symbol);
    if (at == values.end()) return corrupt("kernel " + kernel.name + " has no descriptor");
    KILN_TRY(auto read, read_kernel(kernel, at->second, layout, object));
    object.variables.erase(kernel.symbol);
    if (!object.kernels.emplace(kernel.name, std::move(read)).second)
      return corrupt("two kernels are named " + kernel.name);
  }
  return ok();
}

// For reports alone: what is malformed is left out.
void read_functions(const File& file, const Layout& layout, LoadedObject& object) {
  const auto symbols = find_symbols(file, {SHT_SYMTAB, SHT_DYNSYM});
  if (!symbols) return;
  auto& functions = object.functions;
  for (std::size_t i = 1; i < symbols->count() && functions.size() < functions_max; ++i) {
    const Elf64_Sym symbol = symbols->at(i);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    const std::uint64_t address = layout.address(symbol.st_value);
    if (address - object.code.begin >= object.code_bytes || symbol.st_name >= symbols->names.size()) continue;
    const auto rest = symbols->names.subspan(symbol.st_name);
    const auto bytes = text(rest.first(std::min(rest.size(), function_name_bytes_max)));
    const auto name = bytes.substr(0, bytes.find('\0'));
    // A report's lines have a meaning: a name must not begin one.
    const bool spoils = std::any_of(name.begin(), name.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; });
    if (!name.empty() && !spoils) functions.push_back({address, symbol.st_size, std::string(name)});
  }
  const auto before = [](const auto& a, const auto& b) { return a.address < b.address; };
  const auto same = [](const auto& a, const auto& b) { return a.address == b.address; };
  std::stable_sort(functions.begin(), functions.end(), before);
  functions.erase(std::unique(functions.begin(), functions.end(), same), functions.end());
}

}  // namespace

Result<ObjectImage> ObjectImage::map(std::uint64_t bytes, std::uint64_t alignment) {
  ObjectImage image;
  // Pages are aligned already; what a larger alignment needs is mapped beside.
  const std::uint64_t extra = alignment > page_bytes ? alignment : 0;
  image.mapping_bytes_ = bytes + extra;
  void* const mapping = mmap(nullptr, image.mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    image.mapping_bytes_ = 0;
    return Error(ErrorCode::out_of_memory, "no memory for a code object of " + std::to_string(bytes) + " bytes");
  }
  image.mapping_ = mapping;
  const auto at = reinterpret_cast<std::uint64_t>(mapping);
  image.begin_ = static_cast<std::uint8_t*>(mapping) + ((at + alignment - 1) / alignment * alignment - at);
  return image;
}
ObjectImage::~ObjectImage() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}
ObjectImage::ObjectImage(ObjectImage&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}
ObjectImage& ObjectImage::operator=(ObjectImage&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

Result<LoadedObject> load_object(ByteView bytes, const std::string& isa) {
  KILN_TRY(const auto described, compile::read_code_object(bytes));  // checks the ELF magic, class and machine
  KILN_TRY(const File file, read_file_headers(bytes));
  KILN_CHECK(check_target(file.header, isa));
  LoadedObject object;
  object.print_formats = described.print_formats;
  KILN_TRY(const Layout layout, lay_out(file, object));
  KILN_CHECK(apply_relocations(file, layout));
  KILN_CHECK(decode_code(object, isa));
  KILN_CHECK(read_contents(file, layout, described, object));
  read_functions(file, layout, object);
  return object;
}

}  // namespace kiln::emulator
