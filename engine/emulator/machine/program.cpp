#include "engine/emulator/machine/program.hpp"

namespace kiln::emulator {

Program::Program() = default;
Program::~Program() = default;

Result<std::unique_ptr<Program>> Program::load(ByteView bytes, const Card& card, const Core& core) {
  KILN_TRY(auto object, load_object(bytes, card.target.full));
  std::unique_ptr<Program> program(new Program);
  program->object_ = std::move(object);
  program->file_.assign(bytes.begin(), bytes.end());
  auto& loaded = program->object_;
  auto& instructions = loaded.code.instructions;
  // What the core does not cover is found out when it is executed, with its place.
  for (auto& instruction : instructions) (void)core.bind(instruction, card.family);
  auto& code = program->code_;
  code.code = instructions.data();
  code.instructions = static_cast<std::uint32_t>(instructions.size());
  code.index_of = loaded.code.index_of.data();
  code.begin = loaded.code.begin;
  code.bytes = loaded.code_bytes;
  code.assembly = &loaded.code.text;
  code.print_formats = &loaded.print_formats;
  code.functions = &loaded.functions;
  code.order_matters = order_may_matter(code.code, code.instructions);
  for (const auto& segment : loaded.segments) {
    const NamedRange range{segment.address, segment.address + segment.bytes,
                           segment.executable ? "the object's code"
                           : segment.writable ? "the object's variables"
                                              : "the object's constants"};
    (segment.writable ? code.writable_ranges : code.ranges).push_back(range);
  }
  return program;
}

const Kernel* Program::kernel(const std::string& name) const {
  const auto found = object_.kernels.find(name);
  return found == object_.kernels.end() ? nullptr : &found->second;
}

const ObjectVariable* Program::variable(const std::string& name) const {
  const auto found = object_.variables.find(name);
  return found == object_.variables.end() ? nullptr : &found->second;
}

SourceLines* Program::lines() const {
  if (!lines_read_) lines_ = SourceLines::read(file_);
  lines_read_ = true;
  return lines_.get();
}

void Program::add_lines(const Kernel& kernel, Profile& profile) const {
  const std::lock_guard lock(lines_mutex_);
  if (lines() == nullptr) return;
  const auto image = reinterpret_cast<std::uint64_t>(object_.image.begin());
  for (auto& row : profile.rows) row.source = lines_->at(kernel.entry - image + row.offset);
}

std::string Program::lines_of(const Kernel& kernel, const FaultReport& fault) const {
  const std::lock_guard lock(lines_mutex_);
  if (lines() == nullptr) return {};
  const auto first = kernel.entry - reinterpret_cast<std::uint64_t>(object_.image.begin());
  const auto place = [&](std::uint64_t offset) {
    const auto line = lines_->at(first + offset);
    return line.file.empty() ? "an unknown line" : line.file + ":" + std::to_string(line.line);
  };
  return place(fault.instruction_offset) +
         (fault.other_instruction.empty() ? "" : ", the other one's " + place(fault.other_offset));
}

bool Program::holds(std::uint64_t address, std::uint64_t bytes) const {
  for (const auto& segment : object_.segments) {
    if (segment.executable || address < segment.address || address - segment.address > segment.bytes) continue;
    if (bytes <= segment.bytes - (address - segment.address)) return true;
  }
  return false;
}

}  // namespace kiln::emulator
