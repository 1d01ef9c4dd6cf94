// An argument of a launch as a command line gives it, and values in their types.
//   i32:5 f32:1.5 f16:0.5 u64:7 …   a value of that type
//   bytes:00ff10…                   a value by its bytes in hexadecimal: structures
//   buffer:BYTES                    zeroed device memory
//   in:FILE  inout:FILE             a file's bytes; inout: written back after the launch
//   out:FILE:BYTES                  zeroed memory, written to the file after the launch
//   random:TYPE:COUNT[:SEED]        uniform in [-1, 1), integers in -8 … 8 (unsigned: 0 … 16)
//   ptr:null                        a null pointer
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace kiln::device::hip {

enum class ValueType : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };
// Errors: invalid_argument, with the types that there are.
Result<ValueType> parse_value_type(const std::string& name);
std::size_t bytes_of(ValueType type);
// One element at `at` as JSON has it: a number, or "nan", "inf", "-inf" in quotes.
std::string value_json(ValueType type, const std::uint8_t* at);

struct LaunchArgument {
  std::string text;          // as it was given
  bool pointer = false;
  bool null = false;         // of pointers
  Bytes data;                // the value; of pointers what the memory holds first, nothing where that is zeros
  std::uint64_t bytes = 0;   // of the memory
  std::string write_to;      // a file that gets the memory afterwards; "": none
};
// Reads the files that it names. Errors: invalid_argument, resource_limit (more than the machine has left), the file's.
Result<LaunchArgument> parse_launch_argument(const std::string& text);

}  // namespace kiln::device::hip
