// JSON of a profile: what kernel.profile answers (PROTOCOL.md, "Profiles").
#pragma once

#include "api/protocol/json.hpp"
#include "engine/jit/profile_report.hpp"

namespace kiln::service {

// The members that come from counting: counters, resources, occupancy, roofline, estimate, statements, lds_instructions, advice,
// launches. Counters are summed over the kernel's launches, the rest is the first launch's; all of them are under `launches`.
// `modelled` names the counters that come from the models under `models`.
protocol::Json profile_json(const jit::KernelProfile& profile);
// One of `launches`.
protocol::Json launch_json(const profile::Report& report);

}  // namespace kiln::service
