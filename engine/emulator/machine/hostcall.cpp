#include "engine/emulator/machine/hostcall.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/emulator/machine/hostcall_format.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint64_t header_bytes = 24, payload_bytes = 4096, lane_bytes = 64;
constexpr std::uint64_t packets_max = 1 << 20;
// Of a message, and of all that are not yet complete.
constexpr std::uint64_t words_max = 512 << 10, all_words_max = 8 << 20;

// Offsets in the buffer's memory.
enum : std::uint64_t {
  headers_at = 0, payloads_at = 8, doorbell_at = 16, free_at = 24, ready_at = 32, mask_at = 40,
  signal_at = 128,       // amd_signal_t: i64 kind, i64 value, u64 address of the mailbox, u32 event
  mailbox_at = 192,
  first_header = 256,
};
enum : std::uint64_t { next_in = 0, lanes_in = 8, service_in = 16, control_in = 20 };
enum : std::uint32_t { service_function = 1, service_print = 2, service_memory = 3 };

template <class T> T& place(const HostPages& memory, std::uint64_t offset) {
  return *reinterpret_cast<T*>(memory.at(offset));
}
// Kernels on other threads may write at any time: each value is read once.
template <class T> T read(const HostPages& memory, std::uint64_t offset) {
  return __atomic_load_n(&place<T>(memory, offset), __ATOMIC_ACQUIRE);
}

// A message's descriptor: bit 0 begins it, bit 1 ends it, bits 5 to 7 say how many words follow, the rest is its
// number.
struct Descriptor {
  explicit Descriptor(std::uint64_t word)
      : begins((word & 1) != 0), ends((word & 2) != 0), words(word >> 5 & 7), number(word >> 8), bits(word) {}
  [[nodiscard]] std::uint64_t begun_as(std::uint64_t id) const { return (bits & 0xfe) | id << 8; }
  bool begins, ends;
  std::uint64_t words, number, bits;
};

}  // namespace

const char* describe(HostCallFault fault) {
  switch (fault) {
    case HostCallFault::none: return "nothing is wrong with it";
    case HostCallFault::packet_twice: return "its stack of requests goes in circles";
    case HostCallFault::no_request: return "its stack of requests holds a packet that waits for nothing";
    case HostCallFault::host_function: return "it asks to call a function of the host, which kernels here cannot";
    case HostCallFault::device_memory: return "it asks for memory of the device, whose heap is not provided here";
    case HostCallFault::unknown_service: return "it asks for a service that does not exist";
    case HostCallFault::no_message: return "it adds to a message that was not begun";
    case HostCallFault::message_too_long: return "its message is longer than 4 MiB";
    case HostCallFault::too_many_messages: return "it begins messages and does not end them";
  }
  return "unknown";
}

Status HostCalls::open(std::uint64_t packets) {
  packets_ = std::bit_ceil(std::clamp<std::uint64_t>(packets, 2, packets_max));
  mask_ = packets_ - 1;
  headers_ = first_header;
  payloads_ = (headers_ + packets_ * header_bytes + payload_bytes - 1) / payload_bytes * payload_bytes;
  KILN_CHECK(memory_.map(payloads_ + packets_ * payload_bytes, "a launch's calls to its host"));
  const auto set = [&](std::uint64_t offset, std::uint64_t value) { place<std::uint64_t>(memory_, offset) = value; };
  set(headers_at, memory_.begin() + headers_);
  set(payloads_at, memory_.begin() + payloads_);
  set(doorbell_at, memory_.begin() + signal_at);
  set(mask_at, mask_);
  set(signal_at, 1);                                   // a user's signal
  set(signal_at + 16, memory_.begin() + mailbox_at);
  // Index 0 needs a tag: 0 is no packet. The last packet is on top.
  for (std::uint64_t i = 1; i < packets_; ++i) set(headers_ + i * header_bytes + next_in, i == 1 ? packets_ : i - 1);
  set(free_at, packets_ - 1);
  return ok();
}

// The indices of a whole ready stack, the oldest first.
HostCallFault HostCalls::take(std::uint64_t first, Words& indices) const {
  for (std::uint64_t link = first; link != 0;) {
    const std::uint64_t index = link & mask_;   // there are as many packets as the mask has room for
    if (indices.size() == packets_) return HostCallFault::packet_twice;
    indices.push_back(index);
    link = read<std::uint64_t>(memory_, headers_ + index * header_bytes + next_in);
  }
  std::reverse(indices.begin(), indices.end());
  return HostCallFault::none;
}

HostCalls::Answer HostCalls::serve() {
  Answer result;
  if (read<std::uint64_t>(memory_, ready_at) == 0) return result;
  const std::lock_guard lock(mutex_);
  Words indices;
  result.fault = take(__atomic_exchange_n(&place<std::uint64_t>(memory_, ready_at), 0, __ATOMIC_ACQ_REL), indices);
  for (const std::uint64_t index : indices) {
    if (result.fault != HostCallFault::none || output_.cancelled()) break;
    result.fault = answer(index, result);
    ++result.packets;
  }
  return result;
}

HostCallFault HostCalls::answer(std::uint64_t index, Answer& answer) {
  const std::uint64_t header = headers_ + index * header_bytes;
  if ((read<std::uint32_t>(memory_, header + control_in) & 1) == 0) return HostCallFault::no_request;
  const auto service = read<std::uint32_t>(memory_, header + service_in);
  if (service == service_function) return HostCallFault::host_function;
  if (service == service_memory) return HostCallFault::device_memory;
  if (service != service_print) return HostCallFault::unknown_service;
  for (auto left = read<std::uint64_t>(memory_, header + lanes_in); left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint64_t>(std::countr_zero(left));
    auto* const slot = memory_.at(payloads_ + index * payload_bytes + lane * lane_bytes);
    std::uint64_t words[8];
    std::memcpy(words, slot, sizeof words);
    const auto fault = print(words, answer);
    if (fault != HostCallFault::none) return fault;
    std::memcpy(slot, words, 2 * sizeof *words);   // two words are the answer
  }
  __atomic_store_n(&place<std::uint32_t>(memory_, header + control_in), 0u, __ATOMIC_RELEASE);
  return HostCallFault::none;
}

// One lane's part of its message; words[0] becomes the answer.
HostCallFault HostCalls::print(std::uint64_t* words, Answer& answer) {
  const Descriptor descriptor(words[0]);
  std::uint64_t number = descriptor.number;
  if (descriptor.begins) {
    if (messages_.size() >= packets_ * 64) return HostCallFault::too_many_messages;
    number = next_message_++;
    messages_.emplace(number, Words());
    words[0] = descriptor.begun_as(number);
  }
  const auto found = messages_.find(number);
  if (found == messages_.end()) return HostCallFault::no_message;
  auto& message = found->second;
  message_words_ += descriptor.words;
  if (message.size() + descriptor.words > words_max) return HostCallFault::message_too_long;
  if (message_words_ > all_words_max) return HostCallFault::too_many_messages;
  message.insert(message.end(), words + 1, words + 1 + descriptor.words);
  if (!descriptor.ends) return HostCallFault::none;
  words[0] = finish(message, answer);
  message_words_ -= message.size();
  messages_.erase(found);
  return HostCallFault::none;
}

// A whole message: a word that says where it goes (0 stdout, 1 stderr), the format, the arguments. What printf gives
// back.
std::uint64_t HostCalls::finish(const Words& message, Answer& answer) {
  constexpr std::uint64_t refused = ~std::uint64_t(0);
  if (message.empty() || message[0] > 1 || output_.dropping()) return refused;
  const bool error = message[0] == 1;
  const ByteView bytes(reinterpret_cast<const std::uint8_t*>(message.data() + 1), (message.size() - 1) * 8);
  const auto format = terminated(bytes);
  WordArguments arguments(bytes.subspan(std::min(bytes.size(), (format.size() + 8) / 8 * 8)));
  const auto text = format_print(format, arguments, output_.room());
  if (error && answer.error_text.empty()) answer.error_text = text;
  return output_.write(error, text) ? text.size() : refused;
}

}  // namespace kiln::emulator
