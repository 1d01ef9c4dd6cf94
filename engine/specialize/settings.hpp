// Puts a caller's settings into a program: symbols, options, tunables, parameters, constraints.
#pragma once

#include "engine/specialize/expression_binder.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::specialize {

// Declares symbols, options and tunables in `context.names` and reports what cannot be set as asked; then checks
// constraints. `sample` gives symbols without a value one that keeps their promises (check_program); otherwise that is
// a mistake. Returns what everything was set to, in the order of the program.
std::vector<ResolvedBinding> bind_settings(BindContext& context, const tile::Program& program, const Bindings& bindings,
                                           bool sample);

// Makes `context.tensors` and declares the parameters, then the workspace.
void bind_params(BindContext& context, const tile::Program& program, const Bindings& bindings);

}  // namespace kiln::specialize
