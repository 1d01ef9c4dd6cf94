#include "engine/device/hip/card_facts.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::device::hip {
namespace {

constexpr std::size_t properties_room = 4096;   // larger than any version's struct
constexpr std::size_t text_bytes_max = 255;

// AMD's 16 bytes are letters, the serial number in hexadecimal; other bytes are told in hex.
std::string uuid_text(const Uuid& uuid) {
  const std::string letters(uuid.bytes, ::strnlen(uuid.bytes, sizeof uuid.bytes));
  const bool printable = !letters.empty() &&
                         std::all_of(letters.begin(), letters.end(), [](unsigned char c) { return c > 32 && c < 127; });
  return "GPU-" + (printable ? letters : to_hex(view(std::string_view(uuid.bytes, sizeof uuid.bytes))));
}

Result<CardIdentity> read_identity(const Table& table, int ordinal) {
  CardIdentity identity;
  char bus[64] = {};
  KILN_CHECK(table.check(table.hipDeviceGetPCIBusId(bus, sizeof bus - 1, ordinal), "hipDeviceGetPCIBusId"));
  identity.pci = bus;
  std::transform(identity.pci.begin(), identity.pci.end(), identity.pci.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c); });
  Uuid uuid{};
  const bool named = table.hipDeviceGetUuid != nullptr && table.hipDeviceGetUuid(&uuid, ordinal) == success;
  identity.uuid = named ? uuid_text(uuid) : identity.pci;
  return identity;
}

}  // namespace

Result<CardFacts> read_card(const Table& table, int ordinal) {
  char raw[properties_room] = {};
  const bool now = table.hipGetDevicePropertiesR0600 != nullptr;
  const auto get = now ? table.hipGetDevicePropertiesR0600 : table.hipGetDeviceProperties;
  KILN_CHECK(table.check(get(raw, ordinal), "hipGetDeviceProperties"));
  const auto text_at = [&](std::size_t offset) {
    return std::string(raw + offset, ::strnlen(raw + offset, text_bytes_max));
  };
  CardFacts facts;
  facts.name = text_at(now ? properties::name : properties::old::name);
  facts.target = text_at(now ? properties::arch_name : properties::old::arch_name);
  KILN_TRY(facts.identity, read_identity(table, ordinal));
  KILN_CHECK(table.check(table.hipDeviceGetAttribute(&facts.compute_units, attribute::compute_units, ordinal),
                         "hipDeviceGetAttribute"));
  std::size_t bytes = 0;
  KILN_CHECK(table.check(table.hipDeviceTotalMem(&bytes, ordinal), "hipDeviceTotalMem"));
  facts.memory_bytes = bytes;
  return facts;
}

std::vector<CardIdentity> read_identities(const Table& table, int count) {
  std::vector<CardIdentity> all;
  for (int ordinal = 0; ordinal < count; ++ordinal)
    all.push_back(read_identity(table, ordinal).value_or(CardIdentity{}));
  return all;
}

std::string attribute_text(const Table& table, int ordinal, int attribute) {
  int value = 0;
  return table.hipDeviceGetAttribute(&value, attribute, ordinal) == success ? std::to_string(value) : std::string("?");
}

}  // namespace kiln::device::hip
