#include "tests/differential/emulator/emulated_card.hpp"

#include <cstring>

#include "engine/emulator/machine/core_loader.hpp"

namespace kiln::test {

Result<std::unique_ptr<EmulatedCard>> EmulatedCard::create(const std::string& target, const std::string& core) {
  std::unique_ptr<EmulatedCard> made(new EmulatedCard());
  made->core_name_ = core;
  made->options_.budget = 1'000'000'000;
  KILN_TRY(made->core_, emulator::load_core(core, KILN_CORE_DIR));
  KILN_TRY(made->card_, emulator::parse_card(target));
  return made;
}

Result<std::vector<std::unique_ptr<EmulatedCard>>> EmulatedCard::all(const std::string& target) {
  std::vector<std::unique_ptr<EmulatedCard>> cards;
  for (const char* core : {"v4", "v3"}) {
    auto card = create(target, core);
    if (!card && card.error().code == ErrorCode::unsupported) continue;
    if (!card) return card.error();
    cards.push_back(std::move(*card));
  }
  if (cards.empty()) return Error(ErrorCode::unsupported, "no core of the emulator runs on this machine");
  return cards;
}

Status EmulatedCard::load(ByteView object) {
  program_ = nullptr;
  KILN_TRY(program_, emulator::Program::load(object, card_, *core_));
  return ok();
}

Status EmulatedCard::run(const std::string& kernel_name, const emulator::Geometry& geometry,
                         const std::vector<CardArgument>& arguments) {
  const auto* kernel = program_->kernel(kernel_name);
  if (kernel == nullptr) return Error(ErrorCode::not_found, "no kernel " + kernel_name);
  std::vector<void*> bases(arguments.size()), places(arguments.size()), pointers(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& one = arguments[i];
    pointers[i] = one.scalar ? static_cast<void*>(one.bytes->data()) : &places[i];
    if (one.scalar) continue;
    KILN_TRY(bases[i], memory_.allocate(std::max<std::size_t>(one.bytes->size() + one.offset, 1), 0));
    places[i] = static_cast<std::uint8_t*>(bases[i]) + one.offset;
    if (!one.bytes->empty()) std::memcpy(places[i], one.bytes->data(), one.bytes->size());
  }
  std::atomic<bool> cancelled{false};
  emulator::LaunchOrder order;
  order.core = core_, order.workers = &workers_, order.memory = &memory_, order.card = &card_;
  order.code = &program_->code(), order.kernel = kernel, order.cancelled = &cancelled;
  order.options = options_, order.geometry = geometry;
  KILN_TRY(order.arguments, emulator::gather_arguments(*kernel, pointers.data()));
  const auto result = emulator::run_launch(order);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].scalar) continue;
    if (!arguments[i].bytes->empty()) std::memcpy(arguments[i].bytes->data(), places[i], arguments[i].bytes->size());
    KILN_CHECK(memory_.release(bases[i]));
  }
  if (!result) return result.error();
  return result->fault ? Status(Error(ErrorCode::launch_failed, result->fault->text)) : ok();
}

}  // namespace kiln::test
