// Register arrays as text: arrays of vectors, so that narrow elements stay packed around loops.
#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

using kernel::Storage;

// 8-bit elements in vectors of four and more: LLVM would keep each in a register of its own, so they are held as u32.
bool as_dwords(const Storage& storage) { return dtype_bits(storage.dtype) == 8 && storage.vector_elements % 4 == 0; }
int held_per_vector(const Storage& storage) {
  return as_dwords(storage) ? storage.vector_elements / 4 : storage.vector_elements;
}
std::string held_type(const Storage& storage) { return as_dwords(storage) ? "u32" : element_type(storage.dtype); }

std::string vector_of(const std::string& type, int count) {
  return count == 1 ? type : "vec<" + type + ", " + std::to_string(count) + ">";
}
std::string name_of(int id) { return "r" + std::to_string(id); }

// The `index`-th held value (element, or u32 of four).
std::string held(const Storage& storage, int id, int index) {
  const int per = held_per_vector(storage);
  std::string text = name_of(id) + "[" + std::to_string(index / per) + "]";
  if (per > 1) text += "[" + std::to_string(index % per) + "]";
  return text;
}

// Held values first … first + count - 1 as one value.
std::string held_run(const Storage& storage, int id, int first, int count) {
  const int per = held_per_vector(storage);
  const std::string vector = name_of(id) + "[" + std::to_string(first / per) + "]";
  if (count == 1) return held(storage, id, first);
  if (first % per == 0 && count == per) return vector;
  if (per > 1 && first / per == (first + count - 1) / per) {
    std::string text = "__builtin_shufflevector(" + vector + ", " + vector;
    for (int i = 0; i < count; ++i) text += ", " + std::to_string(first % per + i);
    return text + ")";
  }
  std::string text = vector_of(held_type(storage), count) + "{";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + held(storage, id, first + i);
  return text + "}";
}

bool consecutive(const std::vector<int>& regs) {
  for (std::size_t i = 1; i < regs.size(); ++i) {
    if (regs[i] != regs[0] + static_cast<int>(i)) return false;
  }
  return true;
}

bool packs_dwords(DType type, int elements) { return dtype_bits(type) == 8 && elements % 4 == 0; }

std::string byte_of(const Storage& storage, int id, int reg) {
  return "extract_byte(" + held(storage, id, reg / 4) + ", " + std::to_string(reg % 4) + ")";
}

}  // namespace

std::string register_declaration(const Storage& storage, int id) {
  const int registers = storage.reg_layout.registers();
  const int vectors = (registers + storage.vector_elements - 1) / storage.vector_elements;
  return vector_of(held_type(storage), held_per_vector(storage)) + " " + name_of(id) + "[" + std::to_string(vectors) +
         "];";
}

std::string data_type(DType type, int elements) {
  if (packs_dwords(type, elements)) return vector_of("u32", elements / 4);
  return vector_of(element_type(type), elements);
}

std::string register_value(const Storage& storage, int id, int reg) {
  const std::string raw = as_dwords(storage) ? byte_of(storage, id, reg) : held(storage, id, reg);
  if (storage.dtype == DType::boolean) return "(" + raw + " != 0)";
  return as_dwords(storage) && storage.dtype != DType::u8 ? element_type(storage.dtype) + "(" + raw + ")" : raw;
}

std::string register_store(const Storage& storage, int id, int reg, const std::string& value) {
  const std::string element = storage.dtype == DType::boolean ? cast_to("u8", value) : value;
  if (!as_dwords(storage)) return held(storage, id, reg) + " = " + element + ";";
  const std::string at = held(storage, id, reg / 4);
  return at + " = insert_byte(" + at + ", " + std::to_string(reg % 4) + ", u8(" + element + "));";
}

std::string registers_value(const Storage& storage, int id, const std::vector<int>& regs) {
  const int count = static_cast<int>(regs.size());
  const bool dwords = packs_dwords(storage.dtype, count);
  if (as_dwords(storage) && dwords && consecutive(regs) && regs[0] % 4 == 0)
    return held_run(storage, id, regs[0] / 4, count / 4);
  if (!as_dwords(storage) && !dwords && consecutive(regs)) return held_run(storage, id, regs[0], count);
  const auto raw = [&](int reg) { return as_dwords(storage) ? byte_of(storage, id, reg) : held(storage, id, reg); };
  if (!dwords && count == 1)
    return as_dwords(storage) ? element_type(storage.dtype) + "(" + raw(regs[0]) + ")" : raw(regs[0]);
  std::vector<std::string> elements;
  for (const int reg : regs) elements.push_back(raw(reg));
  return vector_value(storage.dtype, elements);
}

std::string vector_value(DType type, const std::vector<std::string>& elements) {
  const int count = static_cast<int>(elements.size());
  if (count == 1) return elements[0];
  const bool dwords = packs_dwords(type, count);
  std::string text;
  for (int i = 0; i < count; i += dwords ? 4 : 1) {
    if (i > 0) text += ", ";
    text += dwords ? "four_bytes(u8(" + elements[i] + "), u8(" + elements[i + 1] + "), u8(" + elements[i + 2] +
                         "), u8(" + elements[i + 3] + "))"
                   : element_type(type) + "(" + elements[i] + ")";
  }
  return dwords && count == 4 ? text : data_type(type, count) + "{" + text + "}";
}

void registers_store(Context& context, int id, const std::vector<int>& regs, const std::string& name) {
  const Storage& storage = context.storage(id);
  const int count = static_cast<int>(regs.size());
  const bool dwords = packs_dwords(storage.dtype, count), same = dwords == as_dwords(storage);
  const int per_held = as_dwords(storage) ? 4 : 1, per = held_per_vector(storage);
  if (same && consecutive(regs) && regs[0] % per_held == 0) {
    const int first = regs[0] / per_held, values = count / per_held;
    for (int i = 0; i < values;) {
      const bool whole = (first + i) % per == 0 && values - i >= per && per > 1;
      const int step = whole ? per : 1;
      std::string value = name;
      if (whole && values != per) {
        value = "__builtin_shufflevector(" + name + ", " + name;
        for (int k = 0; k < per; ++k) value += ", " + std::to_string(i + k);
        value += ")";
      } else if (!whole && values > 1) {
        value += "[" + std::to_string(i) + "]";
      }
      const std::string to =
          whole ? name_of(id) + "[" + std::to_string((first + i) / per) + "]" : held(storage, id, first + i);
      context.line(to + " = " + value + ";");
      i += step;
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    std::string value = name;
    if (dwords)
      value = "extract_byte(" + name + (count == 4 ? "" : "[" + std::to_string(i / 4) + "]") + ", " +
              std::to_string(i % 4) + ")";
    else if (count > 1) value += "[" + std::to_string(i) + "]";
    if (!as_dwords(storage)) {
      context.line(held(storage, id, regs[i]) + " = " + element_type(storage.dtype) + "(" + value + ");");
    } else {
      const std::string at = held(storage, id, regs[i] / 4);
      context.line(at + " = insert_byte(" + at + ", " + std::to_string(regs[i] % 4) + ", u8(" + value + "));");
    }
  }
}

}  // namespace kiln::emit::hip
