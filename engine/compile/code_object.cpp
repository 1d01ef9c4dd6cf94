#include "engine/compile/code_object.hpp"

#include <elf.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace kiln::compile {
namespace {

constexpr unsigned machine_amdgpu = 224;      // EM_AMDGPU
constexpr std::uint32_t note_metadata = 32;   // NT_AMDGPU_METADATA
constexpr int depth_max = 16;
constexpr std::size_t nodes_max = 200000, symbols_max = 100000;

Error corrupt(const std::string& what) { return Error(ErrorCode::corrupt, "code object: " + what); }

// ---- MessagePack, as much of it as metadata needs ------------------------------------------------------------------
struct Node {
  std::int64_t integer = 0;
  std::string text;
  std::map<std::string, Node> fields;
  std::vector<Node> items;
};

// Fills a tree; refuses what is too deep or too large. nlohmann's reader recurses, the depth check stops it in time.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Handler(Node& root) : root_(root) {}
  bool null() override { return leaf() != nullptr; }
  bool boolean(bool value) override { return number(value); }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<std::int64_t>(value)); }
  bool number_float(number_float_t, const string_t&) override { return leaf() != nullptr; }
  bool string(string_t& value) override {
    Node* node = leaf();
    if (node) node->text = value;
    return node != nullptr;
  }
  bool binary(binary_t&) override { return leaf() != nullptr; }
  bool start_object(std::size_t) override { return descend(); }
  bool key(string_t& value) override { key_ = value; return true; }
  bool end_object() override { stack_.pop_back(); return true; }
  bool start_array(std::size_t) override {
    if (!descend()) return false;
    stack_.back().array = true;
    return true;
  }
  bool end_array() override { stack_.pop_back(); return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  struct Level { Node* node; bool array = false; };
  Node* leaf() {
    if (++nodes_ > nodes_max) return nullptr;
    if (stack_.empty()) return &root_;
    if (!stack_.back().array) return &stack_.back().node->fields[key_];
    return &stack_.back().node->items.emplace_back();
  }
  bool number(std::int64_t value) {
    Node* node = leaf();
    if (node) node->integer = value;
    return node != nullptr;
  }
  bool descend() {
    if (stack_.size() >= depth_max) return false;
    Node* node = leaf();
    if (node == nullptr) return false;
    stack_.push_back({node});
    return true;
  }

  Node& root_;
  std::vector<Level> stack_;  // a parent's items do not grow while a child is open: pointers stay valid
  std::string key_;
  std::size_t nodes_ = 0;
};

const Node& field(const Node& node, const char* name) {
  static const Node none;
  const auto at = node.fields.find(name);
  return at == node.fields.end() ? none : at->second;
}

CodeKernel kernel_of(const Node& node) {
  CodeKernel kernel;
  kernel.name = field(node, ".name").text;
  kernel.symbol = field(node, ".symbol").text;
  auto& r = kernel.resources;
  r.vgprs = field(node, ".vgpr_count").integer;
  r.agprs = field(node, ".agpr_count").integer;
  r.sgprs = field(node, ".sgpr_count").integer;
  r.vgpr_spills = field(node, ".vgpr_spill_count").integer;
  r.sgpr_spills = field(node, ".sgpr_spill_count").integer;
  r.lds_bytes = field(node, ".group_segment_fixed_size").integer;
  r.scratch_bytes = field(node, ".private_segment_fixed_size").integer;
  r.kernarg_bytes = field(node, ".kernarg_segment_size").integer;
  kernel.wave = field(node, ".wavefront_size").integer;
  kernel.threads_max = field(node, ".max_flat_workgroup_size").integer;
  for (const auto& extent : field(node, ".reqd_workgroup_size").items) kernel.block.push_back(extent.integer);
  if (kernel.block.size() != 3) kernel.block.clear();
  for (const auto& arg : field(node, ".args").items) {
    kernel.arguments.push_back(
        {field(arg, ".value_kind").text, field(arg, ".offset").integer, field(arg, ".size").integer});
  }
  return kernel;
}

Status read_metadata(ByteView note, CodeObject& object) {
  Node root;
  Handler handler(root);
  try {
    if (!nlohmann::json::sax_parse(note.begin(), note.end(), &handler, nlohmann::json::input_format_t::msgpack,
                                   false)) {
      return corrupt("its metadata is no MessagePack, or too deep");
    }
  } catch (const std::exception& failure) {
    return corrupt(std::string("its metadata: ") + failure.what());
  }
  object.isa = field(root, "amdhsa.target").text;
  for (const auto& kernel : field(root, "amdhsa.kernels").items) object.kernels.push_back(kernel_of(kernel));
  for (const auto& format : field(root, "amdhsa.printf").items) object.print_formats.push_back(format.text);
  return ok();
}

// ---- ELF -----------------------------------------------------------------------------------------------------------
template <class T> bool copy_at(ByteView bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}
Result<ByteView> range_of(ByteView bytes, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    return corrupt(std::string(what) + " lies outside the file");
  return bytes.subspan(offset, size);
}

Result<std::vector<Elf64_Shdr>> sections_of(ByteView bytes, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr))
    return corrupt("section headers of an unknown size");
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (header.e_shoff > bytes.size() || !copy_at(bytes, header.e_shoff + i * sizeof section, section))
      return corrupt("section headers lie outside the file");
    sections.push_back(section);
  }
  return sections;
}

// Notes: u32 name size, description size, type; then both, each padded to 4.
Status read_notes(ByteView notes, CodeObject& object) {
  std::uint64_t at = 0;
  std::uint32_t head[3];
  while (copy_at(notes, at, head)) {
    const std::uint64_t name = at + sizeof head, description = name + (std::uint64_t(head[0]) + 3) / 4 * 4;
    KILN_TRY(const ByteView owner, range_of(notes, name, head[0], "a note's name"));
    KILN_TRY(const ByteView content, range_of(notes, description, head[1], "a note"));
    if (head[2] == note_metadata && text(owner).starts_with("AMDGPU")) return read_metadata(content, object);
    at = description + (std::uint64_t(head[1]) + 3) / 4 * 4;
  }
  return ok();
}

std::string string_at(ByteView strings, std::uint64_t offset) {
  if (offset >= strings.size()) return "";
  const auto rest = text(strings.subspan(offset));
  return std::string(rest.substr(0, rest.find('\0')));
}

Status read_functions(ByteView bytes, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table,
                      CodeObject& object) {
  KILN_TRY(const ByteView symbols, range_of(bytes, table.sh_offset, table.sh_size, "the symbol table"));
  if (table.sh_link >= sections.size()) return corrupt("a symbol table without names");
  KILN_TRY(const ByteView names,
           range_of(bytes, sections[table.sh_link].sh_offset, sections[table.sh_link].sh_size, "the names of symbols"));
  const std::size_t count = symbols.size() / sizeof(Elf64_Sym);
  if (count > symbols_max) return corrupt("too many symbols");
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Sym symbol;
    copy_at(symbols, i * sizeof symbol, symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx >= sections.size()) continue;
    const auto& home = sections[symbol.st_shndx];
    if (symbol.st_value < home.sh_addr || symbol.st_value - home.sh_addr > home.sh_size)
      return corrupt("a function lies outside its section");
    const std::uint64_t offset = home.sh_offset + (symbol.st_value - home.sh_addr);
    KILN_CHECK(range_of(bytes, offset, symbol.st_size, "a function"));
    object.functions.push_back({string_at(names, symbol.st_name), symbol.st_value, offset, symbol.st_size});
  }
  return ok();
}

}  // namespace

Result<CodeObject> read_code_object(ByteView bytes) {
  Elf64_Ehdr header;
  if (!copy_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != machine_amdgpu) {
    return corrupt("no 64-bit AMDGPU ELF file");
  }
  CodeObject object;
  object.elf_flags = header.e_flags;
  KILN_TRY(const auto sections, sections_of(bytes, header));
  const Elf64_Shdr* table = nullptr;
  for (const auto& section : sections) {
    if (section.sh_type == SHT_NOTE) {
      KILN_TRY(const ByteView notes, range_of(bytes, section.sh_offset, section.sh_size, "a note section"));
      KILN_CHECK(read_notes(notes, object));
    }
    if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && table == nullptr)) table = &section;
  }
  if (header.e_shstrndx < sections.size()) {
    const auto& home = sections[header.e_shstrndx];
    KILN_TRY(const ByteView names, range_of(bytes, home.sh_offset, home.sh_size, "the names of sections"));
    for (const auto& section : sections) {
      const auto name = string_at(names, section.sh_name);
      const bool lines = name == ".debug_line", text = name == ".debug_str" || name == ".debug_line_str";
      if ((!lines && !text) || section.sh_type == SHT_NOBITS) continue;
      KILN_CHECK(range_of(bytes, section.sh_offset, section.sh_size, "the debug information"));
      if (text) object.debug_sections.emplace_back(section.sh_offset, section.sh_size);
      if (!lines) continue;
      object.lines_offset = section.sh_offset;
      object.lines_size = section.sh_size;
    }
  }
  if (object.kernels.empty()) return corrupt("no kernel in its metadata");
  if (table != nullptr) KILN_CHECK(read_functions(bytes, sections, *table, object));
  return object;
}

Status check_code_object(const CodeObject& object, const target::Target& target) {
  if (object.elf_flags == target.elf_flags) return ok();
  char message[96];
  std::snprintf(message, sizeof message, "its ELF flags are 0x%x, those of %.20s are 0x%x", object.elf_flags,
                target.arch.c_str(), target.elf_flags);
  return corrupt(message);
}

}  // namespace kiln::compile
