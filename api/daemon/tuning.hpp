// The service's Tuner over engine/tune, with the records beside the cache and those that came with Kiln.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/daemon/configuration.hpp"
#include "api/service/tuner.hpp"

namespace kiln::daemon {

// `log` receives a line for each damaged record, from any thread.
std::shared_ptr<service::Tuner> open_tuner(const Configuration& configuration, std::shared_ptr<jit::Session> session,
                                           std::function<void(const std::string&)> log);

}  // namespace kiln::daemon
