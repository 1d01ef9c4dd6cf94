// Reads the statements of a launch; used by read_program.
#pragma once

#include "engine/ir/tile/field_reader.hpp"

namespace kiln::tile {

// The statements of the array `node`, in order; those with a mistake are left out, and reported.
Body read_body(ReadContext& context, const JsonNode& node, const std::string& pointer);

// {"pad": 8}, {"swizzle": {…}}, "auto", "row_major", or layout_spec_text's form.
LayoutSpec read_layout(ReadContext& context, const JsonNode& node, const std::string& pointer);

const std::vector<std::string>& reduce_op_names();  // in the order of ReduceOp

}  // namespace kiln::tile
