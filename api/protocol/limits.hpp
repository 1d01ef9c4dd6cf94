// Every limit of the service, all told in `hello`, all settable but the last two. Defaults are the documented ones (PROTOCOL.md, "Limits").
#pragma once

#include <cstdint>

namespace kiln::protocol {

struct Limits {
  std::uint64_t line_bytes_max = 1 << 20;
  std::uint64_t depth_max = 64;
  std::uint64_t nodes_max = 200000;
  std::uint64_t id_bytes_max = 128;
  std::uint64_t connections_max = 1024;
  std::uint64_t requests_in_flight_max = 64;      // a connection
  std::uint64_t batch_max = 256;
  std::uint64_t output_bytes_max = 8 << 20;       // unsent, a connection
  std::uint64_t output_stall_ms_max = 30000;      // without progress
  std::uint64_t fds_queued_max = 16;              // a connection
  std::uint64_t fds_unclaimed_ms_max = 5000;
  std::uint64_t fds_held_max = 64;                // a connection
  std::uint64_t buffers_max = 1024;               // a connection
  std::uint64_t streams_max = 16;                 // a connection, beside the one that it has anyway
  std::uint64_t events_max = 1024;                // a connection
  std::uint64_t plans_max = 64;                   // a connection
  std::uint64_t plan_launches_max = 4096;         // a plan
  std::uint64_t rings_max = 4;                    // a connection
  std::uint64_t buffer_bytes_max = 0;             // all clients; 0: half of RAM
  std::uint64_t compiles_queued_max = 4096;
  std::uint64_t log_bytes_max = 64 << 10;
  std::uint64_t text_bytes_max = 1 << 20;         // emitted text
};

}  // namespace kiln::protocol
