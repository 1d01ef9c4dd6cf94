// Kiln's C++ client library: kiln::client::Client, one connection to the daemon. Every method of the protocol is a
// `call`; api/protocol/PROTOCOL.md has their parameters and answers, examples/cpp a whole program.
#pragma once

#include "api/client/client.hpp"
#include "api/client/ring.hpp"
