// What a reader promises beside not to crash, in fuzz targets.
#pragma once

#include <cstdio>
#include <cstdlib>

// A broken promise ends the process, which is how a fuzzer learns of it.
#define FUZZ_CHECK(condition)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
