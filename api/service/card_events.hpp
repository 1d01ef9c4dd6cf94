// Events of cards: those that clients hand over by IPC handle, and the card's own that clients open.
#pragma once

#include <string>

#include "engine/device/device.hpp"

namespace kiln::service {

// One event on one device; closed there when the connection and the launches that use it have let go.
class CardEvent {
 public:
  CardEvent(device::Device& device, std::string device_name, device::EventId id)
      : device_(device), device_name_(std::move(device_name)), id_(id) {}
  ~CardEvent() { (void)device_.close_event(id_); }
  CardEvent(const CardEvent&) = delete;
  [[nodiscard]] device::EventId id() const { return id_; }
  [[nodiscard]] const device::Device& device() const { return device_; }
  [[nodiscard]] const std::string& device_name() const { return device_name_; }

 private:
  device::Device& device_;   // the session's: outlives every connection
  const std::string device_name_;
  const device::EventId id_;
};

}  // namespace kiln::service
